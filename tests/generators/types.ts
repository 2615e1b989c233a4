// Holds the types that openapi-typescript made to what a program writes; nothing runs.

import type { components, paths } from "./akin.js";

type Document = components["schemas"]["Document"];
type Answers =
  paths["/similar"]["post"]["responses"]["200"]["content"]["application/json"];
type Change = components["schemas"]["DocumentChanged"];

export const one: Document = { id: "a", text: "the quick brown fox", tokens: null };
export const bag: Document = { tokens: ["a", ["b", 2]] };

// @ts-expect-error: a token's count is a number
export const wrong: Document = { tokens: [["b", true]] };

export function matches(answers: Answers): string[] {
  if (!Array.isArray(answers)) return answers.matches.map(({ id }) => id);
  return answers.flatMap((answer) => ("error" in answer ? [] : matches(answer)));
}

export function interval(estimate: components["schemas"]["Estimate"]): number {
  const [low = 0, high = 1]: number[] = estimate.interval;
  return high - low;
}

/** The parts of a union are told apart by one property. */
export function storedAt(change: Change): string | undefined {
  return change.change === "stored" ? change.stored_at : undefined;
}

/** A body of NDJSON is a text. */
export type Pairs = paths["/pairs"]["get"]["responses"]["200"]["content"]["application/x-ndjson"];
export const pairs: Pairs = '{"a": "x", "b": "y"}\n';
