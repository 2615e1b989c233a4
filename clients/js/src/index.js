// Client of akin, the near-duplicate search server. index.d.ts is made of this file by TypeScript.

import { bulk } from "./bulk.js";
import { Backoff, connected, lines, randomId, retried, send } from "./exchange.js";
import { Operations } from "./operations.js";

export { AkinError, ConnectionFailed, ProblemError } from "./errors.js";
export * from "./types.js";

/** @import * as T from "./types.js" */

/** @typedef {Record<string, any>} Values */
/** @typedef {{ signal?: AbortSignal }} CallOptions */

/**
 * @typedef {object} ClientOptions
 * @property {string} [url] By default that in AKIN_URL, else http://127.0.0.1:2546.
 * @property {string} [key] By default that in AKIN_API_KEY.
 * @property {string} [collection]
 * @property {number} [patienceMs] How long a call waits, in sum, for a server that refuses it for
 *   the time being (429, 503) or is not there: 10,000.
 * @property {typeof globalThis.fetch} [fetch] Instead of the platform's.
 */

/**
 * @typedef {object} RequestOptions
 * @property {Values} [query]
 * @property {unknown} [body] Sent as JSON.
 * @property {(content: string) => any} [parse] By default `JSON.parse`.
 * @property {AbortSignal} [signal]
 */

/**
 * @typedef {object} DiscoveryOptions
 * @property {AbortSignal} [signal]
 * @property {(incomplete: T.Incomplete) => void} [onIncomplete] Called if some documents were not
 *   compared with all candidates, so that pairs or clusters may be missing; by default a warning on
 *   the console.
 */

/**
 * @typedef {object} PageOptions
 * @property {AbortSignal} [signal]
 * @property {number} [page] The items of a request: 1,000.
 */

/**
 * @typedef {object} BulkOptions
 * @property {AbortSignal} [signal]
 * @property {(progress: Progress) => void} [progress] Called after each request.
 * @property {number} [patienceMs] How long to wait, in sum and without progress, before further
 *   tries: 60,000.
 */

/**
 * @typedef {object} Progress How many documents had each result, and how many tries failed.
 * @property {number} documents
 * @property {number} created
 * @property {number} replaced
 * @property {number} unchanged
 * @property {number} skipped
 * @property {number} failed
 * @property {number} retries
 */

/**
 * The result of one document of many; `line` is its place in the input, from 1.
 * @typedef {T.AddedLine | (T.ErrorLine & { id: string })} BulkResult
 */

/**
 * What was stored and removed, in order; the next call goes on at `position`.
 * @typedef {{ changes: T.DocumentChanged[], position: string }} Changes
 */

const NDJSON = "application/x-ndjson";

/**
 * A client of akin. Every call may be aborted by a `signal`. Types whose names end with `Query` have
 * the options of the call in openapi.yaml with this name.
 */
