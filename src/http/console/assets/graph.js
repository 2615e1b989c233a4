// A small graph of a cluster: near members attract each other, all repel.

import { el, svg } from "./dom.js";
import { count, cut } from "./format.js";

export const MEMBERS_DRAWN_MAX = 60;
const SIZE = 320;
const ROUNDS = 200;

/** `choose(id)` is called for the member that is clicked. */
export function graph(cluster, choose) {
  const ids = cluster.members.slice(0, MEMBERS_DRAWN_MAX).map(({ id }) => id);
  const beyond = cluster.size - ids.length;
  const picture = svg("svg", {
    class: "graph",
    viewBox: `0 0 ${SIZE} ${SIZE}`,
    role: "img",
    "aria-label": `${ids.length} members of the cluster, and which of them are similar`,
  });
  const links = svg("g", {});
  // Who uses a keyboard chooses in the list, which has the same members.
  const nodes = ids.map((id) =>
    svg(
      "circle",
      { r: 7, class: "node", onclick: () => choose(id) },
      svg("title", {}, cut(id, 200)),
    ),
  );
  picture.append(links, ...nodes);
  place(nodes, arranged(ids.length, []));
  return {
    node: el(
      "figure",
      {},
      picture,
      el(
        "figcaption",
        { class: "legend" },
        key(dot("of-node"), "a document"),
        key(dot("of-node chosen"), "one of the two compared"),
        key(
          [0.2, 1].map((opacity, i) => stroke(1 + 17 * i, opacity)),
          "near-duplicates, the more alike the stronger",
        ),
        beyond > 0 ? el("span", {}, `${count(beyond)} more are not drawn`) : null,
      ),
    ),
    mark: (chosen) =>
      nodes.forEach((node, i) => node.classList.toggle("chosen", chosen.includes(ids[i]))),
    link: (found) => {
      const edges = edgesOf(ids, found);
      const at = arranged(ids.length, edges);
      place(nodes, at);
      links.replaceChildren(...edges.map(([a, b, similarity]) => line(at[a], at[b], similarity)));
    },
  };
}

function key(drawn, text) {
  const wide = Array.isArray(drawn) ? 32 : 12;
  const picture = svg("svg", { width: wide, height: 12, "aria-hidden": "true" }, drawn);
  return el("span", {}, picture, " ", text);
}

const stroke = (x1, opacity) =>
  svg("line", { class: "of-edge", x1, x2: x1 + 13, y1: 6, y2: 6, "stroke-opacity": opacity });

const dot = (name) => svg("circle", { class: name, cx: 6, cy: 6, r: 5 });

/** Each pair once, as numbers of members. */
function edgesOf(ids, found) {
  const number = new Map(ids.map((id, i) => [id, i]));
  const edges = new Map();
  for (const [from, to, similarity] of found) {
    const [a, b] = [number.get(from), number.get(to)].sort((x, y) => x - y);
    if (a !== undefined && b !== undefined) edges.set(`${a} ${b}`, [a, b, similarity]);
  }
  return [...edges.values()];
}

function line([x1, y1], [x2, y2], similarity) {
  const strength = Math.max(0.12, (similarity - 0.4) / 0.6);
  return svg(
    "line",
    { class: "edge", x1, y1, x2, y2, "stroke-opacity": strength.toFixed(2) },
    svg("title", {}, similarity.toFixed(3)),
  );
}

function place(nodes, at) {
  nodes.forEach((node, i) => {
    node.setAttribute("cx", at[i][0]);
    node.setAttribute("cy", at[i][1]);
  });
}

/** The same members and edges always give the same picture: it starts from a circle. */
function arranged(n, edges) {
  const at = Array.from({ length: n }, (_, i) => {
    const angle = (2 * Math.PI * i) / n;
    // Not quite a circle: on one, forces could cancel out.
    return [Math.cos(angle) * (1 + (i % 3) / 10), Math.sin(angle) * (1 + (i % 3) / 10)];
  });
  const rest = 1 / Math.sqrt(Math.max(n, 1));
  for (let round = 0; edges.length > 0 && round < ROUNDS; round += 1)
    step(at, edges, rest, 0.1 * (1 - round / ROUNDS));
  return fitted(at);
}

/** Moves each member by at most `most` (Fruchterman and Reingold 1991). */
function step(at, edges, rest, most) {
  const force = at.map(() => [0, 0]);
  const push = (i, j, strength) => {
    const [dx, dy] = [at[i][0] - at[j][0], at[i][1] - at[j][1]];
    const distance = Math.hypot(dx, dy) || 1e-6;
    const by = strength(distance) / distance;
    force[i][0] += dx * by;
    force[i][1] += dy * by;
    force[j][0] -= dx * by;
    force[j][1] -= dy * by;
  };
  for (let i = 0; i < at.length; i += 1) {
    for (let j = 0; j < i; j += 1) push(i, j, (distance) => (rest * rest) / distance);
  }
  for (const [a, b, similarity] of edges)
    push(a, b, (distance) => (-distance * distance * similarity) / rest);
  at.forEach((point, i) => {
    const length = Math.hypot(...force[i]) || 1;
    point[0] += (force[i][0] / length) * Math.min(length, most);
    point[1] += (force[i][1] / length) * Math.min(length, most);
  });
}

function fitted(at) {
  const border = 20;
  const [xs, ys] = [at.map(([x]) => x), at.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const span = Math.max(Math.max(...xs) - left, Math.max(...ys) - top) || 1;
  const scale = (SIZE - 2 * border) / span;
  const shift = (values, least) => (SIZE - (Math.max(...values) - least) * scale) / 2;
  const [dx, dy] = [shift(xs, left), shift(ys, top)];
  return at.map(([x, y]) =>
    [(x - left) * scale + dx, (y - top) * scale + dy].map((v) => Number(v.toFixed(1))),
  );
}
