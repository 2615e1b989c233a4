//! From the members of a record to a document as the API takes it.

use std::borrow::Cow;
use std::collections::HashSet;

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serializer};
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use super::members::{Member, Value, below, fault, find, find_exact, members, object, without};
use super::record_text::listed;
use crate::failure::Failure;
use akin_model::content::FieldsBody;
use akin_model::document::{Content, DocumentId};

const ONE: &str = "a document has exactly one of text, tokens and fields";
/// The members of the API are also members of other people's data.
const OTHERS: &str = "; if it is not a document of akin, name its columns: --text-column text \
                      --id-column id";
const API: [&str; 7] = ["id", "text", "tokens", "fields", "signature", "metadata", "expires_at"];

/// Which members make a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextColumns {
    /// The member with the id. By default `id`, which is optional.
    pub id: Option<String>,
    /// The members with the text, by default `text`. The texts of several are joined.
    pub text: Vec<String>,
    /// The roles whose messages count, if a text is a list of messages; by default all.
    pub roles: Vec<String>,
    /// The members that become metadata; by default all further members.
    pub metadata: Option<Vec<String>>,
    /// The reader of the documents ignores further members, so lines of JSON may keep them.
    pub further_are_ignored: bool,
    /// Further columns of tables are not needed, so they are not read.
    pub prunes: bool,
}

impl TextColumns {
    pub fn text_names(&self) -> impl Iterator<Item = &str> + Clone {
        let further = self.text.iter().skip(1).map(String::as_str);
        std::iter::once(self.first_text()).chain(further)
    }

    pub fn first_text(&self) -> &str {
        self.text.first().map_or("text", String::as_str)
    }

    /// The name of the only column with texts.
    pub fn text_name(&self) -> Option<&str> {
        Some(self.first_text()).filter(|_| self.text.len() < 2)
    }

    pub fn id_name(&self) -> &str {
        self.id.as_deref().unwrap_or("id")
    }

    /// The columns that a table must have, each with the option that names it.
    pub fn required(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let texts = self.text_names().map(|name| (name, "--text-column"));
        let id = self.id.as_deref().map(|id| (id, "--id-column"));
        let metadata = self.metadata.iter().flatten();
        texts.chain(id).chain(metadata.map(|name| (name.as_str(), "--metadata-columns")))
    }

    /// # Errors
    /// Parts are to be cut out of texts that are in several columns.
    pub fn refuse_cutting(&self) -> Result<(), Failure> {
        match self.text_name() {
            Some(_) => Ok(()),
            None => Err(Failure::with_hint(
                "nothing can be cut out of the texts of several columns",
                "--text-column names one column of texts",
            )),
        }
    }

    /// Takes other columns for texts and ids, where they are named.
    pub fn rename(&mut self, text: Vec<String>, id: Option<String>) {
        if !text.is_empty() {
            self.text = text;
        }
        self.id = id.or(self.id.take());
    }

    /// Whether a column is needed to make documents: by its own name, or because a needed column
    /// lies within it.
    pub fn wants(&self, name: &str) -> bool {
        let wanted = self.metadata.iter().flatten().map(String::as_str);
        let mut paths = self.text_names().chain([self.id_name()]).chain(wanted);
        self.takes_all() || paths.any(|path| path == name || below(path, name).is_some())
    }

    /// Whether the options, and not the API, decide the meaning of members.
    fn names_columns(&self) -> bool {
        self.id.is_some() || !self.text.is_empty()
    }

    fn takes_all(&self) -> bool {
        self.metadata.is_none() && !self.prunes
    }

