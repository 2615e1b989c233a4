//! Routes, each with the action that a key must permit. A route cannot be registered without.

use std::collections::HashMap;
use std::sync::OnceLock;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{HttpMethod, Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::security::SecurityRequirement;

use crate::http::AppState;
use crate::http::access::Action;
use crate::http::openapi::ONE_COLLECTION;
use crate::http::problem::{Code, of_calls};

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

/// Schemas of the OpenAPI document by their names.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// A handler with its path and method, and the rules of its requests.
#[derive(Clone)]
pub struct Route {
    pub path: String,
    pub method: HttpMethod,
    handler: MethodRouter<AppState>,
    pub needs: Needs,
    pub limits: Limits,
    /// The problems of its answers, without the problems that every route has.
    problems: Vec<Code>,
    /// Its part of the OpenAPI document; `None` of pages for browsers.
    operation: Option<fn() -> Operation>,
    /// Adds the schemas that this part names.
    add_schemas: fn(&mut Schemas),
    takes_query: OnceLock<bool>,
}

/// The route of a handler.
macro_rules! route {
    ($module:ident::$handler:ident) => {
        // The type that `utoipa::path` makes.
        pastey::paste! { Route::of::<$module::[<__path_ $handler>], _>($module::$handler) }
    };
}

pub(in crate::http) use route;

impl Route {
    pub fn of<D, T: 'static>(handler: impl Handler<T, AppState>) -> Self
    where
        D: utoipa::Path + SchemaReferences + Tags<'static>,
    {
        let operation: fn() -> Operation = || {
            let mut operation = D::operation();
            operation.tags = Some(D::tags().into_iter().map(str::to_owned).collect());
            operation
        };
        let method = D::methods().remove(0);
        let filter = MethodFilter::try_from(method_of(&method)).expect("axum has the method");
        Self {
            path: D::path(),
            method,
            operation: Some(operation),
            add_schemas: D::schemas,
            ..Self::page("", on(filter, handler))
        }
    }

    /// A page for browsers, which is not part of the API.
    pub fn page(path: &str, handler: MethodRouter<AppState>) -> Self {
        Self {
            path: path.to_owned(),
            method: HttpMethod::Get,
            handler,
            needs: Needs::Nothing,
            limits: Limits::None,
            problems: Vec::new(),
            operation: None,
            add_schemas: |_| (),
            takes_query: OnceLock::new(),
        }
    }

    /// Whether requests may have parameters. The OpenAPI document and pages are those of any query.
    pub fn takes_query(&self) -> bool {
        let is_query = |of: &RefOr<Parameter>| match of {
            RefOr::T(of) => of.parameter_in == ParameterIn::Query,
            RefOr::Ref(_) => false,
        };
        *self.takes_query.get_or_init(|| {
            let operation = self.operation.filter(|_| self.needs != Needs::Nothing);
            operation.is_none_or(|operation| operation().parameters.iter().flatten().any(is_query))
        })
    }

    /// Its part of the OpenAPI document, with its problems; adds the schemas that this part names.
    pub fn operation(&self, schemas: &mut Schemas) -> Option<Operation> {
        let mut operation = self.operation?();
        (self.add_schemas)(schemas);
        document(&mut operation, self.needs, &self.problems);
        Some(operation)
    }
}

fn method_of(method: &HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Delete => Method::DELETE,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Options | HttpMethod::Head | HttpMethod::Trace => {
            unreachable!("no handler has it")
        }
    }
}

/// Routes by their paths, as axum matches them.
#[derive(Default)]
pub struct Table(HashMap<String, Vec<Route>>);

impl Table {
    /// `None` for a method that the path does not have.
    pub fn route(&self, path: &str, method: &Method) -> Option<&Route> {
        // A GET answers HEAD, too.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.0.get(path)?.iter().find(|route| method_of(&route.method) == *method)
    }
}

/// Routes with the same limits.
#[derive(Clone)]
pub struct Routes {
    pub all: Vec<Route>,
    limits: Limits,
}

impl Routes {
    pub fn new(limits: Limits) -> Self {
        Self { all: Vec::new(), limits }
    }

    /// Adds a route, which can answer with these groups of problems.
    pub fn route(mut self, needs: Needs, problems: &[&[Code]], route: Route) -> Self {
        let (limits, problems) = (self.limits, problems.concat());
        self.all.push(Route { needs, limits, problems, ..route });
        self
    }

    /// Adds the routes of `inner` below the path of a collection.
    pub fn nest_in_collection(self, mut inner: Self) -> Self {
        for route in &mut inner.all {
            route.path.insert_str(0, ONE_COLLECTION);
        }
        self.merge(inner)
    }

    pub fn merge(mut self, other: Self) -> Self {
        self.all.extend(other.all);
        self
    }

    pub fn into_router(self) -> (Router<AppState>, Table) {
        let (mut router, mut table) = (Router::new(), Table::default());
        for route in self.all {
            router = router.route(&route.path, route.handler.clone());
            table.0.entry(route.path.clone()).or_default().push(route);
        }
        (router, table)
    }
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
