//! Patterns in which `*` stands for any characters, also none.

/// Whether the whole of `text` has the form of `pattern`. Takes time proportional to the product of
/// their lengths at most.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        // The earliest occurrence leaves the most for the pieces after it.
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text) in [
            ("news", "news"),
            ("*", ""),
            ("*", "news"),
            ("web-*", "web-"),
            ("web-*", "web-de"),
            ("*-de", "web-de"),
            ("w*-*e", "web-de"),
            ("a**b", "ab"),
            ("*aba*", "ababa"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("news", "newss"),
            ("news", "new"),
            ("", "a"),
            ("web-*", "web"),
            ("web-*", "a-web-"),
            ("aba*aba", "ababa"),
            ("*a*b*c", "cba"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
