//! Finds the boundaries of the elements of a JSON array.

use crate::http::bulk::split::{End, SplitStep};

/// The position of the parser in the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ArrayPosition {
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
    position: ArrayPosition,
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl ArrayCutter {
    pub fn is_closed(&self) -> bool {
        self.position == ArrayPosition::Closed
    }

    pub fn cut(&mut self, bytes: &[u8]) -> SplitStep {
        let before = match self.position {
            ArrayPosition::Bare | ArrayPosition::Nested => 0,
            _ => match self.skip(bytes) {
                Ok(before) => before,
                Err(fault) => {
                    return SplitStep { before: 0, take: 0, after: 0, end: End::Fault(fault) };
                }
            },
        };
        let (take, ended) = match self.position {
            ArrayPosition::Bare => self.take_bare(&bytes[before..]),
            ArrayPosition::Nested => self.take_nested(&bytes[before..]),
            _ => (0, false),
        };
        SplitStep { before, take, after: 0, end: if ended { End::Item } else { End::Open } }
    }

    /// Skips the bytes between elements, up to the first byte of an element.
    fn skip(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        for (at, &byte) in bytes.iter().enumerate() {
            if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                continue;
            }
            self.position = match (self.position, byte) {
                (ArrayPosition::Outside, b'[') => ArrayPosition::Opened,
                (ArrayPosition::Outside, _) => return Err("expected '['"),
                (ArrayPosition::Opened | ArrayPosition::Completed, b']') => ArrayPosition::Closed,
                (ArrayPosition::Completed, b',') => ArrayPosition::Separated,
                (ArrayPosition::Completed, _) => {
                    return Err("expected ',' or ']' after a document");
                }
                (ArrayPosition::Closed, _) => return Err("expected nothing after the array"),
                (_, b',' | b']' | b'}' | b':') => return Err("expected a document"),
                (_, b'{' | b'[' | b'"') => ArrayPosition::Nested,
                _ => ArrayPosition::Bare,
            };
            if matches!(self.position, ArrayPosition::Nested | ArrayPosition::Bare) {
                return Ok(at);
            }
        }
        Ok(bytes.len())
    }

    fn take_bare(&mut self, bytes: &[u8]) -> (usize, bool) {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        match bytes.iter().position(ends) {
            Some(end) => {
                self.position = ArrayPosition::Completed;
                (end, true)
            }
            None => (bytes.len(), false),
        }
    }

    fn take_nested(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, &byte) in bytes.iter().enumerate() {
            self.step(byte);
            if self.depth == 0 && !self.in_string {
                self.position = ArrayPosition::Completed;
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
