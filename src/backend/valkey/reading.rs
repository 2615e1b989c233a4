//! Lookups by keys, in three round trips: the postings of all keys, the entries of their sets, and
//! the documents of the members of the sets that agree; before the last a further round trip for
//! the members of sets that have several.

use std::cmp::Reverse;
use std::collections::HashMap;

use bytes::Bytes;
use futures_util::future::try_join_all;

use super::Shared;
use super::client::Reply;
use super::command::{Command, number};
use super::documents::member_of;
use super::entries::Entry;
use super::layout::{self, fingerprint_of};
use super::versions::VersionRecord;
use crate::backend::{BackendError, Candidate, Candidates, Version};
use akin_core::index::{Members, Search};
use akin_core::scheme::Key;

/// Postings of a key up to this number are read at once, longer lists after all of these.
const SHORT: usize = 64;

/// Members returned of every set, regardless of the limit.
const MEMBERS_MIN: usize = 2;

/// Members read in addition to the wanted number, as some may be pending or left over.
const MEMBERS_SPARE: usize = 8;

/// Sets read in addition to the wanted number, as some may have no live member: at least the set of
/// the document that looks for its near-duplicates.
const SETS_SPARE: usize = 8;

/// The search ends at this multiple of the requested number of agreeing sets.
const AGREEING_FOR_EACH_FOUND: usize = 4;

/// Postings read at first per requested set.
const POSTINGS_FOR_EACH_FOUND: usize = 2 * AGREEING_FOR_EACH_FOUND;

/// Searches run at once.
const SEARCHES_AT_ONCE: usize = 32;

/// Sketches and members read in one call.
const READ_AT_ONCE: usize = 4_096;

/// A set with a sketch that agrees well enough.
#[derive(Clone)]
pub(super) struct Listed {
    pub fingerprint: u64,
    pub shingles: u32,
    pub agreeing: u32,
    pub keys_shared: u32,
    /// Its only member; `None` if its members must be read.
    pub only: Option<Version>,
}

/// Sets that share a key.
pub(super) struct Sharing {
    /// With the number of the keys, in the order in which they were read.
    pub sets: Vec<(u64, u32)>,
    pub truncated: bool,
}

impl Shared {
    pub(super) async fn candidates(
        &self,
        searches: &[Search<'_>],
    ) -> Result<Vec<Candidates>, BackendError> {
        let mut found = Vec::with_capacity(searches.len());
        for some in searches.chunks(SEARCHES_AT_ONCE) {
            found.extend(try_join_all(some.iter().map(|search| self.search(search))).await?);
        }
        Ok(found)
    }

    async fn search(&self, search: &Search<'_>) -> Result<Candidates, BackendError> {
        let few = search.limits.found_max.saturating_mul(POSTINGS_FOR_EACH_FOUND);
        let enough = search.limits.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND);
        let sharing = self.sharing(search.keys, few.min(search.limits.postings_max)).await?;
        let (mut seen, mut truncated) = (sharing.sets.len(), sharing.truncated);
        let mut listed = self.agreeing(search, sharing.sets).await?;
        if truncated && listed.len() < enough && few < search.limits.postings_max {
            let sharing = self.sharing(search.keys, search.limits.postings_max).await?;
            (seen, truncated) = (sharing.sets.len(), sharing.truncated);
            listed = self.agreeing(search, sharing.sets).await?;
        }
        let is_cut = truncated || listed.len() >= enough;
        if is_cut && !listed.iter().any(|set| set.fingerprint == search.fingerprint) {
            let equal = vec![(search.fingerprint, search.keys.len() as u32)];
            listed.extend(self.agreeing(search, equal).await?);
        }
        self.candidates_of(search, listed, seen, truncated).await
    }

    /// The best of these sets, the probe's own among them, with their members. `seen`: the number
    /// of sets that share a key; `truncated`: of which some are left out.
    pub(super) async fn candidates_of(
        &self,
        search: &Search<'_>,
        mut listed: Vec<Listed>,
        seen: usize,
        mut truncated: bool,
    ) -> Result<Candidates, BackendError> {
        let listed_max = search.limits.found_max.saturating_add(SETS_SPARE);
        if listed.len() > listed_max {
            let is_other = |set: &Listed| set.fingerprint != search.fingerprint;
            let worth = |set: &Listed| (is_other(set), Reverse(set.agreeing), set.fingerprint);
            listed.select_nth_unstable_by_key(listed_max, worth);
            listed.truncate(listed_max);
            truncated = true;
        }
        let mut candidates = Candidates { found: Vec::new(), seen, truncated, in_crowd: false };
        self.add_members(search, listed, &mut candidates).await?;
        if candidates.found.len() > search.limits.found_max {
            let worth = |found: &Candidate| {
                (found.fingerprint != search.fingerprint, Reverse(found.agreeing))
            };
            candidates.found.sort_by_key(worth);
            candidates.found.truncate(search.limits.found_max);
            candidates.truncated = true;
        }
        Ok(candidates)
    }

