//! A client that knows the difference between a refusal and silence.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;

/// A status and a body. The error: the server is gone, so whether it did anything is unknown.
pub type Answer = Result<(u16, String), ureq::Error>;

#[derive(Clone)]
pub struct Client {
    agent: Agent,
    pub url: String,
}

impl Client {
    pub fn new(url: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        Self { agent: config.into(), url: url.to_owned() }
    }

    pub fn call(&self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", media)
            .body(body.to_owned())
            .unwrap();
        let mut answer = self.agent.run(request)?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(u64::MAX).read_to_string()?;
        Ok((status, body))
    }

    pub fn get(&self, path: &str) -> Answer {
        let mut answer = self.agent.get(format!("{}{path}", self.url)).call()?;
        let status = answer.status().as_u16();
        Ok((status, answer.body_mut().with_config().limit(u64::MAX).read_to_string()?))
    }

    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, ureq::Error> {
        let mut answer = self.agent.get(format!("{}{path}", self.url)).call()?;
        answer.body_mut().with_config().limit(u64::MAX).read_to_vec()
    }

    pub fn json(&self, path: &str) -> Result<Value, ureq::Error> {
        self.get(path).map(|(_, body)| serde_json::from_str(&body).unwrap_or_default())
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, "application/json", &body.to_string())
    }

    pub fn delete(&self, path: &str) -> Answer {
        let mut answer = self.agent.delete(format!("{}{path}", self.url)).call()?;
        let status = answer.status().as_u16();
        Ok((status, answer.body_mut().read_to_string()?))
    }
}
