//! Bodies of JSON with the options of a call beside their own members.
//!
//! A body may have the options that the query may have, in the same struct: an option that stands
//! in both must have the same value.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use axum::extract::{FromRequest, Request};
use serde::de::{self, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{Object as ObjectSchema, Schema};
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::http::problem::{Code, Problem, pointer};
use crate::http::request::named::Named;
use crate::http::request::{WrongOption, hint, json, query, reading};
use crate::http::{AppState, ServerSettings};
use akin_model::content::Object;

/// More members than any body has.
const MEMBERS_MAX: usize = 64;

/// A struct of options, each of which may be absent.
pub trait OptionStruct: Clone + Default + Serialize + DeserializeOwned + ToSchema {
    /// Before the name of a schema that has these options.
    const SCHEMA_PREFIX: &'static str = "";
}

/// The options of a call: a struct, or two.
pub trait Options: Clone + Default + Serialize + DeserializeOwned {
    const SCHEMA_PREFIX: &'static str;

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>);

    fn properties(object: ObjectBuilder) -> ObjectBuilder;
}

impl<T: OptionStruct> Options for T {
    const SCHEMA_PREFIX: &'static str = T::SCHEMA_PREFIX;

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        <T as ToSchema>::schemas(schemas);
    }

    fn properties(object: ObjectBuilder) -> ObjectBuilder {
        let RefOr::T(Schema::Object(ObjectSchema { properties, .. })) = T::schema() else {
            return object;
        };
        properties.into_iter().fold(object, |object, (name, of)| object.property(name, of))
    }
}

impl<A: OptionStruct, B: OptionStruct> Options for (A, B) {
    const SCHEMA_PREFIX: &'static str = A::SCHEMA_PREFIX;

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
    let value = |options: &O| serde_json::to_value(options).expect("options are plain JSON");
    let both = both(value(&own), value(call))?;
    Ok(serde_json::from_value(both).expect("each option was read before"))
}

/// The options of both, by struct; null is no option.
fn both(own: Value, call: Value) -> Result<Value, WrongOption> {
    match (own, call) {
        (Value::Array(own), Value::Array(call)) => {
            own.into_iter().zip(call).map(|(own, call)| both(own, call)).collect()
        }
        (Value::Object(mut own), Value::Object(call)) => {
            for (name, value) in call.into_iter().filter(|(_, value)| !value.is_null()) {
                match own.get_mut(&name) {
                    Some(given) if given.is_null() => *given = value,
                    Some(given) if *given == value => {}
                    _ => return Err(WrongOption::new(name, "has another value in the query")),
                }
            }
            Ok(Value::Object(own))
        }
        (own, _) => Ok(own),
    }
}

/// Reads an object with its own members `T`, and its options if there are any.
///
/// # Errors
/// The body is no such object; `invalid` if it is JSON.
pub fn read<'a, T, O>(json: &'a [u8], invalid: Code) -> Result<(T, Option<O>), Problem>
where
    T: Deserialize<'a>,
    O: Options,
{
    // Most bodies have no options, and no faults.
    match serde_json::from_slice(json) {
        Ok(Object(own)) => Ok((own, None)),
        Err(error) if error.is_data() => read_members(json, invalid),
        Err(error) => Err(json::malformed(&error)),
    }
}

fn read_members<'a, T, O>(json: &'a [u8], invalid: Code) -> Result<(T, Option<O>), Problem>
where
    T: Deserialize<'a>,
    O: Options,
{
    let NamedMembers(members) = json::read(json, invalid)?;
    let mut named = Named::new(members.into_iter());
    let own = named.read().map_err(|wrong| json::wrong(wrong, invalid))?;
    let has_options = named.left().is_some();
    let options = has_options.then(|| named.read()).transpose();
    let options = options.map_err(|wrong| json::wrong(wrong, invalid))?;
    let Some(unknown) = named.left() else { return Ok((own, options)) };
    let known: Vec<String> = named.known().iter().map(|name| format!("`{name}`")).collect();
    let fault = format!("unknown field `{unknown}`, expected one of {}", known.join(", "));
    Err(Problem::of_field(invalid, json::shown(pointer::to(unknown)), hint::explained(&fault)))
}

/// The members of a body of JSON.
pub trait BodyMembers: DeserializeOwned + 'static {
    type Options: Options + Send + 'static;
    type Checked: Send + 'static;

    /// # Errors
    /// Members that do not go together, or too many elements.
    fn check(self, settings: &ServerSettings) -> Result<Self::Checked, Problem>;
}

/// # Errors
/// There are more than `max` of them.
pub fn check_count(pointer: &str, name: &str, found: usize, max: usize) -> Result<(), Problem> {
    if found <= max {
        return Ok(());
    }
    let detail = format!("{found} {name} are more than the {max} allowed");
    Err(Problem::of_field(Code::InvalidRequest, pointer, detail))
}

/// A call with a body of JSON: the members of the body, and the options in the query or the body.
pub struct JsonCall<T: BodyMembers>(pub T::Checked, pub T::Options);

impl<T: BodyMembers> JsonCall<T> {
    pub fn read(json: &[u8], call: &T::Options, of: &ServerSettings) -> Result<Self, Problem> {
        let (members, own) = read::<T, T::Options>(json, Code::InvalidRequest)?;
        Ok(Self(members.check(of)?, merged(own, call)?))
    }
}

impl<T: BodyMembers> FromRequest<AppState> for JsonCall<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let call = query::read(request.uri().query().unwrap_or_default())?;
        let body = reading::whole_json(request, state, state.settings.body_bytes_max).await?;
        let state = state.clone();
        let read = move |body: bytes::Bytes| Self::read(&body, &call, &state.settings);
        json::off_runtime_if_long(body, read).await
    }
}

/// The members of an object with their names.
struct NamedMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for NamedMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = NamedMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedMembers<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            if members.len() == MEMBERS_MAX {
                return Err(de::Error::custom(format_args!("more than {MEMBERS_MAX} members")));
            }
            members.push(member);
        }
        Ok(NamedMembers(members))
    }
}

/// The schema of an object with its own members `T` and options `O`.
pub struct Body<T, O>(PhantomData<(T, O)>);

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
