//! Shingles that occur in many documents, found in two passes.
//!
//! The first pass counts the documents of each shingle in a table of fixed size, in which shingles
//! may share a counter, so a counter is an upper bound (a count-min sketch of one row; Cormode and
//! Muthukrishnan 2005). The second pass counts exactly the shingles whose bound is high enough, and
//! takes their texts from the first document that has them.

use std::collections::HashMap;
use std::ops::Range;

use akin_core::text::{ShingleError, ShingleSet, Shingler};

/// Upper bounds of the numbers of documents with a shingle.
pub struct Bounds {
    counts: Vec<u32>,
    mask: u64,
}

/// Bytes of a counted shingle, in the table of shingles and in a passage.
pub const SHINGLE_BYTES: usize = 72;

/// The shingles that may occur in more than `over` documents.
pub struct FrequentShingles {
    over: u32,
    bounds: Bounds,
    counted: HashMap<u64, ShingleCount>,
    passages: Vec<FrequentPassage>,
    text_bytes: usize,
}

#[derive(Default)]
struct ShingleCount {
    documents: u32,
    /// The shingle is in a passage.
    placed: bool,
}

/// Consecutive shingles of a text.
struct FrequentPassage {
    text: String,
    /// Each with its bytes in the text.
    shingles: Vec<(u64, Range<u32>)>,
}

/// A part of a text, each of whose shingles occurs in at least so many documents.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct Template {
    pub documents: u32,
    pub text: String,
}

impl Bounds {
    /// In a table of at most so many bytes.
    pub fn within(bytes: usize) -> Self {
        let counters = (bytes / size_of::<u32>()).max(2);
        let counters = 1_usize << counters.ilog2();
        Self { counts: vec![0; counters], mask: counters as u64 - 1 }
    }

    /// Counts a document.
    pub fn add(&mut self, set: &ShingleSet) {
        set.as_slice().iter().for_each(|shingle| self.count(*shingle));
    }

    pub fn count(&mut self, shingle: u64) {
        let count = &mut self.counts[(shingle & self.mask) as usize];
        *count = count.saturating_add(1);
    }

    pub fn of(&self, shingle: u64) -> u32 {
        self.counts[(shingle & self.mask) as usize]
    }
}

impl FrequentShingles {
    pub fn new(bounds: Bounds, over: u32) -> Self {
        Self { over, bounds, counted: HashMap::new(), passages: Vec::new(), text_bytes: 0 }
    }

    /// Counts a document, whose set the shingler made of the text.
    ///
    /// # Errors
    /// The text is too long.
    pub fn add(
        &mut self,
        text: &str,
        set: &ShingleSet,
        shingler: &Shingler,
    ) -> Result<(), ShingleError> {
        let mut has_new = false;
        for shingle in set.as_slice() {
            if self.bounds.of(*shingle) > self.over {
                let counted = self.counted.entry(*shingle).or_default();
                counted.documents += 1;
                has_new |= !counted.placed;
            }
        }
        if has_new { self.place(text, shingler) } else { Ok(()) }
    }

    /// Adds the passages of the shingles that are in no passage yet.
    fn place(&mut self, text: &str, shingler: &Shingler) -> Result<(), ShingleError> {
        let (mut number, mut last) = (0, None);
        let mut runs: Vec<Vec<(u64, Range<usize>)>> = Vec::new();
        shingler.spans(text, |shingle, bytes| {
            number += 1;
            let Some(counted) = self.counted.get_mut(&shingle).filter(|it| !it.placed) else {
                return;
            };
            counted.placed = true;
            match runs.last_mut().filter(|_| last == Some(number - 1)) {
                Some(run) => run.push((shingle, bytes)),
                None => runs.push(vec![(shingle, bytes)]),
            }
            last = Some(number);
        })?;
        for run in runs {
            let start = run.iter().map(|(_, bytes)| bytes.start).min().unwrap_or(0);
            let end = run.iter().map(|(_, bytes)| bytes.end).max().unwrap_or(0);
            let within =
                |bytes: Range<usize>| (bytes.start - start) as u32..(bytes.end - start) as u32;
            self.text_bytes += end - start + size_of::<FrequentPassage>();
            let shingles = run.into_iter().map(|(shingle, bytes)| (shingle, within(bytes)));
            self.passages.push(FrequentPassage {
                text: text[start..end].to_owned(),
                shingles: shingles.collect(),
            });
        }
        Ok(())
    }

    /// Bytes of memory, without the bounds.
    pub fn bytes(&self) -> usize {
        self.counted.len() * SHINGLE_BYTES + self.text_bytes
    }

    /// The longest parts of texts whose shingles all occur in more than `over` documents, the most
    /// frequent first. Each shingle is in one of them.
    pub fn templates(self) -> Vec<Template> {
        let Self { over, counted, passages, .. } = self;
        let documents = |shingle: &u64| counted.get(shingle).map_or(0, |it| it.documents);
        let mut templates = Vec::new();
        for FrequentPassage { text, shingles } in passages {
            let is_frequent = |(shingle, _): &(u64, Range<u32>)| documents(shingle) > over;
            for run in shingles.chunk_by(|a, b| is_frequent(a) == is_frequent(b)) {
                let Some(least) = run.iter().map(|(shingle, _)| documents(shingle)).min() else {
                    continue;
                };
                if least > over {
                    let bytes = run[0].1.start as usize..run[run.len() - 1].1.end as usize;
                    templates.push(Template { documents: least, text: text[bytes].to_owned() });
                }
            }
        }
        templates.sort_unstable_by(|a, b| {
            b.documents.cmp(&a.documents).then_with(|| a.text.cmp(&b.text))
        });
        templates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use akin_core::text::ShingleSettings;

    fn templates(texts: &[&str], over: u32, bytes: usize) -> Vec<(u32, String)> {
        let shingler = Shingler::new(ShingleSettings::default(), 0, 1_000);
        let mut bounds = Bounds::within(bytes);
        let sets: Vec<_> = texts.iter().map(|text| shingler.text(text).unwrap().set).collect();
        for set in &sets {
            bounds.add(set);
        }
        let mut frequent = FrequentShingles::new(bounds, over);
        for (text, set) in texts.iter().zip(&sets) {
            frequent.add(text, set, &shingler).unwrap();
        }
        frequent.templates().into_iter().map(|it| (it.documents, it.text)).collect()
    }

    #[test]
    fn texts_of_frequent_shingles_are_found_with_exact_counts() {
        let texts = [
            "Home, News; Sport Weather! the museum opens",
            "the zoo closes at six. All rights reserved by us. All rights reserved by us.",
            "HOME news sport WEATHER and then the zoo closes",
            "all rights reserved by us, home news sport",
            "nothing of all this",
        ];
        // However many shingles share a counter.
        for bytes in [8, 64, 1 << 20] {
            let expected = [
                (2, "All rights reserved by us".to_owned()),
                (2, "Home, News; Sport Weather".to_owned()),
                (2, "the zoo closes".to_owned()),
            ];
            assert_eq!(templates(&texts, 1, bytes), expected, "{bytes}");
            assert_eq!(templates(&texts, 2, bytes), [(3, "Home, News; Sport".to_owned())]);
            assert_eq!(templates(&texts, 3, bytes), []);
        }
    }
}
