//! The syntax tree of a filter and its evaluation. Comparisons follow RFC 9535, section 2.3.5.2.2;
//! numbers are compared exactly as long as both are integers.

use std::cmp::Ordering;

use serde_json::{Number, Value};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Comparison {
        left: Operand,
        operator: Operator,
        right: Operand,
    },
    /// The path selects at least one value, of any kind.
    Exists(Vec<Step>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Literal(Value),
    /// A path of names and indexes only, which selects at most one value.
    At(Vec<Step>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A step of a path: selects values inside a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Name(String),
    /// An index into an array; negative indexes count from its end.
    Index(i64),
    Each,
    /// Every contained value for which the condition holds.
    Where(Condition),
}

impl Condition {
    /// How often a value of the metadata is visited at most: once for each term that goes over all
    /// values of an array or object, or compares two parts of the metadata.
    pub fn visits(&self) -> usize {
        match self {
            Self::Any(conditions) | Self::All(conditions) => {
                conditions.iter().map(Self::visits).sum()
            }
            Self::Not(condition) => condition.visits(),
            Self::Comparison { left: Operand::At(_), right: Operand::At(_), .. } => 1,
            Self::Comparison { .. } => 0,
            Self::Exists(path) => path.iter().map(Step::visits).sum(),
        }
    }

    /// The comparisons and existence tests.
    fn terms(&self) -> usize {
        match self {
            Self::Any(conditions) | Self::All(conditions) => {
                conditions.iter().map(Self::terms).sum()
            }
            Self::Not(condition) => condition.terms(),
            Self::Comparison { .. } | Self::Exists(_) => 1,
        }
    }

    pub fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Any(conditions) => conditions.iter().any(|condition| condition.holds(value)),
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(value)),
            Self::Not(condition) => !condition.holds(value),
            Self::Comparison { left, operator, right } => {
                operator.holds(left.of(value), right.of(value))
            }
            Self::Exists(path) => leads_anywhere(path, value),
        }
    }
}

impl Operand {
    fn of<'a>(&'a self, value: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Literal(literal) => Some(literal),
            Self::At(path) => path.iter().try_fold(value, |value, step| step.to_one(value)),
        }
    }
}

impl Step {
    fn visits(&self) -> usize {
        match self {
            Self::Name(_) | Self::Index(_) => 0,
            Self::Each => 1,
            Self::Where(condition) => 1 + condition.terms(),
        }
    }

    /// The value that a name or an index selects.
    fn to_one<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match (self, value) {
            (Self::Name(name), Value::Object(members)) => members.get(name),
            (Self::Index(index), Value::Array(elements)) => {
                let from_end = if *index < 0 { elements.len() as i64 } else { 0 };
                elements.get(usize::try_from(index.checked_add(from_end)?).ok()?)
            }
            _ => None,
        }
    }
}

fn leads_anywhere(path: &[Step], value: &Value) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    match step {
        Step::Name(_) | Step::Index(_) => {
            step.to_one(value).is_some_and(|value| leads_anywhere(rest, value))
        }
        Step::Each => has_value(value, |value| leads_anywhere(rest, value)),
        Step::Where(condition) => {
            has_value(value, |value| condition.holds(value) && leads_anywhere(rest, value))
        }
    }
}

/// Whether a contained value is as wanted.
fn has_value(value: &Value, is_wanted: impl FnMut(&Value) -> bool) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(is_wanted),
        Value::Object(members) => members.values().any(is_wanted),
        _ => false,
    }
}

impl Operator {
    /// `None` stands for a path that selects nothing.
    fn holds(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        let equal = || match (left, right) {
            (Some(left), Some(right)) => are_equal(left, right),
            (None, None) => true,
            _ => false,
        };
        let order = || left.zip(right).and_then(|(left, right)| order(left, right));
        match self {
            Self::Equal => equal(),
            Self::Unequal => !equal(),
            Self::Less => order() == Some(Ordering::Less),
            Self::Greater => order() == Some(Ordering::Greater),
            Self::LessOrEqual => order() == Some(Ordering::Less) || equal(),
            Self::GreaterOrEqual => order() == Some(Ordering::Greater) || equal(),
        }
    }
}

/// Equality by value at every depth: 1 equals 1.0.
fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            numbers(left, right) == Some(Ordering::Equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| are_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let is_same = |(name, value)| right.get(name).is_some_and(|r| are_equal(value, r));
            left.len() == right.len() && left.iter().all(is_same)
        }
        _ => left == right,
    }
}

/// Only numbers and strings are ordered; strings by their characters.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => numbers(left, right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
