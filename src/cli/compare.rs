//! `akin compare`: how similar two files are.

use std::io::{self, Write, stdout};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::input;
use super::serve::ConfigFile;
use crate::document::Content;
use crate::engine::{
    Analyser, CompareOptions, Comparison, MeasureSelection, MeasureValues, Passages,
    compare_contents,
};
use crate::measure::CommonSubsequence;

/// Of one text, one kind.
const PASSAGES_SHOWN_MAX: usize = 10;
const PASSAGE_CHARS_MAX: usize = 160;

/// Compare two files: exact Jaccard similarity and the MinHash estimate of it; needs no server
#[derive(Args)]
pub struct Arguments {
    /// A text file (also gzip or zstd), or - for stdin
    a: PathBuf,
    /// The other text file
    b: PathBuf,
    /// Show the passages they share and those that differ
    #[arg(long)]
    explain: bool,
    /// Add measures: edit, lcs, hamming, cosine, euclidean, separated by commas
    #[arg(long, value_name = "NAMES")]
    measures: Option<MeasureSelection>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigFile,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let settings = arguments.config.settings(vec![])?.collection;
    let texts = [input::read_text_file(&arguments.a)?, input::read_text_file(&arguments.b)?];
    let analyser = Analyser::new(&settings);
    refuse_unusable(&analyser, [(&arguments.a, &texts[0]), (&arguments.b, &texts[1])])?;
    let [a, b] = texts.clone().map(Content::Text);
    let measures = arguments.measures.unwrap_or_default();
    let options = CompareOptions { explain: arguments.explain, measures };
    let comparison = compare_contents(&analyser, a, b, options)
        .map_err(|error| Failure::new(error.to_string()))?;
    let mut out = stdout().lock();
    if arguments.json {
        writeln!(out, "{}", as_json(&comparison))?;
        return Ok(ExitCode::SUCCESS);
    }
    write_scores(&mut out, &comparison, settings.scheme.threshold.get())?;
    write_measures(&mut out, &comparison)?;
    if let Some(explanation) = &comparison.explanation {
        write_passages(&mut out, "shared", &texts[0], &explanation.a.shared)?;
        write_passages(&mut out, "only in the first", &texts[0], &explanation.a.differing)?;
        write_passages(&mut out, "only in the second", &texts[1], &explanation.b.differing)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Names the file whose text is empty or too large.
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
    let (Some(estimated), Some(exact)) = (&comparison.estimated, &comparison.exact) else {
        return Ok(());
    };
    writeln!(
        out,
        "exact      {:.4}  {} of {} shingles are shared",
        exact.value, exact.shared, exact.union
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
        exact.containment_of_a, exact.containment_of_b
    )?;
    if let Some(probability) = comparison.probability_candidate {
        writeln!(out, "candidate  {probability:.4}  of such pairs share a key at {threshold}")?;
    }
    writeln!(
        out,
        "reported   {:.4}  of such pairs are reported by a lookup at {threshold}",
        comparison.probability_reported
    )
}

fn write_measures(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    let MeasureValues { edit, lcs, hamming, cosine, euclidean } = comparison.measured;
    if let Some(distance) = edit {
        writeln!(out, "edit       {distance}  characters to insert, delete or exchange")?;
    }
    if let Some(CommonSubsequence { length, distance }) = lcs {
        writeln!(out, "lcs        {length}  characters in common; {distance} to insert or delete")?;
    }
    if let Some(distance) = hamming {
        writeln!(out, "hamming    {distance}  shingles that only one has")?;
    }
    if let Some((cosine, angle)) = cosine {
        writeln!(
            out,
            "cosine     {cosine:.4}  of the counts of shingles, {angle:.2} degrees apart"
        )?;
    }
    if let Some(distance) = euclidean {
        writeln!(out, "euclidean  {distance:.4}  between the counts of shingles")?;
    }
    Ok(())
}

fn write_passages(
    out: &mut impl Write,
    kind: &str,
    text: &str,
    passages: &[Range<usize>],
) -> io::Result<()> {
    writeln!(out, "\n{kind}:")?;
    if passages.is_empty() {
        return writeln!(out, "  nothing");
    }
    for passage in passages.iter().take(PASSAGES_SHOWN_MAX) {
        let shown = shortened(text.get(passage.clone()).unwrap_or_default());
        writeln!(out, "  {}..{}  {shown}", passage.start, passage.end)?;
    }
    match passages.len().saturating_sub(PASSAGES_SHOWN_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  … and {more} more"),
    }
}

/// On one line, the middle left out if it is long.
fn shortened(passage: &str) -> String {
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

/// The shape of the HTTP interface's comparison.
fn as_json(comparison: &Comparison) -> serde_json::Value {
    let mut value = json!({ "probability_reported": comparison.probability_reported });
    if let Some(estimated) = &comparison.estimated {
        value["estimated"] = json!({
            "value": estimated.value,
            "standard_error": estimated.standard_error,
            "interval": [estimated.interval.0, estimated.interval.1],
            "agreeing": estimated.agreeing,
            "slots": estimated.slots,
        });
    }
    if let Some(exact) = &comparison.exact {
        value["exact"] =
            json!({"value": exact.value, "intersection": exact.shared, "union": exact.union});
        value["containment"] =
            json!({"a_in_b": exact.containment_of_a, "b_in_a": exact.containment_of_b});
    }
    if let Some(probability) = comparison.probability_candidate {
        value["probability_candidate"] = probability.into();
    }
    if let Some(bag) = comparison.bag {
        value["exact"]["bag"] = bag.by_sum_union().into();
        value["exact"]["bag_max_union"] = bag.by_max_union().into();
    }
    if comparison.measured != MeasureValues::default() {
        value["measures"] = measures_json(&comparison.measured);
    }
    if let Some(explanation) = &comparison.explanation {
        value["explanation"] = json!({
            "a": passages_json(&explanation.a),
            "b": passages_json(&explanation.b),
            "bands_shared": explanation.bands_shared,
        });
    }
    value
}

fn measures_json(measured: &MeasureValues) -> serde_json::Value {
    let MeasureValues { edit, lcs, hamming, cosine, euclidean } = measured;
    let lcs_json = |lcs: CommonSubsequence| json!({"length": lcs.length, "distance": lcs.distance});
    let cosine_json = |(cosine, angle)| json!({"similarity": cosine, "angle_degrees": angle});
    let all = [
        ("edit", edit.map(|distance| json!({ "distance": distance }))),
        ("lcs", lcs.map(lcs_json)),
        ("hamming", hamming.map(|distance| json!({ "distance": distance }))),
        ("cosine", cosine.map(cosine_json)),
        ("euclidean", euclidean.map(|distance| json!({ "distance": distance }))),
    ];
    let asked = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    serde_json::Value::Object(asked.collect())
}

fn passages_json(passages: &Passages) -> serde_json::Value {
    let pairs = |ranges: &[Range<usize>]| -> Vec<[usize; 2]> {
        ranges.iter().map(|range| [range.start, range.end]).collect()
    };
    json!({"shared": pairs(&passages.shared), "differing": pairs(&passages.differing)})
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

    #[test]
    fn passages_are_shown_with_their_bytes_and_counted_beyond_the_first() {
        let mut out = Vec::new();
        write_passages(&mut out, "shared", "one two", &vec![4..7; 12]).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.matches("  4..7  two\n").count(), 10);
        assert!(out.ends_with("  … and 2 more\n"));
    }
}
