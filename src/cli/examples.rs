//! The examples at the end of each `--help`, and of each manual page.

use clap::Command;

/// A section for each command: its name after `##`, and command lines, each below its effect.
const EXAMPLES: &str = include_str!("examples.txt");

/// Adds its examples to each command. A command that has an `after_help` of its own keeps it.
pub fn add(command: Command) -> Command {
    sections().fold(command, |command, (path, examples)| {
        let path: Vec<&str> = path.split_whitespace().collect();
        add_to(command, &path, &format!("Examples:\n{}", examples.trim_end()))
    })
}

fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let section = |of: &'static str| of.split_once('\n').expect("a section has examples");
    EXAMPLES.split("## akin").skip(1).map(section)
}

fn add_to(command: Command, path: &[&str], text: &str) -> Command {
    let Some((name, rest)) = path.split_first() else {
        let is_free = command.get_after_help().is_none();
        return if is_free { command.after_help(text.to_owned()) } else { command };
    };
    command.mut_subcommand(name, |command| add_to(command, rest, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a command line, as a shell splits these.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" > ").next().unwrap();
        let pieces = line.split('\'').enumerate().flat_map(|(n, piece)| match n % 2 {
            0 => piece.split_whitespace().map(str::to_owned).collect(),
            _ => vec![piece.to_owned()],
        });
        pieces.collect()
    }

    #[test]
    fn every_command_ends_its_help_with_examples() {
        fn check(command: &Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("akin "), "{} has no example", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&crate::cli::command());
    }

    #[test]
    fn every_example_is_a_command_line() {
        for (path, examples) in sections() {
            let is_line = |line: &&str| !line.is_empty() && !line.starts_with('#');
            for line in examples.lines().map(str::trim).filter(is_line) {
                assert!(line.starts_with(&format!("akin{path}")), "{line} below{path}");
                let parsed = crate::cli::command().try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }
}
