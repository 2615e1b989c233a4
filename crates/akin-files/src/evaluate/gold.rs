//! Counts found pairs against the known pairs.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::path::Path;

use super::score::{PairCounts, Scores};
use crate::failure::Failure;
use crate::input::open_file;
use crate::offline::{OfflineCorpus, SetPair};
use akin_model::document::DocumentId;

/// Known pairs by the numbers of their sets, the lower number first.
pub struct Gold {
    by_sets: HashMap<(u32, u32), u64>,
    pairs: u64,
    /// For each set, the number of its documents by source.
    sources: Vec<Vec<(usize, u64)>>,
    /// Only pairs of different sources count.
    across: bool,
    distinct: bool,
}

/// A document that a known pair may name.
#[derive(Clone, Copy)]
struct Known {
    number: u32,
    set: u32,
    source: usize,
}

impl Gold {
    /// # Errors
    /// The file cannot be read, or has a line that does not name two documents; an id begins with
    /// none of the prefixes.
    pub fn read(
        path: &Path,
        (corpus, ids): (&OfflineCorpus, &[DocumentId]),
        prefixes: &[String],
        distinct: bool,
    ) -> Result<Self, Failure> {
        let known = known(corpus, ids, prefixes)?;
        let sources = sources(corpus.sets(), known.values());
        let across = !prefixes.is_empty();
        let mut gold = Self { by_sets: HashMap::new(), pairs: 0, sources, across, distinct };
        let mut seen = HashSet::new();
        let unreadable = |error| Failure::unreadable(path, error);
        for (line, text) in (1..).zip(open_file(path).map_err(unreadable)?.lines()) {
            let text = text.map_err(unreadable)?;
            if text.starts_with('#') || text.trim().is_empty() {
                continue;
            }
            let [a, b] = pair(&text, &known)
                .map_err(|why| Failure::new(format!("{}:{line}: {why}", path.display())))?;
            let counts = !across || a.source != b.source;
            if counts && seen.insert((a.number.min(b.number), a.number.max(b.number))) {
                gold.add(a, b);
            }
        }
        Ok(gold)
    }

    fn add(&mut self, a: Known, b: Known) {
        if self.distinct && a.set == b.set {
            return;
        }
        let count = self.by_sets.entry((a.set.min(b.set), a.set.max(b.set))).or_default();
        if !self.distinct || *count == 0 {
            *count += 1;
            self.pairs += 1;
        }
    }

    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Counts the pairs of documents with these sets.
    pub fn count(&self, pair: &SetPair, scores: &mut Scores) {
        let right = self.by_sets.get(&(pair.a, pair.b)).copied().unwrap_or_default();
        let pairs = match self.distinct {
            true => 1,
            false => self.ordered(pair.a, pair.b),
        };
        scores.add(pair.resemblance, PairCounts { pairs, right });
    }

    /// Counts the pairs of documents with equal sets.
    pub fn count_equal(&self, corpus: &OfflineCorpus, scores: &mut Scores) {
        if self.distinct {
            return;
        }
        for set in 0..self.sources.len() as u32 {
            let right = self.by_sets.get(&(set, set)).copied().unwrap_or_default();
            let pairs = self.ordered(set, set) / 2;
            if pairs > 0 {
                scores.add(corpus.resemblance_of_equal(set), PairCounts { pairs, right });
            }
        }
    }

    /// The pairs of a document with set `a` and a document with set `b`; each pair twice if the
    /// sets are the same.
    fn ordered(&self, a: u32, b: u32) -> u64 {
        let [of_a, of_b] = [a, b].map(|set| &self.sources[set as usize]);
        let total = |of: &[(usize, u64)]| of.iter().map(|(_, count)| count).sum::<u64>();
        if !self.across {
            let itself = if a == b { total(of_a) } else { 0 };
            return total(of_a) * total(of_b) - itself;
        }
        let same = of_a.iter().map(|(source, count)| {
            let theirs = of_b.iter().find(|(other, _)| other == source);
            count * theirs.map_or(0, |(_, count)| *count)
        });
        total(of_a) * total(of_b) - same.sum::<u64>()
    }
}

/// Every document by its id. Without prefixes there is a single source.
fn known<'c>(
    corpus: &OfflineCorpus,
    ids: &'c [DocumentId],
    prefixes: &[String],
) -> Result<HashMap<&'c str, Known>, Failure> {
    let mut known = HashMap::with_capacity(corpus.documents().count());
    for set in 0..corpus.sets() {
        for number in corpus.documents().of(set) {
            let id = ids[*number as usize].as_str();
            let source = source(id, prefixes)?;
            known.insert(id, Known { number: *number, set, source });
        }
    }
    Ok(known)
}

fn source(id: &str, prefixes: &[String]) -> Result<usize, Failure> {
    if prefixes.is_empty() {
        return Ok(0);
    }
    prefixes.iter().position(|prefix| id.starts_with(prefix.as_str())).ok_or_else(|| {
        let prefixes = prefixes.join(", ");
        Failure::new(format!("the id '{id}' begins with none of {prefixes}"))
    })
}

fn sources<'k>(sets: u32, known: impl Iterator<Item = &'k Known>) -> Vec<Vec<(usize, u64)>> {
    let mut sources = vec![Vec::new(); sets as usize];
    for Known { set, source, .. } in known {
        let of: &mut Vec<(usize, u64)> = &mut sources[*set as usize];
        match of.iter_mut().find(|(known, _)| known == source) {
            Some((_, count)) => *count += 1,
            None => of.push((*source, 1)),
        }
    }
    sources
}

fn pair(line: &str, known: &HashMap<&str, Known>) -> Result<[Known; 2], String> {
    let mut ids = line.split('\t');
    let (Some(a), Some(b)) = (ids.next(), ids.next()) else {
        return Err("the line has no two ids with a tab between".to_owned());
    };
    let find = |id: &str| known.get(id).copied().ok_or(format!("there is no document '{id}'"));
    let pair = [find(a)?, find(b)?];
    if pair[0].number == pair[1].number {
        return Err(format!("'{a}' with itself is no pair"));
    }
    Ok(pair)
}
