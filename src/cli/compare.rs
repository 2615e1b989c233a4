//! `akin compare`: how similar two files are.

use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::{Failure, of_engine};
use super::serve::ConfigFile;
use crate::document::Content;
use crate::engine::{
    Analyser, CompareOptions, Comparison, MeasureSelection, Scores, compare_contents,
};
use akin_core::measure::MEASURES;
use akin_files::input;
use akin_files::output::write_json;
use akin_files::templates::shortened;

/// The passages shown of each text and kind.
const PASSAGES_SHOWN_MAX: usize = 10;

/// Compare two files: exact Jaccard similarity and the MinHash estimate of it; needs no server
#[derive(Args)]
pub struct Arguments {
    /// A text file (also gzip or zstd), or - for stdin
    a: PathBuf,
    /// The other text file
    b: PathBuf,
    /// Show the passages that both share, and the passages that differ
    #[arg(long)]
    explain: bool,
    #[arg(long, value_name = "NAMES", help = measures_help())]
    measures: Option<MeasureSelection>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigFile,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let settings = arguments.config.settings(vec![])?.collection;
    let texts = [input::read_text_file(&arguments.a)?, input::read_text_file(&arguments.b)?];
    let analyser = Analyser::new(&settings);
    refuse_unusable(&analyser, [(&arguments.a, &texts[0]), (&arguments.b, &texts[1])])?;
    let [a, b] = texts.clone().map(Content::Text);
    let measures = arguments.measures.unwrap_or_default();
    let options = CompareOptions { explain: arguments.explain, measures };
    let comparison = compare_contents(&analyser, a, b, options).map_err(of_engine)?;
    let mut out = stdout().lock();
    if arguments.json {
        return write_json(&mut out, &comparison);
    }
    write_scores(&mut out, &comparison, settings.scheme.threshold.get())?;
    write_measures(&mut out, &comparison)?;
    if let Some(explanation) = &comparison.explanation {
        write_passages(&mut out, "shared", &texts[0], &explanation.a.shared)?;
        write_passages(&mut out, "only in the first", &texts[0], &explanation.a.differing)?;
        write_passages(&mut out, "only in the second", &texts[1], &explanation.b.differing)?;
        let sides = ["first", "second"].into_iter().zip([&explanation.a, &explanation.b]);
        for ((side, of), text) in sides.zip(&texts).filter(|((_, of), _)| !of.ignored.is_empty()) {
            write_passages(&mut out, &format!("ignored in the {side}"), text, &of.ignored)?;
        }
    }
    Ok(())
}

/// An error that names the file, if its text is empty or too large.
fn refuse_unusable(analyser: &Analyser, files: [(&PathBuf, &String); 2]) -> Result<(), Failure> {
    for (path, text) in files {
        let refused = |error| Failure::new(format!("{}: {error}", name(path)));
        analyser.analyse(&Content::Text(text.clone())).map_err(refused)?;
    }
    Ok(())
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".into() } else { path.display().to_string() }
}

fn write_scores(out: &mut impl Write, comparison: &Comparison, threshold: f64) -> io::Result<()> {
    let Scores::Sets { estimated, exact, containment } = &comparison.scores else {
        return Ok(());
    };
    writeln!(
        out,
        "exact      {:.4}  {} of {} shingles are shared",
        exact.value, exact.intersection, exact.union
    )?;
    writeln!(
        out,
        "estimated  {:.4}  95 % interval {:.4} to {:.4}; {} of {} slots agree",
        estimated.value,
        estimated.interval.0,
        estimated.interval.1,
        estimated.agreeing,
        estimated.slots
    )?;
    writeln!(
        out,
        "contained  {:.4}  of the first in the second, {:.4} of the second in the first",
        containment.a_in_b, containment.b_in_a
    )?;
    if let Some(probability) = comparison.probability_candidate {
        writeln!(
            out,
            "candidate  {probability:.4}  of pairs with this similarity share a key at {threshold}"
        )?;
    }
    writeln!(
        out,
        "reported   {:.4}  of pairs with this similarity are reported by a lookup at {threshold}",
        comparison.probability_reported
    )
}

fn measures_help() -> String {
    let names = MEASURES.map(|measure| measure.name).join(", ");
    format!("Add measures: {names}, separated by commas")
}

/// A line for each measure: its name, and its values with their meanings.
fn write_measures(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    for (measure, values) in comparison.measures.iter().flat_map(crate::engine::MeasureValues::iter)
    {
        write!(out, "{:<10} ", measure.name)?;
        for (at, (of, value)) in measure.values.iter().zip(values).enumerate() {
            let digits = if of.is_count { 0 } else { 4 };
            let separator = if at == 0 { "" } else { "; " };
            write!(out, "{separator}{value:.digits$}  {}", of.meaning)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_passages(
    out: &mut impl Write,
    kind: &str,
    text: &str,
    passages: &[[usize; 2]],
) -> io::Result<()> {
    writeln!(out, "\n{kind}:")?;
    if passages.is_empty() {
        return writeln!(out, "  nothing");
    }
    for &[from, to] in passages.iter().take(PASSAGES_SHOWN_MAX) {
        let part: String = text.chars().skip(from).take(to - from).collect();
        let shown = shortened(&part);
        writeln!(out, "  {from}..{to}  {shown}")?;
    }
    match passages.len().saturating_sub(PASSAGES_SHOWN_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  … and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_passages_are_only_counted() {
        let mut out = Vec::new();
        write_passages(&mut out, "shared", "one two", &[[4, 7]; 12]).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.matches("  4..7  two\n").count(), 10);
        assert!(out.ends_with("  … and 2 more\n"));
    }
}
