// The frame around the pages: navigation, the collection, the key.

import { call, key, onKeyNeeded, within } from "./api.js";
import { el, replace } from "./dom.js";
import { current, link } from "./route.js";
import { problem } from "./problem.js";
import { firstStep } from "./start.js";
import * as documents from "./documents.js";
import * as lookup from "./lookup.js";
import * as compare from "./compare.js";
import * as passages from "./passages.js";
import * as clusters from "./clusters.js";
import * as tuning from "./tuning.js";
import * as corpus from "./corpus.js";

const PAGES = {
  lookup: ["Look up", lookup],
  documents: ["Documents", documents],
  compare: ["Compare", compare],
  passages: ["Passages", passages],
  clusters: ["Clusters", clusters],
  tuning: ["Tuning", tuning],
  corpus: ["Corpus", corpus],
};

const at = (id) => document.getElementById(id);
let shown = new AbortController();

async function show() {
  const { page, parameters } = current();
  // Not `PAGES[page]`: every object has a `__proto__` and a `toString`.
  if (!Object.hasOwn(PAGES, page)) return location.replace(link("lookup"));
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const [title, module] = PAGES[page];
  document.title = `${title} · akin`;
  drawNavigation(page, parameters.get("collection"));
  const main = at("main");
  replace(main, el("p", { class: "hint" }, "Loading…"));
  try {
    const collection = await choose(parameters.get("collection"));
    const { settings, documents } = await call(within(collection, ""), { signal });
    await checkOrigin(collection, signal);
    if (signal.aborted) return;
    const body = el("div", { class: "page" });
    const context = { collection, settings, documents, parameters, signal };
    const added = (id) => (location.hash = link("documents", { collection, id }));
    const first = documents === 0 ? firstStep(context, added) : null;
    replace(main, el("h1", {}, title), first, body);
    await module.show(body, context);
  } catch (error) {
    if (error.name !== "AbortError" && !signal.aborted) main.append(problem(error));
    main.querySelector(":scope > .hint")?.remove();
  }
}

function drawNavigation(page, collection) {
  const entry = ([name, [title]]) =>
    el(
      "a",
      {
        href: link(name, { collection }),
        "aria-current": name === page ? "page" : undefined,
      },
      title,
    );
  replace(at("nav"), Object.entries(PAGES).map(entry));
  // On a narrow screen the pages are a row that scrolls.
  at("nav").querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "center" });
}

/** The collection of the address if there is one, and the list of all. */
async function choose(wanted) {
  const { collections } = await call("collections");
  const names = collections.map(({ name }) => name);
  const chosen = wanted ?? (names.includes("default") ? "default" : (names[0] ?? "default"));
  if (!names.includes(chosen)) names.push(chosen);
  replace(
    at("collection"),
    names.map((name) => el("option", { value: name }, name)),
  );
  at("collection").value = chosen;
  return chosen;
}

let originIsChecked = false;

/**
 * Browsers say where a page comes from only with calls that may change something, so a server that
 * refuses this page's origin refuses nothing until then. A call that reads no document asks at once.
 */
async function checkOrigin(collection, signal) {
  if (originIsChecked) return;
  const nothing = { method: "POST", body: { ids: [] }, signal };
  try {
    await call(within(collection, "/fetch"), nothing);
  } catch (error) {
    // Another refusal is for the page to meet and to show.
    if (error.name === "AbortError" || error.code === "foreign_origin") throw error;
  }
  originIsChecked = true;
}

/** Whether the reader has given another key. */
function askForKey(reason) {
  const dialog = at("key-dialog");
  at("key-reason").textContent = reason ?? "";
  at("key-value").value = "";
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        const value = at("key-value").value.trim();
        if (dialog.returnValue === "use" && value) key.set(value);
        if (dialog.returnValue === "forget") key.forget();
        at("key-value").value = "";
        resolve(dialog.returnValue === "use" && value !== "");
      },
      { once: true },
    );
  });
}

/** 1 to 7 open the pages, and / leads to the first field, where nothing is being typed. */
function onKey(event) {
  const typing = event.target.closest("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Object.keys(PAGES)[Number(event.key) - 1];
  if (page) location.hash = link(page, { collection: at("collection").value });
  if (event.key === "/") {
    event.preventDefault();
    at("main").querySelector("textarea, input, select, button")?.focus();
  }
}

onKeyNeeded(askForKey);
addEventListener("hashchange", show);
addEventListener("keydown", onKey);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("main").focus();
});
at("collection").addEventListener("change", () => {
  location.hash = link(current().page, { collection: at("collection").value });
});
at("key").addEventListener("click", async () => {
  const had = key.get();
  if (
    (await askForKey(had ? "There is a key; another replaces it." : "No key is set.")) ||
    had !== key.get()
  )
    show();
});
show();
