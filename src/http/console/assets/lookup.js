// Look up: the near-duplicates of a text or of a stored document.

import { call, within } from "./api.js";
import { bar } from "./charts.js";
import { compareInto } from "./comparison.js";
import { el, replace, select } from "./dom.js";
import { counted, cut, duration, share } from "./format.js";
import { interval } from "./interval.js";
import { probeForm, probeInput } from "./probe.js";
import { problem } from "./problem.js";
import { link, note } from "./route.js";
import { beginning } from "./snippet.js";

const MODES = [
  ["", "verified (default)"],
  ["estimated", "estimated"],
  ["exact", "exact"],
];

export function show(page, context) {
  const { parameters } = context;
  const results = el("section", { "aria-label": "Matches", "aria-live": "polite" });
  const probe = probeInput("What to look for", context, { id: parameters.get("id") ?? "" });
  const options = optionsOf(context);
  const find = () => lookUp(results, context, probe.read(), options.read());
  const form = probeForm(probe, options, "Look up", find);
  replace(page, form, results);
  if (parameters.get("id")) find();
}

function optionsOf({ settings, parameters }) {
  const isRecords = (settings.scheme.fields ?? []).length > 0;
  const [name, max, step] = isRecords ? ["points", 3200, 1] : ["threshold", 1, "any"];
  const usual = isRecords ? "default" : settings.scheme.threshold;
  const least = el("input", {
    type: "number",
    min: 0,
    max,
    step,
    placeholder: usual,
    value: parameters.get(name) ?? "",
  });
  const limit = el("input", {
    type: "number",
    min: 1,
    max: 1000,
    value: parameters.get("limit") ?? 20,
  });
  const mode = select(MODES, parameters.get("mode") ?? "");
  const filter = el("input", {
    placeholder: '@.lang == "en"',
    spellcheck: "false",
    value: parameters.get("filter") ?? "",
  });
  const node = el(
    "div",
    { class: "row options" },
    el("label", {}, isRecords ? "Points" : "Threshold", least),
    el("label", {}, "At most", limit),
    el("label", {}, "Mode", mode),
    el("label", { class: "wide" }, "Filter on metadata", filter),
  );
  const read = () => ({
    [name]: least.value,
    limit: limit.value,
    mode: mode.value,
    filter: filter.value,
  });
  return { node, read };
}

async function lookUp(results, context, probe, options) {
  const { collection, signal } = context;
  if (!probe)
    return replace(results, el("p", { class: "hint" }, "There is no text and no id yet."));
  note({ id: probe.id, ...options, limit: options.limit === "20" ? undefined : options.limit });
  results.setAttribute("aria-busy", "true");
  try {
    const path = within(collection, "/similar");
    const query = { ...options, include: context.settings.store.text ? "text" : undefined };
    const answer = await call(path, { method: "POST", query, body: probe, signal });
    replace(
      results,
      summary(answer),
      answer.matches.map((match) => entry(match, probe, answer, context)),
    );
  } catch (error) {
    if (error.name !== "AbortError") replace(results, problem(error));
  }
  results.removeAttribute("aria-busy");
}

function summary(answer) {
  const parts = [
    answer.matches.length === 0 ? "No matches" : counted(answer.matches.length, "match", "matches"),
    answer.more ? "more match than the limit" : null,
    answer.points === undefined
      ? `threshold ${answer.threshold}`
      : `at least ${answer.points} points`,
    counted(answer.candidates, "candidate"),
    answer.mode,
    recall(answer),
    answer.truncated ? "truncated: a work limit was reached" : null,
    duration(answer.took_us / 1e6),
  ];
  return el("p", { class: "summary" }, parts.filter(Boolean).join(" · "));
}

/** The worst case of a record is an edit in every field. */
function recall({ points, expected_recall: expected }) {
  if (points === undefined) return `expected recall ${share(expected)}`;
  if (expected > 0) return `expected recall, even with an edit in every field, ${share(expected)}`;
  return "a record with an edit in every field is not found";
}

/** A match: opened, it shows what it shares with the probe. */
function entry(match, probe, answer, context) {
  const estimated =
    match.estimated !== undefined
      ? [
          match.estimated,
          ...interval({ value: match.estimated, interval: match.interval }, context.settings),
        ]
      : undefined;
  const figures =
    match.points !== undefined
      ? [el("span", {}, `${match.points} points`)]
      : [
          el("span", { class: "exact" }, el("small", {}, "exact "), share(match.exact)),
          el("span", { class: "estimated" }, el("small", {}, "estimated "), share(match.estimated)),
        ];
  const drawn =
    match.points !== undefined
      ? bar({ exact: match.resemblance })
      : bar({ exact: match.exact, estimated, threshold: answer.threshold });
  const body = el("div", { class: "body" });
  const node = el(
    "details",
    { class: "match" },
    el(
      "summary",
      {},
      el("span", { class: "id" }, cut(match.id, 120)),
      drawn,
      el("span", { class: "values" }, figures),
      el("span", { class: "snippet" }, beginning(match)),
    ),
    body,
  );
  node.addEventListener(
    "toggle",
    () => node.open && !body.hasChildNodes() && open(body, match, probe, context),
  );
  return node;
}

async function open(body, match, probe, context) {
  const { collection } = context;
  const documents = link("documents", { collection, id: match.id });
  const compared = el("div", {}, el("p", { class: "hint" }, "Comparing…"));
  replace(
    body,
    compared,
    el(
      "p",
      { class: "row" },
      el("a", { href: link("lookup", { collection, id: match.id }) }, "Look this one up"),
      el("a", { href: documents }, "Show the document"),
      probe.id === undefined
        ? null
        : el("a", { href: link("compare", { collection, a: probe.id, b: match.id }) }, "Compare"),
    ),
  );
  try {
    await compareInto(compared, context, probe, { id: match.id });
  } catch (error) {
    if (error.name !== "AbortError") replace(compared, problem(error));
  }
}
