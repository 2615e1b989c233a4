//! How the engine's types are written as values of parameters.

use crate::document::DocumentId;
use crate::engine::{Linkage, Measures, Mode, OnDuplicate, Order, UnknownMeasure};
use crate::http::request::query::Parameter;
use crate::scheme::Threshold;

impl Parameter for Threshold {
    fn parse(text: &str) -> Result<Self, String> {
        let value = text.parse().ok().and_then(|value| Self::new(value).ok());
        value.ok_or_else(|| "a number above 0 and at most 1".to_owned())
    }
}

impl Parameter for DocumentId {
    fn parse(text: &str) -> Result<Self, String> {
        Self::new(text).map_err(|error| format!("an id ({error})"))
    }
}

impl Parameter for Linkage {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "single" => Ok(Self::Single),
            "representative" => Ok(Self::Representative),
            _ => Err("single or representative".to_owned()),
        }
    }
}

impl Parameter for Measures {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|unknown: UnknownMeasure| unknown.to_string())
    }
}

impl Parameter for Mode {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "verified" => Ok(Self::Verified),
            "estimated" => Ok(Self::Estimated),
            "exact" => Ok(Self::Exact),
            _ => Err("exact, verified or estimated".to_owned()),
        }
    }
}

impl Parameter for OnDuplicate {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "keep" => Ok(Self::Keep),
            "skip" => Ok(Self::Skip),
            _ => Err("keep or skip".to_owned()),
        }
    }
}

impl Parameter for Order {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "stored" => Ok(Self::Stored),
            "id" => Ok(Self::Id),
            _ => Err("stored or id".to_owned()),
        }
    }
}
