//! A client with ids of its own: adds, replaces, looks up, gets and removes.

use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::json;

use crate::Acknowledged;
use crate::client::Client;
use crate::windows::Windows;

/// So many ids of each writer, so that the collection stops growing.
const IDS: u64 = 100;

const TTL_MS: i64 = 2_000;

pub const JSON: &str = "application/json";

pub struct Writer<'a> {
    number: usize,
    windows: &'a Windows,
    numbers: u64,
    pub client: Client,
    pub acknowledged: Acknowledged,
}

/// Of documents that expire.
pub fn expires(id: &str) -> bool {
    id.starts_with('x')
}

/// A text of 60 words, near those of the same original.
pub fn text(numbers: &mut u64) -> String {
    let original = next(numbers) % 300;
    let mut words: Vec<String> =
        (0..60).map(|at| format!("w{}", (original * 7 + at) * at)).collect();
    words[(next(numbers) % 60) as usize] = format!("e{}", next(numbers) % 1_000);
    words.join(" ")
}

/// Marsaglia, "Xorshift RNGs", 2003.
fn next(numbers: &mut u64) -> u64 {
    *numbers ^= *numbers << 13;
    *numbers ^= *numbers >> 7;
    *numbers ^= *numbers << 17;
    *numbers
}

impl<'a> Writer<'a> {
    pub fn new(number: usize, client: Client, windows: &'a Windows) -> Self {
        let numbers = 88_172_645_463_325_252 + number as u64;
        Self { number, windows, numbers, client, acknowledged: Acknowledged::new() }
    }

    fn below(&mut self, end: u64) -> u64 {
        next(&mut self.numbers) % end
    }

    pub fn step(&mut self) {
        let id = format!("w{}-{}", self.number, next(&mut self.numbers) % IDS);
        match self.below(100) {
            0..30 => self.add(id),
            30..36 => self.add_expiring(),
            36..46 => self.remove(id),
            46..60 => self.get(&id),
            _ => self.look_up(),
        }
    }

    fn add(&mut self, id: String) {
        let text = text(&mut self.numbers);
        let body = json!({"id": id, "text": text}).to_string();
        let (status, body) = self.client.call("add", "POST", "/documents", (JSON, body));
        if status < 300 {
            assert!(!body.contains(r#""skipped""#));
            self.acknowledged.insert(id, Some(text));
        }
    }

    fn add_expiring(&mut self) {
        let id = format!("x{}-{}", self.number, next(&mut self.numbers) % IDS);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let at = Timestamp::from_millisecond(now.as_millis() as i64 + TTL_MS).unwrap();
        let document =
            json!({"id": id, "text": text(&mut self.numbers), "expires_at": at.to_string()});
        let body = (JSON, document.to_string());
        let (status, body) = self.client.call("add expiring", "POST", "/documents", body);
        assert!(status != 422 || body.contains("/expires_at"), "{body}");
    }

    fn remove(&mut self, id: String) {
        let path = format!("/documents/{id}");
        let (status, _) = self.client.call("remove", "DELETE", &path, (JSON, String::new()));
        let there = self.acknowledged.get(&id).is_some_and(Option::is_some);
        match status {
            404 => assert!(!there, "{id} was acknowledged"),
            200..300 => {
                assert!(there, "{id} was removed before");
                self.acknowledged.insert(id, None);
            }
            _ => {}
        }
    }

    fn get(&mut self, id: &str) {
        let path = format!("/documents/{id}");
        let (status, body) = self.client.call("get", "GET", &path, (JSON, String::new()));
        match self.acknowledged.get(id).cloned().flatten() {
            Some(text) if status == 200 => assert!(body.contains(&text), "{id}: {body}"),
            Some(_) => assert_ne!(status, 404, "{id} was acknowledged"),
            None => assert_ne!(status, 200, "{id} was never added, or removed"),
        }
    }

    fn look_up(&mut self) {
        let (operation, text) = (self.windows.now(), text(&mut self.numbers));
        let path = "/similar?threshold=0.8";
        self.client.call(operation, "POST", path, ("text/plain", text));
    }
}
