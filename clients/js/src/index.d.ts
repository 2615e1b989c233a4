/**
 * The part of a text between two places as the server returns them. They count Unicode code points,
 * and strings of JavaScript count UTF-16 units, so that `text.slice` is wrong after an emoji.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 */
export function sliceText(text: string, start: number, end: number): string;
export * from "./types.js";
/**
 * A client of akin. Every call may be aborted by a `signal`. Types whose names end with `Query` have
 * the options of the call in openapi.yaml with this name.
 */
export class Client extends Operations {
    /** @param {ClientOptions} [options] */
    constructor(options?: ClientOptions);
    url: string;
    /** The collection that calls act on. */
    name: string;
    patienceMs: number;
    /**
     * A client of this collection.
     * @param {string} name
     */
    collection(name: string): Client;
    /**
     * Adds a document, or replaces the one with its id. It is on disk when this resolves.
     * @param {T.Document} document
     * @param {T.AddDocumentsQuery & CallOptions} [options]
     * @returns {Promise<T.Added>}
     */
    insert(document: T.Document, { signal, ...query }?: T.AddDocumentsQuery & CallOptions): Promise<T.Added>;
    /**
     * Finds the near-duplicates of a text, or of what the probe names. With an `id` and a text the text
     * is looked up if no document with the id is stored.
     * @param {string | T.Probe} probe
     * @param {T.SimilarToPostedQuery & CallOptions} [options]
     * @returns {Promise<T.Answer>}
     */
    query(probe: string | T.Probe, { signal, ...options }?: T.SimilarToPostedQuery & CallOptions): Promise<T.Answer>;
    /**
     * Looks up several probes in one request: an answer for each, in their order.
     * @param {T.LookupProbe[]} probes
     * @param {T.SimilarToPostedQuery & CallOptions} [options]
     * @returns {Promise<T.ProbeAnswer[]>}
     */
    queryMany(probes: T.LookupProbe[], { signal, ...query }?: T.SimilarToPostedQuery & CallOptions): Promise<T.ProbeAnswer[]>;
    /**
     * Finds the stored documents that share passages with a text, or with the stored document `id`,
     * in a collection with `passages.words`.
     * @param {string | T.PassageProbeBody} probe
     * @param {T.PassagesOfPostedQuery & CallOptions} [options]
     * @returns {Promise<T.PassageAnswer>}
     */
    passages(probe: string | T.PassageProbeBody, { signal, ...options }?: T.PassagesOfPostedQuery & CallOptions): Promise<T.PassageAnswer>;
    /**
     * All matches of `passages`, `page` of them a request. `onIncomplete` is called if a limit ended
     * the search early; by default it is a warning on the console.
     * @param {string | T.PassageProbeBody} probe
     * @param {T.PassagesOfPostedQuery & PageOptions &
     *   { onIncomplete?: (incomplete: { truncated: true }) => void }} [options]
     * @returns {AsyncGenerator<T.PassageMatch, void, undefined>}
     */
    passageMatches(probe: string | T.PassageProbeBody, { onIncomplete, page, ...options }?: T.PassagesOfPostedQuery & PageOptions & {
        onIncomplete?: (incomplete: {
            truncated: true;
        }) => void;
    }): AsyncGenerator<T.PassageMatch, void, undefined>;
    /**
     * A stored document; `include` adds its `sketch`, its `shingles`, or both.
     * @param {T.GivenId} id
     * @param {T.GetDocumentQuery & CallOptions} [options]
     * @returns {Promise<T.StoredDocument>}
     */
    get(id: T.GivenId, { signal, ...query }?: T.GetDocumentQuery & CallOptions): Promise<T.StoredDocument>;
    /**
     * The stored documents among these ids, in their order, and the ids that are not stored.
     * @param {Iterable<T.GivenId>} ids
     * @param {T.FetchDocumentsQuery & CallOptions} [options]
     * @returns {Promise<T.Fetched>}
     */
    getMany(ids: Iterable<T.GivenId>, { signal, ...query }?: T.FetchDocumentsQuery & CallOptions): Promise<T.Fetched>;
    /**
     * Changes metadata or expiry by a merge patch and leaves the content as it is.
     * @param {T.GivenId} id
     * @param {T.DocumentChange} changes
     * @param {CallOptions} [options]
     * @returns {Promise<T.Added>}
     */
    change(id: T.GivenId, changes: T.DocumentChange, { signal }?: CallOptions): Promise<T.Added>;
    /**
     * The cluster of a stored document: it alone if it has no near-duplicates.
     * @param {T.GivenId} id
     * @param {T.ClustersQuery & CallOptions} [options]
     * @returns {Promise<T.Cluster>}
     */
    clusterOf(id: T.GivenId, options?: T.ClustersQuery & CallOptions): Promise<T.Cluster>;
    /**
     * Removes a document; rejects with `document_not_found` if there is none.
     * @param {T.GivenId} id
     * @param {CallOptions} [options]
     * @returns {Promise<void>}
     */
    remove(id: T.GivenId, { signal }?: CallOptions): Promise<void>;
    /**
     * Removes the stored documents among these ids.
     * @param {Iterable<T.GivenId>} ids
     * @param {CallOptions} [options]
     * @returns {Promise<T.Removed>}
     */
    removeMany(ids: Iterable<T.GivenId>, { signal }?: CallOptions): Promise<T.Removed>;
    /**
     * Removes every document that meets the conditions, of which at least one is needed.
     * @param {T.RemoveDocumentsQuery & CallOptions} conditions
     * @returns {Promise<T.Removed>}
     */
    removeWhere({ signal, ...query }: T.RemoveDocumentsQuery & CallOptions): Promise<T.Removed>;
    /**
     * Compares two documents, each the id of a stored one or a probe.
     * @param {T.GivenId | T.Probe} a
     * @param {T.GivenId | T.Probe} b
     * @param {T.ComparePostedQuery & CallOptions} [options]
     * @returns {Promise<T.Comparison>}
     */
    compare(a: T.GivenId | T.Probe, b: T.GivenId | T.Probe, { signal, ...query }?: T.ComparePostedQuery & CallOptions): Promise<T.Comparison>;
    /**
     * Keeps the highest-ranked of each group of near-duplicates in a ranked list of ids, or of hits
     * with ids or texts, which the answer names by their positions.
     * @param {Iterable<T.GivenId> | Iterable<T.Hit>} list
     * @param {T.CollapseQuery & CallOptions} [options]
     * @returns {Promise<T.Collapsed>}
     */
    collapse(list: Iterable<T.GivenId> | Iterable<T.Hit>, { signal, ...query }?: T.CollapseQuery & CallOptions): Promise<T.Collapsed>;
    /**
     * Every pair of near-duplicates, while the server finds them.
     * @param {T.PairsQuery & DiscoveryOptions} [options]
     * @returns {AsyncGenerator<T.FoundPair, void, undefined>}
     */
    pairs(options?: T.PairsQuery & DiscoveryOptions): AsyncGenerator<T.FoundPair, void, undefined>;
    /**
     * All clusters of near-duplicates.
     * @param {T.ClustersQuery & DiscoveryOptions} [options]
     * @returns {AsyncGenerator<T.Cluster, void, undefined>}
     */
    clusters(options?: T.ClustersQuery & DiscoveryOptions): AsyncGenerator<T.Cluster, void, undefined>;
    /**
     * The documents that were stored or removed since the `position` of an earlier answer. Without
     * `since` the answer has the position of now alone. `waitS` is how long to wait if nothing has
     * happened; `changes_gone` means that all documents must be read again.
     * @param {T.ChangesQuery & CallOptions} [options]
     * @returns {Promise<Changes>}
     */
    changes({ signal, ...query }?: T.ChangesQuery & CallOptions): Promise<Changes>;
    /**
     * Every document, from one consistent view.
     * @param {T.ExportDocumentsQuery & CallOptions} [options]
     * @returns {AsyncGenerator<T.ExportedLine, void, undefined>}
     */
    export(options?: T.ExportDocumentsQuery & CallOptions): AsyncGenerator<T.ExportedLine, void, undefined>;
    /**
     * The ids of all documents that meet the conditions, in byte order, `page` of them a request.
     * @param {T.RemoveDocumentsQuery & PageOptions & { after?: T.GivenId }} [options]
     * @returns {AsyncGenerator<string, void, undefined>}
     */
    ids({ signal, after, page, ...conditions }?: T.RemoveDocumentsQuery & PageOptions & {
        after?: T.GivenId;
    }): AsyncGenerator<string, void, undefined>;
    /**
     * The number of documents that meet the conditions; without any, of all documents.
     * @param {T.RemoveDocumentsQuery & CallOptions} [conditions]
     * @returns {Promise<number>}
     */
    count({ signal, ...conditions }?: T.RemoveDocumentsQuery & CallOptions): Promise<number>;
    /**
     * Inserts any number of documents, in requests of at most 512 documents or 1 MiB, and yields a
     * result for each; a refused one has the status `error`. Nothing is sent before the first result
     * is taken. What was refused for the time being, or lost with a connection, is sent again.
     * @param {AsyncIterable<T.Document> | Iterable<T.Document>} documents
     * @param {T.AddDocumentsQuery & BulkOptions} [options]
     * @returns {AsyncGenerator<BulkResult, void, undefined>}
     */
    bulk(documents: AsyncIterable<T.Document> | Iterable<T.Document>, { signal, progress, patienceMs, ...query }?: T.AddDocumentsQuery & BulkOptions): AsyncGenerator<BulkResult, void, undefined>;
    /**
     * The names of all collections that the key covers.
     * @param {CallOptions} [options]
     * @returns {Promise<string[]>}
     */
    collections({ signal }?: CallOptions): Promise<string[]>;
    /**
     * Creates a collection, or finds it with these settings; else `collection_exists`.
     * @param {string} name
     * @param {T.Settings} [settings]
     * @param {CallOptions} [options]
     * @returns {Promise<T.Collection>}
     */
    createCollection(name: string, settings?: T.Settings, { signal }?: CallOptions): Promise<T.Collection>;
    /**
     * Any other call that is answered by JSON, such as `GET /openapi.json`.
     * @param {string} method
     * @param {string} path
     * @param {RequestOptions} [options]
     * @returns {Promise<any>}
     */
    request(method: string, path: string, { query, body, signal, parse }?: RequestOptions): Promise<any>;
    #private;
}
export type Values = Record<string, any>;
export type CallOptions = {
    signal?: AbortSignal;
};
export type ClientOptions = {
    /**
     * By default that in AKIN_URL, else http://127.0.0.1:2546.
     */
    url?: string | undefined;
    /**
     * By default that in AKIN_API_KEY.
     */
    key?: string | undefined;
    collection?: string | undefined;
    /**
     * How long a call waits, in sum, for a server that refuses it for
     * the time being (429, 503) or is not there: 10,000.
     */
    patienceMs?: number | undefined;
    /**
     * Instead of the platform's.
     */
    fetch?: typeof fetch | undefined;
};
export type RequestOptions = {
    query?: Values | undefined;
    /**
     * Sent as JSON.
     */
    body?: unknown;
    /**
     * By default `JSON.parse`.
     */
    parse?: ((content: string) => any) | undefined;
    signal?: AbortSignal | undefined;
};
export type DiscoveryOptions = {
    signal?: AbortSignal | undefined;
    /**
     * Called if some documents were not
     * compared with all candidates, so that pairs or clusters may be missing; by default a warning on
     * the console.
     */
    onIncomplete?: ((incomplete: T.Incomplete) => void) | undefined;
};
export type PageOptions = {
    signal?: AbortSignal | undefined;
    /**
     * The items of a request: 1,000.
     */
    page?: number | undefined;
};
export type BulkOptions = {
    signal?: AbortSignal | undefined;
    /**
     * Called after each request.
     */
    progress?: ((progress: Progress) => void) | undefined;
    /**
     * How long to wait, in sum and without progress, before further
     * tries: 60,000.
     */
    patienceMs?: number | undefined;
};
/**
 * How many documents had each result, and how many tries failed.
 */
export type Progress = {
    documents: number;
    created: number;
    replaced: number;
    unchanged: number;
    skipped: number;
    failed: number;
    retries: number;
};
/**
 * The result of one document of many; `line` is its place in the input, from 1.
 */
export type BulkResult = T.AddedLine | (T.ErrorLine & {
    id: string;
});
/**
 * What was stored and removed, in order; the next call goes on at `position`.
 */
export type Changes = {
    changes: T.DocumentChanged[];
    position: string;
};
import { Operations } from "./operations.js";
import type * as T from "./types.js";
export { AkinError, ConnectionFailed, ProblemError } from "./errors.js";
