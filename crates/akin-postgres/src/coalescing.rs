//! Requests that wait at the same time share a call: a call costs the database five times as much
//! processor time for one document as for each of 64.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use akin_engine::backend::BackendError;
use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;

use crate::database::DatabaseConnection;

/// Requests in a call.
pub(crate) const TOGETHER_MAX: usize = 64;

/// Rows that a call reads, at most, unless a single request reads more: some megabytes of sketches.
pub(crate) const READ_MAX: usize = 65_536;

/// Requests that wait, with where each answer goes.
pub(crate) struct WaitingRequests<A, B> {
    queue: Mutex<VecDeque<Request<A, B>>>,
    added: Notify,
}

pub(crate) struct Request<A, B> {
    pub asked: A,
    answer: oneshot::Sender<Result<B, BackendError>>,
}

/// A request that reads, and is answered by a call together with others.
pub(crate) trait ReadRequest: Send + Sync + Sized + 'static {
    type Answer: Send + 'static;

    /// Rows that it may read, about.
    fn weight(&self) -> usize;

    /// The answers, in the order of the requests.
    fn read(
        connection: &DatabaseConnection,
        requests: &[Request<Self, Self::Answer>],
    ) -> impl Future<Output = Result<Vec<Self::Answer>, BackendError>> + Send;
}

/// An answer to come.
pub(crate) type Answer<B> = oneshot::Receiver<Result<B, BackendError>>;

impl<A, B> WaitingRequests<A, B> {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { queue: Mutex::default(), added: Notify::new() })
    }

    pub fn push(&self, asked: A) -> Answer<B> {
        self.push_all([asked]).remove(0)
    }

    /// The requests wait before the call returns, in this order, and are seen together.
    pub fn push_all(&self, asked: impl IntoIterator<Item = A>) -> Vec<Answer<B>> {
        let mut queue = self.queue();
        let push = |asked| {
            let (answer, receiver) = oneshot::channel();
            queue.push_back(Request { asked, answer });
            receiver
        };
        let answers = asked.into_iter().map(push).collect();
        self.added.notify_one();
        answers
    }

    /// Waits for requests, and takes the requests that `select` takes of the queue.
    pub async fn next(
        &self,
        select: impl Fn(&mut VecDeque<Request<A, B>>) -> Vec<Request<A, B>>,
    ) -> Vec<Request<A, B>> {
        loop {
            let added = self.added.notified();
            // Requests whose bodies have been received join those that wait.
            yield_now().await;
            let taken = select(&mut self.queue());
            if !taken.is_empty() {
                // Another connection looks whether there is more.
                self.added.notify_one();
                return taken;
            }
            added.await;
        }
    }

    /// Looks at the queue again, as requests that could not be taken may be taken now.
    pub fn wake(&self) {
        self.added.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Request<A, B>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A, B> Request<A, B> {
    /// Whether somebody waits for the answer.
    pub fn is_wanted(&self) -> bool {
        !self.answer.is_closed()
    }

    pub fn answer(self, answer: Result<B, BackendError>) {
        // Sent in vain if nobody waits any more.
        let _ = self.answer.send(answer);
    }
}

/// The requests that wait longest, until their weights reach a limit.
pub(crate) fn first<A: ReadRequest>(
    queue: &mut VecDeque<Request<A, A::Answer>>,
) -> Vec<Request<A, A::Answer>> {
    let (mut taken, mut weights) = (Vec::new(), 0);
    while taken.len() < TOGETHER_MAX
        && weights < READ_MAX
        && let Some(request) = queue.pop_front()
    {
        weights += request.asked.weight();
        taken.extend(Some(request).filter(Request::is_wanted));
    }
    taken
}

/// The answer, or the error if the server is stopping.
pub(crate) async fn answered<B>(answer: Answer<B>) -> Result<B, BackendError> {
    answer.await.unwrap_or(Err(BackendError::Closed))
}
