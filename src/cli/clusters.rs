//! `akin clusters`: the clusters of a server's collection, or the cluster of a document.

use std::io::{self, BufRead, BufReader, Write, stdout};
use std::num::NonZeroU32;
use std::path::Path;

use clap::Args;
use indicatif::HumanCount;

use super::client::{AnswerBody, Client, InCollection, Server, with_query};
use super::failure::Failure;
use crate::engine::{Linkage, Mode};
use akin_core::scheme::Threshold;
use akin_files::input::{name_of, threshold};
use akin_files::output::{Output, copy};
use akin_model::clusters::{ClusterHead, ClusterLine, ClusterReply, IncompleteReply};

/// Show the clusters of near-duplicates in a server's collection, or the cluster of a document
///
/// Prints the name of each cluster, its size, and its members with their Jaccard similarity to the
/// representative, which is the first member. A collection with clusters.threshold keeps its
/// clusters, and these are shown at once unless another --threshold or a --mode is given.
#[derive(Args)]
pub struct Arguments {
    /// Only the cluster of the document with this id
    #[arg(long, conflicts_with = "min_size")]
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
    /// How near-duplicates are linked to clusters [default: single]
    #[arg(long, value_name = "LINKAGE")]
    linkage: Option<Linkage>,
    /// The fewest documents of a cluster [default: 2]
    #[arg(long, value_name = "N")]
    min_size: Option<NonZeroU32>,
    /// Write the server's answer: a cluster on each line
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let client = arguments.server.client()?;
    let mut answer = Client::body(client.get_patiently(&arguments.path())?)?;
    if arguments.json {
        let mut out = Output::create(Path::new("-"), false)?;
        copy(&mut answer, &mut out, "answer", |_| {})?;
        out.finish()?;
        return Ok(());
    }
    let (clusters, documents) = show(&client, answer, &mut stdout().lock())?;
    if arguments.id.is_none() {
        let (clusters, documents) = (HumanCount(clusters), HumanCount(documents));
        eprintln!("clusters: {clusters}; documents in them: {documents}");
    }
    Ok(())
}

impl Arguments {
    fn path(&self) -> String {
        let parameters = [
            ("id", self.id.clone()),
            ("threshold", self.threshold.map(|threshold| threshold.get().to_string())),
            ("mode", self.mode.as_ref().map(name_of)),
            ("linkage", self.linkage.as_ref().map(name_of)),
            ("min_size", self.min_size.map(|size| size.to_string())),
        ];
        with_query(&self.within.path("/clusters"), &parameters)
    }
}

/// Shows clusters as they arrive. Returns the number of clusters and of documents in them.
fn show(client: &Client, answer: AnswerBody, out: &mut impl Write) -> Result<(u64, u64), Failure> {
    let (mut clusters, mut documents) = (0, 0);
    for line in BufReader::new(answer).lines() {
        let line = line.map_err(|error| {
            let what = format!("the answer broke off: {error}");
            Failure::with_hint(what, "the server's log may say why")
        })?;
        match client.parse(line.as_bytes())? {
            ClusterLine::Cluster(cluster) => {
                write(&cluster, out)?;
                clusters += 1;
                documents += cluster.head.size as u64;
            }
            ClusterLine::Incomplete(IncompleteReply { incomplete }) => eprintln!(
                "documents that may be missing in their clusters: {}; --json names some of them",
                HumanCount(incomplete.documents)
            ),
        }
    }
    Ok((clusters, documents))
}

fn write(cluster: &ClusterReply, out: &mut impl Write) -> io::Result<()> {
    let ClusterHead { cluster: name, size, .. } = &cluster.head;
    writeln!(out, "{name}  {} documents", HumanCount(*size as u64))?;
    for member in &cluster.members {
        writeln!(out, "  {:.4}  {}", member.resemblance, member.id)?;
    }
    Ok(())
}
