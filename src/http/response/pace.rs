//! The pace at which a client must read an answer that holds a view of the store open, which keeps
//! the write-ahead log from being truncated.

use std::io;
use std::task::{Poll, ready};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::Instant;

use crate::http::request::Patience;

/// The lines, until their reader has been waited for longer than `patience` allows. Only the time
/// from a line to the next that is asked for counts, not the time that the line takes to be read
/// from the store.
pub fn paced(
    mut lines: impl Stream<Item = io::Result<Bytes>> + Unpin,
    mut patience: Patience,
) -> impl Stream<Item = io::Result<Bytes>> {
    let mut sent: Option<(Instant, usize)> = None;
    let mut has_ended = false;
    stream::poll_fn(move |context| {
        if has_ended {
            return Poll::Ready(None);
        }
        if let Some((at, bytes)) = sent.take()
            && !patience.allows(at.elapsed(), bytes)
        {
            has_ended = true;
            tracing::warn!("export aborted: the client reads too slowly");
            return Poll::Ready(Some(Err(io::Error::other("the client reads too slowly"))));
        }
        let next = ready!(lines.poll_next_unpin(context));
        sent = next.as_ref().and_then(|line| Some((Instant::now(), line.as_ref().ok()?.len())));
        Poll::Ready(next)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MAX_MS: u64 = 1_000;

    /// The number of lines of 1,000 bytes, out of a hundred, that a client gets if it waits before
    /// each line; and whether the answer is whole.
    async fn read_every(wait: Duration, bytes_per_s_min: u64) -> (usize, bool) {
        let lines = (0..100).map(|_| Ok(Bytes::from(vec![0; 1_000])));
        let patience = Patience::new(MAX_MS, bytes_per_s_min);
        let mut lines = Box::pin(paced(stream::iter(lines), patience));
        let mut count = 0;
        while let Some(line) = lines.next().await {
            if line.is_err() {
                assert!(lines.next().await.is_none());
                return (count, false);
            }
            count += 1;
            tokio::time::advance(wait).await;
        }
        (count, true)
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_below_the_rate_is_waited_for_once() {
        let ms = Duration::from_millis;
        // 1,000 bytes in 100 ms are 10,000 in a second.
        assert_eq!(read_every(ms(100), 10_000).await, (100, true));
        assert_eq!(read_every(ms(200), 10_000).await, (10, false));
        assert_eq!(read_every(ms(MAX_MS + 1), 1).await, (1, false), "a pause");
        assert_eq!(read_every(ms(MAX_MS), 0).await, (100, true), "without a minimum rate");
    }
}
