// Compiled only: the types as a program of a user's meets them.
import { Client, ProblemError, sliceText, type Document } from "../src/index.js";

export async function use(client: Client, signal: AbortSignal): Promise<string[]> {
  const documents: Document[] = [{ id: "a", text: "one two three", metadata: { lang: "en" } }];
  const failed: string[] = [];
  for await (const result of client.bulk(documents, { onDuplicate: "skip", signal })) {
    if (result.status === "error") failed.push(result.problem.code);
    else result.duplicates.map((match) => match.exact ?? match.resemblance);
  }
  const answer = await client.query("one two", { threshold: 0.5, storedAfter: new Date() });
  const [first] = await client.queryMany([{ id: "a" }, { tokens: ["x", ["y", 2]] }]);
  if (first !== undefined && "error" in first) failed.push(first.error.code);
  for await (const { id } of client.passageMatches({ id: "a" }, { of: "match", page: 9 })) failed.push(id);
  const { explanation } = await client.compare("a", { text: "one" }, { explain: true });
  for (const [from = 0, to = 0] of explanation?.b.shared ?? []) failed.push(sliceText("one", from, to));
  const { guarantee } = await client.passages("one two", { containmentMin: 0.5, include: ["metadata"] });
  failed.push(String(guarantee.best_effort_from ?? guarantee.words));
  const { changes, position } = await client.changes({ waitS: 30 });
  for (const change of changes) failed.push(change.change === "stored" ? change.stored_at : change.id);
  const { more, kept } = await client.collapse(["a", position], { limit: 1 });
  failed.push(`${more} ${kept.length} ${await client.count({ filter: "@.lang" })}`);
  // @ts-expect-error there is no such option
  await client.query("one", { treshold: 0.5 });
  // @ts-expect-error a document is no text
  await client.insert("text");
  try {
    await client.remove("a");
  } catch (error) {
    if (error instanceof ProblemError && error.isTemporary) failed.push(error.code);
  }
  return [...answer.matches.map((match) => match.id), ...failed];
}
