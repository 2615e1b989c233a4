use std::fmt;
use std::io::Read;
use std::time::Duration;

use serde::Deserialize;

use super::Response;
use akin_model::problem::FieldError;

/// The longest body of a problem that is read.
const BYTES_MAX: u64 = 64 << 10;

/// The problem that a server answers with (RFC 9457): the members that are shown.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServerProblem {
    pub status: u16,
    /// Empty if the server is not akin.
    pub code: String,
    pub title: String,
    pub detail: Option<String>,
    pub errors: Vec<FieldError>,
    /// The header `Retry-After`.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

impl ServerProblem {
    /// Reads an answer with an error status, from akin or from a proxy.
    pub fn read(mut response: Response) -> Self {
        let status = response.status();
        let mut body = Vec::new();
        // A part of the body is better than nothing.
        let _ = response.body_mut().take(BYTES_MAX).read_to_end(&mut body);
        let problem = serde_json::from_slice(&body).unwrap_or_else(|_| Self {
            title: format!("the server answers {status}, as akin does not"),
            ..Self::default()
        });
        let retry_after = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        Self { status: status.as_u16(), retry_after, ..problem }
    }

    /// Whether another try may succeed.
    pub fn is_temporary(&self) -> bool {
        matches!(self.status, 408 | 429 | 503)
    }
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = self.detail.as_ref().unwrap_or(&self.title);
        f.write_str(summary)?;
        // The detail of a problem with a single field repeats the field's error.
        for error in self.errors.iter().filter(|error| !summary.contains(&error.detail)) {
            write!(f, "; {}: {}", error.pointer, error.detail)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(problem: &str) -> String {
        serde_json::from_str::<ServerProblem>(problem).unwrap().to_string()
    }

    #[test]
    fn a_problem_does_not_repeat_its_title() {
        let one =
            r#"{"detail": "/id: too long", "errors": [{"pointer": "/id", "detail": "too long"}]}"#;
        assert_eq!(shown(one), "/id: too long");
        let other = r#"{"title": "Invalid", "errors": [{"pointer": "/id", "detail": "too long"}]}"#;
        assert_eq!(shown(other), "Invalid; /id: too long");
    }
}
