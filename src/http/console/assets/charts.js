// Drawings in SVG, redrawn when their width changes. Colours come from the style sheet.

import { svg } from "./dom.js";

const percent = (x) => `${(100 * x).toFixed(2)}%`;

/**
 * Exact and estimated similarity on a scale from 0 to 1: a bar, and a point with its interval.
 * `estimated` is `[value, low, high]`.
 */
export function bar({ exact, estimated, threshold }) {
  const said = [
    exact === undefined ? null : `exact ${exact.toFixed(3)}`,
    estimated
      ? `estimated ${estimated[0].toFixed(3)}, interval ${estimated[1].toFixed(3)} to ${estimated[2].toFixed(3)}`
      : null,
  ]
    .filter(Boolean)
    .join("; ");
  return svg(
    "svg",
    { class: "similarity", role: "img", "aria-label": said, height: 18 },
    svg("rect", { class: "track", y: 5, height: 8, width: "100%", rx: 2 }),
    exact === undefined
      ? null
      : svg("rect", { class: "value", y: 5, height: 8, width: percent(exact), rx: 2 }),
    threshold === undefined
      ? null
      : svg("line", {
          class: "threshold",
          x1: percent(threshold),
          x2: percent(threshold),
          y1: 0,
          y2: 18,
        }),
    estimated ? whisker(estimated) : null,
  );
}

function whisker([value, low, high]) {
  const cap = (x) => svg("line", { x1: percent(x), x2: percent(x), y1: 5, y2: 13 });
  return svg(
    "g",
    { class: "whisker" },
    svg("line", { x1: percent(low), x2: percent(high), y1: 9, y2: 9 }),
    cap(low),
    cap(high),
    svg("circle", { cx: percent(value), cy: 9, r: 3.5 }),
  );
}

/** A chart that `draw(width, height)` fills again whenever its width changes. */
export function chart(label, height, draw) {
  const node = svg("svg", { class: "chart", role: "img", "aria-label": label, height });
  let width = 0;
  const redraw = () =>
    width > 0 && node.replaceChildren(...draw(width, height).flat(Infinity).filter(Boolean));
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === width) return;
    width = contentRect.width;
    redraw();
  }).observe(node);
  return { node, redraw, describe: (text) => node.setAttribute("aria-label", text) };
}

export const MARGIN = { left: 44, right: 44, top: 14, bottom: 38 };

/** The area between the axes, with functions from values in 0..1 to coordinates. */
export function area(width, height) {
  const [w, h] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  return { w, h, x: (v) => MARGIN.left + v * w, y: (v) => MARGIN.top + (1 - v) * h };
}

/** `ticks` are `[0..1, text]`. */
export function bottomAxis({ w, x, y }, ticks, label) {
  const tick = ([at, text]) => [
    svg("line", { class: "axis", x1: x(at), x2: x(at), y1: y(0), y2: y(0) + 4 }),
    svg("text", { x: x(at), y: y(0) + 17, "text-anchor": "middle" }, text),
  ];
  return [
    svg("line", { class: "axis", x1: x(0), x2: x(1), y1: y(0), y2: y(0) }),
    ticks.map(tick),
    svg("text", { x: x(0) + w / 2, y: y(0) + 33, "text-anchor": "middle" }, label),
  ];
}

export function sideAxis({ x, y, h }, ticks, label, side = "left") {
  const isLeft = side === "left";
  const at = isLeft ? x(0) : x(1);
  const tick = ([value, text]) => [
    isLeft ? svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(value), y2: y(value) }) : null,
    svg(
      "text",
      { x: at + (isLeft ? -6 : 6), y: y(value) + 4, "text-anchor": isLeft ? "end" : "start" },
      text,
    ),
  ];
  const middle = y(0) - h / 2;
  const beside = at + (isLeft ? -34 : 38);
  return [
    ticks.map(tick),
    svg(
      "text",
      {
        transform: `rotate(-90 ${beside} ${middle})`,
        x: beside,
        y: middle,
        "text-anchor": "middle",
      },
      label,
    ),
  ];
}

/** A line through `[x, y]`, both in 0..1. */
export function path({ x, y }, points, name) {
  const to = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`);
  return svg("path", { class: `line ${name}`, d: `M${to.join("L")}` });
}

/** Counts as heights on a logarithmic scale: 0 stays 0, 1 is seen, and the most is 1. */
export function logScale(most) {
  const top = Math.log10(Math.max(most, 9) + 1);
  return (n) => Math.log10(n + 1) / top;
}

/** 1, 10, 100, … up to the most, at their heights. */
export function logTicks(most, height) {
  const ticks = [];
  for (let n = 1; n <= Math.max(most, 9); n *= 10)
    ticks.push([height(n), n >= 1000 ? `${n / 1000}k` : String(n)]);
  return ticks;
}

/** The course of a value in time. */
export function sparkline(label, values) {
  const most = Math.max(1, ...values);
  const points = values.map(
    (value, i) => `${(i / Math.max(1, values.length - 1)) * 100},${30 - (28 * value) / most}`,
  );
  return svg(
    "svg",
    {
      class: "sparkline",
      role: "img",
      "aria-label": label,
      viewBox: "0 0 100 32",
      preserveAspectRatio: "none",
    },
    svg("polyline", { points: points.join(" ") }),
  );
}
