//! Looks for damage in a store that no process has open, without changing it.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::counters::Counters;
use super::record;
use super::row::{ALL_COLUMNS, Columns, SketchRow};
use super::snapshot::Snapshots;
use super::snapshot_reader::SnapshotReader;
use super::store::Files;
use super::{StorageError, acknowledged, schema, verify};
use crate::stored::Detail;
use akin_core::scheme::Scheme;
use akin_core::text::Shingler;
use akin_model::settings::CollectionSettings;

/// Findings of a kind that are reported one by one.
const REPORTED_MAX: u64 = 20;

/// Page cache of a check, which reads each page once or twice.
const PAGE_CACHE_KIB: i64 = 16 << 10;

/// The files that a store may have; others are noted.
const KNOWN: [&str; 7] = [
    "lock",
    "store.sqlite",
    "store.sqlite-wal",
    "store.sqlite-shm",
    "snapshots",
    "acknowledged",
    "collection.json",
];

const JOURNAL: &str = "store.sqlite-journal";

const RESTORE: &str = "restore a backup into another directory; if there is none, export what can \
                       still be read";
const REPLACE: &str = "remove the document and add it again, or restore a backup";
const NO_SNAPSHOT: &str =
    "delete the file: a start then uses an older snapshot, or the store itself";

/// A fault or a peculiarity of a directory, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Data is damaged or missing; otherwise a start takes care of it.
    pub is_damage: bool,
    pub what: String,
    pub remedy: String,
}

impl Finding {
    pub fn damage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { is_damage: true, what: what.into(), remedy: remedy.into() }
    }

    pub fn note(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { is_damage: false, what: what.into(), remedy: remedy.into() }
    }
}

/// Properties of the store that follow from the settings of its collection.
pub struct Expected {
    pub identity: String,
    pub shingler: Shingler,
    pub sketch_bytes: usize,
}

impl Expected {
    /// Of the settings with the seed of the store.
    pub fn of(seeded: &CollectionSettings) -> Self {
        let scheme = Scheme::new(&seeded.scheme, &seeded.sketch);
        Self {
            identity: seeded.identity(&scheme),
            shingler: seeded.unlimited_shingler(),
            sketch_bytes: scheme.sketch_bytes(),
        }
    }
}

/// The findings in a store.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Documents that were read, including damaged documents.
    pub documents: u64,
    pub findings: Vec<Finding>,
}

impl Inspection {
    /// The first finding of damage.
    pub fn first_damage(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.is_damage)
    }
}

/// Reads everything in the store in `dir`. Blocks. Changes and creates no file.
pub fn inspect(dir: &Path, expected: &Expected) -> Inspection {
    let mut inspection = Inspection::default();
    inspection.list_files(dir);
    let files = Files::of(dir);
    if !files.database.exists() {
        let is_lost = acknowledged::exists(dir);
        inspection.findings.push(match is_lost {
            true => Finding::damage("store.sqlite is missing", RESTORE),
            false => Finding::note("there is no store yet", "a start creates it"),
        });
        return inspection;
    }
    if is_being_created(dir, &files) {
        let what = "the creation of the store did not complete";
        inspection.findings.push(Finding::note(what, "a start completes it"));
        return inspection;
    }
    if let Err(error) = inspection.check_store(&files, expected) {
        inspection.damage(&error);
    }
    inspection
}

/// Whether the database has no tables yet, and never had any.
fn is_being_created(dir: &Path, files: &Files) -> bool {
    if acknowledged::exists(dir) {
        return false;
    }
    // A rollback journal is there only until the database has a write-ahead log.
    dir.join(JOURNAL).exists()
        || schema::open_unchanged(&files.database, PAGE_CACHE_KIB)
            .is_ok_and(|connection| schema::is_empty(&connection).unwrap_or(false))
}

impl Inspection {
    fn damage(&mut self, error: &StorageError) {
        let remedy = match error {
            StorageError::OtherSettings { .. } => {
                "configure the settings that it has, or run `akin reindex` for `default`"
            }
            StorageError::OtherFormat { .. } => "use the version of akin that made it",
            StorageError::ForeignSchema { .. } => {
                "do not start akin on it: restore a backup that you trust"
            }
            StorageError::LostWrites { .. } => "see above; documents without a finding are sound",
            StorageError::CorruptDocument { .. } => REPLACE,
            _ => RESTORE,
        };
        self.findings.push(Finding::damage(error.to_string(), remedy));
    }

    fn list_files(&mut self, dir: &Path) {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        for name in entries.map(|entry| entry.file_name().to_string_lossy().into_owned()) {
            if name == "copy.sqlite" {
                let what = "copy.sqlite remains of a backup that did not complete";
                self.findings.push(Finding::note(what, "the next start deletes it"));
            } else if name != JOURNAL && !KNOWN.contains(&name.as_str()) {
                let what = format!("{name} is not akin's");
                self.findings.push(Finding::note(what, "it is ignored; move it elsewhere"));
            }
        }
    }

