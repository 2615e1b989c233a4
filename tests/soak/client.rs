//! A client that notes how long each call took and how it was answered.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;

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
    agent: Agent,
    url: String,
    pub calls: Calls,
}

impl Client {
    pub fn new(url: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        Self { agent: config.into(), url: url.to_owned(), calls: Calls::new() }
    }

    /// Calls once and waits a little if it was refused.
    pub fn call(
        &mut self,
        operation: &'static str,
        method: &str,
        path: &str,
        (media, body): (&str, String),
    ) -> (u16, String) {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        let request = request.header("content-type", media).body(body).unwrap();
        let begin = Instant::now();
        let mut answer = self.agent.run(request).expect("every call is answered");
        let body = answer.body_mut().with_config().limit(u64::MAX).read_to_string().unwrap();
        let status = answer.status().as_u16();
        let call = Call {
            status,
            microseconds: begin.elapsed().as_micros() as u32,
            says_when_to_retry: answer.headers().contains_key("retry-after"),
        };
        self.calls.entry(operation).or_default().push(call);
        if status >= 400 && status != 404 {
            std::thread::sleep(PAUSE);
        }
        (status, body)
    }

    /// The texts of all documents, by id.
    pub fn export(&self) -> BTreeMap<String, String> {
        let mut answer = self.agent.get(format!("{}/export", self.url)).call().unwrap();
        let lines = answer.body_mut().with_config().limit(u64::MAX).read_to_string().unwrap();
        let document = |line: &str| {
            let document: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| document[name].as_str().unwrap().to_owned();
            (text("id"), text("text"))
        };
        lines.lines().map(document).collect()
    }
}
