//! A client that knows the difference between a refusal and silence.

use serde_json::Value;

use crate::serving::client::Caller;

/// A status and a body. The error: the server is gone, so whether it did anything is unknown.
pub type Answer = Result<(u16, String), ureq::Error>;

#[derive(Clone)]
pub struct Client {
    caller: Caller,
}

impl Client {
    pub fn new(url: &str) -> Self {
        Self { caller: Caller::new(url) }
    }

    pub fn call(&self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        let answer = self.caller.call(method, path, (media, body.to_owned()))?;
        Ok((answer.status, answer.body))
    }

    pub fn get(&self, path: &str) -> Answer {
        let (status, body) = self.caller.get(path)?;
        Ok((status, String::from_utf8(body).unwrap()))
    }

    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, ureq::Error> {
        self.caller.get(path).map(|(_, body)| body)
    }

    pub fn json(&self, path: &str) -> Result<Value, ureq::Error> {
        self.get(path).map(|(_, body)| serde_json::from_str(&body).unwrap_or_default())
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, "application/json", &body.to_string())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, "text/plain", "")
    }
}
