//! Near-duplicates among records: scores pairs that share a key of the scheme, or all pairs.

use std::cell::RefCell;
use std::collections::HashMap;

use akin_core::join::{DisjointSets, JoinProgress, LeftOut, Linkage, Sets, Stage, Stopped};
use akin_core::measure::Points;
use akin_core::scheme::{Key, Threshold};
use akin_core::text::NormalisedFields;
use akin_model::analysis::{Analyser, Mode};

/// The distinct records of a corpus, by number.
pub(super) struct OfflineRecords {
    pub by_number: Vec<NormalisedFields>,
    /// The maximum score of a pair.
    pub points_max: u32,
}

/// A record's sketch is compared with those of this many further records of each of its keys, some
/// milliseconds' work.
const OF_A_KEY_MAX: usize = if cfg!(test) { 8 } else { 65_536 };

/// A comparison of records with each other.
pub(super) struct Comparing<'r> {
    records: &'r OfflineRecords,
    analyser: &'r Analyser,
    threshold: Threshold,
    /// `None` if every pair is compared.
    by_key: Option<ByKey>,
    left_out: RefCell<LeftOut>,
}

struct ByKey {
    /// The sketches of all numbers, of equal length.
    sketches: Vec<u8>,
    /// The numbers with each key, ascending.
    numbers: HashMap<Key, Vec<u32>>,
    /// Upper bounds of points by sketches must reach it.
    points_min: u32,
}

impl ByKey {
    fn new<S: Sets>(
        sets: &mut S,
        analyser: &Analyser,
        threshold: Threshold,
    ) -> Result<Self, S::Error> {
        let points_min = analyser.scheme.plan(threshold).agreeing_min;
        let mut by_key = Self { sketches: Vec::new(), numbers: HashMap::new(), points_min };
        for number in 0..sets.count() {
            let sketch = sets.sketch(number)?;
            by_key.sketches.extend_from_slice(sketch);
            for key in analyser.scheme.all_keys(sketch) {
                by_key.numbers.entry(key).or_default().push(number);
            }
        }
        Ok(by_key)
    }
}

impl OfflineRecords {
    /// `edit_penalty`: the points that an edit in a field costs.
    pub fn resemblance(&self, a: u32, b: u32, edit_penalty: u32) -> f64 {
        let [a, b] = [a, b].map(|number| &self.by_number[number as usize]);
        f64::from(Points::of(a, b, edit_penalty).total()) / f64::from(self.points_max)
    }
}

impl<'r> Comparing<'r> {
    /// # Errors
    /// Errors of reading the sketches.
    pub fn new<S: Sets>(
        records: &'r OfflineRecords,
        sets: &mut S,
        analyser: &'r Analyser,
        (mode, threshold): (Mode, Threshold),
    ) -> Result<Self, S::Error> {
        let by_key = (mode != Mode::Exact).then(|| ByKey::new(sets, analyser, threshold));
        let by_key = by_key.transpose()?;
        Ok(Self { records, analyser, threshold, by_key, left_out: RefCell::default() })
    }

    /// The records that were not compared with all that share a key.
    pub fn left_out(&self) -> LeftOut {
        self.left_out.borrow().clone()
    }

    fn count(&self) -> u32 {
        self.records.by_number.len() as u32
    }

    /// Visits the pairs at or over the threshold in the order of their numbers, the lower first.
    pub fn pairs(
        &self,
        progress: &JoinProgress,
        mut visit: impl FnMut(u32, u32, f64) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        progress.begin(Stage::Joining, u64::from(self.count()));
        for a in 0..self.count() {
            for b in self.candidates(a) {
                progress.go_on()?;
                if let Some(resemblance) = self.resemblance(a, b) {
                    visit(a, b, resemblance)?;
                }
            }
            progress.advance(1)?;
        }
        Ok(())
    }

    /// The representative of each record: the lowest number in its cluster.
    /// The first `protected` represent themselves.
    pub fn clusters(
        &self,
        linkage: Linkage,
        protected: u32,
        progress: &JoinProgress,
    ) -> Result<Vec<u32>, Stopped> {
        let numbers = 0..self.count();
        let mut forest = DisjointSets::new(numbers.end);
        let mut representatives: Vec<u32> = numbers.clone().collect();
        self.pairs(progress, |a, b, _| {
            forest.connect(a, b);
            // Pairs ascend by `a`, so it is decided whether `a` is a representative.
            let is_free = |number: u32| representatives[number as usize] == number;
            if b >= protected && is_free(a) && is_free(b) {
                representatives[b as usize] = a;
            }
            Ok(())
        })?;
        match linkage {
            Linkage::Single => Ok(numbers.map(|number| forest.root(number)).collect()),
            Linkage::Representative => Ok(representatives),
        }
    }

    /// Records with a higher number that share a key with `a` and may reach the threshold by their
    /// sketches, ascending.
    fn candidates(&self, a: u32) -> Vec<u32> {
        let Some(by_key) = &self.by_key else { return (a + 1..self.count()).collect() };
        let Analyser { scheme, estimator, .. } = self.analyser;
        let bytes = scheme.sketch_bytes();
        let sketch = |number: u32| &by_key.sketches[number as usize * bytes..][..bytes];
        let (mut candidates, mut further, ours) = (Vec::new(), None, sketch(a));
        for key in scheme.all_keys(ours) {
            let numbers = &by_key.numbers[&key];
            let larger = &numbers[numbers.partition_point(|b| *b <= a)..];
            further = further.or(larger.get(OF_A_KEY_MAX).copied());
            let near = |b: &&u32| estimator.agreeing(ours, sketch(**b)) >= by_key.points_min;
            candidates.extend(larger.iter().take(OF_A_KEY_MAX).filter(near));
        }
        candidates.sort_unstable();
        candidates.dedup();
        if let Some(further) = further {
            self.left_out.borrow_mut().note(a, further);
        }
        candidates
    }

    /// `None` below the threshold.
    fn resemblance(&self, a: u32, b: u32) -> Option<f64> {
        let resemblance = self.records.resemblance(a, b, self.analyser.edit_penalty);
        (resemblance >= self.threshold.get()).then_some(resemblance)
    }
}
