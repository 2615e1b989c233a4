//! Documents as lines of JSON.

use serde::Deserialize;
use serde_json::error::Category;
use serde_path_to_error::Segment;

use akin_model::content::{FieldsBody, Object, content};
use akin_model::document::{Content, DocumentId, Token};

/// A document that is compared without a server. All other members are ignored.
#[derive(Deserialize)]
struct CorpusDocument {
    id: Option<DocumentId>,
    text: Option<String>,
    tokens: Option<Vec<Token>>,
    fields: Option<FieldsBody>,
}

/// Reads the content of a document in a file, and its id, if it has an id.
///
/// # Errors
/// The fault of the document.
pub fn corpus_document(json: &[u8]) -> Result<(Option<DocumentId>, Content), String> {
    let document = serde_json::from_slice::<Object<CorpusDocument>>(json);
    let Object(body) = document.map_err(|error| fault(json, &error))?;
    let content = content(body.text, body.tokens, body.fields, None);
    Ok((body.id, content.ok_or("a document has exactly one of text, tokens and fields")?))
}

/// The longest fault, in characters: it may quote the document.
const FAULT_CHARS_MAX: usize = 400;

/// Reads once more to find where the fault is: tracking the path costs too much where there is
/// none.
fn fault(json: &[u8], error: &serde_json::Error) -> String {
    if error.classify() != Category::Data {
        return format!("malformed JSON: {error}");
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let located =
        serde_path_to_error::deserialize::<_, Object<CorpusDocument>>(&mut deserializer).err();
    let segment = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } | Segment::Enum { variant: key } => format!("/{key}"),
        Segment::Unknown => "/?".to_owned(),
    };
    let pointer: String =
        located.iter().flat_map(|error| error.path().iter()).map(segment).collect();
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    let colon = if pointer.is_empty() { "" } else { ": " };
    format!("{pointer}{colon}{message}").chars().take(FAULT_CHARS_MAX).collect()
}
