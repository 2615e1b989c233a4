//! The examples at the end of each `--help`, and of each manual page.

use clap::Command;

/// A section for each command: its name after `##`, and command lines, each below its effect.
const EXAMPLES: &str = include_str!("examples.txt");

/// Adds its examples to each command. A command that has an `after_help` of its own keeps it.
pub fn add(command: Command) -> Command {
    EXAMPLES.split("## akin").skip(1).fold(command, |command, section| {
        let (path, examples) = section.split_once('\n').expect("a section has examples");
        let path: Vec<&str> = path.split_whitespace().collect();
        add_to(command, &path, &format!("Examples:\n{}", examples.trim_end()))
    })
}

fn add_to(command: Command, path: &[&str], text: &str) -> Command {
    let Some((name, rest)) = path.split_first() else {
        let is_free = command.get_after_help().is_none();
        return if is_free { command.after_help(text.to_owned()) } else { command };
    };
    command.mut_subcommand(name, |command| add_to(command, rest, text))
}
