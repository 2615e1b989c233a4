// Each page does its job, on a small corpus in a server of the tests' own.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, afterEach, before, test } from "node:test";
import { corpus, essays, HOSTILE } from "./corpus.mjs";
import { fill, launch, open, serve } from "./server.mjs";

let server, browser, session, page, go;

before(async () => {
  [server, browser] = await Promise.all([serve(), launch()]);
  await fill(server);
  session = await open(browser, server);
  ({ page, go } = session);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});
afterEach(async () => {
  assert.deepEqual(session.faults.splice(0), []);
  assert.equal(await page.evaluate(() => window.hacked), undefined, "a document's markup was run");
});

const three = (x) => (x > 0.9995 && x < 1 ? "> 0.999" : x === 1 ? "1" : x.toFixed(3));
const textsOf = (selector) => page.locator(selector).allTextContents();
const figure = (term) =>
  page.locator(".figure", { has: page.locator(`dt:text-is("${term}")`) }).locator("dd").first();
const explanation = (term) =>
  page.locator(".figure", { has: page.locator(`dt:text-is("${term}")`) }).locator("dd.hint");

/** The shared parts of two texts, cut from them by the byte ranges of the API. */
async function shared(a, b) {
  const path = `/resemblance?${new URLSearchParams({ a: a.id, b: b.id, explain: true })}`;
  const { explanation } = await server.call("GET", path);
  const cut = (text, ranges) =>
    ranges.map(([from, to]) => Buffer.from(text).subarray(from, to).toString());
  return [...cut(a.text, explanation.a.shared), ...cut(b.text, explanation.b.shared)];
}

test("a stored document is looked up, and a match shows what both share", async () => {
  const documents = corpus();
  await go("#/lookup?id=article-12");
  await page.locator(".match").first().waitFor();
  const { matches } = await server.call("GET", "/similar?id=article-12");
  assert.ok(matches.length >= 4);
  assert.deepEqual(
    await textsOf(".match summary .id"),
    matches.map(({ id }) => id),
  );
  assert.deepEqual(
    await textsOf(".match .exact"),
    matches.map(({ exact }) => `exact ${three(exact)}`),
  );
  assert.deepEqual(
    await textsOf(".match .estimated"),
    matches.map(({ estimated }) => `estimated ${three(estimated)}`),
  );

  const at = matches.findIndex(({ exact }) => exact < 1);
  await page.locator(".match summary").nth(at).click();
  await page.locator(".match mark").first().waitFor();
  const [a, b] = ["article-12", matches[at].id].map((id) => documents.find((one) => one.id === id));
  assert.deepEqual(await textsOf(".match .text mark"), await shared(a, b));
  assert.deepEqual(await textsOf(".match .text"), [a.text, b.text]);
  const compared = await server.call(
    "GET",
    `/resemblance?${new URLSearchParams({ a: a.id, b: b.id })}`,
  );
  const [low, high] = compared.estimated.interval.map(three);
  assert.equal(
    await figure("Estimated").textContent(),
    `${three(compared.estimated.value)} ${low} to ${high}`,
  );
});

test("the interval that is drawn for a match is the one that the server computes", async () => {
  await go("#/lookup?id=article-24");
  await page.locator(".match").first().waitFor();
  const { matches } = await server.call("GET", "/similar?id=article-24");
  const labels = await page
    .locator(".match .similarity")
    .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  for (const [i, { id }] of matches.entries()) {
    const path = `/resemblance?${new URLSearchParams({ a: "article-24", b: id })}`;
    const {
      estimated: { interval },
    } = await server.call("GET", path);
    const drawn = labels[i]
      .match(/interval (\S+) to (\S+)$/)
      .slice(1)
      .map(Number);
    interval.forEach((bound, end) =>
      assert.ok(Math.abs(bound - drawn[end]) < 0.002, `${labels[i]}: ${interval}`),
    );
  }
});

