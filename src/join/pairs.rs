//! Every pair, once.

use std::ops::ControlFlow;

use super::buckets::Member;
use super::judge::Subject;
use super::{Join, JoinError, Pair, Progress, Sets, Stage, Stopped};

impl Join<'_> {
    /// Visits every pair of sets at or over the threshold once, always in the same order, until the
    /// visitor breaks off.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], also if the visitor broke off; what reading the sets fails with.
    pub fn pairs<S: Sets>(
        &self,
        sets: &mut S,
        progress: &Progress,
        mut visit: impl FnMut(Pair) -> ControlFlow<()>,
    ) -> Result<(), JoinError<S::Error>> {
        progress.begin(Stage::Joining, u64::from(self.judge.corpus.count()));
        let mut met = Met::new(self.judge.corpus.count());
        for place in self.buckets.places() {
            let mut subject = Subject::new(self.buckets.number(place));
            for other in self.larger(place, &mut met) {
                progress.go_on()?;
                let other = self.buckets.number(*other);
                if let Some(pair) = self.judge.pair(&mut subject, other, sets)?
                    && visit(pair).is_break()
                {
                    return Err(Stopped.into());
                }
            }
            progress.advance(1)?;
        }
        Ok(())
    }

    /// The places after this one that share a bucket with it, each once.
    fn larger<'m>(&self, place: u32, met: &'m mut Met) -> &'m [u32] {
        let size = self.size(place);
        met.begin(place);
        for membership in self.buckets.of(place) {
            let members = self.buckets.members(self.buckets.bucket_at(membership));
            let at = members.partition_point(|member| member.place < place);
            for other in members[at + 1..].iter().filter(|other| other.place > place) {
                if !self.judge.can_reach(size, self.size(other.place)) {
                    break;
                }
                if self.admits(members[at], *other) {
                    met.add(other.place);
                }
            }
        }
        met.finish()
    }

    /// Whether two members of a bucket may be a pair, by what is known without their sets. Where
    /// they meet at the first element that they share, no pair is denied.
    pub(super) fn admits(&self, a: Member, b: Member) -> bool {
        let place = |member: Member| member.in_set(self.size(member.place));
        let bound = self.buckets.position_bound;
        bound.is_none_or(|threshold| place(a).admits(place(b), threshold))
    }

    fn size(&self, place: u32) -> usize {
        self.judge.corpus.shingles(self.buckets.number(place))
    }
}

/// The places that one place has met.
pub(super) struct Met {
    /// The last that met each place.
    by: Vec<u32>,
    who: u32,
    places: Vec<u32>,
}

impl Met {
    pub fn new(places: u32) -> Self {
        Self { by: vec![u32::MAX; places as usize], who: u32::MAX, places: Vec::new() }
    }

    pub fn begin(&mut self, place: u32) {
        self.who = place;
        self.places.clear();
    }

    pub fn add(&mut self, place: u32) {
        let by = &mut self.by[place as usize];
        if *by != self.who {
            *by = self.who;
            self.places.push(place);
        }
    }

    /// Ascending.
    pub fn finish(&mut self) -> &[u32] {
        self.places.sort_unstable();
        &self.places
    }
}
