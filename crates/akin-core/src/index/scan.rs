//! Scans of all sketches, for the sets that agree best with a probe, however few slots agree.
//!
//! A scan is cut into steps, so that callers can stop it between two steps. A step reads
//! [`SKETCH_BYTES_AT_ONCE`] of sketches under the lock of their part, and compares them with every
//! probe of the scan: they come from memory once for all of these probes.

use std::cmp::Reverse;

use super::search::ShortlistedSet;
use super::sets::{RANGE, SketchesOfRange};
use super::{Candidate, Candidates, Index, SearchLimits};
use crate::simd::{Level, find_agreeing};
use crate::sketch::Sketch;

/// Bytes of sketches that are compared under one lock, if they are of several sets: they fit into
/// the cache next to the processor.
const SKETCH_BYTES_AT_ONCE: usize = 32 << 10;

/// How many sets a [`SketchScan`] keeps.
#[derive(Clone, Copy, Debug)]
pub struct ScanLimits {
    /// Sets that agree in at least this number of slots are *near*.
    pub near_min: u32,
    /// Near sets that are kept, at most: the sets that agree best.
    pub near_max: usize,
    /// Sets that are kept, near or not, if fewer sets than this are near; at most `near_max`. Sets
    /// without an agreeing slot are not kept.
    pub kept_max: usize,
}

/// A set that was compared with a probe by their sketches.
pub trait ComparedSet {
    fn agreeing(&self) -> u32;

    /// Of sets that agree in as many slots, those with the lowest number are kept.
    fn number(&self) -> u64;
}

/// A probe, with the sets that agree best with it among the sets scanned so far.
#[derive(Debug)]
pub struct SketchScan {
    sketch: Sketch,
    best: BestSets<ShortlistedSet>,
}

impl SketchScan {
    /// A scan for the sets that agree with this sketch.
    #[must_use]
    pub fn new(sketch: Sketch, limits: ScanLimits) -> Self {
        Self { sketch, best: BestSets::new(limits) }
    }

    /// Adds sets of a range. `found`: their places in the range, and their agreeing slots.
    fn add(&mut self, range: &SketchesOfRange<'_>, found: &[(u16, u16)]) {
        for &(place, agreeing) in found {
            let Some((entry, fingerprint)) = range.set(place.into()) else { continue };
            let agreeing = agreeing.into();
            self.best.add(ShortlistedSet { entry, fingerprint, agreeing, keys_shared: 0 });
        }
    }
}

/// The sets that agree best with a probe, within the limits of a scan.
#[derive(Debug)]
pub struct BestSets<T> {
    limits: ScanLimits,
    near: BestAgreeing<T>,
    far: BestAgreeing<T>,
}

impl<T: ComparedSet> BestSets<T> {
    #[must_use]
    pub fn new(limits: ScanLimits) -> Self {
        let near = BestAgreeing::new(limits.near_max, limits.near_min.max(1));
        let far = BestAgreeing::new(limits.kept_max, 1);
        Self { limits, near, far }
    }

    /// The least number of agreeing slots of a set that may be kept.
    #[must_use]
    pub fn agreeing_min(&self) -> u32 {
        let is_full = self.near.sets.len() >= self.limits.kept_max;
        self.near.agreeing_min.min(if is_full { u32::MAX } else { self.far.agreeing_min })
    }

    pub fn add(&mut self, set: T) {
        let is_near = set.agreeing() >= self.limits.near_min;
        if is_near { &mut self.near } else { &mut self.far }.add(set);
    }

    /// The kept sets, best first; and the highest agreement of a near set that was not kept.
    #[must_use]
    pub fn finish(self) -> (Vec<T>, u32) {
        let Self { limits, mut near, mut far } = self;
        near.cut();
        far.max = limits.kept_max.saturating_sub(near.sets.len());
        far.cut();
        near.sets.append(&mut far.sets);
        near.sets.sort_unstable_by_key(worth);
        (near.sets, near.left_out)
    }
}