test("a text is typed, and looked up without a mouse", async () => {
  const { text } = corpus().find(({ id }) => id === "article-24");
  await go("#/lookup");
  await page.getByRole("heading", { name: "Look up" }).waitFor();
  await page.getByLabel("Text", { exact: true }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Enter");
  await page.locator('.match:has-text("article-24")').first().waitFor();
  await page.locator(".match summary").first().focus();
  await page.keyboard.press("Enter");
  await page.locator(".match mark").first().waitFor();
  assert.match(await page.locator(".match h3").first().textContent(), /your text/);
  await page.locator("h1").click();
  await page.keyboard.press("5");
  await page.getByRole("heading", { name: "Clusters", level: 1 }).waitFor();
});

test("a file is opened, and another is dropped", async () => {
  const [first, second] = ["article-04", "article-08"].map((id) =>
    corpus().find((one) => one.id === id),
  );
  await go("#/lookup");
  await page.locator('input[type="file"]').setInputFiles({
    name: "a.txt",
    mimeType: "text/plain",
    buffer: Buffer.from(first.text),
  });
  await page.getByRole("button", { name: "Look up" }).click();
  await page.locator('.match:has-text("article-04")').first().waitFor();
  await page.getByLabel("Text", { exact: true }).evaluate((area, text) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], "b.txt", { type: "text/plain" }));
    area.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
  }, second.text);
  await page.waitForFunction(
    (text) => document.querySelector("textarea").value === text,
    second.text,
  );
  await page.getByRole("button", { name: "Look up" }).click();
  await page.locator('.match:has-text("article-08")').first().waitFor();
});

