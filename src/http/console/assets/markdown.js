// As much of Markdown as the descriptions of the API have: paragraphs, lists, tables, code, links,
// emphasis.

import { el, table } from "./dom.js";

const INLINE = /`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|\*([^*]+)\*/g;

/** Text with inline markup, as nodes. */
function inline(text) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, name, address, strong, emphasis] = match;
    nodes.push(text.slice(at, match.index));
    if (code) nodes.push(el("code", {}, code));
    else if (name) nodes.push(el("a", { href: address }, el("code", {}, name)));
    else nodes.push(strong ? el("strong", {}, strong) : el("em", {}, emphasis));
    at = match.index + whole.length;
  }
  nodes.push(text.slice(at));
  return nodes;
}

function block(text) {
  const rows = text.split("\n");
  if (rows[0].startsWith("|")) {
    const [head, , ...body] = rows.map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => inline(cell.trim())),
    );
    return table("Table", head, body);
  }
  if (/^[-*] /.test(rows[0])) {
    const items = text.split(/\n(?=[-*] )/).map((item) => el("li", {}, inline(item.slice(2))));
    return el("ul", {}, items);
  }
  return el("p", {}, inline(text));
}

export function blocks(text) {
  return (text ?? "")
    .split(/\n{2,}/)
    .filter((part) => part.trim())
    .map((part) => block(part.trim()));
}
