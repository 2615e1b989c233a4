//! The nodes that the other tests use do what these expect of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::valkey_nodes::{Link, Options, Reply, Valkey, Wire};

/// Sets a key on whatever node has it.
fn put(valkey: &Valkey, key: &str, value: &str) {
    let (_, owner) = valkey.place(key);
    valkey.nodes[owner].call(&["SET", key, value]);
}

fn get(valkey: &Valkey, key: &str) -> String {
    let (_, owner) = valkey.place(key);
    valkey.nodes[owner].call(&["GET", key]).text()
}

#[test]
fn masters_are_replaced_and_slots_move() {
    let password = Some("open sesame".to_owned());
    let valkey = Valkey::start(&Options { has_proxies: true, password, ..Options::default() });
    let keys: Vec<_> = (0..100).map(|number| format!("key{number}")).collect();
    for key in &keys {
        put(&valkey, key, key);
    }
    assert_eq!(valkey.keys(), 100);

    let (slot, owner) = valkey.place("{a}");
    for number in 0..250 {
        put(&valkey, &format!("{{a}}{number}"), "moves");
    }
    let to = (owner + 1) % 3;
    assert_eq!(valkey.migrate(slot, owner, to), 250);
    assert_eq!(valkey.place("{a}"), (slot, to));
    assert_eq!(get(&valkey, "{a}249"), "moves");

    valkey.promote(4);
    assert!(!valkey.nodes[1].is_master());
    for master in [0, 4] {
        valkey.nodes[master].call(&["WAIT", "1", "10000"]);
    }
    valkey.nodes[0].kill();
    valkey.await_replaced(0);
    assert!(keys.iter().all(|key| get(&valkey, key) == *key));
    valkey.nodes[0].restart();
    valkey.await_whole();
    assert!(!valkey.nodes[0].is_master());

    valkey.nodes[2].pause();
    valkey.await_replaced(2);
    valkey.nodes[2].resume();
    valkey.await_whole();
    assert!(keys.iter().all(|key| get(&valkey, key) == *key));
}

#[test]
fn a_link_is_cut_for_clients_only() {
    let valkey = Valkey::start(&Options { has_proxies: true, ..Options::default() });
    let port = valkey.nodes[1].announced_port();
    let mut wire = Wire::open(port, None).unwrap();
    let ping = |wire: &mut Wire| wire.call(&["PING"]);
    assert_eq!(ping(&mut wire).unwrap(), Reply::Status("PONG".into()));

    valkey.cut(1, Link::Refused);
    assert!(ping(&mut wire).is_err());
    assert!(Wire::open(port, None).and_then(|mut wire| ping(&mut wire)).is_err());
    valkey.await_whole();
    valkey.cut(1, Link::Open);
    let mut wire = Wire::open(port, None).unwrap();
    assert!(ping(&mut wire).is_ok());

    valkey.cut(1, Link::Silent);
    let is_answered = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| is_answered.store(ping(&mut wire).is_ok(), Ordering::Release));
        // Replication goes on meanwhile.
        valkey.nodes[1].call(&["SET", "{9}", "1"]);
        assert_eq!(valkey.nodes[1].call(&["WAIT", "1", "10000"]), Reply::Number(1));
        valkey.cut(1, Link::Open);
    });
    assert!(!is_answered.into_inner());
    valkey.await_whole();
}
