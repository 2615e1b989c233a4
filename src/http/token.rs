//! Tokens as clients read and write them: a string, or `[string, count]`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder};
use utoipa::openapi::{RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::document::Token;

/// An element of a ready-made set.
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
