// The methods beside the operations of openapi.yaml, as the server has it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client } from "akin-client";
import { Operations } from "../src/operations.js";
import { Server } from "./server.js";

const CALLS = {
  add_documents: (client, { id, ...query }) => client.insert({ id, text: "b" }, query),
  remove_documents: (client, query) => client.removeWhere(query),
  remove_named_documents: (client) => client.removeMany(["a"]),
  get_document: (client, query) => client.get("a", query),
  remove_document: (client) => client.remove("a"),
  change_document: (client) => client.change("a", { metadata: null }),
  fetch_documents: (client, query) => client.getMany(["a"], query),
  export_documents: (client, query) => client.export(query).next(),
  similar_to_posted: (client, query) => client.query("a", query),
  passages_of_posted: (client, query) => client.passages("a", query),
  compare_posted: (client, query) => client.compare("a", "b", query),
  pairs: (client, query) => client.pairs(query).next(),
  collapse: (client, query) => client.collapse(["a"], query),
  list_collections: (client) => client.collections(),
  create_collection: (client) => client.createCollection("a"),
  changes: (client, query) => client.changes(query),
  clusters: (client, { id, ...query }) => client.clusterOf(id, query),
  list_documents: async (client, { count, limit, ...query }) => {
    await client.count();
    await client.ids({ page: limit, ...query }).next();
  },
};

const WITHOUT_METHOD = {
  put_document: "insert does it",
  similar_to_stored: "query does it",
  passages_of_stored: "passages does it",
  compare_stored: "compare does it",
  back_up: "a file: the command akin backup",
  openapi: "a file",
  openapi_json: "request",
  health: "the command akin health",
  readiness: "of load balancers",
  metrics: "of Prometheus",
};

// What any of the methods reads of an answer.
const ANSWER = `${JSON.stringify({ collections: [], count: 0, ids: [], position: "1" })}\n`;

const server = new Server();
const operations = new Map();
let schemas;

before(async () => {
  await server.start();
  const { paths, components } = await new Client({ url: server.url }).request("GET", "/openapi.json");
  schemas = components.schemas;
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      operations.set(operation.operationId, { ...operation, method: method.toUpperCase(), path });
    }
  }
  // The operations of a named collection are those of the default collection.
  for (const id of [...operations.keys()]) {
    if (operations.has(id.replace(/_of_collection$/, "")) && id.endsWith("_of_collection")) operations.delete(id);
  }
});
after(() => server.stop());

test("every operation has a method or a reason", () => {
  for (const id of operations.keys()) assert.ok(id in CALLS || id in WITHOUT_METHOD || generated(id), id);
  for (const id of [...Object.keys(CALLS), ...Object.keys(WITHOUT_METHOD)]) assert.ok(operations.has(id), id);
});

/** The call of a method that generate.py wrote: its path has one argument at most. */
function generated(id) {
  const method = Operations.prototype[camelCase(id.replace(/_of_collection$/, ""))];
  const { path, requestBody } = operations.get(id);
  const parts = [...(path.includes("{") ? ["a"] : []), ...(requestBody ? [{}] : [])];
  return method && ((client, query) => method.call(client, ...parts, query));
}

test("every parameter is sent", async (context) => {
  for (const id of [...operations.keys()].filter((id) => !(id in WITHOUT_METHOD))) {
    await context.test(id, () => sendsEveryParameter(id, CALLS[id] ?? generated(id)));
  }
});

async function sendsEveryParameter(id, call) {
  const { method, path, parameters = [] } = operations.get(id);
  const query = parameters.filter((parameter) => parameter.in === "query");
  const options = query.map(({ name, schema }) => [camelCase(name), example(schema)]);
  const sent = new Set();
  const fetch = async (url, init) => {
    const { pathname, searchParams } = new URL(url);
    assert.deepEqual([init.method, pathname], [method, path.replace(/\{[a-z]+\}/, "a")]);
    for (const name of searchParams.keys()) sent.add(name);
    for (const name of Object.keys(JSON.parse(init.body ?? "{}"))) sent.add(name);
    return new Response(ANSWER);
  };
  await call(new Client({ url: "http://akin.example", fetch }), Object.fromEntries(options));
  assert.deepEqual(query.map(({ name }) => name).filter((name) => !sent.has(name)), []);
}

function camelCase(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** A value that the schema of a parameter allows. */
function example(schema) {
  if (schema.$ref) return example(schemas[schema.$ref.split("/").at(-1)]);
  if (schema.oneOf) return example(schema.oneOf[0]);
  if (schema.enum) return schema.enum[0];
  const [, listed] = schema.pattern?.match(/^\^\(?([a-z]+)/) ?? [];
  return listed ? [listed] : { boolean: true, integer: 1, number: 0.5, string: "a" }[schema.type];
}