impl Index {
    /// Scans some of the sets for all of these probes, from a position on: 0 at first. Returns the
    /// next position, or `None` at the end. A set that is in the index throughout the scan is seen
    /// once.
    pub fn scan_some(&self, level: Level, from: u32, scans: &mut [SketchScan]) -> Option<u32> {
        let slot_bytes = self.estimator.slot_bytes().expect("sketches of records have no slots");
        let at_once = (SKETCH_BYTES_AT_ONCE / self.sets.sketch_bytes()) as u32;
        let at_once = at_once.clamp(1, RANGE);
        let end = (from + at_once).min((from / RANGE + 1) * RANGE);
        let mut found = [(0, 0); RANGE as usize];
        self.sets.read_range(from..end, |range| {
            for scan in scans {
                let (sketch, least) = (scan.sketch.as_bytes(), scan.best.agreeing_min());
                let sketches = range.sketches;
                let count = find_agreeing(level, slot_bytes, sketch, sketches, least, &mut found);
                scan.add(range, &found[..count]);
            }
        });
        self.sets.has_numbers_from(end).then_some(end)
    }

    /// The result of a scan that has come to its end. `each_max`: the members of a set that are
    /// returned. `total_max`: the members of all sets that are returned, of the best sets first;
    /// but two members of each set are always returned. `seen` counts all sets of the index,
    /// `truncated` says that there were more members than could be returned in total, and
    /// `left_out` is of near sets.
    #[must_use]
    pub fn scanned(&self, scan: SketchScan, each_max: usize, total_max: usize) -> Candidates {
        let (sets, left_out) = scan.best.finish();
        let limits =
            SearchLimits { postings_max: total_max, members_max: each_max, ..SearchLimits::NONE };
        let candidates = self.candidates_of(&sets, &limits);
        let members = candidates.found.iter().map(|found| found.members.len()).sum::<usize>();
        Candidates {
            seen: self.sets.count() as usize,
            truncated: candidates.truncated && members >= total_max,
            left_out,
            ..candidates
        }
    }
}

/// The sets that agree best. Sets that agree in as many slots are kept in the order of their
/// numbers.
#[derive(Debug)]
struct BestAgreeing<T> {
    max: usize,
    /// Sets that agree in fewer slots are not among the best.
    agreeing_min: u32,
    /// Up to twice as many sets as are kept in the end.
    sets: Vec<T>,
    /// The highest number of agreeing slots of a set that was dropped.
    left_out: u32,
}

impl<T: ComparedSet> BestAgreeing<T> {
    fn new(max: usize, agreeing_min: u32) -> Self {
        let agreeing_min = if max == 0 { u32::MAX } else { agreeing_min };
        Self { max, agreeing_min, sets: Vec::new(), left_out: 0 }
    }

    fn add(&mut self, set: T) {
        if set.agreeing() < self.agreeing_min {
            return;
        }
        self.sets.push(set);
        if self.sets.len() > 2 * self.max {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.sets.len() <= self.max {
            return;
        }
        let (_, best_dropped, _) = self.sets.select_nth_unstable_by_key(self.max, worth);
        let agreeing = best_dropped.agreeing();
        // Sets that are ignored from now on agree in fewer slots.
        self.agreeing_min = agreeing;
        self.left_out = self.left_out.max(agreeing);
        self.sets.truncate(self.max);
    }
}

fn worth(set: &impl ComparedSet) -> (Reverse<u32>, u64) {
    (Reverse(set.agreeing()), set.number())
}

impl ComparedSet for ShortlistedSet {
    fn agreeing(&self) -> u32 {
        self.agreeing
    }

    fn number(&self) -> u64 {
        self.entry.into()
    }
}

impl<M> ComparedSet for Candidate<M> {
    fn agreeing(&self) -> u32 {
        self.agreeing
    }

    fn number(&self) -> u64 {
        self.fingerprint
    }
}
