//! The stream that passes results from the working thread to the reader.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};

use super::{Batch, DiscoveryGuard};
use crate::backend::BackendError;
use crate::engine::EngineError;
use akin_core::join::{JoinProgress, Stopped};

/// Pairs or parts of clusters buffered for the reader.
const FOUND_AHEAD: usize = 1_024;

/// The most results in a batch.
const BATCH_MAX: usize = 256;

enum Message<T> {
    Found(T),
    /// The last message. Without it, the results are incomplete.
    End(Result<(), EngineError>),
}

struct StreamState<T> {
    messages: mpsc::Receiver<Message<T>>,
    ended: bool,
    _stop: StopWhenDropped,
}

struct StopWhenDropped(Arc<JoinProgress>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The sender of a discovery's results and the stream of their batches.
pub(crate) fn of_discovery<T: Send + 'static>(
    running: &DiscoveryGuard,
) -> (FoundSender<T>, BoxStream<'static, Batch<T>>) {
    let (sender, messages) = mpsc::channel(FOUND_AHEAD);
    let found = FoundSender { sender, closed: Arc::clone(running.closed()) };
    (found, of(messages, Arc::clone(running.progress())))
}

/// Sends results to the stream.
pub(crate) struct FoundSender<T> {
    sender: mpsc::Sender<Message<T>>,
    /// Is notified when the engine is closed.
    closed: Arc<Notify>,
}

impl<T> FoundSender<T> {
    /// Waits until there is room.
    ///
    /// # Errors
    /// [`Stopped`]: the stream was dropped, or the engine is closed.
    pub async fn send(&self, found: T) -> Result<(), Stopped> {
        tokio::select! {
            sent = self.sender.send(Message::Found(found)) => sent.map_err(|_| Stopped),
            () = self.closed.notified() => Err(Stopped),
        }
    }

    /// [`FoundSender::send`] on a thread that may wait.
    pub fn blocking_send(&self, found: T) -> Result<(), Stopped> {
        match self.sender.try_reserve() {
            Ok(place) => {
                place.send(Message::Found(found));
                Ok(())
            }
            Err(_) => Handle::current().block_on(self.send(found)),
        }
    }

    /// Ends the stream.
    pub async fn end(self, ended: Result<(), EngineError>) {
        // Fails only if the stream was dropped.
        let _ = self.sender.send(Message::End(ended)).await;
    }
}

/// The stream of batches. Dropping it stops the work.
fn of<T: Send + 'static>(
    messages: mpsc::Receiver<Message<T>>,
    progress: Arc<JoinProgress>,
) -> BoxStream<'static, Batch<T>> {
    let state = StreamState { messages, ended: false, _stop: StopWhenDropped(progress) };
    // Fused, as a compressing body polls the stream once more after its end.
    stream::unfold(state, next).fuse().boxed()
}

async fn next<T>(mut state: StreamState<T>) -> Option<(Batch<T>, StreamState<T>)> {
    if state.ended {
        return None;
    }
    let mut messages = Vec::new();
    let mut batch = Vec::new();
    if state.messages.recv_many(&mut messages, BATCH_MAX).await == 0 {
        state.ended = true;
        let reason = "a discovery panicked, see the log".to_owned();
        return Some((Err(BackendError::Store { reason }.into()), state));
    }
    for message in messages {
        match message {
            Message::Found(found) => batch.push(found),
            Message::End(Ok(())) => state.ended = true,
            Message::End(Err(error)) => {
                state.ended = true;
                return Some((Err(error), state));
            }
        }
    }
    let nothing = batch.is_empty();
    (!nothing).then_some((Ok(batch), state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(messages: Vec<Message<u32>>) -> (BoxStream<'static, Batch<u32>>, Arc<JoinProgress>) {
        let (sender, receiver) = mpsc::channel(messages.len().max(1));
        for message in messages {
            assert!(sender.try_send(message).is_ok());
        }
        let progress = Arc::new(JoinProgress::default());
        (of(receiver, Arc::clone(&progress)), progress)
    }

    #[tokio::test]
    async fn found_items_come_in_batches_until_the_end() {
        let found = (0..300).map(Message::Found).chain([Message::End(Ok(()))]).collect();
        let (mut stream, _) = stream(found);
        assert_eq!(stream.next().await.unwrap().unwrap().len(), BATCH_MAX);
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 300 - BATCH_MAX);
        assert!(stream.next().await.is_none());
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn without_an_end_the_stream_fails() {
        for end in [None, Some(Message::End(Err(EngineError::Backend(BackendError::Closed))))] {
            let (stream, _) = stream([Message::Found(1)].into_iter().chain(end).collect());
            let batches: Vec<_> = stream.collect().await;
            assert!(batches.last().unwrap().is_err(), "{batches:?}");
        }
    }

    #[test]
    fn dropping_the_stream_stops_the_work() {
        let (stream, progress) = stream(Vec::new());
        assert!(progress.go_on().is_ok());
        drop(stream);
        assert!(progress.go_on().is_err());
    }
}
