import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readFile } from "node:fs/promises";

import { AkinError, Client, ConnectionFailed, ProblemError, sliceText } from "akin-client";
import { Backoff } from "../src/exchange.js";
import { Server, ndjson, problem, script } from "./server.js";

const BUS = "The night bus will stop at the old fish market instead of the pier, from Monday on.";
const server = new Server();

before(() => server.start());
after(() => server.stop());

/** A client of a collection of the test's own. */
async function collection(name) {
  const client = new Client({ url: server.url });
  await client.createCollection(name);
  return client.collection(name);
}

async function all(values) {
  const taken = [];
  for await (const value of values) taken.push(value);
  return taken;
}

function* numbered(n) {
  for (let i = 0; i < n; i += 1) {
    const words = Array.from({ length: 12 }, (_, k) => `w${i * 7 + k}`);
    yield { id: `d/${i}`, text: words.join(" ") };
  }
}

test("documents come, are found, and go", async () => {
  const client = await collection("come-and-go");
  const added = await client.insert({ id: "news/1", text: BUS, metadata: { lang: "en" } });
  assert.equal(added.status, "created");
  const second = await client.insert({ id: "ä/?#", text: BUS });
  assert.deepEqual(second.duplicates.map(({ id }) => id), ["news/1"]);
  const skipped = await client.insert({ text: BUS }, { onDuplicate: "skip" });
  assert.equal(skipped.status, "skipped");

  const found = await client.query(BUS, { filter: '@.lang == "en"', threshold: 0.9 });
  assert.deepEqual(found.matches.map(({ id, exact }) => [id, exact]), [["news/1", 1]]);
  assert.equal((await client.query({ id: "news/1" })).matches[0].id, "ä/?#");
  const absent = await client.query({ id: "news/0", text: BUS }, { include: ["highlights"] });
  assert.deepEqual(absent.matches.map((found) => found.id), ["news/1", "ä/?#"]);
  const [[from, to]] = absent.matches[0].highlights ?? [];
  assert.ok(BUS.includes(sliceText(BUS, from, to)));
  const nearest = await client.query({ id: "news/1" }, { k: 5 });
  assert.deepEqual([nearest.matches.length, nearest.floor, nearest.threshold], [1, 0.15, undefined]);
  const [known, unknown] = await client.queryMany([{ id: "news/1" }, { id: "nobody" }]);
  assert.equal(known.matches.length, 1);
  assert.equal(unknown.error.code, "document_not_found");

  assert.equal((await client.compare("news/1", { text: BUS }, { explain: true })).exact.value, 1);
  const collapsed = await client.collapse(["ä/?#", "news/1"]);
  assert.deepEqual(collapsed.groups.map(({ representative }) => representative), ["ä/?#"]);
  const ofHits = await client.collapse([{ text: BUS }, { id: "gone", text: BUS }, { id: "gone too" }]);
  assert.deepEqual([ofHits.kept, ofHits.unknown], [[0, 2], [2]]);
  assert.deepEqual((await all(client.pairs({ mode: "exact" }))).map(({ a, b }) => [a, b]),
    [["news/1", "ä/?#"]]);
  assert.equal((await all(client.clusters({ minSize: 2 })))[0].size, 2);
  assert.equal((await all(client.export({ order: "id" })))[0].text, BUS);
  assert.deepEqual(await all(client.ids({ page: 1 })), ["news/1", "ä/?#"]);
  assert.equal((await client.get("ä/?#")).text, BUS);
  assert.equal((await client.stats()).documents, 2);

  assert.equal(await client.count({ filter: '@.lang == "en"' }), 1);
  assert.deepEqual(await all(client.ids({ filter: '@.lang == "en"' })), ["news/1"]);
  const fetched = await client.getMany(["ä/?#", "nobody"]);
  assert.deepEqual([fetched.documents.length, fetched.unknown], [1, ["nobody"]]);
  const shown = await client.query(BUS, { offset: 1, include: ["text"] });
  assert.deepEqual(shown.matches.map(({ id, text }) => [id, text]), [["ä/?#", BUS]]);
  assert.equal((await client.change("ä/?#", { metadata: { a: 1 } })).status, "replaced");
  assert.equal((await client.clusterOf("ä/?#")).size, 2);
  await client.remove("ä/?#");
  await assert.rejects(client.remove("ä/?#"), (error) =>
    error instanceof ProblemError && error.code === "document_not_found" && error.status === 404);
  assert.equal((await client.removeWhere({ filter: '@.lang == "en"' })).removed, 1);
  assert.ok((await client.collections()).includes("come-and-go"));
  assert.equal((await client.describeCollection("come-and-go")).documents, 0);
  await client.removeCollection("come-and-go");
  await assert.rejects(client.stats(), { code: "collection_not_found" });
});

