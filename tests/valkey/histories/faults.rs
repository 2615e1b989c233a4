//! What fails in the midst of a round, and is whole again before its end.

use std::sync::RwLock;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::SETTINGS;
use super::round::Round;
use crate::numbers::Numbers;
use crate::servers::Servers;
use crate::valkey_nodes::{Link, Valkey, poll};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A replica becomes the master in agreement with the master.
    Promote,
    KillMaster,
    /// The master is killed after its replica has not received its writes for a while.
    KillMasterUnreplicated,
    /// Too short for the replica to take its place.
    PauseMaster,
    /// It goes on after its replica has taken its place.
    PauseMasterUntilReplaced,
    MoveSlots,
    /// Servers do not reach a master, which the other nodes reach.
    RefuseServers,
    SilenceServers,
    KillServer,
}

const MOVED_SLOTS: usize = 16;

/// How many calls a cut link costs before it is opened again.
const REFUSALS: usize = 6;

/// How long a node is paused at most, if it is not to be replaced.
const PAUSE_MAX_MS: usize = 400;

pub struct Faults<'g> {
    pub valkey: &'g Valkey,
    pub servers: &'g RwLock<Servers>,
}

impl Fault {
    /// Whether a master may be replaced that has writes which its replica does not have.
    pub fn may_lose_writes(self) -> bool {
        use Fault::{KillMaster, KillMasterUnreplicated, PauseMaster, PauseMasterUntilReplaced};
        let faults = [KillMaster, KillMasterUnreplicated, PauseMaster, PauseMasterUntilReplaced];
        faults.contains(&self)
    }

    pub const ALL: [Self; 9] = [
        Self::Promote,
        Self::KillMaster,
        Self::KillMasterUnreplicated,
        Self::PauseMaster,
        Self::PauseMasterUntilReplaced,
        Self::MoveSlots,
        Self::RefuseServers,
        Self::SilenceServers,
        Self::KillServer,
    ];
}

impl Faults<'_> {
    /// Waits until the clients are in the midst of the round, and until all is whole again.
    pub fn inject(&self, fault: Fault, round: &Round, numbers: &mut Numbers) {
        let percent = 5 + numbers.below(40);
        poll("the clients go on", || round.is_past(percent));
        let masters = self.valkey.master_numbers();
        let master = numbers.pick(&masters);
        let node = &self.valkey.nodes[master];
        match fault {
            Fault::Promote => self.valkey.promote(self.valkey.partner(master)),
            Fault::KillMaster => self.valkey.kill_until_replaced(master),
            Fault::KillMasterUnreplicated => {
                self.valkey.cut_replication(master, Link::Refused);
                Self::await_refusals(round);
                self.valkey.kill_until_replaced(master);
                self.valkey.cut_replication(master, Link::Open);
            }
            Fault::PauseMaster => {
                node.pause();
                thread::sleep(Duration::from_millis(numbers.below(PAUSE_MAX_MS) as u64));
                node.resume();
            }
            Fault::PauseMasterUntilReplaced => self.valkey.pause_until_replaced(master),
            Fault::MoveSlots => self.move_slots(&masters, numbers),
            Fault::RefuseServers => self.cut(master, Link::Refused, round),
            Fault::SilenceServers => self.cut(master, Link::Silent, round),
            Fault::KillServer => self.kill_server(numbers),
        }
        self.valkey.await_whole();
    }

    fn cut(&self, master: usize, link: Link, round: &Round) {
        self.valkey.cut(master, link);
        Self::await_refusals(round);
        self.valkey.cut(master, Link::Open);
    }

    /// Waits until calls are refused, or the clients have done all.
    fn await_refusals(round: &Round) {
        let refused = || round.refused.load(Ordering::Relaxed);
        let enough = refused() + REFUSALS;
        poll("calls are refused", || refused() >= enough || round.is_past(100));
    }

    /// Moves slots that have keys.
    fn move_slots(&self, masters: &[usize], numbers: &mut Numbers) {
        for _ in 0..MOVED_SLOTS {
            let from = numbers.pick(masters);
            let others: Vec<_> = masters.iter().copied().filter(|to| *to != from).collect();
            self.valkey.migrate_any(from, numbers.pick(&others));
        }
    }

    fn kill_server(&self, numbers: &mut Numbers) {
        let number = numbers.below(super::SERVERS);
        self.servers.write().unwrap().kill(number);
        let again = self.servers.read().unwrap().start_again(self.valkey, number, &SETTINGS);
        self.servers.write().unwrap().replace(number, again);
    }
}
