//! What happens to clusters.

use super::{Link, MASTERS, Node, Reply, Valkey, poll};

/// Keys that are moved at a time.
const MOVED_AT_ONCE: &str = "100";

impl Valkey {
    /// Cuts the link between clients and a node, or opens it again; the nodes go on seeing each
    /// other. Valkey must have proxies.
    pub fn cut(&self, node: usize, link: Link) {
        self.nodes[node].proxy.as_ref().expect("Valkey has proxies").set(link);
    }

    /// The same between a master and its replica.
    pub fn cut_replication(&self, master: usize, link: Link) {
        let proxy = self.nodes[master].proxy.as_ref().expect("Valkey has proxies");
        proxy.set_replication(link);
    }

    /// Makes a replica the master, in agreement with the master, which becomes its replica.
    pub fn promote(&self, replica: usize) {
        let node = &self.nodes[replica];
        let mut is_asked = false;
        poll("the replica is promoted", || {
            // It is refused if the replica has taken the place by itself.
            is_asked = is_asked
                || matches!(node.try_call(&["CLUSTER", "FAILOVER"]), Some(Reply::Status(_)));
            node.is_master()
        });
        self.await_whole();
    }

    /// The number of the node that has the same slots: of a master's replica, or a replica's master.
    pub fn partner(&self, node: usize) -> usize {
        (node + MASTERS) % self.nodes.len()
    }

    /// Waits until the replica of a master that was killed or paused has taken its place.
    pub fn await_replaced(&self, master: usize) {
        let replica = &self.nodes[self.partner(master)];
        poll("the master is replaced", || replica.is_master());
        let others: Vec<_> =
            self.running().filter(|node| node.port != self.nodes[master].port).collect();
        poll("the others know", || {
            let knows = |node: &&Node| {
                let state = node.try_figure(&["CLUSTER", "INFO"], "cluster_state");
                state.as_deref() == Some("ok") && is_owner_for(node, replica.announced_port())
            };
            others.iter().all(knows)
        });
    }

    /// Kills a master, and starts it again once its replica has taken its place.
    pub fn kill_until_replaced(&self, master: usize) {
        self.nodes[master].kill();
        self.await_replaced(master);
        self.nodes[master].restart();
    }

    /// Pauses a master until its replica has taken its place.
    pub fn pause_until_replaced(&self, master: usize) {
        self.nodes[master].pause();
        self.await_replaced(master);
        self.nodes[master].resume();
    }

    /// Moves the slot of some key of a master to another, if there is a key.
    pub fn migrate_any(&self, from: usize, to: usize) {
        let node = &self.nodes[from];
        let Reply::Bulk(key) = node.call(&["RANDOMKEY"]) else { return };
        let slot = node.call(&[b"CLUSTER".as_slice(), b"KEYSLOT", &key]).number();
        self.migrate(slot as u16, from, to);
    }

    /// The numbers of the nodes that are masters now.
    pub fn master_numbers(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&at| self.nodes[at].is_master()).collect()
    }

    /// Moves a slot with its keys between masters, while clients go on. Returns how many keys.
    pub fn migrate(&self, slot: u16, from: usize, to: usize) -> usize {
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        let (slot, source_id, target_id) = (slot.to_string(), source.id(), target.id());
        target.call(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source_id]);
        source.call(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target_id]);
        let mut moved = 0;
        loop {
            let keys = source.call(&["CLUSTER", "GETKEYSINSLOT", &slot, MOVED_AT_ONCE]);
            if keys.items().is_empty() {
                break;
            }
            moved += keys.items().len();
            self.move_keys(source, target, keys.items());
        }
        // The target first, so that the slot is never without an owner.
        let others = self.masters().filter(|node| ![source.port, target.port].contains(&node.port));
        for node in [target, source].into_iter().chain(others) {
            node.call(&["CLUSTER", "SETSLOT", &slot, "NODE", &target_id]);
        }
        // A node that had a failover at the same time may have kept the former owner.
        poll("all masters know the new owner", || {
            let mut others = self.masters().filter(|node| {
                let slots = node.try_call(&["CLUSTER", "SLOTS"]);
                slots.is_none_or(|slots| owner_in(&slots, &slot) != Some(target_id.clone()))
            });
            others.all(|node| {
                node.try_call(&["CLUSTER", "SETSLOT", &slot, "NODE", &target_id]);
                false
            })
        });
        moved
    }

    fn move_keys(&self, source: &Node, target: &Node, keys: &[Reply]) {
        let port = target.port.to_string();
        let mut command: Vec<Vec<u8>> = ["MIGRATE", "127.0.0.1", &port, "", "0", "10000"]
            .map(std::convert::Into::into)
            .to_vec();
        if let Some(password) = &self.password {
            command.extend(["AUTH".into(), password.clone().into_bytes()]);
        }
        command.push("KEYS".into());
        command.extend(keys.iter().map(|key| match key {
            Reply::Bulk(key) => key.clone(),
            other => panic!("no key: {other:?}"),
        }));
        source.call(&command);
    }

    /// The slot of a key, and the number of the master that has it.
    pub fn place(&self, key: &str) -> (u16, usize) {
        let first = self.running().next().expect("a node runs");
        let slot = first.call(&["CLUSTER", "KEYSLOT", key]).number();
        let owner = self.owner_of(slot as u16);
        (slot as u16, owner)
    }

    /// The number of the master that has a slot.
    pub fn owner_of(&self, slot: u16) -> usize {
        let first = self.masters().next().expect("a master runs");
        let ranges = first.call(&["CLUSTER", "SLOTS"]);
        let slot = i64::from(slot);
        let has = |range: &&Reply| {
            let bounds = range.items();
            bounds[0].number() <= slot && slot <= bounds[1].number()
        };
        let range = ranges.items().iter().find(has).expect("every slot has an owner");
        let port = range.items()[2].items()[1].number();
        let is_owner = |node: &Node| i64::from(node.announced_port()) == port;
        self.nodes.iter().position(is_owner).expect("the owner is one of the nodes")
    }
}

/// The name of the master that has a slot, by `CLUSTER SLOTS`.
fn owner_in(ranges: &Reply, slot: &str) -> Option<String> {
    let slot = slot.parse::<i64>().ok()?;
    let has =
        |range: &&Reply| (range.items()[0].number()..=range.items()[1].number()).contains(&slot);
    Some(ranges.items().iter().find(has)?.items()[2].items()[2].text())
}

/// Whether a node takes the one at that port for a master with slots.
fn is_owner_for(node: &Node, port: u16) -> bool {
    let Some(Reply::Array(ranges)) = node.try_call(&["CLUSTER", "SLOTS"]) else { return false };
    ranges.iter().any(|range| range.items()[2].items()[1] == Reply::Number(port.into()))
}
