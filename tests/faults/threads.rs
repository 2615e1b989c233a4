//! No more threads can be created while a collection is made.

use std::fs;

use crate::client::Client;
use crate::model::{Model, NEWS};
use crate::server::{Disk, Server};

/// A failed creation left its collection behind; the second try made another collection of the same
/// name, and the next start refused all collections.
#[test]
fn failed_creation_leaves_no_collection_behind() {
    let (disk, mut model) = (Disk::new(), Model::new());
    let server = Server::start(&disk, "none:0:0").unwrap();
    let client = Client::new(&server.url);
    disk.set_no_threads(true);
    for _ in 0..3 {
        let status = model.create_news(&client).unwrap();
        assert!(status >= 500, "{status}");
    }
    disk.set_no_threads(false);
    assert_eq!(model.create_news(&client).unwrap(), 201);
    model.add(&client, NEWS, "x").unwrap();
    model.check(&client).unwrap();
    server.kill();
    let server = Server::start(&disk, "none:0:0").unwrap();
    model.check(&Client::new(&server.url)).unwrap();
    let directories = fs::read_dir(disk.data().join("collections")).unwrap().count();
    assert_eq!(directories, 2, "default and news, and no remains");
    assert!(server.stop().0.success());
}
