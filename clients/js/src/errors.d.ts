/** @param {number} status */
export function isTemporary(status: number): status is 429 | 503;
/**
 * Reads an error, which a proxy in between may have written.
 * @param {Response} response
 */
export function problemOf(response: Response): Promise<ProblemError>;
/** The base of all errors of this package. */
export class AkinError extends Error {
    /** @param {string} message @param {ErrorOptions} [options] */
    constructor(message: string, options?: ErrorOptions);
}
/** The server was not reached, or the connection ended before the answer did. */
export class ConnectionFailed extends AkinError {
}
/** The server refused a request; `code` says why and stays the same between versions. */
export class ProblemError extends AkinError {
    /**
     * @param {import("./types.js").Problem} problem
     * @param {number} [retryAfterS] As the server named it, in seconds.
     */
    constructor(problem: import("./types.js").Problem, retryAfterS?: number);
    problem: import("./types.js").Problem;
    /** Stays the same between versions. */
    code: string;
    status: number;
    detail: string;
    /** @type {string | undefined} */
    requestId: string | undefined;
    retryAfterS: number | undefined;
    /** Whether the same request may succeed later. */
    get isTemporary(): boolean;
}
