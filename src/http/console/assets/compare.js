// Compare: two documents beside each other, while they are being typed.

import { compareInto } from "./comparison.js";
import { debounced, el, replace } from "./dom.js";
import { probeInput } from "./probe.js";
import { problem } from "./problem.js";
import { note } from "./route.js";

const TYPING_PAUSE_MS = 250;

export function show(page, context) {
  const { parameters, signal } = context;
  const result = el("section", { "aria-label": "Comparison", "aria-live": "polite" });
  let running = new AbortController();
  const compare = async () => {
    running.abort();
    running = new AbortController();
    const own = { ...context, signal: AbortSignal.any([signal, running.signal]) };
    const [left, right] = [a.read(), b.read()];
    note({ a: left?.id, b: right?.id });
    if (!left || !right)
      return replace(
        result,
        el("p", { class: "hint" }, "Two documents are compared as soon as there are two."),
      );
    try {
      await compareInto(result, own, left, right, { withBar: true });
    } catch (error) {
      if (error.name !== "AbortError") replace(result, problem(error));
    }
  };
  const onchange = debounced(compare, TYPING_PAUSE_MS);
  const a = probeInput("Left", context, { onchange, id: parameters.get("a") ?? "" });
  const b = probeInput("Right", context, { onchange, id: parameters.get("b") ?? "" });
  replace(page, el("div", { class: "columns" }, a.node, b.node), result);
  compare();
}
