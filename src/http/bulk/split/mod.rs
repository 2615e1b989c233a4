//! Splits a stream of bytes into the documents of a bulk import, without parsing them: the lines of
//! NDJSON, or the elements of a JSON array. Each piece is validated by its parser.

use bytes::{Buf, Bytes};

use crate::http::bulk::ndjson;
use crate::http::problem::{Code, Problem};
use crate::http::response::JSON;
use akin_model::value_end::ValueEnd;

/// The layout of documents in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One document per line; blank lines are skipped, and counted.
    Lines,
    /// A JSON array of documents.
    Array,
}

impl Form {
    pub fn media(self) -> &'static str {
        match self {
            Self::Lines => ndjson::MEDIA,
            Self::Array => JSON,
        }
    }
}

/// One document of the input, at any stage between its bytes and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLine<T> {
    /// The line, or the position in the array; from 1.
    pub number: u64,
    pub content: Result<T, Problem>,
}

impl<T> InputLine<T> {
    /// Applies the next step, unless an earlier step failed.
    pub fn then<U>(self, step: impl FnOnce(T) -> Result<U, Problem>) -> InputLine<U> {
        InputLine { number: self.number, content: self.content.and_then(step) }
    }
}

/// How to split the next bytes: skip `before` bytes, then `take` bytes of an item, which may or may
/// not end there, then skip `after` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SplitStep {
    before: usize,
    take: usize,
    after: usize,
    end: SplitEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SplitEnd {
    /// The item continues in the next chunk, or the next item has not begun.
    Open,
    Item,
    Fault(&'static str),
}

enum BodySplitter {
    Lines,
    Array(ArrayCutter),
}

impl BodySplitter {
    fn cut(&mut self, bytes: &[u8]) -> SplitStep {
        match self {
            Self::Lines => cut_line(bytes),
            Self::Array(cutter) => cutter.cut(bytes),
        }
    }
}

fn cut_line(bytes: &[u8]) -> SplitStep {
    match memchr::memchr(b'\n', bytes) {
        Some(newline) => SplitStep { before: 0, take: newline, after: 1, end: SplitEnd::Item },
        None => SplitStep { before: 0, take: bytes.len(), after: 0, end: SplitEnd::Open },
    }
}

/// Feed it chunks with [`push`](Self::push), take items with [`next`](Self::next) until there are
/// none, and call [`finish`](Self::finish) at the end of the body.
pub struct Splitter {
    cutter: BodySplitter,
    /// The unread rest of the latest chunk.
    chunk: Bytes,
    /// The bytes of the current item in earlier chunks.
    carry: Vec<u8>,
    /// The current item is too long: its bytes are dropped until it ends.
    overlong: bool,
    item_bytes_max: usize,
    number: u64,
    faulty: bool,
}

impl Splitter {
    pub fn new(form: Form, item_bytes_max: usize) -> Self {
        let cutter = match form {
            Form::Lines => BodySplitter::Lines,
            Form::Array => BodySplitter::Array(ArrayCutter::default()),
        };
        Self {
            cutter,
            chunk: Bytes::new(),
            carry: Vec::new(),
            overlong: false,
            item_bytes_max,
            number: 0,
            faulty: false,
        }
    }

    /// Takes the next chunk; all items of earlier chunks must have been taken.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "items of the last chunk are left");
        self.chunk = chunk;
    }

    /// Whether no item follows: an error was found, or the rest of the body is ignored.
    pub fn has_ended(&self) -> bool {
        self.faulty
    }

    /// Ignores the rest of the body.
    pub fn abandon(&mut self) {
        self.faulty = true;
    }

    /// The next item that ends in the data pushed so far.
    pub fn next(&mut self) -> Option<InputLine<Bytes>> {
        while !self.chunk.is_empty() && !self.faulty {
            let cut = self.cutter.cut(&self.chunk);
            self.chunk.advance(cut.before);
            let piece = self.chunk.split_to(cut.take);
            self.chunk.advance(cut.after);
            match cut.end {
                SplitEnd::Open => self.keep(&piece),
                SplitEnd::Fault(detail) => return Some(self.fault(detail)),
                SplitEnd::Item => {
                    let item = self.complete(piece);
                    if item.is_some() {
                        return item;
                    }
                }
            }
        }
        None
    }

    /// The item completed by the end of the body (a last line), or the error it reveals (a missing
    /// bracket).
    pub fn finish(&mut self) -> Option<InputLine<Bytes>> {
        if self.faulty {
            return None;
        }
        match &self.cutter {
            BodySplitter::Array(cutter) if !cutter.is_closed() => {
                Some(self.fault("the array does not end"))
            }
            BodySplitter::Array(_) => None,
            BodySplitter::Lines if self.carry.is_empty() && !self.overlong => None,
            BodySplitter::Lines => self.complete(Bytes::new()),
        }
    }

    /// The number of the next item.
    pub fn number_next(&self) -> u64 {
        self.number + 1
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.overlong || self.carry.len() + piece.len() > self.item_bytes_max {
            self.overlong = true;
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(piece);
        }
    }

    /// The item that ends with `piece`, unless it is blank.
    fn complete(&mut self, piece: Bytes) -> Option<InputLine<Bytes>> {
        self.number += 1;
        if self.overlong || self.carry.len() + piece.len() > self.item_bytes_max {
            self.overlong = false;
            self.carry = Vec::new();
            let detail = format!("the document is longer than {} bytes", self.item_bytes_max);
            let content = Err(Problem::new(Code::DocumentTooLarge, detail));
            return Some(InputLine { number: self.number, content });
        }
        let whole = self.joined(piece);
        let trimmed = whole.trim_ascii();
        if trimmed.is_empty() {
            return None;
        }
        Some(InputLine { number: self.number, content: Ok(whole.slice_ref(trimmed)) })
    }

    /// Joins the carry and `piece`; copies nothing when the item lies in a single chunk.
    fn joined(&mut self, piece: Bytes) -> Bytes {
        if self.carry.is_empty() {
            return piece;
        }
        self.carry.extend_from_slice(&piece);
        std::mem::take(&mut self.carry).into()
    }

    fn fault(&mut self, detail: &'static str) -> InputLine<Bytes> {
        self.faulty = true;
        let content = Err(Problem::new(Code::MalformedJson, detail));
        InputLine { number: self.number_next(), content }
    }
}

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
struct ArrayCutter {
    position: ArrayPosition,
    element: ValueEnd,
}

impl ArrayCutter {
    fn is_closed(&self) -> bool {
        self.position == ArrayPosition::Closed
    }

    fn cut(&mut self, bytes: &[u8]) -> SplitStep {
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

#[cfg(test)]
mod tests;
