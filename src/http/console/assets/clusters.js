// Clusters: how large they are, who is in one, and how any two of its members differ.

import { call, lines, within } from "./api.js";
import { area, bottomAxis, chart, logScale, logTicks, sideAxis } from "./charts.js";
import { compareInto } from "./comparison.js";
import { el, replace, select, svg } from "./dom.js";
import { count, counted, cut, share } from "./format.js";
import { graph, MEMBERS_DRAWN_MAX } from "./graph.js";
import { problem } from "./problem.js";
import { link, note } from "./route.js";

/** Clusters and members in memory; the sizes of all clusters are counted. */
const CLUSTERS_MAX = 2000;
const MEMBERS_MAX = 300;
/** Larger collections are searched on request only. */
const DOCUMENTS_AT_ONCE = 20_000;
const LISTED = 25;
const LINKAGES = [
  ["single", "single"],
  ["representative", "representative"],
];

const WHY = {
  single:
    "single, as GET /clusters has it by default: documents that a chain of near-duplicates connects.",
  representative:
    "representative, as akin dedup has it by default, because it removes documents: each resembles the first of its cluster.",
};

export function show(page, context) {
  const { settings, documents, parameters } = context;
  const threshold = el("input", {
    type: "number",
    min: 0,
    max: 1,
    step: "any",
    placeholder: settings.clusters?.threshold ?? settings.scheme.threshold,
    value: parameters.get("threshold") ?? "",
  });
  const kept = settings.clusters?.threshold;
  const linkage = select(LINKAGES, parameters.get("linkage") ?? "single");
  /** Whether the collection keeps these clusters up to date, so that nothing is compared. */
  const isKept = () =>
    kept && linkage.value === "single" && [kept, 0].includes(Number(threshold.value));
  const button = el("button", { class: "primary" }, "Find clusters");
  const results = el("div", {});
  const form = el(
    "form",
    { class: "row options" },
    el("label", {}, "Threshold", threshold),
    el("label", {}, "Linkage", linkage),
    button,
    el("p", { class: "hint why" }),
  );
  const mark = () => {
    button.textContent = running ? "Stop" : isKept() ? "Show clusters" : "Find clusters";
    form.querySelector(".why").textContent =
      WHY[linkage.value] + (isKept() ? " The collection keeps them up to date." : "");
  };
  linkage.addEventListener("change", mark);
  threshold.addEventListener("input", mark);
  let running = null;
  const find = async () => {
    if (running) return running.abort();
    running = new AbortController();
    mark();
    const query = { threshold: threshold.value, linkage: linkage.value };
    note(query);
    const signal = AbortSignal.any([context.signal, running.signal]);
    await discover(results, context, query, signal);
    running = null;
    mark();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find();
  });
  mark();
  replace(page, form, results);
  if (isKept() || documents <= DOCUMENTS_AT_ONCE) return find();
  replace(
    results,
    el(
      "p",
      { class: "hint" },
      `All ${count(documents)} documents are compared, which may take a while.`,
    ),
  );
}

/** No clusters yet. */
const none = () => ({ sizes: new Map(), clusters: [], total: 0, documents: 0 });

async function discover(results, context, query, signal) {
  const said = el("p", { class: "summary", role: "status" }, "Finding clusters…");
  replace(results, said);
  const found = none();
  const progress = follow(said, context, signal, found);
  try {
    let ending = "";
    for await (const line of lines(within(context.collection, "/clusters"), { query, signal })) {
      if (line.incomplete)
        ending = ` · ${counted(line.incomplete.documents, "document")} may be missing in their clusters`;
      else take(found, line);
    }
    draw(results, context, found, ending);
  } catch (error) {
    if (context.signal.aborted) return;
    if (error.name !== "AbortError") return replace(results, problem(error));
    draw(results, context, found, " · stopped before the end");
  } finally {
    clearInterval(progress);
  }
}

function take(found, cluster) {
  found.total += 1;
  found.documents += cluster.size;
  found.sizes.set(cluster.size, (found.sizes.get(cluster.size) ?? 0) + 1);
  found.clusters.push({ ...cluster, members: cluster.members.slice(0, MEMBERS_MAX) });
  if (found.clusters.length < 2 * CLUSTERS_MAX) return;
  keepLargest(found);
}

function keepLargest(found) {
  found.clusters.sort((a, b) => b.size - a.size);
  found.clusters.length = Math.min(found.clusters.length, CLUSTERS_MAX);
}

/** Shows the server's progress. */
function follow(said, { collection }, signal, found) {
  return setInterval(async () => {
    if (found.total > 0) return (said.textContent = `${counted(found.total, "cluster")} so far…`);
    const { discoveries } = await call(within(collection, "/stats"), { signal }).catch(() => ({
      discoveries: [],
    }));
    const own = discoveries.find(({ kind }) => kind === "clusters");
    if (own && found.total === 0)
      said.textContent = `${own.stage}: ${count(own.done)} of ${count(own.total)}…`;
  }, 1000);
}

function draw(results, context, found, ending) {
  keepLargest(found);
  const said = el(
    "p",
    { class: "summary", role: "status" },
    `${counted(found.total, "cluster")} of ${counted(found.documents, "document")}${ending}`,
  );
  if (found.total === 0) return replace(results, said);
  const detail = el("section", { "aria-label": "A cluster" });
  const open = (cluster, button) => {
    results
      .querySelectorAll("button[aria-pressed]")
      .forEach((other) => other.setAttribute("aria-pressed", other === button));
    showCluster(detail, context, cluster);
  };
  const list = listed(found.clusters, open);
  replace(results, said, sizesChart(found.sizes), el("div", { class: "beside" }, list, detail));
  list.querySelector("button").click();
}

