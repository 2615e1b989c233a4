//! Query parameters. An unknown name, a name given twice and a value out of its range are each
//! refused with what is allowed.

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;

use crate::engine::Filter;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::{AppState, ServerSettings};

/// Matches of a lookup, and ids of a page, when the call does not say how many.
const LIMIT_DEFAULT: usize = 20;

/// Parameters that a call takes.
pub trait ReadParameters: Sized {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem>;
}

/// The extractor of a call's parameters.
pub struct Query<T>(pub T);

impl<T: ReadParameters> FromRequestParts<AppState> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let mut parameters = Parameters::of(&parts.uri, &state.settings)?;
        let read = T::read(&mut parameters)?;
        parameters.finish()?;
        Ok(Self(read))
    }
}

/// What a request's query holds, taken out by name.
pub struct Parameters {
    pairs: Vec<(String, String)>,
    /// The names asked for so far, which are those that the call knows.
    known: Vec<&'static str>,
    limit_max: usize,
    filter_bytes_max: usize,
}

impl Parameters {
    fn of(uri: &Uri, settings: &ServerSettings) -> Result<Self, Problem> {
        let &ServerSettings { limit_max, filter_bytes_max, .. } = settings;
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| Problem::new(Code::InvalidParameter, error.body_text()))?
            .0;
        Ok(Self { pairs, known: Vec::new(), limit_max, filter_bytes_max })
    }

    pub fn optional<T: Parameter>(&mut self, name: &'static str) -> Result<Option<T>, Problem> {
        self.known.push(name);
        let Some(at) = self.pairs.iter().position(|(key, _)| key == name) else { return Ok(None) };
        let (_, text) = self.pairs.swap_remove(at);
        if self.pairs.iter().any(|(key, _)| key == name) {
            return Err(wrong(name, "is given more than once"));
        }
        T::parse(&text).map(Some).map_err(|allowed| wrong(name, &format!("must be {allowed}")))
    }

    pub fn required<T: Parameter>(&mut self, name: &'static str) -> Result<T, Problem> {
        self.optional(name)?.ok_or_else(|| wrong(name, "is missing"))
    }

    pub fn limit(&mut self) -> Result<usize, Problem> {
        let limit = self.optional::<Limit>("limit")?.map_or(LIMIT_DEFAULT, |limit| limit.0);
        if limit == 0 || limit > self.limit_max {
            return Err(wrong("limit", &format!("must be 1..={}", self.limit_max)));
        }
        Ok(limit)
    }

    pub fn filter(&mut self) -> Result<Option<Filter>, Problem> {
        let Some(expression) = self.optional::<String>("filter")? else { return Ok(None) };
        let filter = Filter::parse(&expression, self.filter_bytes_max);
        filter.map(Some).map_err(|error| wrong("filter", &format!("is no filter: {error}")))
    }

    fn finish(self) -> Result<(), Problem> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        let allowed = match &self.known[..] {
            [] => "takes no parameters".to_owned(),
            known => format!("takes only {}", known.join(", ")),
        };
        let detail = format!("there is no parameter '{}': this call {allowed}", shortened(name));
        Err(Problem::new(Code::InvalidParameter, detail))
    }
}

fn wrong(name: &str, what: &str) -> Problem {
    Problem::new(Code::InvalidParameter, format!("the parameter '{name}' {what}"))
}

/// A client's own words, in a problem, but not pages of them.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// A call without parameters.
pub struct NoParameters;

impl ReadParameters for NoParameters {
    fn read(_: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self)
    }
}

/// A value that a parameter may have.
pub trait Parameter: Sized {
    /// # Errors
    /// What is allowed, to follow "must be".
    fn parse(text: &str) -> Result<Self, String>;
}

impl Parameter for u32 {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "a whole number".to_owned())
    }
}

impl Parameter for f64 {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "a number".to_owned())
    }
}

struct Limit(usize);

impl Parameter for Limit {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| "a whole number".to_owned())
    }
}

impl Parameter for String {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl Parameter for bool {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "true or false".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::parameters::{AddParameters, LookupParameters};

    fn read<T: ReadParameters>(query: &'static str) -> Result<T, String> {
        let uri = Uri::from_static(query);
        let mut parameters = Parameters::of(&uri, &ServerSettings::default()).unwrap();
        let read = T::read(&mut parameters).and_then(|read| parameters.finish().map(|()| read));
        read.map_err(|problem| {
            assert_eq!(problem.code, Code::InvalidParameter);
            problem.detail
        })
    }

    #[test]
    fn a_lookup_has_defaults() {
        let lookup = read::<LookupParameters>("/similar").unwrap().lookup();
        assert_eq!((lookup.threshold, lookup.limit, lookup.mode), (None, 20, None));
    }

    #[test]
    fn values_are_percent_decoded() {
        let add = read::<AddParameters>("/documents?id=https%3A%2F%2Fa.b%2F%3Fc%26d").unwrap();
        assert_eq!(add.id.unwrap().as_str(), "https://a.b/?c&d");
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        let faults = [
            ("/?mode=fuzzy", "'mode' must be exact, verified or estimated"),
            ("/?limit=0", "'limit' must be 1..=10000"),
            ("/?limit=10001", "'limit' must be 1..=10000"),
            ("/?limit=-1", "'limit' must be a whole number"),
            ("/?threshold=0", "'threshold' must be a number above 0 and at most 1"),
            ("/?threshold=1.01", "'threshold' must be a number above 0 and at most 1"),
            ("/?threshold=NaN", "'threshold' must be a number above 0 and at most 1"),
            ("/?points=0", "'points' must be a whole number above 0"),
            ("/?points=1.5", "'points' must be a whole number above 0"),
            ("/?limit=1&limit=2", "'limit' is given more than once"),
            ("/?sort=id", "'sort': this call takes only threshold, points, limit, mode"),
        ];
        for (query, expected) in faults {
            let detail = read::<LookupParameters>(query).err().unwrap();
            assert!(detail.contains(expected), "{query}: {detail}");
        }
        let detail = read::<AddParameters>("/?on_duplicate=merge").err().unwrap();
        assert!(detail.contains("'on_duplicate' must be keep or skip"), "{detail}");
        let detail = read::<NoParameters>("/?a=b").err().unwrap();
        assert!(detail.contains("this call takes no parameters"), "{detail}");
    }
}
