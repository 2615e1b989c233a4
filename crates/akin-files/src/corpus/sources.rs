//! The sources of documents: files, or the values of a column.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::names::CorpusFiles;

/// Options about the sources of documents.
#[derive(Args, Clone, Debug, Default)]
pub struct SourceOptions {
    /// The column, or member of JSON, with the source of each document [default: its file]
    #[arg(long, value_name = "NAME")]
    pub source_column: Option<String>,
    /// Keep the document of the source that comes first here; a source is a value of
    /// --source-column, or a file, its name with or without extensions, or its directory
    #[arg(long, value_name = "SOURCE,SOURCE", value_delimiter = ',')]
    pub sources: Vec<String>,
    /// Link documents of different sources only, never documents of one source
    #[arg(long)]
    pub across: bool,
    /// Ignore the shingles that more than this many documents of one source share, such as the menu
    /// of a site; documents with equal sets count once. A document that has no other shingle is
    /// compared whole. The files are read twice more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with = "state")]
    pub ignore_templates: Option<u32>,
    /// Write nothing, and end with exit code 3, if more than this share of a source would be left
    /// out
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_removed: Option<f64>,
}

/// Parses `50%` as 0.5.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = percent.filter(|percent| (0.0..=100.0).contains(percent));
    share.map(|percent| percent / 100.0).ok_or_else(|| format!("'{text}' is not like 50%"))
}

impl SourceOptions {
    /// Whether the command reports each source.
    pub fn are_reported(&self) -> bool {
        self.source_column.is_some()
            || self.across
            || !self.sources.is_empty()
            || self.max_removed.is_some()
    }

    /// The rank of a source: its place in `--sources`, and all further sources after them.
    pub fn rank(&self, source: &str) -> u16 {
        let is = |named: &String| match self.source_column {
            Some(_) => source == named,
            None => is_file(source, named),
        };
        self.sources.iter().position(is).unwrap_or(self.sources.len()) as u16
    }
}

/// Whether a file is meant by a name: its path, its name with or without extensions, or a directory
/// above it.
fn is_file(file: &str, named: &str) -> bool {
    let path = Path::new(file);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(file);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    path.starts_with(named) || name == named || stem == named
}

/// The sources of documents by their numbers, if a column has them.
#[derive(Default)]
pub struct SourceColumn {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    of: Vec<u32>,
}

/// The source of documents that are in no file.
const STATE: &str = "the state";

impl SourceColumn {
    /// After so many documents of a state.
    pub fn after_state(documents: u32) -> Self {
        let mut column = Self::default();
        (0..documents).for_each(|_| column.push(STATE));
        column
    }

    pub fn push(&mut self, source: &str) {
        let number = match self.numbers.get(source) {
            Some(number) => *number,
            None => {
                let (name, number): (Arc<str>, _) = (source.into(), self.names.len() as u32);
                self.names.push(Arc::clone(&name));
                self.numbers.insert(name, number);
                number
            }
        };
        self.of.push(number);
    }
}

/// The source of each document.
pub struct Sources<'s> {
    pub column: Option<&'s SourceColumn>,
    pub files: &'s CorpusFiles,
}

impl Sources<'_> {
    pub fn of(&self, number: u32) -> &str {
        match self.column {
            Some(column) => &column.names[column.of[number as usize] as usize],
            None => self.files.of(number).map_or(STATE, |file| file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_path_name_stem_or_directory() {
        for named in ["in/web/a.jsonl.gz", "a.jsonl.gz", "a", "in/web", "in"] {
            assert!(is_file("in/web/a.jsonl.gz", named), "{named}");
        }
        assert!(!is_file("in/web/a.jsonl.gz", "we") && !is_file("ab.jsonl", "a"));
        assert_eq!(percent("12.5%"), Ok(0.125));
        assert!(percent("50").is_err() && percent("101%").is_err() && percent("x%").is_err());
    }
}
