//! The report of documents that are left out, each with the document that is kept in its place.

use serde::Serialize;

use super::clusters::Representatives;
use super::report::ReportedDocument;
use crate::corpus::{CorpusFiles, Score, disk_failed};
use crate::failure::Failure;
use crate::meter::Meter;
use crate::offline::OfflineState;
use crate::output::{Output, write_json};

#[derive(Serialize)]
struct RemovedDocument<'d> {
    #[serde(flatten)]
    document: ReportedDocument<'d>,
    /// `None` if no document of the cluster is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<KeptDocument<'d>>,
    /// `None` of a document that is left out because of its id.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    score: Option<Score>,
}

#[derive(Serialize)]
struct KeptDocument<'d> {
    id: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'d str>,
    /// The batch of a document of the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<usize>,
}

/// The places of documents, for a report.
pub struct ReportPlaces<'p> {
    pub files: &'p CorpusFiles,
    /// Documents that are left out because of their ids, each with the first document with this id.
    pub repeated: &'p [(u32, u32)],
    /// Has the documents that are in no file.
    pub state: Option<&'p OfflineState>,
}

impl<'p> ReportPlaces<'p> {
    fn file_of(&self, number: u32) -> Option<&'p str> {
        self.files.of(number).map(|file| &**file)
    }
}

/// Writes a line of JSON for each new document that another document stands for.
///
/// # Errors
/// The report cannot be written, or a temporary file cannot be read.
pub fn write_removed(
    output: &mut Output,
    clusters: &mut Representatives<'_>,
    places: &ReportPlaces<'_>,
    meter: &Meter,
) -> Result<(), Failure> {
    let mut repeated = places.repeated.iter().peekable();
    for number in clusters.new_documents() {
        meter.add(1);
        let removed = match repeated.next_if(|(again, _)| *again == number) {
            Some((_, first)) => clusters.representative(*first).map(|kept| (Some(kept), None)),
            None => clusters.removal(number).map_err(|error| disk_failed(&error))?,
        };
        let Some((kept, score)) = removed else { continue };
        let id = |number| clusters.id(number).map_err(|error| disk_failed(&error));
        let (own_id, kept_id) = (id(number)?, kept.map(id).transpose()?);
        let kept = kept.zip(kept_id.as_ref()).map(|(kept, id)| {
            let file = places.file_of(kept);
            let batch = places.state.filter(|_| file.is_none()).map(|state| state.batch_of(kept));
            KeptDocument { id: id.as_str(), file, batch }
        });
        let line = RemovedDocument {
            document: ReportedDocument {
                id: own_id.as_str(),
                file: places.file_of(number).expect("a new document is in a file"),
            },
            kept,
            score,
        };
        write_json(output, &line)?;
    }
    Ok(())
}
