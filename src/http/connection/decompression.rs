//! Compressed bodies of requests.
//!
//! A gzip body may have several members and a zstd body several frames, as files have that were
//! compressed in parts: all of them are read. A body in which anything else follows is unreadable.
//!
//! The memory of a decoder is reserved. A zstd frame names the size of its window, which the
//! decoder allocates, so the size has a limit.

use std::io;
use std::sync::Arc;

use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::io::{AsyncBufRead, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

use crate::budget::{ClientShare, Purpose, Reservation};
use crate::http::AppState;
use crate::http::connection::holding;
use crate::http::problem::Problem;

/// Decompressed bytes that are handed on at a time, at most.
const PIECE_BYTES: usize = 16 << 10;

/// The base-2 logarithm of the largest window of a zstd frame, in bytes: 8 MiB, as RFC 9659 has it
/// for HTTP. Only `zstd --ultra` and `--long` make larger windows.
const WINDOW_LOG_MAX: u32 = 23;

/// A window, blocks and tables.
const ZSTD_DECODER_BYTES: usize = (1 << WINDOW_LOG_MAX) + (512 << 10);

/// A window of 32 KiB, tables and a piece.
const GZIP_DECODER_BYTES: usize = 80 << 10;

#[derive(Clone, Copy)]
enum Encoding {
    Gzip,
    Zstd,
}

/// The request with a plain body.
///
/// # Errors
/// The answer to an encoding that is not known, or to one without memory.
pub fn decompressed(
    state: &AppState,
    share: &Arc<ClientShare>,
    mut request: Request,
) -> Result<Request, Box<Response>> {
    let mut encodings = request.headers().get_all(header::CONTENT_ENCODING).iter();
    let first = encodings.next().map(|value| value.as_bytes().to_ascii_lowercase());
    let are_several = encodings.next().is_some();
    let (encoding, decoder_bytes) = match first.as_deref() {
        None => return Ok(request),
        Some(b"identity") if !are_several => return Ok(request),
        Some(b"gzip" | b"x-gzip") if !are_several => (Encoding::Gzip, GZIP_DECODER_BYTES),
        Some(b"zstd") if !are_several => (Encoding::Zstd, ZSTD_DECODER_BYTES),
        _ => {
            let known = [(header::ACCEPT_ENCODING, "gzip, zstd")];
            return Err(Box::new((StatusCode::UNSUPPORTED_MEDIA_TYPE, known).into_response()));
        }
    };
    let memory = state.budget.reservation(Purpose::Bodies).of_client(Arc::clone(share));
    let reserved = memory.grow(decoder_bytes);
    reserved.map_err(|exhausted| Box::new(Problem::from(exhausted).into_response()))?;
    request.headers_mut().remove(header::CONTENT_ENCODING);
    request.headers_mut().remove(header::CONTENT_LENGTH);
    Ok(request.map(|body| plain(body, encoding, memory)))
}

fn plain(body: Body, encoding: Encoding, memory: Reservation) -> Body {
    let pieces = body.into_data_stream().map(|piece| piece.map_err(io::Error::other));
    let compressed = StreamReader::new(pieces);
    let body = match encoding {
        Encoding::Gzip => pieces_of(gzip(compressed)),
        Encoding::Zstd => pieces_of(zstd(compressed)),
    };
    Body::new(holding(body, memory))
}

fn gzip<R: AsyncBufRead>(compressed: R) -> GzipDecoder<R> {
    let mut decoder = GzipDecoder::new(compressed);
    decoder.multiple_members(true);
    decoder
}

fn zstd<R: AsyncBufRead>(compressed: R) -> ZstdDecoder<R> {
    let window = DParameter::window_log_max(WINDOW_LOG_MAX);
    let mut decoder = ZstdDecoder::with_params(compressed, &[window]);
    decoder.multiple_members(true);
    decoder
}

fn pieces_of(reader: impl AsyncRead + Send + 'static) -> Body {
    Body::from_stream(ReaderStream::with_capacity(reader, PIECE_BYTES))
}
