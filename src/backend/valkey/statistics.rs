//! The numbers of documents and sets. Parts of documents count their ids; parts of sets count the
//! members beyond the first of each set, so that a new set, as most are, needs no counting. Every
//! document is the member of a set: what remains is the number of sets.

use bytes::Bytes;

use super::Shared;
use super::client::Reply;
use super::command::{Command, number};
use super::layout::Part;
use crate::backend::{BackendError, BackendStats, Recovery, RecoverySource};

impl Shared {
    pub(super) async fn stats(&self) -> Result<BackendStats, BackendError> {
        let now = number(self.now_ms());
        let layout = &self.layout;
        let of_part = |part| {
            let due = [Bytes::from_static(b"-inf"), now.clone()];
            [
                Command::new("ZCARD", layout.ids(part), []),
                Command::new("ZCOUNT", layout.expiries(part), due),
            ]
        };
        let counters = |part| {
            let fields = [b"c", b"p"].map(|field| Bytes::from_static(field));
            Command::new("HMGET", layout.counters(part), fields)
        };
        let of_documents = Part::all_of_documents().flat_map(of_part).collect();
        let of_documents = self.connection.call(of_documents).await?;
        let of_sets = self.connection.call(Part::all_of_sets().map(counters).collect()).await?;
        let (mut documents, mut members, mut further, mut keys) = (0_u64, 0_u64, 0_u64, 0_u64);
        let count =
            |reply: Option<&Reply>| reply.and_then(Reply::integer).unwrap_or(0).max(0) as u64;
        for replies in of_documents.chunks(2) {
            let ids = count(replies.first());
            members += ids;
            documents += ids.saturating_sub(count(replies.get(1)));
        }
        for counters in of_sets.into_iter().map(Reply::array) {
            further += count(counters.first());
            keys += count(counters.get(1));
        }
        let distinct_sets = members.saturating_sub(further);
        let postings = match self.scheme.bands() {
            Some(_) => distinct_sets * u64::from(self.scheme.tables()),
            None => keys,
        };
        Ok(BackendStats {
            documents,
            distinct_sets,
            keys: 0,
            postings,
            postings_longest: 0,
            index_bytes: 0,
            passages: None,
            ids_bytes: 0,
            database_bytes: 0,
            wal_bytes: 0,
            log_rows: 0,
            sequence: 0,
            recovery: Recovery {
                source: RecoverySource::Valkey,
                snapshot_sequence: None,
                replayed: 0,
                took_ms: 0,
            },
            last_snapshot: None,
        })
    }
}
