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
mod tests;
