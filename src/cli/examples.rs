//! The examples at the end of each `--help`, and of each manual page.

use clap::Command;

/// The name of a command, and command lines with their effects.
type Examples = (&'static str, &'static [(&'static str, &'static str)]);

const EXAMPLES: &[Examples] = &[
    (
        "",
        &[
            ("akin demo", "near-duplicates among this machine's own documentation"),
            ("akin dedup crawl.jsonl -o unique.jsonl", "without a server"),
            ("akin serve", "HTTP on 127.0.0.1:2546"),
        ],
    ),
    (
        "serve",
        &[
            ("akin serve", "on 127.0.0.1:2546, with the data in ./akin-data"),
            ("akin serve --config /etc/akin/akin.toml", "with the settings of a file"),
            ("akin serve --listen 0.0.0.0:2546", "for other machines, once there is a key"),
        ],
    ),
    (
        "import",
        &[
            ("akin import documents.jsonl.zst", "a document on each line"),
            ("akin import --include txt --on-duplicate skip ./texts", "text files, each once"),
            ("akin import --collection news -", "NDJSON from stdin"),
            ("akin import --files-from changed.txt", "the files that a list names"),
        ],
    ),
    (
        "export",
        &[
            ("akin export -o all.jsonl.zst", "compressed, because of the name"),
            ("akin export --collection news --settings news.json -o news.jsonl", "with settings"),
            ("akin export --format parquet --sets -o sketches.parquet", "for DuckDB or Spark"),
        ],
    ),
    ("backup", &[("akin backup -o akin.tar.zst", "every collection of a running server")]),
    (
        "restore",
        &[
            ("akin restore akin.tar.zst --data-dir ./restored", "every collection"),
            (
                "akin restore akin.tar --collection news --as news-2",
                "a single collection, under another name",
            ),
        ],
    ),
    (
        "reindex",
        &[
            ("akin reindex news --settings news.json", "while the server goes on"),
            ("akin reindex --config akin.toml", "the collection default, without a server"),
        ],
    ),
    (
        "collections",
        &[
            ("akin collections list", "their names"),
            ("akin collections create news --settings news.json", "with settings of its own"),
            ("akin collections drop news", "with all its documents"),
        ],
    ),
    ("collections list", &[("akin collections list --json", "for a script")]),
    ("collections show", &[("akin collections show news", "its size and its settings")]),
    (
        "collections create",
        &[
            ("akin collections create news", "with the default settings"),
            ("akin collections create news --settings news.json", "with settings of its own"),
        ],
    ),
    ("collections drop", &[("akin collections drop news", "with all its documents")]),
    (
        "get",
        &[
            ("akin get news/1 news/2", "two documents"),
            (
                "akin get --collection pages --include sketch https://example.org/",
                "with its sketch",
            ),
        ],
    ),
    ("delete", &[("akin delete news/1 news/2", "two documents")]),
    (
        "stats",
        &[
            ("akin stats", "of the collection default"),
            ("akin stats --collection news --json", "for a script"),
        ],
    ),
    (
        "clusters",
        &[
            ("akin clusters --threshold 0.9 --min-size 3", "all of three documents or more"),
            ("akin clusters --id news/1", "of one document"),
        ],
    ),
    (
        "keys",
        &[
            ("akin keys create --name crawler --actions write --collections 'web-*'", "a key"),
            ("akin keys list", "all keys"),
            ("akin keys revoke crawler", "refuse it from now on"),
        ],
    ),
    (
        "keys create",
        &[
            ("akin keys create --name operator --actions read,write,admin", "for everything"),
            ("akin keys create --name shop --actions read --expires 30d", "to look up, a month"),
        ],
    ),
    ("keys list", &[("akin keys list --json", "for a script")]),
    ("keys revoke", &[("akin keys revoke crawler", "refuse it from now on")]),
    ("verify", &[("akin verify /var/lib/akin", "every document, log entry and snapshot")]),
    (
        "similar",
        &[
            ("akin similar --id news/1 --threshold 0.6", "of a stored document"),
            ("akin similar page.txt --filter '@.lang == \"en\"'", "of a text, by metadata"),
        ],
    ),
    (
        "compare",
        &[
            ("akin compare old.txt new.txt --explain", "with the passages"),
            ("akin compare old.txt new.txt --measures edit,lcs", "with more measures"),
        ],
    ),
    (
        "curve",
        &[
            ("akin curve --threshold 0.7 --recall 0.95 --plot", "chosen keys, as a plot"),
            ("akin curve --bands 20 --rows 6", "with 20 keys of 6 slots"),
        ],
    ),
    (
        "dedup",
        &[
            ("akin dedup crawl.jsonl.gz -o unique.jsonl.gz", "keep one document of each cluster"),
            ("akin dedup crawl.jsonl --annotate -o clusters.jsonl", "keep all, named by cluster"),
            ("akin dedup crawl.jsonl --spans 50 -o cut.jsonl", "cut what 50 words repeat"),
        ],
    ),
    (
        "decontaminate",
        &[
            (
                "akin decontaminate train.jsonl --against test.jsonl -o clean.jsonl",
                "without documents that have 13 words in a row of test.jsonl",
            ),
            (
                "akin decontaminate a.parquet --against test.jsonl --action cut -o clean.parquet",
                "without the words that are in test.jsonl",
            ),
            (
                "akin decontaminate train --against gsm8k.jsonl --against-text-column question \
                 --action report --report found.jsonl",
                "is the benchmark in the training data?",
            ),
        ],
    ),
    (
        "pairs",
        &[
            ("akin pairs ./texts --threshold 0.7", "id, id, Jaccard similarity"),
            ("akin pairs crawl.jsonl --mode verified -o pairs.tsv", "by MinHash LSH"),
        ],
    ),
    (
        "passages",
        &[
            ("akin passages essay.txt --in library", "what the essay takes from the library"),
            (
                "akin passages new.jsonl --in old.jsonl --json --containment-min 0.5",
                "documents that are half in an old document",
            ),
        ],
    ),
    (
        "sketch",
        &[
            ("akin sketch crawl.jsonl.gz -o sketches.parquet", "for DuckDB or Spark"),
            ("akin sketch crawl.jsonl.gz --sets --threshold 0.7 -o sketches.parquet", "with sets"),
        ],
    ),
    ("evaluate", &[("akin evaluate people.csv pairs.tsv --step 0.1", "at each threshold")]),
    (
        "demo",
        &[
            ("akin demo", "among the files of /usr/share/doc"),
            ("akin demo ~/notes --keep", "and look around afterwards"),
        ],
    ),
    (
        "check-config",
        &[
            ("akin check-config", "every key and its value"),
            ("akin check-config --config /etc/akin/akin.toml", "before a restart"),
        ],
    ),
    ("health", &[("akin health", "for the supervisor of `akin serve`")]),
    (
        "completions",
        &[
            ("akin completions bash > ~/.local/share/bash-completion/completions/akin", "bash"),
            ("akin completions zsh > ~/.zfunc/_akin", "zsh"),
            ("akin completions fish > ~/.config/fish/completions/akin.fish", "fish"),
        ],
    ),
    ("man", &[("akin man /usr/local/share/man/man1", "a page for each command")]),
    ("openapi", &[("akin openapi > openapi.yaml", "for a generator of clients")]),
];

/// Adds its examples to each command. A command that has an `after_help` of its own keeps it.
pub fn add(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (path, examples)| {
        let path: Vec<&str> = path.split_whitespace().collect();
        add_to(command, &path, &text(examples))
    })
}

fn add_to(command: Command, path: &[&str], text: &str) -> Command {
    let Some((name, rest)) = path.split_first() else {
        let is_free = command.get_after_help().is_none();
        return if is_free { command.after_help(text.to_owned()) } else { command };
    };
    command.mut_subcommand(name, |command| add_to(command, rest, text))
}

fn text(examples: &[(&str, &str)]) -> String {
    let lines = examples.iter().map(|(line, what)| format!("  # {what}\n  {line}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
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
        for (path, examples) in EXAMPLES {
            for (line, _) in *examples {
                let command = format!("akin {path}");
                assert!(line.starts_with(command.trim()), "{line} below {path}");
                let parsed = crate::cli::command().try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }
}
