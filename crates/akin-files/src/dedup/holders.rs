//! The documents that can stand for other documents.

use crate::corpus::Sources;
use crate::offline::OfflineCorpus;

pub const LEFT_OUT: u32 = u32::MAX;

/// The representative of each document, by its number, before any is decided: an empty document
/// represents itself, and others have [`LEFT_OUT`].
pub fn undecided(corpus: &OfflineCorpus) -> Vec<u32> {
    let numbers = 0..corpus.documents().numbers();
    numbers.map(|number| if corpus.is_empty(number) { number } else { LEFT_OUT }).collect()
}

/// Which documents may be linked.
#[derive(Clone, Copy)]
pub enum Links<'s> {
    All,
    /// Documents of different sources, by `--across`.
    Across(&'s Sources<'s>),
}

impl Links<'_> {
    fn are_linked(self, a: u32, b: u32) -> bool {
        match self {
            Self::All => true,
            Self::Across(sources) => sources.of(a) != sources.of(b),
        }
    }
}

/// The kept documents that can stand for further documents: the first, and the first of another
/// source. Every document that is linked with a further one is linked with one of the two.
#[derive(Clone, Copy)]
pub struct Holders([u32; 2]);

impl Holders {
    pub const NONE: Self = Self([LEFT_OUT; 2]);

    /// The first that is linked with a document.
    pub fn of(self, number: u32, links: Links<'_>) -> Option<u32> {
        let mut holders = self.0.into_iter().filter(|holder| *holder != LEFT_OUT);
        holders.find(|holder| links.are_linked(*holder, number))
    }

    /// Whether a kept document could stand for documents for which no other can.
    pub fn want(self, number: u32, links: Links<'_>) -> bool {
        match (self.0, links) {
            ([LEFT_OUT, _], _) => true,
            ([first, LEFT_OUT], Links::Across(_)) => links.are_linked(first, number),
            _ => false,
        }
    }

    /// Adds a kept document, if it is wanted, and says whether it was.
    pub fn add(&mut self, number: u32, links: Links<'_>) -> bool {
        let is_wanted = self.want(number, links);
        if is_wanted && let Some(free) = self.0.iter_mut().find(|holder| **holder == LEFT_OUT) {
            *free = number;
        }
        is_wanted
    }
}
