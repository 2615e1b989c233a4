// Keys, the documentation, and that everyone can use the pages.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { fill, launch, open, serve } from "./server.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));

/** Every page with what is there once it has done its work. */
const PAGES = {
  lookup: ["#/lookup?id=article-12", ".match[open] mark"],
  documents: ["#/documents?id=article-12", ".documents li"],
  compare: ["#/compare?a=article-12&b=article-12/copy-5", "main mark"],
  passages: ["#/passages?collection=essays&id=thesis", ".columns mark"],
  clusters: ["#/clusters", ".columns mark"],
  tuning: ["#/tuning", ".chart .column"],
  corpus: ["#/corpus", ".rate .sparkline polyline[points*=' ']"],
  withoutIndex: ["#/passages", "main pre"],
  empty: ["#/lookup?collection=empty", ".first form"],
  records: ["#/compare?collection=people&a=p1&b=p2", "main table"],
  problem: ["#/lookup?collection=none", ".problem"],
  docs: ["docs", ".operation"],
  problems: ["docs/problems", "section"],
};

let server, browser, key, readOnly;

before(async () => {
  [server, browser] = await Promise.all([
    serve({ actions: ["read,write,admin,metrics", "read"] }),
    launch(),
  ]);
  [key, readOnly] = server.keys;
  await fill(server);
  await server.call("PUT", "/collections/empty", {});
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Opens a page and waits until it is whole. */
async function whole({ page, go }, name) {
  const [address, selector] = PAGES[name];
  await go(address);
  if (name === "lookup") await page.locator(".match summary").nth(1).click();
  await page.locator(selector).first().waitFor({ state: "attached" });
}

async function withKey(options) {
  const session = await open(browser, server, options);
  await session.go("docs");
  await session.page.evaluate((value) => sessionStorage.setItem("akin.key", value), key);
  return session;
}

test("a key is asked for, kept for the tab alone, and sent", async () => {
  const { page, context, faults, go } = await open(browser, server);
  await go("#/lookup?id=article-12");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("A key is needed").waitFor();
  await dialog.getByLabel("Key").fill("akin_wrong");
  await page.keyboard.press("Enter");
  await dialog.getByText(/unknown|not a key|invalid/i).waitFor();
  await dialog.getByLabel("Key").fill(readOnly);
  await page.keyboard.press("Enter");
  await page.locator(".match").first().waitFor();
  await page.reload();
  await page.locator(".match").first().waitFor();
  const kept = await page.evaluate(() => [localStorage.length, document.cookie, location.href]);
  assert.deepEqual(kept.slice(0, 2), [0, ""]);
  assert.ok(!kept[2].includes(readOnly));
  await go("#/corpus");
  await page.getByText("does not permit metrics").waitFor();
  await page.getByRole("button", { name: "Take a snapshot" }).click();
  await page.getByText(/does not permit the action `admin`/).waitFor();
  const other = await context.newPage();
  await other.goto(`${server.url}/#/corpus`);
  await other.getByRole("dialog").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("the reference has every operation and works without a key", async () => {
  const { page, context, faults, go } = await open(browser, server);
  await go("docs");
  await page.locator(".operation").first().waitFor();
  const { paths } = await (await fetch(`${server.url}/openapi.json`)).json();
  // What is there for `default` and for named collections is described once.
  const once = Object.entries(paths).filter(
    ([path]) =>
      !paths[path.replace("/collections/{collection}/", "/")] ||
      !path.startsWith("/collections/{collection}/"),
  );
  const ids = once.flatMap(([, item]) =>
    Object.values(item)
      .map(({ operationId }) => operationId)
      .filter(Boolean),
  );
  assert.ok(ids.length > 20);
  const shown = await page.locator(".operation").evaluateAll((all) => all.map(({ id }) => id));
  assert.deepEqual(shown.sort(), ids.sort());
  await page.getByLabel("Filter operations").fill("snapshot take");
  assert.deepEqual(await page.locator("#contents li").allTextContents(), ["POST /snapshots"]);
  await page.locator("#contents li a").click();
  assert.ok(await page.locator("#take_snapshot").isVisible());
  const body = page.locator("#similar_to_posted");
  assert.match(await body.textContent(), /threshold/);
  assert.match(await body.locator("pre").last().textContent(), /curl -X POST 'http:.*\/similar'/s);
  const problem = await (await fetch(`${server.url}/nothing`)).json();
  await go(problem.type.slice(1));
  assert.ok(await page.locator(":target").getByText("route_not_found").isVisible());
  assert.deepEqual(faults, []);
  await context.close();
});

test("calls come before errors, and can be tried", async () => {
  const { page, context, faults, go } = await withKey();
  await go("docs");
  await page.locator(".operation").first().waitFor();
  const order = await page.locator("main .operation, main #problems").evaluateAll((all) => all.map(({ id }) => id));
  assert.equal(order.at(-1), "problems");
  const call = (id) => page.locator(`#${id}`);
  await call("similar_to_posted").getByText("Try it").click();
  await call("similar_to_posted").getByLabel("Body").fill('{"id": "article-12"}');
  await call("similar_to_posted").getByRole("button", { name: "Send" }).click();
  await call("similar_to_posted").locator(".answer").waitFor();
  const { matches } = await server.call("POST", "/similar", { id: "article-12" });
  const shown = JSON.parse(await call("similar_to_posted").locator(".answer").textContent());
  assert.deepEqual(shown.matches, matches);
  await call("get_document").getByText("Try it").click();
  await call("get_document").getByLabel("collection").fill("people");
  await call("get_document").getByLabel("id", { exact: true }).fill("p1");
  await page.keyboard.press("Enter");
  await call("get_document").getByText("200 OK").waitFor();
  await call("get_document").getByLabel("id", { exact: true }).fill("nobody");
  await page.keyboard.press("Enter");
  await call("get_document").locator('.answer:has-text("document_not_found")').waitFor();
  await call("export_documents").getByText("Try it").click();
  await call("export_documents").getByRole("button", { name: "Send" }).click();
  await call("export_documents").getByText("application/x-ndjson ·").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

/** Akin as a proxy shows it that does not tell under which name it was called. */
function behindProxy() {
  const { hostname, port, host } = new URL(server.url);
  const proxy = createServer((request, response) => {
    const { method, url: path, headers } = request;
    const call = { hostname, port, method, path, headers: { ...headers, host } };
    const forwarded = httpRequest(call, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  return new Promise((resolve) => proxy.listen(0, "127.0.0.1", () => resolve(proxy)));
}

test("a page whose origin is refused says so at once", async () => {
  const proxy = await behindProxy();
  const { page, context } = await open(browser, server);
  await page.goto(`http://127.0.0.1:${proxy.address().port}/docs`);
  await page.evaluate((value) => sessionStorage.setItem("akin.key", value), key);
  await page.goto(`http://127.0.0.1:${proxy.address().port}/#/lookup`);
  await page.getByRole("alert").getByText("server.cors_origins").waitFor();
  await context.close();
  proxy.closeAllConnections();
  proxy.close();
});

// Dark pages differ in colours alone.
for (const [colorScheme, rules] of [
  ["light", undefined],
  ["dark", ["color-contrast"]],
]) {
  test(`axe finds nothing serious, ${colorScheme}`, async () => {
    const session = await withKey({ colorScheme });
    // The pages' policy forbids scripts from elsewhere; this one comes from the browser.
    await session.context.addInitScript({ content: AXE });
    for (const name of Object.keys(PAGES)) {
      await session.page.goto("about:blank");
      await whole(session, name);
      const { violations } = await session.page.evaluate(
        (runOnly) => window.axe.run({ runOnly }),
        rules,
      );
      const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      const told = serious.map(({ id, nodes }) => [
        name,
        id,
        nodes.slice(0, 3).map(({ html }) => html),
      ]);
      assert.deepEqual(told, []);
    }
    assert.deepEqual(session.faults, []);
    await session.context.close();
  });
}

test("no page is wider than a phone", async () => {
  for (const width of [320, 375, 400]) {
    const session = await withKey({ viewport: { width, height: 700 } });
    for (const name of Object.keys(PAGES)) {
      await whole(session, name);
      const wider = await session.page.evaluate(
        () => document.documentElement.scrollWidth - innerWidth,
      );
      assert.ok(wider <= 0, `${name} is ${wider} pixels wider than ${width}`);
    }
    await session.context.close();
  }
});

test("on a phone the pages are one row, which scrolls to the page that is shown", async () => {
  const session = await withKey({ viewport: { width: 400, height: 700 } });
  await whole(session, "corpus");
  const boxes = await session.page
    .locator("#nav a")
    .evaluateAll((all) => all.map((link) => link.getBoundingClientRect().toJSON()));
  assert.equal(new Set(boxes.map(({ top }) => top)).size, 1);
  assert.ok(boxes.at(-1).right <= 400, "the last page is shown, and seen");
  const { height } = await session.page.locator("header").boundingBox();
  assert.ok(height <= 100, `the header has ${height} pixels`);
  await session.context.close();
});

test("pictures of the pages", { skip: !process.env.AKIN_PICTURES }, async () => {
  mkdirSync(IMAGES, { recursive: true });
  const session = await withKey({ viewport: { width: 1180, height: 860 } });
  for (const name of ["lookup", "passages"]) {
    await whole(session, name);
    await session.page.screenshot({ path: `${IMAGES}${name}.png` });
  }
});
