//! Tokens as clients read and write them: a string, or `[string, count]`.

use std::borrow::Cow;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize, Serializer};
use utoipa::openapi::schema::{ArrayBuilder, ArrayItems, ObjectBuilder, OneOfBuilder};
use utoipa::openapi::{RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::document::Token;

/// An element of a ready-made set.
#[derive(Deserialize)]
#[serde(from = "WrittenToken")]
pub struct WireToken(pub Token);

impl Serialize for WireToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.count {
            1 => serializer.serialize_str(&self.0.text),
            count => (&self.0.text, count).serialize(serializer),
        }
    }
}

/// A token as it is written.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a token is a string, or [string, count] with a count of 1..=4294967295"
)]
enum WrittenToken {
    Once(String),
    Counted(String, NonZeroU32),
}

impl From<WrittenToken> for WireToken {
    fn from(written: WrittenToken) -> Self {
        let (text, count) = match written {
            WrittenToken::Once(text) => (text, 1),
            WrittenToken::Counted(text, count) => (text, count.get()),
        };
        Self(Token { text, count })
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
        let counted = ArrayBuilder::new()
            .prefix_items([text(), count])
            .items(ArrayItems::False)
            .min_items(Some(2))
            .max_items(Some(2));
        OneOfBuilder::new()
            .item(text())
            .item(counted)
            .description(Some("An element of a ready-made set, or one with how often it occurs."))
            .into()
    }
}
