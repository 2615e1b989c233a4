// Tuning: the S-curve of a scheme over the similarities that this corpus has.

import { call, within } from "./api.js";
import { area, bottomAxis, chart, logScale, logTicks, path, sideAxis } from "./charts.js";
import { debounced, el, figure, replace, svg } from "./dom.js";
import { bytes, count, counted, duration, share } from "./format.js";
import { BINS, DOCUMENTS_EXACT_MAX, histogram, sum } from "./histogram.js";
import { problem } from "./problem.js";

const SAMPLE = 200;

export async function show(page, context) {
  const { collection, signal } = context;
  const own = await call(within(collection, "/curve"), { signal });
  const state = { own, shown: own, pairs: null };
  const drawing = chart("", 340, (width, height) => drawn(state, width, height));
  const figures = el("dl", { class: "figures", "aria-live": "polite" });
  const caption = el("figcaption", { class: "legend" });
  const fault = el("div", {});
  const redraw = () => {
    drawing.describe(described(state));
    drawing.redraw();
    replace(caption, legend(state));
    replace(figures, figuresOf(state, context));
  };
  const request = debounced(async () => {
    try {
      const query = controls.read();
      const isOwn = controls.isOwn() && query.threshold === String(own.threshold);
      state.shown = isOwn ? own : await call(within(collection, "/curve"), { query, signal });
      controls.follow(state.shown);
      replace(fault);
      redraw();
    } catch (error) {
      if (error.name !== "AbortError") replace(fault, problem(error));
    }
  }, 60);
  const controls = controlsOf(own, context.settings.scheme, request);
  replace(
    page,
    controls.node,
    fault,
    el("figure", {}, drawing.node, caption),
    figures,
    pairsPart(state, context, redraw),
    recallPart(context, () => state.shown.threshold),
  );
  redraw();
}

/** The most rows of a band that the server draws a curve for. */
const ROWS_MAX = 32;

/**
 * A slider with its value beside it. Until the slider is moved its value is the one that was set,
 * even between two steps or beyond an end, where the input itself would hold another.
 */
function slider(name, { min, max, step, value }, onchange) {
  let exact = String(value);
  const output = el("output", {}, String(value));
  const id = `slider-${name.toLowerCase().replace(" ", "-")}`;
  const input = el("input", { type: "range", id, min, max, step, value });
  const set = (to) => {
    input.value = to;
    exact = output.textContent = String(to);
  };
  input.addEventListener("input", () => {
    set(input.value);
    onchange();
  });
  const node = el("div", {}, el("label", { for: id }, name), " ", output, input);
  return { node, input, set, value: () => exact };
}

/** Only the sliders of the chosen scheme are there, so that none contradicts the figures. */
function controlsOf(own, { recall: usual }, request) {
  let scheme = "own";
  const threshold = slider(
    "Threshold",
    { min: 0.1, max: 1, step: 0.01, value: own.threshold },
    request,
  );
  const recall = slider(
    "Wanted recall",
    { min: 0.5, max: 0.999, step: 0.001, value: usual },
    request,
  );
  const rows = slider("Rows", { min: 1, max: ROWS_MAX, step: 1, value: own.rows }, fit);
  const bands = slider(
    "Bands",
    { min: 1, max: own.slots, step: 1, value: own.bands },
    request,
  );
  function fit() {
    bands.input.max = Math.floor(own.slots / Number(rows.value()));
    bands.set(Math.min(bands.value(), bands.input.max));
    request();
  }
  const enable = () => {
    recall.node.hidden = scheme !== "wanted";
    bands.node.hidden = rows.node.hidden = scheme !== "keys";
  };
  /** Whoever goes on to bands and rows begins with those that are shown. */
  const follow = (shown) => {
    if (scheme === "keys") return;
    rows.set(shown.rows);
    bands.input.max = Math.floor(own.slots / shown.rows);
    bands.set(shown.bands);
  };
  const choice = (name, text) =>
    el(
      "label",
      { class: "choice" },
      el("input", {
        type: "radio",
        name: "scheme",
        value: name,
        checked: name === scheme,
        onchange: () => {
          scheme = name;
          enable();
          request();
        },
      }),
      text,
    );
  enable();
  bands.input.max = Math.floor(own.slots / own.rows);
  const node = el(
    "form",
    { class: "controls" },
    el(
      "fieldset",
      {},
      el("legend", {}, "Scheme"),
      choice("own", "this collection's"),
      choice("wanted", "chosen for a recall"),
      choice("keys", "bands of rows"),
    ),
    el("div", { class: "sliders" }, threshold.node, recall.node, bands.node, rows.node),
  );
  const chosen = {
    own: () => ({}),
    wanted: () => ({ recall: recall.value() }),
    keys: () => ({ bands: bands.value(), rows: rows.value() }),
  };
  const read = () => ({ threshold: threshold.value(), ...chosen[scheme]() });
  return { node, read, follow, isOwn: () => scheme === "own" };
}

