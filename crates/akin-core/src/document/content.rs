//! The content of a document, of which its set is made.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An element of a client-supplied set, with its number of occurrences (at least 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The element itself.
    pub text: String,
    /// The number of occurrences, at least 1.
    pub count: u32,
}

/// A string, or `[string, count]` if it occurs more than once.
impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.count {
            1 => serializer.serialize_str(&self.text),
            count => (&self.text, count).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenVisitor)
    }
}

struct TokenVisitor;

impl<'de> Visitor<'de> for TokenVisitor {
    type Value = Token;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token: a string, or [string, count] with a count of 1..=4294967295")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Token, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Token, E> {
        Ok(Token { text, count: 1 })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Token, A::Error> {
        let missing = |at| Error::invalid_length(at, &self);
        let text = seq.next_element()?.ok_or_else(|| missing(0))?;
        let count = seq.next_element()?.ok_or_else(|| missing(1))?;
        if seq.next_element::<IgnoredAny>()?.is_some() {
            return Err(missing(3));
        }
        if count == 0 {
            return Err(Error::custom("a token's count must be 1..=4294967295, not 0"));
        }
        Ok(Token { text, count })
    }
}

/// The source of a document's set: as JSON a field of an object, named after its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text to be tokenised and shingled.
    Text(String),
    /// Elements that are used as the set's elements without change.
    Tokens(Vec<Token>),
    /// A record: the text of each field, by name.
    Fields(BTreeMap<String, String>),
    /// MinHash values that the client computed: a value for each hash function.
    Signature(Vec<u64>),
}

impl Content {
    /// The cost of processing it: its bytes and, as sets may be multisets, the counts of its
    /// tokens.
    pub fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Tokens(tokens) => {
                tokens.iter().map(|token| token.text.len() + token.count as usize).sum()
            }
            Self::Fields(fields) => fields.iter().map(|(name, text)| name.len() + text.len()).sum(),
            Self::Signature(values) => size_of_val(values.as_slice()),
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder};
    use utoipa::openapi::{RefOr, Schema, Type};
    use utoipa::{PartialSchema, ToSchema};

    use super::{Content, Token};

    impl ToSchema for Token {
        fn name() -> Cow<'static, str> {
            "Token".into()
        }
    }

    impl PartialSchema for Token {
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
            let meaning = "An element of a ready-made set, or one with how often it occurs.";
            OneOfBuilder::new().item(text()).item(counted).description(Some(meaning)).into()
        }
    }

    impl ToSchema for Content {
        fn name() -> Cow<'static, str> {
            "Content".into()
        }

        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            schemas.push((Token::name().into(), Token::schema()));
        }
    }

    /// An object with one of the fields, or with none where contents are not kept.
    impl PartialSchema for Content {
        fn schema() -> RefOr<Schema> {
            let token = utoipa::openapi::Ref::from_schema_name(Token::name());
            ObjectBuilder::new()
                .property("text", String::schema())
                .property("tokens", ArrayBuilder::new().items(token))
                .property("fields", BTreeMap::<String, String>::schema())
                .property("signature", Vec::<u64>::schema())
                .into()
        }
    }
}
