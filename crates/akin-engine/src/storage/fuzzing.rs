//! Fuzz targets: the readers of stored bytes. A reader must accept only bytes that its writer can
//! write: each accepted value is written and read again.

use rusqlite::{Connection, Row, params};
use tempfile::{NamedTempFile, TempDir};
use xxhash_rust::xxh3::xxh3_64;

use super::record;
use super::row::{ALL_COLUMNS, DetailsPart, RowPart, SketchRow, content_digest, seal};
use super::snapshot_file::{Place, Section};
use super::snapshot_reader::SnapshotReader;
use super::{EncodedRecord, Snapshots, StorageError, content, elements, log, schema};
use crate::document::{Content, Document, Ordinal};
use crate::stored::{Detail, Record, Stamp, Times};
use akin_core::text::{ShingleSettings, Shingler};
use akin_model::analysis::Analysis;

/// A snapshot, as it is and with the checksums that it should have.
pub fn snapshot(input: &[u8]) {
    read_snapshot(input);
    if let Some(resealed) = resealed(input) {
        read_snapshot(&resealed);
    }
}

fn read_snapshot(bytes: &[u8]) {
    let file = NamedTempFile::new().expect("a temporary file can be made");
    std::fs::write(file.path(), bytes).expect("it can be written");
    let Ok(reader) = SnapshotReader::open(file.path()) else { return };
    let Ok(records) = records(&reader) else { return };
    let dir = TempDir::new().expect("a temporary directory can be made");
    let snapshots = Snapshots::open(dir.path().to_owned()).expect("it can be opened");
    let mut writer = snapshots.begin(reader.header()).expect("the header can be written");
    visit(&reader, |record| writer.write(&record).expect("what was read can be written"))
        .expect("it was read before");
    let info = writer.finish().expect("the snapshot can be finished");
    assert_eq!(info.documents, reader.documents());
    let path = snapshots.path(reader.header().sequence);
    let again = SnapshotReader::open(&path).expect("what was written can be opened");
    assert_eq!((again.header(), again.entries()), (reader.header(), reader.entries()));
    assert_eq!(self::records(&again).expect("what was written can be read"), records);
}

fn records(reader: &SnapshotReader) -> Result<Vec<String>, StorageError> {
    let mut records = Vec::new();
    visit(reader, |record| records.push(format!("{record:?}")))?;
    Ok(records)
}

fn visit(
    reader: &SnapshotReader,
    mut visit: impl FnMut(super::SnapshotRecord<'_>),
) -> Result<(), StorageError> {
    let mut buffer = Vec::new();
    (0..reader.sections()).try_for_each(|section| reader.read(section, &mut buffer, &mut visit))
}

/// The file with all checksums recomputed, so that fuzzing reaches the parsers behind them.
fn resealed(input: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = input.to_vec();
    let check = xxh3_64(bytes.get(..12)?) as u32;
    bytes.get_mut(12..16)?.copy_from_slice(&check.to_le_bytes());
    let mut place = Place::HEADER;
    let mut at = place.at as usize;
    while at < bytes.len() {
        let content = at + Section::HEAD_BYTES as usize;
        let Section { kind, records, bytes: length, .. } =
            Section::decode(bytes.get(at..content)?).ok()?;
        let end = content.checked_add(usize::try_from(length).ok()?)?;
        let sealed = Section::of(kind, records, bytes.get(content..end)?, place);
        bytes[at..content].copy_from_slice(&sealed.encode());
        if place.snapshot == Place::HEADER.snapshot {
            place.snapshot = sealed.checksum;
        }
        at = end;
        place.at = end as u64;
    }
    Some(bytes)
}

/// A stored value of the database: a content, a packed set, operations of the log or a row.
pub fn record(input: &[u8]) {
    let Some((kind, bytes)) = input.split_first() else { return };
    match kind % 4 {
        0 => read_content(bytes),
        1 => read_elements(bytes),
        2 => read_log(bytes),
        _ => read_row(bytes),
    }
}

fn read_content(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let Some(content) = content::decode(bytes, *first % 2 == 0) else { return };
    let is_text = matches!(content, Content::Text(_));
    assert_eq!(content::decode(&content::encode(&content, 1), is_text), Some(content));
}

fn read_elements(bytes: &[u8]) {
    let Some((count, bytes)) = bytes.split_first_chunk() else { return };
    let count = u32::from_le_bytes(*count);
    let Some(set) = elements::decode(bytes, count) else { return };
    assert_eq!(set.count(), count as usize);
    assert!(set.as_slice().is_sorted_by(|a, b| a < b));
    assert_eq!(elements::decode(&elements::encode(&set), count), Some(set));
}

fn read_log(bytes: &[u8]) {
    let Some(operations) = log::decode(bytes) else { return };
    assert_eq!(log::decode(&log::encode(&operations)), Some(operations));
}

/// A row of the given columns with right checksums: each but the numbers is preceded by its length
/// in a byte.
fn read_row(input: &[u8]) {
    let Some(columns) = RowInput::read(input) else { return };
    let connection = Connection::open_in_memory().expect("memory is there");
    schema::create_tables(&connection).expect("the tables can be made");
    columns.insert(&connection);
    let shingler = Shingler::new(ShingleSettings::default(), 7, usize::MAX);
    let Ok(record) = only_row(&connection, &shingler) else { return };
    connection.execute("DELETE FROM documents", []).expect("it can be emptied");
    encoded(&record).insert(&connection).expect("what was read can be written");
    let again = only_row(&connection, &shingler).expect("the written row can be read");
    assert_eq!(again, record);
}

/// A record as it is written again.
pub fn encoded(record: &Record) -> EncodedRecord {
    let Record { id, content, metadata, set, sketch, .. } = record.clone();
    let keep = content.is_some();
    let content = content.unwrap_or(Content::Text(String::new()));
    let expires_at_ms = record.expires_at_ms;
    let document = Document { id, content, metadata, expires_at_ms };
    let set = set.expect("the record has its set");
    let (fingerprint, whole_document) = (record.fingerprint, record.whole_document);
    let analysis = Analysis { set, fingerprint, sketch, whole_document };
    let times = Times { stored_at_ms: record.stored_at_ms, expires_at_ms };
    let stamp = Stamp { content_hash: record.content_hash, times };
    let mut encoded = EncodedRecord::new(&document, &analysis, stamp, keep, 1);
    encoded.ordinal = record.ordinal;
    encoded
}

fn only_row(connection: &Connection, shingler: &Shingler) -> Result<Record, StorageError> {
    let select = format!("SELECT {ALL_COLUMNS} FROM documents");
    let mut statement = connection.prepare(&select)?;
    let mut rows = statement.query([])?;
    let row: &Row<'_> = rows.next()?.expect("a row was inserted");
    record::decode(row, Detail::All, shingler)
}

struct RowInput<'a> {
    flags: u8,
    shingles: u8,
    id: &'a str,
    sketch: &'a [u8],
    metadata: Option<&'a str>,
    elements: &'a [u8],
    /// Compressed as contents are, so that its inner layout is reached.
    content: Option<Vec<u8>>,
    fingerprint: u64,
}

