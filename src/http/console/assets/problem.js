import { el } from "./dom.js";

/** What is wrong, with a link to what to do about it. */
export function problem(error) {
  const more =
    error.type?.startsWith("/docs/") &&
    el("a", { href: error.type.slice(1) }, "What to do about it");
  return el("p", { class: "problem", role: "alert" }, error.message, more ? [" ", more] : null);
}
