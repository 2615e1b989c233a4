//! One client: creates, replaces and removes documents of its own, and remembers what it was told.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use ureq::Agent;

/// What a document's text may be found to be, `None` standing for its absence: what was
/// acknowledged last and, if the server died over a write, what that would have made of it.
#[derive(Debug)]
pub struct State(Vec<Option<String>>);

impl State {
    pub fn settled(text: Option<String>) -> Self {
        Self(vec![text])
    }

    pub fn allows(&self, text: Option<&str>) -> bool {
        self.0.iter().any(|possible| possible.as_deref() == text)
    }
}

pub struct Writer {
    number: u64,
    step: u64,
    pub states: BTreeMap<String, State>,
}

impl Writer {
    pub fn new(number: u64) -> Self {
        Self { number, step: 0, states: BTreeMap::new() }
    }

    pub fn write_until_the_server_dies(&mut self, url: &str, acknowledge: &Sender<()>) {
        let agent = Agent::new_with_defaults();
        loop {
            let (id, text) = self.next_write();
            let state = self.states.entry(id.clone()).or_insert(State::settled(None));
            state.0.push(text.clone());
            if send(&agent, url, &id, text.as_deref()).is_err() {
                return;
            }
            *state = State::settled(text);
            // Nobody counts any more once the server is to be killed.
            let _ = acknowledge.send(());
        }
    }

    /// The documents that were there at the last look and were written lately.
    pub fn recent(&self) -> impl Iterator<Item = (&String, &String)> {
        let there = self.states.iter().rev();
        there.filter_map(|(id, state)| Some((id, state.0[0].as_ref()?))).take(3)
    }

    /// Of five steps, three create, one replaces and one removes what was created before.
    fn next_write(&mut self) -> (String, Option<String>) {
        self.step += 1;
        let name = |step: u64| format!("writer {}/document {step:08}", self.number);
        let text = || Some(text(self.number, self.step));
        match self.step % 5 {
            3 => (name(self.step - 1), text()),
            4 => (name(self.step - 3), None),
            _ => (name(self.step), text()),
        }
    }
}

/// Every text differs, and is long enough to take more than a page of the database now and then.
fn text(writer: u64, step: u64) -> String {
    let words = if step.is_multiple_of(16) { 900 } else { 5 + step * 31 % 60 };
    let word = |n: u64| format!("{writer}w{}", (step * 1_000 + n) * 2_654_435_761 % 1_000_003);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// When a document with this text is to expire: not while the test runs.
pub fn expires_at(text: &str) -> Option<&'static str> {
    text.len().is_multiple_of(3).then_some("2999-01-01T00:00:00.000Z")
}

/// An error when the server is gone; removing what is not there counts as done.
fn send(agent: &Agent, url: &str, id: &str, text: Option<&str>) -> Result<(), ureq::Error> {
    match text {
        Some(text) => {
            let document = serde_json::json!({
                "id": id, "text": text, "expires_at": expires_at(text),
            });
            let body = document.to_string();
            agent.post(format!("{url}/documents")).content_type("application/json").send(body)?;
        }
        None => {
            let path = id.replace(' ', "%20").replace('/', "%2F");
            match agent.delete(format!("{url}/documents/{path}")).call() {
                Ok(_) | Err(ureq::Error::StatusCode(404)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
