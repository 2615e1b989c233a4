//! The nodes that the other tests use do what these expect of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::cluster_nodes::{Cluster, Link, Options, Reply, Wire};

/// Sets a key on whatever node has it.
fn put(cluster: &Cluster, key: &str, value: &str) {
    let (_, owner) = cluster.place(key);
    cluster.nodes[owner].call(&["SET", key, value]);
}

fn get(cluster: &Cluster, key: &str) -> String {
    let (_, owner) = cluster.place(key);
    cluster.nodes[owner].call(&["GET", key]).text()
}

#[test]
fn masters_are_replaced_and_slots_move() {
    let password = Some("open sesame".to_owned());
    let cluster = Cluster::start(&Options { has_proxies: true, password, ..Options::default() });
    let keys: Vec<_> = (0..100).map(|number| format!("key{number}")).collect();
    for key in &keys {
        put(&cluster, key, key);
    }
    assert_eq!(cluster.keys(), 100);

    let (slot, owner) = cluster.place("{a}");
    for number in 0..250 {
        put(&cluster, &format!("{{a}}{number}"), "moves");
    }
    let to = (owner + 1) % 3;
    assert_eq!(cluster.migrate(slot, owner, to), 250);
    assert_eq!(cluster.place("{a}"), (slot, to));
    assert_eq!(get(&cluster, "{a}249"), "moves");

    cluster.promote(4);
    assert!(!cluster.nodes[1].is_master());
    for master in [0, 4] {
        cluster.nodes[master].call(&["WAIT", "1", "10000"]);
    }
    cluster.nodes[0].kill();
    cluster.await_replaced(0);
    assert!(keys.iter().all(|key| get(&cluster, key) == *key));
    cluster.nodes[0].restart();
    cluster.await_whole();
    assert!(!cluster.nodes[0].is_master());

    cluster.nodes[2].pause();
    cluster.await_replaced(2);
    cluster.nodes[2].resume();
    cluster.await_whole();
    assert!(keys.iter().all(|key| get(&cluster, key) == *key));
}

#[test]
fn a_link_is_cut_for_clients_only() {
    let cluster = Cluster::start(&Options { has_proxies: true, ..Options::default() });
    let port = cluster.nodes[1].announced_port();
    let mut wire = Wire::open(port, None).unwrap();
    let ping = |wire: &mut Wire| wire.call(&["PING"]);
    assert_eq!(ping(&mut wire).unwrap(), Reply::Status("PONG".into()));

    cluster.cut(1, Link::Refused);
    assert!(ping(&mut wire).is_err());
    assert!(Wire::open(port, None).and_then(|mut wire| ping(&mut wire)).is_err());
    cluster.await_whole();
    cluster.cut(1, Link::Open);
    let mut wire = Wire::open(port, None).unwrap();
    assert!(ping(&mut wire).is_ok());

    cluster.cut(1, Link::Silent);
    let is_answered = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| is_answered.store(ping(&mut wire).is_ok(), Ordering::Release));
        // Replication goes on meanwhile.
        cluster.nodes[1].call(&["SET", "{9}", "1"]);
        assert_eq!(cluster.nodes[1].call(&["WAIT", "1", "10000"]), Reply::Number(1));
        cluster.cut(1, Link::Open);
    });
    assert!(!is_answered.into_inner());
    cluster.await_whole();
}
