//! A client that notes how long each call took and how it was answered.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::keys;
use crate::serving::client::Caller;

/// Between a refusal and the next call: less than `Retry-After` says, to keep up the load.
const PAUSE: Duration = Duration::from_millis(5);

/// One call of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub status: u16,
    pub microseconds: u32,
    pub says_when_to_retry: bool,
}

/// By operation.
pub type Calls = BTreeMap<&'static str, Vec<Call>>;

pub struct Client {
    caller: Caller,
    is_greedy: bool,
    pub calls: Calls,
}

impl Client {
    /// With so many keys that their rate is no limit.
    pub fn new(url: &str) -> Self {
        Self { caller: Caller::new(url), is_greedy: false, calls: Calls::new() }
    }

    /// With one key.
    pub fn greedy(url: &str) -> Self {
        Self { is_greedy: true, ..Self::new(url) }
    }

    fn caller(&mut self) -> &Caller {
        let key = if self.is_greedy { keys::GREEDY } else { keys::next() };
        self.caller.key = Some(keys::secret(key));
        &self.caller
    }

    /// Calls once and waits a little if it was refused.
    pub fn call(
        &mut self,
        operation: &'static str,
        method: &str,
        path: &str,
        content: (&str, String),
    ) -> (u16, String) {
        let begin = Instant::now();
        let answer = self.caller().call(method, path, content).expect("every call is answered");
        let call = Call {
            status: answer.status,
            microseconds: begin.elapsed().as_micros() as u32,
            says_when_to_retry: answer.says_when_to_retry,
        };
        self.calls.entry(operation).or_default().push(call);
        if call.status >= 400 && call.status != 404 {
            std::thread::sleep(PAUSE);
        }
        (answer.status, answer.body)
    }

    /// The texts of all documents, by id.
    pub fn export(&mut self) -> BTreeMap<String, String> {
        // While the last requests of the load are still at work, an export may be refused.
        let lines = loop {
            let (status, lines) = self.caller().get("/export").unwrap();
            match status {
                200 => break String::from_utf8(lines).unwrap(),
                503 => std::thread::sleep(PAUSE),
                _ => panic!("{status}: {}", String::from_utf8_lossy(&lines)),
            }
        };
        let document = |line: &str| {
            let document: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| document[name].as_str().unwrap().to_owned();
            (text("id"), text("text"))
        };
        lines.lines().map(document).collect()
    }
}
