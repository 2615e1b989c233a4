//! The report of documents that are left out, each with the document that is kept in its place.

use serde::Serialize;

use super::clusters::Clusters;
use super::report::ReportedDocument;
use crate::cli::corpus::{Files, Score, disk_failed};
use crate::cli::failure::Failure;
use crate::cli::meter::Meter;
use crate::cli::output::{Output, write_json};
use crate::document::DocumentId;

#[derive(Serialize)]
struct RemovedDocument<'d> {
    #[serde(flatten)]
    document: ReportedDocument<'d>,
    kept: ReportedDocument<'d>,
    /// `None` of a document that is left out because of its id.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    score: Option<Score>,
}

/// Writes a line of JSON for each new document that another document stands for. `repeated`:
/// documents that are left out because of their ids, each with the first document with this id.
///
/// # Errors
/// The report cannot be written, or a temporary file cannot be read.
pub fn write_removed(
    output: &mut Output,
    clusters: &mut Clusters<'_>,
    files: &Files,
    repeated: &[(u32, u32)],
    meter: &Meter,
) -> Result<(), Failure> {
    let mut repeated = repeated.iter().peekable();
    for number in clusters.new_documents() {
        meter.add(1);
        let removed = match repeated.next_if(|(again, _)| *again == number) {
            Some((_, first)) => clusters.representative(*first).map(|kept| (kept, None)),
            None => clusters.removal(number).map_err(|error| disk_failed(&error))?,
        };
        let Some((kept, score)) = removed else { continue };
        let [id, kept_id] = [number, kept].map(|number| clusters.id(number));
        let [id, kept_id] = [id, kept_id].map(|id| id.map_err(|error| disk_failed(&error)));
        let (id, kept_id) = (id?, kept_id?);
        let line = RemovedDocument {
            document: named(&id, number, files),
            kept: named(&kept_id, kept, files),
            score,
        };
        write_json(output, &line)?;
    }
    Ok(())
}

fn named<'d>(id: &'d DocumentId, number: u32, files: &'d Files) -> ReportedDocument<'d> {
    ReportedDocument { id: id.as_str(), file: files.of(number).map_or("", |file| file) }
}
