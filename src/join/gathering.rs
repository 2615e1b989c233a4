//! From documents in any order to distinct sets in theirs.

use std::collections::HashMap;

use super::Corpus;
use crate::document::DocumentId;

/// Takes a corpus document by document.
#[derive(Debug)]
pub struct Gathering {
    corpus: Corpus,
    /// Fingerprint → set, by the order of arrival.
    sets: HashMap<u64, u32>,
    documents: Vec<Gathered>,
}

#[derive(Debug)]
struct Gathered {
    id: DocumentId,
    tag: u32,
    set: u32,
}

/// The documents behind each set, in the byte order of their ids.
#[derive(Clone, Debug)]
pub struct Documents {
    documents: Vec<(DocumentId, u32)>,
    /// Those of set n are at `starts[n]..starts[n + 1]`.
    starts: Vec<u32>,
}

impl Gathering {
    /// `sketch_bytes`: of each sketch.
    #[must_use]
    pub fn new(sketch_bytes: usize) -> Self {
        let corpus = Corpus::new(sketch_bytes);
        Self { corpus, sets: HashMap::new(), documents: Vec::new() }
    }

    /// Adds a document; equal fingerprints mean equal sets. Ids are to be distinct. The `tag` is
    /// whatever the caller knows the document by. `true` if no document before had this set.
    pub fn push(
        &mut self,
        (id, tag): (DocumentId, u32),
        fingerprint: u64,
        shingles: u32,
        sketch: &[u8],
    ) -> bool {
        let new = self.corpus.count();
        let set = *self.sets.entry(fingerprint).or_insert(new);
        if set == new {
            self.corpus.push(shingles, sketch);
        }
        self.documents.push(Gathered { id, tag, set });
        set == new
    }

    /// Numbers the sets in the byte order of their smallest ids.
    #[must_use]
    pub fn finish(self) -> (Corpus, Documents) {
        let Self { mut corpus, sets, mut documents } = self;
        drop(sets);
        documents.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let numbers = numbers(&documents, corpus.count());
        for document in &mut documents {
            document.set = numbers[document.set as usize];
        }
        corpus.renumber(numbers);
        // Stable: documents of a set stay in the order of their ids.
        documents.sort_by_key(|document| document.set);
        let before = |set| documents.partition_point(|document| document.set < set) as u32;
        let starts = (0..=corpus.count()).map(before).collect();
        let documents = documents.into_iter().map(|document| (document.id, document.tag)).collect();
        (corpus, Documents { documents, starts })
    }
}

/// The number of each set: how many others have a smaller smallest id.
fn numbers(documents: &[Gathered], count: u32) -> Vec<u32> {
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

impl Documents {
    /// The ids and tags of the documents with this set; at least one.
    #[must_use]
    pub fn of(&self, set: u32) -> &[(DocumentId, u32)] {
        let starts = &self.starts[set as usize..];
        &self.documents[starts[0] as usize..starts[1] as usize]
    }

    /// How many documents there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.documents.len()
    }
}