test("options are passed on, and what is wrong with one is said with what to do", async () => {
  await go("#/lookup?id=article-12&threshold=0.5");
  await page.locator(".match").first().waitFor();
  const { matches } = await server.call("GET", "/similar?id=article-12&threshold=0.5");
  assert.deepEqual(
    await textsOf(".match summary .id"),
    matches.map(({ id }) => id),
  );
  await page.getByLabel("Filter on metadata").fill("@.copy >= 3");
  await page.keyboard.press("Enter");
  await page.waitForFunction((n) => document.querySelectorAll(".match").length < n, matches.length);
  assert.ok((await textsOf(".match summary .id")).every((id) => Number(id.split("-").pop()) >= 3));
  await page.getByLabel("Filter on metadata").fill("@.copy >>");
  await page.keyboard.press("Enter");
  const problem = page.getByRole("alert");
  assert.match(await problem.textContent(), /filter/);
  await problem.getByRole("link").click();
  await page.waitForURL(/docs\/problems#invalid_parameter$/);
  assert.ok(await page.locator("#invalid_parameter").isVisible());
});

test("documents are listed in pages, filtered, and one is opened", async () => {
  const documents = corpus();
  await go("#/documents");
  const entries = page.locator(".documents button");
  await entries.nth(24).waitFor();
  const { ids, next } = await server.call("GET", "/documents?limit=25");
  assert.deepEqual(await textsOf(".documents .id"), ids);
  const text = (id) => documents.find((one) => one.id === id).text;
  const snippets = await textsOf(".documents .snippet");
  snippets.forEach((snippet, i) => assert.ok(text(ids[i]).startsWith(snippet.slice(0, 100))));
  await page.getByText(`${documents.length} documents`).waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("page 2").waitFor();
  const second = await server.call("GET", `/documents?${new URLSearchParams({ limit: 25, after: next })}`);
  assert.deepEqual(await textsOf(".documents .id"), second.ids);
  await page.getByRole("button", { name: "Previous" }).click();
  await page.getByText(`${documents.length} documents`).waitFor();
  assert.deepEqual(await textsOf(".documents .id"), ids);

  await page.getByLabel("Ids from").fill("article-12");
  await page.getByLabel("Filter on metadata").fill("@.copy >= 3");
  await page.keyboard.press("Enter");
  await page.locator('.documents .id:text-is("article-12/copy-3")').waitFor();
  const from = documents.filter(({ id, metadata }) => id >= "article-12" && metadata.copy >= 3);
  const expected = from.map(({ id }) => id).sort().slice(0, 25);
  assert.deepEqual((await textsOf(".documents .id")).slice(0, 5), expected.slice(0, 5));
  await page.locator('.documents button:has-text("article-12/copy-4")').click();
  await page.locator('h2:text-is("article-12/copy-4")').waitFor();
  assert.equal(await page.locator("main .text").textContent(), text("article-12/copy-4"));
  await page.reload();
  await page.locator('h2:text-is("article-12/copy-4")').waitFor();
  await page.getByRole("link", { name: "Look up" }).last().click();
  await page.locator(".match").first().waitFor();
});

test("a match has the beginning of its text", async () => {
  await go("#/lookup?id=article-12");
  await page.locator(".match").first().waitFor();
  const snippets = await textsOf(".match summary .snippet");
  const ids = await textsOf(".match summary .id");
  ids.forEach((id, i) => {
    const { text } = corpus().find((one) => one.id === id);
    assert.ok(snippets[i].length > 100 && text.startsWith(snippets[i].slice(0, -1)), snippets[i]);
  });
});

test("an address of no page leads to the first", async () => {
  for (const name of ["__proto__", "constructor", "toString", "nothing"]) {
    await go("docs");
    await go(`#/${name}`);
    await page.waitForURL(/#\/lookup$/);
    await page.getByRole("heading", { name: "Look up", level: 1 }).waitFor();
  }
});

test("a full stop that both have is not marked", async () => {
  await go("#/compare");
  const areas = page.getByLabel("Text", { exact: true });
  await areas.first().fill("one two three four. Five is here.");
  await areas.last().fill("one two three four. Six is there.");
  await page.locator("main .text ins").nth(1).waitFor();
  assert.deepEqual(await textsOf("main .text ins"), ["Five is here", "Six is there"]);
});

test("what the colours of a cluster mean is said", async () => {
  await go("#/clusters");
  await page.locator(".edge").first().waitFor({ state: "attached" });
  const legend = (await textsOf(".graph + .legend > span")).map((text) => text.trim());
  assert.deepEqual(legend, [
    "a document",
    "one of the two compared",
    "near-duplicates, the more alike the stronger",
  ]);
  await page.getByLabel("Linkage").selectOption("representative");
  await page.getByText("as akin dedup has it by default").waitFor();
});

test("two texts are compared while they are typed", async () => {
  await go("#/compare");
  const areas = page.getByLabel("Text", { exact: true });
  await areas.first().fill("one two three four five six");
  await areas.last().fill("one two three four five six");
  await page.waitForFunction(() => document.querySelector(".figure dd")?.textContent === "1");
  await areas.last().pressSequentially(" seven");
  await page.waitForFunction(() => document.querySelector(".figure dd")?.textContent === "0.800");
  assert.deepEqual(await textsOf("main .text ins"), ["seven"]);
});

test("the words of a text are coloured by the documents that have them", async () => {
  const documents = new Map(essays().map(({ id, text }) => [id, text]));
  await go("#/passages?collection=essays&id=thesis");
  await page.locator(".columns mark").first().waitFor();
  const { matches } = await server.call("GET", "/collections/essays/passages?id=thesis");
  assert.deepEqual(await textsOf(".sources .id"), matches.map(({ id }) => id));
  assert.ok(matches.length >= 3);
  assert.equal(await page.locator(".sources .text").textContent(), documents.get("thesis"));
  // Every word is of the first document that has it.
  const painted = [...documents.get("thesis")].map(() => "");
  [...matches.entries()].reverse().forEach(([at, { passages }]) =>
    passages.forEach(({ probe: { start, end } }) => painted.fill(`source-${at}`, start, end)),
  );
  const shown = await page
    .locator(".sources .text")
    .evaluate((text) => [...text.childNodes].map((node) => [node.className ?? "", node.textContent]));
  const letters = shown.flatMap(([kind, text]) => [...text].map(() => kind));
  assert.deepEqual(letters, painted);

  for (const { id, passages } of matches) {
    await page.locator(".sources button", { has: page.locator(`.id:text-is(${JSON.stringify(id)})`) }).click();
    await page.locator(`.columns h2:text-is(${JSON.stringify(id)})`).waitFor();
    assert.deepEqual(await textsOf(".columns .text"), [documents.get("thesis"), documents.get(id)]);
    const marked = (await textsOf(".columns section:last-child mark")).join("");
    const isIn = (at) => passages.some(({ match: { start, end } }) => start <= at && at < end);
    assert.equal(marked, [...documents.get(id)].filter((_, at) => isIn(at)).join(""));
  }
  await page.locator(".columns section:last-child mark").last().click();
  await page.locator(".columns section:first-child mark.found").waitFor();
});

test("a text is pasted, and its passages are found with the options", async () => {
  await go("#/passages?collection=essays");
  const text = `𝄞𝄞 some words before, ${essays()[0].text}`;
  await page.getByLabel("Text", { exact: true }).fill(text);
  await page.getByLabel("Share, at least").fill("0.9");
  await page.keyboard.press("Control+Enter");
  await page.locator(".columns mark").first().waitFor();
  assert.deepEqual(await textsOf(".sources .id"), ["report"]);
  assert.ok(essays()[0].text.startsWith(await page.locator(".sources mark").first().textContent()));
  await page.getByLabel("Words, at least").fill("7");
  await page.getByLabel("Words, at least").evaluate((input) => (input.min = 0));
  await page.getByRole("button", { name: "Find passages" }).click();
  assert.match(await page.getByRole("alert").textContent(), /words_min/);
});

test("clusters are counted and drawn, and any two members compared", async () => {
  await go("#/clusters");
  await page.locator(".edge").first().waitFor({ state: "attached" });
  const clusters = await server.call("GET", "/clusters");
  const largest = [...clusters].sort((a, b) => b.size - a.size)[0];
  const documents = clusters.reduce((sum, { size }) => sum + size, 0);
  assert.equal(
    await page.locator(".summary").textContent(),
    `${clusters.length} clusters of ${documents} documents`,
  );
  assert.equal(await page.locator(".node").count(), largest.size);
  const drawn = await page.locator("figure .column title").allTextContents();
  assert.equal(
    drawn.reduce((sum, text) => sum + Number(text.split(" ")[0]), 0),
    clusters.length,
  );
  const links = new Set();
  for (const { id } of largest.members) {
    const { matches } = await server.call(
      "GET",
      `/similar?${new URLSearchParams({ id, limit: 200 })}`,
    );
    matches.forEach((match) => links.add([id, match.id].sort().join("\n")));
  }
  assert.equal(await page.locator(".edge").count(), links.size);

  const chosen = largest.members[3].id;
  await page.getByRole("checkbox", { name: chosen }).check();
  await page.locator(`.columns h3:text-is("${chosen}")`).waitFor();
  assert.equal(await page.getByRole("checkbox", { checked: true }).count(), 2);
  await page.locator(".node").nth(4).click();
  await page.locator(`.columns h3:text-is("${largest.members[4].id}")`).waitFor();
});

test("clusters that a collection keeps are shown without comparing anything", async () => {
  await server.call("PUT", "/collections/kept", { clusters: { threshold: 0.8 } });
  await server.call("POST", "/collections/kept/documents", corpus());
  const clusters = await server.call("GET", "/collections/kept/clusters");
  await go("#/clusters?collection=kept");
  await page.getByText("The collection keeps them up to date.").waitFor();
  await page.locator(".edge").first().waitFor({ state: "attached" });
  const documents = clusters.reduce((sum, { size }) => sum + size, 0);
  assert.equal(
    await page.locator(".summary").textContent(),
    `${clusters.length} clusters of ${documents} documents`,
  );
  const [largest, second] = [...clusters].sort((a, b) => b.size - a.size);
  assert.equal(await page.locator(".node").count(), largest.size);
  assert.equal(await page.getByRole("checkbox", { checked: true }).count(), 2);
  await page.getByRole("button", { name: second.representative }).click();
  await page.locator(`.columns h3:text-is("${second.representative}")`).waitFor();
  await page.getByLabel("Threshold").fill("0.7");
  assert.equal(await page.getByText("The collection keeps them up to date.").count(), 0);
  await server.call("DELETE", "/collections/kept");
});

test("the curve is that of the sliders, over the pairs of the corpus", async () => {
  await go("#/tuning");
  await page.locator(".chart .column").first().waitFor();
  const own = await server.call("GET", "/curve");
  assert.equal(await figure("Scheme").textContent(), `${own.bands} × ${own.rows}`);
  const pairs = await server.call("GET", "/pairs?threshold=0.2&mode=exact");
  const over = pairs.filter(({ resemblance }) => Math.floor(resemblance * 50) >= 40).length;
  assert.equal(await figure("Pairs over the threshold").textContent(), String(over));
  const drawn = await page.locator(".chart .column title").allTextContents();
  assert.equal(
    drawn.reduce((sum, text) => sum + Number(text.split(" ")[0].replace(",", "")), 0),
    pairs.length,
  );

  const sliders = () => page.getByRole("slider").evaluateAll((all) => all.map(({ id }) => id));
  const legend = () => textsOf(".chart + .legend > span");
  const drawn_ = [" found", " shares a probed key", " pairs of this corpus", " threshold"];
  assert.deepEqual([await sliders(), await legend()], [["slider-threshold"], drawn_]);

  await page.getByLabel("bands of rows").check();
  await page.locator(`.figure dd:text-is("${own.bands}")`).waitFor(); // all keys are probed
  const shown = [];
  for (const name of ["Bands", "Rows"]) shown.push(await page.getByLabel(name, { exact: true }).inputValue());
  assert.equal(await figure("Scheme").textContent(), shown.join(" × "), "sliders and figures agree");
  drawn_.splice(2, 0, " found by the collection's scheme at its threshold");
  assert.deepEqual(await legend(), drawn_);
  await page.getByRole("slider", { name: "Rows" }).focus();
  await page.keyboard.press("ArrowRight");
  const [bands, rows] = [Math.floor(own.slots / 5), 5];
  await page.locator(`.figure dd:text-is("${bands} × ${rows}")`).waitFor();
  const other = await server.call(
    "GET",
    `/curve?bands=${bands}&rows=${rows}&threshold=${own.threshold}`,
  );
  assert.equal(
    await figure("Expected recall at the threshold").textContent(),
    three(other.expected_recall),
  );

  await page.getByLabel("chosen for a recall").check();
  const wanted = await server.call("GET", `/curve?recall=0.99&threshold=${own.threshold}`);
  await page.locator(`.figure dd:text-is("${wanted.bands} × ${wanted.rows}")`).waitFor();
  await page.getByRole("button", { name: "Measure recall" }).click();
  await page.getByText(/Measured at 0.8: recall (0\.9\d|1\.00) \(\d+ of \d+ pairs\); of/).waitFor();
});

test("sliders show a scheme beyond their steps exactly", async () => {
  const scheme = { threshold: 0.855, bands: 4, rows: 24 };
  await server.call("PUT", "/collections/edges", { scheme });
  await go("#/tuning?collection=edges");
  await page.locator('.figure dd:text-is("4 × 24")').waitFor();
  await page.getByLabel("bands of rows").check();
  const shown = () => textsOf("output");
  assert.deepEqual(await shown(), ["0.855", "0.99", "4", "24"]);
  const asked = page.waitForRequest(/curve\?threshold=0\.855&bands=5&rows=24$/);
  await page.getByRole("slider", { name: "Bands" }).focus();
  await page.keyboard.press("ArrowRight");
  await asked;
  await page.locator('.figure dd:text-is("5 × 24")').waitFor();
  await page.getByLabel("this collection's").check();
  await page.locator('.figure dd:text-is("4 × 24")').waitFor();
  await server.call("DELETE", "/collections/edges");
});

test("the corpus is followed while it grows", async () => {
  await go("#/corpus");
  const before_ = corpus().length;
  await page.locator(`.figure dd:text-is("${before_}")`).first().waitFor();
  const more = [1, 2, 3].map((n) => ({
    id: `new-${n}`,
    text: `a document that is new in the corpus ${n}`,
  }));
  await server.call("POST", "/documents", more);
  await page
    .locator(`.figure dd:text-is("${before_ + 3}")`)
    .first()
    .waitFor();
  const routes = page.getByRole("table", { name: "Requests since the start, by route" });
  await routes.locator("code").first().waitFor();
  for (const route of await routes.locator("code").allTextContents())
    assert.match(route, /^[A-Z]+ \//);
  await page.getByRole("button", { name: "Take a snapshot" }).click();
  await page.getByRole("region", { name: "Complete snapshots" }).waitFor();
  assert.deepEqual(await textsOf("section td a"), ["default", "essays", "people", "textless"]);
});

test("records have fields, and where no text is kept no passages are shown", async () => {
  await go("#/lookup");
  await page.getByLabel("Collection").selectOption("people");
  await page.getByLabel("name", { exact: true }).fill("William Smith");
  await page.getByLabel("phone").fill("555-1234");
  await page.getByRole("button", { name: "Look up" }).click();
  await page.locator('.match:has-text("p2")').waitFor();
  await page.getByText("a record with an edit in every field is not found").waitFor();
  await page.locator('.match:has-text("p2") summary').click();
  await page.getByRole("cell", { name: "wiliam smith" }).waitFor();
  await page.getByLabel("Collection").selectOption("textless");
  await page.getByPlaceholder("an id").fill("article-00");
  await page.keyboard.press("Control+Enter");
  await page.locator(".match summary").first().click();
  await page.getByText("keeps no texts").waitFor();
});

test("an empty collection gets its first document by the form or by the shown command", async () => {
  const settings = { scheme: { kind: "fields", fields: ["name", "it's"] }, shingles: { unit: "field" } };
  await server.call("PUT", "/collections/new", {});
  await server.call("PUT", "/collections/new-records", settings);
  const run = (command) => execFileSync("bash", ["-c", `${command} -s`]).toString();
  for (const collection of ["new", "new-records"]) {
    await go(`#/tuning?collection=${collection}`);
    const [curl] = (await page.locator(".first pre").textContent()).split("\n");
    assert.equal(JSON.parse(run(curl)).status, "created", curl);
    await go(`#/lookup?collection=${collection}`);
    await page.getByText("or a stored document").waitFor();
    assert.equal(await page.locator(".first").count(), 0, "it is empty no more");
    await server.call("DELETE", `/collections/${collection}/documents/news/1`);
  }

  await go("#/clusters?collection=new");
  await page.locator(".first").getByLabel("Id").fill("first/of all");
  await page.locator(".first").getByLabel("Text").fill("");
  await page.getByRole("button", { name: "Add the document" }).click();
  await page.locator(".first").getByRole("alert").waitFor();
  await page.locator(".first").getByLabel("Text").fill("The zoo is open every day.");
  await page.getByRole("button", { name: "Add the document" }).click();
  await page.locator('.text:text-is("The zoo is open every day.")').waitFor();
  assert.equal(await page.locator("h2.id").textContent(), "first/of all");
  for (const collection of ["new", "new-records"])
    await server.call("DELETE", `/collections/${collection}`);
});

test("a collection without an index of passages gets one by the shown command", async () => {
  await server.call("PUT", "/collections/plain", {});
  await server.call("POST", "/collections/plain/documents", essays());
  await go("#/passages?collection=plain");
  const command = await page.locator("main pre").textContent();
  execFileSync("bash", ["-c", `${command} -s`]);
  while ((await server.call("GET", "/collections/plain/reindex")).state !== "done");
  await go("#/passages?collection=plain&id=thesis");
  await page.locator(".columns mark").first().waitFor();
  await server.call("DELETE", "/collections/plain");
  for (const [collection, why] of [
    ["people", "Records have fields"],
    ["textless", "keeps no texts"],
    ["default", "[collection.passages]"],
  ]) {
    await go(`#/passages?collection=${collection}`);
    await page.locator("main").getByText(why).waitFor();
  }
});

test("figures that need an explanation have one that is seen", async () => {
  await go("#/corpus");
  for (const term of ["Skew", "Fullest key", "Distinct sets"])
    await explanation(term).waitFor();
  await go("#/tuning");
  for (const which of ["computed", "measured"])
    await explanation(`Memory a document, ${which}`).waitFor();
});

test("documents that are markup are shown as text, on every page", async () => {
  const [id, other] = [`${HOSTILE}1`, `${HOSTILE}2`];
  await go(`#/lookup?${new URLSearchParams({ id })}`);
  await page.locator(".match summary").first().click();
  await page.locator(".match mark").first().waitFor();
  assert.equal(await page.locator(".match summary .id").textContent(), other);
  assert.ok((await textsOf(".match .text"))[0].includes(HOSTILE));
  await page.locator(".metadata summary").click();
  assert.ok((await page.locator(".metadata pre").first().textContent()).includes("onerror"));
  await go(`#/compare?${new URLSearchParams({ a: id, b: other })}`);
  await page.locator("main mark").first().waitFor();
  await go("#/passages?collection=essays&id=report");
  await page.locator(`.sources button:has-text('${HOSTILE}3')`).click();
  await page.locator(`.columns h2:text-is('${HOSTILE}3')`).waitFor();
  assert.ok((await textsOf(".columns .text"))[1].startsWith(HOSTILE));
  await go("#/clusters");
  await page.getByRole("button", { name: id }).click();
  await page.locator(`.columns h3:text-is('${other}')`).waitFor();
  await go(`#/lookup?${new URLSearchParams({ id: `${HOSTILE}none`, collection: HOSTILE })}`);
  await page.getByRole("alert").waitFor();
  await go("#/corpus");
  await page.locator("main table").first().waitFor();
  assert.equal(await page.locator("img, main script").count(), 0);
});
