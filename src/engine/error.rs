use crate::document::DocumentId;

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the document is empty: it has nothing to make a shingle of")]
    EmptyDocument,
    #[error("there is no document '{id}'")]
    DocumentNotFound { id: DocumentId },
    #[error(
        "the document has {found} shingles, more than the {max} that limits.shingles_max allows"
    )]
    TooManyShingles { found: usize, max: usize },
    #[error(
        "the metadata has {found} bytes, more than the {max} that limits.metadata_bytes_max allows"
    )]
    MetadataTooLarge { found: usize, max: usize },
    #[error("the text of '{id}' is not kept: the collection has store.text = false")]
    TextNotKept { id: DocumentId },
    /// The store takes nothing more; the process is about to stop. Retry elsewhere or later.
    #[error("the store is out of service: {reason}")]
    OutOfService { reason: String },
    /// A fault of the server's: logged where it came up, not the client's business.
    #[error("the store failed: {reason}")]
    Store { reason: String },
}
