// Every tool through the command line of the MCP inspector: inspector.mjs URL KEY ERA.
//
// ERA is `legacy` or `modern`. The tools' schemas must also be ones that every client takes.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

import { everyTool } from "./every_tool.mjs";

const [url, key, era] = process.argv.slice(2);
const run = promisify(execFile);
const bin = new URL("node_modules/.bin/", import.meta.url).pathname;
const calls = JSON.parse(await readFile(new URL("calls.json", import.meta.url)));

const { tools } = await inspect("--method", "tools/list", "--strict");
const names = tools.map((tool) => tool.name);
await everyTool(calls, names, (tool, args) =>
  inspect("--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(args)),
);
const { prompts } = await inspect("--method", "prompts/list");
assert.ok(prompts.some((prompt) => prompt.name === "chat-fork"));
const { resourceTemplates } = await inspect("--method", "resources/templates/list");
assert.ok(resourceTemplates.some((template) => template.name === "chat"));
console.log(`inspector, ${era}: ok`);

async function inspect(...args) {
  const all = ["--cli", `${url}/mcp`, "--transport", "http", "--protocol-era", era];
  const header = ["--header", `X-API-Key: ${key}`, "--format", "json"];
  const command = [`${bin}mcp-inspector`, ...all, ...header, ...args];
  const ran = run(`${bin}node`, command, { maxBuffer: 64 * 1024 * 1024 });
  // The error itself has the whole output in it, and the key.
  const { stdout } = await ran.catch((error) => {
    throw new Error(`${args.join(" ")}: ${error.stderr}`);
  });
  return JSON.parse(stdout).result;
}
