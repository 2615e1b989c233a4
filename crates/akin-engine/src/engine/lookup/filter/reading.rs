//! Parses expressions into conditions: a parser by recursive descent for the grammar of RFC 9535,
//! which names the parts of the grammar that filters do not support.

use serde_json::{Number, Value};

use super::FilterError;
use super::condition::{Condition, Operand, Operator, Step};

/// Parentheses within each other. Each level takes stack while the filter is parsed and evaluated.
const DEPTH_MAX: usize = 64;

/// Characters of the expression that an error quotes.
const SHOWN_MAX: usize = 20;

/// The two-character operators come first: `<` is the beginning of `<=`.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

pub(crate) fn read(expression: &str) -> Result<Condition, FilterError> {
    let mut parser = Parser { expression, at: 0, depth: 0, in_path: false };
    let condition = parser.any()?;
    if parser.peek().is_some() { Err(parser.unexpected()) } else { Ok(condition) }
}

struct Parser<'a> {
    expression: &'a str,
    /// The byte of the next character.
    at: usize,
    depth: usize,
    /// Within the filter of a path, where paths select at most one value.
    in_path: bool,
}

/// The steps of a path, and the byte of the first step that can select several values.
struct Path {
    steps: Vec<Step>,
    several_at: Option<usize>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.expression[self.at..]
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        let blanks = |c| matches!(c, ' ' | '\t' | '\n' | '\r');
        self.at = self.expression.len() - self.rest().trim_start_matches(blanks).len();
        self.rest().chars().next()
    }

    /// Skips this text if it comes next, after blanks.
    fn take(&mut self, text: &str) -> bool {
        self.peek();
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Skips and returns the next characters as long as they are of this kind.
    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        self.at = self.expression.len() - self.rest().trim_start_matches(is_part).len();
        &self.expression[start..self.at]
    }

    /// Terms joined by `||`.
    fn any(&mut self) -> Result<Condition, FilterError> {
        let mut terms = vec![self.all()?];
        while self.take("||") {
            terms.push(self.all()?);
        }
        Ok(alone(terms).unwrap_or_else(Condition::Any))
    }

    /// Terms joined by `&&`.
    fn all(&mut self) -> Result<Condition, FilterError> {
        let mut terms = vec![self.term()?];
        while self.take("&&") {
            terms.push(self.term()?);
        }
        Ok(alone(terms).unwrap_or_else(Condition::All))
    }

    /// A comparison, a test of existence, or parentheses.
    fn term(&mut self) -> Result<Condition, FilterError> {
        if self.take("!") {
            return Ok(Condition::Not(Box::new(self.test()?)));
        }
        if self.peek() == Some('(') {
            return self.test();
        }
        let left = if self.take("@") {
            let path = self.path()?;
            if path.several_at.is_some() || !self.is_operator_next() {
                return Ok(Condition::Exists(path.steps));
            }
            Operand::At(path.steps)
        } else {
            self.literal()?
        };
        let operator = self.operator()?;
        Ok(Condition::Comparison { left, operator, right: self.operand()? })
    }

    /// An operand of `!`: parentheses or a test of existence.
    fn test(&mut self) -> Result<Condition, FilterError> {
        if self.take("@") {
            return Ok(Condition::Exists(self.path()?.steps));
        }
        if !self.take("(") {
            return Err(self.refusal());
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(FilterError::TooDeep { max: DEPTH_MAX });
        }
        let condition = self.any()?;
        self.depth -= 1;
        if self.take(")") { Ok(condition) } else { Err(self.unexpected()) }
    }

    fn is_operator_next(&mut self) -> bool {
        self.peek();
        OPERATORS.iter().any(|(text, _)| self.rest().starts_with(text))
    }

    fn operator(&mut self) -> Result<Operator, FilterError> {
        let found = OPERATORS.iter().find(|(text, _)| self.take(text));
        found.map(|(_, operator)| *operator).ok_or_else(|| self.unexpected())
    }

    fn operand(&mut self) -> Result<Operand, FilterError> {
        if !self.take("@") {
            return self.literal();
        }
        let path = self.path()?;
        match path.several_at {
            None => Ok(Operand::At(path.steps)),
            Some(at) => Err(self.unexpected_at(at)),
        }
    }

    fn literal(&mut self) -> Result<Operand, FilterError> {
        let value = match self.peek() {
            Some('\'' | '"') => Value::String(self.string()?),
            Some('-' | '0'..='9') => Value::Number(self.number()?),
            _ if self.take("true") => Value::Bool(true),
            _ if self.take("false") => Value::Bool(false),
            _ if self.take("null") => Value::Null,
            _ => return Err(self.refusal()),
        };
        Ok(Operand::Literal(value))
    }

    /// A number has the same grammar as in JSON.
    fn number(&mut self) -> Result<Number, FilterError> {
        let start = self.at;
        let digits = self.take_while(|c| matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
        let number = serde_json::from_str::<Number>(digits);
        let is_infinite = digits.parse().is_ok_and(f64::is_infinite);
        match number {
            Ok(number) => Ok(number),
            Err(_) if is_infinite => Err(FilterError::Unsupported("a number beyond a double's")),
            Err(_) => Err(self.unexpected_at(start)),
        }
    }

    /// A string in single or double quotes. It differs from a string of JSON only in the quotes.
    fn string(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let json = json_string(self.rest());
        let read = json.and_then(|(json, length)| {
            self.at += length;
            serde_json::from_str(&json).ok()
        });
        read.ok_or_else(|| self.unexpected_at(start))
    }

    /// The steps after `@`.
    fn path(&mut self) -> Result<Path, FilterError> {
        let mut path = Path { steps: Vec::new(), several_at: None };
        loop {
            let in_brackets = self.take("[");
            if !in_brackets && !self.take(".") {
                return Ok(path);
            }
            if in_brackets {
                self.peek();
            }
            let at = self.at;
            let step = if in_brackets { self.selector()? } else { self.name()? };
            if matches!(step, Step::Each | Step::Where(_)) {
                path.several_at.get_or_insert(at);
            }
            path.steps.push(step);
        }
    }

    /// `name` or `*`, directly after a dot.
    fn name(&mut self) -> Result<Step, FilterError> {
        match self.rest().chars().next() {
            Some('.') => Err(FilterError::Unsupported("..")),
            Some('*') => self.each(),
            Some('a'..='z' | 'A'..='Z' | '_' | '\u{80}'..) => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
                Ok(Step::Name(self.take_while(is_part).to_owned()))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The content of brackets, and the closing bracket.
    fn selector(&mut self) -> Result<Step, FilterError> {
        let step = match self.peek() {
            Some('\'' | '"') => Step::Name(self.string()?),
            Some('*') => self.each()?,
            Some('?') => self.path_filter()?,
            Some(':') => return Err(FilterError::Unsupported("a slice")),
            _ => self.index()?,
        };
        match self.peek() {
            Some(']') => self.at += 1,
            Some(',') => return Err(FilterError::Unsupported("a list of selectors")),
            Some(':') => return Err(FilterError::Unsupported("a slice")),
            _ => return Err(self.unexpected()),
        }
        Ok(step)
    }

    fn each(&mut self) -> Result<Step, FilterError> {
        if self.in_path {
            return Err(FilterError::Unsupported("* in the filter of a path"));
        }
        self.at += 1;
        Ok(Step::Each)
    }

    fn path_filter(&mut self) -> Result<Step, FilterError> {
        if self.in_path {
            return Err(FilterError::Unsupported("a filter in the filter of a path"));
        }
        self.at += 1;
        self.in_path = true;
        let condition = self.any()?;
        self.in_path = false;
        Ok(Step::Where(condition))
    }

    fn index(&mut self) -> Result<Step, FilterError> {
        let start = self.at;
        let digits = self.take_while(|c| matches!(c, '0'..='9' | '-'));
        // Neither `-0` nor `01` is an index.
        let index = digits.parse::<i64>().ok().filter(|index| index.to_string() == digits);
        index.map(Step::Index).ok_or_else(|| self.unexpected_at(start))
    }

    /// Names the part of RFC 9535 that filters lack; anything else is unexpected.
    fn refusal(&mut self) -> FilterError {
        let next = self.peek();
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let after = self.rest().trim_start_matches(is_part);
        match next {
            Some('$') => FilterError::Unsupported("$"),
            Some('a'..='z') if after.starts_with('(') => FilterError::Unsupported("a function"),
            _ => self.unexpected(),
        }
    }

    fn unexpected(&self) -> FilterError {
        self.unexpected_at(self.at)
    }

    /// An unexpected token at this byte of the expression, or an unexpected end.
    fn unexpected_at(&self, byte: usize) -> FilterError {
        let (before, rest) = self.expression.split_at(byte);
        // Only the beginning, so that an error does not repeat a long expression.
        let shown: String = rest.chars().take(SHOWN_MAX).collect();
        let found = if rest.is_empty() { "end".to_owned() } else { format!("'{shown}'") };
        FilterError::Syntax { at: before.chars().count() + 1, found }
    }
}

/// The only term, or all of several.
fn alone(mut terms: Vec<Condition>) -> Result<Condition, Vec<Condition>> {
    if terms.len() == 1 { Ok(terms.remove(0)) } else { Err(terms) }
}

/// The string with which the text begins, as JSON, and its length in bytes with both quotes.
/// `None`: it has no end, or escapes the quotes of the other kind.
fn json_string(text: &str) -> Option<(String, usize)> {
    let mut characters = text.char_indices();
    let (_, quote) = characters.next()?;
    let mut json = String::from('"');
    while let Some((at, character)) = characters.next() {
        match character {
            _ if character == quote => {
                json.push('"');
                return Some((json, at + 1));
            }
            '"' => json.push_str("\\\""),
            '\\' => match characters.next()?.1 {
                '\'' if quote == '\'' => json.push('\''),
                '"' if quote == '\'' => return None,
                escaped => json.extend(['\\', escaped]),
            },
            _ => json.push(character),
        }
    }
    None
}
