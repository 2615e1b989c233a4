//! Finds where a JSON value ends, without parsing it.

/// The end of a value that arrives in pieces. Brackets are counted outside of strings: the parser
/// of the value checks whether they match.
#[derive(Debug, Default)]
pub struct ValueEnd {
    /// Whether it is a number or a literal, which ends where something else begins; `None` before
    /// the first byte.
    is_bare: Option<bool>,
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl ValueEnd {
    /// How many of the next bytes belong to the value, and whether it ends there. `token` gets the
    /// bytes that are not white space between tokens.
    pub fn take(&mut self, bytes: &[u8], mut token: impl FnMut(u8)) -> (usize, bool) {
        for (at, &byte) in bytes.iter().enumerate() {
            let is_bare = *self.is_bare.get_or_insert(!matches!(byte, b'{' | b'[' | b'"'));
            let is_blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            if is_bare && (is_blank || matches!(byte, b',' | b']' | b'}')) {
                return (at, true);
            }
            if self.in_string || !is_blank {
                token(byte);
            }
            self.step(byte, is_bare);
            if !is_bare && self.depth == 0 && !self.in_string {
                return (at + 1, true);
            }
        }
        (bytes.len(), false)
    }

    fn step(&mut self, byte: u8, is_bare: bool) {
        if self.escaped {
            self.escaped = false;
            return;
        }
        match (self.in_string, byte) {
            (true, b'\\') => self.escaped = true,
            (_, b'"') if !is_bare => self.in_string = !self.in_string,
            (false, b'{' | b'[') => self.depth += 1,
            (false, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_in_the_same_place_however_it_is_divided() {
        for (value, tokens, rest) in [
            (r#"{"a": [1, "]}\"", {}]}"#, r#"{"a":[1,"]}\"",{}]}"#, ", 2"),
            ("[ ]", "[]", "]"),
            (r#""\\""#, r#""\\""#, r#""x""#),
            ("-1.5", "-1.5", "}"),
            ("null", "null", " "),
        ] {
            for divided_at in 0..=value.len() {
                let (mut end, mut found) = (ValueEnd::default(), Vec::new());
                let (before, after) = value.split_at(divided_at);
                let first = end.take(before.as_bytes(), |byte| found.push(byte));
                let is_whole = first.1;
                assert!(first.0 == divided_at && (!is_whole || after.is_empty()), "{value}");
                if !is_whole {
                    let after = [after, rest].concat();
                    let second = end.take(after.as_bytes(), |byte| found.push(byte));
                    assert_eq!(second, (value.len() - divided_at, true), "{value}");
                }
                assert_eq!(String::from_utf8(found).unwrap(), tokens);
            }
        }
    }
}
