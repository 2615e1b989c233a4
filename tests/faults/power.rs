//! The power is cut at one call after the other, while everything happens that changes files. What
//! was acknowledged is there, what was removed stays removed, and nothing is there by half.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::full::add_large;
use crate::model::{Gone, Model, NEWS};
use crate::server::{Disk, EXIT_CUT, Server};
use crate::serving::pause;
use crate::{Random, is_whole};

/// Cuts in the ordinary form, shared by as many chains.
const CUTS: u64 = 28;

/// Cuts while pages are given back.
const CUTS_OF_PAGES: u64 = 6;
const CHAINS: u64 = 2;

/// Everything that changes files, one after the other.
pub fn scenario(model: &mut Model, client: &Client, round: u64) -> Result<(), Gone> {
    let default = "default";
    let id = |name: &str| format!("{name}-{round}");
    model.add(client, default, &id("a"))?;
    model.add_brief(client, &id("brief"))?;
    let bulk: Vec<String> = (0..6).map(|n| format!("bulk-{round}-{n}")).collect();
    model.add_bulk(client, &bulk)?;
    model.add(client, default, &id("a"))?;
    model.remove(client, default, &bulk[1])?;
    snapshot(client, "")?;
    model.add(client, default, &id("b"))?;
    model.drop_news(client)?;
    model.create_news(client)?;
    for name in ["x", "y", "z"] {
        model.add(client, NEWS, &id(name))?;
    }
    reindex(client, round)?;
    model.add(client, NEWS, &id("x"))?;
    snapshot(client, "/collections/news")?;
    backup(client)?;
    model.remove(client, NEWS, &id("y"))?;
    model.remove(client, default, &bulk[2])?;
    await_removal_of_expired(client)
}

/// One that cannot be read to its end breaks off, and the server goes on.
fn backup(client: &Client) -> Result<(), Gone> {
    let broken_off = client.bytes("/backup").is_err();
    if broken_off {
        client.get("/healthz")?;
    }
    Ok(())
}