    /// The document of a line of JSON; `None` if the line is the document, or if it is not an
    /// object, which the reader of the document reports.
    ///
    /// # Errors
    /// The object is no document: the reason.
    pub fn of_line(&self, json: &[u8], id: Option<&str>) -> Result<Option<Vec<u8>>, String> {
        let Ok(members) = members(json) else { return Ok(None) };
        // In a record with a text, a signature is more likely the end of a letter.
        let has_text = members.iter().any(|(name, _)| name == "text");
        let is_named = |name: &str| API.contains(&name) && !(has_text && name == "signature");
        let is_number = |(name, value): &Member<'_>| {
            name == "id" && value.json().get().starts_with(|c: char| c.is_ascii_digit() || c == '-')
        };
        let text = find_exact(&members, "text");
        let is_null = text.as_ref().is_some_and(Value::is_null);
        // The API takes no messages.
        let has_columns =
            self.names_columns() || self.metadata.is_some() || text.is_some_and(|it| it.is_list());
        let stands = !has_columns && (!is_null || has_other_content(&members));
        let further = members.iter().any(|(name, _)| !is_named(name));
        let has_content = members.iter().any(|(name, _)| API[1..5].contains(&&**name));
        if !self.names_columns() {
            check_form(&members)?;
        }
        if stands && !members.iter().any(is_number) && (has_content || !further) {
            let keeps = !further || self.further_are_ignored;
            if keeps {
                return Ok(None);
            }
        }
        self.document(&members, true, id).map(Some)
    }

    /// The document of a record; `id` is for a record without an id. In JSON, members that the API
    /// knows keep their meaning.
    ///
    /// # Errors
    /// The record is no document: the reason.
    pub fn document(
        &self,
        members: &[Member<'_>],
        is_json: bool,
        id: Option<&str>,
    ) -> Result<Vec<u8>, String> {
        let find = |name: &str| find(members, name);
        let own_id = self.own_id(members)?;
        let is_other = is_json && self.text.is_empty() && has_other_content(members);
        let text = self.text_in(members)?.filter(|text| !is_other || !text.is_null());
        let knows = |name: &str| {
            is_json
                && match name {
                    "tokens" | "fields" | "signature" => self.text.is_empty() && text.is_none(),
                    "expires_at" => !self.names_columns(),
                    "metadata" => !self.names_columns() || find(name).is_some_and(is_object),
                    _ => false,
                }
        };
        if text.is_none()
            && !members.iter().any(|(name, _)| API[2..5].contains(&&**name) && knows(name))
        {
            return Err(self.without_text(members));
        }
        let further = self.further(members, knows);
        let mut json = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut json);
        let mut map = serializer.serialize_map(None).expect(INFALLIBLE);
        if let Some(id) = own_id.as_ref().map(DocumentId::as_str).or(id) {
            map.serialize_entry("id", id).expect(INFALLIBLE);
        }
        // A null text is an empty text: there is nothing to compare.
        match &text {
            Some(text) if text.is_null() => map.serialize_entry("text", "").expect(INFALLIBLE),
            Some(text) => map.serialize_entry("text", text).expect(INFALLIBLE),
            None => {}
        }
        for (name, value) in members.iter().filter(|(name, _)| *name != "metadata" && knows(name)) {
            map.serialize_entry(name, value).expect(INFALLIBLE);
        }
        let own_metadata = knows("metadata").then(|| find("metadata")).flatten();
        if let Some(metadata) = metadata(own_metadata.as_ref(), &further) {
            map.serialize_entry("metadata", &metadata).expect(INFALLIBLE);
        }
        map.end().expect(INFALLIBLE);
        Ok(json)
    }

    /// The id that the record has.
    ///
    /// # Errors
    /// It is no id, or `--id-column` names a column that is missing or null.
    pub fn own_id(&self, members: &[Member<'_>]) -> Result<Option<DocumentId>, String> {
        let value = find(members, self.id_name());
        if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
            return id_of(value).map(Some);
        }
        match value {
            _ if self.id.is_none() => Ok(None),
            Some(_) => Err(format!("'{}' is null, but --id-column names it", self.id_name())),
            None => Err(missing(self.id_name(), "--id-column", members)),
        }
    }

    /// The compared part of a record: its text; of JSON also its tokens or fields.
    ///
    /// # Errors
    /// It has none of them, or several.
    pub fn content(&self, members: &[Member<'_>], is_json: bool) -> Result<Content, String> {
        let text = self.text_in(members)?;
        let has_text = text.as_ref().is_some_and(|text| !text.is_null());
        let of_api = is_json && self.text.is_empty() && !(has_text && self.names_columns());
        let other = |name| find_exact(members, name).filter(|value| of_api && !value.is_null());
        match (&text, other("tokens"), other("fields")) {
            (Some(text), None, None) if text.is_null() => Ok(Content::Text(String::new())),
            (Some(text), None, None) => {
                let text = text.text().map_err(|error| fault(&error))?;
                Ok(Content::Text(text.unwrap_or_default().into_owned()))
            }
            (text, tokens, fields) if text.as_ref().is_none_or(Value::is_null) => {
                match (tokens, fields) {
                    (Some(tokens), None) => part("tokens", &tokens).map(Content::Tokens),
                    (None, Some(fields)) => part::<FieldsBody>("fields", &fields)
                        .map(|fields| Content::Fields(fields.0)),
                    (None, None) if !of_api || other("signature").is_none() => {
                        Err(self.without_text(members))
                    }
                    _ => Err(ONE.to_owned()),
                }
            }
            _ => Err(format!("{ONE}{OTHERS}")),
        }
    }

    fn without_text(&self, members: &[Member<'_>]) -> String {
        missing(self.first_text(), "--text-column", members)
    }
}

/// Reads a member of a document as the API takes it.
fn part<'v, T: Deserialize<'v>>(name: &str, value: &'v Value<'_>) -> Result<T, String> {
    let Value::Json(json) = value else { return Err(format!("'{name}' is a text")) };
    let read =
        serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json.get()));
    read.map_err(|error| {
        let segment = |segment: &Segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } | Segment::Enum { variant: key } => format!("/{key}"),
            Segment::Unknown => "/?".to_owned(),
        };
        let pointer: String = error.path().iter().map(segment).collect();
        let reason = format!("/{name}{pointer}: {}", fault(error.inner()));
        reason.chars().take(FAULT_CHARS_MAX).collect()
    })
}

