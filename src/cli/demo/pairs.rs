//! Chooses a few of many near-duplicate pairs, as different from each other as possible.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

/// The most pairs to choose from.
const REMEMBERED_MAX: usize = 20_000;
/// Resemblances within 1/50 of each other count as similar.
const LEVELS: f64 = 50.0;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DemoPair {
    pub a: String,
    pub b: String,
    pub resemblance: f64,
}

/// The pairs found so far.
#[derive(Debug, Default)]
pub struct Pairs {
    roots: Vec<String>,
    identical: u64,
    nearly_identical: u64,
    /// A pair for each directory and level.
    remembered: BTreeMap<(String, u32), DemoPair>,
}

impl Pairs {
    /// `roots`: the directories that were imported.
    pub fn new(roots: Vec<String>) -> Self {
        Self { roots, ..Self::default() }
    }

    /// Documents with the same set as an earlier document.
    pub fn identical(&self) -> u64 {
        self.identical
    }

    /// Documents with an earlier near-duplicate, but no earlier document with the same set.
    pub fn nearly_identical(&self) -> u64 {
        self.nearly_identical
    }

    /// Adds a document with its near-duplicates, the nearest first.
    pub fn add<'a>(&mut self, id: &str, mut matches: impl Iterator<Item = (&'a str, f64)>) {
        let Some((nearest, resemblance)) = matches.next() else { return };
        if resemblance >= 1.0 {
            self.identical += 1;
            return;
        }
        self.nearly_identical += 1;
        if self.remembered.len() < REMEMBERED_MAX {
            let key = (self.directory(id).to_owned(), level(resemblance));
            let pair = DemoPair { a: id.into(), b: nearest.into(), resemblance };
            self.remembered.entry(key).or_insert(pair);
        }
    }

    /// Up to `count` pairs, the most resembling first. Each pair is the least like the
    /// pairs chosen before: by directory, then by file name, then by resemblance.
    pub fn choose(&self, count: usize) -> Vec<DemoPair> {
        let mut left: Vec<&DemoPair> = self.remembered.values().collect();
        let mut used: HashMap<String, u32> = HashMap::new();
        let mut chosen = Vec::new();
        while chosen.len() < count {
            let traits: Vec<_> = left.iter().map(|pair| self.traits(pair)).collect();
            let cost = |place: &usize| -> u32 {
                let of = |(name, weight): &(String, u32)| used.get(name).unwrap_or(&0) * weight;
                traits[*place].iter().map(of).sum()
            };
            let Some(place) = (0..left.len()).min_by_key(cost) else { break };
            for (name, _) in &traits[place] {
                *used.entry(name.clone()).or_default() += 1;
            }
            chosen.push(left.swap_remove(place).clone());
        }
        chosen.sort_by(|x, y| y.resemblance.total_cmp(&x.resemblance).then(x.a.cmp(&y.a)));
        chosen
    }

    /// The traits by which a reader takes two pairs for similar, with their weights.
    fn traits(&self, pair: &DemoPair) -> [(String, u32); 4] {
        let file_name = pair.a.rsplit('/').next().unwrap_or(&pair.a);
        [
            (format!("directory {}", self.directory(&pair.a)), 4),
            (format!("directory {}", self.directory(&pair.b)), 4),
            (format!("file {file_name}"), 2),
            (format!("level {}", level(pair.resemblance)), 1),
        ]
    }

    /// The first directory below the root; the name itself if it lies directly in the root.
    fn directory<'a>(&self, name: &'a str) -> &'a str {
        let inner = self.roots.iter().find_map(|root| name.strip_prefix(root.as_str()));
        let inner = inner.unwrap_or(name).trim_start_matches('/');
        inner.split('/').next().unwrap_or(inner)
    }
}

fn level(resemblance: f64) -> u32 {
    (resemblance * LEVELS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_pairs_come_from_different_directories() {
        let mut pairs = Pairs::new(vec!["/doc".into()]);
        for n in 0..50 {
            let id = format!("/doc/fonts/{n}/copyright");
            pairs.add(&id, [("/doc/fonts/copyright", 0.80 + f64::from(n) / 300.0)].into_iter());
        }
        pairs.add("/doc/bash/README", [("/doc/dash/README", 0.9)].into_iter());
        pairs.add("/doc/zsh/NEWS", [("/doc/ksh/NEWS", 0.95), ("/doc/x", 0.8)].into_iter());
        pairs.add("/doc/same", [("/doc/other", 1.0)].into_iter());
        pairs.add("/doc/alone", std::iter::empty());
        assert_eq!((pairs.identical(), pairs.nearly_identical()), (1, 52));
        let chosen = pairs.choose(3);
        let names: Vec<&str> = chosen.iter().map(|pair| pair.a.as_str()).collect();
        assert!(names.contains(&"/doc/bash/README") && names.contains(&"/doc/zsh/NEWS"));
        assert!(chosen.is_sorted_by(|x, y| x.resemblance >= y.resemblance));
        assert_eq!(pairs.choose(1000).len(), pairs.remembered.len());
    }
}
