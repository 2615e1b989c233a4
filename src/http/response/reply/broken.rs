//! Why the writing of an answer ended.

use crate::budget::Exhausted;
use crate::engine::EngineError;
use crate::http::problem::Problem;

/// Why an answer is not whole.
pub enum Broken {
    /// The client has gone.
    Gone,
    Failed(Problem),
}

impl From<Problem> for Broken {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<EngineError> for Broken {
    fn from(error: EngineError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Exhausted> for Broken {
    fn from(exhausted: Exhausted) -> Self {
        Self::Failed(exhausted.into())
    }
}
