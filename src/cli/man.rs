//! `akin man`: manual pages, made from the texts of `--help`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use super::failure::Failure;

/// Write the manual pages: akin.1, and a page for each command
#[derive(Args)]
pub struct Arguments {
    /// The directory to write to; created if absent
    #[arg(value_name = "DIRECTORY")]
    dir: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let dir = &arguments.dir;
    fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    let mut command = super::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, dir)
}

/// The page of a command and the pages of its subcommands.
fn write_pages(command: &clap::Command, dir: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or("akin");
    let path = dir.join(format!("{name}.1"));
    fs::write(&path, page(command, name)?).map_err(|error| failed(&path, &error))?;
    command.get_subcommands().try_for_each(|command| write_pages(command, dir))
}

fn page(command: &clap::Command, name: &str) -> Result<String, Failure> {
    let page = Man::new(command.clone())
        .title(name.to_uppercase())
        .source(concat!("akin ", env!("CARGO_PKG_VERSION")))
        .manual("akin");
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8(text).expect("help texts are UTF-8");
    // A page without a date, so that equal versions make equal pages; and clap has no name for the
    // section after the options.
    let text = text.replacen(" 1  \"", " 1 \"\" \"", 1);
    Ok(text.replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n"))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}
