//! The connections to Valkey: pipelines of commands, each with a deadline.
//!
//! They run on a runtime of their own, so that opening a collection may wait for them on any
//! thread.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fred::error::Error as EngineFailure;
use fred::interfaces::ClientLike;
use fred::types::config::{Options, Server};
use fred::types::{CustomCommand, Value};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::client::Clients;
use super::command::Command;
use super::failure::{failed, unavailable, unreachable_because};
use super::replicas::{Barrier, Generation};
use super::reply::Reply;
use crate::backend::BackendError;
use crate::backend::ValkeySettings;

/// Threads of the runtime.
const THREADS: usize = 2;

/// Commands sent in a pipeline.
const COMMANDS_AT_ONCE: usize = 2_048;

/// Pipelines in flight: further pipelines wait, which bounds the memory of replies.
const PIPELINES_MAX: usize = 128;

/// The pause before a command is sent again because its keys are being moved.
const MOVE_PAUSE: Duration = Duration::from_millis(5);

/// The open connections. Cheap to clone.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    pub(super) clients: Clients,
    pub(super) prefix: String,
    pipelines: Semaphore,
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
        let opening = settings.clone();
        let clients = block_on(runtime.handle(), async move { Clients::open(&opening).await })?;
        let barrier = Barrier::new(clients.waiting.as_ref());
        let inner = Inner {
            runtime: Some(runtime),
            clients,
            prefix: settings.prefix.clone(),
            pipelines: Semaphore::new(PIPELINES_MAX),
            deadline: settings.deadline(),
            wait_replicas: settings.wait_replicas,
            wait_timeout: Duration::from_millis(settings.wait_timeout_ms),
            barrier,
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

    /// Sends commands to their nodes at once; the replies are in the same order.
    ///
    /// # Errors
    /// The first error of a command; [`BackendError::Unavailable`] after the deadline. Any of the
    /// commands may have been executed.
    pub async fn call(&self, commands: Vec<Command>) -> Result<Vec<Reply>, BackendError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let inner = Arc::clone(&self.inner);
        let work = async move {
            let _permit =
                inner.pipelines.acquire().await.map_err(|error| unavailable(error.to_string()))?;
            inner.within_deadline(inner.call_all(&commands)).await
        };
        let done = self.spawn(work).await;
        done.unwrap_or_else(|_| Err(unavailable("the server is stopping")))
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
            for node in inner.nodes() {
                let command = CustomCommand::new_static("CONFIG", None::<u16>, false);
                let arguments = vec![Value::from("GET"), Value::from(name)];
                let reply = inner.at(&node, command, arguments).await.ok();
                let value = reply.and_then(|reply| reply.array().into_iter().nth(1)?.text());
                values.push((node.to_string(), value));
            }
            values
        });
        read.await.unwrap_or_default()
    }
}

impl Inner {
    fn nodes(&self) -> Vec<Server> {
        self.clients.next().active_connections()
    }

    /// # Errors
    /// [`BackendError::Unavailable`] after the deadline: a node may then be silent.
    pub(super) async fn within_deadline<T>(
        &self,
        work: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, BackendError> {
        match timeout(self.deadline, work).await {
            Ok(done) => done,
            Err(_) => {
                self.clients.open_anew();
                Err(unavailable("no reply within valkey.deadline_ms"))
            }
        }
    }

    async fn call_all(&self, commands: &[Command]) -> Result<Vec<Reply>, BackendError> {
        let mut replies = Vec::with_capacity(commands.len());
        for commands in commands.chunks(COMMANDS_AT_ONCE) {
            replies.extend(self.pipeline(commands).await?);
        }
        Ok(replies)
    }

    async fn pipeline(&self, commands: &[Command]) -> Result<Vec<Reply>, BackendError> {
        let parts = commands.iter().map(Command::parts);
        let results = self.send(parts).await?;
        let mut replies = Vec::with_capacity(results.len());
        for (command, mut result) in commands.iter().zip(results) {
            while let Some(again) = again(command, &result).await {
                let sent = self.send([again].into_iter()).await?;
                result = sent.into_iter().next().unwrap_or(Ok(Value::Null));
            }
            replies.push(Reply::from(result.map_err(|error| failed(&error))?));
        }
        Ok(replies)
    }

    /// A result for each command.
    async fn send(
        &self,
        parts: impl ExactSizeIterator<Item = (CustomCommand, Vec<Value>)>,
    ) -> Result<Vec<Result<Value, EngineFailure>>, BackendError> {
        let (pipeline, count) = (self.clients.next().pipeline(), parts.len());
        for (command, arguments) in parts {
            let queued = pipeline.custom::<Value, Value>(command, arguments).await;
            queued.map_err(|error| failed(&error))?;
        }
        let mut results = pipeline.try_all::<Value>().await;
        if results.len() == count {
            return Ok(results);
        }
        // The pipeline as a whole has failed.
        match results.pop() {
            Some(Err(error)) => Err(failed(&error)),
            _ => Err(BackendError::Unexpected { what: "replies to a pipeline" }),
        }
    }

    async fn at(
        &self,
        node: &Server,
        command: CustomCommand,
        arguments: Vec<Value>,
    ) -> Result<Reply, EngineFailure> {
        let options = Options { cluster_node: Some(node.clone()), ..Options::default() };
        let client = self.clients.next().with_options(&options);
        client.custom::<Value, Value>(command, arguments).await.map(Reply::from)
    }

    async fn remove_keys(&self, pattern: &str, at_once: usize) -> Result<usize, BackendError> {
        let mut removed = 0;
        for node in self.nodes() {
            let mut cursor = "0".to_owned();
            loop {
                let command = CustomCommand::new_static("SCAN", None::<u16>, false);
                let count = at_once.to_string();
                let arguments = [cursor.as_str(), "MATCH", pattern, "COUNT", &count];
                let arguments = arguments.into_iter().map(Value::from).collect();
                let page = self.at(&node, command, arguments).await;
                let mut page = page.map_err(|error| failed(&error))?.array().into_iter();
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

/// The command to send again if a node has not executed it: a script that the node does not know,
/// or a command with keys in a slot that is being moved.
async fn again(
    command: &Command,
    result: &Result<Value, EngineFailure>,
) -> Option<(CustomCommand, Vec<Value>)> {
    let error = result.as_ref().err()?.details();
    if error.starts_with("TRYAGAIN") {
        sleep(MOVE_PAUSE).await;
        return Some(command.parts());
    }
    let script = command.script.filter(|_| error.starts_with("NOSCRIPT"))?;
    Some(command.with_text(script))
}

/// Waits on any thread, even on a thread of a runtime.
fn block_on<T: Send + 'static>(
    handle: &tokio::runtime::Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let (done, result) = std::sync::mpsc::sync_channel(1);
    handle.spawn(async move {
        // Fails only if the caller is gone.
        let _ = done.send(work.await);
    });
    result.recv().expect("the runtime lives as long as the caller")
}
