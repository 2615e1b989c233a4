//! The state of `akin dedup --state`.

use serde_json::json;

use super::clusters::{BatchInState, Representatives};
use super::rule::RemovalRule;
use super::{Arguments, DedupPlan};
use crate::corpus::SourceOptions;
use crate::failure::Failure;
use crate::offline::{OfflineState, StateError};
use akin_core::join::Linkage;
use akin_core::scheme::Kind;
use akin_model::settings::CollectionSettings;

/// # Errors
/// A state would not have all that the run needs.
pub fn refuse_for_state(
    settings: &CollectionSettings,
    linkage: Linkage,
    sources: &SourceOptions,
) -> Result<(), Failure> {
    if sources.across {
        return Err(Failure::with_hint(
            "--state does not have the sources of documents, and --across links documents of \
             different sources only",
            "name the files of the earlier documents by --against",
        ));
    }
    if linkage == Linkage::Single {
        return Err(Failure::with_hint(
            "--state has the documents that were kept, and --linkage single follows chains of \
             documents that were left out, too",
            "take --linkage representative",
        ));
    }
    if settings.scheme.kind == Kind::Fields {
        return Err(Failure::with_hint(
            "--state has sketches and sets, and records are compared by their fields",
            "name the files of the earlier records by --against",
        ));
    }
    Ok(())
}

impl DedupPlan {
    /// The state, if there is one, with the options that decide the result of a run.
    ///
    /// # Errors
    /// The state is of other settings, in use, damaged, or cannot be read.
    pub fn open_state(&self) -> Result<Option<OfflineState>, Failure> {
        let Arguments { state, rule, keep, mode, .. } = &self.arguments;
        let Some(path) = state else { return Ok(None) };
        let mut options = vec![("rule", json!(rule)), ("keep", json!(keep.name()))];
        if *rule == RemovalRule::Near {
            let threshold = self.settings.scheme.threshold.get();
            options.extend([("threshold", json!(threshold)), ("mode", json!(mode))]);
        }
        let options = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let state = OfflineState::open(path, &self.settings, options);
        state.map(Some).map_err(|error| failed(&error))
    }
}

fn failed(error: &StateError) -> Failure {
    let hint = match error {
        StateError::InUse(_) => "wait until the other run has ended",
        StateError::NotAState(_) => "name a directory that does not exist yet",
        StateError::OtherSettings { .. } => {
            "run with the settings of the state, or begin another state"
        }
        StateError::Damaged { .. } => "begin another state with the documents that were kept",
        StateError::Io { .. } => return Failure::new(error.to_string()),
    };
    Failure::with_hint(error.to_string(), hint)
}

/// # Errors
/// The state cannot be written; it is then as it was.
pub fn add_to_state(
    state: &mut OfflineState,
    clusters: &mut Representatives<'_>,
) -> Result<BatchInState, Failure> {
    let repeated = clusters.repeats_batch();
    let batch = clusters.add_to(state);
    let batch =
        batch.map_err(|error| Failure::new(format!("the state cannot be written: {error}")))?;
    Ok(BatchInState { batch, repeated, state_documents: state.documents() })
}
