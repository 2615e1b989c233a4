//! Looking near-duplicates up.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde::Serialize;
use tower_http::request_id::RequestId;
use utoipa::ToSchema;

use crate::background::request;
use crate::budget::Reservation;
use crate::document::Content;
use crate::engine::{Answer, Collection, Engine, EngineError, Lookup, MatchDetails, Probe};
use crate::http::bulk::Form;
use crate::http::problem::{Code, Problem, ProblemReply};
use crate::http::request::{
    AnswerMemory, ConditionParameters, LookupBody, LookupOptions, LookupParameters, OwnProbe,
    OwnProbes, PageParameters, PostedProbes, Probes, ProbesBody, Query, Ready, SMALL, StoredId,
    lookup, merged,
};
use crate::http::response::{Broken, JSON, ReplyWriter, reply};
use crate::http::{AppState, metrics, request_id};
use akin_core::text::ShingleSet;
use akin_model::timed::Timed;

/// Probes of one call that are looked up at once, if each has [few](MATCHES_AT_ONCE) matches: the
/// matches of a further probe are held while an answer is written.
const PROBES_AT_ONCE: usize = 4;
const MATCHES_AT_ONCE: usize = 1_000;

/// Look up a stored document
///
/// Returns the near-duplicates of a stored document, or with `k` the most similar documents,
/// without the document itself.
#[utoipa::path(
    get, path = "/similar", operation_id = "similar_to_stored", tag = "Looking up",
    params(StoredId, LookupParameters, ConditionParameters),
    responses((status = 200, description = "Its near-duplicates.", body = AnswerReply)),
)]
pub async fn stored(
    Query((stored, lookup, conditions)): Query<(StoredId, LookupParameters, ConditionParameters)>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    AnswerMemory(memory): AnswerMemory<SMALL>,
) -> Result<Response, Problem> {
    let options = lookup::read(&(lookup, conditions), &state.settings)?;
    reply::stream(JSON, memory, |mut writer| async move {
        let probe = Probe::Stored(stored.id);
        let memory = writer.another(0)?.with_allowance(SMALL);
        let found = look_up(&engine, (probe, None), &options, Arc::new(memory)).await?;
        found.write(&engine, &mut writer).await?;
        Ok(writer)
    })
    .await
}

/// Look up posted documents
///
/// Returns the near-duplicates of a probe, or with `k` the most similar documents; of an array,
/// those of each of its probes. Nothing is stored.
/// Options may stand in the query, for all probes, or in a probe. If a probe of an array cannot be
/// looked up, or is not a probe at all, its answer is `{"error": problem}`, and the other probes
/// are answered. A probe with an `id` and a text is looked up by its text if the id is not stored.
/// To NDJSON with a probe on each line the answer is NDJSON, too.
#[utoipa::path(
    post, path = "/similar", operation_id = "similar_to_posted", tag = "Looking up",
    params(PageParameters, LookupParameters, ConditionParameters),
    request_body(
        content(
            (ProbesBody = "application/json",
                example = json!({"text": "the quick brown fox", "limit": 5})),
            (LookupBody = "application/x-ndjson",
                example = "{\"text\": \"the quick brown fox\"}\n"),
            (String = "text/plain", example = "the quick brown fox"),
            (String = "text/html", example = "<p>the quick brown fox"),
        ),
        description = "One probe, an array of probes, NDJSON, a text, or a page.",
    ),
    responses(
        (status = 200, description = "An answer; to an array of probes an array of answers, and \
            to NDJSON a line for each probe.",
            content((AnswersReply = "application/json"),
                (ProbeAnswerReply = "application/x-ndjson"))),
    ),
)]
pub async fn posted(
    Extension(id): Extension<RequestId>,
    State(state): State<AppState>,
    Ready(engine): Ready,
    PostedProbes { call, probes, memory }: PostedProbes,
) -> Result<Response, Problem> {
    let call = Call::new(call, &state)?;
    match probes {
        Probes::One(probe) => {
            reply::stream(JSON, memory, |mut writer| async move {
                let found = call.find(&engine, probe, Arc::new(writer.another(0)?)).await?;
                found.write(&engine, &mut writer).await?;
                Ok(writer)
            })
            .await
        }
        Probes::Many(form, probes) => {
            let write = |writer| call.answer_all(engine, probes, id, form, writer);
            reply::stream(form.media(), memory, write).await
        }
    }
}

