// The API reference, from /openapi.json.

import { el, replace } from "./dom.js";
import { schemaNode, shortType } from "./schema.js";
import { tryout } from "./tryout.js";
import { blocks } from "./markdown.js";

const METHODS = ["get", "put", "post", "patch", "delete"];
const ONE_COLLECTION = "/collections/{collection}";

/** The operations, those of named collections only where there is none for `default`. */
function operationsOf({ paths }) {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ ...item[method], method, path })),
  );
  const twice = (path) =>
    path.startsWith(`${ONE_COLLECTION}/`) && paths[path.slice(ONE_COLLECTION.length)];
  return all
    .filter(({ path }) => !twice(path))
    .map((operation) => ({
      ...operation,
      isOfCollections: Boolean(paths[ONE_COLLECTION + operation.path]),
    }));
}

function endpoint({ method, path }) {
  return [
    el("span", { class: `method ${method}` }, method.toUpperCase()),
    " ",
    el("code", {}, path),
  ];
}

function section(operation, document_) {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const key = operation.security?.length === 0 ? "No key is needed." : null;
  return el(
    "section",
    { id: operationId, class: "operation" },
    el("h3", {}, el("a", { href: `#${operationId}` }, summary ?? operationId)),
    el("p", { class: "endpoint" }, endpoint(operation)),
    operation.isOfCollections
      ? el(
          "p",
          { class: "hint" },
          "Of a named collection: ",
          el("code", {}, ONE_COLLECTION + operation.path),
        )
      : null,
    blocks(description),
    key ? el("p", { class: "hint" }, key) : null,
    parameters.length > 0 ? parametersPart(parameters, document_) : null,
    requestBody ? bodyPart(requestBody, document_) : null,
    example(operation),
    tryout(operation),
    responsesPart(responses, document_),
  );
}

function parametersPart(parameters, document_) {
  const entry = ({ name, in: where, required, description, schema = {} }) => [
    el(
      "dt",
      {},
      el("code", {}, name),
      " ",
      el("small", {}, `${where}, ${shortType(schema, document_)}${required ? ", required" : ""}`),
    ),
    el("dd", {}, blocks(description)),
  ];
  return [el("h4", {}, "Parameters"), el("dl", { class: "parameters" }, parameters.map(entry))];
}

function bodyPart({ content = {}, description }, document_) {
  return [
    el("h4", {}, "Body"),
    blocks(description),
    Object.entries(content).map(([media, { schema, example: one }]) => [
      el("p", {}, el("code", {}, media)),
      schemaNode(schema, document_),
      one === undefined || typeof one === "string"
        ? null
        : el("pre", { tabindex: 0 }, JSON.stringify(one, null, 2)),
    ]),
  ];
}

/** A call by curl, which is in every shell. */
function example({ method, path, parameters = [], requestBody, security }) {
  const needed = parameters.filter(({ required, in: where }) => required && where === "query");
  const given = needed.map(({ name }) => `${name}=${name.toUpperCase()}`).join("&");
  const query = given ? `?${given}` : "";
  const verb = method === "get" ? "" : `-X ${method.toUpperCase()} `;
  const body = Object.values(requestBody?.content ?? {}).find(
    (content) => content.example !== undefined,
  )?.example;
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [
    `curl ${verb}${quoted(`${location.origin}${path}${query}`)}`,
    security?.length === 0 ? null : `-H "Authorization: Bearer $AKIN_API_KEY"`,
    body === undefined
      ? null
      : `-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`,
  ];
  return [
    el("h4", {}, "Example"),
    el("pre", { tabindex: 0 }, parts.filter(Boolean).join(" \\\n  ")),
  ];
}

function responsesPart(responses, document_) {
  const [good, bad] = [(status) => status < "400", (status) => status >= "400"].map((is) =>
    Object.entries(responses).filter(([status]) => is(status)),
  );
  const answer = ([status, { description, content = {} }]) => [
    el("p", {}, el("strong", {}, status), " ", description),
    Object.entries(content).map(([media, { schema }]) => [
      el("p", {}, el("code", {}, media)),
      schemaNode(schema, document_),
    ]),
  ];
  const codes = bad.map(([status, { description }]) => [
    el("dt", {}, status),
    el("dd", {}, blocks(linked(description))),
  ]);
  return [
    el("h4", {}, "Answer"),
    good.map(answer),
    codes.length > 0
      ? el("details", {}, el("summary", {}, "Problems"), el("dl", { class: "parameters" }, codes))
      : null,
  ];
}

/** Codes of problems lead to what to do about them. */
function linked(text = "") {
  return text.replace(/`([a-z]+(?:_[a-z]+)+|internal|overloaded)`/g, "[$1](docs/problems#$1)");
}

function contents(operations, tags, filter) {
  const entry = (operation) =>
    el(
      "li",
      {},
      el(
        "a",
        { href: `#${operation.operationId}` },
        el("span", { class: `method ${operation.method}` }, operation.method.toUpperCase()),
        " ",
        operation.path,
      ),
    );
  return tags.map(({ name }) => [
    el("h2", {}, name),
    el(
      "ul",
      {},
      operations
        .filter((operation) => operation.tags.includes(name) && matches(operation, filter))
        .map(entry),
    ),
  ]);
}

function matches({ path, summary = "", operationId, description = "" }, filter) {
  const text = `${path} ${summary} ${operationId} ${description}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

async function show() {
  const response = await fetch("openapi.json");
  if (!response.ok) throw new Error(`The server answered with status ${response.status}.`);
  const document_ = await response.json();
  const operations = operationsOf(document_);
  const { info, tags } = document_;
  // Calls come before what may go wrong with them.
  const at = info.description.indexOf("Every error is a problem");
  const [about, problems] = [info.description.slice(0, at), info.description.slice(at)];
  const list = el("div", {});
  const filter = el("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": "Filter operations",
  });
  // On a narrow screen the list would fill the screens before the reference.
  const isWide = matchMedia("(min-width: 721px)").matches;
  const operationsShown = el("details", { open: isWide }, el("summary", {}, "Operations"), list);
  filter.addEventListener("input", () => {
    operationsShown.open = true;
    replace(list, contents(operations, tags, filter.value.trim()));
  });
  replace(list, contents(operations, tags, ""));
  const toProblems = el("a", { href: "#problems" }, "Problems");
  replace(document.getElementById("contents"), filter, operationsShown, toProblems);
  replace(
    document.getElementById("api"),
    el("h1", {}, `${info.title} ${info.version}`),
    blocks(about),
    tags.map(({ name, description }) => [
      el("h2", {}, name),
      blocks(description),
      operations
        .filter((operation) => operation.tags.includes(name))
        .map((operation) => section(operation, document_)),
    ]),
    el("h2", { id: "problems" }, "Problems"),
    blocks(linkedTable(problems)),
  );
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

/** In the table of codes, each code leads to its description. */
function linkedTable(text) {
  return text.replace(/^\| `([a-z_]+)` \|/gm, "| [$1](docs/problems#$1) |");
}

show().catch((error) =>
  replace(
    document.getElementById("api"),
    el("h1", {}, "API"),
    el("p", { class: "problem", role: "alert" }, error.message),
  ),
);
