//! Results as tables and plots: a folder for each corpus, the budget over all of them, and the
//! tables in the project's pages.

mod budget;
mod growth;
mod numbers;
mod page;
mod plots;
mod readme;
mod table;
mod tables;

pub use numbers::{short, thousands};
pub use plots::{Axis, Draws, Series, lines};
pub use readme::replace_section;

use std::fs;
use std::path::Path;

use crate::outcome::Results;

/// Writes everything anew from the results below the folder; and where that is the project's
/// `bench/report`, the tables of the project's pages.
pub fn write_all(folder: &Path) {
    let all = read(folder);
    fs::create_dir_all(folder).expect("the folder of the report can be made");
    for results in &all {
        let own = folder.join(&results.corpus.name);
        plots::draw(results, &own);
        fs::write(own.join("growth.csv"), growth::csv(results)).expect("the report is written");
        fs::write(own.join("report.md"), page::of(results, &own)).expect("the report is written");
        println!("wrote {}", own.join("report.md").display());
    }
    fs::write(folder.join("budget.md"), budget::page(&all)).expect("the report is written");
    readme::write(&folder.join("../.."), &all);
}

/// In the order of their names, without those that hold no results.
fn read(folder: &Path) -> Vec<Results> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    folders.iter().filter_map(|folder| Results::read(folder)).collect()
}
