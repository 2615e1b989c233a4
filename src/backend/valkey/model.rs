//! The steps of adding, replacing and removing versions, with processes that Shuttle schedules at
//! random and that die between any two steps. A lock stands for a slot, and a step under a lock for
//! a command or a script. Every step may be executed twice, as if its reply had been lost.
//!
//! All documents have the same set, so that processes are in each other's way at its entry, too.

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    Added(Ordinal),
    Replaced(Ordinal),
}

/// The slot of a document: `d`, `p` and `q`.
#[derive(Default)]
struct Document {
    live: Option<Ordinal>,
    pending: BTreeSet<Ordinal>,
    queue: BTreeSet<Note>,
    /// What calls have removed, by their tokens.
    removed: Vec<(u64, Ordinal)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Alive,
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
    tokens: Mutex<u64>,
}

/// The outcome of making a version live.
enum Made {
    /// With the version that it replaced.
    Live(Option<Ordinal>),
    Withdrawn,
}

/// The process is dead.
struct Dead;

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap()
}

/// A step, perhaps twice.
fn step<T, R>(slot: &Mutex<T>, mut step: impl FnMut(&mut T) -> R) -> Result<R, Dead> {
    if thread_rng().gen_ratio(1, DEATHS) {
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
            return self.clear(version).map(|()| false);
        }
        let Made::Live(old) = self.make_live(version)? else {
            return self.clear(version).map(|()| false);
        };
        step(&self.set, |it| it.arriving.remove(&version))?;
        step(&self.document, |it| it.queue.remove(&Note::Added(version)))?;
        old.map_or(Ok(()), |old| self.clear(old)).map(|()| true)
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

    /// [`super::scripts::FILE`]: not while the entry is being removed.
    fn file(&self, version: Ordinal) -> Result<bool, Dead> {
        step(&self.set, |it| {
            let is_dying = matches!(it.entry, Some(Entry::Dying(_)));
            if !is_dying {
                it.entry = Some(Entry::Alive);
                it.members.insert(version);
                it.arriving.insert(version);
            }
            !is_dying
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
            it.queue.extend(old.map(Note::Replaced));
            Made::Live(old)
        })?;
        match made {
            // The reply may have been lost.
            Made::Withdrawn => step(&self.document, |it| match it.live == Some(version) {
                true => Made::Live(before),
                false => Made::Withdrawn,
            }),
            made @ Made::Live(_) => Ok(made),
        }
    }

    fn remove(&self) -> Result<(), Dead> {
        let token = self.token();
        let removed = step(&self.document, |it| {
            let done = it.removed.iter().find(|(by, _)| *by == token).map(|(_, old)| *old);
            done.or_else(|| {
                let old = it.live.take()?;
                it.queue.insert(Note::Replaced(old));
                it.removed.push((token, old));
                Some(old)
            })
        })?;
        removed.map_or(Ok(()), |old| self.clear(old))
    }

    fn clear(&self, version: Ordinal) -> Result<(), Dead> {
        let token = self.token();
        let is_marked = step(&self.set, |it| {
            it.members.remove(&version);
            it.arriving.remove(&version);
            if it.members.is_empty() && it.entry == Some(Entry::Alive) {
                it.entry = Some(Entry::Dying(token));
                it.is_noted = true;
            }
            it.entry == Some(Entry::Dying(token))
        })?;
        if is_marked {
            self.end_entry()?;
        }
        step(&self.document, |it| {
            it.queue.remove(&Note::Added(version));
            it.queue.remove(&Note::Replaced(version));
        })
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

    /// Handles the first note that is old enough.
    fn repair(&self) -> Result<(), Dead> {
        let filed = lock(&self.filed).clone();
        let version = |note: &Note| match note {
            Note::Added(version) | Note::Replaced(version) => *version,
        };
        let old: Vec<_> = lock(&self.document)
            .queue
            .iter()
            .map(version)
            .filter(|it| filed.contains(it))
            .collect();
        for version in old {
            let is_live = step(&self.document, |it| {
                it.pending.remove(&version);
                it.live == Some(version)
            })?;
            if is_live {
                step(&self.set, |it| it.arriving.remove(&version))?;
                step(&self.document, |it| it.queue.remove(&Note::Added(version)))?;
            } else {
                self.clear(version)?;
            }
        }
        Ok(())
    }

    /// Repairs after all other processes are dead or done, until the repair itself does not die.
    fn mend(&self) {
        loop {
            let _ = self.repair();
            if lock(&self.set).is_noted {
                let _ = self.end_entry();
            }
            if lock(&self.document).queue.is_empty() && !lock(&self.set).is_noted {
                return;
            }
        }
    }

    fn check(&self) {
        let (document, set) = (lock(&self.document), lock(&self.set));
        assert_eq!(set.members, document.live.into_iter().collect(), "members are live versions");
        assert!(document.pending.is_empty() && set.arriving.is_empty(), "nothing is under way");
        assert_eq!(set.entry, document.live.map(|_| Entry::Alive), "an entry has members");
        assert_eq!(*lock(&self.has_postings), document.live.is_some(), "postings are of entries");
    }
}

#[test]
fn whoever_dies_what_is_live_is_indexed_and_nothing_else() {
    let play = || {
        let nodes = Arc::new(Nodes::default());
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
        let (removing, repairing) = (Arc::clone(&nodes), Arc::clone(&nodes));
        let removing = thread::spawn(move || drop(removing.remove()));
        let repairing = thread::spawn(move || drop(repairing.repair()));
        for process in adding.into_iter().chain([removing, repairing]) {
            process.join().unwrap();
        }
        nodes.mend();
        nodes.check();
    };
    shuttle::check_random(play, SCHEDULES);
}