/// The options that a call has for all of its probes.
struct Call {
    given: LookupOptions,
    read: (Lookup, MatchDetails),
    state: AppState,
}

impl Call {
    fn new(given: LookupOptions, state: &AppState) -> Result<Self, Problem> {
        Ok(Self { read: lookup::read(&given, &state.settings)?, given, state: state.clone() })
    }

    async fn find(
        &self,
        engine: &Engine,
        probe: OwnProbe,
        memory: Arc<Reservation>,
    ) -> Result<UnreadAnswer, Problem> {
        let OwnProbe { probe, fallback, options } = probe;
        let Some(own) = options else {
            return look_up(engine, (probe, fallback), &self.read, memory).await;
        };
        let options = merged(Some(own), &self.given)
            .and_then(|options| lookup::read(&options, &self.state.settings));
        let options = options.map_err(|wrong| wrong.in_body(Code::InvalidRequest))?;
        look_up(engine, (probe, fallback), &options, memory).await
    }

    /// How many probes are looked up at once: fewer where their answers are large.
    fn probes_at_once(&self, probes: &[Result<OwnProbe, Problem>]) -> usize {
        let limit =
            |of: &OwnProbe| of.options.as_ref().and_then(|(lookup, _)| lookup.k.or(lookup.limit));
        let own = probes.iter().flatten().filter_map(limit).map(NonZeroUsize::get).max();
        let of_call = self.read.0.k.map_or(self.read.0.limit, NonZeroUsize::get);
        let most = own.unwrap_or(0).max(of_call);
        if most <= MATCHES_AT_ONCE { PROBES_AT_ONCE } else { 1 }
    }

    /// Writes the answers in the order of the probes. The problem of a probe is its answer, but a
    /// fault of the server at the first probe is the answer to the call.
    async fn answer_all(
        self,
        engine: Arc<Collection>,
        probes: OwnProbes,
        request_id: RequestId,
        form: Form,
        mut writer: ReplyWriter,
    ) -> Result<ReplyWriter, Broken> {
        if form == Form::Lines {
            writer = writer.lines();
        }
        let (call, engine, memory) = (&self, &engine, writer.another(0)?);
        let find = async |probe| call.find(engine, probe?, Arc::new(memory.another(0)?)).await;
        let at_once = self.probes_at_once(&probes);
        let mut answers = stream::iter(probes).map(find).buffered(at_once).enumerate();
        let mut separator = if form == Form::Array { "[" } else { "" };
        while let Some((at, found)) = answers.next().await {
            writer.text(separator)?;
            match found {
                Ok(found) => found.write(engine, &mut writer).await?,
                Err(fault) if at == 0 && fault.code.status().is_server_error() => {
                    return Err(fault.into());
                }
                Err(problem) => {
                    problem.log(request_id::text(&request_id));
                    let problem = problem.under(&format!("/{at}"));
                    let error = problem.reply(request_id::text(&request_id));
                    writer.value(&FailedProbeReply { error })?;
                }
            }
            separator = if form == Form::Array { "," } else { "\n" };
            writer.send_if_full().await?;
            // Lookups that wait for nothing must not starve other requests.
            tokio::task::yield_now().await;
        }
        drop(answers);
        writer.text(match (form, separator) {
            (Form::Array, "[") => "[]",
            (Form::Array, _) => "]",
            (Form::Lines, end) => end,
        })?;
        Ok(writer)
    }
}

async fn look_up(
    engine: &Engine,
    (probe, fallback): (Probe, Option<Content>),
    (lookup, include): &(Lookup, MatchDetails),
    memory: Arc<Reservation>,
) -> Result<UnreadAnswer, Problem> {
    let started = Instant::now();
    let similar = async |probe: Probe| {
        let set = if include.highlights { Some(engine.set_of(&probe).await?) } else { None };
        Ok((engine.similar(probe, lookup.clone()).await?, set))
    };
    let looking_up = async {
        match (similar(probe).await, fallback) {
            (Err(EngineError::DocumentNotFound { .. }), Some(content)) => {
                similar(Probe::Content(content)).await
            }
            (found, _) => found,
        }
    };
    // Boxed, as it is large and is moved several times.
    let looking_up = Box::pin(looking_up);
    let (answer, probe) = request::within(Some(Arc::clone(&memory)), looking_up).await?;
    let took = started.elapsed();
    metrics::looked_up(&answer.searched, took);
    Ok(UnreadAnswer { answer, took, include: *include, probe, memory })
}

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
