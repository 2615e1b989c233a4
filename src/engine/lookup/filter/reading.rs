//! Parses expressions into conditions. `jsonpath_rust` parses the grammar of the standard; its
//! syntax tree is then translated, and unsupported parts are refused.

use std::num::NonZeroUsize;

use jsonpath_rust::parser::errors::JsonPathError;
use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, JpQuery, Literal, Segment, Selector, SingularQuery,
    SingularQuerySegment, Test,
};
use jsonpath_rust::parser::parse_json_path;
use pest::error::{ErrorVariant, InputLocation};
use serde_json::{Number, Value};

use super::FilterError;
use super::condition::{Condition, Operand, Operator, Step};

/// Makes a whole path of the expression, as its only filter.
const BEFORE: &str = "$[?";

/// Steps that parsing may take, a few milliseconds: some expressions make the parser backtrack
/// exponentially.
const STEPS_MAX: NonZeroUsize = NonZeroUsize::new(100_000).expect("it is not zero");

/// Characters of the expression, and of the parser's own message, that an error quotes.
const SHOWN_MAX: usize = 20;
const DETAIL_MAX: usize = 200;

pub(crate) fn read(expression: &str) -> Result<Condition, FilterError> {
    // The limit is global to the process; nothing else in it uses pest.
    pest::set_call_limit(Some(STEPS_MAX));
    let path = format!("{BEFORE}{expression}]");
    let JpQuery { segments } =
        parse_json_path(&path).map_err(|error| translate(error, expression))?;
    match &segments[..] {
        [Segment::Selector(Selector::Filter(filter))] => condition(filter, Depth::Expression),
        // The expression contains the closing bracket and continues after it.
        _ => Err(FilterError::Unsupported("a second bracket or selector")),
    }
}

/// How deeply a part of an expression is nested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Expression,
    /// In the filter of a path: paths there select at most one value.
    PathFilter,
}

fn condition(filter: &Filter, depth: Depth) -> Result<Condition, FilterError> {
    let all = |filters: &[Filter]| -> Result<Vec<_>, _> {
        filters.iter().map(|filter| condition(filter, depth)).collect()
    };
    match filter {
        Filter::Or(filters) => all(filters).map(Condition::Any),
        Filter::And(filters) => all(filters).map(Condition::All),
        Filter::Atom(FilterAtom::Filter { expr, not }) => {
            condition(expr, depth).map(|condition| negated_if(*not, condition))
        }
        Filter::Atom(FilterAtom::Test { expr, not }) => match &**expr {
            Test::RelQuery(path) => Ok(negated_if(*not, Condition::Exists(steps(path, depth)?))),
            Test::AbsQuery(_) => Err(FilterError::Unsupported("$")),
            Test::Function(_) => Err(FilterError::Unsupported("a function")),
        },
        Filter::Atom(FilterAtom::Comparison(comparison)) => compare(comparison),
    }
}

fn negated_if(not: bool, condition: Condition) -> Condition {
    if not { Condition::Not(Box::new(condition)) } else { condition }
}

fn compare(comparison: &Comparison) -> Result<Condition, FilterError> {
    let operator = match comparison {
        Comparison::Eq(..) => Operator::Equal,
        Comparison::Ne(..) => Operator::Unequal,
        Comparison::Gt(..) => Operator::Greater,
        Comparison::Gte(..) => Operator::GreaterOrEqual,
        Comparison::Lt(..) => Operator::Less,
        Comparison::Lte(..) => Operator::LessOrEqual,
    };
    let (left, right) = comparison.vals();
    Ok(Condition::Comparison { left: operand(left)?, operator, right: operand(right)? })
}

fn operand(comparable: &Comparable) -> Result<Operand, FilterError> {
    match comparable {
        Comparable::Literal(literal) => value(literal).map(Operand::Literal),
        Comparable::SingularQuery(SingularQuery::Current(path)) => {
            Ok(Operand::At(path.iter().map(single_step).collect()))
        }
        Comparable::SingularQuery(SingularQuery::Root(_)) => Err(FilterError::Unsupported("$")),
        Comparable::Function(_) => Err(FilterError::Unsupported("a function")),
    }
}

fn value(literal: &Literal) -> Result<Value, FilterError> {
    Ok(match literal {
        Literal::Int(number) => Value::from(*number),
        Literal::Float(number) => {
            let number = Number::from_f64(*number);
            Value::Number(number.ok_or(FilterError::Unsupported("a number beyond a double's"))?)
        }
        Literal::String(text) => Value::from(text.as_str()),
        Literal::Bool(truth) => Value::from(*truth),
        Literal::Null => Value::Null,
    })
}

fn single_step(segment: &SingularQuerySegment) -> Step {
    match segment {
        SingularQuerySegment::Name(name) => Step::Name(name.clone()),
        SingularQuerySegment::Index(index) => Step::Index(*index),
    }
}

fn steps(path: &[Segment], depth: Depth) -> Result<Vec<Step>, FilterError> {
    path.iter().map(|segment| step(segment, depth)).collect()
}

fn step(segment: &Segment, depth: Depth) -> Result<Step, FilterError> {
    let selector = match segment {
        Segment::Selector(selector) => selector,
        Segment::Descendant(_) => return Err(FilterError::Unsupported("..")),
        Segment::Selectors(_) => return Err(FilterError::Unsupported("a list of selectors")),
    };
    match (selector, depth) {
        (Selector::Name(name), _) => Ok(Step::Name(name.clone())),
        (Selector::Index(index), _) => Ok(Step::Index(*index)),
        (Selector::Wildcard, Depth::Expression) => Ok(Step::Each),
        (Selector::Filter(filter), Depth::Expression) => {
            condition(filter, Depth::PathFilter).map(Step::Where)
        }
        (Selector::Slice(..), _) => Err(FilterError::Unsupported("a slice")),
        (Selector::Wildcard, _) => Err(FilterError::Unsupported("* in the filter of a path")),
        (Selector::Filter(_), _) => {
            Err(FilterError::Unsupported("a filter in the filter of a path"))
        }
    }
}

/// Translates the parser's errors into errors of a filter.
fn translate(error: JsonPathError, expression: &str) -> FilterError {
    let error = match error {
        JsonPathError::PestError(error) => error,
        JsonPathError::MaxNestingDepthExceeded(_) => return FilterError::TooComplex,
        other => return FilterError::Other(shown(&other.to_string(), DETAIL_MAX)),
    };
    let (InputLocation::Pos(byte) | InputLocation::Span((byte, _))) = error.location;
    match error.variant {
        ErrorVariant::ParsingError { .. } => syntax(expression, byte.saturating_sub(BEFORE.len())),
        ErrorVariant::CustomError { .. } => FilterError::TooComplex,
    }
}

/// An unexpected token at this byte of the expression, or an unexpected end.
fn syntax(expression: &str, byte: usize) -> FilterError {
    let (before, rest) = expression.split_at_checked(byte).unwrap_or((expression, ""));
    let found = match rest {
        "" => "end".to_owned(),
        rest => format!("'{}'", shown(rest, SHOWN_MAX)),
    };
    FilterError::Syntax { at: before.chars().count() + 1, found }
}

/// The beginning of a text, so that an error does not repeat a long expression.
fn shown(text: &str, characters_max: usize) -> String {
    text.chars().take(characters_max).collect()
}
