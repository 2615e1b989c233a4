//! The repair and the scrub, which remove the remains of dead processes and of lost records, and
//! lookups at the same time.

use std::collections::BTreeSet;

use shuttle::rand::{Rng, thread_rng};

use super::{Dead, Document, Entry, LOST, Nodes, Note, Ordinal, lock, step};

impl Nodes {
    /// Handles the first note that is old enough.
    pub(super) fn repair(&self) -> Result<(), Dead> {
        let filed = lock(&self.filed).clone();
        let old: Vec<_> = lock(&self.document)
            .queue
            .iter()
            .copied()
            .filter(|note| filed.contains(&note.version()))
            .collect();
        for note in old {
            let version = note.version();
            lock(&self.claimed).insert(version);
            let is_live = step(&self.document, |it| {
                it.pending.remove(&version);
                it.live == Some(version)
            })?;
            step(&self.document, Document::list_again)?;
            if is_live {
                step(&self.set, |it| it.arriving.remove(&version))?;
                step(&self.document, |it| it.queue.remove(&Note::Added(version)))?;
            } else {
                self.clear(version, note)?;
            }
        }
        Ok(())
    }

    pub(super) fn repair_entry(&self) -> Result<(), Dead> {
        match step(&self.set, |it| it.is_noted)? {
            true => self.end_entry(),
            false => Ok(()),
        }
    }

    /// Repairs after all other processes are dead or done, until neither the repair nor the scrub
    /// dies.
    pub(super) fn mend(&self) {
        loop {
            let is_scrubbed = self.scrub().is_ok();
            let (_, _) = (self.repair(), self.repair_entry());
            let is_noted = lock(&self.set).is_noted;
            if is_scrubbed && lock(&self.document).queue.is_empty() && !is_noted {
                return;
            }
        }
    }

    /// Remains of a version that no other key names any more.
    pub(super) fn lose(&self) {
        let mut set = lock(&self.set);
        match thread_rng().gen_range(0..4) {
            0 => return,
            1 => {}
            2 => set.entry = Some(Entry::Alone(LOST)),
            _ => (set.entry, set.members) = (Some(Entry::Shared(LOST)), BTreeSet::from([LOST])),
        }
        *lock(&self.has_postings) = true;
    }

    /// What a lookup reads of the set: its members, in two steps.
    pub(super) fn members(&self) -> BTreeSet<Ordinal> {
        match lock(&self.set).entry {
            Some(Entry::Alone(first)) => return BTreeSet::from([first]),
            Some(Entry::Shared(_)) => {}
            Some(Entry::Dying(_)) | None => return BTreeSet::new(),
        }
        lock(&self.set).members.clone()
    }

    /// A lookup finds the version that is live the whole time, or that takes its place.
    pub(super) fn look_up(&self) {
        let before = lock(&self.document).live;
        let has_postings = *lock(&self.has_postings);
        let members = self.members();
        let after = lock(&self.document).live;
        if let Some(live) = before.filter(|_| before == after) {
            assert!(has_postings && members.contains(&live), "what is live is found");
        }
    }

    /// Removes the version that it finds among the members and nowhere else, and the postings of
    /// which it finds no entry.
    pub(super) fn scrub(&self) -> Result<(), Dead> {
        if !step(&self.has_postings, |has| *has)? {
            return Ok(());
        }
        if step(&self.set, |it| it.entry.is_none())? {
            return self.end_lost();
        }
        for version in self.members() {
            let is_pending = step(&self.document, |it| it.pending.contains(&version))?;
            let is_live = step(&self.document, |it| it.live == Some(version))?;
            let notes = BTreeSet::from([Note::Added(version), Note::Replaced(version)]);
            let is_noted = step(&self.document, |it| !it.queue.is_disjoint(&notes))?;
            if !is_pending && !is_live && !is_noted {
                self.clear(version, Note::Added(version))?;
            }
        }
        Ok(())
    }

    /// Marks the entry that is missing as one that is being removed, and so keeps processes from
    /// filing its set.
    pub(super) fn end_lost(&self) -> Result<(), Dead> {
        let token = self.token();
        let is_marked = step(&self.set, |it| {
            if it.entry.is_none() {
                (it.entry, it.is_noted) = (Some(Entry::Dying(token)), true);
            }
            it.entry == Some(Entry::Dying(token))
        })?;
        if is_marked { self.end_entry() } else { Ok(()) }
    }
}
