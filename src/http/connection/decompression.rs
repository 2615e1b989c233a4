//! Compressed bodies of requests.
//!
//! A gzip body may have several members and a zstd body several frames, as files have that were
//! compressed in parts: all of them are read. A body in which anything else follows is unreadable.

use std::io;

use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::io::{AsyncBufRead, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

/// Decompressed bytes that are handed on at a time, at most.
const PIECE_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Zstd,
}

/// Gives plain bodies to the service inside. Refuses encodings that are not known.
pub async fn decompress(mut request: Request, next: Next) -> Response {
    let Ok(encoding) = encoding(request.headers()) else {
        let known = [(header::ACCEPT_ENCODING, "gzip, zstd")];
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, known).into_response();
    };
    if let Some(encoding) = encoding {
        request.headers_mut().remove(header::CONTENT_ENCODING);
        request.headers_mut().remove(header::CONTENT_LENGTH);
        request = request.map(|body| decompressed(body, encoding));
    }
    next.run(request).await
}

struct Unknown;

/// # Errors
/// It is unknown, or there are several.
fn encoding(headers: &HeaderMap) -> Result<Option<Encoding>, Unknown> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Unknown);
    }
    match value.as_bytes().to_ascii_lowercase().as_slice() {
        b"identity" => Ok(None),
        b"gzip" | b"x-gzip" => Ok(Some(Encoding::Gzip)),
        b"zstd" => Ok(Some(Encoding::Zstd)),
        _ => Err(Unknown),
    }
}

fn decompressed(body: Body, encoding: Encoding) -> Body {
    let pieces = body.into_data_stream().map(|piece| piece.map_err(io::Error::other));
    let compressed = StreamReader::new(pieces);
    match encoding {
        Encoding::Gzip => pieces_of(gzip(compressed)),
        Encoding::Zstd => pieces_of(zstd(compressed)),
    }
}

fn gzip<R: AsyncBufRead>(compressed: R) -> GzipDecoder<R> {
    let mut decoder = GzipDecoder::new(compressed);
    decoder.multiple_members(true);
    decoder
}

fn zstd<R: AsyncBufRead>(compressed: R) -> ZstdDecoder<R> {
    let mut decoder = ZstdDecoder::new(compressed);
    decoder.multiple_members(true);
    decoder
}

fn pieces_of(reader: impl AsyncRead + Send + 'static) -> Body {
    Body::from_stream(ReaderStream::with_capacity(reader, PIECE_BYTES))
}