/// The longest fault, in characters: it may quote the document.
const FAULT_CHARS_MAX: usize = 400;

impl TextColumns {
    /// The members that become metadata. The text and the id are cut out of members that contain
    /// them.
    fn further<'m>(
        &self,
        members: &'m [Member<'_>],
        knows: impl Fn(&str) -> bool,
    ) -> Vec<Member<'m>> {
        let own: Vec<&str> = [self.id_name()].into_iter().chain(self.text_names()).collect();
        let is_own = |name: &str| own.contains(&name) || knows(name);
        let all = || members.iter().filter(|(name, _)| !is_own(name));
        let borrow = |(name, value): &'m Member<'_>| -> Member<'m> {
            (Cow::Borrowed(&**name), value.borrowed())
        };
        let Some(wanted) = &self.metadata else {
            // A path that is the name of a member does not lead into others.
            let is_nested = |path: &&&str| find_exact(members, path).is_none();
            let paths: Vec<&str> = own.iter().filter(is_nested).copied().collect();
            let rest = |member: &'m Member<'_>| {
                let (name, value) = borrow(member);
                let paths = paths.iter().filter_map(|path| below(path, &name));
                let rest = paths.fold(None, |rest: Option<Box<RawValue>>, path| {
                    let cut = match rest.as_deref() {
                        Some(rest) => without(rest, path),
                        None => without(&value.json(), path),
                    };
                    cut.or(rest)
                });
                (name, rest.map_or(value, |rest| Value::Json(Cow::Owned(rest))))
            };
            return if self.prunes { Vec::new() } else { all().map(rest).collect() };
        };
        let is_wanted = |name: &str| wanted.iter().any(|one| one == name);
        let exact = all().filter(|(name, _)| is_wanted(name)).map(borrow);
        let nested = wanted.iter().filter(|name| find_exact(members, name).is_none());
        let nested =
            nested.filter_map(|name| Some((Cow::Owned(name.clone()), find(members, name)?)));
        exact.chain(nested).collect()
    }
}

