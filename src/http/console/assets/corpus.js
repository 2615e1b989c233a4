// Corpus: what the collection holds and what the server does, live.

import { call, text, within } from "./api.js";
import { sparkline } from "./charts.js";
import { el, figure, replace, table } from "./dom.js";
import { bytes, count, counted, duration, share, time } from "./format.js";
import { parsed, routes, value } from "./metrics.js";
import { problem } from "./problem.js";
import { link } from "./route.js";

const INTERVAL_MS = 2000;
/** Points of the rate's course: two minutes. */
const COURSE = 60;
const COLLECTIONS_SHOWN = 20;
const ROUTES_SHOWN = 10;

export function show(page, context) {
  const parts = Object.fromEntries(
    ["figures", "rate", "discoveries", "slow", "collections", "snapshots"].map((name) => [
      name,
      el("section", { class: "live" }),
    ]),
  );
  const fault = el("div", {});
  replace(
    page,
    fault,
    parts.figures,
    parts.rate,
    parts.discoveries,
    parts.snapshots,
    parts.collections,
    parts.slow,
  );
  const course = { last: null, rates: [] };
  const poll = async () => {
    try {
      await refresh(parts, context, course);
      replace(fault);
    } catch (error) {
      if (error.name !== "AbortError") replace(fault, problem(error));
    }
  };
  repeat(poll, context.signal);
}

/** Once a time, never twice at the same time, and not while nobody looks. */
async function repeat(act, signal) {
  while (!signal.aborted) {
    if (!document.hidden) await act();
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, INTERVAL_MS);
      signal.addEventListener(
        "abort",
        () => {
          clearTimeout(timer);
          resolve();
        },
        { once: true },
      );
    });
  }
}

async function refresh(parts, context, course) {
  const { collection, signal } = context;
  const [stats, described, { snapshots }, samples] = await Promise.all([
    call(within(collection, "/stats"), { signal }),
    call(within(collection, ""), { signal }),
    call(within(collection, "/snapshots"), { signal }),
    // A key may not permit metrics.
    text("metrics", { signal })
      .then(parsed)
      .catch(() => null),
  ]);
  const listed = await collections(context);
  if (signal.aborted) return;
  notePace(course, stats);
  replace(parts.figures, figures(stats, described, samples));
  replace(parts.rate, rate(course));
  replace(parts.discoveries, discoveries(stats));
  keepFocus(parts.snapshots, () =>
    replace(parts.snapshots, snapshotsPart(snapshots, stats, context)),
  );
  keepFocus(parts.collections, () => replace(parts.collections, collectionsPart(listed)));
  keepFocus(parts.slow, () => replace(parts.slow, slow(samples)));
}

/** Redraws a part without taking the keyboard's place away. */
function keepFocus(part, redraw) {
  const all = () => [...part.querySelectorAll("a, button, [tabindex]")];
  const at = all().indexOf(document.activeElement);
  redraw();
  if (at >= 0) all()[at]?.focus({ preventScroll: true });
}

function notePace(course, { sequence, documents }) {
  const now = performance.now();
  const { last } = course;
  course.last = { now, sequence, documents };
  if (!last) return;
  const seconds = (now - last.now) / 1000;
  course.rates.push(Math.max(0, (sequence - last.sequence) / seconds));
  course.rates.splice(0, course.rates.length - COURSE);
}

function figures(stats, described, samples) {
  const metric = (name) => (samples ? value(samples, name) : undefined);
  return el(
    "dl",
    { class: "figures" },
    figure("Documents", count(stats.documents)),
    figure(
      "Distinct sets",
      count(stats.distinct_sets),
      "Documents with equal sets are indexed once",
    ),
    figure("Index", [
      bytes(stats.index_bytes),
      stats.bytes_per_document
        ? el("small", {}, ` ${bytes(stats.bytes_per_document)} a document`)
        : null,
    ]),
    figure("On disk", [
      bytes(stats.database_bytes),
      el("small", {}, ` log ${bytes(stats.wal_bytes)}`),
    ]),
    figure(
      "Skew",
      described.postings_skew === undefined ? "–" : `${described.postings_skew.toFixed(1)} ×`,
      "The fullest key, divided by the average: high if many documents come from a template",
    ),
    figure(
      "Fullest key",
      counted(stats.postings_longest, "set"),
      "Sets that share one key of their sketches: a lookup by this key may read them all",
    ),
    samples
      ? figure("Memory of the process", bytes(metric("process_resident_memory_bytes")))
      : null,
    samples ? figure("Requests in flight", count(metric("akin_http_requests_in_flight"))) : null,
    figure("Up", [duration(stats.uptime_s), el("small", {}, ` version ${stats.version}`)]),
  );
}

