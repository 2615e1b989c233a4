/** @import * as T from "./types.js" */
/** @import { CallOptions, RequestOptions } from "./index.js" */
export class Operations {
    /**
     * Calls the server, below the path of the collection if `inCollection`.
     * @protected
     * @param {string} method
     * @param {string} path
     * @param {RequestOptions} options
     * @param {boolean} inCollection
     * @returns {Promise<any>}
     */
    protected operate(method: string, path: string, options: RequestOptions, inCollection: boolean): Promise<any>;
    /**
     * Draw the S-curve.
     *
     * Returns the S-curve of MinHash LSH over the collection's sketches, the chance to find a
     * document by its Jaccard similarity: for the collection's own scheme, for the scheme that akin
     * would choose for a `threshold` and `recall`, or for `bands` keys of `rows` slots. It is
     * computed; `GET /recall` measures.
     * @param {T.CurveQuery & CallOptions} [options]
     * @returns {Promise<T.Curve>}
     */
    curve({ signal, ...query }?: T.CurveQuery & CallOptions): Promise<T.Curve>;
    /**
     * Statistics of the collection.
     *
     * Returns sizes, memory, running discoveries and settings.
     * @param {CallOptions} [options]
     * @returns {Promise<T.Stats>}
     */
    stats({ signal }?: CallOptions): Promise<T.Stats>;
    /**
     * Measure recall.
     *
     * Looks up documents drawn at random, in mode `verified`, compares them with every stored set of
     * one consistent view, and returns recall and precision. Documents that are written during the
     * measurement do not count. Without `sample`, 200 documents are drawn, or as many as
     * `server.request_cost_max` allows; a larger sample is refused with 422 `request_too_costly`,
     * which names the largest sample. For larger collections let the server measure
     * (`storage.recall_interval_s`). A measurement counts as a discovery (`server.discoveries_max`),
     * and a second measurement of the same collection at the same time is refused with 503.
     * @param {T.RecallQuery & CallOptions} [options]
     * @returns {Promise<T.Recall>}
     */
    recall({ signal, ...query }?: T.RecallQuery & CallOptions): Promise<T.Recall>;
    /**
     * List snapshots.
     *
     * Returns the complete snapshots of the collection.
     * @param {CallOptions} [options]
     * @returns {Promise<T.Snapshots>}
     */
    listSnapshots({ signal }?: CallOptions): Promise<T.Snapshots>;
    /**
     * Take a snapshot.
     *
     * Starts a snapshot, unless a snapshot is being written already. `GET /snapshots` lists it once
     * it is complete.
     * @param {CallOptions} [options]
     * @returns {Promise<T.Status>}
     */
    takeSnapshot({ signal }?: CallOptions): Promise<T.Status>;
    /**
     * Describe a collection.
     *
     * Returns a collection's settings, size, memory and keys.
     * @param {string} name
     * @param {CallOptions} [options]
     * @returns {Promise<T.Collection>}
     */
    describeCollection(name: string, { signal }?: CallOptions): Promise<T.Collection>;
    /**
     * Remove a collection.
     *
     * Removes a collection and its data. Running requests on it may read to their end; their writes
     * are refused with 503 `out_of_service`. `default` cannot be removed.
     * @param {string} name
     * @param {CallOptions} [options]
     * @returns {Promise<void>}
     */
    removeCollection(name: string, { signal }?: CallOptions): Promise<void>;
    /**
     * Show how far a reindex is.
     *
     * The last reindex of this collection since the server started.
     * @param {string} name
     * @param {CallOptions} [options]
     * @returns {Promise<T.Reindex>}
     */
    describeReindex(name: string, { signal }?: CallOptions): Promise<T.Reindex>;
    /**
     * Reindex a collection.
     *
     * Builds the collection again under these settings, from its own texts, while it is served and
     * takes writes. Then the new collection takes its place at once, with every document and every
     * write until then. Settings that are left out have their defaults, as when a collection is made.
     * Answers at once; `GET` returns the progress. If it fails, or the server stops before the end,
     * the collection is as it was. Needs as much room on the disk as the collection takes. The
     * configuration has the settings of `default`: `akin reindex` builds `default` again while no
     * server is running.
     * @param {string} name
     * @param {T.Settings} body
     * @param {CallOptions} [options]
     * @returns {Promise<T.Reindex>}
     */
    reindex(name: string, body: T.Settings, { signal }?: CallOptions): Promise<T.Reindex>;
    /**
     * Cancel a reindex.
     *
     * It stops within moments, and the collection is as it was. A reindex that has ended does not
     * change.
     * @param {string} name
     * @param {CallOptions} [options]
     * @returns {Promise<T.Reindex>}
     */
    cancelReindex(name: string, { signal }?: CallOptions): Promise<T.Reindex>;
}
import type { RequestOptions } from "./index.js";
import type * as T from "./types.js";
import type { CallOptions } from "./index.js";
