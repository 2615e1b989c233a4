// Passages: where the words of a text, or of a stored document, occur in other documents.

import { call, within } from "./api.js";
import { el, replace, select } from "./dom.js";
import { count, counted, cut, duration, quoted } from "./format.js";
import { pieces, units } from "./pieces.js";
import { probeForm, probeInput } from "./probe.js";
import { problem } from "./problem.js";
import { link, note } from "./route.js";

/** Sources with a colour of their own. */
const COLOURS = 6;

const WHOSE = [
  ["probe", "the text's words"],
  ["match", "the document's words"],
];

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const colour = (at) => `source-${at < COLOURS ? at : "other"}`;

export function show(page, context) {
  const { parameters, settings } = context;
  const results = el("section", { "aria-label": "Documents", "aria-live": "polite" });
  if (!settings.passages?.words) return replace(page, withoutIndex(context));
  const probe = probeInput("What to look for", context, { id: parameters.get("id") ?? "" });
  const options = optionsOf(context);
  const find = () => findInto(results, context, probe.read(), options.read());
  const form = probeForm(probe, options, "Find passages", find);
  replace(page, form, results);
  if (parameters.get("id")) find();
}

/** Why there are no passages, and how the collection gets them. */
function withoutIndex({ collection, settings }) {
  if ((settings.scheme.fields ?? []).length > 0)
    return el("p", {}, "Records have fields, and no passages. Choose a collection of texts.");
  if (!settings.store.text)
    return el("p", {}, "The collection keeps no texts, so it has no passages. Choose another one.");
  const [how, what] = collection === "default" ? ofDefault() : ofNamed(collection);
  return [
    el("p", {}, "The collection has no index of passages yet. ", how),
    el("pre", { class: "command", tabindex: 0 }, what),
    el("p", { class: "hint" }, "Then every run of 32 words that two documents share is found."),
  ];
}

function ofDefault() {
  const how = "Add these lines to the server's configuration, and start it again:";
  return [how, "[collection.passages]\nwords = 32"];
}

function ofNamed(collection) {
  const how = "A reindex gives it one, while it is served (with a key, add its header):";
  const { href } = new URL(within(collection, "/reindex"), document.baseURI);
  return [how, `curl ${quoted(href)} --json '{"passages": {"words": 32}}'`];
}

function optionsOf({ settings, parameters }) {
  const number = (name, attributes) =>
    el("input", { type: "number", value: parameters.get(name) ?? "", ...attributes });
  const words = number("words_min", { min: 8, max: 100_000, placeholder: settings.passages.words });
  const least = number("containment_min", { min: 0, max: 1, step: "any", placeholder: "any" });
  const limit = number("limit", { min: 1, max: 100, value: parameters.get("limit") ?? 20 });
  const of = select(WHOSE, parameters.get("of") ?? "probe");
  const node = el(
    "div",
    { class: "row options" },
    el("label", {}, "Words, at least", words),
    el("label", {}, "Share, at least", least),
    el("label", {}, "of", of),
    el("label", {}, "Documents, at most", limit),
  );
  const read = () => ({
    words_min: words.value,
    containment_min: least.value,
    of: least.value && of.value !== "probe" ? of.value : "",
    limit: limit.value,
  });
  return { node, read };
}

async function findInto(results, context, probe, options) {
  const { collection, signal } = context;
  if (!probe)
    return replace(results, el("p", { class: "hint" }, "There is no text and no id yet."));
  note({ id: probe.id, ...options, limit: options.limit === "20" ? undefined : options.limit });
  results.setAttribute("aria-busy", "true");
  try {
    const path = within(collection, "/passages");
    const [answer, text] = await Promise.all([
      call(path, { method: "POST", query: options, body: probe, signal }),
      probe.text ?? textOf(context, probe.id),
    ]);
    if (!signal.aborted) draw(results, context, { answer, text, name: probe.id ?? "your text" });
  } catch (error) {
    if (error.name !== "AbortError") replace(results, problem(error));
  }
  results.removeAttribute("aria-busy");
}

async function textOf({ collection, signal }, id) {
  const path = within(collection, `/documents/${encodeURIComponent(id)}`);
  return (await call(path, { signal })).text;
}

