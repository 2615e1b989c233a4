//! From the thread that finds to whoever reads.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::mpsc;

use super::Batch;
use crate::engine::EngineError;
use crate::join::Progress;

/// What is given at once, if there is as much.
const BATCH_MAX: usize = 256;

pub(in crate::engine) enum Message<T> {
    Found(T),
    /// The last. Without it, what was found is not all there is.
    End(Result<(), EngineError>),
}

struct Reading<T> {
    messages: mpsc::Receiver<Message<T>>,
    ended: bool,
    _stop: StopWhenDropped,
}

struct StopWhenDropped(Arc<Progress>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops the work when it is dropped.
pub(in crate::engine) fn of<T: Send + 'static>(
    messages: mpsc::Receiver<Message<T>>,
    progress: Arc<Progress>,
) -> BoxStream<'static, Batch<T>> {
    let reading = Reading { messages, ended: false, _stop: StopWhenDropped(progress) };
    // Whoever compresses a stream asks it once more after its end.
    stream::unfold(reading, next).fuse().boxed()
}

async fn next<T>(mut reading: Reading<T>) -> Option<(Batch<T>, Reading<T>)> {
    if reading.ended {
        return None;
    }
    let mut messages = Vec::new();
    let mut batch = Vec::new();
    if reading.messages.recv_many(&mut messages, BATCH_MAX).await == 0 {
        reading.ended = true;
        let reason = "a discovery panicked, see the log".to_owned();
        return Some((Err(EngineError::Store { reason }), reading));
    }
    for message in messages {
        match message {
            Message::Found(found) => batch.push(found),
            Message::End(Ok(())) => reading.ended = true,
            Message::End(Err(error)) => {
                reading.ended = true;
                return Some((Err(error), reading));
            }
        }
    }
    let nothing = batch.is_empty();
    (!nothing).then_some((Ok(batch), reading))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(messages: Vec<Message<u32>>) -> (BoxStream<'static, Batch<u32>>, Arc<Progress>) {
        let (sender, receiver) = mpsc::channel(messages.len().max(1));
        for message in messages {
            assert!(sender.try_send(message).is_ok());
        }
        let progress = Arc::new(Progress::default());
        (of(receiver, Arc::clone(&progress)), progress)
    }

    #[tokio::test]
    async fn what_is_there_comes_at_once_and_the_end_is_the_end() {
        let found = (0..300).map(Message::Found).chain([Message::End(Ok(()))]).collect();
        let (mut stream, _) = stream(found);
        assert_eq!(stream.next().await.unwrap().unwrap().len(), BATCH_MAX);
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 300 - BATCH_MAX);
        assert!(stream.next().await.is_none());
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn without_an_end_it_is_not_whole() {
        for end in [None, Some(Message::End(Err(EngineError::Closed)))] {
            let (stream, _) = stream([Message::Found(1)].into_iter().chain(end).collect());
            let batches: Vec<_> = stream.collect().await;
            assert!(batches.last().unwrap().is_err(), "{batches:?}");
        }
    }

    #[test]
    fn whoever_drops_it_stops_the_work() {
        let (stream, progress) = stream(Vec::new());
        assert!(progress.go_on().is_ok());
        drop(stream);
        assert!(progress.go_on().is_err());
    }
}