impl<'a> RowInput<'a> {
    fn read(mut input: &'a [u8]) -> Option<Self> {
        let mut part = || -> Option<&'a [u8]> {
            let (length, rest) = input.split_first()?;
            let (part, rest) = rest.split_at_checked(usize::from(*length))?;
            input = rest;
            Some(part)
        };
        let &[flags, shingles] = part()? else { return None };
        let text = |part: &'a [u8]| str::from_utf8(part).ok();
        let (id, sketch, metadata) = (text(part()?)?, part()?, text(part()?)?);
        let (elements, plain) = (part()?, part()?);
        let shingler = Shingler::new(ShingleSettings::default(), 7, usize::MAX);
        let set = text(plain).and_then(|plain| shingler.text(plain).ok());
        let stored = elements::decode(elements, shingles.into());
        let set = stored.or(set.map(|shingled| shingled.set));
        Some(Self {
            flags,
            shingles,
            id,
            sketch,
            metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
            elements,
            content: (!plain.is_empty()).then(|| content::encoded_bytes(plain)),
            fingerprint: set.map_or(0, |set| set.fingerprint()),
        })
    }

    fn insert(&self, connection: &Connection) {
        let ordinal = Ordinal::from(1);
        let (shingles, flags) = (u32::from(self.shingles), i64::from(self.flags));
        let (fingerprint, sketch) = (self.fingerprint, self.sketch);
        let expires_at_ms = (self.shingles % 2 == 1).then_some(3);
        let id = self.id;
        let first = SketchRow { ordinal, id, shingles, fingerprint, expires_at_ms, sketch, flags };
        let second = DetailsPart {
            stored_at_ms: 1,
            content_hash: 2,
            metadata: self.metadata,
            elements: self.elements,
        };
        let insert = format!(
            "INSERT INTO documents ({ALL_COLUMNS})
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, 2, ?9, ?10, ?11, ?12, ?13)"
        );
        let row = params![
            i64::from(ordinal),
            self.id,
            shingles,
            fingerprint.cast_signed(),
            flags,
            expires_at_ms,
            sketch,
            seal(first.digest(), ordinal, RowPart::Sketch),
            self.metadata,
            self.elements,
            seal(second.digest(), ordinal, RowPart::Details),
            self.content,
            seal(content_digest(self.content.as_deref()), ordinal, RowPart::Content),
        ];
        connection.execute(&insert, row).expect("the row can be inserted");
    }
}
