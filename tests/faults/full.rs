//! A full disk: writes are refused, reads go on, and once there is room writes go on without a
//! restart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use akin::storage::free_bytes;
use serde_json::{Value, json};

use crate::client::Client;
use crate::model::{Model, NEWS};
use crate::server::{Disk, Server, verify};
use crate::serving::pause;

fn is_insufficient((status, body): &(u16, String)) -> bool {
    *status == 507 && body.contains("\"insufficient_storage\"")
}

/// Everything that writes is refused, everything that reads is answered.
fn assert_full(client: &Client) {
    // Larger than the documents before: a smaller document may still have room.
    let text = (0..10_000).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    let document = json!({"id": "refused", "text": text});
    let refused = client.post("/documents", &document).unwrap();
    assert!(is_insufficient(&refused), "{refused:?}");
    let lines = format!("{document}\n{document}\n");
    let (status, results) =
        client.call("POST", "/documents", "application/x-ndjson", &lines).unwrap();
    assert_eq!(status, 200);
    for line in results.lines() {
        let result: Value = serde_json::from_str(line).unwrap();
        assert_eq!(result["problem"]["code"], "insufficient_storage", "{result}");
    }
    let refused = client.call("PUT", "/collections/more", "application/json", "{}").unwrap();
    assert!(is_insufficient(&refused), "{refused:?}");
    for path in ["/readyz", "/documents/a-0", "/export", "/similar?id=a-0", "/stats"] {
        let (status, body) = client.get(path).unwrap();
        assert_eq!(status, 200, "{path}: {body}");
    }
    let (status, _) = client.get("/documents/refused").unwrap();
    assert_eq!(status, 404, "what was refused is not there");
}

/// A full disk once ended the process, reads included, and creating a collection then answered 500.
#[test]
fn full_disk_refuses_only_writes_until_there_is_room() {
    let (disk, mut model) = (Disk::new(), Model::new());
    let mut server = Server::start(&disk, "none:0:0").unwrap();
    let client = Client::new(&server.url);
    model.create_news(&client).unwrap();
    model.add(&client, NEWS, "x").unwrap();
    for round in 0..3 {
        model.add(&client, "default", &format!("a-{round}")).unwrap();
        disk.set_full(true);
        // What the log has room for is still written.
        while model.add(&client, "default", "b").unwrap() != 507 {}
        assert_full(&client);
        assert_eq!(model.add(&client, NEWS, "y").unwrap(), 507);
        let removed = model.remove(&client, "default", "a-0").unwrap();
        assert!(removed == 204 || removed == 507, "{removed}");
        model.check(&client).unwrap();
        disk.set_full(false);
        assert_eq!(model.add(&client, "default", "a-0").unwrap() / 100, 2);
        assert_eq!(model.add(&client, NEWS, "y").unwrap() / 100, 2);
        assert!(server.is_running());
    }
    assert!(server.log().contains("the disk is full: writes are refused"), "{}", server.log());
    server.kill();
    disk.verify();
    let server = Server::start(&disk, "none:0:0").unwrap();
    model.check(&Client::new(&server.url)).unwrap();
}

/// A small file system in memory.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where mounting is not permitted.
    fn mount(dir: &Path, bytes: u64) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "akin-test"])
            .arg(dir)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(dir.to_owned())),
            refused => {
                crate::not_run::note(&format!("mounting is not permitted: {refused:?}"));
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn start_on(data: &Path, floor: &str) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
    command.env("AKIN__LOG__FORMAT", "json").env("AKIN__STORAGE__DISK_FREE_MIN_BYTES", floor);
    Server::spawn(command).unwrap()
}

/// The shim's ENOSPC comes at a chosen call. A file system that is really full also refuses the
/// index of the log, with an error code of its own: without that code a full disk would poison the
/// store.
#[test]
fn small_file_system_fills_up_and_stays_served() {
    let dir = tempfile::tempdir().unwrap();
    for floor in ["0", "2097152"] {
        let Some(small) = SmallDisk::mount(dir.path(), 12 << 20) else { return };
        let data = small.0.join("data");
        let server = start_on(&data, floor);
        let (client, mut model) = (Client::new(&server.url), Model::new());
        let ballast = small.0.join("ballast");
        model.add(&client, "default", "a-0").unwrap();
        fs::write(&ballast, vec![1; 6 << 20]).unwrap();
        let mut added = 0;
        while model.add(&client, "default", &format!("d{added}")).unwrap() != 507 {
            added += 1;
        }
        assert!(added > 10, "{added}");
        assert_full(&client);
        fs::remove_file(&ballast).unwrap();
        for more in 0..20 {
            let status = model.add(&client, "default", &format!("e{more}")).unwrap();
            assert_eq!(status, 201, "{floor}");
        }
        model.check(&client).unwrap();
        server.kill();
        assert!(verify(&data).status.success());
        let server = start_on(&data, floor);
        model.check(&Client::new(&server.url)).unwrap();
        server.kill();
    }
}

