//! A snapshot is read completely or refused.

use std::fs;
use std::ops::Range;
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

fn ids() -> Vec<String> {
    (0..15).map(|ordinal| record(ordinal).id.to_string()).collect()
}

/// Entries with 1 to 5 members, then the listing of each member.
fn visit_records(ids: &[String], mut visit: impl FnMut(&SnapshotRecord<'_>)) {
    for number in 0..5 {
        let first = number * (number + 1) / 2;
        let members: Vec<Ordinal> = (first..=first + number).map(Ordinal::from).collect();
        visit(&SnapshotRecord::Entry(SnapshotEntry {
            fingerprint: u64::MAX - u64::from(number),
            shingles: 100 + number,
            sketch: &[number as u8; 16],
            members: &members,
        }));
    }
    for (ordinal, id) in (0..).zip(ids) {
        visit(&SnapshotRecord::Listing(SnapshotListing {
            ordinal: Ordinal::from(ordinal),
            id,
            fingerprint: u64::from(ordinal),
            expires_at_ms: (ordinal % 2 == 1).then_some(1_800_000_000_000),
            has_metadata: ordinal % 3 == 0,
        }));
    }
}

fn take(snapshots: &Snapshots, sequence: u64) -> SnapshotInfo {
    let mut writer = snapshots.begin(&header(sequence)).unwrap();
    visit_records(&ids(), |record| writer.write(record).unwrap());
    writer.finish().unwrap()
}

/// A description of every record, in order.
fn read(reader: &SnapshotReader) -> Result<Vec<String>, StorageError> {
    let mut records = Vec::new();
    for section in 0..reader.sections() {
        reader.read(section, &mut Vec::new(), |record| records.push(format!("{record:?}")))?;
    }
    Ok(records)
}

/// The newest snapshot with intact sections.
fn newest_whole(snapshots: &Snapshots) -> Option<SnapshotReader> {
    let readable = snapshots.readable(IDENTITY).unwrap();
    readable.map(Result::unwrap).find(|reader| read(reader).is_ok())
}

fn assert_read(snapshots: &Snapshots, sequence: u64) {
    let reader = newest_whole(snapshots).expect("there is one");
    assert_eq!(reader.header(), &header(sequence));
    assert_eq!((reader.entries(), reader.documents()), (5, 15));
    let mut written = Vec::new();
    visit_records(&ids(), |record| written.push(format!("{record:?}")));
    assert_eq!(read(&reader).unwrap(), written);
}

fn path(home: &Home, sequence: u64) -> PathBuf {
    home.path().join(format!("snapshots/{sequence:020}.snapshot"))
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
fn more_than_a_section_survives() {
    let home = Home::new();
    let store = home.open();
    let mut writer = store.snapshots().begin(&header(1)).unwrap();
    let members: Vec<Ordinal> = (0..100_000).map(Ordinal::from).collect();
    let sketch = &[7; 16];
    let mut written = Vec::new();
    for fingerprint in 0..6 {
        let members = &members[..fingerprint as usize * 20_000];
        let entry = SnapshotEntry { fingerprint, shingles: 1, sketch, members };
        writer.write(&SnapshotRecord::Entry(entry)).unwrap();
        written.push(format!("{:?}", SnapshotRecord::Entry(entry)));
    }
    assert!(writer.finish().unwrap().bytes > 1 << 20);
    let reader = newest_whole(store.snapshots()).unwrap();
    assert!(reader.sections() >= 3, "{}", reader.sections());
    assert_eq!(read(&reader).unwrap(), written);
}

#[test]
fn no_snapshot_is_no_error() {
    let home = Home::new();
    assert!(newest_whole(home.open().snapshots()).is_none());
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
fn truncated_snapshot_is_skipped() {
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
fn snapshot_with_a_flipped_bit_is_skipped() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    take(store.snapshots(), 2);
    let whole = fs::read(path(&home, 2)).unwrap();
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        fs::write(path(&home, 2), &flipped).unwrap();
        let reader = newest_whole(store.snapshots()).unwrap();
        assert_eq!(reader.header().sequence, 1, "flipped at {place}");
    }
}

/// The places of the sections of a snapshot.
fn sections(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut sections) = (16, Vec::new());
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap()) as usize;
        sections.push(at..at + 24 + length);
        at += 24 + length;
    }
    sections
}