function rate({ rates }) {
  const now = rates.at(-1);
  return [
    el("h2", {}, "Writes"),
    el(
      "div",
      { class: "row rate" },
      el("strong", { class: "number" }, now === undefined ? "…" : `${count(now)} / s`),
      sparkline(
        `Writes a second in the last ${counted((rates.length * INTERVAL_MS) / 1000, "second")}`,
        rates,
      ),
      el("span", { class: "hint" }, "additions, replacements and removals"),
    ),
  ];
}

function discoveries(stats) {
  if (stats.discoveries.length === 0) return null;
  const rows = stats.discoveries.map((one) => [
    one.kind,
    String(one.threshold),
    one.mode,
    one.stage,
    `${count(one.done)} of ${count(one.total)}`,
    count(one.found),
  ]);
  return table(
    "Discoveries under way",
    ["kind", "threshold", "mode", "stage", "done", "found"],
    rows,
  );
}

function snapshotsPart(snapshots, stats, { collection, signal }) {
  const said = el(
    "span",
    { class: "hint", role: "status" },
    `${counted(stats.log_rows, "write")} since the last one`,
  );
  const take = el("button", { type: "button" }, "Take a snapshot");
  take.addEventListener("click", async () => {
    const path = within(collection, "/snapshots");
    await call(path, { method: "POST", signal }).then(
      () => (said.textContent = "started"),
      (error) => (said.textContent = error.message),
    );
  });
  const rows = snapshots.map((one) => [
    time(one.created_at),
    count(one.documents),
    bytes(one.bytes),
  ]);
  return [
    el("h2", {}, "Snapshots"),
    rows.length > 0
      ? table("Complete snapshots of the index", ["created", "documents", "size"], rows)
      : null,
    el("p", { class: "row" }, take, said),
  ];
}

async function collections({ signal }) {
  const { collections: open, unavailable = [] } = await call("collections", { signal });
  const names = open.map(({ name }) => name);
  const shown = names.slice(0, COLLECTIONS_SHOWN);
  const described = await Promise.all(
    shown.map((name) => call(within(name, ""), { signal }).catch(() => ({ name }))),
  );
  return { described, beyond: names.length - shown.length, unavailable };
}

function collectionsPart({ described, beyond, unavailable }) {
  const rows = described.map((one) => [
    el("a", { href: link("corpus", { collection: one.name }) }, one.name),
    count(one.documents),
    bytes(one.index_bytes),
    bytes(one.database_bytes),
    one.settings ? `${one.settings.scheme.kind}, ${share(one.settings.scheme.threshold)}` : "–",
  ]);
  return [
    el("h2", {}, "Collections"),
    table("Collections", ["name", "documents", "index", "on disk", "scheme, threshold"], rows),
    beyond > 0 ? el("p", { class: "hint" }, `and ${count(beyond)} more`) : null,
    unavailable.length > 0
      ? el(
          "p",
          { class: "problem" },
          `Could not be opened: ${unavailable.map(({ name }) => name).join(", ")}. The server's log says why.`,
        )
      : null,
  ];
}

/** A path that may continue on the next line after each slash. */
const breakable = (path) => path.split(/(?<=[^ ]\/)/).flatMap((part) => [part, el("wbr")]);

function slow(samples) {
  if (!samples)
    return el(
      "p",
      { class: "hint" },
      "This key does not permit metrics, so there is nothing about what is slow.",
    );
  const rows = routes(samples)
    .slice(0, ROUTES_SHOWN)
    .map(({ route, requests, seconds, p99 }) => [
      el("code", {}, breakable(route)),
      count(requests),
      duration(seconds / requests),
      p99 === Infinity ? "–" : `≤ ${duration(p99)}`,
      duration(seconds),
    ]);
  return [
    el("h2", {}, "Where the time went since the start"),
    table(
      "Requests since the start, by route",
      ["route", "requests", "average", "99 %", "in all"],
      rows,
    ),
  ];
}