    /// The sets under the keys, from at most `postings_max` postings. Rare keys are read first, so
    /// that the limit cuts off only the postings of common keys.
    pub(super) async fn sharing(
        &self,
        keys: &[Key],
        postings_max: usize,
    ) -> Result<Sharing, BackendError> {
        let read = |&key: &Key, count: usize| {
            let (low, high) = self.layout.bounds(key);
            let range = [low, high, Bytes::from_static(b"LIMIT"), number(0), number(count)];
            Command::new("ZRANGEBYLEX", self.layout.block(key), range)
        };
        let first = self.connection.call(keys.iter().map(|key| read(key, SHORT + 1)).collect());
        let mut postings = Vec::new();
        let mut long = Vec::new();
        for (key, found) in keys.iter().zip(first.await?) {
            let found: Vec<Bytes> = found.strings().collect();
            if found.len() > SHORT || postings.len() + found.len() > postings_max {
                long.push(*key);
            } else {
                postings.extend(found);
            }
        }
        let mut truncated = false;
        for (key, length) in self.by_length(&long).await? {
            let room = postings_max.saturating_sub(postings.len());
            truncated |= length > room;
            if room > 0 {
                postings.extend(self.connection.call_one(read(&key, room)).await?.strings());
            }
        }
        Ok(Sharing { sets: count_each(&postings), truncated })
    }

    /// Keys with the number of their postings, rare keys first.
    async fn by_length(&self, keys: &[Key]) -> Result<Vec<(Key, usize)>, BackendError> {
        let count = |&key: &Key| {
            let (low, high) = self.layout.bounds(key);
            Command::new("ZLEXCOUNT", self.layout.block(key), [low, high])
        };
        let counts = self.connection.call(keys.iter().map(count).collect()).await?;
        let counts = counts.iter().map(|count| count.integer().unwrap_or(0).max(0) as usize);
        let mut lengths: Vec<_> = keys.iter().copied().zip(counts).collect();
        lengths.sort_by_key(|(_, length)| *length);
        Ok(lengths)
    }

    /// The sets with sketches that agree well enough with the probe's sketch.
    async fn agreeing(
        &self,
        search: &Search<'_>,
        sharing: Vec<(u64, u32)>,
    ) -> Result<Vec<Listed>, BackendError> {
        let enough = search.limits.found_max.saturating_mul(AGREEING_FOR_EACH_FOUND);
        let mut listed = Vec::new();
        for sharing in sharing.chunks(READ_AT_ONCE) {
            let entries = self.entries(sharing.iter().map(|(fingerprint, _)| *fingerprint)).await?;
            for (&(fingerprint, keys_shared), entry) in sharing.iter().zip(entries) {
                let Some(entry) = entry.filter(Entry::is_alive) else { continue };
                let (ours, its) = (search.sketch.as_bytes(), entry.sketch.as_bytes());
                let agreeing = self.estimator.agreeing(ours, its);
                if agreeing >= search.agreeing_min && listed.len() < enough {
                    let (shingles, only) = (entry.shingles, entry.only());
                    listed.push(Listed { fingerprint, shingles, agreeing, keys_shared, only });
                }
            }
        }
        Ok(listed)
    }

