//! Any JSON.

use std::fmt;
use std::iter;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Any JSON, folded into a `T`, which may be a [`Value`].
///
/// A `Value` must not be read from a client's JSON in another way: with the feature `raw_value` of
/// `serde_json` it takes an object of the member `$serde_json::private::RawValue` for a text of
/// JSON and reads that text too, with as many levels again. Such texts within each other overflow
/// the stack.
pub struct Any<T>(pub T);

impl<'de, T> Deserialize<'de> for Any<T>
where
    T: From<Value> + FromIterator<T> + FromIterator<(String, T)>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor(PhantomData))
    }
}

struct AnyVisitor<T>(PhantomData<T>);

impl<'de, T> Visitor<'de> for AnyVisitor<T>
where
    T: From<Value> + FromIterator<T> + FromIterator<(String, T)>,
{
    type Value = Any<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Any<T>, E> {
        Ok(Any(Value::Null.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Any<T>, E> {
        Ok(Any(Value::from(value).into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Any<T>, E> {
        Ok(Any(Value::from(value).into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Any<T>, E> {
        Ok(Any(Value::from(value).into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Any<T>, E> {
        Ok(Any(Value::from(value).into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Any<T>, E> {
        Ok(Any(Value::from(value).into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Any<T>, A::Error> {
        let items = iter::from_fn(|| items.next_element::<Any<T>>().transpose());
        items.map(|item| item.map(|Any(item)| item)).collect::<Result<T, _>>().map(Any)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Any<T>, A::Error> {
        let fields = iter::from_fn(|| fields.next_entry::<String, Any<T>>().transpose());
        let fields = fields.map(|field| field.map(|(name, Any(value))| (name, value)));
        fields.collect::<Result<T, _>>().map(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_it_is_written() {
        for json in [
            r#"[null,true,-1,18446744073709551615,0.5,"é\n",[],{},{"a":{"b":[1]}}]"#,
            r#"{"$serde_json::private::RawValue":"[1]"}"#,
            r#"{"a":[{"$serde_json::private::RawValue":"{"}]}"#,
        ] {
            let Any(value) = serde_json::from_str::<Any<Value>>(json).unwrap();
            assert_eq!(value.to_string(), json);
        }
    }
}
