//! Documents that are being added, and earlier documents that are not in the index yet.

use std::sync::Arc;

use tokio::sync::watch;

use crate::backend::PreparedDocument;
use crate::backend::in_flight::{Arrival, Outcome};
use crate::backend::local::ArrivingText;
use akin_core::scheme::{Key, Threshold};

/// A document with its place in the order of arrival. Dropping it before it is stored withdraws
/// it.
pub struct Registered {
    pub document: Arc<PreparedDocument>,
    pub rivals: Rivals,
    /// Whether no document with this id was stored or in flight when it arrived.
    pub is_new: bool,
    /// The document may be withdrawn because of a near-duplicate.
    pub(crate) tentative: bool,
    pub(crate) search: Option<RivalSearch>,
    pub(crate) arrival: Arrival,
    /// Where later searches for passages find it.
    pub(crate) text: Option<ArrivingText>,
}

/// Selects the documents in flight that are rivals of a document.
#[derive(Clone, Debug)]
pub struct RivalSearch {
    /// Rivals share at least one of these keys.
    pub keys: Vec<Key>,
    /// The least number of slots in which a rival's sketch agrees with the document's.
    pub agreeing_min: u32,
    /// The resemblance from which documents count as near-duplicates.
    pub threshold: Threshold,
    /// The maximum number of rivals: the earliest rivals of a tentative document, otherwise the
    /// rivals with the best-agreeing sketches.
    pub rivals_max: usize,
}

/// Earlier documents in flight, with other ids.
#[derive(Default)]
pub struct Rivals {
    pub found: Vec<Rival>,
    /// A limit was reached, so some rivals may be missing.
    pub truncated: bool,
}

/// A document that was registered earlier and is not in the index yet.
pub struct Rival {
    pub document: Arc<PreparedDocument>,
    /// `None` if the rival is certain to be stored, so that waiting is unnecessary.
    pub(crate) outcome: Option<watch::Receiver<Outcome>>,
}

impl Registered {
    /// Drops the rivals that are no longer in flight. The index has the rivals that were stored.
    pub fn find_rivals_again(&mut self) {
        if let Some(search) = &self.search {
            self.rivals = self.arrival.rivals(&self.document, self.tentative, search);
        }
    }
}

impl Rival {
    /// Whether [`Rival::was_stored`] may have to wait.
    pub fn is_waited_for(&self) -> bool {
        self.outcome.is_some()
    }

    /// Waits until the rival is stored (`true`) or withdrawn.
    pub async fn was_stored(self) -> bool {
        let Some(mut outcome) = self.outcome else { return true };
        let decided = outcome.wait_for(|outcome| *outcome != Outcome::Undecided).await;
        decided.is_ok_and(|outcome| *outcome == Outcome::Stored)
    }
}
