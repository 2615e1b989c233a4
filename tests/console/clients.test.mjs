// The JavaScript client in a page of another origin than the server's.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { launch, serve } from "./server.mjs";

const SOURCES = new URL("../../clients/js/src/", import.meta.url);

let site, origin, browser;

before(async () => {
  site = createServer(async (request, response) => {
    const isPage = request.url === "/";
    response.setHeader("content-type", isPage ? "text/html" : "text/javascript");
    response.end(isPage ? `<link rel="icon" href="data:,">` : await readFile(new URL(`.${request.url}`, SOURCES)));
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${site.address().port}`;
  browser = await launch();
});

after(async () => {
  await browser.close();
  site.close();
});

/** What `stats` and `insert` come to in a page. */
async function called(url) {
  const page = await browser.newPage();
  await page.goto(origin);
  const outcomes = await page.evaluate(async (url) => {
    const { Client, ConnectionFailed } = await import("/index.js");
    const client = new Client({ url, patienceMs: 600_000 });
    const outcome = (call) => call.then(
      () => "done",
      (error) => `${error instanceof ConnectionFailed}: ${error.message}`,
    );
    return [
      await outcome(client.stats()),
      await outcome(client.insert({ id: "a", text: "one two three" })),
    ];
  }, url);
  await page.close();
  return outcomes;
}

test("a server that does not list the origin is named at once, another is used", async () => {
  const closed = await serve();
  process.env.AKIN__SERVER__CORS_ORIGINS = JSON.stringify([origin]);
  const open = await serve();
  delete process.env.AKIN__SERVER__CORS_ORIGINS;
  const told = `the server does not list ${origin} in server.cors_origins`;
  assert.deepEqual(await called(closed.url), [
    `false: GET ${closed.url}/stats: ${told}`,
    `false: POST ${closed.url}/documents: ${told}`,
  ]);
  assert.deepEqual(await called(open.url), ["done", "done"]);
  await Promise.all([closed.stop(), open.stop()]);
});
