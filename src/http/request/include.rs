//! The optional parts of an answer: names with commas between, in a body also an array of them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::engine::{Engine, MatchDetails, MeasureSelection, UnknownMeasure};
use crate::http::access::Caller;
use crate::http::access::key::Action;
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
    pub fn check(include: Option<Self>, caller: &Caller, engine: &Engine) -> Result<(), Problem> {
        if include.is_some_and(|of| of.sketch) {
            caller.permits(Action::Admin)?;
        }
        if include.is_some_and(|of| of.shingles) {
            engine.refuse_signatures()?;
        }
        Ok(())
    }
}

/// The optional parts of a match: by default neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchInclude(pub MatchDetails);

/// The optional part of a document with passages: its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageInclude;

/// The further measures of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures(pub MeasureSelection);

/// A choice of names.
trait Names: Sized {
    const EXPECTED: &'static str;

    fn none() -> Self;

    /// Adds the part with this name; `false` if nothing has.
    fn add(&mut self, name: &str) -> bool;
}

impl Names for Include {
    const EXPECTED: &'static str = "must be sketch, shingles or both with a comma between";

    fn none() -> Self {
        Self::default()
    }

    fn add(&mut self, name: &str) -> bool {
        match name {
            "sketch" => self.sketch = true,
            "shingles" => self.shingles = true,
            _ => return false,
        }
        true
    }
}

impl Names for MatchInclude {
    const EXPECTED: &'static str = "must be text, metadata or both with a comma between";

    fn none() -> Self {
        Self(MatchDetails { metadata: false, content: false })
    }

    fn add(&mut self, name: &str) -> bool {
        match name {
            "text" => self.0.content = true,
            "metadata" => self.0.metadata = true,
            _ => return false,
        }
        true
    }
}

impl Names for PassageInclude {
    const EXPECTED: &'static str = "must be metadata";

    fn none() -> Self {
        Self
    }

    fn add(&mut self, name: &str) -> bool {
        name == "metadata"
    }
}

impl Names for Measures {
    const EXPECTED: &'static str = UnknownMeasure::MESSAGE;

    fn none() -> Self {
        Self::default()
    }

    fn add(&mut self, name: &str) -> bool {
        self.0.add(name)
    }
}

impl<'de> Deserialize<'de> for Include {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor(Self::none()))
    }
}

impl<'de> Deserialize<'de> for MatchInclude {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor(Self::none()))
    }
}

impl<'de> Deserialize<'de> for PassageInclude {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor(Self::none()))
    }
}

impl<'de> Deserialize<'de> for Measures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor(Self::none()))
    }
}

struct NamesVisitor<T>(T);

impl<T: Names> NamesVisitor<T> {
    fn add<E: Error>(&mut self, name: &str) -> Result<(), E> {
        self.0.add(name).then_some(()).ok_or_else(|| E::custom(T::EXPECTED))
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