test("changes are followed", async () => {
  const client = await collection("changes");
  const { position } = await client.changes();
  await client.insert({ id: "a", text: BUS });
  await client.insert({ id: 7, text: BUS });
  const first = await client.changes({ since: position, limit: 1 });
  assert.equal((await client.removeMany(["a", "nobody"])).removed, 1);
  const rest = await client.changes({ since: first.position, waitS: 1 });
  assert.deepEqual([...first.changes, ...rest.changes].map(({ id, change }) => [id, change]),
    [["a", "stored"], ["7", "stored"], ["a", "removed"]]);
  assert.ok((await client.collapse([7, "gone"], { limit: 1 })).more);
});

test("passages are found page by page, and their places are slices", async () => {
  const root = new Client({ url: server.url });
  await root.createCollection("passages", { passages: { words: 13 } });
  const client = root.collection("passages");
  for (const i of [1, 2, 3]) await client.insert({ id: `p/${i}`, text: `${"𝄞é ".repeat(i)}. ${BUS}` });
  const probe = `𝄞 so: ${BUS}`;
  const answer = await client.passages(probe, { limit: 2, containmentMin: 0.5, of: "probe" });
  assert.deepEqual([answer.matches.length, answer.more, answer.guarantee.words], [2, true, 13]);
  const [{ probe: place }] = answer.matches[0].passages;
  assert.equal(sliceText(probe, place.start, place.end), BUS.slice(0, -1));
  const { explanation } = await client.compare({ text: `Größe 🦊🦊: ${BUS}` }, { text: probe }, { explain: true });
  assert.equal(sliceText(`Größe 🦊🦊: ${BUS}`, ...explanation.a.shared[0]), BUS.slice(0, -1));
  assert.equal(sliceText(probe, ...explanation.b.shared[0]), BUS.slice(0, -1));
  const found = await all(client.passageMatches(probe, { page: 2 }));
  assert.deepEqual(found.map(({ id }) => id), ["p/1", "p/2", "p/3"]);
  const ofStored = await all(client.passageMatches({ id: "p/2" }, { page: 1 }));
  assert.deepEqual(ofStored.map(({ id }) => id).sort(), ["p/1", "p/3"]);
  const options = { onContained: "skip", containmentMin: 0.9, check: false };
  const [skipped] = await all(client.bulk([{ id: "p/4", text: BUS }], options));
  assert.deepEqual([skipped.status, skipped.passages.matches[0].id], ["skipped", "p/1"]);
  const contained = await client.query(probe, { measure: "containment", of: "match", threshold: 0.5 });
  assert.equal(contained.guarantee.words, 13);
  assert.ok(contained.matches[0].containment.of_match >= 0.5);
  await root.removeCollection("passages");
});

test("texts are sliced by code points", () => {
  for (const text of ["", "plain", "Größe: süß", "我们看见木桥", "🦊a𝐛🏔️é\ud800", "\udc00🌉"]) {
    const points = [...text];
    for (let start = 0; start <= points.length; start += 1) {
      for (let end = start; end <= points.length + 1; end += 1)
        assert.equal(sliceText(text, start, end), points.slice(start, end).join(""));
    }
  }
});

test("a search for passages that was cut short is reported", async () => {
  const fake = await script({ status: 200, body: '{"matches": [], "more": false, "truncated": true}' });
  const reported = [];
  const matches = new Client({ url: fake.url }).passageMatches("a", { onIncomplete: (it) => reported.push(it) });
  assert.deepEqual(await all(matches), []);
  assert.deepEqual(reported, [{ truncated: true }]);
  fake.stop();
});

