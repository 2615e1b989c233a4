//! Reading JSON so that what is wrong with it can be said: where it stops being JSON, or which
//! field is not what it should be.

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_path_to_error::Segment;

use crate::http::problem::code::Code;
use crate::http::problem::{Problem, internal};

/// Bodies up to this size are read on the runtime, which takes a few hundred microseconds.
const INLINE_BYTES_MAX: usize = 256 << 10;

/// Reads `json`; what is JSON but not a `T` is a problem of the code `invalid`.
pub fn read<'a, T: Deserialize<'a>>(json: &'a [u8], invalid: Code) -> Result<T, Problem> {
    serde_json::from_slice(json).map_err(|error| match error.classify() {
        Category::Data => explain::<T>(json, invalid, &error),
        Category::Syntax | Category::Eof | Category::Io => {
            let detail = format!("the body is not JSON: {error}");
            Problem::new(Code::MalformedJson, detail)
        }
    })
}

/// Reads once more, now with an eye on where: knowing the place costs too much when all is well.
fn explain<'a, T: Deserialize<'a>>(
    json: &'a [u8],
    invalid: Code,
    error: &serde_json::Error,
) -> Problem {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let located = serde_path_to_error::deserialize::<_, T>(&mut deserializer).err();
    let pointer = located.map_or_else(String::new, |located| pointer(located.path()));
    Problem::of_field(invalid, pointer, without_place(&error.to_string()))
}

/// The path as a JSON pointer (RFC 6901).
fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        pointer.push('/');
        match segment {
            Segment::Seq { index } => pointer.push_str(&index.to_string()),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                pointer.push_str(&escaped(key));
            }
            Segment::Unknown => pointer.push('?'),
        }
    }
    pointer
}

/// The JSON pointer to a key of the outermost object.
pub fn pointer_to(key: &str) -> String {
    format!("/{}", escaped(key))
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// serde_json's message without its " at line 1 column 7", which the pointer says better.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// Runs `work` on a body, off the runtime if the body is large.
pub async fn off_runtime_if_large<T: Send + 'static>(
    body: Bytes,
    work: impl FnOnce(Bytes) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    if body.len() <= INLINE_BYTES_MAX {
        return work(body);
    }
    tokio::task::spawn_blocking(move || work(body)).await.unwrap_or_else(|_| Err(internal()))
}

/// A `T` that is written as an object: serde alone would take an array of the fields, too.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}
