// The official MCP client with a real `restante mcp`: it calls every tool. Its argument is a JSON object ({command, args,
// attachment, peer}). It prints one JSON object with the result of every step and fails on anything unexpected; the client
// itself checks every structured result with the tool's output schema.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { command, args, attachment, peer } = JSON.parse(process.argv[2]);
const transport = new StdioClientTransport({ command, args, stderr: "inherit" });
const client = new Client({ name: "restante-test", version: "0" });
const troubles = [];
client.onerror = (error) => troubles.push(String(error));
await client.connect(transport);

const called = new Set();
async function call(name, given = {}, options = {}) {
  called.add(name);
  const result = await client.callTool({ name, arguments: given }, undefined, { timeout: 300_000, ...options });
  assert.equal(result.isError ?? false, false, JSON.stringify(result));
  assert.equal(result.content[0].type, "text");
  assert.ok(result.content[0].text.length > 0);
  assert.ok(!JSON.stringify(result).includes("base64"));
  return result.structuredContent;
}

const { tools } = await client.listTools();
for (const tool of tools) {
  assert.ok(tool.title && tool.description && tool.outputSchema && tool.annotations, tool.name);
  assert.equal(tool.annotations.destructiveHint ?? false, false);
}
const seen = { tools: tools.map((tool) => tool.name), server: client.getServerVersion(), capabilities: client.getServerCapabilities() };

// The test has already sent a message with a file, and one without.
for (seen.peek = { waiting: 0 }; seen.peek.waiting < 2; ) seen.peek = await call("inbox_peek");
// The waiting delivery may not be ready yet.
do seen.pop = await call("inbox_pop");
while (!seen.pop.message);
seen.wait = await call("wait_for_message", { timeout_seconds: 120 });
seen.files = await call("list_files");
seen.info = await call("get_workspace_info");
seen.peers = await call("list_peers");

seen.progress = [];
seen.sent = await call("send_message_to_user", { message: "from the client", attachments: [attachment] },
  { onprogress: (step) => seen.progress.push(step) });
seen.history = await call("chat_history", { limit: 10 });
seen.toAgent = await call("send_message_to_agent", { target: peer, message: "hello, agent" });

// A cancelled wait takes nothing and does not change the session.
const giveUp = new AbortController();
const waiting = call("wait_for_message", { timeout_seconds: 600 }, { signal: giveUp.signal });
seen.meanwhile = (await call("get_workspace_info")).id;
giveUp.abort("enough");
await assert.rejects(waiting, /enough/);

seen.delegated = await call("delegate_task", { target: peer, task: "count to three", timeout_seconds: 240, attachments: [attachment] });
const async = await call("delegate_task_async", { target: peer, task: "count to four" });
seen.result = await call("wait_for_message", { timeout_seconds: 240 });
seen.status = await call("check_task_status", { delegation_id: async.delegation_id });
seen.async = async;

// The peer gives a task in return.
console.log(JSON.stringify({ ready: "for a task" }));
seen.task = await call("wait_for_message", { timeout_seconds: 240 });
seen.completed = await call("complete_task", { delegation_id: seen.task.message.delegation_id, result: "done by the client" });

const unknown = await client.callTool({ name: "wait_for_message", arguments: { timeout_seconds: "soon" } });
assert.equal(unknown.isError, true);
await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), (error) => error.code === -32602);
await client.ping();
await client.close();
assert.deepEqual(troubles, []);
assert.deepEqual([...called].sort(), [...seen.tools].sort(), "every tool was called");
console.log(JSON.stringify(seen));