function drawn({ own, shown, pairs }, width, height) {
  const within_ = area(width, height);
  const { x, y } = within_;
  const tenths = Array.from({ length: 11 }, (_, i) => [i / 10, (i / 10).toFixed(1)]);
  const ticks = width < 500 ? tenths.filter((_, i) => i % 2 === 0) : tenths;
  const curve = (of, name) =>
    path(
      within_,
      of.points.map((point) => [point.similarity, point[name]]),
      name,
    );
  return [
    sideAxis(
      within_,
      [0, 0.25, 0.5, 0.75, 1].map((v) => [v, String(v)]),
      "chance",
    ),
    pairs ? columns(pairs, within_) : null,
    bottomAxis(within_, ticks, "Jaccard similarity"),
    svg("line", {
      class: "threshold",
      x1: x(shown.threshold),
      x2: x(shown.threshold),
      y1: y(0),
      y2: y(1),
    }),
    shown === own
      ? null
      : path(
          within_,
          own.points.map((p) => [p.similarity, p.found]),
          "own",
        ),
    curve(shown, "candidate"),
    curve(shown, "found"),
  ];
}

function columns(pairs, within_) {
  const { x, y, w } = within_;
  const most = Math.max(...pairs.counts);
  const height = logScale(most);
  const bars = pairs.counts.map((n, i) =>
    n === 0
      ? null
      : svg(
          "rect",
          {
            class: "column",
            x: x(i / BINS) + 0.5,
            width: w / BINS - 1,
            y: y(height(n)),
            height: y(0) - y(height(n)),
          },
          svg(
            "title",
            {},
            `${counted(n, "pair")} from ${(i / BINS).toFixed(2)} to ${((i + 1) / BINS).toFixed(2)}`,
          ),
        ),
  );
  return [bars, sideAxis(within_, logTicks(most, height), "pairs", "right")];
}

/** What is drawn, and nothing else. */
function legend({ own, shown, pairs }) {
  const key = (name, text) =>
    el(
      "span",
      {},
      svg(
        "svg",
        { width: 26, height: 12, "aria-hidden": "true" },
        name === "column"
          ? svg("rect", { class: name, x: 8, y: 1, width: 10, height: 11 })
          : svg("line", { class: `line ${name}`, x1: 1, x2: 25, y1: 6, y2: 6 }),
      ),
      " ",
      text,
    );
  return [
    key("found", "found"),
    key("candidate", "shares a probed key"),
    shown === own ? null : key("own", "found by the collection's scheme at its threshold"),
    pairs ? key("column", "pairs of this corpus") : null,
    key("threshold", "threshold"),
  ];
}

function described({ shown, pairs }) {
  return (
    `S-curve of ${shown.bands} bands of ${shown.rows} rows, ${shown.keys_probed} probed: at the threshold ${shown.threshold} ` +
    `a document is found with a chance of ${share(shown.expected_recall)}.` +
    (pairs ? ` Behind it, ${count(pairs.pairs)} pairs of this corpus by similarity.` : "")
  );
}

/** A chance at any similarity, between the points of the curve. */
function at(points, name) {
  return (similarity) => {
    const place = similarity * (points.length - 1);
    const below = Math.min(Math.floor(place), points.length - 2);
    return points[below][name] + (place - below) * (points[below + 1][name] - points[below][name]);
  };
}

