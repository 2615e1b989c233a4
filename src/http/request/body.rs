//! Bodies of JSON with the options of a call beside their own members.
//!
//! A body may have the options that the query may have, in the same struct: an option that stands
//! in both must have the same value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor,
};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use serde_json::Value;
use utoipa::openapi::schema::{Object, Schema};
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::http::problem::code::Code;
use crate::http::problem::{Problem, pointer};
use crate::http::request::hint;
use crate::http::request::lookup::WrongOption;

/// The names of options in the order of their declaration, by structs.
type Names = [&'static [&'static str]; 2];

/// Options by their names.
type Given = BTreeMap<&'static str, Value>;

/// A struct of options, each of which may be absent.
pub trait OptionStruct: Clone + Default + Serialize + DeserializeOwned + ToSchema {
    /// Before the name of a schema that has these options.
    const SCHEMA_PREFIX: &'static str = "";
}

/// The options of a call: a struct, or two.
pub trait Options: Clone + Default {
    const SCHEMA_PREFIX: &'static str;

    fn names() -> Names;

    /// Reads options, or returns the name of the option that cannot be read, and its fault.
    fn read(given: &Given) -> Result<Self, (String, String)>;

    /// The options that are there.
    fn given(&self) -> Given;

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>);

    fn properties(object: ObjectBuilder) -> ObjectBuilder;
}

impl<T: OptionStruct> Options for T {
    const SCHEMA_PREFIX: &'static str = T::SCHEMA_PREFIX;

    fn names() -> Names {
        [T::deserialize(FieldNames).err().map_or(&[], |names| names.0), &[]]
    }

    fn read(given: &Given) -> Result<Self, (String, String)> {
        let [names, _] = Self::names();
        let own = given.iter().filter(|(name, _)| names.contains(*name));
        let values = MapDeserializer::new(own.map(|(name, value)| (*name, value)));
        let mut track = serde_path_to_error::Track::new();
        let read = T::deserialize(serde_path_to_error::Deserializer::new(values, &mut track));
        read.map_err(|error: serde_json::Error| (track.path().to_string(), error.to_string()))
    }

    fn given(&self) -> Given {
        let Ok(Value::Object(fields)) = serde_json::to_value(self) else { return Given::new() };
        let [names, _] = Self::names();
        let value = |name: &&'static str| Some((*name, fields.get(*name)?.clone()));
        names.iter().filter_map(value).filter(|(_, value)| !value.is_null()).collect()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        <T as ToSchema>::schemas(schemas);
    }

    fn properties(object: ObjectBuilder) -> ObjectBuilder {
        let RefOr::T(Schema::Object(Object { properties, .. })) = T::schema() else {
            return object;
        };
        properties.into_iter().fold(object, |object, (name, of)| object.property(name, of))
    }
}

impl<A: OptionStruct, B: OptionStruct> Options for (A, B) {
    const SCHEMA_PREFIX: &'static str = A::SCHEMA_PREFIX;

    fn names() -> Names {
        [A::names()[0], B::names()[0]]
    }

    fn read(given: &Given) -> Result<Self, (String, String)> {
        Ok((A::read(given)?, B::read(given)?))
    }

    fn given(&self) -> Given {
        let (a, b) = (self.0.given(), self.1.given());
        a.into_iter().chain(b).collect()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        <A as Options>::schemas(schemas);
        <B as Options>::schemas(schemas);
    }

    fn properties(object: ObjectBuilder) -> ObjectBuilder {
        B::properties(A::properties(object))
    }
}

/// The options of a body, or of the call where the body has none.
///
/// # Errors
/// An option that both give with different values.
pub fn merged<O: Options>(own: Option<O>, call: &O) -> Result<O, WrongOption> {
    let Some(own) = own else { return Ok(call.clone()) };
    let mut given = own.given();
    for (name, value) in call.given() {
        let own = given.entry(name).or_insert_with(|| value.clone());
        if *own != value {
            return Err(WrongOption { name, detail: "has another value in the query".to_owned() });
        }
    }
    O::read(&given).map_err(|(_, detail)| WrongOption { name: "options", detail })
}

