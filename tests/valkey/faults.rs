//! What a fault of Valkey costs: refusals while it lasts, and no document that was
//! acknowledged but what the settings permit.

use crate::load::{Tally, under_load};
use crate::servers::{Servers, try_start};
use crate::valkey_nodes::{Link, Node, Options, Valkey};

const SAFE: [(&str, &str); 2] = [("wait_replicas", "1"), ("wait_timeout_ms", "2000")];

fn nodes() -> Valkey {
    Valkey::start(&Options { has_proxies: true, ..Options::default() })
}

/// Nothing that was acknowledged is lost, and nothing is there that was not sent.
fn check(what: &str, servers: &Servers, tally: &Tally) {
    let lost = servers.lost(&tally.acknowledged);
    tally.print(what, lost);
    assert_eq!(lost, 0, "{what}");
    let at_most = tally.acknowledged.len() + tally.open.len();
    let documents = servers.documents() as usize;
    let range = tally.acknowledged.len()..=at_most;
    assert!(range.contains(&documents), "{what}: {documents} documents, {range:?} were sent");
}

#[test]
fn a_killed_master_is_replaced_under_load() {
    let valkey = nodes();
    let servers = Servers::start(&valkey, 2, &SAFE);
    let tally = under_load(&servers, "killed", |more| {
        more(200);
        valkey.nodes[0].kill();
        valkey.await_replaced(0);
        // Until there is a replica again, no write can be on one.
        valkey.nodes[0].restart();
        more(200);
    });
    check("a master was killed", &servers, &tally);
}

#[test]
fn a_killed_master_is_replaced_without_waiting_for_replicas() {
    let valkey = nodes();
    let servers = Servers::start(&valkey, 2, &[("wait_replicas", "0")]);
    let tally = under_load(&servers, "killed", |more| {
        more(200);
        valkey.nodes[0].kill();
        valkey.await_replaced(0);
        more(200);
    });
    // What the replica did not have yet may be lost: of what was under way at that moment.
    let lost = servers.lost(&tally.acknowledged);
    tally.print("a master was killed, replicas not waited for", lost);
    assert!(lost < 50, "{lost} documents are lost");
}

/// A machine that loses its power or its network closes no connection.
#[test]
fn a_silent_master_is_replaced_by_its_replica() {
    let valkey = nodes();
    let short = [("deadline_ms", "2000"), ("wait_timeout_ms", "1000"), ("wait_replicas", "0")];
    let servers = Servers::start(&valkey, 2, &short);
    let tally = under_load(&servers, "silent", |more| {
        more(200);
        valkey.nodes[0].pause();
        valkey.await_replaced(0);
        // It goes on being silent.
        more(200);
    });
    let lost = servers.lost(&tally.acknowledged);
    tally.print("a master fell silent, replicas not waited for", lost);
    assert!(lost < 50, "{lost} documents are lost");
}

/// What is to be done about documents of which a failover may have lost a part.
fn add_again(servers: &Servers, ids: &[String]) {
    for id in ids {
        let status = servers.add(0, id).status;
        assert!(matches!(status, 200 | 201), "{id} is posted again: {status}");
    }
    assert_eq!(servers.lost(ids), 0, "what was posted again is there");
}

#[test]
fn a_replica_is_promoted_and_slots_move_under_load() {
    let valkey = nodes();
    let servers = Servers::start(&valkey, 2, &SAFE);
    let tally = under_load(&servers, "promoted", |more| {
        more(200);
        valkey.promote(4);
        more(200);
    });
    check("a replica was promoted", &servers, &tally);

    let mut moved = 0;
    let tally = under_load(&servers, "moved", |more| {
        more(50);
        // Every slot of the first master but a few, which it needs to remain one.
        for slot in 0..64 {
            moved += valkey.migrate(slot * 80, 0, 2);
        }
        more(200);
    });
    eprintln!("{moved} keys moved");
    assert!(moved > 0);
    let lost = servers.lost(&tally.acknowledged);
    tally.print("64 slots moved", lost);
    assert_eq!(lost, 0);
}

#[test]
fn a_partition_costs_refusals_and_no_documents() {
    let valkey = nodes();
    let servers = Servers::start(&valkey, 2, &SAFE);
    for link in [Link::Refused, Link::Silent] {
        let tally = under_load(&servers, &format!("{link:?}"), |more| {
            more(100);
            valkey.cut(1, link);
            crate::valkey_nodes::poll("something is refused", || {
                (0..8).any(|number| servers.add(0, &format!("cut{number}")).status == 503)
            });
            valkey.cut(1, Link::Open);
            more(200);
        });
        let lost = servers.lost(&tally.acknowledged);
        tally.print(&format!("a link was {link:?}"), lost);
        assert_eq!(lost, 0, "{link:?}");
    }
}

