//! Passages: how often edited passages are found, beside the prediction, and what the index of
//! passages takes on a server. `cargo run --release --manifest-path bench/Cargo.toml -- passages`.

mod chance;
mod server;

use std::path::{Path, PathBuf};

use clap::Args;

use self::chance::Chances;
use crate::machine::Machine;
use crate::report::{lines, replace_section};

#[derive(Args)]
pub struct Arguments {
    /// Made-up documents of a kilobyte that the server has when it is searched
    #[arg(long, default_value_t = 1_000_000)]
    documents: usize,
    /// Where data directories are made, and removed
    #[arg(long, default_value = "target/bench")]
    work: PathBuf,
    /// The folder of the report
    #[arg(long, default_value = "bench/report/passages")]
    report: PathBuf,
    /// The page with the table of chances
    #[arg(long, default_value = "docs/passages.md")]
    page: PathBuf,
    #[arg(long, default_value = "target/release/akin")]
    akin: PathBuf,
}

pub fn run(arguments: &Arguments) {
    let file = |name: &str| arguments.report.join(name);
    std::fs::create_dir_all(&arguments.report).expect("the folder of the report can be made");
    let chances = chances(&file("chance.svg"));
    replace_section(&arguments.page, "chances", &chances);
    std::fs::write(file("chance.md"), &chances).expect("the report is written");
    let machine = Machine::here("python3");
    let day = machine.date.split(' ').next().unwrap_or_default();
    let head = format!("{}, {} cores, {day}.\n\n", machine.processor, machine.cores);
    let page = head + &server::measure(arguments);
    std::fs::write(file("server.md"), &page).expect("the report is written");
    println!("{chances}\n{page}");
}

/// The tables, and the plot as a file.
fn chances(plot: &Path) -> String {
    let chances = Chances::new();
    let (axes, series) = chances.plot();
    lines(plot, "Edited passages found, runs of 32 words guaranteed", &axes, &series);
    format!("\n{}\n{}\n", chances.edits(), chances.forms())
}
