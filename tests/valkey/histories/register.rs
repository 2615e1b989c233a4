//! Whether the versions of one id are linearizable: whether there is an order of the calls, each at
//! a moment between its begin and its end, in which a register that holds one version answers as
//! the clients were answered.
//!
//! The search is the search of Wing and Gong ("Testing and verifying concurrent objects", 1993)
//! with the memory of Lowe ("Testing for linearizability", 2017): the same calls that lead to the
//! same state are tried once.
//!
//! A write without an answer may happen at any later moment, or never. Valkey copies writes to its
//! replicas afterwards, so a write that no replica had may be seen and then be undone by a
//! failover: until an acknowledged write follows it, since that waits for replicas.

use std::collections::HashSet;

/// Histories of more work than this are too long to be checked.
const STATES_MAX: usize = 1_000_000;

/// A version of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// No other write has it, but a repetition of the same write.
    pub number: u64,
    /// All texts of a family are near-duplicates of one another, and of no other family.
    pub family: usize,
}

/// What a write was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Created,
    Replaced,
    Unchanged,
    /// It is unknown whether it happened.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Put(Version, Told),
    /// Whether there was a document; `None` if it is unknown whether the removal happened.
    Remove(Option<bool>),
    Read(Seen),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Version(u64),
    Absent,
    /// A part of the document is lost.
    Damaged,
    /// A lookup of this family has found the document.
    Near(usize),
    /// A lookup of this family has not found it.
    NotNear(usize),
}

#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Microseconds since the beginning of the history.
    pub begin: u64,
    pub end: u64,
    pub act: Act,
}

/// The version that the last acknowledged write left, and the versions of later writes without an
/// answer, which may be undone.
type State = Vec<Option<Version>>;

/// The calls in some order that have been done.
type Done = Vec<u64>;

impl Act {
    /// Whether it must have happened by its end.
    fn is_answered(self) -> bool {
        !matches!(self, Self::Put(_, Told::Nothing) | Self::Remove(None))
    }

    /// The state after it; `None` if it would be answered otherwise in this state.
    fn step(self, state: &[Option<Version>], may_be_undone: bool) -> Option<State> {
        let then = |version: Option<Version>| Some(vec![version]);
        let last = |is_so: &dyn Fn(usize, Option<Version>) -> bool| {
            let first = if may_be_undone { 0 } else { state.len() - 1 };
            (first..state.len()).rev().find(|&at| is_so(at, state[at]))
        };
        match self {
            Self::Put(version, Told::Nothing) => Some([state, &[Some(version)]].concat()),
            Self::Remove(None) => Some([state, &[None]].concat()),
            Self::Put(version, told) => {
                last(&|_, now| match told {
                    Told::Created => now.is_none(),
                    Told::Replaced => now.is_some(),
                    _ => now == Some(version),
                })?;
                then(Some(version))
            }
            Self::Remove(Some(true)) => last(&|_, now| now.is_some()).and_then(|_| then(None)),
            Self::Remove(Some(false)) => Self::Read(Seen::Absent).step(state, may_be_undone),
            Self::Read(seen) => {
                let is_open = |at: usize| at > 0 && state[0].is_none();
                last(&|at, now| seen.is_of(now, is_open(at))).map(|at| state[..=at].to_vec())
            }
        }
    }
}

impl Seen {
    /// `is_open`: parts of the version may be lost, as nothing was acknowledged.
    fn is_of(self, now: Option<Version>, is_open: bool) -> bool {
        match (self, now) {
            (Self::Absent | Self::NotNear(_), None) => true,
            (_, None) | (Self::Absent, _) => false,
            (Self::Version(number), Some(now)) => now.number == number,
            (Self::Damaged, Some(_)) => is_open,
            (Self::Near(family), Some(now)) => now.family == family,
            (Self::NotNear(family), Some(now)) => now.family != family || is_open,
        }
    }
}

struct Search<'c> {
    calls: &'c [Call],
    may_be_undone: bool,
    tried: HashSet<(Done, State)>,
}

/// Whether the calls to one id, which did not exist before, are linearizable. `may_be_undone`:
/// whether there was a failover, which undoes what no replica had.
///
/// # Panics
/// If there are too many orders to try.
pub fn is_linearizable(calls: &[Call], may_be_undone: bool) -> bool {
    let mut search = Search { calls, may_be_undone, tried: HashSet::new() };
    search.go_on(vec![0; calls.len().div_ceil(64)], &vec![None])
}

impl Search<'_> {
    fn go_on(&mut self, mut done: Done, state: &State) -> bool {
        let next = loop {
            let next = self.next(&done);
            // A call that changes nothing may come first: what is possible later remains so.
            let stays = |at: &&usize| self.step(**at, state).is_some_and(|then| then == *state);
            match next.iter().find(stays) {
                Some(&at) => done = with(&done, &[at]),
                None => break next,
            }
        };
        if !self.calls.iter().enumerate().any(|(at, call)| is_left(&done, at, call)) {
            return true;
        }
        if !self.tried.insert((done.clone(), state.clone())) {
            return false;
        }
        let (count, calls) = (self.tried.len(), self.calls);
        assert!(count < STATES_MAX, "the history is too long to be checked: {calls:?}");
        let is_answered = |at: &usize| self.calls[*at].act.is_answered();
        let (answered, open): (Vec<_>, Vec<_>) = next.into_iter().partition(is_answered);
        answered.into_iter().any(|at| self.try_next(at, &open, &done, state))
    }

    /// Tries this call as the next, or as the next but for a write without an answer that explains
    /// its answer. Such a write may happen later as well, so it happens only where it is seen.
    fn try_next(&mut self, at: usize, open: &[usize], done: &Done, state: &State) -> bool {
        let act = self.calls[at].act;
        if let Some(then) = self.step(at, state)
            && self.go_on(with(done, &[at]), &then)
        {
            return true;
        }
        if act.step(state, false).is_some() {
            return false;
        }
        let mut seen = HashSet::new();
        open.iter().any(|&open| {
            let written = self.step(open, state).filter(|written| seen.insert(written.clone()));
            let then = written.and_then(|written| act.step(&written, false));
            then.is_some_and(|then| self.go_on(with(done, &[open, at]), &then))
        })
    }

    fn step(&self, at: usize, state: &[Option<Version>]) -> Option<State> {
        self.calls[at].act.step(state, self.may_be_undone)
    }

    /// The calls that may come next: those that no other call has ended before.
    fn next(&self, done: &Done) -> Vec<usize> {
        let calls = || self.calls.iter().enumerate();
        let left = calls().filter(|(at, call)| is_left(done, *at, call));
        let first_end = left.map(|(_, call)| call.end).min().unwrap_or(u64::MAX);
        let may = |(at, call): &(usize, &Call)| !has(done, *at) && call.begin <= first_end;
        calls().filter(may).map(|(at, _)| at).collect()
    }
}

fn has(done: &Done, at: usize) -> bool {
    done[at / 64] & 1 << (at % 64) != 0
}

fn with(done: &Done, calls: &[usize]) -> Done {
    let mut done = done.clone();
    for at in calls {
        done[at / 64] |= 1 << (at % 64);
    }
    done
}

fn is_left(done: &Done, at: usize, call: &Call) -> bool {
    !has(done, at) && call.act.is_answered()
}
