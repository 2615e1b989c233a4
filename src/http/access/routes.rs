//! Routes, each with the action that a key must permit. A route cannot be registered without.

use std::collections::HashMap;

use axum::Router;
use axum::http::Method;
use axum::routing::MethodRouter;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{OpenApi, RefOr};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::http::AppState;
use crate::http::access::key::Action;
use crate::http::openapi::ONE_COLLECTION;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls;

/// The security scheme's name in the OpenAPI document.
pub const SCHEME: &str = "key";

/// The permission that a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No key at all.
    Nothing,
    /// No key and no free connection: for probes, which are always answered.
    NothingAtAnyRate,
    /// The action `metrics`, unless metrics are open.
    Metrics,
    /// The action in the collection that the path names, or else in `default`.
    In(Action),
    /// The action in every collection, also in future collections.
    InAll(Action),
    /// The action anywhere. The answer has only the collections that the key covers.
    Anywhere(Action),
}

pub const READ: Needs = Needs::In(Action::Read);
pub const WRITE: Needs = Needs::In(Action::Write);
pub const ADMIN: Needs = Needs::In(Action::Admin);

/// The limits of the requests of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limits {
    /// They are answered however many requests are in flight.
    None,
    /// `requests_in_flight_max`.
    Number,
    /// `requests_in_flight_max` and `request_timeout_ms`.
    NumberAndTime,
}

#[derive(Clone, Copy, Debug)]
pub struct RouteRules {
    pub needs: Needs,
    pub limits: Limits,
    pub takes_query: bool,
}

/// The rules of each route and method, by the route as axum matches it.
#[derive(Clone, Debug, Default)]
pub struct Table(HashMap<String, Vec<(Method, RouteRules)>>);

impl Table {
    /// `None` for a method that the route does not have.
    pub fn rules(&self, route: &str, method: &Method) -> Option<RouteRules> {
        // A GET answers HEAD, too.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let methods = self.0.get(route)?;
        methods.iter().find(|(known, _)| known == method).map(|(_, rules)| *rules)
    }

    fn extend(&mut self, other: impl IntoIterator<Item = (String, Vec<(Method, RouteRules)>)>) {
        for (route, methods) in other {
            self.0.entry(route).or_default().extend(methods);
        }
    }
}

/// A router with the rules of each of its routes.
#[derive(Clone)]
pub struct Routes {
    router: OpenApiRouter<AppState>,
    table: Table,
    /// Of the routes that are added.
    limits: Limits,
}

impl Routes {
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::with_openapi(OpenApi::default()) }
    }

    pub fn with_openapi(document: OpenApi) -> Self {
        let router = OpenApiRouter::with_openapi(document);
        Self { router, table: Table::default(), limits: Limits::None }
    }

    /// Adds routes that all need the same, and can answer with these groups of problems.
    pub fn routes(
        mut self,
        needs: Needs,
        problems: &[&[Code]],
        mut routes: UtoipaMethodRouter<AppState>,
    ) -> Self {
        for (path, item) in &mut routes.1.paths {
            let methods = operations(item).into_iter().map(|(method, operation)| {
                document(operation, needs, &problems.concat());
                let is_query = |of: &RefOr<Parameter>| {
                    matches!(of, RefOr::T(of) if of.parameter_in == ParameterIn::Query)
                };
                let mut parameters = operation.parameters.iter().flatten();
                // The OpenAPI document is that of any query.
                let takes_query = needs == Needs::Nothing || parameters.any(is_query);
                (method, RouteRules { needs, limits: self.limits, takes_query })
            });
            let methods = methods.collect();
            self.table.extend([(path.clone(), methods)]);
        }
        Self { router: self.router.routes(routes), ..self }
    }

    /// Adds pages for browsers, which need no key and are not part of the API.
    pub fn pages(
        mut self,
        pages: impl Iterator<Item = (&'static str, MethodRouter<AppState>)>,
    ) -> Self {
        for (path, page) in pages {
            let (needs, limits) = (Needs::Nothing, self.limits);
            let rules = RouteRules { needs, limits, takes_query: true };
            self.table.extend([(path.to_owned(), vec![(Method::GET, rules)])]);
            self.router = self.router.route(path, page);
        }
        self
    }

    /// Adds the routes of `inner` below the path of a collection.
    pub fn nest_in_collection(mut self, inner: Self) -> Self {
        let nested = inner.table.0.into_iter();
        self.table.extend(nested.map(|(path, of)| (format!("{ONE_COLLECTION}{path}"), of)));
        Self { router: self.router.nest(ONE_COLLECTION, inner.router), ..self }
    }

    pub fn merge(mut self, other: Self) -> Self {
        self.table.extend(other.table.0);
        Self { router: self.router.merge(other.router), ..self }
    }

    pub fn into_parts(self) -> (Router<AppState>, OpenApi, Table) {
        let (router, document) = self.router.split_for_parts();
        (router, document, self.table)
    }
}

fn operations(item: &mut PathItem) -> Vec<(Method, &mut Operation)> {
    let all = [
        (Method::GET, &mut item.get),
        (Method::POST, &mut item.post),
        (Method::PUT, &mut item.put),
        (Method::DELETE, &mut item.delete),
        (Method::PATCH, &mut item.patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?))).collect()
}

/// Adds its problems to an operation, with those of every call and of the access layer.
fn document(operation: &mut Operation, needs: Needs, problems: &[Code]) {
    if matches!(needs, Needs::In(_) | Needs::InAll(_) | Needs::Anywhere(_)) {
        of_calls::add(&mut operation.responses, of_calls::ANY);
    }
    of_calls::add(&mut operation.responses, problems);
    let codes =
        [Code::MalformedRequest, Code::InvalidHost, Code::ForeignOrigin, Code::HostNotServed];
    of_calls::add(&mut operation.responses, &codes);
    if matches!(needs, Needs::Nothing | Needs::NothingAtAnyRate) {
        operation.security = Some(Vec::new());
        if needs == Needs::Nothing {
            of_calls::add(&mut operation.responses, &[Code::TooManyRequests]);
        }
        return;
    }
    let codes = [Code::KeyRequired, Code::InvalidKey, Code::NotPermitted, Code::TooManyRequests];
    of_calls::add(&mut operation.responses, &codes);
    operation.security = Some(vec![SecurityRequirement::new(SCHEME, Vec::<String>::new())]);
}
