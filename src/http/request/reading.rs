//! Reading a request's body: in chunks as they arrive, or completely within a limit.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use crate::budget::{Purpose, Reservation, decoded_json_bytes};
use crate::http::AppState;
use crate::http::connection::admission::Admission;
use crate::http::problem::{Code, Problem};
use crate::http::settings::BODY_BYTES_PER_S_MIN;

/// Bytes of memory reserved for each byte of a body: itself while it is joined from chunks, and the
/// text and the set that are made from it.
const BYTES_PER_BYTE: usize = 4;

/// The type of a body, by its `content-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Json,
    MergePatch,
    Ndjson,
    Text,
    Html,
}

impl Media {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::MergePatch => "application/merge-patch+json",
            Self::Ndjson => "application/x-ndjson",
            Self::Text => "text/plain",
            Self::Html => "text/html",
        }
    }

    /// The body's media type, if `taken` has it.
    pub fn of(headers: &HeaderMap, taken: &[Self]) -> Result<Self, Problem> {
        let value = headers.get(header::CONTENT_TYPE);
        let value = value.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let mut parts = value.as_deref().unwrap_or_default().split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let media = taken.iter().find(|media| media.name().eq_ignore_ascii_case(essence));
        let is_read = |media: &Self| *media == Self::Html || parts.all(is_utf_8_or_no_charset);
        media.copied().filter(is_read).ok_or_else(|| {
            let names: Vec<_> = taken.iter().map(|media| media.name()).collect();
            let quoted = value.as_deref().map(|value| format!("'{value:.100}'"));
            let given = quoted.as_deref().unwrap_or("absent");
            let names = names.join(" or ");
            let detail = format!("the content-type must be {names}, in UTF-8; it is {given}");
            Problem::new(Code::UnsupportedMediaType, detail)
        })
    }
}

fn is_utf_8_or_no_charset(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return true };
    !name.trim().eq_ignore_ascii_case("charset")
        || matches!(&*value.trim().trim_matches('"').to_ascii_lowercase(), "utf-8" | "utf8")
}

/// A body that is being read.
pub struct BodyReader {
    stream: BodyDataStream,
    /// Read already, and to be returned again.
    peeked: Option<Bytes>,
    /// White space that was dropped, which counts towards the limit of the body.
    dropped_bytes: usize,
    patience: Patience,
    /// The memory of the request.
    pub memory: Arc<Reservation>,
    /// The permit of the request; `None` if the request is not limited or has a permit of another
    /// kind.
    admission: Option<Arc<Admission>>,
    /// The permit is a permit to wait.
    is_waiting: bool,
    /// The length that the client announced, if the body is uncompressed.
    bytes_announced: u64,
    /// The most bytes of a body that is one document.
    pub document_bytes_max: usize,
}

/// Reads a complete body of JSON of at most `bytes_max` bytes, or fewer if `body_bytes_max` is.
pub async fn whole_json(
    request: Request,
    state: &AppState,
    bytes_max: usize,
) -> Result<Bytes, Problem> {
    let (parts, body) = request.into_parts();
    Media::of(&parts.headers, &[Media::Json])?;
    let reader = BodyReader::new(body, &parts.extensions, state);
    reader.whole_json(bytes_max.min(state.settings.body_bytes_max), Code::BodyTooLarge).await
}

impl BodyReader {
    pub fn new(body: Body, extensions: &Extensions, state: &AppState) -> Self {
        let memory = extensions.get::<Arc<Reservation>>().cloned();
        Self {
            memory: memory.unwrap_or_else(|| Arc::new(state.budget.reservation(Purpose::Bodies))),
            document_bytes_max: state.settings.document_bytes_max,
            bytes_announced: body.size_hint().lower(),
            stream: body.into_data_stream(),
            peeked: None,
            admission: extensions.get().cloned(),
            is_waiting: false,
            dropped_bytes: 0,
            patience: Patience::new(state.settings.body_idle_timeout_ms, BODY_BYTES_PER_S_MIN),
        }
    }

