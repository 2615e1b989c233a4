//! A page of Markdown with examples in it.

use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Blocks that are neither run nor compared here: code of other languages and drawings.
const SHOWN_ONLY: [&str; 11] = [
    "",
    "css",
    "html",
    "ini",
    "javascript",
    "nginx",
    "promql",
    "python",
    "sql",
    "typescript",
    "yaml",
];

pub struct Page {
    name: String,
    lines: Vec<String>,
    examples: Vec<Example>,
    /// Configurations: the line of each, from 1, and where it stands.
    settings: Vec<(usize, Range<usize>)>,
    not_run: usize,
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
    pub fn parse(path: &Path, markdown: &str) -> Self {
        let name = path.display().to_string();
        let lines: Vec<String> = markdown.lines().map(str::to_owned).collect();
        let blocks = blocks(&name, &lines);
        let (examples, settings) = (Vec::new(), Vec::new());
        let mut page = Self { name, lines, examples, settings, not_run: 0 };
        let mut follows_commands = false;
        for block in blocks {
            let is_output = matches!(block.kind.as_str(), "json" | "text");
            assert!(
                !is_output || follows_commands,
                "{}: the output of no command",
                page.at(&block)
            );
            follows_commands = block.kind == "sh";
            page.take(block);
        }
        page
    }

    fn take(&mut self, block: Block) {
        let line = block.lines.start + 1;
        match block.kind.as_str() {
            "sh" => {
                let commands = self.text(&block.lines);
                self.examples.push(Example { line, commands, shown: None });
            }
            "json" => self.shows(Language::Json, block.lines),
            "text" => self.shows(Language::Text, block.lines),
            "toml" => self.settings.push((line, block.lines)),
            "console" => self.not_run += 1,
            kind if SHOWN_ONLY.contains(&kind) => {
                let text = self.text(&block.lines);
                let is_command = text.lines().any(|line| line.starts_with("$ "));
                assert!(!is_command, "{}: commands belong into ```sh", self.at(&block));
            }
            kind => panic!("{}: a block of the kind '{kind}'", self.at(&block)),
        }
    }

    fn shows(&mut self, language: Language, lines: Range<usize>) {
        self.examples.last_mut().unwrap().shown = Some(Shown { language, lines });
    }

    fn at(&self, block: &Block) -> String {
        format!("{}:{}", self.name, block.lines.start)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn settings(&self) -> &[(usize, Range<usize>)] {
        &self.settings
    }

    pub fn not_run(&self) -> usize {
        self.not_run
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

fn blocks(page: &str, lines: &[String]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut fences =
        lines.iter().enumerate().filter_map(|(at, l)| Some((at, l.strip_prefix("```")?)));
    while let Some((start, kind)) = fences.next() {
        let (end, _) =
            fences.next().unwrap_or_else(|| panic!("{page}:{}: never closed", start + 1));
        blocks.push(Block { kind: kind.to_owned(), lines: start + 1..end });
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_commands_and_what_follows() {
        let page = Page::parse(
            Path::new("a.md"),
            "a\n```sh\nls\n```\n\n```text\nb\nc\n```\n```sh\ntrue\n```\n",
        );
        let [first, second] = page.examples() else { panic!("{:?}", page.examples) };
        assert_eq!((first.line, first.commands.as_str()), (3, "ls"));
        let shown = first.shown.clone().unwrap();
        assert_eq!((shown.language, page.text(&shown.lines)), (Language::Text, "b\nc".to_owned()));
        assert!(second.shown.is_none());
    }
}
