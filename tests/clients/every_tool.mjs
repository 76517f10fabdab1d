// The calls of calls.json, one after the other: every tool is called, and every call goes through.

import assert from "node:assert/strict";

// `tools` are the names that the server lists; `call` takes a tool and its arguments and returns
// the result.
export async function everyTool(calls, tools, call) {
  const kept = {};
  const called = new Set();
  for (const { tool, arguments: given, keep = {} } of calls) {
    const args = filled(given, kept);
    const result = await call(tool, args);
    const told = `${tool} ${JSON.stringify(args)}: ${JSON.stringify(result)}`;
    assert.ok(!result.isError, told);
    const structured = result.structuredContent;
    if (args.operation !== undefined) assert.equal(structured.status, "Applied", told);
    for (const [name, path] of Object.entries(keep)) {
      kept[name] = path.split(".").reduce((value, step) => value[step], structured);
      assert.equal(typeof kept[name], "string", `${path} of ${told}`);
    }
    called.add(tool);
  }
  assert.deepEqual([...called].sort(), [...tools].sort());
}

// Puts what was kept in place of `$name`.
function filled(value, kept) {
  if (typeof value === "string" && value.startsWith("$")) {
    assert.ok(value.slice(1) in kept, `${value} was not kept`);
    return kept[value.slice(1)];
  }
  if (Array.isArray(value)) return value.map((item) => filled(item, kept));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filled(item, kept)]));
  }
  return value;
}
