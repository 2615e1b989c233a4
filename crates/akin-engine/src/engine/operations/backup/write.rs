//! Streaming a backup of running collections.

use std::fmt::Display;
use std::fs::File;
use std::future::ready;
use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use jiff::Timestamp;
use tar::Header;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::{FORMAT, MANIFEST, MANIFEST_CHECKSUM, Manifest, SavedCollection};
use crate::backend::BackendError;
use crate::engine::{Collection, Collections, EngineError};

/// The size of a piece, and the number of pieces buffered ahead of the receiver.
const PIECE_BYTES: usize = 256 << 10;
const PIECES_AHEAD: usize = 4;

/// The entries and the end of an archive are whole blocks.
const BLOCK_BYTES: usize = 512;

/// The file mode of the entries.
const MODE: u32 = 0o644;

type Pieces = mpsc::Sender<Bytes>;

impl Collections {
    /// Streams a backup of the collections, each from a consistent view, while writes continue.
    /// Copies their databases in turn, which needs as much disk as the largest. Dropping the stream
    /// cancels the backup.
    ///
    /// # Errors
    /// `NoRoom`; `BackupUnderWay`: only one backup is made at a time; `DocumentDamaged` and `Store`
    /// if the first collection cannot be copied. A later error is the last item of the stream.
    pub async fn backup(
        &self,
        of: Vec<Arc<Collection>>,
    ) -> Result<impl Stream<Item = Result<Bytes, EngineError>> + Send + use<>, EngineError> {
        let turn = Arc::clone(&self.backups).try_acquire_owned();
        let turn = turn.map_err(|_| EngineError::BackupUnderWay)?;
        for collection in &of {
            collection.engine.backups()?.check_room_for_copy().await?;
        }
        let (pieces, taken) = mpsc::channel(PIECES_AHEAD);
        let task = tokio::spawn(async move {
            let _turn = turn;
            let gone = pieces.clone();
            tokio::select! {
                saved = save(of, pieces) => saved,
                () = gone.closed() => Ok(()),
            }
        });
        let next = |mut taken: mpsc::Receiver<_>| async move {
            taken.recv().await.map(|piece| (piece, taken))
        };
        // The stream ends as the task does, so that a backup that fails in any way is never whole.
        let end = async move { task.await.unwrap_or_else(|error| Err(failed(error))).err() };
        let end = stream::once(end).filter_map(|error| ready(error.map(Err)));
        let mut rest = Box::pin(stream::unfold(taken, next).map(Ok).chain(end).fuse());
        let first = rest.next().await.transpose()?;
        Ok(stream::iter(first.map(Ok)).chain(rest))
    }
}

async fn save(of: Vec<Arc<Collection>>, pieces: Pieces) -> Result<(), EngineError> {
    let mut archive = Archive::new(pieces);
    for collection in of {
        let copied = collection.engine.backups()?.copy().await;
        let file = copied.map_err(|error| error.in_collection(collection.name()))?;
        archive = off_runtime(move || archive.append(&collection, file)).await?;
    }
    off_runtime(move || archive.finish()).await
}

async fn off_runtime<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, EngineError> {
    let done = spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(failed)
}

fn failed(error: impl Display) -> EngineError {
    BackendError::Store { reason: format!("the backup failed: {error}") }.into()
}

/// Is dropped on threads that must not block, so nothing is written when it is dropped: a
/// `tar::Builder` would write the end of the archive then.
struct Archive {
    tar: PieceWriter,
    manifest: Manifest,
}

impl Archive {
    fn new(pieces: Pieces) -> Self {
        let tar = PieceWriter { piece: BytesMut::with_capacity(PIECE_BYTES), pieces };
        let manifest = Manifest {
            format: FORMAT,
            created_at: format!("{:.3}", Timestamp::now()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            collections: Vec::new(),
        };
        Self { tar, manifest }
    }

    fn append(mut self, collection: &Collection, file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        let mut hashing = HashingReader { inner: file, hash: Xxh3Default::new() };
        self.append_entry(&super::store_entry(collection.name()), bytes, &mut hashing)?;
        self.manifest.collections.push(SavedCollection {
            name: collection.name().to_string(),
            settings: collection.settings().clone(),
            bytes,
            xxh3: super::hexadecimal(hashing.hash.digest()),
        });
        Ok(self)
    }

    fn append_entry(&mut self, path: &str, bytes: u64, data: &mut impl Read) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_path(path)?;
        header.set_size(bytes);
        header.set_mode(MODE);
        header.set_mtime(Timestamp::now().as_second().max(0) as u64);
        header.set_cksum();
        self.tar.write_all(header.as_bytes())?;
        let written = io::copy(data, &mut self.tar)?;
        let padding = written.next_multiple_of(BLOCK_BYTES as u64) - written;
        self.tar.write_all(&[0; BLOCK_BYTES][..padding as usize])
    }

    fn finish(mut self) -> io::Result<()> {
        let manifest = serde_json::to_vec_pretty(&self.manifest)?;
        let checksum = super::hexadecimal(xxh3_64(&manifest));
        for (path, data) in [(MANIFEST, &manifest[..]), (MANIFEST_CHECKSUM, checksum.as_bytes())] {
            self.append_entry(path, data.len() as u64, &mut { data })?;
        }
        self.tar.write_all(&[0; 2 * BLOCK_BYTES])?;
        self.tar.flush()
    }
}

/// Hashes the bytes read through it.
struct HashingReader {
    inner: File,
    hash: Xxh3Default,
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// Sends the bytes written to it in pieces. Blocks while the channel is full, and fails once the
/// receiver is dropped.
struct PieceWriter {
    piece: BytesMut,
    pieces: Pieces,
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = self.piece.split().freeze();
        self.piece.reserve(PIECE_BYTES);
        self.pieces.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
