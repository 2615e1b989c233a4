//! What resemblance is, computed the plain way and without the engine's code. Contents here are
//! words of ASCII letters and digits with single spaces between, so that cutting them needs no
//! rules.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use akin::document::Content;

/// How contents become sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub shingle_words: usize,
    pub multiset: bool,
}

/// What two contents are compared by.
#[derive(Clone, Debug)]
pub enum Features {
    /// Hashes of elements, each with the number of its occurrence, ascending.
    Set(Vec<u64>),
    Fields(BTreeMap<String, String>),
}

/// A match is at or over it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Least {
    Resemblance(f64),
    Points(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    pub resemblance: f64,
    pub points: Option<u32>,
    /// The contents are equal, or records that agree in a field: a lookup by keys must find it.
    pub is_certain: bool,
}

/// The points that one edit of a field costs by default.
const PENALTY: u32 = 4;

impl Rule {
    pub fn features(self, content: &Content) -> Features {
        match content {
            Content::Fields(fields) => Features::Fields(fields.clone()),
            Content::Signature(_) => unreachable!("no world of the model has signatures"),
            Content::Tokens(tokens) => {
                let elements = tokens.iter().map(|token| (token.text.clone(), token.count));
                self.set(elements)
            }
            Content::Text(text) => {
                let words: Vec<&str> = text.split(' ').collect();
                // A text of fewer words is one shingle.
                let size = self.shingle_words.min(words.len());
                self.set(words.windows(size).map(|shingle| (shingle.join(" "), 1)))
            }
        }
    }

    fn set(self, elements: impl Iterator<Item = (String, u32)>) -> Features {
        let mut counts = HashMap::new();
        for (element, count) in elements {
            *counts.entry(element).or_insert(0) += count;
        }
        let numbered = counts.iter().flat_map(|(element, &count)| {
            let occurrences = if self.multiset { count } else { 1 };
            (0..occurrences).map(move |occurrence| hash(&(element, occurrence)))
        });
        let mut set: Vec<u64> = numbered.collect();
        set.sort_unstable();
        Features::Set(set)
    }
}

impl Least {
    pub fn admits(self, score: Score) -> bool {
        match self {
            Self::Resemblance(least) => score.resemblance >= least,
            Self::Points(least) => score.points.unwrap() >= least,
        }
    }
}

pub fn score(a: &Features, b: &Features) -> Score {
    match (a, b) {
        (Features::Set(a), Features::Set(b)) => {
            let shared = a.iter().filter(|element| b.binary_search(element).is_ok()).count();
            let resemblance = shared as f64 / (a.len() + b.len() - shared) as f64;
            Score { resemblance, points: None, is_certain: a == b }
        }
        (Features::Fields(a), Features::Fields(b)) => {
            let both = a.iter().filter_map(|(name, ours)| Some((ours, b.get(name)?)));
            let points: Vec<u32> = both.map(|(ours, its)| field_points(ours, its)).collect();
            let either = a.len() + b.len() - points.len();
            let total = points.iter().sum();
            Score {
                resemblance: f64::from(total) / (100.0 * either as f64),
                points: Some(total),
                is_certain: points.contains(&100),
            }
        }
        _ => unreachable!("a collection has one kind of contents"),
    }
}

/// A hundred minus the cost of the edits, which grows with their square.
fn field_points(a: &str, b: &str) -> u32 {
    let edits = edits(a.as_bytes(), b.as_bytes());
    let length = a.len().max(b.len()) as u32;
    let by_length = (100 * edits * edits).div_ceil(length * length);
    100 - by_length.max(PENALTY * edits * edits).min(100)
}

/// The edit distance as it is defined (Wagner and Fischer 1974).
fn edits(a: &[u8], b: &[u8]) -> u32 {
    let mut row: Vec<u32> = (0..=b.len() as u32).collect();
    for (i, ours) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i as u32 + 1;
        for (j, its) in b.iter().enumerate() {
            let replaced = diagonal + u32::from(ours != its);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
