//! `akin stats --templates`: the parts of texts that many documents share.

use std::io::{Write, stdout};
use std::process::ExitCode;

use indicatif::HumanCount;

mod frequent;
mod of_sources;

pub use self::of_sources::SourceTemplates;

use self::frequent::{Bounds, FrequentShingles};
use crate::corpus::{
    AnalysisOptions, Configured, NotCompared, Uncompared, check_memory, memory_max, text_of,
};
use crate::failure::Failure;
use crate::input::{Item, Selection};
use crate::output::write_json;
use akin_core::scheme::Kind;
use akin_core::text::{ShingleError, ShingleSet, Shingler};

/// The arguments that `--templates` is given.
pub struct TemplateSearch<'s> {
    pub options: &'s AnalysisOptions,
    pub configured: Configured,
    /// Documents in which a shingle must occur more than this.
    pub over: u32,
    pub memory_max_mib: Option<u64>,
    pub json: bool,
}

impl TemplateSearch<'_> {
    /// # Errors
    /// A file cannot be read, a record is invalid, or the memory does not suffice.
    pub fn run(&self, mut selection: Selection) -> Result<ExitCode, Failure> {
        let settings = self.options.collection(self.configured, None)?;
        if settings.scheme.kind == Kind::Fields {
            return Err(Failure::new("--templates is for texts, not for records"));
        }
        selection.copy_pipes(&std::env::temp_dir())?;
        // A part of a text that is ignored already is not shown.
        let shingler =
            Shingler::new(settings.shingles, settings.sketch.seed(), settings.limits.shingles_max);
        let memory = memory_max(self.memory_max_mib);
        let mut bounds = Bounds::within(memory / 2);
        let mut documents = 0;
        let uncompared = self.each_set(&selection, "reading", &shingler, |_, set| {
            documents += 1;
            bounds.add(set);
            Ok(())
        })?;
        if documents == 0 {
            return Err(uncompared.nothing_else());
        }
        let mut frequent = FrequentShingles::new(bounds, self.over);
        self.each_set(&selection, "counting shingles", &shingler, |text, set| {
            let added = frequent.add(text, set, &shingler);
            added.map_err(|error| Failure::new(error.to_string()))?;
            let less = "a higher number of documents takes less";
            check_memory("counting frequent shingles", frequent.bytes(), memory, less)
        })?;
        self.write(documents, frequent)?;
        uncompared.print(uncompared.counts, "left out");
        Ok(ExitCode::SUCCESS)
    }

    /// Visits each text with its set.
    fn each_set(
        &self,
        selection: &Selection,
        doing: &'static str,
        shingler: &Shingler,
        mut visit: impl FnMut(&str, &ShingleSet) -> Result<(), Failure>,
    ) -> Result<Uncompared, Failure> {
        let cut = |item: &Item| {
            let (_, text) = item.record().and_then(text_of).map_err(NotCompared::Invalid)?;
            match shingler.text(&text) {
                Ok(shingled) => Ok((text, shingled.set)),
                Err(ShingleError::Empty) => Err(NotCompared::Empty),
                Err(error) => Err(NotCompared::Invalid(error.to_string())),
            }
        };
        let visit = |_, (text, set): (String, ShingleSet)| visit(&text, &set);
        let read = &self.options.read;
        read.each_text(doing, (selection, read.threads()), cut, visit)
    }

    fn write(&self, documents: u64, frequent: FrequentShingles) -> Result<(), Failure> {
        let (templates, mut out) = (frequent.templates(), stdout().lock());
        for template in &templates {
            match self.json {
                true => write_json(&mut out, template)?,
                false => writeln!(out, "{:>9}  {}", template.documents, shortened(&template.text))?,
            }
        }
        let [documents, found, over] =
            [documents, templates.len() as u64, self.over.into()].map(HumanCount);
        eprintln!("documents: {documents}; parts of texts in more than {over} of them: {found}");
        Ok(())
    }
}

/// The characters of a passage that are shown.
const PASSAGE_CHARS_MAX: usize = 160;

/// A passage on a line; the middle of a long passage is left out.
pub fn shortened(passage: &str) -> String {
    let words: Vec<&str> = passage.split_whitespace().collect();
    let line: Vec<char> = words.join(" ").chars().filter(|c| !c.is_control()).collect();
    if line.len() <= PASSAGE_CHARS_MAX {
        return line.into_iter().collect();
    }
    let half = PASSAGE_CHARS_MAX / 2;
    let start: String = line[..half].iter().collect();
    let end: String = line[line.len() - half..].iter().collect();
    format!("{start} … {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_passages_are_shortened_to_a_line() {
        assert_eq!(shortened("a\n  b\tc"), "a b c");
        let shown = shortened(&"é".repeat(500));
        assert_eq!(shown.chars().filter(|c| *c == 'é').count(), PASSAGE_CHARS_MAX);
        assert!(shown.contains(" … "));
    }
}
