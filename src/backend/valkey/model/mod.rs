//! The steps of adding, replacing and removing versions, with processes that Shuttle schedules at
//! random and that die between any two steps. A lock stands for a slot, and a step under a lock for
//! a command or a script. Every step may be executed twice, as if its reply had been lost.
//!
//! All documents have the same set, so that processes are in each other's way at its entry, too.
//! Each schedule may begin with remains of a version of which the record was lost, and the scrub
//! removes these while everything else goes on.

mod repair;

use std::collections::BTreeSet;
use std::sync::Arc;

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread;

const SCHEDULES: usize = 5_000;

/// One in so many steps is the last of its process.
const DEATHS: u32 = 12;

/// One in so many steps is executed twice.
const REPEATS: u32 = 6;

/// Attempts at filing a set while its former entry is being removed.
const TRIES: usize = 5;

/// A version of the document.
type Ordinal = u64;

/// A version of which the record was lost.
const LOST: Ordinal = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    Added(Ordinal),
    Replaced(Ordinal),
}

impl Note {
    fn version(self) -> Ordinal {
        match self {
            Self::Added(version) | Self::Replaced(version) => version,
        }
    }
}

/// The slot of a document: `d`, `p`, `i` and `q`.
#[derive(Default)]
struct Document {
    live: Option<Ordinal>,
    is_listed: bool,
    pending: BTreeSet<Ordinal>,
    queue: BTreeSet<Note>,
    /// What calls have removed, by their tokens.
    removed: Vec<(u64, Ordinal)>,
}

impl Document {
    fn list_again(&mut self) {
        self.is_listed = self.live.is_some();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// With its only member.
    Alone(Ordinal),
    /// With its first member. All are among the members.
    Shared(Ordinal),
    /// The token of the call that removes it.
    Dying(u64),
}

/// The slot of the set: `s`, `m`, `w`, and `E` in `q`.
#[derive(Default)]
struct Set {
    entry: Option<Entry>,
    members: BTreeSet<Ordinal>,
    arriving: BTreeSet<Ordinal>,
    is_noted: bool,
}

#[derive(Default)]
struct Nodes {
    document: Mutex<Document>,
    set: Mutex<Set>,
    has_postings: Mutex<bool>,
    /// Versions that the repair may take, because their process is dead or has filed them. The
    /// model has this list in place of the lease, which is longer than a filing can take.
    filed: Mutex<BTreeSet<Ordinal>>,
    /// Of these the versions that it has taken.
    claimed: Mutex<BTreeSet<Ordinal>>,
    tokens: Mutex<u64>,
}

/// The outcome of making a version live.
enum Made {
    /// With the version that it replaced.
    Live(Option<Ordinal>),
    Withdrawn,
    /// Another version is live.
    Not,
}

/// The process is dead.
struct Dead;

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap()
}

/// A step, perhaps twice.
fn step<T, R>(slot: &Mutex<T>, act: impl FnMut(&mut T) -> R) -> Result<R, Dead> {
    step_if(true, slot, act)
}

fn step_if<T, R>(
    may_die: bool,
    slot: &Mutex<T>,
    mut step: impl FnMut(&mut T) -> R,
) -> Result<R, Dead> {
    if may_die && thread_rng().gen_ratio(1, DEATHS) {
        return Err(Dead);
    }
    if thread_rng().gen_ratio(1, REPEATS) {
        step(&mut lock(slot));
    }
    Ok(step(&mut lock(slot)))
}

impl Nodes {
    fn token(&self) -> u64 {
        let mut tokens = lock(&self.tokens);
        *tokens += 1;
        *tokens
    }

    /// Whether the version became live.
    fn add(&self, version: Ordinal) -> Result<bool, Dead> {
        let filed = self.announce(version);
        lock(&self.filed).insert(version);
        filed?;
        // `SET p XX` with its ticket.
        if !step(&self.document, |it| it.pending.contains(&version))? {
            return self.clear(version, Note::Added(version)).map(|()| false);
        }
        let mut made = self.make_first(version)?;
        if matches!(made, Made::Not) {
            made = self.make_live(version)?;
        }
        let Made::Live(old) = made else {
            return self.clear(version, Note::Added(version)).map(|()| false);
        };
        step(&self.set, |it| it.arriving.remove(&version))?;
        step(&self.document, |it| it.queue.remove(&Note::Added(version)))?;
        old.map_or(Ok(()), |old| self.clear(old, Note::Replaced(old))).map(|()| true)
    }

    fn announce(&self, version: Ordinal) -> Result<(), Dead> {
        step(&self.document, |it| it.queue.insert(Note::Added(version)))?;
        step(&self.document, |it| it.pending.insert(version))?;
        let mut tries = 0..TRIES;
        while !self.file(version)? {
            if tries.next().is_none() {
                // The note stays for the repair.
                step(&self.document, |it| it.pending.remove(&version))?;
                return Err(Dead);
            }
            thread::yield_now();
        }
        step(&self.has_postings, |has| *has = true)
    }

    /// `false` while the entry is being removed.
    fn file(&self, version: Ordinal) -> Result<bool, Dead> {
        // `SET s NX`. If its reply is lost, it finds its own entry.
        let is_new = step(&self.set, |it| {
            let is_new = it.entry.is_none();
            if is_new {
                it.entry = Some(Entry::Alone(version));
            }
            is_new
        })?;
        if is_new {
            return Ok(true);
        }
        // The script that follows.
        step(&self.set, |it| {
            match it.entry {
                Some(Entry::Dying(_)) => return false,
                Some(Entry::Alone(first)) if first == version => return true,
                None => {
                    it.entry = Some(Entry::Alone(version));
                    return true;
                }
                Some(Entry::Alone(first)) => {
                    it.entry = Some(Entry::Shared(first));
                    it.members.insert(first);
                }
                Some(Entry::Shared(_)) => {}
            }
            it.members.insert(version);
            it.arriving.insert(version);
            true
        })
    }