    /// Waits for the next bytes; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Problem> {
        if self.peeked.is_some() {
            return Ok(self.peeked.take());
        }
        let waiting_since = Instant::now();
        let next = match self.stream.next().now_or_never() {
            Some(next) => next,
            None => self.wait().await?,
        };
        let chunk = next.transpose().map_err(|_| {
            let detail = "the body ended early, does not have the content-encoding of its header, \
                          or has a zstd window of more than 8 MiB";
            Problem::new(Code::UnreadableBody, detail)
        })?;
        self.patience.arrived(chunk.as_ref().map_or(0, Bytes::len), waiting_since.elapsed());
        Ok(chunk)
    }

    /// Waits for the next bytes. Until the body is whole, the request makes no work that delays
    /// other requests.
    async fn wait(&mut self) -> Result<Option<Result<Bytes, axum::Error>>, Problem> {
        if let Some(admission) = &self.admission
            && !std::mem::replace(&mut self.is_waiting, true)
        {
            admission.wait()?;
        }
        let next = tokio::time::timeout(self.patience.left, self.stream.next()).await;
        next.map_err(|_| self.patience.exhausted())
    }

    /// The request is worked on from here on.
    fn work(&mut self) -> Result<(), Problem> {
        match &self.admission {
            Some(admission) if std::mem::take(&mut self.is_waiting) => admission.work(),
            _ => Ok(()),
        }
    }

    /// The documents of the body are worked on as they arrive, with a permit of another kind.
    ///
    /// # Errors
    /// `overloaded`, `too_many_requests`
    pub fn streamed(mut self) -> Result<Self, Problem> {
        self.work()?;
        self.admission = None;
        Ok(self)
    }

    /// Waits for the first bytes, which will be read again. A client that never sends them takes
    /// no permit of a bulk request; and the server sends `100 Continue` only while it waits for
    /// the first bytes before its answer begins.
    pub async fn begin(&mut self) -> Result<(), Problem> {
        self.peeked = self.chunk().await?;
        Ok(())
    }

    /// The first byte that is not white space. It will be read again; pieces of white space before
    /// it are dropped, and count towards `document_bytes_max`.
    pub async fn peek(&mut self) -> Result<Option<u8>, Problem> {
        while let Some(chunk) = self.chunk().await? {
            if let Some(first) = chunk.trim_ascii_start().first().copied() {
                self.peeked = Some(chunk);
                return Ok(Some(first));
            }
            self.dropped_bytes += chunk.len();
            if self.dropped_bytes > self.document_bytes_max {
                return Err(too_large(Code::DocumentTooLarge, self.document_bytes_max));
            }
        }
        Ok(None)
    }

    /// Reads all of the body, and reserves the memory that its values take.
    pub async fn whole_json(self, bytes_max: usize, code: Code) -> Result<Bytes, Problem> {
        let memory = Arc::clone(&self.memory);
        let body = self.whole(bytes_max, code).await?;
        memory.grow(decoded_json_bytes(&body))?;
        Ok(body)
    }

    /// Reads all of a body of plain text.
    pub async fn text(self) -> Result<String, Problem> {
        let body = self.whole_document().await?;
        String::from_utf8(body.into()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Problem::new(Code::MalformedText, format!("the text is not UTF-8: byte {at} is wrong"))
        })
    }

    /// Reads all of a body that is one document.
    pub async fn whole_document(self) -> Result<Bytes, Problem> {
        let bytes_max = self.document_bytes_max;
        self.whole(bytes_max, Code::DocumentTooLarge).await
    }

    /// Reads all of the body, unless it has more than `bytes_max` bytes.
    pub async fn whole(mut self, bytes_max: usize, code: Code) -> Result<Bytes, Problem> {
        let left = bytes_max.checked_sub(self.dropped_bytes);
        let left = left.filter(|_| self.bytes_announced <= bytes_max as u64);
        let left = left.ok_or_else(|| too_large(code, bytes_max))?;
        let mut whole = Bytes::new();
        while let Some(chunk) = self.chunk().await? {
            if whole.len() + chunk.len() > left {
                return Err(too_large(code, bytes_max));
            }
            self.memory.grow(chunk.len() * BYTES_PER_BYTE)?;
            // A body of one chunk is not copied.
            whole = if whole.is_empty() { chunk } else { joined(whole, &chunk) };
        }
        self.work()?;
        Ok(whole)
    }
}

/// Appends a chunk. Of a body that was joined before only the chunk is copied.
fn joined(body: Bytes, chunk: &[u8]) -> Bytes {
    let mut joined = BytesMut::from(body);
    joined.extend_from_slice(chunk);
    joined.freeze()
}

fn too_large(code: Code, bytes_max: usize) -> Problem {
    let what = if code == Code::DocumentTooLarge { "document" } else { "body" };
    Problem::new(code, format!("the {what} has more than the {bytes_max} bytes allowed"))
}

/// How long a client may still be waited for. Waiting uses it up, and each byte adds the time that
/// it takes at the minimum rate. So neither a client that pauses nor a client that trickles holds
/// the permits of a request for long.
pub struct Patience {
    left: Duration,
    max: Duration,
    bytes_per_s_min: u64,
}

impl Patience {
    /// `bytes_per_s_min`: 0 for no minimum rate.
    pub fn new(max_ms: u64, bytes_per_s_min: u64) -> Self {
        let max = Duration::from_millis(max_ms);
        Self { left: max, max, bytes_per_s_min }
    }

    /// Uses up the time that a client took for `bytes`; false if it took longer than it may.
    pub fn allows(&mut self, waited: Duration, bytes: usize) -> bool {
        let is_within = waited <= self.left;
        self.arrived(bytes, waited);
        is_within
    }

    fn arrived(&mut self, bytes: usize, waited: Duration) {
        let micros = (bytes as u64).saturating_mul(1_000_000).checked_div(self.bytes_per_s_min);
        self.left = match micros {
            Some(micros) => {
                (self.left.saturating_sub(waited) + Duration::from_micros(micros)).min(self.max)
            }
            // Without a minimum rate every byte is enough.
            None => self.max,
        };
    }

    fn exhausted(&self) -> Problem {
        let (ms, rate) = (self.max.as_millis(), self.bytes_per_s_min);
        let detail = format!(
            "the body arrived too slowly: the server waits for {ms} ms (body_idle_timeout_ms) \
             beyond the time that it takes at {rate} bytes per second"
        );
        Problem::new(Code::BodyTimeout, detail)
    }
}
