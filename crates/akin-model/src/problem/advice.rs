//! Advice for each problem.

use crate::problem::code::Code;

impl Code {
    /// The remedy of the client or the operator, in whole sentences.
    pub fn advice(self) -> &'static str {
        let found = ADVICE.iter().find(|(code, _)| *code == self);
        found.map_or("", |(_, advice)| advice)
    }
}

/// For every code.
#[rustfmt::skip]
const ADVICE: &[(Code, &str)] = &[
    (Code::MalformedJson,
        "Send valid JSON in UTF-8; the detail says at which line and column it is not."),
    (Code::MalformedText, "Send the text in UTF-8, without another charset in content-type."),
    (Code::InvalidParameter,
        "Correct the parameter that the detail names; the API reference lists its values."),
    (Code::UnreadableBody,
        "Send the body again: it ended before its length, or its compression is damaged."),
    (Code::MalformedRequest, "Send HTTP/1.1 by a usual client library. The connection was closed."),
    (Code::InvalidHost, "Send exactly one Host header with the server's name and port."),
    (Code::KeyRequired, "Send a key as `Authorization: Bearer KEY`. `akin keys create` makes one."),
    (Code::InvalidKey,
        "Check that the key is complete, not revoked and not expired: `akin keys list`."),
    (Code::NotPermitted, "Use a key with the action and for the collection that the detail names."),
    (Code::ForeignOrigin, "List the page's origin in server.cors_origins if you trust it."),
    (Code::DocumentNotFound,
        "Check the id and the collection. Documents may have been removed or have expired."),
    (Code::CollectionNotFound, "Create it by PUT /collections/NAME, or check the name."),
    (Code::ChangesGone,
        "Read the documents anew, such as by GET /export, and go on from the newest position."),
    (Code::ReindexNotFound, "Begin one by POST /collections/NAME/reindex."),
    (Code::RouteNotFound, "Check the path against the API reference."),
    (Code::MethodNotAllowed, "Use one of the methods in the response's allow header."),
    (Code::BodyTimeout,
        "Send the body faster than 100 bytes per second, without pauses, or in smaller parts."),
    (Code::CollectionExists,
        "Use the collection with the settings that it has, another name, or a reindex."),
    (Code::CollectionRequired, "Remove its documents instead: `default` always exists."),
    (Code::TooManyCollections,
        "Remove collections that are not needed, or raise storage.collections_max."),
    (Code::ReindexUnderWay, "Wait until the reindex has ended, or cancel it by DELETE."),
    (Code::ReindexOfDefault,
        "Change the configuration, and run `akin reindex` while no server has the data."),
    (Code::BodyTooLarge, "Send less at once, documents as NDJSON, or raise server.body_bytes_max."),
    (Code::DocumentTooLarge,
        "Divide the document, or raise server.document_bytes_max, which also bounds texts \
         that are looked up."),
    (Code::UnsupportedMediaType,
        "Set content-type to one that the call takes, mostly application/json."),
    (Code::UnsupportedEncoding, "Send the body uncompressed, or as gzip or zstd."),
    (Code::HostNotServed,
        "Use a name that server.hosts lists, or add this one to it. IP addresses and \
         localhost are always served."),
    (Code::InvalidDocument,
        "Correct the fields that `errors` points at; the API reference has the schema."),
    (Code::InvalidRequest,
        "Correct the fields that `errors` points at; the API reference has the schema."),
    (Code::EmptyDocument,
        "Leave the document out: after normalisation no shingle is left to compare."),
    (Code::TooManyShingles,
        "Compare smaller documents or fewer at once, or raise limits.shingles_max or \
         limits.collapse_shingles_max of the collection."),
    (Code::MetadataTooLarge, "Keep less beside the document, or raise limits.metadata_bytes_max."),
    (Code::TextNotKept,
        "Ask without what needs the text. To have it, make a collection with store.text = \
         true and add the documents again."),
    (Code::WrongContent,
        "Send fields to collections of records, signatures to collections of signatures, and text \
         or tokens to all others. Of signatures only estimates can be had."),
    (Code::UnknownField, "Use the fields that the collection declares in scheme.fields."),
    (Code::FieldTooLarge, "Shorten the field, or raise limits.field_bytes_max."),
    (Code::RequestTooCostly,
        "Send fewer probes at a time, or lower `limit`, raise `threshold` or narrow `filter`; or \
         raise server.request_cost_max or, for the memory of an answer, server.memory_max."),
    (Code::UnsupportedMode, "Use the mode that the detail names, or a collection of another kind."),
    (Code::PassagesOff,
        "Set passages.words of the collection, 32 for most texts, at its creation or by a reindex; \
         of `default` in the configuration."),
    (Code::TextRequired, "Compare texts: this measure is not defined for tokens."),
    (Code::TextsTooLong, "Compare shorter texts, or raise limits.edit_product_max."),
    (Code::TooManyRequests,
        "Wait as long as retry-after says, send many documents or probes in one request, or \
         raise the limit that the detail names."),
    (Code::DocumentDamaged,
        "Add the document again. `akin verify` lists all damage in a data directory."),
    (Code::Internal, "Look for the request id in the server's log, and report the fault with it."),
    (Code::UnsupportedByBackend, "Use a call that this backend supports."),
    (Code::NotReady,
        "Wait until GET /readyz answers 200: collections are being opened, and `progress` \
         says how far."),
    (Code::OutOfService,
        "Look at the server's log for the failed write; the process ends or has lost its \
         files. Start it again once the disk is in order."),
    (Code::CollectionUnavailable,
        "Look at the server's log for the reason, and run `akin verify` on the data."),
    (Code::Overloaded,
        "Retry after a pause that grows. If it lasts, raise the limit that the detail names, \
         or send less at once."),
    (Code::MemoryBudgetExhausted,
        "Retry after a pause, with smaller requests. If it lasts, raise server.memory_max."),
    (Code::TimedOut,
        "Ask for less at once, or raise server.request_timeout_ms. Bulk imports, exports and \
         discoveries have no time limit."),
    (Code::InsufficientStorage,
        "Make room on the disk; writing then goes on by itself. Reads and removals are not \
         affected."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_advice_once() {
        for code in Code::ALL {
            assert_eq!(ADVICE.iter().filter(|(of, _)| of == code).count(), 1, "{code:?}");
            assert!(code.advice().len() > 20 && code.advice().ends_with('.'), "{code:?}");
        }
    }
}