/// A snapshot of two sections of sets, which have equal lengths.
fn take_two_sections(snapshots: &Snapshots, header: &SnapshotHeader) -> Vec<u8> {
    let mut writer = snapshots.begin(header).unwrap();
    for number in 0..13_798 {
        writer
            .write(&SnapshotRecord::Entry(SnapshotEntry {
                fingerprint: u64::from(number) << 32 | header.sequence,
                shingles: 1,
                sketch: &[7; 16],
                members: &[Ordinal::from(number)],
            }))
            .unwrap();
    }
    writer.finish().unwrap();
    fs::read(snapshots.path(header.sequence)).unwrap()
}

#[tokio::test]
async fn whole_sections_are_refused_in_the_place_of_others() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 3).await;
    let other = take_two_sections(store.snapshots(), &header(2));
    let older = SnapshotHeader { created_at_ms: 1, ..header(3) };
    let older = take_two_sections(store.snapshots(), &older);
    let sound = take_two_sections(store.snapshots(), &header(3));
    let [head, first, second, end] = &sections(&sound)[..] else { panic!("four sections") };
    assert_eq!(first.len(), second.len());
    let path = path(&home, 3);
    fs::remove_file(store.snapshots().path(2)).unwrap();
    store.close().unwrap();
    for (what, place, found) in [
        ("the second in place of the first", first, &sound[second.clone()]),
        ("the first in place of the second", second, &sound[first.clone()]),
        ("of another snapshot", second, &other[second.clone()]),
        ("of an older snapshot of the same sequence", second, &older[second.clone()]),
        ("the header of another snapshot", head, &other[head.clone()]),
        ("the end of another snapshot", end, &other[end.clone()]),
    ] {
        fs::write(&path, &sound).unwrap();
        assert!(newest_whole(store.snapshots()).is_some(), "{what}");
        let mut damaged = sound.clone();
        damaged[place.clone()].copy_from_slice(found);
        fs::write(&path, damaged).unwrap();
        assert!(newest_whole(store.snapshots()).is_none(), "{what}");
        let damage = verified(home.path()).expect_err(what);
        assert!(damage.what.contains("does not match its checksum"), "{what}: {damage:?}");
    }
    let mut swapped = sound.clone();
    swapped[first.clone()].copy_from_slice(&sound[second.clone()]);
    swapped[second.clone()].copy_from_slice(&sound[first.clone()]);
    fs::write(&path, swapped).unwrap();
    let reader = store.snapshots().readable(IDENTITY).unwrap().next().unwrap().unwrap();
    for section in 0..2 {
        let error = reader.read(section, &mut Vec::new(), |_| ()).unwrap_err();
        assert!(matches!(error, StorageError::CorruptSnapshot { .. }), "{error}");
    }
}

#[test]
fn snapshot_of_other_settings_is_refused_by_name() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    let error = store.snapshots().readable("{}").unwrap().next().unwrap().unwrap_err();
    let StorageError::OtherSettings { stored, given, .. } = &error else { panic!("{error}") };
    assert_eq!((stored.as_str(), given.as_str()), (IDENTITY, "{}"));
}

