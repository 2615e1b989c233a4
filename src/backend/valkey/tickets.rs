//! The order of arrival among all processes.
//!
//! A document takes its ticket after it is indexed under all its keys, and looks for
//! near-duplicates after it has its ticket. So of two documents that share a key, the document with
//! the higher ticket finds the other, which was indexed before it took its lower ticket. A pending
//! document without a ticket may still get a lower ticket, so readers wait until it has a ticket.
//! (This is Lamport's bakery algorithm.) Documents wait for lower tickets only, so there is no
//! cycle.
//!
//! Within a process, documents get tickets in the order in which they entered, so that a batch is
//! stored as if one after the other; all documents that are ready take their tickets together.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::command::number;
use super::connection::Connection;
use super::failure::unavailable;
use super::scripts;
use crate::backend::BackendError;

/// More than are ever taken, so that the counter is seldom ahead of the clock.
const TICKETS_PER_SECOND: u64 = 1_000_000;

type Sender = oneshot::Sender<Result<u64, BackendError>>;

#[derive(Default)]
struct Queue {
    next: u64,
    /// The documents without a ticket: `None` until they are indexed.
    waiting: BTreeMap<u64, Option<Sender>>,
    is_taking: bool,
}

/// The queue of a collection in this process.
pub(super) struct Tickets {
    queue: Arc<Mutex<Queue>>,
    connection: Connection,
    key: bytes::Bytes,
}

/// The entry of a document in the queue. Dropping the entry removes it from the queue.
pub(super) struct QueueEntry {
    number: u64,
    tickets: Arc<Tickets>,
}

impl Tickets {
    pub fn new(connection: Connection, key: bytes::Bytes) -> Arc<Self> {
        Arc::new(Self { queue: Arc::default(), connection, key })
    }

    pub fn enter(self: &Arc<Self>) -> QueueEntry {
        let mut queue = self.lock();
        let number = queue.next;
        queue.next += 1;
        queue.waiting.insert(number, None);
        QueueEntry { number, tickets: Arc::clone(self) }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes tickets for all indexed documents at the head of the queue, unless another task is
    /// doing so.
    fn advance(self: &Arc<Self>) {
        let mut queue = self.lock();
        if queue.is_taking {
            return;
        }
        let ready = ready(&mut queue);
        if ready.is_empty() {
            return;
        }
        queue.is_taking = true;
        let this = Arc::clone(self);
        self.connection.spawn(async move {
            this.take(ready).await;
            this.lock().is_taking = false;
            this.advance();
        });
    }

    async fn take(&self, ready: Vec<Sender>) {
        let count = ready.len() as u64;
        let arguments = [count, TICKETS_PER_SECOND, 0].map(number);
        let command = scripts::TAKE.call(vec![self.key.clone()], arguments.into());
        let last = match self.connection.call_one(command).await {
            Ok(reply) => reply.integer().and_then(|last| u64::try_from(last).ok()),
            Err(error) => {
                let reason = error.to_string();
                for waiting in ready {
                    let _ = waiting.send(Err(unavailable(reason.as_str())));
                }
                return;
            }
        };
        for (at, waiting) in (1..=count).zip(ready) {
            let ticket = last.and_then(|last| (last + at).checked_sub(count));
            let ticket = ticket.filter(|ticket| *ticket > 0);
            // Fails only if the document was withdrawn.
            let _ = waiting.send(ticket.ok_or(BackendError::Unexpected { what: "a ticket" }));
        }
    }
}

fn ready(queue: &mut Queue) -> Vec<Sender> {
    let mut ready = Vec::new();
    while let Some(first) = queue.waiting.first_entry()
        && first.get().is_some()
    {
        ready.extend(first.remove());
    }
    ready
}

impl QueueEntry {
    /// Takes a ticket, once all earlier documents of the queue have tickets. The document must be
    /// indexed.
    pub async fn ticket(self) -> Result<u64, BackendError> {
        let (sender, ticket) = oneshot::channel();
        self.tickets.lock().waiting.insert(self.number, Some(sender));
        self.tickets.advance();
        ticket.await.unwrap_or_else(|_| Err(unavailable("the server is stopping")))
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        self.tickets.lock().waiting.remove(&self.number);
        self.tickets.advance();
    }
}