#[test]
fn wait_replicas_prevents_loss_by_a_failover() {
    let safe = [("wait_replicas", "1"), ("wait_timeout_ms", "200")];
    for (settings, may_lose) in [(&safe[..], false), (&[("wait_replicas", "0")], true)] {
        let valkey = nodes();
        let servers = Servers::start(&valkey, 1, settings);
        let ids: Vec<_> = (0..40).map(|number| format!("d{number}")).collect();
        let (early, late) = ids.split_at(10);
        for id in early {
            assert_eq!(servers.add(0, id).status, 201);
        }
        (0..3).for_each(|master| valkey.cut_replication(master, Link::Refused));
        let is_acknowledged = |id: &&String| servers.add(0, id).status == 201;
        let acknowledged: Vec<_> = late.iter().filter(is_acknowledged).cloned().collect();
        assert_eq!(acknowledged.len(), if may_lose { late.len() } else { 0 });
        valkey.nodes[0].kill();
        valkey.await_replaced(0);
        (0..3).for_each(|master| valkey.cut_replication(master, Link::Open));
        assert_eq!(servers.lost(early), 0, "what a replica had is there");
        let lost = servers.lost(&acknowledged);
        eprintln!("failover with {settings:?}: {lost} of {} lost", acknowledged.len());
        assert_eq!(lost > 0, may_lose, "{settings:?}");
        add_again(&servers, &acknowledged);
    }
}

#[test]
fn without_memory_writes_are_refused_and_reads_go_on() {
    let valkey = nodes();
    let servers = Servers::start(&valkey, 1, &[]);
    let ids: Vec<_> = (0..20).map(|number| format!("d{number}")).collect();
    for id in &ids {
        assert_eq!(servers.add(0, id).status, 201);
    }
    valkey.set("maxmemory", "1");
    let refused = servers.add(0, "late");
    assert!([503, 507].contains(&refused.status), "{}: {}", refused.status, refused.body);
    assert!(refused.body.contains("memory"), "{}", refused.body);
    assert_eq!(servers.lost(&ids), 0);
    // What frees memory is not refused.
    let removed = servers.callers[0].call("DELETE", "/documents/d0", ("", String::new())).unwrap();
    assert!([200, 204].contains(&removed.status), "{}: {}", removed.status, removed.body);
    assert_eq!(servers.lost(&ids), 1);
    valkey.set("maxmemory", "0");
    assert_eq!(servers.add(0, "late").status, 201);
    assert_eq!(servers.documents(), 20);
}

#[test]
fn a_server_waits_for_nodes_that_start_later() {
    let valkey = Valkey::start(&Options { has_replicas: false, ..Options::default() });
    valkey.nodes[0].kill();
    for node in valkey.running() {
        node.call(&["CONFIG", "RESETSTAT"]);
    }
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| try_start(&valkey, &dir, 0, &[]));
        crate::valkey_nodes::poll("the server asks for the nodes", || {
            let commands = |node: &Node| node.call(&["INFO", "commandstats"]).text();
            valkey.running().any(|node| commands(node).contains("cluster|slots"))
        });
        valkey.nodes[0].restart();
        assert!(starting.join().unwrap().is_ok());
    });
}

fn tls_file(name: &str) -> String {
    format!("{}/tests/valkey/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The nodes have certificates, and ask for the certificate of a client.
#[test]
fn nodes_with_tls_are_shown_a_certificate() {
    let password = Some("open sesame".to_owned());
    let has_replicas = false;
    let valkey =
        Valkey::start(&Options { has_replicas, tls: true, password, ..Options::default() });
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = (tls_file("client.cert.pem"), tls_file("client.key.pem"));
    let shown = [("client_certificate", &*certificate), ("client_key", &*key)];
    let reached = [("tls", "true"), ("password", "open sesame"), ("deadline_ms", "2000")];
    let Err(_) = try_start(&valkey, &dir, 0, &reached) else { panic!("without a certificate") };
    let settings = [&shown[..], &reached].concat();
    let servers = Servers::start(&valkey, 2, &settings);
    for id in ["one", "two"] {
        assert_eq!(servers.add(0, id).status, 201);
    }
    assert_eq!(servers.add(1, "one").status, 200);
    assert_eq!(servers.documents(), 2);
}

#[test]
fn a_wrong_password_is_said_at_the_start() {
    let password = Some("open sesame".to_owned());
    let valkey = Valkey::start(&Options { has_replicas: false, password, ..Options::default() });
    let dir = tempfile::tempdir().unwrap();
    for settings in [&[][..], &[("password", "open sesam")]] {
        let Err(log) = try_start(&valkey, &dir, 0, settings) else { panic!("it serves") };
        assert!(log.contains("valkey.password"), "{log}");
    }
    let servers = Servers::start(&valkey, 1, &[("password", "open sesame")]);
    assert_eq!(servers.add(0, "one").status, 201);
}
