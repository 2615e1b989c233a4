// The real server, and one that gives the replies of a script.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export class Server {
  address = "127.0.0.1:0";

  async start() {
    this.directory ??= await mkdtemp(join(tmpdir(), "akin-js-"));
    const data = join(this.directory, "data");
    const options = ["serve", "--listen", this.address, "--data-dir", data];
    this.process = spawn(process.env.AKIN_BIN, options, { stdio: ["ignore", "ignore", "pipe"] });
    for await (const line of createInterface({ input: this.process.stderr })) {
      if (line.includes('"address"')) {
        this.address = JSON.parse(line).address;
        break;
      }
    }
    this.process.stderr.resume();
    this.url = `http://${this.address}`;
    return this;
  }

  /** As a crash ends it. */
  async kill(signal = "SIGKILL") {
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }

  async stop() {
    await this.kill("SIGTERM");
    await rm(this.directory, { recursive: true });
  }
}

/**
 * A server that gives these replies, one after the other, and records what it was sent. One without
 * a status closes the connection; one with `cut` does so after its body.
 */
export async function script(...replies) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    requests.push({ method: request.method, path: request.url, body, headers: request.headers });
    const { status, headers = {}, body: content = "", cut } = replies.shift();
    if (status === undefined) return request.socket.destroy();
    response.writeHead(status, headers);
    response.write(content);
    // Only once the content has left, so that it arrives.
    if (cut) return setImmediate(() => request.socket.destroySoon());
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, requests, stop };
}

export function problem(status, code, headers = {}) {
  return { status, headers, body: JSON.stringify({ status, code, title: code, detail: "no" }) };
}

export function ndjson(...values) {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}