/// An object with its own members `T` and options `O`.
pub struct Body<T, O> {
    own: T,
    given: Given,
    options: PhantomData<O>,
}

impl<T, O: Options> Body<T, O> {
    /// The members, and the options if there are any.
    ///
    /// # Errors
    /// An option that cannot be read, of the code `invalid`.
    pub fn read(self, invalid: Code) -> Result<(T, Option<O>), Problem> {
        if self.given.is_empty() {
            return Ok((self.own, None));
        }
        let options = O::read(&self.given).map_err(|(name, fault)| {
            Problem::of_field(invalid, pointer::to(&name), hint::explained(&fault))
        })?;
        Ok((self.own, Some(options)))
    }
}

impl<'de, T: Deserialize<'de>, O: Options> Deserialize<'de> for Body<T, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor(PhantomData))
    }
}

struct BodyVisitor<T, O>(PhantomData<(T, O)>);

impl<'de, T: Deserialize<'de>, O: Options> Visitor<'de> for BodyVisitor<T, O> {
    type Value = Body<T, O>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut given = Given::new();
        let members = BodyMembers { map, own: &[], options: O::names(), given: &mut given };
        let own = T::deserialize(members)?;
        Ok(Body { own, given, options: PhantomData })
    }
}

/// The members of an object, from which the options are taken.
struct BodyMembers<'a, A> {
    map: A,
    own: &'static [&'static str],
    options: Names,
    given: &'a mut Given,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for BodyMembers<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.own = fields;
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for BodyMembers<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        loop {
            let name = MemberName { own: self.own, options: self.options };
            match self.map.next_key_seed(name)? {
                None => return Ok(None),
                Some(BodyMember::Own(name)) => {
                    let name: StrDeserializer<'_, A::Error> = name.into_deserializer();
                    return seed.deserialize(name).map(Some);
                }
                Some(BodyMember::Option(name)) => {
                    if self.given.insert(name, self.map.next_value()?).is_some() {
                        return Err(de::Error::duplicate_field(name));
                    }
                }
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

enum BodyMember {
    Own(&'static str),
    Option(&'static str),
}

/// Reads the name of a member.
struct MemberName {
    own: &'static [&'static str],
    options: Names,
}

impl<'de> DeserializeSeed<'de> for MemberName {
    type Value = BodyMember;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<BodyMember, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for MemberName {
    type Value = BodyMember;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, given: &str) -> Result<BodyMember, E> {
        let known = |names: &[&'static str]| names.iter().find(|name| **name == given).copied();
        if let Some(name) = known(self.own) {
            return Ok(BodyMember::Own(name));
        }
        let [first, second] = self.options;
        known(first).or_else(|| known(second)).map(BodyMember::Option).ok_or_else(|| {
            let names = self.own.iter().chain(first).chain(second);
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            E::custom(format_args!("unknown field `{given}`, expected one of {names}"))
        })
    }
}

/// A deserializer that finds the names of a struct's fields.
struct FieldNames;

#[derive(Debug, thiserror::Error)]
#[error("the names of fields are read, not their values")]
struct ExpectedMembers(&'static [&'static str]);

impl de::Error for ExpectedMembers {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for FieldNames {
    type Error = ExpectedMembers;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ExpectedMembers> {
        Err(ExpectedMembers(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ExpectedMembers> {
        Err(ExpectedMembers(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<T: ToSchema, O: Options> PartialSchema for Body<T, O> {
    fn schema() -> RefOr<Schema> {
        match T::schema() {
            RefOr::T(Schema::Object(own)) => O::properties(ObjectBuilder::from(own)).into(),
            other => other,
        }
    }
}

impl<T: ToSchema, O: Options> ToSchema for Body<T, O> {
    fn name() -> Cow<'static, str> {
        format!("{}{}", O::SCHEMA_PREFIX, T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
        O::schemas(schemas);
    }
}