function listed(clusters, open) {
  const list = el("ul", { class: "list" });
  const more = el("button", { type: "button" }, "More");
  let shown = 0;
  const extend = () => {
    for (const cluster of clusters.slice(shown, shown + LISTED)) {
      const button = el(
        "button",
        { type: "button", "aria-pressed": "false", onclick: () => open(cluster, button) },
        el("span", { class: "id" }, cut(cluster.representative, 80)),
        el("span", { class: "badge" }, count(cluster.size)),
      );
      list.append(el("li", {}, button));
    }
    shown += LISTED;
    more.hidden = shown >= clusters.length;
  };
  more.addEventListener("click", extend);
  extend();
  return el(
    "nav",
    { "aria-label": "Clusters, the largest first" },
    el("h2", {}, "Largest"),
    list,
    more,
  );
}

/** How many clusters have each size; large sizes share a column. */
function sizesChart(sizes) {
  const columns = columnsOf(sizes);
  const most = Math.max(...columns.map(([, n]) => n));
  const height = logScale(most);
  const drawing = chart(
    `Clusters by size: ${columns.map(([text, n]) => `${n} of ${text}`).join(", ")}`,
    180,
    (width, tall) => {
      const within_ = area(width, tall);
      const step = 1 / columns.length;
      const wide = Math.min(within_.w * step * 0.8, 80);
      const column = ([text, n], i) =>
        svg(
          "rect",
          {
            class: "column",
            x: within_.x(step * (i + 0.5)) - wide / 2,
            width: wide,
            y: within_.y(height(n)),
            height: within_.y(0) - within_.y(height(n)),
          },
          svg("title", {}, `${counted(n, "cluster")} of ${text} documents`),
        );
      return [
        sideAxis(within_, logTicks(most, height), "clusters"),
        columns.map(column),
        bottomAxis(
          within_,
          columns.map(([text], i) => [step * (i + 0.5), text]),
          "documents in a cluster",
        ),
      ];
    },
  );
  return el("figure", {}, drawing.node);
}

function columnsOf(sizes) {
  const columns = new Map();
  for (const [size, n] of [...sizes].sort(([a], [b]) => a - b)) {
    const from = size <= 8 ? size : 2 ** Math.floor(Math.log2(size - 1)) + 1;
    const name = size <= 8 ? String(size) : `${from}–${2 * (from - 1)}`;
    columns.set(name, (columns.get(name) ?? 0) + n);
  }
  return [...columns];
}

/** A cluster's members, as a graph and as a list; two of them are chosen and compared. */
async function showCluster(detail, context, cluster) {
  const compared = el("div", { "aria-live": "polite" });
  const chosen = cluster.members.slice(0, 2).map(({ id }) => id);
  const boxes = cluster.members.map(({ id, resemblance }) => [
    id,
    el("input", { type: "checkbox" }),
    resemblance,
  ]);
  const drawn = graph(cluster, choose);
  function choose(id) {
    if (chosen.includes(id)) return mark();
    chosen.push(id);
    chosen.shift();
    mark();
  }
  function mark() {
    for (const [id, box] of boxes) box.checked = chosen.includes(id);
    drawn.mark(chosen);
    replace(compared, el("p", { class: "hint" }, "Comparing…"));
    const [a, b] = chosen;
    compareInto(compared, context, { id: a }, { id: b }, { withBar: true }).catch(
      (error) => error.name !== "AbortError" && replace(compared, problem(error)),
    );
  }
  const member = ([id, box, resemblance]) => {
    box.addEventListener("change", () => choose(id));
    return el(
      "li",
      {},
      el(
        "label",
        {},
        box,
        el("span", { class: "id" }, cut(id, 80)),
        el("small", {}, share(resemblance)),
      ),
      el(
        "a",
        {
          href: link("lookup", { collection: context.collection, id }),
          "aria-label": `Look up ${cut(id, 80)}`,
        },
        "look up",
      ),
    );
  };
  const beyond = cluster.size - cluster.members.length;
  replace(
    detail,
    el("h2", {}, counted(cluster.size, "document")),
    el(
      "div",
      { class: "beside" },
      drawn.node,
      el(
        "fieldset",
        { class: "members" },
        el(
          "legend",
          {},
          cluster.members.some(({ resemblance }) => resemblance !== undefined)
            ? "Compare two documents (figures: similarity to the first document)"
            : "Compare two documents",
        ),
        el("ul", { class: "list" }, boxes.map(member)),
        beyond > 0 ? el("p", { class: "hint" }, `and ${count(beyond)} more`) : null,
      ),
    ),
    compared,
  );
  mark();
  await edges(drawn, context, cluster).catch(() => {});
}

/** Whoever of the members finds another is linked to it. */
async function edges(drawn, { collection, settings, signal, parameters }, cluster) {
  const probes = cluster.members.slice(0, MEMBERS_DRAWN_MAX).map(({ id }) => ({ id }));
  const threshold = Number(parameters.get("threshold")) || undefined;
  const query = {
    limit: 200,
    threshold: settings.scheme.kind === "fields" ? undefined : threshold,
  };
  const answers = await call(within(collection, "/similar"), {
    method: "POST",
    query,
    body: probes,
    signal,
  });
  const found = answers.flatMap((answer, i) =>
    (answer.matches ?? []).map(({ id, resemblance }) => [probes[i].id, id, resemblance]),
  );
  drawn.link(found);
}
