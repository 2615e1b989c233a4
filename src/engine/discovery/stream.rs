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

pub(super) enum Message<T> {
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
pub(super) fn of<T: Send + 'static>(
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
