//! Answers to lookups.

use std::mem;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::budget::Reservation;
use crate::engine::{Answer, Engine, Match, MatchDetails};
use crate::http::problem::ProblemReply;
use crate::http::response::pieces::{Broken, Pieces};
use crate::http::response::timed::Timed;

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

/// The beginning of an answer, with the matches as its first field.
const BEGINNING: &str = r#"{"matches":["#;

/// Matches that give back their memory together, once they were sent.
const MATCHES_AT_ONCE_MAX: usize = 256;

/// An answer with details that are still to be read.
pub struct Found {
    pub answer: AnswerReply,
    pub include: MatchDetails,
    /// The memory of the matches.
    pub memory: Reservation,
}

impl Found {
    /// Writes the answer: details are read block by block, and dropped once they are written.
    /// `on_one_line`: without line breaks.
    ///
    /// # Errors
    /// [`Broken`]
    pub async fn write(
        mut self,
        engine: &Engine,
        pieces: &mut Pieces,
        on_one_line: bool,
    ) -> Result<(), Broken> {
        let mut matches = mem::take(&mut self.answer.result_mut().matches);
        let frame = serde_json::to_vec(&self.answer).expect("answers are plain JSON");
        let (beginning, end) = frame.split_at(BEGINNING.len());
        debug_assert_eq!(beginning, BEGINNING.as_bytes());
        pieces.push(beginning);
        let at_once = engine.details_at_once(self.include).min(MATCHES_AT_ONCE_MAX);
        let (own, is_one_block) = (Arc::new(self.memory), matches.len() <= at_once);
        let mut is_first = true;
        for block in matches.chunks_mut(at_once) {
            let memory = if is_one_block { Arc::clone(&own) } else { Arc::new(own.beside(0)?) };
            engine.read_details(block, self.include, Some(&memory)).await?;
            for found in block {
                if !mem::take(&mut is_first) {
                    pieces.push(b",");
                }
                match on_one_line {
                    true => pieces.write_on_one_line(found),
                    false => pieces.write(found),
                }
                drop_details(found);
                pieces.hold(&memory);
                pieces.flush_if_full().await?;
            }
        }
        pieces.push(end);
        pieces.hold(&own);
        Ok(())
    }
}

fn drop_details(found: &mut Match) {
    let Match { metadata, text, tokens, fields, signature, .. } = found;
    (*metadata, *text, *tokens, *fields, *signature) = (None, None, None, None, None);
}
