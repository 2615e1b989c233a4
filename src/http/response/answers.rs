//! Answers to `POST /similar`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::Answer;
use crate::http::problem::ProblemReply;
use crate::http::response::timed::Timed;

pub type AnswerReply = Timed<Answer>;

/// The answer to one probe of several: its near-duplicates, or why it could not be looked up.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ProbeAnswer)]
pub enum ProbeAnswerReply {
    Found(AnswerReply),
    Failed(FailedProbeReply),
}

#[derive(Serialize, ToSchema)]
#[schema(as = FailedProbe)]
pub struct FailedProbeReply {
    pub error: ProblemReply,
}

/// To one probe an answer; to an array of probes an array with an answer for each, in their order.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Answers)]
pub enum AnswersReply {
    One(AnswerReply),
    Many(Vec<ProbeAnswerReply>),
}
