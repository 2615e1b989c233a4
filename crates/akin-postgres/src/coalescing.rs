//! Requests that wait at the same time share a call: a call costs the database five times as much
//! processor time for one document as for each of 64.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use akin_engine::backend::BackendError;
use parking_lot::Mutex;
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
    /// Requests that are read by calls without an answer yet.
    in_flight: AtomicUsize,
}

pub(crate) struct Request<A, B> {
    pub asked: A,
    answer: oneshot::Sender<Result<B, BackendError>>,
}

/// Rows that requests read together. A call reads as many of each key as the widest of its
/// requests.
#[derive(Clone, Copy, Default)]
pub(crate) struct Weight {
    pub keys: usize,
    pub of_key: usize,
    /// Rows that no key leads to.
    pub others: usize,
}

/// A request that reads, and is answered by a call together with others.
pub(crate) trait ReadRequest: Send + Sync + Sized + 'static {
    type Answer: Send + 'static;

    /// Rows that it may read, about.
    fn weight(&self) -> Weight;

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
        Arc::new(Self {
            queue: Mutex::default(),
            added: Notify::new(),
            in_flight: AtomicUsize::new(0),
        })
    }

    pub fn push(&self, asked: A) -> Answer<B> {
        self.push_all([asked]).remove(0)
    }

    /// The requests wait before the call returns, in this order, and are seen together.
    pub fn push_all(&self, asked: impl IntoIterator<Item = A>) -> Vec<Answer<B>> {
        let mut queue = self.queue.lock();
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
            // Requests whose bodies have been received join the waiting requests.
            yield_now().await;
            let taken = select(&mut self.queue.lock());
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
}

impl<A: ReadRequest> WaitingRequests<A, A::Answer> {
    /// Waits for as many requests as are in flight, and takes as many as one call may answer. So
    /// few requests share a call rather than take a call each at the same time, and a long call
    /// keeps no more requests waiting than it answers.
    pub async fn next_read(&self) -> Vec<Request<A, A::Answer>> {
        let select = |queue: &mut VecDeque<_>| {
            if queue.len() < self.in_flight.load(Ordering::Relaxed) {
                return Vec::new();
            }
            let taken = first(queue);
            self.in_flight.fetch_add(taken.len(), Ordering::Relaxed);
            taken
        };
        self.next(select).await
    }

    /// Ends a call of so many requests.
    pub fn end_read(&self, requests: usize) {
        self.in_flight.fetch_sub(requests, Ordering::Relaxed);
        self.wake();
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

impl Weight {
    fn with(self, other: Self) -> Self {
        Self {
            keys: self.keys + other.keys,
            of_key: self.of_key.max(other.of_key),
            others: self.others + other.others,
        }
    }

    /// With the weight of a further request, if a call may answer it, too.
    pub fn with_next(self, next: Self) -> Option<Self> {
        let with = self.with(next);
        (self.rows() == 0 || with.rows() <= READ_MAX).then_some(with)
    }

    fn rows(self) -> usize {
        self.keys.saturating_mul(self.of_key).saturating_add(self.others)
    }
}

/// The requests that wait longest, as many as one call may answer.
fn first<A: ReadRequest>(
    queue: &mut VecDeque<Request<A, A::Answer>>,
) -> Vec<Request<A, A::Answer>> {
    let (mut taken, mut weight) = (Vec::new(), Weight::default());
    while taken.len() < TOGETHER_MAX
        && let Some(request) = queue.pop_front()
    {
        if !request.is_wanted() {
            continue;
        }
        let Some(with) = weight.with_next(request.asked.weight()) else {
            queue.push_front(request);
            break;
        };
        weight = with;
        taken.push(request);
    }
    taken
}

/// The answer, or the error if the server is stopping.
pub(crate) async fn answered<B>(answer: Answer<B>) -> Result<B, BackendError> {
    answer.await.unwrap_or(Err(BackendError::Closed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys, and rows of each.
    struct Asked(usize, usize);

    impl ReadRequest for Asked {
        type Answer = ();

        fn weight(&self) -> Weight {
            Weight { keys: self.0, of_key: self.1, others: 0 }
        }

        async fn read(
            _: &DatabaseConnection,
            _: &[Request<Self, ()>],
        ) -> Result<Vec<()>, BackendError> {
            unreachable!("nothing is read")
        }
    }

    /// The numbers of requests in the calls that answer them.
    fn calls(asked: impl IntoIterator<Item = Asked>) -> Vec<usize> {
        let waiting = WaitingRequests::new();
        let _answers = waiting.push_all(asked);
        let calls = std::iter::repeat_with(|| first(&mut waiting.queue.lock()).len());
        calls.take_while(|requests| *requests > 0).collect()
    }

    #[test]
    fn a_call_reads_a_limited_number_of_rows() {
        let narrow = || (0..40).map(|_| Asked(32, 10));
        assert_eq!(calls(narrow()), [40]);
        // The wide request would make the call read as many rows of the keys of the others.
        assert_eq!(calls(narrow().chain([Asked(32, 2_000)])), [40, 1]);
        assert_eq!(calls([Asked(32, 2_000)].into_iter().chain(narrow())), [1, 40]);
        assert_eq!(calls([Asked(32, 1_000), Asked(32, 10), Asked(32, 10)]), [2, 1]);
        assert_eq!(calls([Asked(READ_MAX, 2), Asked(1, 1)]), [1, 1], "more than a call reads");
        assert_eq!(calls([Asked(1, 1), Asked(READ_MAX, 2)]), [1, 1], "more than a call reads");
    }

    /// Few requests would take a call each; a call that takes long must not delay many.
    #[tokio::test]
    async fn requests_wait_for_as_many_as_are_in_flight() {
        let waiting = WaitingRequests::new();
        let asked = |requests| (0..requests).map(|_| Asked(1, 1));
        let _first = waiting.push_all(asked(3));
        assert_eq!(waiting.next_read().await.len(), 3);
        let _few = waiting.push_all(asked(2));
        let next = || {
            let waiting = Arc::clone(&waiting);
            tokio::spawn(async move { waiting.next_read().await.len() })
        };
        let taken = next();
        for _ in 0..10 {
            yield_now().await;
        }
        let _third = waiting.push_all(asked(1));
        assert_eq!(taken.await.unwrap(), 3);
        let _last = waiting.push_all(asked(1));
        let taken = next();
        waiting.end_read(6);
        assert_eq!(taken.await.unwrap(), 1);
    }
}
