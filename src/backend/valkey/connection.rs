//! The connections to Valkey: calls of commands, each with a deadline.
//!
//! They run on a runtime of their own, so that opening a collection may wait for them on any
//! thread, and a call on any runtime.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Semaphore;

use super::access::access;
use super::client::{Address, Client, Fault, Reply};
use super::command::Command;
use super::failure::{failed, refused, unavailable, unreachable_because};
use super::replicas::{Barrier, Generation};
use crate::backend::BackendError;
use crate::backend::settings::{ValkeySettings, address};

/// Threads of the runtime.
const THREADS: usize = 2;

/// Commands sent at once.
const COMMANDS_AT_ONCE: usize = 2_048;

/// Calls in flight: further calls wait, which bounds the memory of replies.
const CALLS_MAX: usize = 128;

/// The pause between attempts to reach Valkey at all.
const PAUSE: Duration = Duration::from_millis(200);

/// The reply to the renaming of a key that is not there.
const NO_SUCH_KEY: &str = "ERR no such key";

/// The open connections. Cheap to clone.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    pub(super) client: Arc<Client>,
    pub(super) prefix: String,
    calls: Semaphore,
    deadline: Duration,
    pub(super) wait_replicas: u32,
    pub(super) wait_timeout: Duration,
    pub(super) barrier: Barrier,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The client's tasks end with it.
            runtime.shutdown_background();
        }
    }
}

impl Connection {
    /// Connects and checks the settings of the nodes. Blocks, on any thread.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] names the cause.
    pub fn open(settings: &ValkeySettings) -> Result<Self, BackendError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("valkey")
            .enable_all()
            .build()
            .map_err(|error| unreachable_because(&error))?;
        let (opening, handle) = (settings.clone(), runtime.handle().clone());
        let client = block_on(runtime.handle(), async move { open(&opening, &handle).await })?;
        let inner = Inner {
            runtime: Some(runtime),
            barrier: Barrier::new(client.masters()),
            client: Arc::new(client),
            prefix: settings.prefix.clone(),
            calls: Semaphore::new(CALLS_MAX),
            deadline: settings.deadline(),
            wait_replicas: settings.wait_replicas,
            wait_timeout: Duration::from_millis(settings.wait_timeout_ms),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    fn runtime(&self) -> &Runtime {
        self.inner.runtime.as_ref().expect("it is taken only by the drop")
    }

    /// Runs a future on the connection's own runtime.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.runtime().spawn(work)
    }

    /// Runs `work` and waits for it, on any thread.
    pub fn wait_for<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        block_on(self.runtime().handle(), work)
    }

    /// Sends commands to their nodes at once; the replies are in the same order, and nothing for a
    /// renaming of a key that is not there.
    ///
    /// # Errors
    /// The first error of a command; [`BackendError::Unavailable`] after the deadline. Any of the
    /// commands may have been executed.
    pub async fn call(&self, commands: Vec<Command>) -> Result<Vec<Reply>, BackendError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let permit = self.inner.calls.acquire().await;
        let _permit = permit.map_err(|error| unavailable(error.to_string()))?;
        self.inner.call_all(&commands).await
    }

    /// [`Self::call`] with a single command.
    pub async fn call_one(&self, command: Command) -> Result<Reply, BackendError> {
        let mut replies = self.call(vec![command]).await?;
        replies.pop().ok_or_else(|| unavailable("a command without a reply"))
    }

    /// The moment before the first write that [`Self::wait_for_replicas`] shall wait for.
    pub fn generation(&self) -> Generation {
        self.inner.barrier.generation()
    }

    /// Returns once every write before the call is on as many replicas of every master as the
    /// settings demand. Concurrent calls share a single wait.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if the replicas do not have the writes in time, or if a master
    /// was replaced.
    pub async fn wait_for_replicas(&self, since: Generation) -> Result<(), BackendError> {
        if self.inner.wait_replicas == 0 {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        let waited = self.spawn(async move { inner.replicated(since).await }).await;
        waited.unwrap_or_else(|_| Err(unavailable("the server is stopping")))
    }

    /// Removes the keys that match a pattern from all nodes; returns their number.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    pub async fn remove_keys(&self, pattern: &str, at_once: usize) -> Result<usize, BackendError> {
        let (inner, pattern) = (Arc::clone(&self.inner), pattern.to_owned());
        let removed = self.spawn(async move { inner.remove_keys(&pattern, at_once).await }).await;
        removed.unwrap_or_else(|_| Err(unavailable("the server is stopping")))
    }

    /// The value of a setting at each node; `None` where it may not be read.
    pub async fn setting_of_nodes(&self, name: &'static str) -> Vec<(String, Option<String>)> {
        let inner = Arc::clone(&self.inner);
        let read = self.spawn(async move {
            let mut values = Vec::new();
            for node in inner.client.masters() {
                let words = ["GET", name].map(|word| Bytes::from_static(word.as_bytes()));
                let reply = inner.at(&node, Command::to_node("CONFIG", words)).await.ok();
                let value = reply.and_then(|reply| reply.array().into_iter().nth(1)?.text());
                values.push((node.to_string(), value));
            }
            values
        });
        read.await.unwrap_or_default()
    }
}

