//! A full disk: writes are refused, reads go on, and once there is room writes go on without a
//! restart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Client;
use crate::model::{Model, NEWS};
use crate::server::{Disk, Server, verify};

fn is_insufficient((status, body): &(u16, String)) -> bool {
    *status == 507 && body.contains("\"insufficient_storage\"")
}

/// Everything that writes is refused, everything that reads is answered.
fn assert_full(client: &Client) {
    let document = json!({"id": "refused", "text": "one two three four"});
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
