//! Every pair, once.

use std::ops::ControlFlow;

use super::check::Subject;
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
        progress.begin(Stage::Joining, u64::from(self.check.corpus.count()));
        let mut met = Met::new(self.check.corpus.count());
        let mut end = 0;
        for place in self.buckets.places() {
            end = self.reachable_end(place, end);
            let mut subject = Subject::new(self.buckets.number(place));
            for other in self.larger(place, end, &mut met) {
                progress.go_on()?;
                let other = self.buckets.number(*other);
                if let Some(pair) = self.check.pair(&mut subject, other, sets)?
                    && visit(pair).is_break()
                {
                    return Err(Stopped.into());
                }
            }
            progress.advance(1)?;
        }
        Ok(())
    }

    /// The first place whose set is too large for that of `place`, given that of a place before:
    /// the larger a set, the larger are those in its reach.
    fn reachable_end(&self, place: u32, before: u32) -> u32 {
        let size = self.buckets.size(place);
        let reaches = |other: u32| self.check.can_reach(size, self.buckets.size(other));
        (before..self.buckets.places().end)
            .find(|&other| !reaches(other))
            .unwrap_or(self.buckets.places().end)
    }

    /// The places after this one and before `end` that may be a pair with it, each once.
    fn larger<'m>(&self, place: u32, end: u32, met: &'m mut Met) -> &'m [u32] {
        met.begin(place);
        for membership in self.buckets.of(place) {
            let members = self.buckets.members(self.buckets.bucket_at(membership));
            let at = members.partition_point(|member| member.place < place);
            for other in members[at + 1..].iter().filter(|other| other.place > place) {
                if other.place >= end {
                    break;
                }
                met.add(other.place, || self.buckets.admit(members[at], *other));
            }
        }
        met.finish(|other, buckets| self.buckets.share_enough(place, other, buckets))
    }
}

/// The places that one place has met.
pub(super) struct Met {
    meetings: Vec<Meetings>,
    who: u32,
    places: Vec<u32>,
}

/// How a place was met.
#[derive(Clone, Copy)]
struct Meetings {
    /// By whom last.
    by: u32,
    /// In how many buckets.
    buckets: u32,
    /// In one of them where they may be a pair.
    admitted: bool,
}

impl Met {
    pub fn new(places: u32) -> Self {
        let nobody = Meetings { by: u32::MAX, buckets: 0, admitted: false };
        Self { meetings: vec![nobody; places as usize], who: u32::MAX, places: Vec::new() }
    }

    pub fn begin(&mut self, place: u32) {
        self.who = place;
        self.places.clear();
    }

    /// A place is met in one more bucket, where the two may be admitted.
    #[inline]
    pub fn add(&mut self, place: u32, is_admitted: impl FnOnce() -> bool) {
        let meetings = &mut self.meetings[place as usize];
        if meetings.by != self.who {
            *meetings = Meetings { by: self.who, buckets: 0, admitted: false };
            self.places.push(place);
        }
        meetings.buckets += 1;
        meetings.admitted = meetings.admitted || is_admitted();
    }

    /// Those admitted somewhere that share enough buckets, ascending.
    pub fn finish(&mut self, share_enough: impl Fn(u32, u32) -> bool) -> &[u32] {
        let meetings = &self.meetings;
        self.places.retain(|&place| {
            let met = meetings[place as usize];
            met.admitted && share_enough(place, met.buckets)
        });
        self.places.sort_unstable();
        &self.places
    }
}