impl Inner {
    /// When commands that are sent now must have replies.
    pub(super) fn end(&self) -> Instant {
        Instant::now() + self.deadline
    }

    async fn call_all(&self, commands: &[Command]) -> Result<Vec<Reply>, BackendError> {
        let (mut replies, end) = (Vec::with_capacity(commands.len()), self.end());
        for commands in commands.chunks(COMMANDS_AT_ONCE) {
            let some = self.client.call(commands, end).await.map_err(|fault| failed(&fault))?;
            for reply in some {
                match reply {
                    Reply::Error(text) if text == NO_SUCH_KEY => replies.push(Reply::Nothing),
                    Reply::Error(text) => return Err(refused(text)),
                    reply => replies.push(reply),
                }
            }
        }
        Ok(replies)
    }

    async fn at(&self, node: &Address, command: Command) -> Result<Reply, BackendError> {
        let replies = self.client.call_at(node, &[command], self.end(), false).await;
        match replies.map_err(|fault| failed(&fault))?.pop() {
            Some(Reply::Error(text)) => Err(refused(text)),
            Some(reply) => Ok(reply),
            None => Err(unavailable("a command without a reply")),
        }
    }

    async fn remove_keys(&self, pattern: &str, at_once: usize) -> Result<usize, BackendError> {
        let mut removed = 0;
        for node in self.client.masters() {
            let mut cursor = "0".to_owned();
            loop {
                let count = at_once.to_string();
                let words = [cursor.as_str(), "MATCH", pattern, "COUNT", &count];
                let words = words.map(|word| Bytes::copy_from_slice(word.as_bytes()));
                let page = self.at(&node, Command::to_node("SCAN", words)).await?;
                let mut page = page.array().into_iter();
                cursor = page.next().and_then(Reply::text).unwrap_or_else(|| "0".to_owned());
                let keys: Vec<Bytes> = page.next().into_iter().flat_map(Reply::strings).collect();
                removed += keys.len();
                let unlink = |key| Command::new("UNLINK", key, []);
                let unlinks: Vec<Command> = keys.into_iter().map(unlink).collect();
                if !unlinks.is_empty() {
                    self.call_all(&unlinks).await?;
                }
                if cursor == "0" {
                    break;
                }
            }
        }
        Ok(removed)
    }
}

/// Connects. If the nodes are still starting, it waits for them until the deadline.
async fn open(settings: &ValkeySettings, runtime: &Handle) -> Result<Client, BackendError> {
    let (access, end) = (Arc::new(access(settings)?), Instant::now() + settings.deadline());
    let seeds = settings.nodes.iter().filter_map(|node| address(node));
    let seed = |(host, port): (&str, u16)| Address { host: host.to_owned(), port };
    let seeds: Vec<_> = seeds.map(seed).collect();
    let mut is_first = true;
    loop {
        let error = match Client::open(seeds.clone(), Arc::clone(&access), runtime).await {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        if !error.may_pass() || Instant::now() + PAUSE >= end {
            let nodes = settings.nodes.join(", ");
            return Err(unreachable_because(&match error {
                Fault::Silent => format!("no answer from {nodes} within valkey.deadline_ms"),
                error => format!("{nodes}: {error}"),
            }));
        }
        if std::mem::take(&mut is_first) {
            tracing::warn!(%error, "waiting for Valkey until valkey.deadline_ms");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits on any thread, even on a thread of a runtime.
fn block_on<T: Send + 'static>(
    handle: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let (done, result) = mpsc::sync_channel(1);
    handle.spawn(async move {
        // Fails only if the caller is gone.
        let _ = done.send(work.await);
    });
    result.recv().expect("the runtime lives as long as the caller")
}
