//! What a path names: a collection, or all of them, and a document.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::Deserialize;

use crate::document::DocumentId;
use crate::engine::{Collection, CollectionName, Collections};
use crate::http::AppState;
use crate::http::problem::code::Code;
use crate::http::problem::{Problem, ProgressReply};

/// The collection that the path names, or else `default`, once it is open.
pub struct Ready(pub Arc<Collection>);

/// All collections, once they are open.
pub struct AllReady(pub Arc<Collections>);

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

/// The id in a path: all that follows `/documents/`, percent-decoded.
pub struct PathId(pub DocumentId);

#[derive(Deserialize)]
struct IdInPath {
    id: String,
}

impl FromRequestParts<AppState> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let invalid = |detail| Problem::new(Code::InvalidParameter, detail);
        let Path(IdInPath { id }) = Path::<IdInPath>::from_request_parts(parts, state)
            .await
            .map_err(|_| invalid("the id in the path is not percent-encoded UTF-8".to_owned()))?;
        DocumentId::new(id).map(Self).map_err(|error| invalid(error.to_string()))
    }
}

#[derive(Deserialize)]
struct PathParts {
    collection: Option<String>,
}

impl FromRequestParts<AppState> for PathCollection {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let invalid = |detail| Problem::new(Code::InvalidParameter, detail);
        let Path(PathParts { collection }) = Path::from_request_parts(parts, state)
            .await
            .map_err(|_| invalid("the path is not percent-encoded UTF-8".to_owned()))?;
        match collection {
            None => Ok(Self(CollectionName::default())),
            Some(name) => name.parse().map(Self).map_err(|error| invalid(format!("{error}"))),
        }
    }
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