test("bulk answers each document once, in requests of bounded size", async () => {
  const client = await collection("bulk");
  const seen = [];
  const documents = [...numbered(600), { id: "bad" }, { text: "no id" }];
  const results = await all(client.bulk(documents, { progress: (p) => seen.push(p.documents) }));
  assert.deepEqual(results.map(({ line }) => line), documents.map((_, i) => i + 1));
  assert.deepEqual(seen, [512, 602]);
  const [bad, unnamed] = results.slice(-2);
  assert.deepEqual([bad.id, bad.status, bad.problem.code], ["bad", "error", "invalid_document"]);
  assert.match(unnamed.id, /^[0-9a-f]{32}$/);
});

test("a server that is killed on the way loses nothing", async () => {
  const crashing = new Server();
  await crashing.start();
  try {
    const client = new Client({ url: crashing.url });
    async function* documents() {
      for (const [i, document] of [...numbered(1100)].entries()) {
        if (i === 600) {
          await crashing.kill();
          await crashing.start();
        }
        yield document;
      }
    }
    const results = await all(client.bulk(documents()));
    assert.deepEqual(results.map(({ line }) => line), results.map((_, i) => i + 1));
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(["created"]));
    assert.equal((await all(client.ids())).length, 1100);
  } finally {
    await crashing.stop();
  }
});

test("only what was not answered is sent again", async () => {
  const busy = { line: 2, status: "error", problem: { status: 503, code: "overloaded" } };
  const fake = await script(
    problem(429, "too_many_requests", { "retry-after": "0" }),
    { status: 200, body: ndjson({ line: 1, id: "a", status: "created" }, busy), cut: true },
    { status: 200, body: ndjson({ line: 1, id: "b", status: "created" },
      { line: 2, id: "c", status: "created" }) },
  );
  const client = new Client({ url: fake.url });
  const documents = ["a", "b", "c"].map((id) => ({ id, text: id }));
  const results = await all(client.bulk(documents));
  assert.deepEqual(results.map(({ line, id }) => [line, id]), [[1, "a"], [2, "b"], [3, "c"]]);
  const sent = fake.requests.map(({ body }) => body.trim().split("\n").length);
  assert.deepEqual(sent, [3, 3, 2]);
  fake.stop();
});

test("failures that the server only counts are sent again", async () => {
  const failed = { status: "error", problem: { status: 422, code: "invalid_document" } };
  const counted = { status: "errors_counted", first_line: 2, last_line: 3, errors: 2 };
  const fake = await script(
    { status: 200, body: ndjson({ line: 1, ...failed }, counted) },
    { status: 200, body: ndjson({ line: 1, ...failed }, { line: 2, ...failed }) },
  );
  const client = new Client({ url: fake.url });
  const results = await all(client.bulk(["a", "b", "c"].map((id) => ({ id, text: "" }))));
  assert.deepEqual(results.map(({ line, id }) => [line, id]), [[1, "a"], [2, "b"], [3, "c"]]);
  fake.stop();
});

test("refusals are retried after the time that they name, others are not", async () => {
  const fake = await script(
    problem(429, "too_many_requests", { "retry-after": "0" }),
    problem(503, "overloaded", { "retry-after": "0" }),
    {},
    { status: 200, body: '{"documents": 1}' },
    problem(503, "not_ready", { "retry-after": "60" }),
    { status: 502, body: "<html>bad gateway" },
  );
  const client = new Client({ url: `${fake.url}/`, key: "akin_secret" });
  assert.deepEqual(await client.stats(), { documents: 1 });
  await assert.rejects(client.stats(), { code: "not_ready", retryAfterS: 60 });
  await assert.rejects(client.stats(), { code: "unknown", status: 502 });
  assert.equal(fake.requests.length, 6);
  assert.equal(fake.requests[0].headers.authorization, "Bearer akin_secret");
  assert.ok(!JSON.stringify(client).includes("secret"));
  fake.stop();
});

