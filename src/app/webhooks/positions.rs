//! The positions of a receiver, for each collection, in a file `webhooks/HASH.json` of the data
//! directory that is replaced by a rename. HASH is the hash of the receiver's address, so another
//! address is another receiver:
//!
//! ```text
//! {"url": "https://example.org/hook", "positions": {"default": "1763856000000-42"}}
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;
use xxhash_rust::xxh3::xxh3_64;

use super::WebhookError;
use crate::engine::{CollectionName, Collections, Position};
use crate::http::{parse_position, position_text};
use crate::storage::read_small;

const DIRECTORY: &str = "webhooks";

/// Enough for positions in a hundred thousand collections.
const BYTES_MAX: u64 = 16 << 20;

/// The positions cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the positions of a webhook in {}: {source}", .path.display())]
pub struct PositionsError {
    path: PathBuf,
    source: io::Error,
}

#[derive(Clone, Serialize, Deserialize)]
struct Content {
    url: String,
    positions: BTreeMap<String, String>,
}

pub(super) struct Positions {
    path: PathBuf,
    content: Content,
}

impl Positions {
    /// The positions in the file; without a file, the current positions, which are written at once.
    pub async fn open(
        data_dir: PathBuf,
        url: String,
        collections: &Collections,
    ) -> Result<Self, WebhookError> {
        let name = format!("{:016x}.json", xxh3_64(url.as_bytes()));
        let path = data_dir.join(DIRECTORY).join(name);
        let file = path.clone();
        let read =
            spawn_blocking(move || read_small(&file, BYTES_MAX)).await.expect("it does not panic");
        match read {
            Ok(text) => {
                let content = serde_json::from_slice(&text).unwrap_or_else(|error| {
                    let path = path.display();
                    tracing::warn!(%path, %error, "damaged positions: all changes are sent again");
                    Content { url, positions: BTreeMap::new() }
                });
                return Ok(Self { path, content });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(PositionsError { path, source }.into()),
        }
        let mut positions = BTreeMap::new();
        for collection in collections.list() {
            let now = collection.last_change().await?;
            positions.insert(collection.name().to_string(), position_text(now));
        }
        let opened = Self { path, content: Content { url, positions } };
        opened.write().await?;
        Ok(opened)
    }

    /// `None` if the collection is new to the receiver.
    pub fn get(&self, collection: &CollectionName) -> Option<Position> {
        self.content.positions.get(collection.as_str()).and_then(|text| parse_position(text))
    }

    pub fn set(&mut self, collection: &CollectionName, position: Position) {
        self.content.positions.insert(collection.to_string(), position_text(position));
    }

    /// Forgets removed collections.
    pub fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        self.content.positions.retain(|name, _| is_there(name));
    }

    /// Returns once the positions are on disk.
    pub async fn write(&self) -> Result<(), PositionsError> {
        let (path, content) = (self.path.clone(), self.content.clone());
        let write = move || {
            let dir = path.parent().expect("it is in the data directory");
            let written = || -> io::Result<()> {
                fs::create_dir_all(dir)?;
                let mut file = NamedTempFile::new_in(dir)?;
                serde_json::to_writer(&mut file, &content)?;
                file.as_file().sync_all()?;
                file.persist(&path)?;
                File::open(dir)?.sync_all()
            };
            written().map_err(|source| PositionsError { path: path.clone(), source })
        };
        spawn_blocking(write).await.expect("it does not panic")
    }
}
