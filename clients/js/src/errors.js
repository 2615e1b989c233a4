/** The base of all errors of this package. */
export class AkinError extends Error {
  /** @param {string} message @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server was not reached, or the connection ended before the answer did. */
export class ConnectionFailed extends AkinError {}

/** The server refused a request; `code` says why and stays the same between versions. */
export class ProblemError extends AkinError {
  /**
   * @param {import("./types.js").Problem} problem
   * @param {number} [retryAfterS] As the server named it, in seconds.
   */
  constructor(problem, retryAfterS) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`);
    this.problem = problem;
    /** Stays the same between versions. */
    this.code = String(problem.code);
    this.status = Number(problem.status);
    this.detail = String(problem.detail ?? "");
    /** @type {string | undefined} */
    this.requestId = problem.request_id;
    this.retryAfterS = retryAfterS;
  }

  /** Whether the same request may succeed later. */
  get isTemporary() {
    return isTemporary(this.status);
  }
}

/** @param {number} status */
export function isTemporary(status) {
  return status === 429 || status === 503;
}

/**
 * Reads an error, which a proxy in between may have written.
 * @param {Response} response
 */
export async function problemOf(response) {
  const content = await response.text();
  /** @type {any} */
  let problem;
  try {
    problem = JSON.parse(content);
  } catch {
    problem = undefined;
  }
  if (typeof problem?.code !== "string") {
    const start = content.slice(0, 200);
    const detail = `the answer has status ${response.status} and is no problem of akin's: ${start}`;
    problem = { code: "unknown", detail };
  }
  // A date, as proxies may send, counts as absent.
  const seconds = Number.parseFloat(response.headers.get("retry-after") ?? "");
  return new ProblemError({ ...problem, status: response.status },
    Number.isFinite(seconds) ? seconds : undefined);
}
