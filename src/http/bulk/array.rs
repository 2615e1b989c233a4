//! Finds the boundaries of the elements of a JSON array.

use crate::http::bulk::split::{SplitEnd, SplitStep};
use akin_model::value_end::ValueEnd;

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
    /// In an element.
    Within,
    /// After an element: expects a comma or the closing bracket.
    Completed,
    /// After the closing bracket: expects nothing.
    Closed,
}

#[derive(Debug, Default)]
pub(in crate::http) struct ArrayCutter {
    position: ArrayPosition,
    element: ValueEnd,
}

impl ArrayCutter {
    pub fn is_closed(&self) -> bool {
        self.position == ArrayPosition::Closed
    }

    pub fn cut(&mut self, bytes: &[u8]) -> SplitStep {
        let before = match self.position {
            ArrayPosition::Within => 0,
            _ => match self.skip(bytes) {
                Ok(before) => before,
                Err(fault) => {
                    return SplitStep { before: 0, take: 0, after: 0, end: SplitEnd::Fault(fault) };
                }
            },
        };
        let (take, ended) = match self.position {
            ArrayPosition::Within => self.element.take(&bytes[before..], |_| ()),
            _ => (0, false),
        };
        if ended {
            (self.position, self.element) = (ArrayPosition::Completed, ValueEnd::default());
        }
        SplitStep {
            before,
            take,
            after: 0,
            end: if ended { SplitEnd::Item } else { SplitEnd::Open },
        }
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
                _ => ArrayPosition::Within,
            };
            if self.position == ArrayPosition::Within {
                return Ok(at);
            }
        }
        Ok(bytes.len())
    }
}