function draw(results, context, found) {
  const { answer, text } = found;
  const { matches } = answer;
  const beside = el("section", { "aria-label": "Shared passages", "aria-live": "polite" });
  const buttons = matches.map((match, at) => sourceButton(match, at, () => choose(at)));
  const choose = (at) => {
    buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === at)));
    compareInto(beside, context, found, at);
  };
  const places = matches.map(({ passages }) => passages.map((one) => one.probe));
  const label = (at, others) =>
    `${cut(matches[at].id, 120)}${others > 0 ? ` and ${counted(others, "other")}` : ""}`;
  const kind = (at, others) => ({
    class: colour(at),
    title: label(at, others),
    onclick: () => choose(at),
  });
  replace(
    results,
    summary(answer),
    el(
      "div",
      { class: "sources" },
      textSection("Words, coloured by the document that has them", text, places, kind),
      el(
        "nav",
        { "aria-label": "Documents that share passages" },
        el("h2", {}, counted(matches.length, "document")),
        el("ol", { class: "list" }, buttons.map((button) => el("li", {}, button))),
      ),
    ),
    beside,
  );
  if (matches.length > 0) choose(0);
}

function summary({ matches, more, truncated, probe, guarantee, took_us }) {
  const words = guarantee.best_effort_from;
  const parts = [
    matches.length === 0 ? "No document shares a passage" : counted(matches.length, "document"),
    more ? "more share passages than the limit" : null,
    counted(probe.words, "word"),
    `every run of ${guarantee.words} words is found${words ? `, from ${words} words on by chance` : ""}`,
    truncated ? "truncated: a work limit was reached" : null,
    duration(took_us / 1e6),
  ];
  return el("p", { class: "summary" }, parts.filter(Boolean).join(" · "));
}

function sourceButton({ id, words_shared: shared, longest, containment }, at, onclick) {
  const { of_probe: ofProbe, of_match: ofMatch } = containment;
  const about = `${count(shared)} words, ${percent(ofProbe)} of the text, ${percent(ofMatch)} of the document; longest run ${count(longest)}`;
  return el(
    "button",
    { type: "button", "aria-pressed": "false", onclick },
    el("span", { class: `swatch ${colour(at)}`, "aria-hidden": "true" }),
    el("span", {}, el("span", { class: "id" }, cut(id, 120)), el("small", {}, about)),
  );
}

/** The probe and a match side by side. A click on a passage shows where it is in the other text. */
async function compareInto(node, context, { answer, text, name }, at) {
  const { collection, signal } = context;
  const { id, passages } = answer.matches[at];
  replace(node, el("p", { class: "hint" }, "Reading…"));
  node.chosen = id;
  try {
    const other = await textOf(context, id);
    // Meanwhile another may have been chosen.
    if (signal.aborted || node.chosen !== id) return;
    const marks = [[], []];
    const kind = (side) => (passage) => ({
      class: colour(at),
      onclick: () => reveal(marks[1 - side], passage),
    });
    const column = (side, title, shown, places) =>
      textSection(cut(title, 200), shown, places.map((place) => [place]), kind(side), marks[side]);
    replace(
      node,
      el(
        "div",
        { class: "columns" },
        column(0, name, text, passages.map(({ probe }) => probe)),
        column(1, id, other, passages.map(({ match }) => match)),
      ),
      el("p", {}, el("a", { href: link("documents", { collection, id }) }, "Show the document")),
    );
    for (const side of marks) scrollTo(side[0]);
  } catch (error) {
    if (error.name !== "AbortError") replace(node, problem(error));
  }
}

function reveal(marks, passage) {
  for (const mark of marks) mark?.classList.remove("found");
  marks[passage]?.classList.add("found");
  scrollTo(marks[passage]);
}

/** Scrolls the text, and not the page. */
function scrollTo(mark) {
  const text = mark?.closest(".text");
  if (text) text.scrollTop = mark.offsetTop - text.offsetTop - text.clientHeight / 3;
}

/** A text with its marks. `marks` gets the first mark of each group of places. */
function textSection(title, text, groups, kind, marks = []) {
  const body = el("div", { class: "text", tabindex: 0, role: "region", "aria-label": title });
  const parts = pieces(groups.map((places) => places.map((place) => units(text, place))));
  const draw = (end) => {
    const more = el("button", { type: "button", onclick: () => draw(Infinity) }, "Show the whole text");
    const nodes = [];
    let before = 0;
    for (const { from, to, group, others } of parts) {
      if (from >= end) break;
      const mark = el("mark", kind(group, others), text.slice(from, to));
      marks[group] ??= mark;
      nodes.push(text.slice(before, from), mark);
      before = to;
    }
    nodes.push(text.slice(before, Math.max(before, Math.min(end, text.length))));
    replace(body, nodes, text.length > end ? [" … ", more] : null);
  };
  draw(100_000);
  return el("section", {}, el("h2", { class: "title" }, title), body);
}
