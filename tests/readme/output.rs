//! What is shown beside what came. Shown may leave out lines of a text by a line `...`, once; of
//! JSON, members and elements after those that matter (see `json`).

use super::json;
use super::page::Language;
use super::reading::Came;

const LEFT_OUT: &str = "...";

/// # Errors
/// What differs, for people.
pub fn compare(shown: Option<&(Language, String)>, came: &Came) -> Result<(), String> {
    if !came.well {
        return Err(format!("the commands failed:\n{}", came.text));
    }
    let same = match shown {
        None => came.text.is_empty(),
        Some((Language::Json, shown)) => json::same(shown, &came.text)?,
        Some((Language::Text, shown)) => same_text(shown, &came.text),
    };
    let shown = shown.map_or("nothing", |(_, text)| text);
    if same { Ok(()) } else { Err(format!("shown:\n{shown}\ncame:\n{}", came.text)) }
}

/// What to show of what came, with as much of it left out as before.
pub fn show(language: Language, shown_before: &str, came: &str) -> String {
    match language {
        Language::Json => json::show(shown_before, came),
        Language::Text => show_text(shown_before, came),
    }
}

fn same_text(shown: &str, came: &str) -> bool {
    let [shown, came] = [shown, came].map(|text| steady(text.trim_end()));
    match shown.split_once(&format!("\n{LEFT_OUT}\n")) {
        None => shown == came,
        Some((start, end)) => {
            let rest = came.strip_prefix(&format!("{start}\n"));
            rest.is_some_and(|rest| rest.ends_with(&format!("\n{end}")))
        }
    }
}

fn show_text(shown_before: &str, came: &str) -> String {
    let before: Vec<&str> = shown_before.lines().collect();
    let came: Vec<&str> = came.trim_end().lines().collect();
    match before.iter().position(|line| *line == LEFT_OUT) {
        Some(start) if before.len() <= came.len() => {
            let end = came.len() - (before.len() - start - 1);
            [&came[..start], &[LEFT_OUT], &came[end..]].concat().join("\n")
        }
        _ => came.join("\n"),
    }
}

/// The text with every figure that depends on the clock or the machine replaced: a number before a
/// unit of time, of memory or of both, and that unit.
fn steady(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 1..words.len() {
            let is_number = |word: &str| word.trim_start_matches('(').parse::<f64>().is_ok();
            if is_number(words[at - 1]) && is_unit(words[at].trim_end_matches([',', ')', ';'])) {
                (words[at - 1], words[at]) = ("0", "units");
            }
        }
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_unit(word: &str) -> bool {
    let amount = word.strip_suffix("/s").unwrap_or(word);
    ["µs", "ms", "s", "B", "KiB", "MiB"].contains(&amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_in_anything_but_time_and_memory() {
        assert!(same_text("2 files (3 B in 0.1 s, 30 B/s)", "2 files (3 B in 2.5 s, 1.2 KiB/s)\n"));
        assert!(!same_text("2 files (3 B in 0.1 s)", "3 files (3 B in 0.1 s)"));
        assert!(!same_text("a\nb", "a"));
    }

    #[test]
    fn lines_may_be_left_out() {
        assert!(same_text("a\n...\nd", "a\nb\nc\nd\n"));
        assert!(!same_text("a\n...\nd", "a\nb\nc\n"));
        assert!(!same_text("a\n...\nd", "b\nc\nd\n"));
        assert_eq!(show_text("a\n...\nd", "w\nx\ny\nz\n"), "w\n...\nz");
    }
}