export class Client extends Operations {
  #fetch;
  #key;

  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    super();
    // In browsers there is no environment, and `fetch` must be called on the window.
    const environment = /** @type {any} */ (globalThis).process?.env ?? {};
    /** @type {string} */
    const url = options.url ?? environment.AKIN_URL ?? "http://127.0.0.1:2546";
    this.url = url.replace(/\/+$/, "");
    /** The collection that calls act on. */
    this.name = options.collection ?? "default";
    this.patienceMs = options.patienceMs ?? 10_000;
    this.#key = options.key ?? environment.AKIN_API_KEY;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /**
   * A client of this collection.
   * @param {string} name
   */
  collection(name) {
    const { url, patienceMs } = this;
    return new Client({ url, patienceMs, key: this.#key, fetch: this.#fetch, collection: name });
  }

  /**
   * Adds a document, or replaces the one with its id. It is on disk when this resolves.
   * @param {T.Document} document
   * @param {T.AddDocumentsQuery & CallOptions} [options]
   * @returns {Promise<T.Added>}
   */
  insert(document, { signal, ...query } = {}) {
    // An id made here lets a document be sent again whose answer was lost.
    const body = document.id == null ? { ...document, id: randomId() } : document;
    return this.#call("POST", "/documents", { query, body, signal });
  }

  /**
   * Finds the near-duplicates of a text, or of what the probe names. With an `id` and a text the text
   * is looked up if no document with the id is stored.
   * @param {string | T.Probe} probe
   * @param {T.SimilarToPostedQuery & CallOptions} [options]
   * @returns {Promise<T.Answer>}
   */
  query(probe, { signal, ...options } = {}) {
    const body = { ...textOf(probe), ...snakeCase(options) };
    return this.#call("POST", "/similar", { body, signal });
  }

  /**
   * Looks up several probes in one request: an answer for each, in their order.
   * @param {T.LookupProbe[]} probes
   * @param {T.SimilarToPostedQuery & CallOptions} [options]
   * @returns {Promise<T.ProbeAnswer[]>}
   */
  queryMany(probes, { signal, ...query } = {}) {
    return this.#call("POST", "/similar", { query, body: probes, signal });
  }

  /**
   * Finds the stored documents that share passages with a text, or with the stored document `id`,
   * in a collection with `passages.words`.
   * @param {string | T.PassageProbeBody} probe
   * @param {T.PassagesOfPostedQuery & CallOptions} [options]
   * @returns {Promise<T.PassageAnswer>}
   */
  passages(probe, { signal, ...options } = {}) {
    const body = { ...textOf(probe), ...snakeCase(options) };
    return this.#call("POST", "/passages", { body, signal });
  }

  /**
   * All matches of `passages`, `page` of them a request. `onIncomplete` is called if a limit ended
   * the search early; by default it is a warning on the console.
   * @param {string | T.PassageProbeBody} probe
   * @param {T.PassagesOfPostedQuery & PageOptions &
   *   { onIncomplete?: (incomplete: { truncated: true }) => void }} [options]
   * @returns {AsyncGenerator<T.PassageMatch, void, undefined>}
   */
  async *passageMatches(probe, { onIncomplete = warn, page = 1000, ...options } = {}) {
    for (let offset = 0; ; ) {
      const answer = await this.passages(probe, { ...options, limit: page, offset });
      yield* answer.matches;
      offset += answer.matches.length;
      if (answer.more) continue;
      if (answer.truncated) onIncomplete({ truncated: true });
      return;
    }
  }

  /**
   * A stored document; `include` adds its `sketch`, its `shingles`, or both.
   * @param {T.GivenId} id
   * @param {T.GetDocumentQuery & CallOptions} [options]
   * @returns {Promise<T.StoredDocument>}
   */
  get(id, { signal, ...query } = {}) {
    return this.#call("GET", documentPath(id), { query, signal });
  }

  /**
   * The stored documents among these ids, in their order, and the ids that are not stored.
   * @param {Iterable<T.GivenId>} ids
   * @param {T.FetchDocumentsQuery & CallOptions} [options]
   * @returns {Promise<T.Fetched>}
   */
  getMany(ids, { signal, ...query } = {}) {
    return this.#call("POST", "/fetch", { query, body: { ids: [...ids] }, signal });
  }

  /**
   * Changes metadata or expiry by a merge patch and leaves the content as it is.
   * @param {T.GivenId} id
   * @param {T.DocumentChange} changes
   * @param {CallOptions} [options]
   * @returns {Promise<T.Added>}
   */
  change(id, changes, { signal } = {}) {
    return this.#call("PATCH", documentPath(id), { body: changes, signal });
  }

  /**
   * The cluster of a stored document: it alone if it has no near-duplicates.
   * @param {T.GivenId} id
   * @param {T.ClustersQuery & CallOptions} [options]
   * @returns {Promise<T.Cluster>}
   */
  async clusterOf(id, options) {
    for await (const cluster of this.#stream("/clusters", { id, ...options })) return cluster;
    throw new Error("the answer has no cluster");
  }

  /**
   * Removes a document; rejects with `document_not_found` if there is none.
   * @param {T.GivenId} id
   * @param {CallOptions} [options]
   * @returns {Promise<void>}
   */
  async remove(id, { signal } = {}) {
    await this.#call("DELETE", documentPath(id), { signal });
  }

  /**
   * Removes the stored documents among these ids.
   * @param {Iterable<T.GivenId>} ids
   * @param {CallOptions} [options]
   * @returns {Promise<T.Removed>}
   */
  removeMany(ids, { signal } = {}) {
    return this.#call("POST", "/remove", { body: { ids: [...ids] }, signal });
  }

  /**
   * Removes every document that meets the conditions, of which at least one is needed.
   * @param {T.RemoveDocumentsQuery & CallOptions} conditions
   * @returns {Promise<T.Removed>}
   */
  removeWhere({ signal, ...query }) {
    return this.#call("DELETE", "/documents", { query, signal });
  }

  /**
   * Compares two documents, each the id of a stored one or a probe.
   * @param {T.GivenId | T.Probe} a
   * @param {T.GivenId | T.Probe} b
   * @param {T.ComparePostedQuery & CallOptions} [options]
   * @returns {Promise<T.Comparison>}
   */
  compare(a, b, { signal, ...query } = {}) {
    const body = { a: probeOf(a), b: probeOf(b) };
    return this.#call("POST", "/resemblance", { query, body, signal });
  }

  /**
   * Keeps the highest-ranked of each group of near-duplicates in a ranked list of ids, or of hits
   * with ids or texts, which the answer names by their positions.
   * @param {Iterable<T.GivenId> | Iterable<T.Hit>} list
   * @param {T.CollapseQuery & CallOptions} [options]
   * @returns {Promise<T.Collapsed>}
   */
  collapse(list, { signal, ...query } = {}) {
    const hits = [...list];
    const body = typeof hits[0] === "object" ? { hits } : { ids: hits };
    return this.#call("POST", "/collapse", { query, body, signal });
  }

  /**
   * Every pair of near-duplicates, while the server finds them.
   * @param {T.PairsQuery & DiscoveryOptions} [options]
   * @returns {AsyncGenerator<T.FoundPair, void, undefined>}
   */
  pairs(options) {
    return this.#stream("/pairs", options);
  }

  /**
   * All clusters of near-duplicates.
   * @param {T.ClustersQuery & DiscoveryOptions} [options]
   * @returns {AsyncGenerator<T.Cluster, void, undefined>}
   */
  clusters(options) {
    return this.#stream("/clusters", options);
  }

  /**
   * The documents that were stored or removed since the `position` of an earlier answer. Without
   * `since` the answer has the position of now alone. `waitS` is how long to wait if nothing has
   * happened; `changes_gone` means that all documents must be read again.
   * @param {T.ChangesQuery & CallOptions} [options]
   * @returns {Promise<Changes>}
   */
  changes({ signal, ...query } = {}) {
    const parse = (/** @type {string} */ content) => {
      const values = content.trimEnd().split("\n").map((line) => JSON.parse(line));
      const { position } = values.pop();
      return { changes: values, position };
    };
    return this.#call("GET", "/changes", { query, signal, parse });
  }

  /**
   * Every document, from one consistent view.
   * @param {T.ExportDocumentsQuery & CallOptions} [options]
   * @returns {AsyncGenerator<T.ExportedLine, void, undefined>}
   */
  export(options) {
    return this.#stream("/export", options);
  }

  /**
   * The ids of all documents that meet the conditions, in byte order, `page` of them a request.
   * @param {T.RemoveDocumentsQuery & PageOptions & { after?: T.GivenId }} [options]
   * @returns {AsyncGenerator<string, void, undefined>}
   */
  async *ids({ signal, after, page = 1000, ...conditions } = {}) {
    for (;;) {
      const query = { ...conditions, after, limit: page };
      const { ids, next } = await this.#call("GET", "/documents", { query, signal });
      yield* ids;
      if (next == null) return;
      after = next;
    }
  }

  /**
   * The number of documents that meet the conditions; without any, of all documents.
   * @param {T.RemoveDocumentsQuery & CallOptions} [conditions]
   * @returns {Promise<number>}
   */
  async count({ signal, ...conditions } = {}) {
    const query = { ...conditions, count: true, limit: 1 };
    return (await this.#call("GET", "/documents", { query, signal })).count;
  }

  /**
   * Inserts any number of documents, in requests of at most 512 documents or 1 MiB, and yields a
   * result for each; a refused one has the status `error`. Nothing is sent before the first result
   * is taken. What was refused for the time being, or lost with a connection, is sent again.
   * @param {AsyncIterable<T.Document> | Iterable<T.Document>} documents
   * @param {T.AddDocumentsQuery & BulkOptions} [options]
   * @returns {AsyncGenerator<BulkResult, void, undefined>}
   */
  bulk(documents, { signal, progress, patienceMs = 60_000, ...query } = {}) {
    const url = this.#url("/documents", query);
    const headers = this.#headers(NDJSON);
    const post = (/** @type {string} */ body) =>
      send(this.#fetch, url, { method: "POST", headers, body, signal });
    return bulk(documents, post, new Backoff(patienceMs, signal), { signal, progress });
  }

  /**
   * The names of all collections that the key covers.
   * @param {CallOptions} [options]
   * @returns {Promise<string[]>}
   */
  async collections({ signal } = {}) {
    const { collections } = await this.request("GET", "/collections", { signal });
    return collections.map((/** @type {{ name: string }} */ { name }) => name);
  }

  /**
   * Creates a collection, or finds it with these settings; else `collection_exists`.
   * @param {string} name
   * @param {T.Settings} [settings]
   * @param {CallOptions} [options]
   * @returns {Promise<T.Collection>}
   */
  createCollection(name, settings = {}, { signal } = {}) {
    return this.request("PUT", collectionPath(name), { body: settings, signal });
  }

  /**
   * Any other call that is answered by JSON, such as `GET /openapi.json`.
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} [options]
   * @returns {Promise<any>}
   */
  request(method, path, { query = {}, body, signal, parse = JSON.parse } = {}) {
    const url = this.url + path + search(query);
    const headers = this.#headers(body === undefined ? undefined : "application/json");
    const init = { method, headers, body: JSON.stringify(body), signal };
    return retried(new Backoff(this.patienceMs, signal), async () => {
      const response = await send(this.#fetch, url, init);
      const content = await connected(signal, `${method} ${url}`, () => response.text());
      return content === "" ? undefined : parse(content);
    });
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} options
   */
  #call(method, path, options) {
    return this.operate(method, path, options, true);
  }

  /**
   * @override
   * @protected
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} options
   * @param {boolean} inCollection
   */
  operate(method, path, options, inCollection) {
    return this.request(method, (inCollection ? this.#prefix() : "") + path, options);
  }

  /**
   * @param {string} path
   * @param {Values} [options]
   * @returns {AsyncGenerator<any, void, undefined>}
   */
  async *#stream(path, { signal, onIncomplete = warn, ...query } = {}) {
    const init = { method: "GET", headers: this.#headers(), signal };
    const url = this.#url(path, query);
    const backoff = new Backoff(this.patienceMs, signal);
    const response = await retried(backoff, () => send(this.#fetch, url, init));
    for await (const line of lines(response, signal)) {
      if (line.incomplete === undefined) yield line;
      else onIncomplete(line.incomplete);
    }
  }

  #prefix() {
    return this.name === "default" ? "" : collectionPath(this.name);
  }

  /** @param {string} path @param {Values} query */
  #url(path, query) {
    return this.url + this.#prefix() + path + search(query);
  }

  /** @param {string} [media] @returns {Record<string, string>} */
  #headers(media) {
    return {
      ...(media === undefined ? {} : { "content-type": media }),
      ...(this.#key ? { authorization: `Bearer ${this.#key}` } : {}),
    };
  }
}

/** @param {T.GivenId} id */
function documentPath(id) {
  return `/documents/${encodeURIComponent(id)}`;
}

/** @param {string} name */
function collectionPath(name) {
  return `/collections/${encodeURIComponent(name)}`;
}

/** @param {T.GivenId | T.Probe} side */
function probeOf(side) {
  return typeof side === "object" ? side : { id: side };
}

/**
 * The part of a text between two places as the server returns them. They count Unicode code points,
 * and strings of JavaScript count UTF-16 units, so that `text.slice` is wrong after an emoji.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 */
export function sliceText(text, start, end) {
  const after = (/** @type {number} */ unit, /** @type {number} */ points) => {
    for (; points > 0 && unit < text.length; points -= 1)
      unit += /** @type {number} */ (text.codePointAt(unit)) > 0xffff ? 2 : 1;
    return unit;
  };
  const from = after(0, start);
  return text.slice(from, after(from, end - start));
}

/** @param {string | object} probe */
function textOf(probe) {
  return typeof probe === "string" ? { text: probe } : probe;
}

/**
 * Options with the names that the API has for them.
 * @param {Values} options
 */
function snakeCase(options) {
  const named = Object.entries(options).map(([name, value]) =>
    [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined && value !== null));
}

/** @param {Values} query */
function search(query) {
  const values = Object.entries(snakeCase(query)).map(([name, value]) =>
    [name, value instanceof Date ? value.toISOString() : String(value)]);
  return values.length === 0 ? "" : `?${new URLSearchParams(values)}`;
}

/** @param {Values} incomplete */
function warn(incomplete) {
  const what = incomplete.truncated
    ? "a limit ended the search early: passages may be missing"
    : `${incomplete.documents} documents were not compared with all candidates: ` +
      'mode "exact" compares them';
  console.warn(`akin: ${what}`, incomplete);
}
