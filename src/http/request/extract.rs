//! The collection, all collections or the document that a path names, and the memory of a request.

use std::convert::Infallible;
use std::sync::Arc;

use axum::RequestPartsExt;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use utoipa::IntoParams;

use crate::budget::{Purpose, Reservation};
use crate::document::DocumentId;
use crate::engine::{Collection, CollectionName, Collections};
use crate::http::AppState;
use crate::http::connection::admission::Admission;
use crate::http::problem::{Code, Problem, ProgressReply};

/// The collection that the path names, or else `default`, once it is open.
pub struct Ready(pub Arc<Collection>);

/// All collections, once they are open.
pub struct AllReady(pub Arc<Collections>);

/// An empty reservation for the answer, within the shares of the request and of its client. The
/// first bytes of it may be left uncounted.
pub struct AnswerMemory<const UNCOUNTED: usize = 0>(pub Reservation);

/// Memory of an answer about a stored document that is not counted, so that small lookups go on
/// when the budget is exhausted.
pub const SMALL: usize = 128 << 10;

/// The collection's name in the path, or `default` if there is none.
pub struct PathCollection(pub CollectionName);

impl FromRequestParts<AppState> for Ready {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let AllReady(collections) = AllReady::from_request_parts(parts, state).await?;
        let PathCollection(name) = PathCollection::from_request_parts(parts, state).await?;
        Ok(Self(collections.get(&name)?))
    }
}

impl FromRequestParts<AppState> for AllReady {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let collections = state.collections.get().cloned();
        collections.map(Self).ok_or_else(|| not_ready(state))
    }
}

impl<const UNCOUNTED: usize> FromRequestParts<AppState> for AnswerMemory<UNCOUNTED> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        let admission: &Arc<Admission> = parts.extensions.get().expect("the route has limits");
        let cost_max = state.settings.request_cost_max;
        let memory = state.budget.share(Purpose::Answers, cost_max, &admission.share);
        Ok(Self(memory.with_allowance(UNCOUNTED)))
    }
}

/// The id in a path: all that follows `/documents/`, percent-decoded.
#[derive(IntoParams)]
#[into_params(names("id"), parameter_in = Path)]
pub struct PathId(
    /// The document's id, percent-encoded.
    #[param(example = "https%3A%2F%2Fexample.org%2Fa")]
    pub DocumentId,
);

impl FromRequestParts<AppState> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let id = in_path(parts, "id").await?.unwrap_or_default();
        DocumentId::new(id).map(Self).map_err(|error| invalid(error.to_string()))
    }
}

impl FromRequestParts<AppState> for PathCollection {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        match in_path(parts, "collection").await? {
            None => Ok(Self(CollectionName::default())),
            Some(name) => name.parse().map(Self).map_err(|error| invalid(format!("{error}"))),
        }
    }
}

/// A part of the path by its name in the route, percent-decoded.
pub async fn in_path(parts: &mut Parts, name: &str) -> Result<Option<String>, Problem> {
    let of_path = parts.extract::<RawPathParams>().await;
    let of_path =
        of_path.map_err(|_| invalid("the path is not percent-encoded UTF-8".to_owned()))?;
    let found = of_path.iter().find(|(known, _)| *known == name);
    Ok(found.map(|(_, value)| value.to_owned()))
}

fn invalid(detail: String) -> Problem {
    Problem::new(Code::InvalidParameter, detail)
}

fn not_ready(state: &AppState) -> Problem {
    let (done, total) = match state.progress.get() {
        (done, total) if done > total => (done, 0),
        known => known,
    };
    let detail = if total == 0 {
        "the collections are being opened".to_owned()
    } else {
        format!("{done} of {total} documents are restored to the index")
    };
    let progress = Some(ProgressReply { done, total });
    Problem { progress, ..Problem::new(Code::NotReady, detail) }
}
