//! Where the body of a request ends.
//!
//! hyper takes any list of transfer codings that ends in `chunked`; a proxy in front may see the
//! end of the same body elsewhere, and then the bytes of a client become the request of another
//! client.

use axum::http::{HeaderMap, header};

use crate::http::problem::Problem;
use crate::http::problem::code::Code;

/// # Errors
/// `malformed_request`: the transfer coding is another than `chunked`, or it is given twice.
pub fn check(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(()) };
    if coding.as_bytes().eq_ignore_ascii_case(b"chunked") && codings.next().is_none() {
        return Ok(());
    }
    Err(Problem::new(Code::MalformedRequest, "Transfer-Encoding must be chunked, and given once"))
}