/// Adds a document of some 60 kB that hardly compresses.
pub fn add_large(client: &Client, id: usize) -> u16 {
    let word = |n: usize| format!("{:x}", ((id * 8_000 + n) as u64).wrapping_mul(0x9e37_79b9_7f4a));
    let text = (0..5_000).map(word).collect::<Vec<_>>().join(" ");
    let document = json!({"id": format!("large-{id}"), "text": text});
    client.post("/documents?check=false", &document).unwrap().0
}

/// Adds documents until the disk refuses them; how many.
fn fill(client: &Client) -> usize {
    (0..100_000).find(|&id| add_large(client, id) == 507).unwrap()
}

/// Room came back only after a restart, a snapshot of a full disk took of the reserve, and with a
/// small reserve nothing was left, so that removals were refused and the store was poisoned when it
/// was stopped.
#[test]
fn removals_make_room_on_a_full_disk() {
    const RESERVE: u64 = 2 << 20;
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = SmallDisk::mount(dir.path(), 24 << 20) else { return };
    let data = small.0.join("data");
    let server = start_on(&data, &RESERVE.to_string());
    let client = Client::new(&server.url);
    let database = data.join("collections/default/store.sqlite");
    for _ in 0..2 {
        let added = fill(&client);
        assert!(added > 100, "{added}");
        assert!(free_bytes(&data).unwrap() >= RESERVE, "the reserve is left");
        let full_bytes = database.metadata().unwrap().len();
        // Removals take of the reserve for a moment only.
        for id in 0..added {
            let (status, body) = client.delete(&format!("/documents/large-{id}")).unwrap();
            assert_eq!(status, 204, "{id} of {added}: {body}");
        }
        assert_eq!(add_large(&client, added), 201, "without a restart");
        // The file has shrunk, and its log.
        while database.metadata().unwrap().len() > full_bytes / 2
            || free_bytes(&data).unwrap() < 16 << 20
        {
            pause();
        }
    }
    let (status, log) = server.stop();
    assert!(status.success() && !log.contains("poisoned"), "{log}");
    assert!(verify(&data).status.success());
}

/// Its room is known before it is written.
#[test]
fn a_snapshot_leaves_the_reserve() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = SmallDisk::mount(dir.path(), 24 << 20) else { return };
    let data = small.0.join("data");
    let server = start_on(&data, "2097152");
    let client = Client::new(&server.url);
    let lines: String = (0..10_000).fold(String::new(), |lines, id| {
        lines + &format!("{{\"id\": \"{id:0200}\", \"tokens\": [\"{id}\", \"b\", \"c\", \"d\"]}}\n")
    });
    let path = "/documents?check=false";
    let (status, results) = client.call("POST", path, "application/x-ndjson", &lines).unwrap();
    assert!(status == 200 && !results.contains("error"), "{results:.500}");
    // A snapshot of them takes 3.7 MB.
    let ballast = free_bytes(&data).unwrap() - (4 << 20);
    fs::write(small.0.join("ballast"), vec![1; ballast as usize]).unwrap();
    let before = free_bytes(&data).unwrap();
    assert_eq!(client.call("POST", "/snapshots", "text/plain", "").unwrap().0, 202);
    assert!(server.await_line("a snapshot needs"), "{}", server.log());
    assert_eq!(client.json("/snapshots").unwrap(), json!({"snapshots": []}));
    assert!(free_bytes(&data).unwrap() >= before.min(2 << 20));
    fs::remove_file(small.0.join("ballast")).unwrap();
    assert_eq!(client.call("POST", "/snapshots", "text/plain", "").unwrap().0, 202);
    while client.json("/snapshots").unwrap() == json!({"snapshots": []}) {
        pause();
    }
    assert!(server.stop().0.success());
}

/// Without a reserve nothing may be left, but a stop loses nothing and is none of a failure.
#[test]
fn a_server_stops_well_on_a_disk_without_any_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = SmallDisk::mount(dir.path(), 12 << 20) else { return };
    let data = small.0.join("data");
    let server = start_on(&data, "0");
    let added = fill(&Client::new(&server.url));
    let ballast = free_bytes(&data).unwrap();
    fs::write(small.0.join("ballast"), vec![1; ballast as usize]).unwrap();
    assert!(free_bytes(&data).unwrap() < 8192);
    let (status, log) = server.stop();
    assert!(status.success() && !log.contains("poisoned"), "{status} {log}");
    fs::remove_file(small.0.join("ballast")).unwrap();
    let server = start_on(&data, "0");
    let documents = &Client::new(&server.url).json("/stats").unwrap()["documents"];
    assert_eq!(*documents, json!(added));
    server.kill();
}
