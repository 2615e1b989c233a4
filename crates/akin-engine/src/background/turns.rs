//! Permits that clients take in turns: a request of one client waits for at most one request of
//! each other client before it, however many requests the other clients have sent.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// A client: its requests share a queue. Work on behalf of no client has the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClientId(pub u64);

tokio::task_local! {
    static CLIENT: ClientId;
}

/// The client of the current task.
#[must_use]
pub fn current() -> ClientId {
    CLIENT.try_with(|client| *client).unwrap_or_default()
}

/// Works on behalf of a client.
pub async fn on_behalf_of<F: Future>(client: ClientId, work: F) -> F::Output {
    CLIENT.scope(client, work).await
}

/// A number of permits, with a queue for each client that waits for one.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<TurnState>,
}

#[derive(Debug)]
struct TurnState {
    free: usize,
    /// The client with the next turn first. None is empty.
    queues: VecDeque<TurnQueue>,
}

#[derive(Debug)]
struct TurnQueue {
    client: ClientId,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

/// A permit, given to the next client when it is dropped.
#[derive(Debug)]
pub struct Turn {
    /// `None` once the permit was passed on.
    turns: Option<Arc<Turns>>,
}

impl Turns {
    #[must_use]
    pub fn new(permits: usize) -> Arc<Self> {
        let state = TurnState { free: permits, queues: VecDeque::new() };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Waits for a permit in the queue of the current task's client. Dropping the future leaves the
    /// queue.
    pub async fn take(self: &Arc<Self>) -> Turn {
        let queued = {
            let mut state = self.state.lock();
            if state.free > 0 {
                state.free -= 1;
                return Turn { turns: Some(Arc::clone(self)) };
            }
            state.enqueue(current())
        };
        queued.await.expect("a queue is dropped only with its permits, of which `self` has all")
    }

    fn pass_on(self: Arc<Self>) {
        let mut turn = Turn { turns: Some(Arc::clone(&self)) };
        loop {
            let next = self.state.lock().next();
            let Some(next) = next else { break };
            match next.send(turn) {
                Ok(()) => return,
                Err(unclaimed) => turn = unclaimed,
            }
        }
        turn.turns = None;
    }
}

impl TurnState {
    fn enqueue(&mut self, client: ClientId) -> oneshot::Receiver<Turn> {
        let (sender, queued) = oneshot::channel();
        let Some(queue) = self.queues.iter_mut().find(|queue| queue.client == client) else {
            self.queues.push_back(TurnQueue { client, waiting: VecDeque::from([sender]) });
            return queued;
        };
        // Requests that have timed out take no memory.
        queue.waiting.retain(|waiting| !waiting.is_closed());
        queue.waiting.push_back(sender);
        queued
    }

    /// The first waiting request of the client that has its turn. Without a waiting request the
    /// permit is free.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let Some(mut queue) = self.queues.pop_front() else {
            self.free += 1;
            return None;
        };
        let next = queue.waiting.pop_front();
        if !queue.waiting.is_empty() {
            self.queues.push_back(queue);
        }
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;

    /// A request of a client that waits.
    fn queued(turns: &Arc<Turns>, client: u64) -> BoxFuture<'static, Turn> {
        let turns = Arc::clone(turns);
        let take = async move { turns.take().await };
        let mut waiting = on_behalf_of(ClientId(client), take).boxed();
        assert!((&mut waiting).now_or_never().is_none());
        waiting
    }

    #[tokio::test]
    async fn clients_take_turns() {
        let turns = Turns::new(1);
        let held = turns.take().await;
        let mut many: Vec<_> = (0..60).map(|_| queued(&turns, 1)).collect();
        let mut other = queued(&turns, 2);
        drop(held);
        let first = (&mut many[0]).now_or_never().expect("client 1 was first");
        assert!((&mut other).now_or_never().is_none());
        drop(first);
        let second = other.now_or_never().expect("it is the turn of client 2");
        assert!((&mut many[1]).now_or_never().is_none());
        drop(second);
        assert!((&mut many[1]).now_or_never().is_some());
    }

    #[tokio::test]
    async fn an_abandoned_place_is_skipped() {
        let turns = Turns::new(2);
        let held = [turns.take().await, turns.take().await];
        let abandoned = queued(&turns, 1);
        let mut waiting = queued(&turns, 1);
        drop(abandoned);
        drop(held);
        let taken = (&mut waiting).now_or_never().expect("both permits are free");
        // A permit that was given to a request and never taken is free again.
        let offered = queued(&Turns::new(0), 1);
        drop(offered);
        let second = turns.take().now_or_never().expect("a second one");
        let last = queued(&turns, 3);
        drop(taken);
        drop(last);
        drop(second);
        assert_eq!(turns.state.lock().free, 2);
        assert!(turns.state.lock().queues.is_empty());
    }
}
