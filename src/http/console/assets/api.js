// Calls of the API. A call that needs a key asks for one and is then repeated.

const STORED_AS = "akin.key";

/** An error of the server's (RFC 9457), or of the way to it. */
export class Problem extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || "the request failed");
    Object.assign(this, { code: problem.code, status: problem.status, type: problem.type });
  }
}

export const key = {
  get: () => sessionStorage.getItem(STORED_AS),
  set: (value) => sessionStorage.setItem(STORED_AS, value),
  forget: () => sessionStorage.removeItem(STORED_AS),
};

let ask = async () => false;
let asking = null;

/** `ask(reason)` resolves to whether there is another key now. */
export function onKeyNeeded(asks) {
  ask = asks;
}

/** Several calls may be refused at once, but the reader is asked once. */
function askOnce(reason) {
  asking ??= ask(reason).finally(() => (asking = null));
  return asking;
}

/** The path of something in a collection. */
export function within(collection, path) {
  return `collections/${encodeURIComponent(collection)}${path}`;
}

function address(path, query) {
  const given = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== "" && value !== null,
  );
  const text = new URLSearchParams(given).toString();
  return text ? `${path}?${text}` : path;
}

async function send(path, { method = "GET", query, body, signal } = {}) {
  const sent = key.get();
  const headers = {};
  if (sent) headers.authorization = `Bearer ${sent}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(address(path, query), { method, headers, body: text, signal }).catch(
    (error) => {
      if (error.name === "AbortError") throw error;
      throw new Problem({ code: "unreachable", detail: "The server cannot be reached." });
    },
  );
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({ status: response.status }));
  if (response.status === 401) {
    // Meanwhile another call may have got one.
    const other = key.get() !== sent || (await askOnce(problem.detail));
    if (other) return send(path, { method, query, body, signal });
  }
  throw new Problem(problem);
}

/** The JSON of the answer. */
export async function call(path, options) {
  return (await send(path, options)).json();
}

export async function text(path, options) {
  return (await send(path, options)).text();
}

/** Each line of an NDJSON answer as it arrives. Whoever stops reading closes the connection. */
export async function* lines(path, options) {
  const response = await send(path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const line of parts) yield JSON.parse(line);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
