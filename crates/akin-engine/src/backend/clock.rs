//! The clock, which tests can set.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// Returns the time in milliseconds since the epoch. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// The operating system's clock.
    pub fn system() -> Self {
        Self::new(|| Timestamp::now().as_millisecond())
    }

    pub fn new(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