    /// `RENAMENX p d`, `ZADD i` and `GET d`: other processes may come between these.
    fn make_first(&self, version: Ordinal) -> Result<Made, Dead> {
        let renamed = step(&self.document, |it| match it.pending.contains(&version) {
            true if it.live.is_none() => {
                it.pending.remove(&version);
                it.live = Some(version);
                Some(true)
            }
            true => Some(false),
            false => None,
        })?;
        // A process that is as late as the lease does not die in addition: the scrub would find
        // that the id is listed.
        let may_die = || !lock(&self.claimed).contains(&version);
        step_if(may_die(), &self.document, |it| it.is_listed = true)?;
        let live = step_if(may_die(), &self.document, |it| it.live)?;
        if live.is_none() {
            step_if(may_die(), &self.document, Document::list_again)?;
        }
        Ok(match renamed {
            Some(true) => Made::Live(None),
            _ if live == Some(version) => Made::Live(None),
            Some(false) => Made::Not,
            None => Made::Withdrawn,
        })
    }

    /// [`super::scripts::MAKE_LIVE`]
    fn make_live(&self, version: Ordinal) -> Result<Made, Dead> {
        let before = step(&self.document, |it| it.live)?;
        let made = step(&self.document, |it| {
            let was_pending = it.pending.remove(&version);
            if !was_pending {
                return Made::Withdrawn;
            }
            let old = it.live.replace(version);
            it.is_listed = true;
            it.queue.extend(old.map(Note::Replaced));
            Made::Live(old)
        })?;
        match made {
            // The reply may have been lost.
            Made::Withdrawn => step(&self.document, |it| match it.live == Some(version) {
                true => Made::Live(before),
                false => Made::Withdrawn,
            }),
            made => Ok(made),
        }
    }

    fn remove(&self) -> Result<(), Dead> {
        let token = self.token();
        let removed = step(&self.document, |it| {
            let done = it.removed.iter().find(|(by, _)| *by == token).map(|(_, old)| *old);
            done.or_else(|| {
                let old = it.live.take()?;
                it.is_listed = false;
                it.queue.insert(Note::Replaced(old));
                it.removed.push((token, old));
                Some(old)
            })
        })?;
        removed.map_or(Ok(()), |old| self.clear(old, Note::Replaced(old)))
    }

    fn clear(&self, version: Ordinal, note: Note) -> Result<(), Dead> {
        let token = self.token();
        let is_marked = step(&self.set, |it| {
            it.members.remove(&version);
            it.arriving.remove(&version);
            let is_empty = match it.entry {
                Some(Entry::Alone(first)) => first == version,
                Some(Entry::Shared(_)) => it.members.is_empty(),
                Some(Entry::Dying(_)) | None => false,
            };
            if is_empty {
                it.entry = Some(Entry::Dying(token));
                it.is_noted = true;
            }
            it.entry == Some(Entry::Dying(token))
        })?;
        if is_marked {
            self.end_entry()?;
        }
        step(&self.document, |it| it.queue.remove(&note)).map(|_| ())
    }

    fn end_entry(&self) -> Result<(), Dead> {
        step(&self.has_postings, |has| *has = false)?;
        step(&self.set, |it| {
            if matches!(it.entry, Some(Entry::Dying(_))) {
                it.entry = None;
            }
            it.is_noted = false;
        })
    }

    fn check(&self) {
        let members = self.members();
        let (document, set) = (lock(&self.document), lock(&self.set));
        assert_eq!(members, document.live.into_iter().collect(), "members are live versions");
        assert!(document.pending.is_empty() && set.arriving.is_empty(), "nothing is under way");
        assert_eq!(set.entry.is_some(), document.live.is_some(), "an entry has members");
        assert_eq!(*lock(&self.has_postings), document.live.is_some(), "postings are of entries");
        assert_eq!(document.is_listed, document.live.is_some(), "what is live is listed");
    }
}

#[test]
fn whoever_dies_what_is_live_is_indexed_and_nothing_else() {
    let play = || {
        let nodes = Arc::new(Nodes::default());
        nodes.lose();
        let add = |version| {
            let nodes = Arc::clone(&nodes);
            thread::spawn(move || {
                // It is there, or replaced by a later version, or it is not acknowledged.
                let added = nodes.add(version);
                if let Ok(true) = added {
                    let is_whole = *lock(&nodes.has_postings);
                    let live = lock(&nodes.document).live;
                    assert!(live != Some(version) || is_whole, "what is live is indexed");
                }
            })
        };
        let adding = [1, 2, 3].map(add);
        let others: [fn(&Nodes); 4] = [
            |nodes| drop(nodes.remove()),
            |nodes| drop(nodes.repair()),
            |nodes| drop(nodes.scrub()),
            Nodes::look_up,
        ];
        let other = |process: fn(&Nodes)| {
            let nodes = Arc::clone(&nodes);
            thread::spawn(move || process(&nodes))
        };
        for process in adding.into_iter().chain(others.map(other)) {
            process.join().unwrap();
        }
        nodes.mend();
        nodes.check();
    };
    shuttle::check_random(play, SCHEDULES);
}