/// Until nothing has been written for longer than the removal of expired documents takes to begin.
fn await_removal_of_expired(client: &Client) -> Result<(), Gone> {
    let before = client.json("/stats")?["sequence"].clone();
    let end = Instant::now() + Duration::from_millis(1_300);
    while client.json("/stats")?["sequence"] == before && Instant::now() < end {
        // Other chains need the processor.
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Takes a snapshot and waits for it.
fn snapshot(client: &Client, prefix: &str) -> Result<(), Gone> {
    let path = format!("{prefix}/snapshots");
    let count = |client: &Client| {
        let listed = client.json(&path)?;
        Ok::<_, Gone>(listed["snapshots"].to_string())
    };
    let before = count(client)?;
    let (status, _) = client.call("POST", &path, "text/plain", "")?;
    for _ in 0..200 {
        if status != 202 || count(client)? != before {
            break;
        }
        pause();
    }
    Ok(())
}

fn reindex(client: &Client, round: u64) -> Result<(), Gone> {
    let settings = json!({"shingles": {"size": 2 + round % 2}});
    let (status, _) = client.post("/collections/news/reindex", &settings)?;
    while status == 202 && client.json("/collections/news/reindex")?["state"] == "running" {
        pause();
    }
    Ok(())
}

/// Runs the scenario and stops the server; the log of the calls that it made.
pub fn calls_of_scenario(fault: &str) -> Vec<String> {
    let (disk, mut model) = (Disk::new(), Model::new());
    let server = Server::start(&disk, fault).unwrap();
    scenario(&mut model, &Client::new(&server.url), 0).unwrap();
    let (status, log) = server.stop();
    assert!(status.success(), "{log}");
    disk.calls()
}

/// Kinds of calls at which the power was cut, and how often.
type Tally = BTreeMap<String, u64>;

/// Cuts the power at each of the calls, one after the other in one directory.
fn cut_at_each(calls: &[u64], random: &mut Random) -> (Tally, Model) {
    let (disk, mut model, mut tally) = (Disk::new(), Model::new(), Tally::new());
    for (round, call) in (0..).zip(calls) {
        let fault = format!("cut:{call}:{}", random.below(u64::MAX));
        println!("{fault}");
        match Server::start(&disk, &fault) {
            Err(log) => assert!(log.contains(&EXIT_CUT.to_string()), "{log}"),
            Ok(server) => {
                let client = Client::new(&server.url);
                let outcome =
                    model.check(&client).and_then(|()| scenario(&mut model, &client, round));
                let (status, log) = server.stop();
                let is_cut = status.code() == Some(EXIT_CUT);
                assert!(is_cut || (outcome.is_ok() && status.success()), "{status} {log}");
            }
        }
        let calls = disk.calls();
        let kind = calls.get(*call as usize - 1).map_or("not reached".to_owned(), |at| kind_of(at));
        *tally.entry(kind).or_default() += 1;
        if is_whole() || round % 4 == 0 {
            disk.verify();
        }
    }
    let server = Server::start(&disk, "none:0:0").unwrap();
    model.check(&Client::new(&server.url)).unwrap();
    assert!(server.stop().0.success());
    disk.verify();
    (tally, model)
}

/// "write" and so on with the file's name, without numbers.
pub fn kind_of(call: &str) -> String {
    let mut parts = call.splitn(3, ' ').skip(1);
    let (what, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{what} {name}")
}

/// A store that had lost its first write-ahead log was taken for an empty store and created again,
/// so all acknowledged documents were gone without an error.
#[test]
fn acknowledged_writes_survive_a_power_cut_at_any_call() {
    let mut random = Random::new("power");
    let end = calls_of_scenario("none:0:0").len() as u64;
    let calls: Vec<u64> = match is_whole() {
        true => (1..=end).collect(),
        // One in each part, so that the sample is spread.
        false => (0..CUTS).map(|n| 1 + (n * end + random.below(end)) / CUTS).collect(),
    };
    let chains: Vec<Vec<u64>> = (0..CHAINS)
        .map(|chain| calls.iter().copied().skip(chain as usize).step_by(CHAINS as usize).collect())
        .collect();
    let seeds: Vec<u64> = chains.iter().map(|_| random.below(u64::MAX)).collect();
    let (mut tally, mut acknowledged) = (Tally::new(), 0);
    thread::scope(|scope| {
        let run = |(chain, seed): (&Vec<u64>, u64)| {
            let chain = chain.clone();
            scope.spawn(move || cut_at_each(&chain, &mut Random::of(seed)))
        };
        let running: Vec<_> = chains.iter().zip(seeds).map(run).collect();
        for chain in running {
            let (of_chain, model) = chain.join().unwrap();
            acknowledged += model.acknowledged;
            for (kind, cuts) in of_chain {
                *tally.entry(kind).or_default() += cuts;
            }
        }
    });
    println!("{} power cuts, {acknowledged} acknowledged writes, none lost", calls.len());
    for (kind, cuts) in &tally {
        println!("{cuts:6} {kind}");
    }
    assert!(acknowledged > calls.len() as u64, "{acknowledged}");
}

/// Large documents that are removed, and those that stay in the last pages, which have to move.
const REMOVED: std::ops::Range<usize> = 0..100;
const STAYING: std::ops::Range<usize> = 100..120;

fn fill(disk: &Disk) {
    let server = Server::start(disk, "none:0:0").unwrap();
    let client = Client::new(&server.url);
    for id in REMOVED.chain(STAYING) {
        assert_eq!(add_large(&client, id) / 100, 2);
    }
    server.kill();
}

/// Removes documents and waits until the file has shrunk or the power was cut; the ids whose
/// removal was acknowledged, and the calls until then.
fn shrink(disk: &Disk, fault: &str) -> (Vec<usize>, u64) {
    let Ok(mut server) = Server::start(disk, fault) else { return (Vec::new(), 0) };
    let client = Client::new(&server.url);
    let remove =
        |id: &usize| matches!(client.delete(&format!("/documents/large-{id}")), Ok((204, _)));
    let removed: Vec<_> = REMOVED.take_while(remove).collect();
    let calls = disk.calls().len() as u64;
    let database = disk.data().join("collections/default/store.sqlite");
    while server.is_running() && database.metadata().unwrap().len() > 2 << 20 {
        pause();
    }
    server.stop();
    (removed, calls)
}

#[test]
fn giving_pages_back_loses_nothing_in_a_power_cut() {
    let (disk, mut random) = (Disk::new(), Random::new("pages"));
    fill(&disk);
    let (removed, before) = shrink(&disk, "none:0:0");
    assert_eq!(removed.len(), REMOVED.len());
    let calls = disk.calls().len() as u64 - before;
    for n in 0..CUTS_OF_PAGES {
        fill(&disk);
        let call = before + 1 + (n * calls + random.below(calls)) / CUTS_OF_PAGES;
        let fault = format!("cut:{call}:{}", random.below(u64::MAX));
        println!("{fault} of {calls} after {before}");
        let (removed, _) = shrink(&disk, &fault);
        disk.verify();
        let server = Server::start(&disk, "none:0:0").unwrap();
        let client = Client::new(&server.url);
        let status = |id| client.get(&format!("/documents/large-{id}")).unwrap().0;
        for id in removed {
            assert_eq!(status(id), 404, "{id}");
        }
        for id in STAYING {
            assert_eq!(status(id), 200, "{id}");
        }
        assert!(server.stop().0.success());
    }
}
