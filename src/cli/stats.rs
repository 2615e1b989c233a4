//! `akin stats`: the size of a collection and the state of its server, or the templates of files.

use std::io::{self, Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde::Deserialize;

use super::client::{InCollection, Server, read_whole};
use super::failure::Failure;
use super::serve;
use akin_files::corpus::AnalysisOptions;
use akin_files::output::print_answer;
use akin_files::templates::TemplateSearch;
use akin_model::stats::{CollectionSize, SnapshotInfo};

/// Show the size of a collection and the state of its server, or what many documents share
///
/// With --templates the command needs no server: it reads files twice, and shows the parts of texts
/// whose shingles occur in many documents, such as menus and notices, each with the number of
/// documents. The setting shingles.ignore of a collection leaves such parts out of all sets. Copies
/// share everything: leave them out by `akin dedup` first. `akin export | akin stats - --templates
/// 100` shows the templates of a collection.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    within: InCollection,
    /// Write the server's answer; with --templates a line of JSON for each
    #[arg(long)]
    json: bool,
    /// Show the parts of the texts in these files of which each shingle occurs in more than N
    /// documents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    templates: Option<u32>,
    /// With --templates: files or directories of documents, as `akin import` takes them, or - for
    /// stdin
    #[arg(value_name = "IN", requires = "templates")]
    paths: Vec<PathBuf>,
    /// With --templates: the most memory to use, in MiB [default: half of the available memory]
    #[arg(long, value_name = "MIB", requires = "templates")]
    memory_max_mib: Option<u64>,
    #[command(flatten, next_help_heading = "Options of --templates")]
    analysis: AnalysisOptions,
}

/// The part of a server's answer that is shown.
#[derive(Deserialize)]
struct ShownStats {
    #[serde(flatten)]
    size: CollectionSize,
    wal_bytes: Option<u64>,
    log_rows: Option<u64>,
    last_snapshot: Option<SnapshotInfo>,
    discoveries: Vec<ShownDiscovery>,
    uptime_s: u64,
    version: String,
}

#[derive(Deserialize)]
struct ShownDiscovery {
    kind: String,
    stage: String,
    done: u64,
    total: u64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { templates, paths, memory_max_mib, json, analysis: options, .. } = arguments;
    if let Some(over) = *templates {
        let search = TemplateSearch {
            options,
            configured: serve::collection,
            over,
            memory_max_mib: *memory_max_mib,
            json: *json,
        };
        options.read.screening.refuse_keeping()?;
        return search.run(options.read.selection(paths.clone())?);
    }
    let client = arguments.server.client()?;
    let answer = read_whole(client.get(&arguments.within.path("/stats"))?)?;
    match arguments.json {
        true => print_answer(&answer)?,
        false => client.parse::<ShownStats>(&answer)?.write(&mut stdout().lock())?,
    }
    Ok(ExitCode::SUCCESS)
}

impl ShownStats {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (count, size) = (HumanCount, &self.size);
        writeln!(out, "documents  {}", documents(size.documents, size.distinct_sets))?;
        if let (Some(keys), Some(longest)) = (size.keys, size.postings_longest) {
            let (keys, longest) = (count(keys), count(longest));
            writeln!(out, "keys       {keys}, the longest with {longest} postings")?;
        }
        if let Some(bytes) = size.index_bytes {
            writeln!(out, "memory     {} of index and ids", HumanBytes(bytes))?;
        }
        if let (Some(database), Some(wal)) = (size.database_bytes, self.wal_bytes) {
            let (database, wal) = (HumanBytes(database), HumanBytes(wal));
            writeln!(out, "disk       {database} of database, {wal} of write-ahead log")?;
        }
        match (&self.last_snapshot, self.log_rows.map(count)) {
            (Some(SnapshotInfo { created_at, documents, .. }), Some(since)) => {
                let (created_at, of) = (String::from(*created_at), count(*documents));
                writeln!(
                    out,
                    "snapshot   {created_at} of {of} documents, {since} operations since"
                )?;
            }
            (None, Some(since)) => {
                writeln!(out, "snapshot   none yet, {since} operations in the log")?;
            }
            (_, None) => {}
        }
        for ShownDiscovery { kind, stage, done, total } in &self.discoveries {
            writeln!(out, "running    {kind}: {stage}, {} of {}", count(*done), count(*total))?;
        }
        writeln!(out, "server     akin {}, up for {}", self.version, duration(self.uptime_s))
    }
}

/// A number of documents, with the distinct sets that they have, if their number is known.
pub(super) fn documents(documents: u64, sets: Option<u64>) -> String {
    let sets = sets.map(|sets| format!(", with {} distinct sets", HumanCount(sets)));
    format!("{}{}", HumanCount(documents), sets.unwrap_or_default())
}

fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let shown = [59, 61, 7_260, 90_000].map(duration);
        assert_eq!(shown, ["59 s", "1 min", "2 h 1 min", "1 d 1 h"]);
    }
}
