//! `--annotate`: each document with its cluster, as a line of JSON or as a row of a table.

use std::io::{self, Write};

use serde::Serialize;

use super::clusters::Representatives;
use super::rows::ClusterRows;
use crate::corpus::{Score, disk_failed};
use crate::failure::Failure;
use crate::output::{Destination, Output};
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

/// The clusters of documents as a table of CSV or Parquet.
pub enum ClusterTable {
    Csv(Box<csv::Writer<Output>>),
    Parquet(Box<ClusterRows>),
}

/// The columns of the table.
const COLUMNS: [&str; 5] = ["id", "cluster", "cluster_size", "representative", "similarity"];

impl ClusterTable {
    /// `None` if the output has lines of JSON.
    ///
    /// # Errors
    /// The output cannot be created.
    pub fn create(destination: &Destination) -> Result<Option<Self>, Failure> {
        if destination.is_parquet() {
            let rows = ClusterRows::new(destination.create()?)?;
            return Ok(Some(Self::Parquet(Box::new(rows))));
        }
        if !destination.is_csv() {
            return Ok(None);
        }
        let mut writer = csv::Writer::from_writer(destination.create()?);
        writer.write_record(COLUMNS).map_err(io::Error::from)?;
        Ok(Some(Self::Csv(Box::new(writer))))
    }

    /// Writes the row of a document, unless the document is left out.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn push(&mut self, number: u32, clusters: &mut Representatives<'_>) -> Result<(), Failure> {
        let Some(annotation) = Annotation::of(number, clusters)? else { return Ok(()) };
        let id = clusters.id(number).map_err(|error| disk_failed(&error))?;
        match self {
            Self::Parquet(rows) => rows.push(&id, &annotation),
            Self::Csv(writer) => {
                let Annotation { cluster, cluster_size, representative, .. } = &annotation;
                let (size, similarity) =
                    (cluster_size.to_string(), annotation.similarity().to_string());
                let row =
                    [id.as_str(), cluster, &size, representative.as_str(), similarity.as_str()];
                Ok(writer.write_record(row).map_err(io::Error::from)?)
            }
        }
    }

    /// # Errors
    /// The output cannot be written.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Parquet(rows) => rows.finish(),
            Self::Csv(writer) => {
                let output = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
                output.finish()
            }
        }
    }
}

/// The cluster of a document.
#[derive(Serialize)]
pub struct Annotation {
    pub cluster: String,
    pub cluster_size: u32,
    pub representative: DocumentId,
    /// Of the document and the representative.
    #[serde(flatten)]
    score: Option<Score>,
}

impl Annotation {
    /// The Jaccard similarity, or the points of records. A representative is equal to itself.
    pub fn similarity(&self) -> f64 {
        match self.score {
            Some(Score::Resemblance(resemblance)) => resemblance,
            Some(Score::Points(points)) => points.into(),
            None => 1.0,
        }
    }

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
