// Makes elements. Whatever comes from the server becomes text or an attribute's value, never
// markup: nothing is parsed as HTML anywhere, and the content security policy forbids inline
// scripts besides.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes that are functions are listeners: `{onclick: …}`. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export function replace(node, ...children) {
  node.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined),
  );
}

/** A term, its value and what it means, for `<dl>`. */
export function figure(term, value, hint) {
  const explained = hint ? el("dd", { class: "hint" }, hint) : null;
  return el("div", { class: "figure" }, el("dt", {}, term), el("dd", {}, value), explained);
}

export function table(caption, heads, rows) {
  const head = el(
    "tr",
    {},
    heads.map((name) => el("th", { scope: "col" }, name)),
  );
  const body = rows.map((cells) =>
    el(
      "tr",
      {},
      cells.map((cell) => el("td", {}, cell)),
    ),
  );
  // It scrolls by itself on a narrow screen, so it must be reachable by keyboard.
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, body)),
  );
}

export function select(options, value) {
  const made = options.map(([name, text]) =>
    el("option", { value: name, selected: name === value }, text),
  );
  return el("select", {}, made);
}

/** Calls `act` once `ms` have passed without another call. */
export function debounced(act, ms) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, ms);
  };
}
