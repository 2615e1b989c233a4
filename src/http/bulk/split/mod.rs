//! Cuts a stream of bytes into the documents of a bulk addition, without parsing them: the lines of
//! NDJSON, or the elements of a JSON array. Whether a piece is JSON is left to its parser.

use bytes::{Buf, Bytes};

use crate::http::bulk::array::ArrayCutter;

/// How the documents are laid out in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A document a line; blank lines are skipped, and counted.
    Lines,
    /// One JSON array of documents.
    Array,
}

/// One document's bytes, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The line, or the position in the array; from 1.
    pub number: u64,
    pub content: Result<Bytes, SplitError>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// The item is skipped; those after it are returned.
    #[error("the document is longer than {bytes_max} bytes")]
    TooLong { bytes_max: usize },
    /// The rest of the body cannot be cut into documents.
    #[error("{0}")]
    Malformed(&'static str),
}

/// How to cut the next bytes: `before` bytes between items, then `take` bytes of an item, which
/// ends there or not, then `after` bytes between items again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Cut {
    pub before: usize,
    pub take: usize,
    pub after: usize,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum End {
    /// The item goes on in the next chunk, or the next has not begun.
    Open,
    Item,
    Fault(&'static str),
}

enum Cutter {
    Lines,
    Array(ArrayCutter),
}

impl Cutter {
    fn cut(&mut self, bytes: &[u8]) -> Cut {
        match self {
            Self::Lines => cut_line(bytes),
            Self::Array(cutter) => cutter.cut(bytes),
        }
    }
}

fn cut_line(bytes: &[u8]) -> Cut {
    match memchr::memchr(b'\n', bytes) {
        Some(newline) => Cut { before: 0, take: newline, after: 1, end: End::Item },
        None => Cut { before: 0, take: bytes.len(), after: 0, end: End::Open },
    }
}

/// Give it chunks with [`push`](Self::push), take items with [`next`](Self::next) until there are
/// none, and at the end of the body call [`finish`](Self::finish).
pub struct Splitter {
    cutter: Cutter,
    /// What is left of the latest chunk.
    chunk: Bytes,
    /// What earlier chunks held of the present item.
    carry: Vec<u8>,
    /// The present item is longer than allowed: its bytes are dropped until it ends.
    overlong: bool,
    item_bytes_max: usize,
    number: u64,
    faulty: bool,
}

impl Splitter {
    pub fn new(form: Form, item_bytes_max: usize) -> Self {
        let cutter = match form {
            Form::Lines => Cutter::Lines,
            Form::Array => Cutter::Array(ArrayCutter::default()),
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

    /// Takes the next chunk; every item of those before must have been taken.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "items of the last chunk are left");
        self.chunk = chunk;
    }

    /// A fault was found, or the rest of the body was abandoned.
    pub fn is_faulty(&self) -> bool {
        self.faulty
    }

    /// Gives up on the rest of the body.
    pub fn abandon(&mut self) {
        self.faulty = true;
    }

    /// The next item that ends in what was pushed.
    pub fn next(&mut self) -> Option<Item> {
        while !self.chunk.is_empty() && !self.faulty {
            let cut = self.cutter.cut(&self.chunk);
            self.chunk.advance(cut.before);
            let piece = self.chunk.split_to(cut.take);
            self.chunk.advance(cut.after);
            match cut.end {
                End::Open => self.keep(&piece),
                End::Fault(detail) => return Some(self.fault(detail)),
                End::Item => {
                    let item = self.complete(piece);
                    if item.is_some() {
                        return item;
                    }
                }
            }
        }
        None
    }

    /// What the end of the body completes (a last line), or shows to be missing (a bracket).
    pub fn finish(&mut self) -> Option<Item> {
        if self.faulty {
            return None;
        }
        match &self.cutter {
            Cutter::Array(cutter) if !cutter.is_closed() => {
                Some(self.fault("the array does not end"))
            }
            Cutter::Array(_) => None,
            Cutter::Lines if self.carry.is_empty() && !self.overlong => None,
            Cutter::Lines => self.complete(Bytes::new()),
        }
    }

    /// The number of the item that would come next.
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
    fn complete(&mut self, piece: Bytes) -> Option<Item> {
        self.number += 1;
        if self.overlong || self.carry.len() + piece.len() > self.item_bytes_max {
            self.overlong = false;
            self.carry = Vec::new();
            let content = Err(SplitError::TooLong { bytes_max: self.item_bytes_max });
            return Some(Item { number: self.number, content });
        }
        let whole = self.joined(piece);
        let trimmed = whole.trim_ascii();
        if trimmed.is_empty() {
            return None;
        }
        Some(Item { number: self.number, content: Ok(whole.slice_ref(trimmed)) })
    }

    /// The carry and `piece` in one; copies nothing when the item lies in one chunk.
    fn joined(&mut self, piece: Bytes) -> Bytes {
        if self.carry.is_empty() {
            return piece;
        }
        self.carry.extend_from_slice(&piece);
        std::mem::take(&mut self.carry).into()
    }

    fn fault(&mut self, detail: &'static str) -> Item {
        self.faulty = true;
        Item { number: self.number_next(), content: Err(SplitError::Malformed(detail)) }
    }
}

#[cfg(test)]
mod tests;
