//! A document that is being added, and the ones before it that are not in the index yet.

use std::sync::Arc;

use tokio::sync::watch;

use crate::backend::PreparedDocument;
use crate::backend::in_flight::{Outcome, Ticket};
use crate::scheme::Key;

/// A document with its place in the order of arrival. Dropping it before it is stored withdraws it.
pub struct Registered {
    pub document: Arc<PreparedDocument>,
    pub rivals: Rivals,
    /// No document with its id was stored or in flight before it.
    pub is_new: bool,
    /// It may be withdrawn because of a near-duplicate.
    pub(crate) tentative: bool,
    pub(crate) search: Option<RivalSearch>,
    pub(crate) ticket: Ticket,
}

/// Which documents in flight are a document's rivals.
#[derive(Clone, Debug)]
pub struct RivalSearch {
    /// They are going to be found under one of these.
    pub keys: Vec<Key>,
    /// Their sketches agree with the document's in at least as many slots.
    pub agreeing_min: u32,
    /// Rivals returned at most: the earliest if the document is tentative, or else those whose
    /// sketches agree best.
    pub rivals_max: usize,
}

/// Earlier documents in flight, with another id.
#[derive(Default)]
pub struct Rivals {
    pub found: Vec<Rival>,
    /// A limit was reached: there may be more.
    pub truncated: bool,
}

/// A document registered before another, and not in the index yet.
pub struct Rival {
    pub document: Arc<PreparedDocument>,
    /// `None` if it is certain to be stored, and need not be waited for.
    pub(crate) outcome: Option<watch::Receiver<Outcome>>,
}

impl Registered {
    /// The rivals that are in flight still. A rival that was stored meanwhile is in the index.
    pub fn find_rivals_again(&mut self) {
        let Some(search) = &self.search else { return };
        self.rivals = self.ticket.rivals(&self.document, self.tentative, search);
    }
}

impl Rival {
    /// [`Rival::was_stored`] may have to wait for it.
    #[must_use]
    pub fn is_waited_for(&self) -> bool {
        self.outcome.is_some()
    }

    /// Waits until it is stored (`true`) or withdrawn.
    pub async fn was_stored(self) -> bool {
        let Some(mut outcome) = self.outcome else { return true };
        let decided = outcome.wait_for(|outcome| *outcome != Outcome::Undecided).await;
        decided.is_ok_and(|outcome| *outcome == Outcome::Stored)
    }
}
