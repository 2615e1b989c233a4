//! The texts in flight, in an index of passages of their own. A document that is added with a
//! search for passages waits for the earlier texts that share a gram with it: then it sees every
//! document that arrived earlier, and documents wait for earlier documents only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use akin_core::passages::{
    BlockIndex, PassageCandidate, PassageLimits, PassageSettings, SearchResult, TextBlocks,
};
use tokio::runtime::Handle;

use crate::backend::ArrivingText;
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

    pub(super) fn enter(self: Arc<Self>, blocks: Arc<TextBlocks>) -> ArrivingText {
        let number = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        let ticket = Ordinal::try_from(number).expect("2^48 documents take years");
        self.count.fetch_add(1, Ordering::Relaxed);
        self.index.insert(ticket, &blocks);
        ArrivingText::new(ticket, TextInFlight { texts: self, ticket, blocks: Some(blocks) })
    }

    /// The number of texts.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// The tickets of the texts that share a gram with the words, whether these are all, and the
    /// postings that were read.
    pub(super) fn sharing(&self, words: &[u64]) -> (Vec<Ordinal>, bool, usize) {
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
