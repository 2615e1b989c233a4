// Which parts of a text belong to which group of places, where places overlap.

/** The place in units of UTF-16 of a place in code points. */
export function units(text, { start, end }) {
  const steps = stepsOf(text);
  return [unit(text, steps, start), unit(text, steps, end)];
}

const STEP = 1024;
let last = { text: undefined, steps: undefined };

/** The units before each 1,024th code point. */
function stepsOf(text) {
  if (last.text === text) return last.steps;
  const steps = [0];
  let points = 0;
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) {
    if (points > 0 && points % STEP === 0) steps.push(at);
    points += 1;
  }
  last = { text, steps };
  return steps;
}

function unit(text, steps, point) {
  const step = Math.min(Math.floor(point / STEP), steps.length - 1);
  let at = steps[step];
  for (let left = point - step * STEP; left > 0 && at < text.length; left -= 1)
    at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}

/**
 * Disjoint pieces `{from, to, group, others}` in order: a piece belongs to the first group that has
 * it, and `others` is the number of further groups. A group is a list of ranges `[from, to]`.
 */
export function pieces(groups) {
  const ranges = groups.map(merged);
  const bounds = [...new Set(ranges.flat(2))].sort((a, b) => a - b);
  const place = new Map(bounds.map((bound, at) => [bound, at]));
  const owner = new Array(bounds.length).fill(-1);
  const change = new Array(bounds.length + 1).fill(0);
  // The next part without an owner.
  const next = bounds.map((_, at) => at).concat(bounds.length);
  const free = (at) => {
    while (next[at] !== at) at = next[at] = next[next[at]];
    return at;
  };
  ranges.forEach((of, group) => {
    for (const [from, to] of of) {
      const [first, end] = [place.get(from), place.get(to)];
      change[first] += 1;
      change[end] -= 1;
      for (let at = free(first); at < end; at = free(at)) {
        owner[at] = group;
        next[at] = at + 1;
      }
    }
  });
  const found = [];
  let having = 0;
  for (let at = 0; at + 1 < bounds.length; at += 1) {
    having += change[at];
    if (owner[at] >= 0)
      found.push({ from: bounds[at], to: bounds[at + 1], group: owner[at], others: having - 1 });
  }
  return found;
}

/** The ranges in order, without overlaps. */
function merged(ranges) {
  const all = [];
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const before = all.at(-1);
    if (before && from <= before[1]) before[1] = Math.max(before[1], to);
    else if (from < to) all.push([from, to]);
  }
  return all;
}