/// # Errors
/// Members that the API has mean something else.
fn check_form(members: &[Member<'_>]) -> Result<(), String> {
    let given = |name| find_exact(members, name).filter(|value| !value.is_null());
    if given("text").is_some() && (given("tokens").is_some() || given("fields").is_some()) {
        return Err(format!("{ONE}{OTHERS}"));
    }
    if given("metadata").is_some_and(|value| !is_object(value)) {
        return Err(format!("'metadata' is not an object{OTHERS}"));
    }
    let is_time = |value: Value<'_>| {
        value.text().is_ok_and(|text| text.is_some_and(|text| text.parse::<Timestamp>().is_ok()))
    };
    match given("expires_at").is_some_and(|value| !is_time(value)) {
        true => Err(format!("'expires_at' is not a time in RFC 3339{OTHERS}")),
        false => Ok(()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "values are found by value")]
fn is_object(value: Value<'_>) -> bool {
    value.json().get().starts_with('{')
}

/// Whether there is a content other than a text.
pub fn has_other_content(members: &[Member<'_>]) -> bool {
    members.iter().any(|(name, value)| API[2..5].contains(&&**name) && !value.is_null())
}

const INFALLIBLE: &str = "texts and JSON always make JSON";

/// A string, or an integer as the HTTP API takes it.
fn id_of(value: &Value<'_>) -> Result<DocumentId, String> {
    if let Some(text) = value.text().map_err(|error| fault(&error))? {
        return DocumentId::new(text.as_ref()).map_err(|error| format!("/id: {error}"));
    }
    let json = value.json();
    serde_json::from_str(json.get()).map_err(|_| {
        let shown: String = json.get().chars().take(ID_SHOWN_CHARS).collect();
        format!("the id is {shown}: an id is a string or an integer of 64 bits")
    })
}

/// The length of an id in an error message.
const ID_SHOWN_CHARS: usize = 40;

/// The record's own metadata, and the further members unless it has them already.
fn metadata(own: Option<&Value<'_>>, further: &[Member<'_>]) -> Option<Box<RawValue>> {
    let own = own.map(Value::json);
    if further.is_empty() {
        return own.map(Cow::into_owned);
    }
    let mut all = match own.as_ref().map(|own| members(own.get().as_bytes())) {
        None => Vec::new(),
        Some(Ok(members)) => members,
        Some(Err(_)) => return own.map(Cow::into_owned),
    };
    let mut names: HashSet<String> = all.iter().map(|(name, _)| name.to_string()).collect();
    for (name, value) in further {
        if names.insert(name.to_string()) {
            all.push((name.clone(), value.borrowed()));
        }
    }
    Some(object(&all))
}

fn missing(wanted: &str, option: &str, members: &[Member<'_>]) -> String {
    let mut reason = no_column(wanted, option, members.iter().map(|(name, _)| &**name));
    let has_objects = |value: &Value<'_>| match value {
        Value::Json(json) => {
            json.get().strip_prefix('[').is_some_and(|array| array.trim_start().starts_with('{'))
        }
        Value::Text(_) => false,
    };
    if let Some((name, _)) = members.iter().find(|(_, value)| has_objects(value)) {
        reason += ", or the array with the documents by --records ";
        reason += name;
    }
    reason
}

pub fn no_column<'a>(
    wanted: &str,
    option: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let shown = listed(names);
    let others = if shown.is_empty() { ", and no other" } else { " but " };
    format!(
        "there is no column '{wanted}'{others}{shown}; name the column by {option} (one within \
         others as a.b)"
    )
}

#[cfg(test)]
#[path = "tests/columns.rs"]
mod tests;
