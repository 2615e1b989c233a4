//! Commands to one node, in RESP2.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A node that does not answer for so long is taken for dead.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Status(String),
    Error(String),
    Number(i64),
    Bulk(Vec<u8>),
    Nil,
    Array(Vec<Reply>),
}

impl Reply {
    /// # Panics
    /// If it is no text.
    pub fn text(&self) -> String {
        match self {
            Self::Status(text) => text.clone(),
            Self::Bulk(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("no text: {other:?}"),
        }
    }

    /// # Panics
    /// If it is no number.
    pub fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            other => panic!("no number: {other:?}"),
        }
    }

    /// # Panics
    /// If it is no array.
    pub fn items(&self) -> &[Reply] {
        match self {
            Self::Array(items) => items,
            other => panic!("no array: {other:?}"),
        }
    }
}

/// A connection.
pub struct Wire {
    stream: BufReader<TcpStream>,
}

impl Wire {
    pub fn open(port: u16, password: Option<&str>) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut wire = Self { stream: BufReader::new(stream) };
        if let Some(password) = password {
            wire.call(&["AUTH", password])?;
        }
        Ok(wire)
    }

    pub fn call(&mut self, command: &[impl AsRef<[u8]>]) -> io::Result<Reply> {
        let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
        for word in command {
            bytes.extend(format!("${}\r\n", word.as_ref().len()).bytes());
            bytes.extend(word.as_ref());
            bytes.extend(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)?;
        self.reply()
    }

    fn reply(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        let length = || rest.parse::<i64>().map_err(io::Error::other);
        Ok(match kind {
            "+" => Reply::Status(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Number(length()?),
            "$" | "*" if length()? < 0 => Reply::Nil,
            "$" => {
                let mut bytes = vec![0; length()? as usize + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Reply::Bulk(bytes)
            }
            "*" => Reply::Array((0..length()?).map(|_| self.reply()).collect::<Result<_, _>>()?),
            _ => return Err(io::Error::other(format!("'{line}' is no reply"))),
        })
    }
}
