//! Contents of documents as clients and files write them in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder};
use utoipa::openapi::{RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::document::{Content, Token};

/// An element of a ready-made set: a string, or `[string, count]`.
pub struct WireToken(pub Token);

impl Serialize for WireToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WireToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenVisitor)
    }
}

struct TokenVisitor;

impl<'de> Visitor<'de> for TokenVisitor {
    type Value = WireToken;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token: a string, or [string, count] with a count of 1..=4294967295")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WireToken, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<WireToken, E> {
        Ok(WireToken(Token { text, count: 1 }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WireToken, A::Error> {
        let Some(text) = seq.next_element()? else { return Err(Error::invalid_length(0, &self)) };
        let Some(count) = seq.next_element()? else { return Err(Error::invalid_length(1, &self)) };
        if seq.next_element::<IgnoredAny>()?.is_some() {
            return Err(Error::invalid_length(3, &self));
        }
        if count == 0 {
            return Err(Error::custom("a token's count must be 1..=4294967295, not 0"));
        }
        Ok(WireToken(Token { text, count }))
    }
}

impl ToSchema for WireToken {
    fn name() -> Cow<'static, str> {
        "Token".into()
    }
}

impl PartialSchema for WireToken {
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String).build();
        let count = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1_u64));
        let count = count.maximum(Some(u64::from(u32::MAX))).build();
        // Not `prefixItems`: the generators of clients know lists of one type of items only.
        let counted = ArrayBuilder::new()
            .items(OneOfBuilder::new().item(text()).item(count))
            .description(Some("The string, then the count."))
            .min_items(Some(2))
            .max_items(Some(2));
        OneOfBuilder::new()
            .item(text())
            .item(counted)
            .description(Some("An element of a ready-made set, or one with how often it occurs."))
            .into()
    }
}

/// The fields of a record: an object of strings in which no name comes twice.
#[derive(ToSchema)]
#[schema(as = Fields, value_type = BTreeMap<String, String>,
    example = json!({"name": "William Smith", "phone": "555-1234"}))]
pub struct FieldsBody(BTreeMap<String, String>);

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
    tokens: Option<Vec<WireToken>>,
    fields: Option<FieldsBody>,
    signature: Option<Vec<u64>>,
) -> Option<Content> {
    match (text, tokens, fields, signature) {
        (Some(text), None, None, None) => Some(Content::Text(text)),
        (None, Some(tokens), None, None) => {
            Some(Content::Tokens(tokens.into_iter().map(|token| token.0).collect()))
        }
        (None, None, Some(fields), None) => Some(Content::Fields(fields.0)),
        (None, None, None, Some(signature)) => Some(Content::Signature(signature)),
        _ => None,
    }
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