function figuresOf({ shown, pairs }, { documents }) {
  const { threshold, points } = shown;
  const ofPairs = () => {
    const wanted = sum(pairs, threshold, 2);
    const found = sum(pairs, threshold, 2, at(points, "found"));
    const falsely = sum(pairs, 0, threshold, at(points, "candidate"));
    return [
      figure("Pairs over the threshold", count(wanted)),
      figure(
        "Expected recall on them",
        wanted === 0 ? "–" : share(found / wanted),
        "The chance to be found, on average over these pairs",
      ),
      // A pair is seen from both of its documents.
      figure(
        "False candidates a lookup",
        ((2 * falsely) / Math.max(1, documents)).toFixed(2),
        `Candidates under the threshold, on average; of pairs from ${pairs.from.toFixed(2)} up`,
      ),
    ];
  };
  return [
    figure("Scheme", `${shown.bands} × ${shown.rows}`, "Bands of rows"),
    figure("Keys probed", count(shown.keys_probed)),
    figure("Expected recall at the threshold", share(shown.expected_recall)),
    pairs ? ofPairs() : null,
    figure(
      "Memory a document, computed",
      bytes(shown.bytes_per_document),
      "Sketch and keys of a document of a large collection, without its id",
    ),
    shown.measured_bytes_per_document
      ? figure(
          "Memory a document, measured",
          bytes(shown.measured_bytes_per_document),
          "This collection's index with ids and passages, divided by its documents: more in a small collection",
        )
      : null,
  ];
}

/** The histogram: at once if the collection is small. */
function pairsPart(state, context, redraw) {
  const said = el("span", { class: "hint", role: "status" });
  const button = el("button", { type: "button" }, "Read the pairs of this corpus");
  const read = async () => {
    button.disabled = true;
    said.textContent = "Comparing all documents…";
    try {
      state.pairs = await histogram(context);
      const { pairs, from, isWhole, isExact } = state.pairs;
      said.textContent =
        `${counted(pairs, "pair")} of a similarity from ${from.toFixed(2)} up` +
        `${isExact ? "" : ", those that share a key"}${isWhole ? "" : "; there are more, which were not read"}`;
      redraw();
    } catch (error) {
      if (error.name !== "AbortError") said.textContent = error.message;
    }
    button.disabled = false;
  };
  button.addEventListener("click", read);
  if (context.documents <= DOCUMENTS_EXACT_MAX) read();
  return el("p", { class: "row" }, button, said);
}

/** Rounded down, so that only what misses nothing reads as 1.00. */
const two = (x) => (x === undefined ? "–" : (Math.floor(100 * x + 1e-9) / 100).toFixed(2));

/** "0.98 (88 of 90 pairs)". */
function found(recall, pairs) {
  if (pairs === 0) return "– (there are none)";
  return `${two(recall)} (${count(recall * pairs)} of ${counted(pairs, "pair")})`;
}

/** Recall as it is measured, of the collection as it stands. */
function recallPart({ collection, signal }, threshold) {
  const said = el(
    "span",
    { class: "hint", role: "status" },
    `Looks up at most ${SAMPLE} random documents, and compares each with all documents to see what is missing.`,
  );
  const button = el("button", { type: "button" }, "Measure recall");
  button.addEventListener("click", async () => {
    button.disabled = true;
    said.textContent = "Measuring…";
    try {
      const query = { sample: SAMPLE, threshold: threshold() };
      const measured = await call(within(collection, "/recall"), { query, signal });
      said.textContent =
        measured.pairs === 0
          ? "No document of the sample has a near-duplicate at this threshold."
          : `Measured at ${measured.threshold}: recall ${found(measured.recall, measured.pairs)};` +
            ` of pairs with unlike sets ${found(measured.recall_unequal, measured.pairs_unequal)};` +
            ` precision ${two(measured.precision)}; ${counted(measured.sampled, "document")} looked up in` +
            ` ${duration(measured.took_us / 1e6)}, by the collection's own scheme.`;
    } catch (error) {
      if (error.name !== "AbortError") said.textContent = error.message;
    }
    button.disabled = false;
  });
  return el("p", { class: "row" }, button, said);
}
