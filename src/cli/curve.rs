//! `akin curve`: the S-curve of a scheme, and its costs.

use std::io::{self, Write, stdout};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use textplots::{Chart, Plot, Shape};

use super::failure::{Failure, of_engine};
use super::serve::ConfigFile;
use crate::engine::{CollectionSettings, CurveAnswer, CurveOf, curve_of};
use akin_core::scheme::{CurvePoint, Kind, Threshold, binomial_at_least};
use akin_files::input;
use akin_files::output::write_json;

/// A table shows every fifth of the curve's 101 points.
const STEPS_SHOWN: usize = 5;

/// In dots: a character is two dots wide and four high.
const PLOT_WIDTH: u32 = 120;
const PLOT_HEIGHT: u32 = 48;

/// Show the S-curve of MinHash LSH: the chance to find a pair at each Jaccard similarity
///
/// Also shows the memory and the keys of the scheme. Needs no server.
#[derive(Args)]
pub struct Arguments {
    /// Jaccard similarity from which documents are near-duplicates [default: the settings']
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    threshold: Option<Threshold>,
    /// Show the scheme that akin chooses for this chance to find a document exactly at the
    /// threshold, in place of the settings' scheme
    #[arg(long, value_name = "0..1", conflicts_with = "bands")]
    recall: Option<f64>,
    /// Number of keys, in place of the chosen number
    #[arg(long, value_name = "N", requires = "rows")]
    bands: Option<u32>,
    /// Slots in each key
    #[arg(long, value_name = "N", requires = "bands")]
    rows: Option<u32>,
    /// Slots (MinHash values) of a sketch [default: the settings']
    #[arg(long, value_name = "N")]
    slots: Option<u32>,
    /// Which slots make a key [default: the settings']
    #[arg(long)]
    kind: Option<KindArgument>,
    /// Show the rule "at least N slots agree" in place of a scheme
    #[arg(long, value_name = "N", requires = "of",
        conflicts_with_all = ["threshold", "recall", "bands", "slots", "kind"])]
    agree: Option<u32>,
    /// Number of slots that the rule counts
    #[arg(long, value_name = "N", requires = "agree", value_parser = slots_of_rule)]
    of: Option<u32>,
    /// Write JSON
    #[arg(long, conflicts_with = "plot")]
    json: bool,
    /// Plot the curve below the table
    #[arg(long)]
    plot: bool,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum KindArgument {
    Bands,
    RandomRows,
}

fn slots_of_rule(text: &str) -> Result<u32, String> {
    let slots = text.parse().ok().filter(|slots| (1..=100_000).contains(slots));
    slots.ok_or_else(|| "must be a whole number, 1 to 100000".to_owned())
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let (json, plot) = (arguments.json, arguments.plot);
    let mut out = stdout().lock();
    if let Some((agreeing, slots)) = arguments.agree.zip(arguments.of) {
        let points = rule(agreeing, slots)?;
        match json {
            true => write_json(&mut out, &rule_as_json(agreeing, slots, &points))?,
            false => write_rule(&mut out, agreeing, slots, &points)?,
        }
        if plot {
            write_plot(&mut out, &[&points])?;
        }
        return Ok(());
    }
    let answer = answer(arguments)?;
    if json {
        return write_json(&mut out, &answer);
    }
    write_answer(&mut out, &answer)?;
    if plot {
        let of = |chance: fn(&CurvePoint) -> f64| -> Vec<(f64, f64)> {
            answer.points.iter().map(|point| (point.similarity, chance(point))).collect()
        };
        write_plot(&mut out, &[&of(|point| point.candidate), &of(|point| point.found)])?;
    }
    Ok(())
}

fn answer(arguments: Arguments) -> Result<CurveAnswer, Failure> {
    let Arguments { threshold, recall, bands, rows, slots, kind, config, .. } = arguments;
    let mut settings: CollectionSettings = config.settings(vec![])?.collection;
    settings.sketch.slots = slots.unwrap_or(settings.sketch.slots);
    settings.scheme.kind = match kind {
        Some(KindArgument::Bands) => Kind::Bands,
        Some(KindArgument::RandomRows) => Kind::RandomRows,
        None => settings.scheme.kind,
    };
    let faults = settings.sketch.faults();
    if !faults.is_empty() {
        return Err(Failure::new(format!("the sketch is impossible: {}", faults.join("; "))));
    }
    let of = match (recall, bands.zip(rows)) {
        (Some(recall), _) => CurveOf::Wanted { threshold, recall },
        (None, Some((bands, rows))) => CurveOf::Keys { bands, rows, threshold },
        (None, None) => CurveOf::Collection { threshold },
    };
    curve_of(&settings, of).map_err(of_engine)
}

