//! A snapshot is read whole or not at all.

use std::fs;
use std::path::PathBuf;

use super::*;

fn header(sequence: u64) -> SnapshotHeader {
    SnapshotHeader {
        identity: IDENTITY.to_owned(),
        sequence,
        next_ordinal: 77,
        sketch_bytes: 16,
        created_at_ms: 1_800_000_000_000,
    }
}

fn members(ordinals: std::ops::Range<u32>) -> Vec<SnapshotMember> {
    let member = |ordinal| SnapshotMember {
        ordinal: Ordinal(ordinal),
        id: record(ordinal).id,
        has_metadata: ordinal % 3 == 0,
    };
    ordinals.map(member).collect()
}

/// Entry `number` has so many members and one more.
fn entry(number: u32, members: &[SnapshotMember], visit: impl FnOnce(&SnapshotEntry<'_>)) {
    visit(&SnapshotEntry {
        fingerprint: u64::MAX - u64::from(number),
        shingles: 100 + number,
        sketch: &[number as u8; 16],
        members,
    });
}

fn take(snapshots: &Snapshots, sequence: u64) -> SnapshotInfo {
    let mut writer = snapshots.begin(&header(sequence)).unwrap();
    for number in 0..5 {
        let members = members(number * 10..number * 11 + 1);
        entry(number, &members, |entry| writer.write(entry).unwrap());
    }
    writer.finish().unwrap()
}

fn assert_read(snapshots: &Snapshots, sequence: u64) {
    let reader = snapshots.newest_good(IDENTITY).unwrap().expect("there is one");
    assert_eq!(reader.header(), &header(sequence));
    assert_eq!((reader.entries(), reader.documents()), (5, 15));
    let mut number = 0;
    reader
        .read(|read| {
            let members = members(number * 10..number * 11 + 1);
            entry(number, &members, |written| assert_eq!(&read, written));
            number += 1;
        })
        .unwrap();
    assert_eq!(number, 5);
}

fn path(home: &Home, sequence: u64) -> PathBuf {
    home.path().join(format!("snapshots/{sequence:020}.snapshot"))
}

#[test]
fn the_example_in_the_layout() {
    let home = Home::new();
    let store = home.open();
    let header = SnapshotHeader {
        identity: "{}".to_owned(),
        sequence: 2,
        next_ordinal: 2,
        sketch_bytes: 2,
        created_at_ms: 0x1000,
    };
    let member = |ordinal, id| SnapshotMember {
        ordinal: Ordinal(ordinal),
        id: DocumentId::new(id).unwrap(),
        has_metadata: ordinal == 1,
    };
    let mut writer = store.snapshots().begin(&header).unwrap();
    writer
        .write(&SnapshotEntry {
            fingerprint: 0x0102_0304_0506_0708,
            shingles: 3,
            sketch: &[0xc0, 0xc1],
            members: &[member(0, "a"), member(1, "b")],
        })
        .unwrap();
    writer.finish().unwrap();
    let layout = include_str!("../snapshot_file.rs");
    let example = layout.split("//! ```text\n").nth(2).unwrap().split("//! ```").next().unwrap();
    let bytes = example.split_whitespace().filter(|word| *word != "//!");
    let bytes = bytes.map(|word| u8::from_str_radix(word, 16).unwrap()).collect::<Vec<_>>();
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
    assert_eq!(hex(&fs::read(path(&home, 2)).unwrap()), hex(&bytes));
}

#[test]
fn a_snapshot_survives() {
    let home = Home::new();
    let store = home.open();
    let info = take(store.snapshots(), 12_345);
    assert_eq!(info.sequence, 12_345);
    assert_eq!(info.documents, 15);
    assert_eq!(info.bytes, path(&home, 12_345).metadata().unwrap().len());
    assert_eq!(store.snapshots().list().unwrap(), [info]);
    assert_read(store.snapshots(), 12_345);
}

#[test]
fn more_than_a_buffer_survives() {
    let home = Home::new();
    let store = home.open();
    let mut writer = store.snapshots().begin(&header(1)).unwrap();
    let members = members(0..20_000);
    for number in 0..3 {
        entry(number, &members, |entry| writer.write(entry).unwrap());
    }
    assert!(writer.finish().unwrap().bytes > 1 << 20);
    let mut seen = 0;
    let reader = store.snapshots().newest_good(IDENTITY).unwrap().unwrap();
    reader
        .read(|entry| {
            assert_eq!(entry.members, members);
            seen += 1;
        })
        .unwrap();
    assert_eq!(seen, 3);
}

#[test]
fn no_snapshot_is_no_error() {
    let home = Home::new();
    assert!(home.open().snapshots().newest_good(IDENTITY).unwrap().is_none());
}

#[test]
fn the_last_ones_are_kept() {
    let home = Home::new();
    let store = home.open();
    let infos = [3, 20, 100].map(|sequence| take(store.snapshots(), sequence));
    assert_eq!(store.snapshots().list().unwrap(), [infos[2], infos[1]]);
    assert!(!path(&home, 3).exists());
}

#[test]
fn one_cut_short_is_skipped_and_the_one_before_it_used() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    take(store.snapshots(), 2);
    let whole = fs::read(path(&home, 2)).unwrap();
    let places = (0..whole.len()).step_by(97).chain([whole.len() - 1]);
    for length in places {
        fs::write(path(&home, 2), &whole[..length]).unwrap();
        assert_read(store.snapshots(), 1);
    }
    fs::write(path(&home, 2), [&whole[..], &[0]].concat()).unwrap();
    assert_read(store.snapshots(), 1);
    fs::write(path(&home, 2), &whole).unwrap();
    assert_read(store.snapshots(), 2);
}

