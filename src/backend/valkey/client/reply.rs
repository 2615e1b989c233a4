//! Replies of nodes in RESP2, read without trust: malformed bytes end the connection, and an
//! unexpected reply is read as nothing.

use bytes::{Buf, Bytes, BytesMut};

/// Arrays within arrays: `CLUSTER SLOTS` has four.
const DEPTH_MAX: usize = 8;

/// Bytes of a string: nodes send no longer strings by default (`proto-max-bulk-len`).
const STRING_BYTES_MAX: usize = 512 << 20;

/// Bytes of a line without its end.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Elements for which memory is reserved before they have come.
const RESERVED_MAX: usize = 1_024;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Nothing,
    Integer(i64),
    Bytes(Bytes),
    Array(Vec<Reply>),
    /// A refusal, which begins with its code.
    Error(String),
}

impl Reply {
    /// A string; `None` for nothing and for anything else.
    pub fn bytes(self) -> Option<Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub fn text(self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Bytes(bytes) => str::from_utf8(bytes).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// A list; empty for anything else.
    pub fn array(self) -> Vec<Reply> {
        match self {
            Self::Array(values) => values,
            _ => Vec::new(),
        }
    }

    /// The strings of a list.
    pub fn strings(self) -> impl Iterator<Item = Bytes> {
        self.array().into_iter().filter_map(Reply::bytes)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node sent something that is no reply")]
pub struct Malformed;

/// Cuts bytes into replies. Every byte is read once, in however many parts a reply arrives.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The arrays around the next element, with the number of elements that each lacks.
    open: Vec<(usize, Vec<Reply>)>,
    /// The length of the string that comes next, if its length has come.
    string: Option<usize>,
    /// Bytes that were searched for the end of a line.
    searched: usize,
}

impl Decoder {
    /// The next reply, once it is there as a whole. Takes what it has read out of `bytes`.
    ///
    /// # Errors
    /// The bytes are no replies; nothing after them can be read.
    pub fn next(&mut self, bytes: &mut BytesMut) -> Result<Option<Reply>, Malformed> {
        loop {
            let Some(mut value) = self.value(bytes)? else { return Ok(None) };
            loop {
                let Some((missing, mut elements)) = self.open.pop() else { return Ok(Some(value)) };
                elements.push(value);
                if missing > 1 {
                    self.open.push((missing - 1, elements));
                    break;
                }
                value = Reply::Array(elements);
            }
        }
    }

    /// The next value that is no array with elements.
    fn value(&mut self, bytes: &mut BytesMut) -> Result<Option<Reply>, Malformed> {
        loop {
            if let Some(length) = self.string {
                return self.end_string(length, bytes);
            }
            let Some(line) = self.line(bytes)? else { return Ok(None) };
            let (kind, rest) = line.split_first().ok_or(Malformed)?;
            match (kind, rest) {
                (b'+', _) => return Ok(Some(Reply::Bytes(line.slice(1..)))),
                (b'-', text) => {
                    let text = String::from_utf8_lossy(text).into_owned();
                    return Ok(Some(Reply::Error(text)));
                }
                (b':', number) => return Ok(Some(Reply::Integer(integer(number)?))),
                (b'$' | b'*', b"-1") => return Ok(Some(Reply::Nothing)),
                (b'$', length) => {
                    let length = usize::try_from(integer(length)?).map_err(|_| Malformed)?;
                    self.string = Some(length).filter(|length| *length <= STRING_BYTES_MAX);
                    self.string.ok_or(Malformed)?;
                }
                (b'*', count) => match usize::try_from(integer(count)?) {
                    Ok(0) => return Ok(Some(Reply::Array(Vec::new()))),
                    Ok(count) if self.open.len() < DEPTH_MAX => {
                        self.open.push((count, Vec::with_capacity(count.min(RESERVED_MAX))));
                    }
                    _ => return Err(Malformed),
                },
                _ => return Err(Malformed),
            }
        }
    }

    fn line(&mut self, bytes: &mut BytesMut) -> Result<Option<Bytes>, Malformed> {
        let end = memchr::memchr(b'\n', &bytes[self.searched..]).map(|at| self.searched + at);
        self.searched = if end.is_some() { 0 } else { bytes.len() };
        if end.unwrap_or(self.searched) > LINE_BYTES_MAX {
            return Err(Malformed);
        }
        let Some(end) = end else { return Ok(None) };
        let mut line = bytes.split_to(end + 1).freeze();
        if !line.ends_with(b"\r\n") {
            return Err(Malformed);
        }
        line.truncate(end - 1);
        Ok(Some(line))
    }

    fn end_string(
        &mut self,
        length: usize,
        bytes: &mut BytesMut,
    ) -> Result<Option<Reply>, Malformed> {
        if bytes.len() < length + 2 {
            bytes.reserve(length + 2 - bytes.len());
            return Ok(None);
        }
        self.string = None;
        let string = bytes.split_to(length).freeze();
        if !bytes.starts_with(b"\r\n") {
            return Err(Malformed);
        }
        bytes.advance(2);
        Ok(Some(Reply::Bytes(string)))
    }
}

fn integer(digits: &[u8]) -> Result<i64, Malformed> {
    str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or(Malformed)
}
