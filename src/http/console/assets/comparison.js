// How alike two documents are: figures, and their texts side by side with the shared passages.

import { call, within } from "./api.js";
import { interval } from "./interval.js";
import { bar } from "./charts.js";
import { el, figure, replace, table } from "./dom.js";
import { count, cut, share } from "./format.js";
import { units } from "./pieces.js";

/** The characters of a text that are shown; more are shown on request only. */
const SHOWN_MAX = 100_000;

/** Compares two probes, and draws that into `node`. */
export async function compareInto(node, context, a, b, { withBar = false } = {}) {
  const { signal } = context;
  const [compared, left, right] = await Promise.all([
    comparison(context, a, b),
    named(context, a),
    named(context, b),
  ]);
  if (signal?.aborted) return;
  replace(
    node,
    withBar ? barOf(compared, context) : null,
    figures(compared, context),
    passages(compared.explanation, left, right, context.settings.shingles.unit),
    metadata([left, right]),
  );
}

/** Where texts are not kept there is nothing to explain. */
async function comparison({ collection, signal }, a, b) {
  const path = within(collection, "/resemblance");
  const body = { a, b };
  try {
    return await call(path, { method: "POST", query: { explain: true }, body, signal });
  } catch (error) {
    if (error.code !== "text_not_kept") throw error;
    return call(path, { method: "POST", body, signal });
  }
}

/** The probe with its name and, of a stored document, all that is stored. */
async function named({ collection, signal }, probe) {
  if (probe.id === undefined) return { ...probe, name: "your text" };
  const path = within(collection, `/documents/${encodeURIComponent(probe.id)}`);
  return { ...(await call(path, { signal })), name: probe.id };
}

function barOf({ exact, estimated, points }, { settings }) {
  if (points !== undefined) return null;
  const error = estimated && [estimated.value, ...interval(estimated, settings)];
  return bar({ exact: exact?.value, estimated: error, threshold: settings.scheme.threshold });
}

function figures(compared, { settings }) {
  const { exact, estimated, containment, points, field_points: ofFields } = compared;
  const error = estimated && [estimated.value, ...interval(estimated, settings)];
  return el(
    "dl",
    { class: "figures" },
    points !== undefined
      ? figure("Points", `${points} of ${100 * Object.keys(ofFields).length}`)
      : null,
    figure("Exact", share(exact?.value), "Jaccard similarity of the sets of shingles"),
    estimated
      ? figure(
          "Estimated",
          [share(estimated.value), el("small", {}, ` ${share(error[1])} to ${share(error[2])}`)],
          "By the sketches, with its 95 % interval",
        )
      : null,
    exact
      ? figure("Shared shingles", `${count(exact.intersection)} of ${count(exact.union)}`)
      : null,
    containment ? figure("Left in right", share(containment.a_in_b)) : null,
    containment ? figure("Right in left", share(containment.b_in_a)) : null,
    figure(
      "Chance to be reported",
      share(compared.probability_reported),
      "That a lookup of one at the collection's threshold reports the other",
    ),
  );
}

function passages(explanation, left, right, unit) {
  if (!explanation)
    return el(
      "p",
      { class: "hint" },
      "The collection keeps no texts, so there are no passages to show.",
    );
  if (explanation.fields?.length > 0) return fieldsTable(explanation.fields, left, right);
  if (left.text === undefined || right.text === undefined) {
    return el("p", { class: "hint" }, "Tokens have no passages to show.");
  }
  return [
    el("p", { class: "hint legend" }, el("mark", {}, "shared"), " ", el("ins", {}, "differing")),
    el("div", { class: "columns" }, column(left, explanation.a, unit), column(right, explanation.b, unit)),
  ];
}

function fieldsTable(fields, left, right) {
  const rows = fields.map(({ field, a, b, points }) => [field, a ?? "–", b ?? "–", points ?? "–"]);
  return table("Fields", ["field", cut(left.name, 40), cut(right.name, 40), "points"], rows);
}

function column({ name, text }, { shared, differing }, unit) {
  const body = el("div", {
    class: "text",
    tabindex: 0,
    role: "region",
    "aria-label": `Text of ${cut(name, 80)}`,
  });
  const placed = ([start, end]) => units(text, { start, end });
  const marked = shared.map(placed);
  const parts = differing.map(placed).map((range) => (unit === "word" ? ofWords(text, range) : range));
  const draw = (end) => {
    const more = el(
      "button",
      { type: "button", onclick: () => draw(Infinity) },
      "Show the whole text",
    );
    replace(body, pieces(text, marked, parts, end), text.length > end ? [" … ", more] : null);
  };
  draw(SHOWN_MAX);
  return el("section", {}, el("h3", { class: "id" }, cut(name, 200)), body);
}

/** The range without what is before its first word and after its last, which no shingle has. */
function ofWords(text, [from, to]) {
  const words = /[\p{L}\p{N}\p{M}](?:.*[\p{L}\p{N}\p{M}])?/su.exec(text.slice(from, to));
  if (!words) return [from, from];
  const start = from + words.index;
  return [start, start + words[0].length];
}

/** The text as nodes. Ranges `[from, to)` are of units of UTF-16, and do not overlap. */
function pieces(text, shared, differing, end) {
  const ranges = [
    ...shared.map((range) => ["mark", range]),
    ...differing.filter(([from, to]) => from < to).map((range) => ["ins", range]),
  ]
    .sort(([, [a]], [, [b]]) => a - b)
    .filter(([, [from]]) => from < end);
  const nodes = [];
  let at = 0;
  for (const [kind, [from, to]] of ranges) {
    nodes.push(text.slice(at, from), el(kind, {}, text.slice(from, to)));
    at = to;
  }
  nodes.push(text.slice(at, Math.max(at, Math.min(end, text.length))));
  return nodes;
}

function metadata(documents) {
  const have = documents.filter((document) => document.metadata !== undefined);
  if (have.length === 0) return null;
  return el(
    "details",
    { class: "metadata" },
    el("summary", {}, "Metadata"),
    have.map(({ name, metadata: of }) =>
      el(
        "section",
        {},
        el("h3", { class: "id" }, cut(name, 200)),
        el("pre", { tabindex: 0 }, JSON.stringify(of, null, 2)),
      ),
    ),
  );
}
