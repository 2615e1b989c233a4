//! A Valkey or Redis Cluster on loopback, shared by the test crates: 3 masters and 3 replicas with
//! directories of their own, that end with the test, however it ends.
//!
//! Nodes 0, 1 and 2 begin as masters with a third of the slots each; node n + 3 begins as the
//! replica of node n.

#![allow(dead_code, reason = "each test crate uses a part of it")]

mod faults;
mod node;
mod proxy;
mod wire;

use std::thread;
use std::time::{Duration, Instant};

pub use node::Node;
pub use proxy::Link;
#[allow(unused_imports, reason = "each test crate uses a part of it")]
pub use wire::{Reply, Wire};

const SLOTS: u16 = 16_384;
pub const MASTERS: usize = 3;

/// What has not come after this time does not come.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(10);

/// How the nodes are set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clients reach each node through a proxy, so that [`Valkey::cut`] can be called.
    pub has_proxies: bool,
    pub has_replicas: bool,
    pub password: Option<String>,
    pub tls: bool,
    /// A master that does not answer for so long is replaced.
    pub node_timeout_ms: u32,
    /// Further lines of the configuration.
    pub further: Vec<(&'static str, String)>,
}

impl Default for Options {
    fn default() -> Self {
        let (password, further) = (None, Vec::new());
        let (has_proxies, has_replicas, tls, node_timeout_ms) = (false, true, false, 1_000);
        Self { has_proxies, has_replicas, password, tls, node_timeout_ms, further }
    }
}

pub struct Valkey {
    // Before the directory, which must be the last to go.
    pub nodes: Vec<Node>,
    password: Option<String>,
    _dir: tempfile::TempDir,
}

/// Waits until something is so.
///
/// # Panics
/// If it does not come.
#[track_caller]
pub fn poll(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        thread::sleep(POLL_EVERY);
    }
}

impl Valkey {
    /// # Panics
    /// If the nodes do not start, or do not find each other.
    pub fn start(options: &Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let count = if options.has_replicas { 2 * MASTERS } else { MASTERS };
        let start = |number: usize| Node::start(dir.path().join(number.to_string()), options);
        let nodes = (0..count).map(start).collect();
        let valkey = Self { nodes, password: options.password.clone(), _dir: dir };
        valkey.join();
        valkey
    }

    /// Where clients find the nodes: host and port of each.
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.announced_port())).collect()
    }

    fn join(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            let epoch = (number + 1).to_string();
            node.call(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
            if number < MASTERS {
                let bound = |part: usize| SLOTS as usize * part / MASTERS;
                let range = [bound(number), bound(number + 1) - 1].map(|slot| slot.to_string());
                node.call(&["CLUSTER", "ADDSLOTSRANGE", &range[0], &range[1]]);
            }
        }
        for node in &self.nodes[1..] {
            let port = node.announced_port().to_string();
            let bus_port = node.call(&["CONFIG", "GET", "cluster-port"]).items()[1].text();
            self.nodes[0].call(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus_port]);
        }
        let known = self.nodes.len().to_string();
        let info = ["CLUSTER", "INFO"];
        poll("every node knows every other", || {
            let knows = |node: &Node| node.try_figure(&info, "cluster_known_nodes");
            self.nodes.iter().all(|node| knows(node).as_deref() == Some(&*known))
                && self.nodes.iter().all(|node| !self.has_unfinished_handshake(node))
        });
        for (number, replica) in self.nodes.iter().enumerate().skip(MASTERS) {
            let master = self.nodes[number - MASTERS].id();
            poll("the replica knows its master", || {
                let replicate = ["CLUSTER", "REPLICATE", &master];
                matches!(replica.try_call(&replicate), Some(Reply::Status(_)))
            });
        }
        self.await_whole();
    }

    fn has_unfinished_handshake(&self, node: &Node) -> bool {
        let Some(Reply::Bulk(nodes)) = node.try_call(&["CLUSTER", "NODES"]) else { return true };
        let nodes = String::from_utf8(nodes).unwrap();
        nodes.lines().count() != self.nodes.len() || nodes.contains("handshake")
    }

    /// Waits until all nodes that run agree that all slots are served, and every replica has a link
    /// to its master.
    pub fn await_whole(&self) {
        poll("Valkey is whole", || self.running().all(|node| self.is_whole_for(node)));
    }

    pub fn running(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_running())
    }

    fn is_whole_for(&self, node: &Node) -> bool {
        let info = ["CLUSTER", "INFO"];
        let is = |name: &str, value: &str| node.try_figure(&info, name).as_deref() == Some(value);
        if !is("cluster_state", "ok") || !is("cluster_slots_ok", &SLOTS.to_string()) {
            return false;
        }
        let replication = ["INFO", "replication"];
        let link = node.try_figure(&replication, "master_link_status");
        if !(node.is_master() || link.as_deref() == Some("up")) {
            return false;
        }
        // All replicas are known as such, so that clients learn of them.
        let Some(Reply::Bulk(nodes)) = node.try_call(&["CLUSTER", "NODES"]) else { return false };
        let nodes = String::from_utf8(nodes).unwrap();
        let is_up = |line: &&str| !line.contains("fail") && !line.contains("handshake");
        let replicas = nodes.lines().filter(is_up).filter(|line| line.contains("slave ")).count();
        replicas == self.running().filter(|node| !node.is_master()).count()
    }

    /// The nodes that are masters now.
    pub fn masters(&self) -> impl Iterator<Item = &Node> {
        self.running().filter(|node| node.is_master())
    }

    /// Removes all data.
    pub fn flush(&self) {
        self.masters().for_each(|master| drop(master.call(&["FLUSHALL", "SYNC"])));
    }

    /// The sum of a figure of INFO over all masters.
    pub fn sum(&self, figure: &str) -> u64 {
        self.masters().map(|master| master.figure(figure).parse::<u64>().unwrap()).sum()
    }

    /// Keys on all masters.
    pub fn keys(&self) -> u64 {
        self.masters().map(|master| master.call(&["DBSIZE"]).number() as u64).sum()
    }

    /// Changes a setting of every node that runs.
    pub fn set(&self, name: &str, value: &str) {
        self.running().for_each(|node| drop(node.call(&["CONFIG", "SET", name, value])));
    }
}
