// A form that sends a call of the API and shows the answer.

import { key } from "./api.js";
import { el, replace } from "./dom.js";
import { bytes, duration } from "./format.js";

/** More of an answer is not read: exports and discoveries may be as large as the collection. */
const SHOWN_BYTES = 200_000;

/** Opened, it has a field for each parameter and the body. */
export function tryout(operation) {
  const form = el("form", { class: "try" });
  const node = el("details", {}, el("summary", {}, "Try it"), form);
  node.addEventListener("toggle", () => node.open && !form.hasChildNodes() && fill(form, operation));
  return node;
}

function fill(form, operation) {
  const { method, parameters = [], requestBody, security, isOfCollections } = operation;
  const collection = field("collection", { value: "default", required: true });
  const inputs = parameters.map(({ name, in: where, required, schema = {}, example }) => ({
    name,
    where,
    ...field(name, {
      required,
      placeholder: schema.default ?? example ?? "",
      value: where === "path" && name === "collection" ? "default" : "",
    }),
  }));
  const body = requestBody ? bodyInput(requestBody) : null;
  const secret = field("key", { type: "password", autocomplete: "off", value: key.get() ?? "" });
  const send = el("button", { class: "primary" }, method === "get" ? "Send" : `Send ${method.toUpperCase()}`);
  const answer = el("div", { "aria-live": "polite" });
  let running = null;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (running) return running.abort();
    running = new AbortController();
    send.textContent = "Stop";
    if (secret.input.value) key.set(secret.input.value);
    const own = isOfCollections ? collection.input.value : undefined;
    const call = request(operation, own, inputs, body, secret.input.value);
    await shown(answer, call, running.signal);
    running = null;
    send.textContent = "Send again";
  });
  replace(
    form,
    el(
      "div",
      { class: "fields" },
      isOfCollections ? collection.node : null,
      inputs.map(({ node }) => node),
      security?.length === 0 ? null : secret.node,
    ),
    body?.node,
    el("div", { class: "row" }, send),
    answer,
  );
}

function field(name, attributes) {
  const input = el("input", { spellcheck: "false", ...attributes });
  return { input, node: el("label", {}, name, input) };
}

function bodyInput({ content = {} }) {
  const media = Object.keys(content);
  const example = (name) => {
    const { example: one } = content[name];
    return one === undefined || typeof one === "string" ? (one ?? "{}") : JSON.stringify(one, null, 2);
  };
  const choice = el(
    "select",
    {},
    media.map((name) => el("option", { value: name }, name)),
  );
  const area = el("textarea", { rows: 5, spellcheck: "false", value: example(media[0]) });
  choice.addEventListener("change", () => (area.value = example(choice.value)));
  const node = el(
    "div",
    { class: "fields" },
    el("label", { class: "all" }, "Body", area),
    el("label", {}, "Content type", choice),
  );
  return { node, read: () => ({ media: choice.value, text: area.value }) };
}

function request({ method, path }, collection, inputs, body, secret) {
  const given = inputs.filter(({ input }) => input.value !== "");
  let to = collection && collection !== "default" ? `/collections/${encodeURIComponent(collection)}${path}` : path;
  for (const { name, where, input } of given)
    if (where === "path") to = to.replace(`{${name}}`, encodeURIComponent(input.value));
  const query = given.filter(({ where }) => where === "query");
  const text = new URLSearchParams(query.map(({ name, input }) => [name, input.value])).toString();
  const headers = {};
  if (secret) headers.authorization = `Bearer ${secret}`;
  for (const { name, where, input } of given) if (where === "header") headers[name] = input.value;
  const sent = body?.read();
  if (sent) headers["content-type"] = sent.media;
  const address = `${to.slice(1)}${text ? `?${text}` : ""}`;
  return { address, options: { method: method.toUpperCase(), headers, body: sent?.text } };
}

async function shown(node, { address, options }, signal) {
  const started = performance.now();
  replace(node, el("p", { class: "hint" }, "Waiting for the answer…"));
  try {
    const response = await fetch(address, { ...options, signal });
    const took = (performance.now() - started) / 1000;
    const media = response.headers.get("content-type") ?? "no content";
    const said = `${response.status} ${response.statusText} · ${media} · ${duration(took)}`;
    const { text, isWhole, length } = await read(response);
    const beyond = isWhole ? null : el("p", { class: "hint" }, `Cut after ${bytes(length)}.`);
    replace(
      node,
      el("p", { class: "summary" }, said),
      text ? el("pre", { tabindex: 0, class: "answer" }, pretty(text, media)) : null,
      beyond,
    );
  } catch (error) {
    const text = error.name === "AbortError" ? "Stopped." : "The server cannot be reached.";
    replace(node, el("p", { class: "problem", role: "alert" }, text));
  }
}

/** The beginning of a body; whoever stops reading closes the connection. */
async function read({ body }) {
  if (!body) return { text: "", isWhole: true, length: 0 };
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  try {
    while (length < SHOWN_BYTES) {
      const { value, done } = await reader.read();
      if (done) return { text: text + decoder.decode(), isWhole: true, length };
      length += value.length;
      text += decoder.decode(value, { stream: true });
    }
    return { text, isWhole: false, length };
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function pretty(text, media) {
  if (!/\bjson\b/.test(media) || media.includes("ndjson")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
