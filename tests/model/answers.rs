//! Comparing answers with the model.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use akin::engine::{Answer, FoundBy, Lookup, Match, Mode};

use crate::plain::{Model, owner};
use crate::plain_resemblance::{Features, Least, Score};

type Near = [(String, Score)];

/// What a lookup must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finds {
    All,
    /// Those that share a key for certain.
    Certain,
    /// It was cut short.
    Some,
}

impl Finds {
    pub fn of(is_whole: bool, is_truncated: bool) -> Self {
        match (is_truncated, is_whole) {
            (true, _) => Self::Some,
            (false, true) => Self::All,
            (false, false) => Self::Certain,
        }
    }
}

pub fn lookup(least: Least, mode: Mode) -> Lookup {
    let (threshold, points) = match least {
        Least::Resemblance(least) => (Some(least.try_into().unwrap()), None),
        Least::Points(points) => (None, Some(points)),
    };
    Lookup { threshold, points, limit: 10_000, mode: Some(mode), ..Lookup::default() }
}

/// The groups in which a lookup lists its matches, each in order: the matches of the first 40
/// candidates, of the next 40, 80, 160 … candidates.
pub fn groups_of(answer: &Answer) -> usize {
    let (mut groups, mut checked) = (1, 40);
    while answer.searched.found_by == FoundBy::Keys && checked < answer.searched.candidates {
        (groups, checked) = (groups + 1, 2 * checked);
    }
    groups
}

/// All are near-duplicates, each once, scored as in the model, in at most so many groups that are
/// ordered as in the model; and those that must be found are.
pub fn check(found: &[Match], near: &Near, finds: Finds, groups: usize) -> Result<(), String> {
    let places = near.iter().enumerate().map(|(at, (id, score))| (id.as_str(), (at, *score)));
    let mut places: BTreeMap<_, _> = places.collect();
    let (mut last, mut begun) = (None, 1);
    for of in found {
        let Some((at, score)) = places.remove(of.id.as_str()) else {
            return Err(format!("{} is wrong or comes twice in {found:?} of {near:?}", of.id));
        };
        check_score(of, score)?;
        begun += usize::from(last > Some(at));
        last = Some(at);
        if begun > groups {
            return Err(format!("{} is out of order in {found:?} of {near:?}", of.id));
        }
    }
    if found.windows(2).any(|pair| pair[0].similarity.points() < pair[1].similarity.points()) {
        return Err(format!("the points rise in {found:?}"));
    }
    check_missing(found, near, finds)
}

/// The answer of a lookup of the `k` records with the most points: none of the records that must be
/// found has more points than one of them.
pub fn check_most_points(answer: &Answer, near: &Near, k: usize) -> Result<(), String> {
    check(&answer.matches, near, Finds::Some, groups_of(answer))?;
    let certain = near.iter().filter(|(_, score)| score.is_certain);
    let best: Vec<_> = certain.take(k).map(|(_, score)| score.points).collect();
    let found: Vec<_> = answer.matches.iter().map(|found| found.similarity.points()).collect();
    let are_best = best.iter().enumerate().all(|(at, points)| found.get(at) >= Some(points));
    (are_best && found.len() <= k)
        .then_some(())
        .ok_or_else(|| format!("{found:?} should be the best of {near:?}, at most {k}"))
}

fn check_score(of: &Match, score: Score) -> Result<(), String> {
    if (of.resemblance(), of.similarity.points()) != (score.resemblance, score.points) {
        return Err(format!("{of:?} should be {score:?}"));
    }
    Ok(())
}

fn check_missing(found: &[Match], near: &Near, finds: Finds) -> Result<(), String> {
    let ids: HashSet<&str> = found.iter().map(|of| of.id.as_str()).collect();
    let must_be_found = |score: Score| match finds {
        Finds::All => true,
        Finds::Certain => score.is_certain,
        Finds::Some => false,
    };
    let is_missing =
        |(id, score): &&(String, Score)| must_be_found(*score) && !ids.contains(id.as_str());
    match near.iter().find(is_missing) {
        Some(missing) => Err(format!("{missing:?} is missing in {ids:?} of {near:?}")),
        None => Ok(()),
    }
}

/// As [`check`], where others add and remove documents of their own meanwhile, of which nothing is
/// known but that they are no worse than asked for.
pub fn check_known(
    found: &[Match],
    near: &Near,
    known: &[&str],
    finds: Finds,
) -> Result<(), String> {
    let scores: BTreeMap<_, _> = near.iter().map(|(id, score)| (id.as_str(), *score)).collect();
    let mut seen = BTreeSet::new();
    for of in found {
        if !seen.insert(of.id.as_str()) {
            return Err(format!("{} is reported twice: {found:?}", of.id));
        }
        if !known.contains(&owner(of.id.as_str())) {
            continue;
        }
        match scores.get(of.id.as_str()) {
            Some(score) => check_score(of, *score)?,
            None => return Err(format!("{of:?} is no near-duplicate: {near:?}")),
        }
    }
    check_missing(found, near, finds)
}

/// The least found and the pairs that could be found, over all lookups by keys.
#[derive(Default)]
pub struct RecallTally {
    seen: HashSet<u64>,
    promised: f64,
    found: usize,
}

impl RecallTally {
    /// Each pair counts once at each threshold: it is found always or never.
    pub fn add(&mut self, probe: &Features, model: &Model, near: &Near, found: &[Match], of: f64) {
        let Features::Set(probe) = probe else { return };
        let ids: HashSet<&str> = found.iter().map(|of| of.id.as_str()).collect();
        for (id, score) in near {
            let Features::Set(its) = &model.documents[id].features else { continue };
            let mut hasher = DefaultHasher::new();
            (probe.min(its), probe.max(its), of.to_bits()).hash(&mut hasher);
            if !score.is_certain && self.seen.insert(hasher.finish()) {
                self.promised += of;
                self.found += usize::from(ids.contains(id.as_str()));
            }
        }
    }

    /// With room for chance: four standard deviations of what may be missed, for pairs that depend
    /// on each other in tens.
    pub fn check(&self) {
        let pairs = self.seen.len() as f64;
        let missed = pairs - self.promised;
        let room = 4.0 * (10.0 * missed).sqrt() + 10.0;
        let (found, promised) = (self.found as f64, self.promised);
        assert!(found + room >= promised, "{found} of {pairs} found, {promised} promised");
    }
}
