//! The open connections, and which of them has been idle for longest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::http::access::ConnectionRoom;

/// Stands for a moment while a request is being answered.
const BUSY: u64 = u64::MAX;

/// The share of the connections that is closed at a time once there is no room: a search of all
/// connections for each new connection would take too long, and closing takes a moment, in which as
/// many clients may have come.
const CLOSED_SHARE: usize = 8;

/// All open connections. Moments are numbers that only order events.
pub struct OpenConnections {
    all: Mutex<All>,
    clock: AtomicU64,
    /// The connections of one network, and the connections beyond its share, which serve probes or
    /// are closing.
    share: usize,
    reserve: usize,
}

#[derive(Default)]
struct All {
    by_number: HashMap<u64, Arc<Activity>>,
    /// Has no networks without a connection.
    by_network: HashMap<IpAddr, Count>,
}

/// The connections of a network.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    open: usize,
    reserve: usize,
}

/// The activity of a connection.
pub struct Activity {
    idle_since: AtomicU64,
    is_closing: AtomicBool,
    network: IpAddr,
    room: ConnectionRoom,
    /// Notified when the connection is to close.
    close: Notify,
}

/// A connection that is open as long as this is there.
pub struct Opened {
    all: Arc<OpenConnections>,
    number: u64,
    activity: Arc<Activity>,
}

impl OpenConnections {
    /// `share`: of one network; `reserve`: beyond it.
    pub fn new(share: usize, reserve: usize) -> Arc<Self> {
        let (all, clock) = (Mutex::default(), AtomicU64::default());
        Arc::new(Self { all, clock, share, reserve })
    }

    /// Accepts a connection; `None` if its network has its share of connections and of probes.
    pub fn accept(self: &Arc<Self>, network: IpAddr, is_full: bool) -> Option<Opened> {
        let Count { open, reserve } = self.count(network);
        let room = if open < self.share {
            match is_full && !self.close_idle() {
                true => ConnectionRoom::AllAreBusy,
                false => ConnectionRoom::Open,
            }
        } else if open < self.share.saturating_add(self.reserve) && self.close_idle_of(network) {
            ConnectionRoom::Open
        } else if reserve < self.reserve {
            ConnectionRoom::ShareIsTaken
        } else {
            return None;
        };
        Some(self.open(network, room))
    }

    fn count(&self, network: IpAddr) -> Count {
        self.all.lock().by_network.get(&network).copied().unwrap_or_default()
    }

    /// Closes the connection of the network that has been idle for longest. Returns whether the
    /// network had an idle connection.
    fn close_idle_of(&self, network: IpAddr) -> bool {
        let all = self.all.lock();
        let of_network = all.by_number.values().filter(|activity| {
            activity.network == network
                && activity.room == ConnectionRoom::Open
                && !activity.is_closing.load(Ordering::Relaxed)
        });
        let idle = of_network.filter_map(|activity| Some((activity.idle_since()?, activity)));
        let Some((_, longest)) = idle.min_by_key(|(since, _)| *since) else { return false };
        longest.close();
        true
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// A new connection, idle until its first request is read.
    fn open(self: &Arc<Self>, network: IpAddr, room: ConnectionRoom) -> Opened {
        let number = self.now();
        let activity = Arc::new(Activity {
            idle_since: AtomicU64::new(number),
            is_closing: AtomicBool::new(false),
            network,
            room,
            close: Notify::new(),
        });
        let mut all = self.all.lock();
        all.by_number.insert(number, Arc::clone(&activity));
        *all.by_network.entry(network).or_default().of(room) += 1;
        drop(all);
        Opened { all: Arc::clone(self), number, activity }
    }

    /// Closes the connections that have been idle for longest; connections of the reserve only if
    /// no other connection is idle. Returns whether a connection outside the reserve is closing.
    pub fn close_idle(&self) -> bool {
        let all = self.all.lock();
        let all = &all.by_number;
        let idle = all.values().filter_map(|activity| Some((activity.idle_since()?, activity)));
        let (others, reserve): (Vec<_>, Vec<_>) =
            idle.partition(|(_, activity)| activity.room == ConnectionRoom::Open);
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
            activity.close();
        }
        leaves_room
    }
}

impl Count {
    fn of(&mut self, room: ConnectionRoom) -> &mut usize {
        match room {
            ConnectionRoom::Open => &mut self.open,
            ConnectionRoom::AllAreBusy | ConnectionRoom::ShareIsTaken => &mut self.reserve,
        }
    }
}

impl Activity {
    fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.close.notify_one();
    }

    fn idle_since(&self) -> Option<u64> {
        Some(self.idle_since.load(Ordering::Relaxed)).filter(|since| *since != BUSY)
    }
}

impl Opened {
    pub fn room(&self) -> ConnectionRoom {
        self.activity.room
    }

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
        let Activity { network, room, .. } = *self.activity;
        let mut all = self.all.all.lock();
        all.by_number.remove(&self.number);
        let count = all.by_network.get_mut(&network).expect("whoever is open is counted");
        *count.of(room) -= 1;
        if *count == Count::default() {
            all.by_network.remove(&network);
        }
    }
}

/// A request that is being answered.
pub struct Busy {
    all: Arc<OpenConnections>,
    activity: Arc<Activity>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.activity.idle_since.store(self.all.now(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

    fn is_closing(opened: &Opened) -> bool {
        opened.activity.is_closing.load(Ordering::Relaxed)
    }

    #[test]
    fn the_connection_that_is_idle_for_longest_closes_first() {
        let all = OpenConnections::new(usize::MAX, 1);
        assert!(!all.close_idle());
        let connections = [(); 3].map(|()| all.open(NETWORK, ConnectionRoom::Open));
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
        let all = OpenConnections::new(usize::MAX, 1);
        let (reserve, other) = (
            all.open(NETWORK, ConnectionRoom::AllAreBusy),
            all.open(NETWORK, ConnectionRoom::Open),
        );
        assert!(all.close_idle() && is_closing(&other) && !is_closing(&reserve));
        drop(other);
        assert!(!all.close_idle() && is_closing(&reserve));
    }

    #[test]
    fn many_close_at_once_where_there_are_many() {
        let all = OpenConnections::new(usize::MAX, 1);
        let connections: Vec<_> =
            (0..16).map(|_| all.open(NETWORK, ConnectionRoom::Open)).collect();
        assert!(all.close_idle());
        let closing: Vec<_> = connections.iter().map(is_closing).collect();
        assert!(closing[..3].iter().all(|is| *is) && !closing[3..].contains(&true));
    }

    #[test]
    fn a_network_has_its_share_and_one_probe() {
        let all = OpenConnections::new(2, 1);
        let room = |network| all.accept(network, false).map(|opened| (opened.room(), opened));
        let (_, first) = room(NETWORK).unwrap();
        let (_, second) = room(NETWORK).unwrap();
        let (third_room, third) = room(NETWORK).unwrap();
        assert!(
            third_room == ConnectionRoom::Open && is_closing(&first),
            "it was idle for longest"
        );
        let busy = [second.request(), third.request()];
        drop(first);
        let (fourth_room, fourth) = room(NETWORK).unwrap();
        assert_eq!(fourth_room, ConnectionRoom::ShareIsTaken);
        assert!(room(NETWORK).is_none(), "there is a probe already");
        assert_eq!(room(OTHER).unwrap().0, ConnectionRoom::Open);
        drop((busy, fourth));
        assert_eq!(room(NETWORK).unwrap().0, ConnectionRoom::Open, "one is idle again");
        drop((second, third));
        assert!(all.all.lock().by_network.is_empty(), "who has none takes no memory");
    }
}
