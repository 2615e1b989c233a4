// The beginning of a document in a line.

import { cut } from "./format.js";

const CHARACTERS = 160;

/** Of a text, a record or a set; nothing where the collection keeps none. */
export function beginning({ text, fields, tokens }) {
  if (text !== undefined) return cut(text.slice(0, 4 * CHARACTERS).replace(/\s+/g, " "), CHARACTERS);
  if (fields !== undefined) {
    const all = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    return cut(all.join(" · "), CHARACTERS);
  }
  if (tokens === undefined) return "";
  const first = tokens.slice(0, CHARACTERS);
  return cut(first.map((token) => [token].flat().join(" × ")).join(", "), CHARACTERS);
}
