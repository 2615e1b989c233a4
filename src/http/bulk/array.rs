//! Finds the boundaries of the elements of a JSON array.

use crate::http::bulk::split::{Cut, End};

/// The position of the parser in the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Position {
    /// Before the opening bracket.
    #[default]
    Outside,
    /// After the opening bracket: expects an element or the closing bracket.
    Opened,
    /// After a comma: expects an element.
    Separated,
    /// In an element that is a number or a literal: it ends at the next delimiter.
    Bare,
    /// In an element that is an object, an array or a string.
    Nested,
    /// After an element: expects a comma or the closing bracket.
    Completed,
    /// After the closing bracket: expects nothing.
    Closed,
}

/// Counts brackets outside of strings. The parser of the element checks whether they match.
#[derive(Debug, Default)]
pub(in crate::http) struct ArrayCutter {
    position: Position,
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl ArrayCutter {
    pub fn is_closed(&self) -> bool {
        self.position == Position::Closed
    }

    pub fn cut(&mut self, bytes: &[u8]) -> Cut {
        let before = match self.position {
            Position::Bare | Position::Nested => 0,
            _ => match self.skip(bytes) {
                Ok(before) => before,
                Err(fault) => return Cut { before: 0, take: 0, after: 0, end: End::Fault(fault) },
            },
        };
        let (take, ended) = match self.position {
            Position::Bare => self.take_bare(&bytes[before..]),
            Position::Nested => self.take_nested(&bytes[before..]),
            _ => (0, false),
        };
        Cut { before, take, after: 0, end: if ended { End::Item } else { End::Open } }
    }

    /// Skips the bytes between elements, up to the first byte of an element.
    fn skip(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        for (at, &byte) in bytes.iter().enumerate() {
            if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                continue;
            }
            self.position = match (self.position, byte) {
                (Position::Outside, b'[') => Position::Opened,
                (Position::Outside, _) => return Err("expected '['"),
                (Position::Opened | Position::Completed, b']') => Position::Closed,
                (Position::Completed, b',') => Position::Separated,
                (Position::Completed, _) => return Err("expected ',' or ']' after a document"),
                (Position::Closed, _) => return Err("expected nothing after the array"),
                (_, b',' | b']' | b'}' | b':') => return Err("expected a document"),
                (_, b'{' | b'[' | b'"') => Position::Nested,
                _ => Position::Bare,
            };
            if matches!(self.position, Position::Nested | Position::Bare) {
                return Ok(at);
            }
        }
        Ok(bytes.len())
    }

    fn take_bare(&mut self, bytes: &[u8]) -> (usize, bool) {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        match bytes.iter().position(ends) {
            Some(end) => {
                self.position = Position::Completed;
                (end, true)
            }
            None => (bytes.len(), false),
        }
    }

    fn take_nested(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, &byte) in bytes.iter().enumerate() {
            self.step(byte);
            if self.depth == 0 && !self.in_string {
                self.position = Position::Completed;
                return (at + 1, true);
            }
        }
        (bytes.len(), false)
    }

    fn step(&mut self, byte: u8) {
        if self.escaped {
            self.escaped = false;
            return;
        }
        match (self.in_string, byte) {
            (true, b'\\') => self.escaped = true,
            (_, b'"') => self.in_string = !self.in_string,
            (false, b'{' | b'[') => self.depth += 1,
            (false, b'}' | b']') => self.depth -= 1,
            _ => {}
        }
    }
}
