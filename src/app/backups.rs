//! Scheduled backups: a file each in a directory, under a temporary name until it is complete and
//! verified. Only then are the oldest removed.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::config::BackupSection;
use crate::engine::{Collections, EngineError, check_backup};

/// The pause after a backup that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The number of pieces that may wait to be written.
const PIECES_AHEAD: usize = 4;

/// The name of a backup, by the time at which it was begun, in UTC.
const NAME: &str = "akin-%Y%m%dT%H%M%SZ.tar";

/// The suffix of incomplete backups.
const PARTIAL: &str = ".partial";

#[derive(Debug, thiserror::Error)]
pub(super) enum BackupError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BackupError {
    move |source| BackupError::File { path: path.to_owned(), source }
}

/// A complete and verified backup.
pub(super) struct Made {
    path: PathBuf,
    begun: Timestamp,
    bytes: u64,
}

pub(super) async fn make(collections: &Collections, settings: &BackupSection) -> Infallible {
    let Some(dir) = settings.dir.clone() else { return std::future::pending().await };
    metrics::counter!("akin_backup_failures_total").absolute(0);
    let every = Duration::from_secs(settings.interval_s);
    loop {
        let newest = newest(dir.clone()).await;
        let made_at_s = newest.map_or(0, Timestamp::as_second);
        metrics::gauge!("akin_backup_last_success_timestamp_seconds").set(made_at_s as f64);
        tokio::time::sleep(newest.map_or(Duration::ZERO, |newest| wait(newest, every))).await;
        while let Err(error) = make_one(collections, &dir, settings.keep).await {
            metrics::counter!("akin_backup_failures_total").increment(1);
            tracing::error!(%error, dir = %dir.display(), "a scheduled backup failed");
            tokio::time::sleep(AFTER_FAILURE).await;
        }
    }
}

/// The time until the next backup, also if the clock was set back since the newest backup.
fn wait(newest: Timestamp, every: Duration) -> Duration {
    let age = Timestamp::now().duration_since(newest);
    every.saturating_sub(Duration::try_from(age).unwrap_or_default())
}

/// `None` if there is no backup. A directory that cannot be read fails when a backup is made.
async fn newest(dir: PathBuf) -> Option<Timestamp> {
    let listed = spawn_blocking(move || backups(&dir).unwrap_or_default()).await;
    listed.unwrap_or_default().last().map(|(begun, _)| *begun)
}

async fn make_one(collections: &Collections, dir: &Path, keep: usize) -> Result<(), BackupError> {
    let (started, begun) = (Instant::now(), Timestamp::now());
    let mut pieces = Box::pin(collections.backup(collections.list()).await?);
    let (sender, receiver) = mpsc::channel(PIECES_AHEAD);
    let to = dir.to_owned();
    let writing = spawn_blocking(move || write(&to, begun, receiver, keep));
    while let Some(piece) = pieces.next().await {
        // The writer has ended if nothing can be sent: its error is below.
        if sender.send(piece?).await.is_err() {
            break;
        }
    }
    drop(sender);
    let written = writing.await.unwrap_or_else(|panic| Err(failed(dir)(io::Error::other(panic))));
    let Made { path, begun, bytes } = written?;
    let took = started.elapsed();
    metrics::gauge!("akin_backup_last_success_timestamp_seconds").set(begun.as_second() as f64);
    metrics::gauge!("akin_backup_last_duration_seconds").set(took.as_secs_f64());
    metrics::gauge!("akin_backup_last_bytes").set(bytes as f64);
    let took_ms = took.as_millis() as u64;
    tracing::info!(path = %path.display(), bytes, took_ms, "made a scheduled backup");
    Ok(())
}

