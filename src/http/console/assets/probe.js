// The input of a probe: a text that is typed, pasted or dropped as a file, the id of a stored
// document, or, in a collection of records, fields.

import { call, within } from "./api.js";
import { debounced, el, replace } from "./dom.js";

const FILE_BYTES_MAX = 8 << 20;
const SUGGESTIONS = 8;
let made = 0;

/** `onchange` is called when the probe has changed; `read()` returns it, or null. */
export function probeInput(legend, context, { onchange = () => {}, id = "", text = "" } = {}) {
  const content = contentInput(context.settings, text);
  const stored = idInput(context, id);
  content.node.addEventListener("input", () => {
    stored.input.value = "";
    onchange();
  });
  stored.input.addEventListener("input", () => {
    content.clear();
    onchange();
  });
  const node = el(
    "fieldset",
    { class: "probe" },
    el("legend", {}, legend),
    content.node,
    el("div", { class: "row" }, stored.node, content.file),
  );
  return {
    node,
    read: () => (stored.input.value ? { id: stored.input.value } : content.read()),
  };
}

/** What a document or a probe contains: fields in a collection of records, else a text. */
export function contentInput({ scheme }, text = "") {
  const fields = scheme.fields ?? [];
  return fields.length > 0 ? fieldsInput(fields) : textInput(text);
}

/** A form of a probe with options; `find` is called by its button and by Ctrl+Enter. */
export function probeForm(probe, options, action, find) {
  const form = el(
    "form",
    {},
    probe.node,
    options.node,
    el(
      "div",
      { class: "row" },
      el("button", { class: "primary" }, action),
      el("span", { class: "hint" }, "Ctrl+Enter"),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return form;
}

function textInput(value) {
  const area = el("textarea", {
    "aria-label": "Text",
    rows: 5,
    spellcheck: "false",
    value,
    placeholder: "Type or paste a text, or drop a file here",
  });
  const said = el("span", { class: "hint", role: "status" });
  const read = async (file) => {
    said.textContent = file.size > FILE_BYTES_MAX ? `${file.name} is larger than 8 MiB.` : "";
    if (file.size > FILE_BYTES_MAX) return;
    area.value = await file.text();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  onDrop(area, read);
  const input = el("input", {
    type: "file",
    class: "hidden",
    onchange: () => input.files[0] && read(input.files[0]),
  });
  return {
    node: area,
    file: [el("label", { class: "file" }, "Open a file", input), said],
    read: () => (area.value.trim() ? { text: area.value } : null),
    clear: () => (area.value = ""),
  };
}

function onDrop(area, read) {
  const over = (is) => (event) => {
    event.preventDefault();
    area.classList.toggle("over", is);
  };
  area.addEventListener("dragover", over(true));
  area.addEventListener("dragleave", over(false));
  area.addEventListener("drop", (event) => {
    over(false)(event);
    const { files } = event.dataTransfer;
    if (files.length > 0) return read(files[0]);
    area.value = event.dataTransfer.getData("text/plain");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

function fieldsInput(names) {
  const inputs = names.map((name) => [name, el("input", { spellcheck: "false" })]);
  const node = el(
    "div",
    { class: "fields" },
    inputs.map(([name, input]) => el("label", {}, name, input)),
  );
  return {
    node,
    read: () => {
      const filled = inputs
        .filter(([, input]) => input.value)
        .map(([name, input]) => [name, input.value]);
      return filled.length > 0 ? { fields: Object.fromEntries(filled) } : null;
    },
    clear: () => inputs.forEach(([, input]) => (input.value = "")),
  };
}

/** Suggests the stored ids that follow what is typed. */
function idInput({ collection, signal }, value) {
  const list = el("datalist", { id: `ids-${(made += 1)}` });
  const input = el("input", {
    list: list.id,
    value,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "an id",
  });
  const suggest = debounced(async () => {
    const query = { after: input.value, limit: SUGGESTIONS };
    const { ids } = await call(within(collection, "/documents"), { query, signal }).catch(() => ({
      ids: [],
    }));
    replace(
      list,
      ids.filter((id) => id.startsWith(input.value)).map((id) => el("option", { value: id })),
    );
  }, 150);
  input.addEventListener("input", suggest);
  input.addEventListener("focus", suggest);
  return { node: [el("label", { class: "inline" }, "or a stored document", input), list], input };
}