#[tokio::test]
async fn snapshots_are_sound_if_only_the_identity_of_their_store_is_damaged() {
    let damage = [
        ("DELETE FROM settings WHERE name = 'identity'", "its identity is missing"),
        ("UPDATE settings SET value = '{}' WHERE name = 'identity'", "made with other settings"),
    ];
    for (change, fault) in damage {
        let home = Home::new();
        let store = home.open();
        fill(&store, 3).await;
        take(store.snapshots(), 3);
        drop(store);
        home.raw().execute_batch(change).unwrap();
        // The seed in the expected identity is a new one, since that of the store cannot be read.
        let identity = r#"{"sketch":{"seed":7,"slots":16}}"#.to_owned();
        let (shingler, sketch_bytes) = (shingler(), SKETCH_BYTES);
        let inspection = inspect(home.path(), &Expected { identity, shingler, sketch_bytes });
        let [finding] = &inspection.findings[..] else { panic!("{:?}", inspection.findings) };
        assert!(finding.what.contains(fault), "{finding:?}");
        assert_eq!(inspection.documents, 3);
    }
}

/// Recomputes the checksums of the sections at these places.
fn seal(bytes: &mut [u8], sections: [usize; 4]) {
    let ends = sections.iter().skip(1).copied().chain([bytes.len()]);
    let mut snapshot = 0;
    for (at, end) in sections.into_iter().zip(ends) {
        let place = [snapshot, at as u64].map(u64::to_le_bytes);
        let content = [place.as_flattened(), &bytes[at..at + 16], &bytes[at + 24..end]].concat();
        let checksum = xxhash_rust::xxh3::xxh3_64(&content);
        bytes[at + 16..at + 24].copy_from_slice(&checksum.to_le_bytes());
        if at == sections[0] {
            snapshot = checksum;
        }
    }
}

#[test]
fn snapshot_of_another_format_is_refused_by_name() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    let mut bytes = fs::read(path(&home, 1)).unwrap();
    bytes[8] = 9;
    let check = xxhash_rust::xxh3::xxh3_64(&bytes[..12]) as u32;
    bytes[12..16].copy_from_slice(&check.to_le_bytes());
    fs::write(path(&home, 1), &bytes).unwrap();
    let error = store.snapshots().readable(IDENTITY).unwrap().next().unwrap().unwrap_err();
    assert!(matches!(error, StorageError::OtherFormat { found: 9, known: 1, .. }), "{error}");
}

#[test]
fn false_counts_are_refused_without_taking_memory() {
    let home = Home::new();
    let store = home.open();
    take(store.snapshots(), 1);
    let whole = fs::read(path(&home, 1)).unwrap();
    let (header, end) = (16, whole.len() - 40);
    let entries = header + 24 + 28 + IDENTITY.len();
    let listings = entries + 24 + 5 * (16 + 16) + 15 * Ordinal::BYTES;
    let opened_with = |place: usize| {
        let mut bytes = whole.clone();
        bytes[place..place + 4].fill(0xff);
        seal(&mut bytes, [header, entries, listings, end]);
        fs::write(path(&home, 1), &bytes).unwrap();
        store.snapshots().readable(IDENTITY).unwrap().next().map(Result::unwrap)
    };
    assert!(opened_with(entries + 40).is_some_and(|reader| read(&reader).is_ok()), "a sketch");
    for (place, what) in [
        (header, "kind of the header"),
        (header + 8, "bytes of the header"),
        (header + 24, "bytes of a sketch"),
        (entries, "kind of a section"),
        (entries + 4, "entries of a section"),
        (entries + 8, "bytes of a section"),
        (listings + 4, "documents of a section"),
        (end, "kind of the end"),
        (end + 8, "bytes of the end"),
        (end + 24, "entries"),
        (end + 32, "documents"),
    ] {
        assert!(opened_with(place).is_none(), "{what}");
    }
    for (place, what) in [(entries + 36, "members"), (listings + 46, "bytes of an id")] {
        let error = read(&opened_with(place).unwrap()).unwrap_err();
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
    assert!(newest_whole(store.snapshots()).is_none());
    drop(writer);
    assert_eq!(half_written(), 0);

    std::mem::forget(store.snapshots().begin(&header(1)).unwrap());
    assert_eq!(half_written(), 1);
    drop(store);
    home.open();
    assert_eq!(half_written(), 0);
}