/// Writes a backup until the channel is closed, verifies it and removes the oldest. An
/// archive that breaks off has no manifest, so it is not intact.
fn write(
    dir: &Path,
    begun: Timestamp,
    mut pieces: mpsc::Receiver<Bytes>,
    keep: usize,
) -> Result<Made, BackupError> {
    remove_partial(dir)?;
    let name = begun.strftime(NAME).to_string();
    let partial = dir.join(name.clone() + PARTIAL);
    let partial = tempfile::TempPath::try_from_path(&partial).map_err(failed(&partial))?;
    let mut file = File::create_new(&partial).map_err(failed(&partial))?;
    while let Some(piece) = pieces.blocking_recv() {
        file.write_all(&piece).map_err(failed(&partial))?;
    }
    file.sync_all().map_err(failed(&partial))?;
    check_backup(File::open(&partial).map_err(failed(&partial))?)?;
    let bytes = file.metadata().map_err(failed(&partial))?.len();
    let path = dir.join(name);
    partial.persist_noclobber(&path).map_err(|error| failed(&path)(error.error))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed(dir))?;
    let all = backups(dir)?;
    for (_, old) in &all[..all.len().saturating_sub(keep)] {
        fs::remove_file(old).map_err(failed(old))?;
    }
    Ok(Made { path, begun, bytes })
}

/// The backups in a directory, oldest first.
fn backups(dir: &Path) -> Result<Vec<(Timestamp, PathBuf)>, BackupError> {
    let mut backups = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed(dir))? {
        let entry = entry.map_err(failed(dir))?;
        backups.extend(begun(&entry.file_name().to_string_lossy()).zip(Some(entry.path())));
    }
    backups.sort();
    Ok(backups)
}

/// When a backup was begun, by its name.
fn begun(name: &str) -> Option<Timestamp> {
    let begun = DateTime::strptime(NAME, name).ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(begun.timestamp())
}

/// Removes the partial backup of a server that ended while it made it.
fn remove_partial(dir: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(dir).map_err(failed(dir))? {
        let path = entry.map_err(failed(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.strip_suffix(PARTIAL).and_then(begun).is_some() {
            fs::remove_file(&path).map_err(failed(&path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{add, open};

    fn names(dir: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| name(entry).unwrap()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn the_newest_backups_stay_and_other_files_are_left_alone() {
        let (data, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let others = ["akin-notes.tar", "akin-20200101T000000Z.tar.gz", "other.partial"];
        let old = ["akin-20200101T000000Z.tar", "akin-20200102T000000Z.tar"];
        for name in others.iter().chain(&old).chain(&["akin-20200103T000000Z.tar.partial"]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let collections = open(data.path());
        add(&collections.list()[0], "a").await;
        make_one(&collections, dir.path(), 2).await.unwrap();
        let mut names = names(dir.path());
        names.retain(|name| !others.contains(&name.as_str()));
        assert_eq!((names.len(), names[0].as_str()), (2, old[1]), "{names:?}");
        check_backup(File::open(dir.path().join(&names[1])).unwrap()).unwrap();
    }

    #[tokio::test]
    async fn a_backup_that_breaks_off_leaves_no_file_and_removes_none() {
        let dir = tempfile::tempdir().unwrap();
        let old = ["akin-20200101T000000Z.tar", "akin-20200102T000000Z.tar"];
        for name in old {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let data = tempfile::tempdir().unwrap();
        let collections = open(data.path());
        add(&collections.list()[0], "a").await;
        let pieces: Vec<Bytes> = collections
            .backup(collections.list())
            .await
            .unwrap()
            .map(Result::unwrap)
            .collect()
            .await;
        let whole = pieces.concat();
        for bytes in [0, 1, whole.len() / 2, whole.len() - 2_000] {
            let (sender, receiver) = mpsc::channel(1);
            sender.send(Bytes::copy_from_slice(&whole[..bytes])).await.unwrap();
            drop(sender);
            let dir = dir.path().to_owned();
            let written = spawn_blocking(move || write(&dir, Timestamp::now(), receiver, 1));
            let error = written.await.unwrap().err().expect("it is not whole");
            assert!(matches!(error, BackupError::Engine(EngineError::Backup { .. })), "{error}");
        }
        assert_eq!(names(dir.path()), old);
    }

    #[test]
    fn backups_are_due_an_interval_after_the_newest() {
        let every = Duration::from_secs(1_000);
        let ago = |seconds| Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
        assert_eq!(wait(ago(5_000), every), Duration::ZERO);
        assert!((899..=900).contains(&wait(ago(100), every).as_secs()));
        assert_eq!(wait(ago(-5_000), every), every);
        assert_eq!(begun("akin-20260102T030405Z.tar").unwrap().to_string(), "2026-01-02T03:04:05Z");
        assert_eq!(begun("akin-20260102T030405Z.tar.partial"), None);
    }
}
