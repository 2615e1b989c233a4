//! Rebuilding: connects the members of a stale cluster anew, by lookups among themselves.

use std::collections::{BTreeMap, HashMap};

use super::linking::Neighbours;
use super::{Linker, Pace};
use crate::backend::Candidate;
use crate::document::Ordinal;
use crate::engine::EngineError;
use crate::join::Forest;
use crate::text::ShingleSet;

/// The distinct sets of a cluster's members, and which of them are connected so far.
struct Sets {
    /// By fingerprint.
    numbers: HashMap<u64, u32>,
    /// A member with each set.
    firsts: Vec<Ordinal>,
    forest: Forest,
    /// How many groups there are.
    groups: u32,
}

impl Linker<'_> {
    /// Goes through the members until all are connected. Those that are removed or come meanwhile
    /// are taken care of by [`crate::backend::Clusters::rebuilt`].
    pub(super) async fn rebuild(
        &self,
        members: Vec<Ordinal>,
        pace: &mut Pace,
    ) -> Result<(), EngineError> {
        let mut numbers = HashMap::new();
        let mut firsts = Vec::new();
        let mut number_of = Vec::with_capacity(members.len());
        for member in &members {
            // One that was just removed is with the others of its former cluster.
            let Some(fingerprint) = self.local.fingerprint(*member) else {
                number_of.push(None);
                continue;
            };
            let next = firsts.len() as u32;
            let number = *numbers.entry(fingerprint).or_insert(next);
            if number == next {
                firsts.push(*member);
            }
            number_of.push(Some(number));
        }
        let groups = firsts.len() as u32;
        let mut sets = Sets { numbers, firsts, forest: Forest::new(groups), groups };
        for number in 0..groups {
            if sets.groups <= 1 {
                break;
            }
            match self.reconnect(number, &mut sets).await {
                Ok(()) => pace.step().await,
                Err(error) if error.is_of_stopping() => return Err(error),
                Err(error) => {
                    // Another attempt would fail as this one: the cluster stays as it is.
                    self.miss(&error);
                    self.clusters.rebuilt(vec![members]);
                    return Ok(());
                }
            }
        }
        let mut groups = BTreeMap::<u32, Vec<Ordinal>>::new();
        for (member, number) in members.into_iter().zip(number_of) {
            let group = number.map_or(u32::MAX, |number| sets.forest.root(number));
            groups.entry(group).or_default().push(member);
        }
        self.clusters.rebuilt(groups.into_values().collect());
        Ok(())
    }

    async fn reconnect(&self, number: u32, sets: &mut Sets) -> Result<(), EngineError> {
        let first = sets.firsts[number as usize];
        let Some((set, own)) = self.set_of(first).await? else { return Ok(()) };
        let mut neighbours = self.neighbours(&set, &own).await?;
        while self.reconnect_some(number, &set, &mut neighbours, sets).await? {}
        Ok(())
    }

    /// `false` if nothing is left to compare.
    async fn reconnect_some(
        &self,
        number: u32,
        set: &ShingleSet,
        neighbours: &mut Neighbours,
        sets: &mut Sets,
    ) -> Result<bool, EngineError> {
        let (chosen, numbers) = sets.apart(number, &mut neighbours.candidates);
        if chosen.is_empty() {
            return Ok(false);
        }
        let Some(near) = self.compare(set, &chosen, neighbours).await? else { return Ok(false) };
        for (near, other) in near.into_iter().zip(numbers) {
            if near == Some(true) && sets.forest.root(number) != sets.forest.root(other) {
                sets.forest.connect(number, other);
                sets.groups -= 1;
            }
        }
        Ok(true)
    }
}

impl Sets {
    /// Takes the best candidate of each group that a set is not in yet; forgets those of its own
    /// and those of other clusters.
    fn apart(
        &mut self,
        number: u32,
        candidates: &mut Vec<Candidate>,
    ) -> (Vec<Candidate>, Vec<u32>) {
        let own = self.forest.root(number);
        let (mut chosen, mut numbers, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = Vec::new();
        for candidate in candidates.drain(..) {
            let Some(&other) = self.numbers.get(&candidate.fingerprint) else { continue };
            let root = self.forest.root(other);
            if root == own {
                continue;
            }
            if seen.len() < 16 && !seen.contains(&root) {
                seen.push(root);
                chosen.push(candidate);
                numbers.push(other);
            } else {
                rest.push(candidate);
            }
        }
        *candidates = rest;
        (chosen, numbers)
    }
}
