//! Suggestions for names that are not known.

use akin_core::measure::edit_distance;

/// The longest name that is compared with the known names, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The most edits between a name and the name that is suggested for it.
const EDITS_MAX: usize = 2;

/// The longest message that repeats a client's own words, in characters.
const MESSAGE_CHARS_MAX: usize = 400;

/// The most probable known name for an unknown name.
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if unknown.len() > NAME_BYTES_MAX {
        return None;
    }
    let near = known.map(|name| (edit_distance(unknown, name), name));
    let near = near.filter(|(edits, name)| *edits <= EDITS_MAX && *edits < name.len());
    near.min().map(|(_, name)| name)
}

/// serde's message, cut to a reasonable length; with a suggestion if it is about an unknown name,
/// which stands in backticks before the known names.
pub fn explained(message: &str) -> String {
    let shown: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| message.starts_with("unknown "));
    match unknown.and_then(|unknown| nearest(unknown, names)) {
        Some(name) => format!("{shown}; did you mean `{name}`?"),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_known_is_suggested() {
        let message = "unknown field `treshold`, expected one of `kind`, `threshold`, `recall`";
        assert_eq!(explained(message), format!("{message}; did you mean `threshold`?"));
        let far = "unknown variant `fuzzy`, expected `verified` or `exact`";
        assert_eq!(explained(far), far);
        let other = "invalid type: string \"`a`b`\", expected u32";
        assert_eq!(explained(other), other);
        assert_eq!(explained(&"unknown".repeat(100)).len(), MESSAGE_CHARS_MAX);
    }
}
