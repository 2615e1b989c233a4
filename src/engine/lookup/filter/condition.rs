//! What a filter says, and whether it holds for a value. RFC 9535, section 2.3.5.2.2, says what
//! comparisons mean; numbers are compared exactly as long as both are integers.

use std::cmp::Ordering;

use serde_json::{Number, Value};

#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Comparison {
        left: Operand,
        operator: Operator,
        right: Operand,
    },
    /// The path leads to a value, whatever that is.
    Exists(Vec<Step>),
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) enum Operand {
    Literal(Value),
    /// Of names and indexes only, so that it leads to one value at most.
    At(Vec<Step>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// From a value to values inside it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) enum Step {
    Name(String),
    /// Of an array; negative from its end.
    Index(i64),
    Each,
    /// To each for which the condition holds.
    Where(Condition),
}

impl Condition {
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
    /// Where a name or an index leads.
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
        Step::Each => values_in(value).any(|value| leads_anywhere(rest, value)),
        Step::Where(condition) => {
            values_in(value).any(|value| condition.holds(value) && leads_anywhere(rest, value))
        }
    }
}

fn values_in(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    }
}

impl Operator {
    /// `None` is a path that led nowhere.
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

/// Equal in value: 1 is 1.0, also deep inside.
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

/// Only numbers have an order, and strings, by their characters.
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
