//! The texts in flight, in an index of passages of their own. A document that is added with a
//! search for passages waits for the earlier texts that share a gram with it: then it sees every
//! document that arrived earlier, and documents wait for earlier documents only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use akin_core::passages::{
    BlockIndex, PassageCandidate, PassageLimits, PassageSettings, SearchResult, TextBlocks,
};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::blocking;
use super::search::of_index;
use crate::backend::in_flight::Outcome;
use crate::backend::local::Local;
use crate::backend::{ArrivingText, BackendError, Found, PassageRequest};
use crate::background::request::charge;
use crate::budget::cost;
use crate::document::Ordinal;

/// Longer texts leave the index on a blocking thread: shorter texts take less than a millisecond.
const INLINE_WORDS_MAX: usize = 16_384;

/// The texts in flight by their tickets. A text is in the index before its document arrives, and
/// until its document is stored or withdrawn.
pub struct ArrivingTexts {
    index: BlockIndex,
    count: AtomicUsize,
    next_ticket: AtomicU64,
}

/// A text in the index. Dropping it takes the text out.
struct TextInFlight {
    texts: Arc<ArrivingTexts>,
    ticket: Ordinal,
    /// `None` once it was dropped.
    blocks: Option<Arc<TextBlocks>>,
}

impl ArrivingTexts {
    pub fn new(settings: PassageSettings) -> Arc<Self> {
        let (count, next_ticket) = (AtomicUsize::new(0), AtomicU64::new(0));
        Arc::new(Self { index: BlockIndex::new(settings), count, next_ticket })
    }

    fn enter(self: Arc<Self>, blocks: Arc<TextBlocks>) -> ArrivingText {
        let number = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        let ticket = Ordinal::try_from(number).expect("2^48 documents take years");
        self.count.fetch_add(1, Ordering::Relaxed);
        self.index.insert(ticket, &blocks);
        ArrivingText::new(ticket, TextInFlight { texts: self, ticket, blocks: Some(blocks) })
    }

    /// The tickets of the texts that share a gram with the words, whether these are all, and the
    /// postings that were read.
    fn sharing(&self, words: &[u64]) -> (Vec<Ordinal>, bool, usize) {
        let limits = PassageLimits {
            compared_max: usize::MAX,
            words_max: usize::MAX,
            documents_max: usize::MAX,
            ..PassageLimits::default()
        };
        let mut search = self.index.search(words, limits);
        let candidates = search.next_group(usize::MAX);
        let tickets =
            candidates.iter().flat_map(PassageCandidate::blocks).map(|(ticket, _)| *ticket);
        let tickets = tickets.collect();
        let SearchResult { truncated, postings_read, .. } = search.finish();
        (tickets, !truncated, postings_read)
    }
}

impl Drop for TextInFlight {
    fn drop(&mut self) {
        let Some(blocks) = self.blocks.take() else { return };
        let (texts, ticket) = (Arc::clone(&self.texts), self.ticket);
        let is_long = blocks.words() > INLINE_WORDS_MAX;
        let remove = move || {
            texts.index.remove(ticket, &blocks);
            texts.count.fetch_sub(1, Ordering::Relaxed);
        };
        match Handle::try_current() {
            Ok(runtime) if is_long => drop(runtime.spawn_blocking(remove)),
            _ => remove(),
        }
    }
}

impl Local {
    /// Notes a text that is about to be added; `None` without an index of passages.
    pub(in crate::backend::local) fn enter_text(
        &self,
        blocks: &Arc<TextBlocks>,
    ) -> Option<ArrivingText> {
        Some(Arc::clone(self.arriving_texts.as_ref()?).enter(Arc::clone(blocks)))
    }

    /// Waits until the documents that arrived before a document, and share a gram with it, are
    /// stored or withdrawn. Returns false if a limit left some of them out.
    ///
    /// # Errors
    /// [`BackendError::OverBudget`]
    pub(in crate::backend::local) async fn await_earlier_texts(
        &self,
        found: &Found<'_>,
        request: &PassageRequest,
    ) -> Result<bool, BackendError> {
        let own = usize::from(found.has_text);
        let Some(texts) = self.arriving_texts.clone() else { return Ok(true) };
        if texts.count.load(Ordering::SeqCst) <= own {
            return Ok(true);
        }
        let turn = self.passage_searches.take().await;
        let request = request.clone();
        let search = move || {
            let _turn = turn;
            let _held = of_index(&request)?;
            let (tickets, is_complete, postings_read) = texts.sharing(&request.words);
            charge(postings_read / cost::SKETCHES)?;
            Ok((tickets, is_complete))
        };
        let (tickets, is_complete) = blocking(search).await?;
        // Without a turn, which an earlier document may need.
        let earlier = found.arrival.map(|arrival| arrival.earlier_texts(tickets));
        for outcome in earlier.into_iter().flatten() {
            decided(outcome).await;
        }
        Ok(is_complete)
    }
}

/// An error means that the sender was dropped, so the outcome is decided.
async fn decided(mut outcome: watch::Receiver<Outcome>) {
    let _ = outcome.wait_for(|outcome| *outcome != Outcome::Undecided).await;
}