    fn check_store(&mut self, files: &Files, expected: &Expected) -> Result<(), StorageError> {
        let connection = schema::open_unchanged(&files.database, PAGE_CACHE_KIB)?;
        // All reads see the same state of the database, even if another process writes to it.
        connection.execute_batch("BEGIN")?;
        schema::check_ours(&connection, &files.database)?;
        self.check_trees(&connection)?;
        let stored = self.noted(schema::read_identity(&connection));
        let same = stored.map(|it| schema::check_same(&it, &files.database, &expected.identity));
        let is_same = same.and_then(|same| self.noted(same)).is_some();
        let counters = self.noted(Counters::read(&connection));
        if let Some(counters) = &counters {
            let last = counters.last_sequence;
            let created = schema::created_at_ms(&connection);
            self.noted(created.and_then(|at| acknowledged::check(files.dir(), at, last)));
            self.check_snapshots(files.dir(), is_same.then_some(expected), last);
            self.noted(verify::check_log(&connection, counters));
        }
        let detail = if is_same { Detail::All } else { Detail::Content };
        self.check_documents(&connection, detail, expected)?;
        if let Some(counters) = counters {
            self.noted(counters.check_seen(self.documents));
            self.noted(counters.check_ordinals(&connection));
        }
        self.check_ids(&connection)
    }

    /// What was read. A fault becomes a finding, so that everything else is read nonetheless.
    fn noted<T>(&mut self, read: Result<T, StorageError>) -> Option<T> {
        read.map_err(|error| self.damage(&error)).ok()
    }

    fn check_trees(&mut self, connection: &Connection) -> Result<(), StorageError> {
        let pragma = format!("PRAGMA integrity_check({REPORTED_MAX})");
        let mut statement = connection.prepare(&pragma)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let found: String = row.get(0)?;
            if found != "ok" {
                self.findings.push(Finding::damage(format!("store.sqlite: {found}"), RESTORE));
            }
        }
        Ok(())
    }

    fn check_documents(
        &mut self,
        connection: &Connection,
        detail: Detail,
        expected: &Expected,
    ) -> Result<(), StorageError> {
        let mut statement = connection.prepare(&format!("SELECT {ALL_COLUMNS} FROM documents"))?;
        let mut rows = statement.query([])?;
        let mut damaged = 0;
        while let Some(row) = rows.next()? {
            self.documents += 1;
            let checked = record::decode(row, detail, &expected.shingler);
            let checked = checked.and_then(|_| match detail {
                Detail::All => {
                    SketchRow::read(&Columns::new(row)?)?.check_sketch(expected.sketch_bytes)
                }
                // A store of other settings has other sketches.
                _ => Ok(()),
            });
            let Err(error) = checked else { continue };
            damaged += 1;
            if damaged <= REPORTED_MAX {
                self.damage(&error);
            }
        }
        if damaged > REPORTED_MAX {
            let more = damaged - REPORTED_MAX;
            self.findings
                .push(Finding::damage(format!("{more} more documents are damaged"), REPLACE));
        }
        Ok(())
    }

    fn check_ids(&mut self, connection: &Connection) -> Result<(), StorageError> {
        let query = "SELECT id FROM documents GROUP BY id HAVING count(*) > 1 LIMIT 20";
        let mut statement = connection.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let what = format!("several documents have the id '{id}'");
            self.findings.push(Finding::damage(what, REPLACE));
        }
        Ok(())
    }

    /// `expected`: `None` if the store is of other or unknown settings, as its snapshots then are.
    fn check_snapshots(&mut self, dir: &Path, expected: Option<&Expected>, last_sequence: u64) {
        let snapshots = Snapshots::unopened(dir.join("snapshots"));
        for path in snapshots.partial_files() {
            let what = format!("{} is left of a snapshot that did not complete", path.display());
            self.findings.push(Finding::note(what, "the next start deletes it"));
        }
        for path in snapshots.whole_files() {
            if let Err(what) = check_snapshot(&path, expected, last_sequence) {
                let what = format!("snapshot {}: {what}", path.display());
                self.findings.push(Finding::damage(what, NO_SNAPSHOT));
            }
        }
    }
}

fn check_snapshot(
    path: &Path,
    expected: Option<&Expected>,
    last_sequence: u64,
) -> Result<(), String> {
    let reader = SnapshotReader::open(path).map_err(|broken| broken.to_string())?;
    let header = reader.header();
    if expected.is_some_and(|expected| {
        header.identity != expected.identity
            || header.sketch_bytes as usize != expected.sketch_bytes
    }) {
        return Err("it was made with other settings".to_owned());
    }
    let sequence = reader.header().sequence;
    if sequence > last_sequence {
        return Err(format!(
            "it was taken at sequence {sequence}, but the store ends at {last_sequence}"
        ));
    }
    let mut bytes = Vec::new();
    (0..reader.sections())
        .try_for_each(|section| reader.read(section, &mut bytes, |_| ()))
        .map_err(|error| error.to_string())
}
