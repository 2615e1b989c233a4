//! The trace of a request (W3C Trace Context), by which a log line is found from a span of the
//! proxy.

use axum::http::HeaderMap;

/// The id of the caller's trace, 32 hexadecimal digits, if the header `traceparent` is valid.
pub(super) fn trace_id(headers: &HeaderMap) -> Option<&str> {
    parse(headers.get("traceparent")?.to_str().ok()?)
}

/// TRACE of `00-TRACE-SPAN-FLAGS`; later versions may have more fields.
fn parse(traceparent: &str) -> Option<&str> {
    let mut fields = traceparent.split('-');
    let mut field = |digits: usize| {
        let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        fields.next().filter(|field| field.len() == digits && field.bytes().all(is_hex))
    };
    let (version, trace, span, _flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    let has_more = fields.next().is_some();
    let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
    let is_valid = version != "ff" && !(version == "00" && has_more);
    (is_valid && !is_zero(trace) && !is_zero(span)).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_w3c_defines_it() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let valid = format!("00-{trace}-b7ad6b7169203331-01");
        assert_eq!(parse(&valid), Some(trace));
        assert_eq!(parse(&format!("cc{}-more", &valid[2..])), Some(trace));
        let zero = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        for invalid in ["", "00", "ff", &valid[..54], &valid.to_uppercase(), &zero] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
        for changed in [format!("{valid}-more"), valid.replacen("00", "ff", 1)] {
            assert_eq!(parse(&changed), None, "{changed}");
        }
    }
}
