// Inserting many documents: requests of bounded size, each document answered exactly once.

import { ConnectionFailed, ProblemError, isTemporary } from "./errors.js";
import { lines, randomId } from "./exchange.js";

// The server has as many documents in flight while their results are unread. So a request can be
// sent as a whole before its answer is read.
const BATCH_DOCUMENTS_MAX = 512;
const BATCH_BYTES_MAX = 1 << 20;

/** @typedef {{ number: number, id: string, json: string, bytes: number }} Line */

/**
 * @param {AsyncIterable<Record<string, any>> | Iterable<Record<string, any>>} documents
 * @param {(body: string) => Promise<Response>} post
 * @param {import("./exchange.js").Backoff} backoff
 * @param {{ signal?: AbortSignal, progress?: (progress: any) => void }} options
 * @returns {AsyncGenerator<any, void, undefined>}
 */
export async function* bulk(documents, post, backoff, { signal, progress }) {
  const counts = { documents: 0, created: 0, replaced: 0, unchanged: 0, skipped: 0, failed: 0,
    retries: 0 };
  for await (const batch of batches(documents)) {
    backoff.reset();
    /** @type {Line[]} */
    let left = batch;
    while (left.length > 0) {
      const attempt = new Attempt(left);
      /** @type {unknown} */
      let failure = new ConnectionFailed("not every document was answered");
      const results = attempt.results(post, signal);
      for (;;) {
        let next;
        try {
          next = await results.next();
        } catch (thrown) {
          failure = thrown;
          break;
        }
        if (next.done) break;
        count(counts, next.value.status);
        yield next.value;
      }
      const unanswered = attempt.unanswered();
      if (unanswered.length === 0) break;
      if (unanswered.length < left.length) backoff.reset();
      left = unanswered;
      await backoff.wait(attempt.refused ?? failure);
      counts.retries += 1;
    }
    progress?.({ ...counts });
  }
}

/** One request. */
class Attempt {
  /** @param {Line[]} sent */
  constructor(sent) {
    this.sent = sent;
    this.answered = new Set();
    /** @type {ProblemError | undefined} */
    this.refused = undefined;
  }

  /**
   * @param {(body: string) => Promise<Response>} post
   * @param {AbortSignal} [signal]
   */
  async *results(post, signal) {
    const response = await post(this.sent.map((line) => `${line.json}\n`).join(""));
    for await (const answer of lines(response, signal)) {
      // It counts failures without a result: these documents are sent again.
      if (answer.line === undefined) continue;
      if (answer.status === "error" && isTemporary(answer.problem.status)) {
        this.refused = new ProblemError(answer.problem);
        continue;
      }
      const line = this.sent[answer.line - 1];
      if (line === undefined || this.answered.has(line)) {
        throw new ConnectionFailed(`a document ${answer.line} was answered that was not sent`);
      }
      this.answered.add(line);
      yield { id: line.id, ...answer, line: line.number };
    }
  }

  unanswered() {
    return this.sent.filter((line) => !this.answered.has(line));
  }
}

/** @param {AsyncIterable<Record<string, any>> | Iterable<Record<string, any>>} documents */
async function* batches(documents) {
  const encoder = new TextEncoder();
  /** @type {Line[]} */
  let batch = [];
  let bytes = 0;
  let number = 0;
  for await (const document of documents) {
    // An id made here lets a document be sent again whose answer was lost.
    const named = document.id == null ? { ...document, id: randomId() } : document;
    const json = JSON.stringify(named);
    number += 1;
    const line = { number, id: String(named.id), json, bytes: encoder.encode(json).length + 1 };
    const isFull = batch.length === BATCH_DOCUMENTS_MAX || bytes + line.bytes > BATCH_BYTES_MAX;
    if (isFull && batch.length > 0) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(line);
    bytes += line.bytes;
  }
  if (batch.length > 0) yield batch;
}

/** @param {Record<string, number>} counts @param {string} status */
function count(counts, status) {
  const name = status === "error" ? "failed" : status;
  counts.documents = (counts.documents ?? 0) + 1;
  counts[name] = (counts[name] ?? 0) + 1;
}
