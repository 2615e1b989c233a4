// An empty collection: how the first document gets there, by a form or from a shell.

import { call, key, within } from "./api.js";
import { el, replace } from "./dom.js";
import { quoted } from "./format.js";
import { contentInput } from "./probe.js";
import { problem } from "./problem.js";

const TEXT = "The night bus will stop at the old fish market instead of the pier.";

/** `onadded(id)` is called once the form has stored a document. */
export function firstStep({ collection, settings, signal }, onadded) {
  const fields = settings.scheme.fields ?? [];
  const values = Object.fromEntries(fields.map((name) => [name, "a value"]));
  const example = fields.length > 0 ? { fields: values } : { text: TEXT };
  const path = within(collection, "/documents");
  const id = el("input", { value: "news/1", required: true, autocomplete: "off", spellcheck: "false" });
  const content = contentInput(settings, fields.length > 0 ? "" : TEXT);
  const fault = el("div", {});
  const form = el(
    "form",
    {},
    el("label", {}, "Id", id),
    content.node,
    el("div", { class: "row" }, el("button", { class: "primary" }, "Add the document"), content.file),
    fault,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await call(path, { method: "POST", body: { id: id.value, ...content.read() }, signal });
      onadded(id.value);
    } catch (error) {
      if (error.name !== "AbortError") replace(fault, problem(error));
    }
  });
  return el(
    "section",
    { class: "first" },
    el("h2", {}, "The collection is empty: add a first document"),
    form,
    el("p", {}, "Or in a shell, a document by curl, and the documents of a file by akin:"),
    el("pre", { class: "command", tabindex: 0 }, inShell(path, example, collection)),
  );
}

function inShell(path, example, collection) {
  const { href: root } = new URL(".", document.baseURI);
  const header = key.get() === null ? "" : ' -H "Authorization: Bearer $AKIN_API_KEY"';
  const curl = `curl${header} ${quoted(root + path)} --json ${quoted(JSON.stringify({ id: "news/1", ...example }))}`;
  const into = collection === "default" ? "" : ` --collection ${quoted(collection)}`;
  return `${curl}\nakin import pages.jsonl --url ${quoted(root)}${into}`;
}
