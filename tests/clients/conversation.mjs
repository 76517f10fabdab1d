// One conversation through the official TypeScript SDKs: conversation.mjs URL KEY MODE.
//
// MODE is `v1` (the SDK that most clients in use are built with), or of the present SDK:
// `legacy` (a handshake and a session), `modern` (no session), `auto`.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";

import { everyTool } from "./every_tool.mjs";

const [url, key, mode] = process.argv.slice(2);
const client = await connect();
await converse(client);
const calls = JSON.parse(await readFile(new URL("calls.json", import.meta.url)));
const names = (await client.listTools()).tools.map((tool) => tool.name);
await everyTool(calls, names, call);
await client.close();
console.log(`typescript, ${mode}: ok`);

async function connect() {
  const info = { name: "scripta-clients", version: "1" };
  const options = { requestInit: { headers: { "X-API-Key": key } } };
  const address = new URL(`${url}/mcp`);
  if (mode === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import(
      "@modelcontextprotocol/sdk/client/streamableHttp.js"
    );
    const client = new Client(info);
    await client.connect(new StreamableHTTPClientTransport(address, options));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const modes = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
  const client = new Client(info, { versionNegotiation: { mode: modes[mode] } });
  await client.connect(new StreamableHTTPClientTransport(address, options));
  return client;
}

async function converse() {
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  for (const name of ["app_chats", "app_projects", "app_read", "app_runs"]) {
    assert.ok(tools.includes(name), `${name} is not in ${tools}`);
  }

  const project = await applied("app_projects", { operation: "Create", name: "From TypeScript" });
  const chat = await applied("app_chats", {
    operation: "Create",
    projectId: project.document.id,
    title: "Gannets",
  });
  const chatId = chat.document.id;

  const operationId = randomUUID();
  const submit = {
    operation: "Submit",
    chatId,
    text: "How deep do gannets dive?",
    operationId,
    wait: true,
  };
  const first = await applied("app_runs", submit);
  assert.equal(first.replayed, false);
  assert.equal(first.document.run.status, "Completed");
  const again = await applied("app_runs", submit);
  assert.equal(again.replayed, true);
  assert.equal(again.document.messageId, first.document.messageId);

  const messages = await read({ resource: "Messages", chatId, order: "OldestFirst" });
  assert.deepEqual(messages.map((message) => message.role), ["User", "Assistant"]);
  assert.equal(messages[0].id, operationId);

  const fork = await applied("app_runs", {
    operation: "Submit",
    mode: "Fork",
    chatId,
    fromMessageId: messages[1].id,
    text: "And how far do they fly?",
    wait: true,
  });
  const branchId = fork.document.branchId;
  const chain = await read({ resource: "Messages", branchId, order: "OldestFirst" });
  assert.equal(chain.length, 4);
  assert.deepEqual(ids(chain.slice(0, 2)), ids(messages));

  const rename = { operation: "Rename", chatId, expectedRevision: 1 };
  await applied("app_chats", { ...rename, title: "Gannets and boobies" });
  const stale = await call("app_chats", { ...rename, title: "Too late" });
  assert.equal(stale.isError, true);
  assert.equal(stale.structuredContent.status, "Conflict");
  assert.equal(stale.structuredContent.revision, 2);
  assert.equal(stale.structuredContent.document.title, "Gannets and boobies");

  const hits = await read({ resource: "Search", query: "GANNETS dive", chatId });
  const asked = hits.filter((hit) => hit.role === "User").map((hit) => hit.messageId);
  assert.deepEqual(asked, [operationId]);
}

function ids(messages) {
  return messages.map((message) => message.id);
}

function call(tool, args) {
  return client.callTool({ name: tool, arguments: args });
}

async function applied(tool, args) {
  const result = await call(tool, args);
  assert.ok(!result.isError, JSON.stringify(result));
  assert.equal(result.structuredContent.status, "Applied");
  return result.structuredContent;
}

async function read(args) {
  const result = await call("app_read", args);
  assert.ok(!result.isError, JSON.stringify(result));
  return result.structuredContent.items;
}
