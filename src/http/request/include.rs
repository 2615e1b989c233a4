//! The optional parts of an answer: names with commas between, in a body also an array of them.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::{Engine, MatchDetails, MeasureSelection};
use crate::http::access::{Action, Caller};
use crate::http::problem::Problem;

/// The parts of a document that are returned on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    pub sketch: bool,
    pub shingles: bool,
}

impl Include {
    /// Signatures have no shingles. A sketch shows which shingles make it, and who knows them can
    /// make other documents that agree with it.
    ///
    /// # Errors
    /// `not_permitted`: the caller's key has not the action `admin`; `unsupported_mode`.
    pub fn check(
        chosen: Option<Chosen<Self>>,
        caller: &Caller,
        engine: &Engine,
    ) -> Result<Option<Self>, Problem> {
        let include = chosen.map(|Chosen(include)| include);
        if include.is_some_and(|of| of.sketch) {
            caller.permits(Action::Admin)?;
        }
        if include.is_some_and(|of| of.shingles) {
            engine.refuse_signatures()?;
        }
        Ok(include)
    }
}

/// The optional part of a document with passages: its metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassageInclude {
    metadata: bool,
}

/// A choice as clients write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen<T>(pub T);

/// A choice of names.
pub trait Names: Copy + Default {
    /// Each name, and whether it is chosen.
    fn choices(&mut self) -> Vec<(&'static str, &mut bool)>;

    /// The expected names, for a message.
    fn expected() -> String {
        let mut none = Self::default();
        let names: Vec<_> = none.choices().into_iter().map(|(name, _)| name).collect();
        let several = if names.len() > 1 { ", or several of them with commas between" } else { "" };
        format!("must be {}{several}", names.join(", "))
    }
}

impl Names for Include {
    fn choices(&mut self) -> Vec<(&'static str, &mut bool)> {
        vec![("sketch", &mut self.sketch), ("shingles", &mut self.shingles)]
    }
}

impl Names for MatchDetails {
    fn choices(&mut self) -> Vec<(&'static str, &mut bool)> {
        let MatchDetails { metadata, content, highlights } = self;
        vec![("text", content), ("metadata", metadata), ("highlights", highlights)]
    }
}

impl Names for PassageInclude {
    fn choices(&mut self) -> Vec<(&'static str, &mut bool)> {
        vec![("metadata", &mut self.metadata)]
    }
}

impl Names for MeasureSelection {
    fn choices(&mut self) -> Vec<(&'static str, &mut bool)> {
        MeasureSelection::choices(self).collect()
    }
}

impl<'de, T: Names> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor(T::default())).map(Self)
    }
}

impl<T: Names> Serialize for Chosen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut copy = self.0;
        let chosen = copy.choices().into_iter().filter(|(_, is_chosen)| **is_chosen);
        serializer.collect_seq(chosen.map(|(name, _)| name))
    }
}

struct NamesVisitor<T>(T);

impl<T: Names> NamesVisitor<T> {
    fn add<E: Error>(&mut self, name: &str) -> Result<(), E> {
        let mut choices = self.0.choices();
        let chosen = choices.iter_mut().find(|(known, _)| *known == name);
        chosen.map(|(_, is_chosen)| **is_chosen = true).ok_or_else(|| E::custom(T::expected()))
    }
}

impl<'de, T: Names> Visitor<'de> for NamesVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names with commas between, or an array of names")
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<T, E> {
        text.split(',').try_for_each(|name| self.add(name))?;
        Ok(self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut names: A) -> Result<T, A::Error> {
        while let Some(name) = names.next_element::<String>()? {
            self.add(&name)?;
        }
        Ok(self.0)
    }
}
