//! How much of the disk the copies of inputs may take, which are made to read them again.

use crate::input::{InputCopies, Selection};
use crate::offline::Room;

/// Inputs are unpacked to temporary files, to be read again, if the disk has room for so many times
/// the inputs: texts, sets and sketches together are some ten times as large as compressed texts.
const UNPACKED_TIMES: u64 = 16;

/// Larger inputs are unpacked each time that they are read: their copies would take most of the
/// disk.
const PACKED_BYTES_MAX: u64 = 128 << 20;

/// Copies leave room for so many times the inputs: sets take about as much as the texts, and the
/// words for the rule `contained`, sketches and the output need room, too.
const LEFT_TIMES: u64 = 4;

/// Copies what cannot be read again cheaply, if the disk has room for it. The run works without
/// copies, too, so no error of the disk ends it here.
/// `input_bytes`: of all selections.
pub fn keep_copies(selections: Vec<&mut Selection>, input_bytes: u64, room: &Room) {
    let Ok(free) = room.disk_free() else { return };
    let Some(limits) = Limits::within(free, input_bytes) else { return };
    let Ok(file) = room.file() else { return };
    let copies = InputCopies::new(file, limits.bytes_max, limits.keeps_unpacked);
    for selection in selections {
        selection.keep_copies(copies.beside());
    }
}

struct Limits {
    /// The most bytes of all copies of a run.
    bytes_max: u64,
    keeps_unpacked: bool,
}

impl Limits {
    /// `None`: nothing is copied.
    fn within(free: u64, input_bytes: u64) -> Option<Self> {
        let bytes_max = free.saturating_sub(input_bytes.saturating_mul(LEFT_TIMES)) / 2;
        let packed_max = PACKED_BYTES_MAX.min(free / UNPACKED_TIMES);
        let keeps_unpacked = input_bytes <= packed_max;
        (bytes_max > 0).then_some(Self { bytes_max, keeps_unpacked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that is not refused without copies is not refused with them.
    #[test]
    fn copies_leave_the_room_that_sets_need() {
        const MIB: u64 = 1 << 20;
        for (free, input_bytes, copied) in [
            (16, 11, None),
            (18, 11, None),
            (22, 22, None),
            (44, 11, None),
            (64, 11, Some((10, false))),
            (176, 11, Some((66, true))),
            (1 << 20, 129, Some(((1 << 19) - 258, false))),
        ] {
            let limits = Limits::within(free * MIB, input_bytes * MIB);
            let found = limits.map(|limits| (limits.bytes_max / MIB, limits.keeps_unpacked));
            assert_eq!(found, copied, "{free} MiB are free");
            assert!(found.is_none_or(|(bytes, _)| free - bytes >= LEFT_TIMES * input_bytes));
        }
    }

    #[test]
    fn all_selections_have_one_limit_and_no_directory_means_no_copies() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, "{}").unwrap();
        let mut new = Selection { paths: vec![path.clone(), path], ..Selection::default() };
        let mut old = new.clone();
        let room = Room { directory: dir.path().join("absent"), ..Room::default() };
        keep_copies(vec![&mut old, &mut new], 4, &room);
        assert!(new.reading.copies.is_none() && old.reading.copies.is_none());
        keep_copies(vec![&mut old, &mut new], 4, &Room::default());
        assert!(new.reading.copies.is_some() && old.reading.copies.is_some());
    }
}
