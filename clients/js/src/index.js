// Client of akin, the near-duplicate search server. Types and descriptions are in index.d.ts.

import { bulk } from "./bulk.js";
import { Backoff, connected, lines, randomId, retried, send } from "./exchange.js";

export { AkinError, ConnectionFailed, ProblemError } from "./errors.js";

const NDJSON = "application/x-ndjson";

/** @typedef {Record<string, any>} Values */

export class Client {
  #fetch;
  #key;

  /** @param {import("./index.d.ts").ClientOptions} [options] */
  constructor(options = {}) {
    // In browsers there is no environment, and `fetch` must be called on the window.
    const environment = /** @type {any} */ (globalThis).process?.env ?? {};
    const url = options.url ?? environment.AKIN_URL ?? "http://127.0.0.1:2546";
    this.url = url.replace(/\/+$/, "");
    this.name = options.collection ?? "default";
    this.patienceMs = options.patienceMs ?? 10_000;
    this.#key = options.key ?? environment.AKIN_API_KEY;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /** @param {string} name */
  collection(name) {
    const { url, patienceMs } = this;
    return new Client({ url, patienceMs, key: this.#key, fetch: this.#fetch, collection: name });
  }

  /** @param {Values} document @param {Values} [options] */
  insert(document, { signal, ...query } = {}) {
    // An id made here lets a document be sent again whose answer was lost.
    const body = document.id == null ? { ...document, id: randomId() } : document;
    return this.#call("POST", "/documents", { query, body, signal });
  }

  /** @param {string | Values} probe @param {Values} [options] */
  query(probe, { signal, ...query } = {}) {
    const body = typeof probe === "string" ? { text: probe } : probe;
    return this.#call("POST", "/similar", { query, body, signal });
  }

  /** @param {Values[]} probes @param {Values} [options] */
  queryMany(probes, { signal, ...query } = {}) {
    return this.#call("POST", "/similar", { query, body: probes, signal });
  }

  /** @param {string | Values} probe @param {Values} [options] */
  passages(probe, { signal, ...query } = {}) {
    const body = typeof probe === "string" ? { text: probe } : probe;
    return this.#call("POST", "/passages", { query, body, signal });
  }

  /**
   * @param {string | Values} probe
   * @param {Values} [options]
   * @returns {AsyncGenerator<any, void, undefined>}
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

  /** @param {string} id @param {Values} [options] */
  get(id, { signal, include } = {}) {
    return this.#call("GET", documentPath(id), { query: { include }, signal });
  }

  /** @param {Iterable<string>} ids @param {Values} [options] */
  getMany(ids, { signal } = {}) {
    return this.#call("POST", "/fetch", { body: { ids: [...ids] }, signal });
  }

  /** @param {string} id @param {Values} changes @param {Values} [options] */
  change(id, changes, { signal } = {}) {
    return this.#call("PATCH", documentPath(id), { body: changes, signal });
  }

  /** @param {string} id @param {Values} [options] */
  async clusterOf(id, options) {
    for await (const cluster of this.#stream("/clusters", { id, ...options })) return cluster;
    throw new Error("the answer has no cluster");
  }

  /** @param {string} id @param {Values} [options] */
  async remove(id, { signal } = {}) {
    await this.#call("DELETE", documentPath(id), { signal });
  }

  /** @param {Values} conditions */
  removeWhere({ signal, ...query }) {
    return this.#call("DELETE", "/documents", { query, signal });
  }

  /** @param {string | Values} a @param {string | Values} b @param {Values} [options] */
  compare(a, b, { signal, ...query } = {}) {
    const body = { a: probeOf(a), b: probeOf(b) };
    return this.#call("POST", "/resemblance", { query, body, signal });
  }

  /** @param {Iterable<string>} ids @param {Values} [options] */
  collapse(ids, { signal, ...options } = {}) {
    return this.#call("POST", "/collapse", { body: { ids: [...ids], ...options }, signal });
  }

  /** @param {Values} [options] */
  pairs(options) {
    return this.#stream("/pairs", options);
  }

  /** @param {Values} [options] */
  clusters(options) {
    return this.#stream("/clusters", options);
  }

  /** @param {Values} [options] */
  export(options) {
    return this.#stream("/export", options);
  }

  /** @param {Values} [options] @returns {AsyncGenerator<string, void, undefined>} */
  async *ids({ signal, after, page = 1000 } = {}) {
    for (;;) {
      const query = { after, limit: page };
      const { ids, next } = await this.#call("GET", "/documents", { query, signal });
      yield* ids;
      if (next == null) return;
      after = next;
    }
  }

  /**
   * @param {AsyncIterable<Values> | Iterable<Values>} documents
   * @param {Values} [options]
   */
  bulk(documents, { signal, progress, patienceMs = 60_000, ...query } = {}) {
    const url = this.#url("/documents", query);
    const headers = this.#headers(NDJSON);
    const post = (/** @type {string} */ body) =>
      send(this.#fetch, url, { method: "POST", headers, body, signal });
    return bulk(documents, post, new Backoff(patienceMs, signal), { signal, progress });
  }

  /** @param {Values} [options] */
  stats({ signal } = {}) {
    return this.#call("GET", "/stats", { signal });
  }

  /** @param {Values} [options] @returns {Promise<string[]>} */
  async collections({ signal } = {}) {
    const { collections } = await this.request("GET", "/collections", { signal });
    return collections.map((/** @type {{ name: string }} */ { name }) => name);
  }

  /** @param {string} name @param {Values} [settings] @param {Values} [options] */
  createCollection(name, settings = {}, { signal } = {}) {
    return this.request("PUT", collectionPath(name), { body: settings, signal });
  }

  /** @param {string} name @param {Values} [options] */
  describeCollection(name, { signal } = {}) {
    return this.request("GET", collectionPath(name), { signal });
  }

  /** @param {string} name @param {Values} [options] */
  async removeCollection(name, { signal } = {}) {
    await this.request("DELETE", collectionPath(name), { signal });
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ query?: Values, body?: unknown, signal?: AbortSignal }} [options]
   * @returns {Promise<any>}
   */
  request(method, path, { query = {}, body, signal } = {}) {
    const url = this.url + path + search(query);
    const headers = this.#headers(body === undefined ? undefined : "application/json");
    const init = { method, headers, body: JSON.stringify(body), signal };
    return retried(new Backoff(this.patienceMs, signal), async () => {
      const response = await send(this.#fetch, url, init);
      const content = await connected(signal, `${method} ${url}`, () => response.text());
      return content === "" ? undefined : JSON.parse(content);
    });
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ query?: Values, body?: unknown, signal?: AbortSignal }} options
   */
  #call(method, path, options) {
    return this.request(method, this.#prefix() + path, options);
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

/** @param {string} id */
function documentPath(id) {
  return `/documents/${encodeURIComponent(id)}`;
}

/** @param {string} name */
function collectionPath(name) {
  return `/collections/${encodeURIComponent(name)}`;
}

/** @param {string | Values} side */
function probeOf(side) {
  return typeof side === "string" ? { id: side } : side;
}

/**
 * A query string, with parameters in snake_case as the API has them.
 * @param {Values} query
 */
function search(query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    parameters.set(key, value instanceof Date ? value.toISOString() : String(value));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** @param {Values} incomplete */
function warn(incomplete) {
  const what = incomplete.truncated
    ? "a limit ended the search early: passages may be missing"
    : `${incomplete.documents} documents were not compared with all candidates: ` +
      'mode "exact" compares them';
  console.warn(`akin: ${what}`, incomplete);
}
