// Requests, tries of them, and the lines of answers.

import { AkinError, ConnectionFailed, ProblemError, problemOf } from "./errors.js";

const WAIT_FIRST_MS = 250;
const WAIT_MAX_MS = 10_000;

/**
 * How long to wait before the next try, and when to give up. Only the time that is spent waiting
 * counts as patience.
 */
export class Backoff {
  /** @param {number} patienceMs @param {AbortSignal} [signal] */
  constructor(patienceMs, signal) {
    this.patienceMs = patienceMs;
    this.signal = signal;
    this.leftMs = patienceMs;
    this.nextMs = WAIT_FIRST_MS;
  }

  /** Called after progress. */
  reset() {
    this.leftMs = this.patienceMs;
    this.nextMs = WAIT_FIRST_MS;
  }

  /**
   * Waits for the next try; throws the failure if there should be none.
   * @param {unknown} failure
   */
  async wait(failure) {
    await pause(this.pauseMs(failure), this.signal);
  }

  /** @param {unknown} failure */
  pauseMs(failure) {
    const refused = failure instanceof ProblemError;
    if (!(refused ? failure.isTemporary : failure instanceof ConnectionFailed)) throw failure;
    const namedMs = refused && failure.retryAfterS !== undefined ? failure.retryAfterS * 1000 : undefined;
    const leastMs = namedMs ?? this.nextMs / 2;
    if (leastMs > this.leftMs) throw failure;
    // Clients that were refused at the same time must not all come back at the same time.
    const spreadMs = Math.max(namedMs ?? 0, this.nextMs) / 2;
    const pauseMs = Math.min(leastMs + Math.random() * spreadMs, this.leftMs);
    this.leftMs -= pauseMs;
    this.nextMs = Math.min(2 * this.nextMs, WAIT_MAX_MS);
    return pauseMs;
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/**
 * Does it until it succeeds, or there is no patience left.
 * @template T
 * @param {Backoff} backoff
 * @param {() => Promise<T>} attempt
 * @returns {Promise<T>}
 */
export async function retried(backoff, attempt) {
  for (;;) {
    try {
      return await attempt();
    } catch (failure) {
      await backoff.wait(failure);
    }
  }
}

/**
 * A response that is no error.
 * @param {typeof globalThis.fetch} fetch
 * @param {string} url
 * @param {RequestInit} init
 */
export async function send(fetch, url, init) {
  const what = `${init.method} ${url}`;
  const response = await connected(init.signal, what, async () => {
    try {
      return await fetch(url, init);
    } catch (failure) {
      if (!init.signal?.aborted && (await isForeign(fetch, url))) {
        const origin = globalThis.location.origin;
        throw new AkinError(`${what}: the server does not list ${origin} in server.cors_origins`);
      }
      throw failure;
    }
  });
  if (response.ok) return response;
  throw await connected(init.signal, url, () => problemOf(response));
}

/**
 * Whether the server answers, and the browser keeps its answers from pages of this origin. The
 * failure itself does not tell that from a server which is absent.
 * @param {typeof globalThis.fetch} fetch
 * @param {string} url
 */
async function isForeign(fetch, url) {
  const own = globalThis.location?.origin;
  if (own === undefined || new URL(url).origin === own) return false;
  const reaches = (/** @type {RequestMode} */ mode) =>
    fetch(new URL("/healthz", url).href, { mode }).then(() => true, () => false);
  return !(await reaches("cors")) && (await reaches("no-cors"));
}

/**
 * The values of an NDJSON body. It is left when the iterator is.
 * @param {Response} response
 * @param {AbortSignal | null} [signal]
 * @returns {AsyncGenerator<any, void, undefined>}
 */
export async function* lines(response, signal) {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await connected(signal, response.url, () => reader.read());
      if (done) break;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part !== "") yield JSON.parse(part);
    }
    if (rest !== "") throw new ConnectionFailed("the answer ended within a line");
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * Names failures of the connection; `fetch` throws a `TypeError` for them. An abort stays one.
 * @template T
 * @param {AbortSignal | null | undefined} signal
 * @param {string} what
 * @param {() => Promise<T>} attempt
 * @returns {Promise<T>}
 */
export async function connected(signal, what, attempt) {
  try {
    return await attempt();
  } catch (failure) {
    if (signal?.aborted || failure instanceof AkinError) throw failure;
    throw new ConnectionFailed(`${what}: ${reason(failure)}`, { cause: failure });
  }
}

/** @param {any} failure */
function reason(failure) {
  return failure?.cause?.message || failure?.cause?.code || failure?.message || String(failure);
}

/** 128 random bits. `crypto` is absent in Node 18, and `randomUUID` on pages without TLS. */
export function randomId() {
  const bytes = new Uint8Array(16);
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes);
  else bytes.forEach((_, i) => (bytes[i] = Math.floor(Math.random() * 256)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
