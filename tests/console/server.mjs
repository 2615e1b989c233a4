// A server of the tests' own, on a free port, and the browser.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { corpus, essays } from "./corpus.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BINARY = process.env.AKIN ?? join(ROOT, "target/debug/akin");
const MARK = '"address":"';

/** `{url, call, stop}`; with keys, `keys` has one for each list of actions. */
export async function serve({ actions = [] } = {}) {
  const data = mkdtempSync(join(tmpdir(), "akin-console-"));
  const keys = actions.map((list, i) =>
    execFileSync(
      BINARY,
      ["keys", "create", "--data-dir", data, "--name", `key-${i}`, "--actions", list],
      { stdio: ["ignore", "pipe", "ignore"] },
    )
      .toString()
      .trim(),
  );
  const server = spawn(BINARY, ["serve", "--listen", "127.0.0.1:0", "--data-dir", data], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const url = `http://${await addressOf(server)}`;
  const call = caller(url, keys[0]);
  while ((await fetch(`${url}/readyz`)).status === 503) await new Promise(setImmediate);
  const stop = async () => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    await ended;
    rmSync(data, { recursive: true, force: true });
  };
  return { url, keys, call, stop };
}

/** The address from the log, which is read to its end so that it never blocks. */
function addressOf(server) {
  return new Promise((resolve, reject) => {
    let log = "";
    server.stderr.on("data", (chunk) => {
      log = (log + chunk).slice(-100_000);
      const at = log.indexOf(MARK);
      if (at >= 0) resolve(log.slice(at + MARK.length).split('"')[0]);
    });
    server.once("exit", () => reject(new Error(`the server ended: ${log}`)));
  });
}

/** Calls the API as any client would: what the console shows is held against the answers. */
function caller(url, key) {
  return async (method, path, body) => {
    const isLines = Array.isArray(body);
    const headers = { "content-type": isLines ? "application/x-ndjson" : "application/json" };
    if (key) headers.authorization = `Bearer ${key}`;
    const sent = isLines
      ? body.map((line) => JSON.stringify(line)).join("\n")
      : JSON.stringify(body);
    const response = await fetch(url + path, { method, headers, body: sent });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    if (response.status === 204) return undefined;
    const isNdjson = response.headers.get("content-type")?.includes("ndjson");
    return isNdjson
      ? text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : JSON.parse(text);
  };
}

/** The corpus in `default`, passages in `essays`, records in `people`, a collection without texts. */
export async function fill({ call }) {
  await call("POST", "/documents", corpus());
  await call("PUT", "/collections/essays", { passages: { words: 13 } });
  await call("POST", "/collections/essays/documents", essays());
  await call("PUT", "/collections/people", {
    shingles: { unit: "field" },
    scheme: { kind: "fields", fields: ["name", "phone"] },
  });
  await call("POST", "/collections/people/documents", [
    { id: "p1", fields: { name: "William Smith", phone: "555-1234" } },
    { id: "p2", fields: { name: "Wiliam Smith", phone: "555-1234" } },
  ]);
  await call("PUT", "/collections/textless", { store: { text: false } });
  await call(
    "POST",
    "/collections/textless/documents",
    corpus()
      .slice(0, 12)
      .map(({ id, text }) => ({ id, text })),
  );
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A page in a session of its own. `faults` collects what no page may do. */
export async function open(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 820 }, ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const faults = [];
  const isExpected = (text) => /status of 4\d\d/.test(text);
  page.on("pageerror", (error) => faults.push(error.message));
  page.on(
    "console",
    (said) => said.type() === "error" && !isExpected(said.text()) && faults.push(said.text()),
  );
  page.on("request", (request) => {
    const known = [`${server.url}/`, "data:"].some((start) => request.url().startsWith(start));
    if (!known) faults.push(`a request to ${request.url()}`);
  });
  const go = (address) => page.goto(`${server.url}/${address}`);
  return { page, context, faults, go };
}
