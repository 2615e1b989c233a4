//! The open connections, and which of them has been idle for longest.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;

/// In place of a moment: a request is being answered.
const BUSY: u64 = u64::MAX;

/// Of the connections, this share is closed at a time once there is no room: looking at all of them
/// for each new one would take too long.
const CLOSED_SHARE: usize = 256;

/// All open connections. Moments are numbers that only order events.
#[derive(Default)]
pub struct OpenConnections {
    by_number: Mutex<HashMap<u64, Arc<Activity>>>,
    clock: AtomicU64,
}

/// What one connection is doing.
pub struct Activity {
    idle_since: AtomicU64,
    is_closing: AtomicBool,
    /// It is one of the reserve, and leaves no room for others but those.
    is_reserve: bool,
    /// Told when the connection is to close.
    close: Notify,
}

/// A connection that is open as long as this is there.
pub struct Opened {
    all: Arc<OpenConnections>,
    number: u64,
    activity: Arc<Activity>,
}

impl OpenConnections {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// A new connection, idle until its first request is read.
    pub fn open(self: &Arc<Self>, is_reserve: bool) -> Opened {
        let number = self.now();
        let activity = Arc::new(Activity {
            idle_since: AtomicU64::new(number),
            is_closing: AtomicBool::new(false),
            is_reserve,
            close: Notify::new(),
        });
        let mut all = self.by_number.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(number, Arc::clone(&activity));
        drop(all);
        Opened { all: Arc::clone(self), number, activity }
    }

    /// Closes the connections that have been idle for longest: those of the reserve only if no
    /// other is idle. Says whether one is closing that is not of the reserve.
    pub fn close_idle(&self) -> bool {
        let all = self.by_number.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = all.values().filter_map(|activity| Some((activity.idle_since()?, activity)));
        let (reserve, others): (Vec<_>, Vec<_>) =
            idle.partition(|(_, activity)| activity.is_reserve);
        let leaves_room = !others.is_empty();
        let mut idle = if leaves_room { others } else { reserve };
        let is_one_closing =
            idle.iter().any(|(_, activity)| activity.is_closing.load(Ordering::Relaxed));
        let count = idle.len().min(1 + all.len() / CLOSED_SHARE);
        if is_one_closing || count == 0 {
            return leaves_room;
        }
        idle.select_nth_unstable_by_key(count - 1, |(since, _)| *since);
        for (_, activity) in &idle[..count] {
            activity.is_closing.store(true, Ordering::Relaxed);
            activity.close.notify_one();
        }
        leaves_room
    }
}

impl Activity {
    fn idle_since(&self) -> Option<u64> {
        Some(self.idle_since.load(Ordering::Relaxed)).filter(|since| *since != BUSY)
    }
}

impl Opened {
    pub fn is_idle(&self) -> bool {
        self.activity.idle_since().is_some()
    }

    /// Waits until the connection is to close to make room for another.
    pub async fn closing(&self) {
        self.activity.close.notified().await;
    }

    /// A request of the connection, which is busy until the last byte of the answer is taken.
    pub fn request(&self) -> Busy {
        self.activity.idle_since.store(BUSY, Ordering::Relaxed);
        Busy { all: Arc::clone(&self.all), activity: Arc::clone(&self.activity) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut all = self.all.by_number.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.number);
    }
}

/// A request that is being answered.
pub struct Busy {
    all: Arc<OpenConnections>,
    activity: Arc<Activity>,
}

impl Busy {
    /// The body of the answer, until whose end the connection is busy.
    pub fn until_the_end_of(self, body: Body) -> AnswerBody {
        AnswerBody { body, _busy: self }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.activity.idle_since.store(self.all.now(), Ordering::Relaxed);
    }
}

/// The body of an answer.
pub struct AnswerBody {
    body: Body,
    _busy: Busy,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_closing(opened: &Opened) -> bool {
        opened.activity.is_closing.load(Ordering::Relaxed)
    }

    #[test]
    fn the_connection_that_is_idle_for_longest_closes_first() {
        let all = Arc::<OpenConnections>::default();
        assert!(!all.close_idle());
        let connections = [(); 3].map(|()| all.open(false));
        let busy = connections[0].request();
        drop(connections[1].request());
        assert!(all.close_idle());
        assert_eq!(connections.each_ref().map(is_closing), [false, false, true]);
        assert!(all.close_idle(), "it is still closing");
        assert_eq!(connections.each_ref().map(is_closing), [false, false, true]);
        let [first, second, third] = connections;
        drop(third);
        assert!(all.close_idle() && is_closing(&second));
        drop(second);
        assert!(!all.close_idle(), "the other is busy");
        drop(busy);
        assert!(all.close_idle() && is_closing(&first));
    }

    #[test]
    fn the_reserve_leaves_no_room_for_others() {
        let all = Arc::<OpenConnections>::default();
        let (reserve, other) = (all.open(true), all.open(false));
        assert!(all.close_idle() && is_closing(&other) && !is_closing(&reserve));
        drop(other);
        assert!(!all.close_idle() && is_closing(&reserve));
    }

    #[test]
    fn many_close_at_once_where_there_are_many() {
        let all = Arc::<OpenConnections>::default();
        let connections: Vec<_> = (0..512).map(|_| all.open(false)).collect();
        assert!(all.close_idle());
        let closing: Vec<_> = connections.iter().map(is_closing).collect();
        assert!(closing[..3].iter().all(|is| *is) && !closing[3..].contains(&true));
    }
}
