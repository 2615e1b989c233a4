//! Kill -9 while collections are made and removed: each is whole or absent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use ureq::Agent;

use crate::server::Server;

const KILLS: usize = 20;
const NAMES: usize = 5;
const SETTINGS: &str = r#"{"sketch": {"slots": 64}, "scheme": {"threshold": 0.7}}"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Absent,
    Empty,
    /// With its one document.
    Filled,
}

/// One client, and what it may find each collection to be: what was acknowledged last and, if the
/// server died over a request, what that would have made of it.
#[derive(Default)]
struct Client {
    step: usize,
    possible: BTreeMap<String, BTreeSet<State>>,
}

/// A failed creation once left its directory behind. A second request made another directory of the
/// same name, and the next start refused all collections. So after each kill every collection must
/// have its settings and its document, or not exist.
#[test]
fn killed_server_leaves_collections_whole_or_absent() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::default();
    let mut seen = BTreeSet::new();
    for kill in 0..=KILLS {
        let mut server = Server::start(dir.path());
        seen.extend(client.check(&server, dir.path()));
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let url = server.url.clone();
            let client = &mut client;
            scope.spawn(move || client.work_until_the_server_dies(&url, &tell));
            // Even and odd: after an answer, and while one is waited for.
            for _ in 0..=kill {
                told.recv_timeout(Duration::from_secs(60)).expect("the client goes on");
            }
            server.kill();
        });
    }
    client.check(&Server::start(dir.path()), dir.path());
    assert_eq!(seen.len(), 3, "only {seen:?} were ever found");
}

impl Client {
    /// Makes, fills and removes one collection after the other, and tells when it asks and when it
    /// was answered.
    fn work_until_the_server_dies(&mut self, url: &str, tell: &Sender<()>) {
        let agent = Agent::new_with_defaults();
        loop {
            let name = format!("c{}", self.step % NAMES);
            let possible = self.possible.entry(name.clone()).or_insert([State::Absent].into());
            let wanted = match possible.first() {
                Some(State::Filled) => State::Absent,
                Some(State::Empty) => State::Filled,
                _ => State::Empty,
            };
            possible.insert(wanted);
            // Nobody counts any more once the server is to be killed.
            let _ = tell.send(());
            if ask_for(&agent, url, &name, wanted).is_err() {
                return;
            }
            *possible = [wanted].into();
            let _ = tell.send(());
            // What was only just made is filled next.
            self.step += usize::from(wanted != State::Empty);
        }
    }

    /// Holds what there is against what there may be; the states found.
    fn check(&mut self, server: &Server, dir: &Path) -> BTreeSet<State> {
        let listed = server.collections();
        let mut seen = BTreeSet::new();
        for (name, possible) in &mut self.possible {
            let found = match listed.contains(name) {
                false => State::Absent,
                true if server.ids(name).is_empty() => State::Empty,
                true => State::Filled,
            };
            assert!(possible.contains(&found), "{name} is {found:?}, none of {possible:?}");
            if found != State::Absent {
                server.make_again(name, SETTINGS);
            }
            *possible = [found].into();
            seen.insert(found);
        }
        let directories = std::fs::read_dir(dir.join("collections")).unwrap().count();
        assert_eq!(directories, listed.len(), "remains are cleared");
        seen
    }
}

fn ask_for(agent: &Agent, url: &str, name: &str, wanted: State) -> Result<(), ureq::Error> {
    let path = format!("{url}/collections/{name}");
    match wanted {
        State::Absent => agent.delete(path).call()?,
        State::Empty => agent.put(path).content_type("application/json").send(SETTINGS)?,
        State::Filled => agent
            .post(format!("{path}/documents?id=only"))
            .content_type("text/plain")
            .send("the only document")?,
    };
    Ok(())
}
