// How similar the documents of a collection are to each other: its pairs, counted by similarity.

import { lines, within } from "./api.js";

export const BINS = 50;
const PAIRS_MAX = 100_000;
const TIME_MAX_MS = 20_000;
/** Up to this size all pairs are found; beyond it, those that share a key. */
export const DOCUMENTS_EXACT_MAX = 3_000;
const FROM = 0.2;

/**
 * Reads pairs until there are no more, or too many, or it takes too long. `{counts, pairs, from,
 * isWhole}`: `counts[i]` pairs have a similarity from i / BINS on; below `from` none are read.
 */
export async function histogram({ collection, settings, documents, signal }) {
  const isExact = documents <= DOCUMENTS_EXACT_MAX;
  const from = isExact ? FROM : Math.max(FROM, settings.scheme.threshold - 0.3);
  const query = { threshold: from.toFixed(2), mode: isExact ? "exact" : "verified" };
  const found = { counts: new Array(BINS).fill(0), pairs: 0, from, isWhole: true, isExact };
  const end = performance.now() + TIME_MAX_MS;
  for await (const { resemblance } of lines(within(collection, "/pairs"), { query, signal })) {
    found.counts[Math.min(BINS - 1, Math.floor(resemblance * BINS))] += 1;
    found.pairs += 1;
    if (found.pairs >= PAIRS_MAX || performance.now() > end) {
      found.isWhole = false;
      break;
    }
  }
  return found;
}

/** The sum of `weight(similarity)` over the pairs with a similarity from `low` to below `high`. */
export function sum({ counts }, low, high, weight = () => 1) {
  let total = 0;
  counts.forEach((n, i) => {
    const middle = (i + 0.5) / BINS;
    if (n > 0 && middle >= low && middle < high) total += n * weight(middle);
  });
  return total;
}
