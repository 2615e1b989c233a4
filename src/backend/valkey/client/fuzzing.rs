//! A fuzz target: replies of nodes.

use bytes::BytesMut;

use super::reply::{Decoder, Malformed, Reply};

/// Bytes in parts of the length that the first byte says: the replies and the fault are the same as
/// of the bytes as a whole, and each reply is read again from the bytes that a node would send.
pub fn replies(input: &[u8]) {
    let Some((length, bytes)) = input.split_first() else { return };
    let (whole, fault) = decode([bytes].into_iter());
    let parts = decode(bytes.chunks(usize::from(*length).max(1)));
    assert_eq!(parts, (whole.clone(), fault));
    let mut written = Vec::new();
    for reply in &whole {
        write(reply, &mut written);
    }
    assert!(written.len() <= 4 * bytes.len(), "an array has only elements that have come");
    assert_eq!(decode([&written[..]].into_iter()), (whole, None));
}

fn decode<'a>(parts: impl Iterator<Item = &'a [u8]>) -> (Vec<Reply>, Option<Malformed>) {
    let (mut decoder, mut incoming) = (Decoder::default(), BytesMut::new());
    let mut replies = Vec::new();
    for part in parts {
        incoming.extend_from_slice(part);
        loop {
            match decoder.next(&mut incoming) {
                Ok(Some(reply)) => replies.push(reply),
                Ok(None) => break,
                Err(malformed) => return (replies, Some(malformed)),
            }
        }
    }
    (replies, None)
}

fn write(reply: &Reply, bytes: &mut Vec<u8>) {
    match reply {
        Reply::Nothing => bytes.extend_from_slice(b"$-1\r\n"),
        Reply::Integer(number) => bytes.extend_from_slice(format!(":{number}\r\n").as_bytes()),
        Reply::Error(text) => bytes.extend_from_slice(format!("-{text}\r\n").as_bytes()),
        Reply::Bytes(string) => {
            bytes.extend_from_slice(format!("${}\r\n", string.len()).as_bytes());
            bytes.extend_from_slice(string);
            bytes.extend_from_slice(b"\r\n");
        }
        Reply::Array(elements) => {
            bytes.extend_from_slice(format!("*{}\r\n", elements.len()).as_bytes());
            for element in elements {
                write(element, bytes);
            }
        }
    }
}
