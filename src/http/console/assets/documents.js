// Documents: those of the collection in pages, with the beginnings of their texts, and one opened.

import { call, within } from "./api.js";
import { el, figure, replace } from "./dom.js";
import { count, counted, cut, time } from "./format.js";
import { problem } from "./problem.js";
import { link, note } from "./route.js";
import { beginning } from "./snippet.js";

const PAGE = 25;
/** More of a text is shown on request only. */
const SHOWN_CHARACTERS = 50_000;

export function show(page, context) {
  const { parameters } = context;
  const results = el("section", { "aria-label": "Documents", "aria-live": "polite" });
  const opened = el("section", { "aria-label": "A document" });
  const filter = el("input", {
    placeholder: '@.lang == "en"',
    spellcheck: "false",
    value: parameters.get("filter") ?? "",
  });
  const from = el("input", {
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "news/",
    value: parameters.get("from") ?? "",
  });
  const form = el(
    "form",
    { class: "row options" },
    el("label", { class: "wide" }, "Ids from", from),
    el("label", { class: "wide" }, "Filter on metadata", filter),
    el("button", { class: "primary" }, "List"),
  );
  const open = (id) => openDocument(opened, context, id);
  const list = pages(results, context, () => ({ filter: filter.value, from: from.value }), open);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.first();
  });
  replace(page, form, el("div", { class: "beside wide-list" }, results, opened));
  const id = parameters.get("id");
  if (id) open(id);
  else replace(opened, el("p", { class: "hint" }, "Choose a document to read it here."));
  return list.first();
}

/** Ids come in their order, so a page begins after the last id of the one before. */
function pages(results, context, read, open) {
  const { collection, signal } = context;
  let before = [];
  let asked = 0;
  const go = async (after) => {
    const { filter, from } = read();
    note({ filter, from });
    const number = (asked += 1);
    results.setAttribute("aria-busy", "true");
    try {
      const isFirst = before.length === 0;
      const query = { filter, after, limit: PAGE, count: isFirst || undefined };
      const answer = await call(within(collection, "/documents"), { query, signal });
      const documents = await fetched(context, answer.ids);
      if (number === asked) draw(answer, documents, after);
    } catch (error) {
      if (error.name !== "AbortError" && number === asked) replace(results, problem(error));
    }
    results.removeAttribute("aria-busy");
  };
  const draw = ({ ids, next, count: all }, documents, after) => {
    const entries = ids.map((id) => entry(id, documents.get(id), open, results));
    const earlier = el("button", { type: "button", disabled: before.length === 0 }, "Previous");
    const later = el("button", { type: "button", disabled: !next }, "Next");
    earlier.addEventListener("click", () => go(before.pop()));
    later.addEventListener("click", () => {
      before.push(after);
      go(next);
    });
    const said = all === undefined ? `page ${before.length + 1}` : counted(all, "document");
    replace(
      results,
      el("p", { class: "summary", role: "status" }, entries.length === 0 ? none(next) : said),
      el("ul", { class: "list documents" }, entries),
      el("div", { class: "row" }, earlier, later),
    );
  };
  return {
    first: () => {
      before = [];
      return go(below(read().from));
    },
  };
}

const none = (next) => (next ? "None on this page, but there may be more" : "No documents");

/** The `after` for which a page begins with the ids that are `from` or higher. */
function below(from) {
  if (!from) return undefined;
  const characters = [...from];
  const last = characters.pop().codePointAt(0);
  if (last <= 1) return characters.join("") || undefined;
  const lower = last === 0xe000 ? 0xd7ff : last - 1;
  return `${characters.join("")}${String.fromCodePoint(lower)}\u{10ffff}`;
}

/** What is stored under the ids, by id. */
async function fetched({ collection, signal }, ids) {
  if (ids.length === 0) return new Map();
  const path = within(collection, "/fetch");
  const { documents } = await call(path, { method: "POST", body: { ids }, signal });
  return new Map(documents.map((document) => [document.id, document]));
}

function entry(id, document, open, results) {
  const button = el(
    "button",
    { type: "button", "aria-pressed": "false" },
    el(
      "span",
      {},
      el("span", { class: "id" }, cut(id, 120)),
      el("span", { class: "snippet" }, document ? beginning(document) : "removed meanwhile"),
    ),
  );
  button.addEventListener("click", () => {
    for (const other of results.querySelectorAll("button[aria-pressed]"))
      other.setAttribute("aria-pressed", other === button);
    open(id);
    // On a narrow screen it is below the list.
    if (matchMedia("(max-width: 720px)").matches) results.nextElementSibling.scrollIntoView();
  });
  return el("li", {}, button);
}

async function openDocument(opened, { collection, signal }, id) {
  const mark = Symbol("a document");
  opened.mark = mark;
  note({ id });
  replace(opened, el("p", { class: "hint" }, "Reading…"));
  try {
    const path = within(collection, `/documents/${encodeURIComponent(id)}`);
    const document = await call(path, { signal });
    if (opened.mark === mark) replace(opened, drawn(document, collection));
  } catch (error) {
    if (error.name !== "AbortError" && opened.mark === mark) replace(opened, problem(error));
  }
}

function drawn(document, collection) {
  const { id, metadata, cluster } = document;
  return [
    el("h2", { class: "id" }, cut(id, 200)),
    el(
      "p",
      { class: "row" },
      el("a", { href: link("lookup", { collection, id }) }, "Look up"),
      el("a", { href: link("compare", { collection, a: id }) }, "Compare"),
    ),
    el(
      "dl",
      { class: "figures" },
      figure("Stored", time(document.stored_at)),
      figure("Distinct shingles", count(document.shingles)),
      document.expires_at ? figure("Expires", time(document.expires_at)) : null,
      cluster ? figure("Cluster", el("code", {}, cluster)) : null,
    ),
    content(document),
    metadata === undefined
      ? null
      : [el("h3", {}, "Metadata"), el("pre", { tabindex: 0 }, JSON.stringify(metadata, null, 2))],
  ];
}

function content({ text, tokens, fields, signature }) {
  const given = text ?? JSON.stringify(fields ?? tokens ?? signature, null, 1);
  if (given === undefined)
    return el("p", { class: "hint" }, "The collection keeps no texts, so there is none to show.");
  const body = el("div", { class: "text", tabindex: 0, role: "region", "aria-label": "Content" });
  const all = () => replace(body, given);
  const more = el("button", { type: "button", onclick: all }, "Show the whole text");
  const isLong = given.length > SHOWN_CHARACTERS;
  replace(body, cut(given, SHOWN_CHARACTERS), isLong ? more : null);
  return body;
}
