//! `akin clusters`: the clusters of a server's collection, or that of one document.

use std::io::{self, BufRead, BufReader, Write, stdout};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanCount;
use serde::Deserialize;

use super::client::{Body, Client, InCollection, Server, with_query};
use super::failure::Failure;
use super::input::{name_of, threshold};
use super::output::{Output, copy};
use crate::engine::{Linkage, Mode};
use crate::scheme::Threshold;

/// Show the clusters of near-duplicates in a server's collection, or that of one document
///
/// Of each cluster its name, its size and its members with their Jaccard similarity to the
/// representative, which is the first. With --id each member stands with the one that it was found
/// by.
#[derive(Args)]
pub struct Arguments {
    /// Only the cluster of the document with this id
    #[arg(long, conflicts_with_all = ["linkage", "min_size"])]
    id: Option<String>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    within: InCollection,
    /// Jaccard similarity from which documents are near-duplicates [default: the collection's]
    #[arg(long, value_name = "0..1", value_parser = threshold)]
    threshold: Option<Threshold>,
    /// How near-duplicates are found [default: verified, or exact where the collection's kind is
    /// prefix]
    #[arg(long)]
    mode: Option<Mode>,
    /// What makes a cluster [default: single]
    #[arg(long, value_name = "LINKAGE")]
    linkage: Option<Linkage>,
    /// The fewest documents of a cluster [default: 2]
    #[arg(long, value_name = "N")]
    min_size: Option<NonZeroU32>,
    /// With --id: the most members to show [default: 20]
    #[arg(long, value_name = "N", requires = "id")]
    limit: Option<u32>,
    /// Write the server's answer: a cluster on each line
    #[arg(long)]
    json: bool,
}

/// What is shown of a cluster.
#[derive(Deserialize)]
struct Cluster {
    /// Absent if not all members are known.
    #[serde(rename = "cluster")]
    name: Option<String>,
    size: u64,
    members: Vec<Member>,
    #[serde(default)]
    more: bool,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct Member {
    id: String,
    resemblance: Option<f64>,
    linked_to: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let client = arguments.server.client()?;
    let mut answer = Client::body(client.get_patiently(&arguments.path())?)?;
    if arguments.json {
        let mut out = Output::create(Path::new("-"), false)?;
        copy(&mut answer, &mut out, "answer", |_| {})?;
        if arguments.id.is_some() {
            out.write_all(b"\n")?;
        }
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let (clusters, documents) = show(&client, answer, &mut stdout().lock())?;
    if arguments.id.is_none() {
        let (clusters, documents) = (HumanCount(clusters), HumanCount(documents));
        eprintln!("clusters: {clusters}; documents in them: {documents}");
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn path(&self) -> String {
        let parameters = [
            ("id", self.id.clone()),
            ("threshold", self.threshold.map(|threshold| threshold.get().to_string())),
            ("mode", self.mode.as_ref().map(name_of)),
            ("linkage", self.linkage.as_ref().map(name_of)),
            ("min_size", self.min_size.map(|size| size.to_string())),
            ("limit", self.limit.map(|limit| limit.to_string())),
        ];
        with_query(&self.within.path("/clusters"), &parameters)
    }
}

/// Shows clusters as they arrive; how many they are, and how many documents are in them.
fn show(client: &Client, answer: Body, out: &mut impl Write) -> Result<(u64, u64), Failure> {
    let (mut clusters, mut documents) = (0, 0);
    for line in BufReader::new(answer).lines() {
        let line = line.map_err(|error| {
            let what = format!("the answer broke off: {error}");
            Failure::with_hint(what, "the server's log may say why")
        })?;
        let cluster: Cluster = client.parse(line.as_bytes())?;
        cluster.write(out)?;
        clusters += 1;
        documents += cluster.size;
    }
    Ok((clusters, documents))
}

impl Cluster {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let name = self.name.as_deref().unwrap_or("not all members are known");
        writeln!(out, "{name}  {} documents", HumanCount(self.size))?;
        for Member { id, resemblance, linked_to } in &self.members {
            match (resemblance, linked_to) {
                (Some(resemblance), None) => writeln!(out, "  {resemblance:.4}  {id}")?,
                (Some(resemblance), Some(to)) => {
                    writeln!(out, "  {resemblance:.4}  {id}  to {to}")?;
                }
                (None, _) => writeln!(out, "          {id}")?,
            }
        }
        if self.more {
            eprintln!("there are more members: --limit shows more");
        }
        if self.truncated {
            eprintln!("a work limit was hit: some members may be missing");
        }
        Ok(())
    }
}