fn write_answer(out: &mut impl Write, answer: &CurveAnswer) -> io::Result<()> {
    let CurveAnswer { bands, rows, slots, keys_probed, .. } = answer;
    let kind = match answer.kind {
        Kind::Bands => "bands of consecutive slots",
        Kind::RandomRows => "keys of slots drawn at random",
        Kind::Prefix | Kind::Fields => unreachable!("these kinds have no curve"),
    };
    let threshold = answer.threshold.get();
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    writeln!(out, "scheme     {bands} {kind}, {rows} each, of {slots} slots")?;
    writeln!(out, "lookup     at {threshold} under {keys_probed} of them")?;
    writeln!(out, "recall     {} at exactly {threshold}", percent(answer.expected_recall))?;
    writeln!(out, "missed     {} on average above", percent(answer.false_negatives))?;
    writeln!(out, "in vain    {} on average below", percent(answer.false_positives))?;
    writeln!(out, "memory     {:.0} bytes a document", answer.bytes_per_document)?;
    writeln!(out, "\nsimilarity  candidate  found")?;
    for point in answer.points.iter().step_by(STEPS_SHOWN) {
        let CurvePoint { similarity, candidate, found } = point;
        writeln!(out, "{similarity:10.2}  {candidate:9.6}  {found:.6}")?;
    }
    Ok(())
}

/// Similarities 0, 0.01, …, 1 with the chance that enough slots agree.
fn rule(agreeing: u32, slots: u32) -> Result<Vec<(f64, f64)>, Failure> {
    if agreeing > slots {
        return Err(Failure::new(format!("{agreeing} of {slots} slots cannot agree")));
    }
    let point = |step: u32| {
        let similarity = f64::from(step) / 100.0;
        (similarity, binomial_at_least(slots, agreeing, similarity))
    };
    Ok((0..=100).map(point).collect())
}

fn write_rule(
    out: &mut impl Write,
    agreeing: u32,
    slots: u32,
    points: &[(f64, f64)],
) -> io::Result<()> {
    writeln!(out, "rule       at least {agreeing} of {slots} slots agree\n")?;
    writeln!(out, "similarity  found")?;
    for (similarity, found) in points.iter().step_by(STEPS_SHOWN) {
        writeln!(out, "{similarity:10.2}  {found:.6}")?;
    }
    Ok(())
}

fn rule_as_json(agreeing: u32, slots: u32, points: &[(f64, f64)]) -> Value {
    let point =
        |(similarity, found): &(f64, f64)| json!({ "similarity": similarity, "found": found });
    let points: Vec<Value> = points.iter().map(point).collect();
    json!({ "agreeing": agreeing, "slots": slots, "points": points })
}

/// A plot of several curves, each a list of similarities and chances.
fn write_plot(out: &mut impl Write, curves: &[&[(f64, f64)]]) -> io::Result<()> {
    let lines: Vec<Vec<(f32, f32)>> = curves
        .iter()
        .map(|points| points.iter().map(|(x, y)| (*x as f32, *y as f32)).collect())
        .collect();
    let shapes: Vec<Shape> = lines.iter().map(|points| Shape::Lines(points)).collect();
    let mut chart = Chart::new_with_y_range(PLOT_WIDTH, PLOT_HEIGHT, 0.0, 1.0, 0.0, 1.0);
    let chart = shapes.iter().fold(&mut chart, |chart, shape| chart.lineplot(shape));
    chart.borders();
    chart.figures();
    writeln!(out, "\n{chart}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_s_curve_is_plotted_upwards() {
        let line: Vec<(f64, f64)> = (0..=100).map(|n| (f64::from(n) / 100.0, 1.0)).collect();
        let mut out = Vec::new();
        write_plot(&mut out, &[&line]).unwrap();
        let plot = String::from_utf8(out).unwrap();
        let rows: Vec<&str> = plot.trim().lines().collect();
        assert!(rows[0].ends_with("1.0"), "{plot}");
        assert!(rows.len() >= PLOT_HEIGHT as usize / 4, "{plot}");
    }

    #[test]
    fn agreeing_slots_separate_similar_from_different_sets() {
        let points = rule(90, 100).unwrap();
        assert!(points[80].1 < 0.006 && points[95].1 > 0.988, "{points:?}");
        assert!(rule(101, 100).is_err());
    }
}
