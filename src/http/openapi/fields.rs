//! The wire types of records.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::document::DocumentId;
use crate::engine::ComparedField;

/// A record's fields: an object of strings, no name of which comes twice.
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
                Entry::Vacant(place) => place.insert(map.next_value()?),
                Entry::Occupied(_) => return Err(Error::custom("a field comes twice")),
            };
        }
        Ok(FieldsBody(fields))
    }
}

/// For a collection of records.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read for its schema only")]
pub struct FieldsDocument {
    /// Without one the server makes a UUIDv7.
    id: Option<DocumentId>,
    fields: FieldsSchema,
    /// Given back as it came.
    #[schema(value_type = Option<Object>)]
    metadata: Option<()>,
}

/// Texts by the names of fields, each of them one that the collection declares.
#[derive(ToSchema)]
#[expect(dead_code, reason = "read for its schema only")]
#[schema(as = Fields, example = json!({"name": "William Smith", "phone": "555-1234"}))]
pub struct FieldsSchema(BTreeMap<String, String>);

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read for its schema only")]
pub struct FieldsProbe {
    fields: FieldsSchema,
    /// Of no consequence.
    metadata: Option<Value>,
}

/// A field of two records, as it is compared.
#[derive(Serialize, ToSchema)]
#[schema(as = ComparedField)]
pub struct ComparedFieldReply {
    #[schema(example = "name")]
    field: String,
    /// Its normalised value in the first; absent if that lacks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "william smith")]
    a: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "william smyth")]
    b: Option<String>,
    /// Absent if one of them lacks it, which gives none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 96)]
    points: Option<u32>,
}

impl From<ComparedField> for ComparedFieldReply {
    fn from(field: ComparedField) -> Self {
        let ComparedField { name, a, b, points } = field;
        Self { field: name, a, b, points }
    }
}
