use std::fmt;
use std::io::Read;
use std::time::Duration;

use serde::Deserialize;
use ureq::Body;
use ureq::http::Response;

/// Of a problem's body, at most.
const BYTES_MAX: u64 = 64 << 10;

/// What a server says went wrong (RFC 9457), as far as a command line passes it on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Problem {
    pub status: u16,
    pub title: String,
    pub detail: Option<String>,
    pub errors: Vec<FieldError>,
    /// From the header, not the body.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct FieldError {
    pub pointer: String,
    pub detail: String,
}

impl Problem {
    /// From an answer that is not a good one, whoever gave it.
    pub fn read(mut response: Response<Body>) -> Self {
        let status = response.status();
        let mut body = Vec::new();
        // What of the body arrives is better than nothing.
        let _ = response.body_mut().as_reader().take(BYTES_MAX).read_to_end(&mut body);
        let problem = serde_json::from_slice(&body).unwrap_or_else(|_| Self {
            title: format!("the server answers {status}, which no akin does here"),
            ..Self::default()
        });
        let retry_after = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        Self { status: status.as_u16(), retry_after, ..problem }
    }

    /// The same may go well a little later.
    pub fn may_pass(&self) -> bool {
        matches!(self.status, 408 | 429 | 503)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.detail.as_ref().unwrap_or(&self.title);
        f.write_str(told)?;
        // The detail of a problem of one field says all that its error says.
        for error in self.errors.iter().filter(|error| !told.contains(&error.detail)) {
            write!(f, "; {}: {}", error.pointer, error.detail)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(problem: &str) -> String {
        serde_json::from_str::<Problem>(problem).unwrap().to_string()
    }

    #[test]
    fn nothing_is_told_twice() {
        let one =
            r#"{"detail": "/id: too long", "errors": [{"pointer": "/id", "detail": "too long"}]}"#;
        assert_eq!(shown(one), "/id: too long");
        let other = r#"{"title": "Invalid", "errors": [{"pointer": "/id", "detail": "too long"}]}"#;
        assert_eq!(shown(other), "Invalid; /id: too long");
    }
}