test("clients that were refused together come back apart", () => {
  const refused = new ProblemError({ status: 503 }, 2);
  const pauses = Array.from({ length: 20 }, () => new Backoff(10_000).pauseMs(refused));
  assert.ok(new Set(pauses).size > 1);
  assert.ok(Math.min(...pauses) >= 2000 && Math.max(...pauses) <= 3000, pauses);
  assert.equal(new Backoff(2000).pauseMs(refused), 2000);
  assert.throws(() => new Backoff(1900).pauseMs(refused), ProblemError);
});

test("an answer that is cut off is no answer", async () => {
  const first = ndjson({ a: "x", b: "y", resemblance: 1 });
  for (const cut of [true, false]) {
    const fake = await script({ status: 200, body: `${first}{"a":`, cut });
    const pairs = new Client({ url: fake.url }).pairs();
    assert.equal((await pairs.next()).value.a, "x");
    await assert.rejects(pairs.next(), ConnectionFailed);
    fake.stop();
  }
});

test("incomplete clusters are reported and are no cluster", async () => {
  const last = ndjson({ incomplete: { documents: 812, ids: ["a", "c"] } });
  const fake = await script({ status: 200, body: ndjson({ cluster: "c", size: 2 }) + last });
  const reported = [];
  const clusters = new Client({ url: fake.url }).clusters({ onIncomplete: (it) => reported.push(it) });
  assert.deepEqual((await all(clusters)).map(({ size }) => size), [2]);
  assert.deepEqual(reported, [{ documents: 812, ids: ["a", "c"] }]);
  fake.stop();
});

test("a server that is not there, and a call that is given up", async () => {
  const client = new Client({ url: "http://127.0.0.1:1", patienceMs: 0 });
  await assert.rejects(client.stats(), (error) =>
    error instanceof ConnectionFailed && error instanceof AkinError && /:1\/stats/.test(error.message));
  const patient = new Client({ url: "http://127.0.0.1:1", patienceMs: 600_000 });
  const signal = AbortSignal.timeout(50);
  await assert.rejects(patient.stats({ signal }), { name: "TimeoutError" });
  const late = await script(problem(503, "not_ready", { "retry-after": "500" }));
  const waiting = new Client({ url: late.url, patienceMs: 600_000 }).stats({ signal: AbortSignal.timeout(50) });
  await assert.rejects(waiting, { name: "TimeoutError" });
  late.stop();
});

test("a page of an origin that the server does not list is told so at once", async () => {
  globalThis.location = { origin: "https://page.example" };
  const tried = [];
  const client = (reached) => new Client({
    url: "http://akin.example",
    patienceMs: 300,
    fetch: async (url, { mode, method }) => {
      tried.push(mode ?? method);
      if (reached.includes(mode)) return new Response("{}");
      throw new TypeError("Failed to fetch");
    },
  });
  try {
    await assert.rejects(client(["no-cors"]).stats(), (error) => !(error instanceof ConnectionFailed) &&
      /GET .*stats: .*https:\/\/page.example in server.cors_origins/.test(error.message));
    assert.deepEqual(tried, ["GET", "cors", "no-cors"]);
    await assert.rejects(client([]).stats(), ConnectionFailed, "nobody answers");
    await assert.rejects(client(["cors", "no-cors"]).stats(), ConnectionFailed, "a lost connection");
    assert.ok(tried.filter((it) => it === "GET").length > 3, "tried again");
  } finally {
    delete globalThis.location;
  }
});

test("the programs of the pages run", async () => {
  process.env.AKIN_URL = server.url;
  const library = new URL("../src/index.js", import.meta.url).href;
  for (const page of ["../README.md", "../../../docs/clients.md"]) {
    const text = await readFile(new URL(page, import.meta.url), "utf8");
    const programs = [...text.matchAll(/^```javascript\n(.*?)^```/gms)].map(([, program]) => program);
    assert.ok(programs.length > 0);
    const program = programs.join("\n").replaceAll('"akin-client"', JSON.stringify(library));
    const quiet = `const console = { log() {} };\n`;
    await import(`data:text/javascript,${encodeURIComponent(quiet + program)}`);
  }
});