    /// Adds the sets with their live members. If a member was replaced in the meantime, its
    /// successor is read, so that a document is found in either the old or the new version.
    async fn add_members(
        &self,
        search: &Search<'_>,
        listed: Vec<Listed>,
        candidates: &mut Candidates,
    ) -> Result<(), BackendError> {
        let mut members_left = search.limits.postings_max;
        let mut successors = Vec::new();
        for listed in listed.chunks(READ_AT_ONCE / 16) {
            let each_max = search.limits.members_max.min(members_left.max(MEMBERS_MIN));
            let shared = listed.iter().filter(|set| set.only.is_none());
            let read = |set: &Listed| self.read_members(set.fingerprint, each_max + MEMBERS_SPARE);
            let mut replies = self.connection.call(shared.map(read).collect()).await?.into_iter();
            let mut versions = |set: &Listed| match &set.only {
                Some(only) => vec![only.clone()],
                None => replies.next().map(versions_of).unwrap_or_default(),
            };
            let versions: Vec<Vec<Version>> = listed.iter().map(&mut versions).collect();
            let all: Vec<&Version> = versions.iter().flatten().collect();
            let mut live = self.live_of(all.iter().map(|version| &version.id)).await?.into_iter();
            for (set, versions) in listed.iter().zip(versions) {
                let read = versions.len();
                let mut members = self.standing_members(versions, &mut live, &mut successors);
                let members_max = search.limits.members_max.min(members_left.max(MEMBERS_MIN));
                candidates.truncated |=
                    members.len() > members_max || read == each_max + MEMBERS_SPARE;
                members.truncate(members_max);
                members_left = members_left.saturating_sub(members.len());
                if members.is_empty() {
                    continue;
                }
                let &Listed { fingerprint, shingles, agreeing, keys_shared, .. } = set;
                let found = Candidate { fingerprint, shingles, agreeing, keys_shared, members };
                candidates.found.push(found);
            }
        }
        self.add_successors(search, successors, candidates).await
    }

    fn read_members(&self, fingerprint: u64, count: usize) -> Command {
        let range = [b"-".as_slice(), b"+", b"LIMIT", b"0"].map(Bytes::from_static);
        let range = range.into_iter().chain([number(count)]);
        Command::new("ZRANGEBYLEX", self.layout.members(fingerprint), range)
    }

    fn standing_members(
        &self,
        versions: Vec<Version>,
        live: &mut impl Iterator<Item = Option<VersionRecord>>,
        successors: &mut Vec<(Version, VersionRecord)>,
    ) -> Members<crate::backend::Member> {
        let now_ms = self.now_ms();
        let mut members = Members::new();
        for version in versions {
            let Some(stored) = live.next().flatten() else { continue };
            if !stored.is_alive(now_ms) {
                continue;
            }
            if stored.ordinal == version.ordinal {
                members.push(member_of(&version.id, &stored));
            } else if stored.ordinal > version.ordinal {
                let ordinal = stored.ordinal;
                successors.push((Version { ordinal, ..version }, stored));
            }
        }
        members
    }

    async fn add_successors(
        &self,
        search: &Search<'_>,
        successors: Vec<(Version, VersionRecord)>,
        candidates: &mut Candidates,
    ) -> Result<(), BackendError> {
        if successors.is_empty() {
            return Ok(());
        }
        let fingerprints = successors.iter().map(|(_, stored)| stored.fingerprint);
        let entries = self.entries(fingerprints).await?;
        for ((version, stored), entry) in successors.into_iter().zip(entries) {
            let Some(entry) = entry else { continue };
            let (ours, its) = (search.sketch.as_bytes(), entry.sketch.as_bytes());
            let agreeing = self.estimator.agreeing(ours, its);
            let keys_shared = self.scheme.tables_shared(ours, its).count() as u32;
            let is_known = |candidate: &Candidate| {
                candidate.members.iter().any(|member| member.ordinal == version.ordinal)
            };
            if agreeing < search.agreeing_min
                || keys_shared == 0
                || candidates.found.iter().any(is_known)
            {
                continue;
            }
            let member = member_of(&version.id, &stored);
            let same = |found: &&mut Candidate| found.fingerprint == stored.fingerprint;
            match candidates.found.iter_mut().find(same) {
                Some(same) => same.members.push(member),
                None => candidates.found.push(Candidate {
                    fingerprint: stored.fingerprint,
                    shingles: stored.shingles,
                    agreeing,
                    keys_shared,
                    members: smallvec::smallvec![member],
                }),
            }
        }
        Ok(())
    }
}

pub(super) fn versions_of(reply: Reply) -> Vec<Version> {
    reply.strings().filter_map(|member| layout::member_of(&member)).collect()
}

/// Each fingerprint once, with the number of its postings, in the order of the first.
fn count_each(postings: &[Bytes]) -> Vec<(u64, u32)> {
    let mut at = HashMap::with_capacity(postings.len());
    let mut sets: Vec<(u64, u32)> = Vec::new();
    for fingerprint in postings.iter().filter_map(|posting| fingerprint_of(posting)) {
        let place = *at.entry(fingerprint).or_insert_with(|| {
            sets.push((fingerprint, 0));
            sets.len() - 1
        });
        sets[place].1 += 1;
    }
    sets
}
