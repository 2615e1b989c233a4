//! Answers to lookups.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::background::request;
use crate::budget::Reservation;
use crate::engine::{Answer, Engine, MatchDetails};
use crate::http::problem::ProblemReply;
use crate::http::response::{Broken, ReplyWriter};
use akin_core::text::ShingleSet;
use akin_model::timed::Timed;

pub type AnswerReply = Timed<Answer>;

/// The answer to a probe of several probes: its near-duplicates, or why it could not be looked up.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = ProbeAnswer)]
#[expect(dead_code, reason = "it documents what is written piece by piece")]
pub enum ProbeAnswerReply {
    Found(AnswerReply),
    Failed(FailedProbeReply),
}

#[derive(Serialize, ToSchema)]
#[schema(as = FailedProbe)]
pub struct FailedProbeReply {
    pub error: ProblemReply,
}

/// An answer to a probe; an array of answers to an array of probes, in the order of the probes.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = Answers)]
#[expect(dead_code, reason = "it documents what is written piece by piece")]
pub enum AnswersReply {
    One(AnswerReply),
    Many(Vec<ProbeAnswerReply>),
}

/// Matches that give back their memory together, once they were sent.
const MATCHES_AT_ONCE_MAX: usize = 256;

/// An answer with details that are still to be read.
pub struct UnreadAnswer {
    pub answer: Answer,
    pub took: Duration,
    pub include: MatchDetails,
    /// The set of the probe, if the parts that matches share with it are included.
    pub probe: Option<ShingleSet>,
    /// The memory of the matches.
    pub memory: Arc<Reservation>,
}

impl UnreadAnswer {
    /// Writes the answer: details are read block by block, and dropped once they are written.
    ///
    /// # Errors
    /// [`Broken`]
    pub async fn write(self, engine: &Engine, writer: &mut ReplyWriter) -> Result<(), Broken> {
        let Answer { mut matches, searched } = self.answer;
        let at_once = engine.details_at_once(self.include).min(MATCHES_AT_ONCE_MAX);
        let (own, is_one_block) = (self.memory, matches.len() <= at_once);
        let mut list = writer.list("matches")?;
        for block in matches.chunks_mut(at_once) {
            let memory = if is_one_block { Arc::clone(&own) } else { Arc::new(own.another(0)?) };
            let reading = engine.read_details(block, self.include, self.probe.as_ref());
            request::within(Some(Arc::clone(&memory)), reading).await?;
            for found in block {
                list.element(&*found, &memory).await?;
                (found.metadata, found.content, found.highlights) = (None, None, None);
            }
        }
        list.end(&Timed::new(searched, self.took))?;
        writer.hold(&own);
        Ok(())
    }
}