#[test]
fn one_with_a_flipped_bit_is_skipped_and_the_one_before_it_used() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    take(store.snapshots(), 2);
    let whole = fs::read(path(&home, 2)).unwrap();
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(path(&home, 2), &flipped).unwrap();
        let reader = store.snapshots().newest_good(IDENTITY).unwrap().unwrap();
        assert_eq!(reader.header().sequence, 1, "flipped at {place}");
    }
}

#[test]
fn one_of_other_settings_is_refused_and_both_are_named() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    let error = store.snapshots().newest_good("{}").unwrap_err();
    let StorageError::OtherSettings { stored, given, .. } = &error else { panic!("{error}") };
    assert_eq!((stored.as_str(), given.as_str()), (IDENTITY, "{}"));
}

/// Gives the file the right checksum again.
fn seal(bytes: &mut [u8]) {
    let checked = bytes.len() - 16;
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..checked]);
    bytes[checked..checked + 8].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn one_of_a_newer_format_is_refused_and_both_are_named() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    let mut bytes = fs::read(path(&home, 1)).unwrap();
    bytes[8] = 9;
    seal(&mut bytes);
    fs::write(path(&home, 1), &bytes).unwrap();
    let error = store.snapshots().newest_good(IDENTITY).unwrap_err();
    assert!(matches!(error, StorageError::NewerFormat { found: 9, known: 1, .. }), "{error}");
}

#[test]
fn counts_that_the_file_does_not_hold_neither_pass_nor_take_memory() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    let whole = fs::read(path(&home, 1)).unwrap();
    let footer = whole.len() - 32;
    let entries = 40 + IDENTITY.len();
    let opened_with = |place: usize| {
        let mut bytes = whole.clone();
        bytes[place..place + 4].fill(0xff);
        seal(&mut bytes);
        fs::write(path(&home, 1), &bytes).unwrap();
        store.snapshots().newest_good(IDENTITY).unwrap()
    };
    for (place, what) in [(12, "bytes of a sketch"), (36, "bytes of the identity")] {
        assert!(opened_with(place).is_none(), "{what}");
    }
    let counts = [(entries + 12, "members"), (footer, "entries"), (footer + 8, "documents")];
    for (place, what) in counts {
        let error = opened_with(place).unwrap().read(|_| ()).unwrap_err();
        assert!(matches!(error, StorageError::CorruptSnapshot { .. }), "{what}: {error}");
    }
}

#[test]
fn what_is_half_written_is_removed() {
    let home = Home::new();
    let store = home.open();
    let half_written = || fs::read_dir(home.path().join("snapshots")).unwrap().count();
    let writer = store.snapshots().begin(&header(1)).unwrap();
    assert_eq!(half_written(), 1);
    assert!(store.snapshots().begin(&header(1)).is_err(), "one at a time");
    assert!(store.snapshots().newest_good(IDENTITY).unwrap().is_none());
    drop(writer);
    assert_eq!(half_written(), 0);

    std::mem::forget(store.snapshots().begin(&header(1)).unwrap());
    assert_eq!(half_written(), 1);
    drop(store);
    home.open();
    assert_eq!(half_written(), 0);
}
