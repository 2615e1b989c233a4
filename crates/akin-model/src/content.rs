//! Contents of documents as clients and files write them in JSON.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::marker::PhantomData;

use clap::ValueEnum;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::document::{Content, Token};

/// The fields of a record: an object of strings in which no name comes twice.
#[derive(ToSchema)]
#[schema(as = Fields, value_type = BTreeMap<String, String>,
    example = json!({"name": "William Smith", "phone": "555-1234"}))]
pub struct FieldsBody(pub BTreeMap<String, String>);

impl<'de> Deserialize<'de> for FieldsBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = FieldsBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings, each a field by its name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldsBody, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some(name) = map.next_key()? {
            match fields.entry(name) {
                Entry::Vacant(entry) => entry.insert(map.next_value()?),
                Entry::Occupied(_) => return Err(Error::custom("a field comes twice")),
            };
        }
        Ok(FieldsBody(fields))
    }
}

/// The content that a body has, if it has exactly one.
pub fn content(
    text: Option<String>,
    tokens: Option<Vec<Token>>,
    fields: Option<FieldsBody>,
    signature: Option<Vec<u64>>,
) -> Option<Content> {
    match (text, tokens, fields, signature) {
        (Some(text), None, None, None) => Some(Content::Text(text)),
        (None, Some(tokens), None, None) => Some(Content::Tokens(tokens)),
        (None, None, Some(fields), None) => Some(Content::Fields(fields.0)),
        (None, None, None, Some(signature)) => Some(Content::Signature(signature)),
        _ => None,
    }
}

/// Which text of an HTML page is read.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Extract {
    /// The visible text, without navigation
    #[default]
    Text,
    /// The main content, as in a browser's reader view; of a page without an article its text
    Main,
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
