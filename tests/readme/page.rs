//! A page of Markdown with examples in it.

use std::fmt;
use std::ops::Range;

pub struct Page {
    lines: Vec<String>,
    examples: Vec<Example>,
}

/// Commands, and what they print where the page shows that.
#[derive(Clone, Debug)]
pub struct Example {
    /// Of the page, from 1: where the commands begin.
    pub line: usize,
    pub commands: String,
    pub shown: Option<Shown>,
}

#[derive(Clone, Debug)]
pub struct Shown {
    pub language: Language,
    /// Between the fences, from 0.
    pub lines: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Json,
    Text,
}

/// A fenced block.
struct Block {
    kind: String,
    lines: Range<usize>,
}

impl Page {
    /// # Panics
    /// A block is of no known kind, is not closed, or shows the output of nothing.
    pub fn parse(markdown: &str) -> Self {
        let lines: Vec<String> = markdown.lines().map(str::to_owned).collect();
        let mut examples: Vec<Example> = Vec::new();
        let mut follows_commands = false;
        for Block { kind, lines: range } in blocks(&lines) {
            let line = range.start + 1;
            let language = match kind.as_str() {
                "sh" => {
                    let commands = lines[range].join("\n");
                    examples.push(Example { line, commands, shown: None });
                    follows_commands = true;
                    continue;
                }
                "json" => Language::Json,
                "text" => Language::Text,
                "console" => {
                    follows_commands = false;
                    continue;
                }
                other => panic!("README.md:{line}: a block of the kind '{other}'"),
            };
            assert!(follows_commands, "README.md:{line}: the output of no command");
            examples.last_mut().unwrap().shown = Some(Shown { language, lines: range });
            follows_commands = false;
        }
        Self { lines, examples }
    }

    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    pub fn text(&self, lines: &Range<usize>) -> String {
        self.lines[lines.clone()].join("\n")
    }

    /// Lines further down move: replace from the end to the beginning.
    pub fn replace(&mut self, lines: Range<usize>, by: &str) {
        self.lines.splice(lines, by.lines().map(str::to_owned));
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

fn blocks(lines: &[String]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut fences =
        lines.iter().enumerate().filter_map(|(at, l)| Some((at, l.strip_prefix("```")?)));
    while let Some((start, kind)) = fences.next() {
        let (end, _) = fences.next().unwrap_or_else(|| panic!("README.md:{start}: never closed"));
        blocks.push(Block { kind: kind.to_owned(), lines: start + 1..end });
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_commands_and_what_follows() {
        let page = Page::parse("a\n```sh\nls\n```\n\n```text\nb\nc\n```\n```sh\ntrue\n```\n");
        let [first, second] = page.examples() else { panic!("{:?}", page.examples) };
        assert_eq!((first.line, first.commands.as_str()), (3, "ls"));
        let shown = first.shown.clone().unwrap();
        assert_eq!((shown.language, page.text(&shown.lines)), (Language::Text, "b\nc".to_owned()));
        assert!(second.shown.is_none());
    }
}
