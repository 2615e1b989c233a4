//! Looking near-duplicates up.

use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, TryStreamExt, stream};
use tower_http::request_id::RequestId;

use crate::budget::{Purpose, Reservation};
use crate::engine::{Conditions, Engine, Lookup, Probe};
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::{ById, Probing};
use crate::http::request::extract::Ready;
use crate::http::request::lookup::{ConditionParameters, LookupOptions, LookupParameters};
use crate::http::request::parameters::StoredId;
use crate::http::request::probes::{LookupBody, OwnProbe, Probes, ProbesBody};
use crate::http::request::query::Query;
use crate::http::response::answers::{
    AnswerReply, AnswersReply, FailedProbeReply, ProbeAnswerReply,
};
use crate::http::response::json::{CountedJson, CountedLines};
use crate::http::response::timed::Timed;
use crate::http::{AppState, ServerSettings, metrics, request_id};

/// Probes of one call that are looked up at once.
const PROBES_AT_ONCE: usize = 4;

/// Memory of an answer about a stored document that is not counted, so that small lookups go on
/// when the budget is exhausted.
pub(super) const SMALL_BYTES_MAX: usize = 128 << 10;

/// Look up a stored document
///
/// Returns the near-duplicates of a stored document, without the document itself.
#[utoipa::path(
    get, path = "/similar", operation_id = "similar_to_stored", tag = "Looking up",
    params(StoredId, LookupParameters, ConditionParameters),
    responses((status = 200, description = "Its near-duplicates.", body = AnswerReply), ById),
)]
pub async fn stored(
    Query((stored, lookup, conditions)): Query<(StoredId, LookupParameters, ConditionParameters)>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<CountedJson<AnswerReply>, Problem> {
    let options = LookupOptions { lookup, conditions }.read(&state.settings)?;
    let memory = state.budget.reservation(Purpose::Answers).with_allowance(SMALL_BYTES_MAX);
    let answer = look_up(&engine, Probe::Stored(stored.id), &options, &memory).await?;
    Ok(CountedJson(answer, memory))
}

/// Look up posted documents
///
/// Returns the near-duplicates of a probe, or of each of an array of probes; nothing is stored.
/// Options may stand in the query, for all probes, or in a probe. If a probe of an array cannot be
/// looked up, or is not a probe at all, its answer is `{"error": problem}`, and the others are
/// answered. To NDJSON with a probe on each line the answer is NDJSON, too.
#[utoipa::path(
    post, path = "/similar", operation_id = "similar_to_posted", tag = "Looking up",
    params(LookupParameters, ConditionParameters),
    request_body(
        content(
            (ProbesBody = "application/json",
                example = json!({"text": "the quick brown fox", "limit": 5})),
            (LookupBody = "application/x-ndjson",
                example = "{\"text\": \"the quick brown fox\"}\n"),
            (String = "text/plain", example = "the quick brown fox"),
        ),
        description = "One probe, an array of probes, NDJSON, or a text.",
    ),
    responses(
        (status = 200, description = "An answer; to an array of probes an array of answers, and \
            to NDJSON a line for each probe.",
            content((AnswersReply = "application/json"),
                (ProbeAnswerReply = "application/x-ndjson"))),
        Probing,
    ),
)]
pub async fn posted(
    Query((lookup, conditions)): Query<(LookupParameters, ConditionParameters)>,
    Extension(id): Extension<RequestId>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    probes: Probes,
) -> Result<Response, Problem> {
    let call = Call::new(LookupOptions { lookup, conditions }, &state)?;
    let id = request_id::text(&id);
    Ok(match probes {
        Probes::One(probe) => {
            let answer = AnswersReply::One(call.answer(&engine, probe).await?);
            CountedJson(answer, call.memory).into_response()
        }
        Probes::Array(probes) => {
            let answers = AnswersReply::Many(call.answer_all(&engine, probes, id).await?);
            CountedJson(answers, call.memory).into_response()
        }
        Probes::Lines(probes) => {
            CountedLines(call.answer_all(&engine, probes, id).await?, call.memory).into_response()
        }
    })
}

/// The options that a call has for all of its probes.
struct Call<'a> {
    given: LookupOptions,
    read: (Lookup, Conditions),
    settings: &'a ServerSettings,
    /// The memory of all answers.
    memory: Reservation,
}

impl<'a> Call<'a> {
    fn new(given: LookupOptions, state: &'a AppState) -> Result<Self, Problem> {
        let settings = &state.settings;
        let memory = state.budget.reservation(Purpose::Answers);
        Ok(Self { read: given.read(settings)?, given, settings, memory })
    }

    async fn answer(&self, engine: &Engine, probe: OwnProbe) -> Result<AnswerReply, Problem> {
        let (probe, Some(own)) = probe else {
            return look_up(engine, probe.0, &self.read, &self.memory).await;
        };
        let options = own.with(&self.given).and_then(|options| options.read(self.settings));
        let options = options.map_err(|wrong| wrong.in_body(Code::InvalidRequest))?;
        look_up(engine, probe, &options, &self.memory).await
    }

    /// # Errors
    /// Faults of the server: what is wrong with a probe is in its answer.
    async fn answer_all(
        &self,
        engine: &Engine,
        probes: Vec<Result<OwnProbe, Problem>>,
        request_id: &str,
    ) -> Result<Vec<ProbeAnswerReply>, Problem> {
        let answer = |(at, probe): (usize, Result<OwnProbe, Problem>)| async move {
            let answer = match probe {
                Ok(probe) => self.answer(engine, probe).await,
                Err(problem) => Err(problem),
            };
            match answer {
                Ok(answer) => Ok(ProbeAnswerReply::Found(answer)),
                Err(problem) if problem.code.status().is_server_error() => Err(problem),
                Err(problem) => {
                    let error = problem.under(&format!("/{at}")).reply(request_id);
                    Ok(ProbeAnswerReply::Failed(FailedProbeReply { error }))
                }
            }
        };
        stream::iter(probes.into_iter().enumerate())
            .map(answer)
            .buffered(PROBES_AT_ONCE)
            .try_collect()
            .await
    }
}

async fn look_up(
    engine: &Engine,
    probe: Probe,
    (lookup, conditions): &(Lookup, Conditions),
    memory: &Reservation,
) -> Result<AnswerReply, Problem> {
    let started = Instant::now();
    let answer = engine.similar_within(probe, *lookup, conditions, Some(memory)).await?;
    let took = started.elapsed();
    metrics::looked_up(&answer, took);
    Ok(Timed::new(answer, took))
}
