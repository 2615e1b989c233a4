//! Builds the distinct sets, numbered by ids, from documents in any order.

use super::Corpus;
use crate::document::DocumentId;
use crate::text::HashesMap;

/// Builds a corpus document by document.
#[derive(Debug)]
pub struct CorpusBuilder {
    corpus: Corpus,
    /// Fingerprint → set, in the order of arrival.
    sets: HashesMap<u32>,
    documents: Vec<BuilderDocument>,
}

#[derive(Debug)]
struct BuilderDocument {
    id: DocumentId,
    tag: u64,
    set: u32,
}

/// The set of a document that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedSet {
    /// The set's number in the order of arrival.
    pub set: u32,
    /// Whether no earlier document has the set.
    pub is_new: bool,
}

/// The documents with each set, by their ranks and then in the byte order of their ids.
#[derive(Clone, Debug)]
pub struct Documents {
    documents: Vec<(DocumentId, u64)>,
    /// Set n has the documents `starts[n]..starts[n + 1]`.
    starts: Vec<u32>,
}

impl CorpusBuilder {
    /// `sketch_bytes`: the length of each sketch.
    pub fn new(sketch_bytes: usize) -> Self {
        let corpus = Corpus::new(sketch_bytes);
        Self { corpus, sets: HashesMap::default(), documents: Vec::new() }
    }

    /// Adds a document; equal fingerprints mean equal sets. Ids must be distinct. `tag` is an
    /// arbitrary number of the caller's.
    pub fn push(
        &mut self,
        (id, tag): (DocumentId, u64),
        fingerprint: u64,
        shingles: u32,
        sketch: &[u8],
    ) -> PushedSet {
        let new = self.corpus.count();
        let set = *self.sets.entry(fingerprint).or_insert(new);
        if set == new {
            self.corpus.push(shingles, sketch);
        }
        self.documents.push(BuilderDocument { id, tag, set });
        PushedSet { set, is_new: set == new }
    }

    /// Numbers the sets in the byte order of their smallest ids.
    pub fn finish(self) -> (Corpus, Documents) {
        let Self { mut corpus, sets, mut documents } = self;
        drop(sets);
        documents.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let numbers = numbers(&documents, corpus.count());
        for document in &mut documents {
            document.set = numbers[document.set as usize];
        }
        corpus.renumber(numbers);
        // A stable sort keeps the documents of a set in their order.
        documents.sort_by_key(|document| document.set);
        let starts = starts(&documents, corpus.count());
        let documents = documents.into_iter().map(|document| (document.id, document.tag)).collect();
        (corpus, Documents { documents, starts })
    }
}

/// The number of each set: its rank by smallest id.
fn numbers(documents: &[BuilderDocument], count: u32) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; count as usize];
    let mut next = 0;
    for document in documents {
        let number = &mut numbers[document.set as usize];
        if *number == u32::MAX {
            *number = next;
            next += 1;
        }
    }
    numbers
}

/// The start of each set's documents, and the end of the last.
fn starts(documents: &[BuilderDocument], count: u32) -> Vec<u32> {
    let mut starts = vec![0; count as usize + 1];
    for document in documents {
        starts[document.set as usize + 1] += 1;
    }
    for set in 1..starts.len() {
        starts[set] += starts[set - 1];
    }
    starts
}

impl Documents {
    /// The ids and tags of the documents with this set; at least one.
    pub fn of(&self, set: u32) -> &[(DocumentId, u64)] {
        let starts = &self.starts[set as usize..];
        &self.documents[starts[0] as usize..starts[1] as usize]
    }

    /// The number of documents.
    pub fn count(&self) -> usize {
        self.documents.len()
    }
}
