//! Fuzz targets of the readers of requests.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ServerSettings;
use super::bulk::{Form, Splitter};
use super::problem::Problem;
use super::request::{
    AddParameters, ClusterParameters, CompareParameters, ConditionParameters, CurveParameters,
    ExportParameters, GetParameters, JsonCall, ListParameters, LookupParameters, PageParameters,
    PageReader, PairMembers, RecallParameters, StoredPair, TextParameters,
};
use super::request::{bodies, probes, query, settings};
use crate::document::{Document, DocumentId};
use akin_model::json::Any;
use akin_model::time::Time;

/// The longest problem, however long the body: its detail and its pointer are cut.
const PROBLEM_BYTES_MAX: usize = 8 << 10;

/// A JSON body, of the kind that the first byte says.
pub fn json(input: &[u8]) {
    let Some((kind, body)) = input.split_first() else { return };
    match kind % 8 {
        0 => read_document(body),
        1 => is_short(bodies::change(body)),
        2 => is_short(probes::probe(body, &pages())),
        3 => is_short(probes::array(body, &pages())),
        4 => is_short(probes::lines(body, &pages())),
        5 => is_short(JsonCall::<PairMembers>::read(
            body,
            &CompareParameters::default(),
            &ServerSettings::default(),
        )),
        _ => read_settings(body),
    }
}

fn pages() -> PageReader {
    PageReader::new(PageParameters::default(), bodies::CODE, None)
}

fn is_short<T>(read: Result<T, Problem>) {
    let Err(problem) = read else { return };
    let fields = problem.errors.iter().map(|error| error.pointer.len() + error.detail.len());
    let bytes = problem.detail.len() + fields.sum::<usize>();
    assert!(bytes <= PROBLEM_BYTES_MAX, "a problem of {bytes} bytes: {:.200}", problem.detail);
}

/// A request that was read and written again is read as the same request.
fn read_document(body: &[u8]) {
    let call = AddParameters::default();
    let document = match bodies::document(body, None, &call, &pages()) {
        Ok((document, _)) => document,
        Err(problem) => return is_short::<()>(Err(problem)),
    };
    let again = bodies::document(written(&document).to_string().as_bytes(), None, &call, &pages());
    let (again, _) = again.unwrap_or_else(|problem| panic!("{document:?}: {}", problem.detail));
    // Metadata is kept as text, in which numbers may be written in several ways.
    let metadata = |document: &Document| -> Option<Value> {
        let metadata = document.metadata.as_ref()?;
        Some(metadata.value().expect("metadata was checked"))
    };
    assert_eq!(metadata(&again), metadata(&document));
    assert_eq!(Document { metadata: document.metadata.clone(), ..again }, document);
    let other = DocumentId::new("another id").expect("it is a valid id");
    let is_its_own = document.id == other;
    let is_named =
        serde_json::from_slice::<Any<Value>>(body).is_ok_and(|Any(body)| !body["id"].is_null());
    assert_eq!(
        bodies::document(body, Some(other), &call, &pages()).is_ok(),
        is_its_own || !is_named
    );
}

fn written(document: &Document) -> Value {
    let mut body = json!(document.content);
    body["id"] = json!(document.id);
    if let Some(metadata) = &document.metadata {
        body["metadata"] = metadata.value().expect("metadata was checked");
    }
    if let Some(expires_at_ms) = document.expires_at_ms {
        body["expires_at"] = json!(Time(expires_at_ms));
    }
    body
}

/// Settings that were read are written and read as the same.
fn read_settings(body: &[u8]) {
    let settings = match settings::read(body) {
        Ok(settings) => settings,
        Err(problem) => return is_short::<()>(Err(problem)),
    };
    settings.faults();
    let written = json!(settings).to_string();
    let again = settings::read(written.as_bytes());
    assert_eq!(again.ok(), Some(settings), "{written}");
}

/// A bulk body after two bytes: its form, and the size of the chunks in which it arrives.
pub fn ndjson(input: &[u8]) {
    let &[form, size, ref body @ ..] = input else { return };
    let form = if form % 2 == 0 { Form::Lines } else { Form::Array };
    let bytes_max = 200;
    let whole = split(form, bytes_max, body, usize::MAX);
    let chunked = split(form, bytes_max, body, usize::from(size).max(1));
    assert_eq!(chunked, whole, "in chunks of {size}");
    assert!(whole.iter().is_sorted_by(|(a, _), (b, _)| a < b), "numbers ascend");
    for item in whole.iter().flat_map(|(_, item)| item) {
        assert!(!item.is_empty() && item.len() <= bytes_max);
    }
    let expected: Vec<Bytes> = match form {
        Form::Lines => {
            let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            lines.filter(|line| !line.is_empty()).map(Bytes::copy_from_slice).collect()
        }
        Form::Array => {
            let Ok(elements) = serde_json::from_slice::<Vec<&RawValue>>(body) else { return };
            elements.iter().map(|raw| Bytes::copy_from_slice(raw.get().as_bytes())).collect()
        }
    };
    let is_cut = |(_, item): &Numbered| item.is_err();
    if !whole.iter().any(is_cut) {
        assert!(whole.into_iter().filter_map(|(_, item)| item.ok()).eq(expected));
    }
}

type Numbered = (u64, Result<Bytes, Problem>);

fn split(form: Form, bytes_max: usize, body: &[u8], size: usize) -> Vec<Numbered> {
    let mut splitter = Splitter::new(form, bytes_max);
    let mut items = Vec::new();
    for chunk in body.chunks(size) {
        splitter.push(Bytes::copy_from_slice(chunk));
        items.extend(std::iter::from_fn(|| splitter.next()));
        if splitter.has_ended() {
            break;
        }
    }
    items.extend(splitter.finish());
    items.into_iter().map(|item| (item.number, item.content)).collect()
}

/// A query string, read as that of each call.
pub fn query_string(input: &[u8]) {
    let query = String::from_utf8_lossy(input);
    read_query::<(LookupParameters, ConditionParameters)>(&query);
    read_query::<(TextParameters, AddParameters)>(&query);
    read_query::<GetParameters>(&query);
    read_query::<(ListParameters, ConditionParameters)>(&query);
    read_query::<(ClusterParameters, ConditionParameters)>(&query);
    read_query::<ExportParameters>(&query);
    read_query::<CurveParameters>(&query);
    read_query::<RecallParameters>(&query);
    read_query::<StoredPair>(&query);
}

/// Neither the order of parameters nor how they are escaped decides whether they are accepted.
fn read_query<T: DeserializeOwned>(query: &str) {
    let is_accepted = query::read::<T>(query).is_ok();
    is_short(query::read::<T>(query));
    let mut pairs: Vec<(String, String)> =
        form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    pairs.reverse();
    let reversed = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    assert_eq!(query::read::<T>(&reversed).is_ok(), is_accepted, "{query} and {reversed}");
}
