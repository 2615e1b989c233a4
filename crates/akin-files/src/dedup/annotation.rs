//! `--annotate`: each document with its cluster.

use std::io::{self, Write};

use serde::Serialize;

use super::clusters::Representatives;
use crate::corpus::{Score, disk_failed};
use crate::failure::Failure;
use crate::output::Output;
use akin_core::join::cluster_name;
use akin_model::document::DocumentId;

/// Writes a line with further members at its end.
pub fn annotate(
    line: &[u8],
    number: u32,
    clusters: &mut Representatives<'_>,
    out: &mut Output,
) -> Result<(), Failure> {
    let Some(cluster) = Annotation::of(number, clusters)? else { return Ok(()) };
    let line = line.trim_ascii_end();
    out.write_all(line.strip_suffix(b"}").unwrap_or(line))?;
    let further = serde_json::to_string(&cluster).map_err(io::Error::from)?;
    Ok(writeln!(out, ",{}", further.trim_start_matches('{'))?)
}

/// The cluster of a document.
#[derive(Serialize)]
struct Annotation {
    cluster: String,
    cluster_size: u32,
    representative: DocumentId,
    /// Of the document and the representative.
    #[serde(flatten)]
    score: Option<Score>,
}

impl Annotation {
    /// `None` if the document is left out.
    fn of(number: u32, clusters: &mut Representatives<'_>) -> Result<Option<Self>, Failure> {
        let Some(of) = clusters.representative(number) else { return Ok(None) };
        let representative = clusters.id(of).map_err(|error| disk_failed(&error))?;
        let score = match of == number {
            true => None,
            false => clusters.score(number).map_err(|error| disk_failed(&error))?,
        };
        let (cluster, cluster_size) = (cluster_name(&representative), clusters.size(of));
        Ok(Some(Self { cluster, cluster_size, representative, score }))
    }
}
