//! A table in Markdown, made of outcomes.

use super::numbers::{share, short, thousands};
use crate::outcome::Outcome;

/// How a figure is shown.
#[derive(Clone, Copy)]
pub enum As {
    Short,
    Share,
    /// All digits of a count.
    Whole,
    /// Bytes as MB.
    Megabytes,
}

/// A head, the name of a figure, and how it is shown.
pub type Column = (&'static str, &'static str, As);

/// A row for each outcome: who, how, of how many documents, and the columns. One that failed says
/// why instead.
pub fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>, columns: &[Column]) -> String {
    let heads = columns.iter().map(|(head, ..)| format!(" {head} |"));
    let mut table = format!("| | | documents |{}\n", heads.collect::<String>());
    table.push_str(&format!("|---|---|--:|{}\n", "--:|".repeat(columns.len())));
    for outcome in outcomes {
        let Outcome { participant, setting, documents, .. } = outcome;
        let cells = match &outcome.error {
            Some(why) => format!(" {} |", why.replace('|', "\\|")),
            None => columns.iter().map(|column| cell(outcome, column)).collect(),
        };
        let documents = thousands(*documents as u64);
        table.push_str(&format!("| {participant} | {setting} | {documents} |{cells}\n"));
    }
    table
}

fn cell(outcome: &Outcome, (_, name, shown): &Column) -> String {
    let shown = outcome.get(name).map(|figure| match shown {
        As::Short => short(figure),
        As::Share => share(figure),
        As::Whole => thousands(figure as u64),
        As::Megabytes => short(figure / 1e6),
    });
    format!(" {} |", shown.unwrap_or_default())
}
