//! Reads JSON, and names its faults: where it stops being JSON, or which field is not as it should
//! be.

use std::borrow::Borrow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use crate::background;
use crate::http::problem::{Code, Problem, internal, pointer};
use crate::http::request::{hint, page};
use akin_model::json::Any;

/// Bodies up to this size are read on the runtime. That takes 40 microseconds for a text, and a
/// millisecond for thousands of tokens of which the last is wrong.
const INLINE_BYTES_MAX: usize = 32 << 10;

/// A longer pointer to a bad field is left out.
const POINTER_BYTES_MAX: usize = 1 << 10;

/// Reads `json`; what is JSON but not a `T` is a problem of the code `invalid`.
pub fn read<'a, T: Deserialize<'a>>(json: &'a [u8], invalid: Code) -> Result<T, Problem> {
    serde_json::from_slice(json).map_err(|error| match error.classify() {
        Category::Data => explain::<T>(json, invalid, &error),
        Category::Syntax | Category::Eof | Category::Io => malformed(&error),
    })
}

/// The body is not JSON.
pub fn malformed(error: &serde_json::Error) -> Problem {
    Problem::new(Code::MalformedJson, format!("malformed JSON: {error}"))
}

/// The most levels of metadata: common readers take 127, and an answer puts four around it.
const LEVELS_MAX: usize = 123;

/// Checks that a JSON text can be parsed in full, also within an answer: that it has at most
/// [`LEVELS_MAX`] levels, that its strings are Unicode, and that its numbers fit into 64 bits or a
/// double.
pub fn check(json: &str, invalid: Code) -> Result<(), Problem> {
    match serde_json::from_str::<Any<Levels>>(json) {
        Ok(Any(Levels(levels))) if levels <= LEVELS_MAX => Ok(()),
        Ok(_) => {
            let detail = format!("has more than {LEVELS_MAX} levels of arrays and objects");
            Err(Problem::of_field(invalid, "", detail))
        }
        Err(error) => Err(explain::<Any<Levels>>(json.as_bytes(), invalid, &error)),
    }
}

/// How deep arrays and objects lie in each other. They are counted while they are read: a [`Value`]
/// would take many times the memory of its JSON.
struct Levels(usize);

impl From<Value> for Levels {
    fn from(_: Value) -> Self {
        Self(0)
    }
}

impl FromIterator<Self> for Levels {
    fn from_iter<I: IntoIterator<Item = Self>>(items: I) -> Self {
        Self(1 + items.into_iter().map(|Self(levels)| levels).max().unwrap_or(0))
    }
}

impl FromIterator<(String, Self)> for Levels {
    fn from_iter<I: IntoIterator<Item = (String, Self)>>(fields: I) -> Self {
        fields.into_iter().map(|(_, levels)| levels).collect()
    }
}

/// Reads once more to find where the error is: tracking the path costs too much where there is
/// none.
fn explain<'a, T: Deserialize<'a>>(
    json: &'a [u8],
    invalid: Code,
    error: &serde_json::Error,
) -> Problem {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let located = serde_path_to_error::deserialize::<_, T>(&mut deserializer).err();
    wrong((located.map(|located| located.path().clone()), error), invalid)
}

/// The problem of a value that is not as it should be.
pub fn wrong(
    (path, error): (Option<Path>, impl Borrow<serde_json::Error>),
    invalid: Code,
) -> Problem {
    let pointer = path.map_or_else(String::new, |path| shown(pointer_of(&path)));
    let message = error.borrow().to_string();
    Problem::of_field(invalid, pointer, hint::explained(without_place(&message)))
}

/// The pointer, unless it is too long.
pub fn shown(pointer: String) -> String {
    if pointer.len() > POINTER_BYTES_MAX { String::new() } else { pointer }
}

/// The path as a JSON pointer (RFC 6901).
fn pointer_of(path: &Path) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } | Segment::Enum { variant: key } => pointer::to(key),
        Segment::Unknown => "/?".to_owned(),
    };
    path.iter().map(segment).collect()
}

/// The pointer and the name of a field that does not exist, if that was the problem.
pub fn unknown_field(problem: &Problem) -> Option<(String, String)> {
    let error = problem.errors.first()?;
    let key = error.detail.strip_prefix("unknown field `")?.split('`').next()?;
    Some((error.pointer.clone(), key.to_owned()))
}

/// serde_json's message without its " at line 1 column 7", which the pointer says better.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// Runs `work` on a body, off the runtime if the body is large or may have a page.
pub async fn off_runtime_if_long<T: Send + 'static>(
    body: Bytes,
    work: impl FnOnce(Bytes) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    if body.len() <= INLINE_BYTES_MAX && !page::may_be_in(&body) {
        return work(body);
    }
    background::compute(move || work(body)).await.unwrap_or_else(|_| Err(internal()))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn long_work_leaves_the_runtime() {
        let own = thread::current().id();
        let long = format!("{{\"text\": \"{}\"}}", "a".repeat(INLINE_BYTES_MAX));
        for (json, is_long) in [
            (r#"{"text": "<html lang=\"html\">"}"#, false),
            (r#"{"text": "a", "html": "<p>b"}"#, true),
            (r#"{"\u0068tml": "<p>b"}"#, true),
            (r#"{"htm\u006C": "<p>b"}"#, true),
            (r#"{"h\u0074ml": "<p>b"}"#, true),
            (&long, true),
        ] {
            let body = Bytes::copy_from_slice(json.as_bytes());
            let thread = off_runtime_if_long(body, |_| Ok(thread::current().id())).await;
            assert_eq!(thread.unwrap() != own, is_long, "{json:.40}");
        }
    }
}
