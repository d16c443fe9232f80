import assert from "node:assert/strict";
import * as fs from "node:fs";
import test from "node:test";
import { EventParser, Sender, SenderError, type SenderEvent } from "../src/browser.js";
import { serve, WORKSPACE } from "./support.js";

test("the entry point for browsers imports nothing", () => {
  const source = fs.readFileSync(new URL("../src/browser.js", import.meta.url), "utf8");
  assert.doesNotMatch(source, /^\s*import\b|\brequire\(|\bimport\(|node:/m);
});

test("events are read the same however their bytes are divided", () => {
  const text =
    ': comment\r\n\r\nevent: RESYNC\ndata: {"seq":1}\n\nevent: AGENT_MESSAGE\r\ndata: {"message":"héllo 😀"}\r\n\r\nid: 7\nevent:ACTIVITY_LOGGED\ndata: {\ndata: "seq":7}\n\ndata: no json\n\n';
  const bytes = new TextEncoder().encode(text);
  const expected: SenderEvent[] = [
    { type: "RESYNC", id: "", data: { seq: 1 } },
    { type: "AGENT_MESSAGE", id: "", data: { message: "héllo 😀" } },
    { type: "ACTIVITY_LOGGED", id: "7", data: { seq: 7 } },
  ];
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const parser = new EventParser();
    const events: SenderEvent[] = [];
    for (let at = 0; at < bytes.length; at += size) events.push(...parser.take(bytes.subarray(at, at + size)));
    assert.deepEqual(events, expected);
  }
});

test("a message with files is one upload and one message, and a broken connection does not make it two", async (t) => {
  const keys: string[] = [];
  let cut = true;
  const { url, asked } = await serve(t, (request, response) => {
    request.resume();
    request.on("error", () => {});
    request.on("end", () => {
      if (request.url === "/session") return void response.end(JSON.stringify({ role: "sender", workspace_id: WORKSPACE }));
      if (request.url === "/uploads/limits") return void response.end('{"per_file_bytes":1000,"per_request_bytes":0,"max_files":64}');
      keys.push(String(request.headers["idempotency-key"]));
      if (request.url?.endsWith("/a2a") && cut) return void ((cut = false), request.socket.destroy());
      if (request.url?.endsWith("/a2a")) return void response.end('{"status":"queued","activity_id":"row","seq":3}');
      response.end('{"files":[{"uri":"platform-pending:x/y","name":"a.txt","mimeType":"text/plain","size":5}]}');
    });
  });
  const sender = new Sender(url + "/", { token: "secret" });
  const progress: number[] = [];
  const sent = await sender.send("see", { files: [{ name: "a.txt", content: new Blob(["12345"]) }], onProgress: ({ loaded }) => progress.push(loaded) });
  assert.deepEqual([sent.activityId, sent.seq, sent.files.length], ["row", 3, 1]);
  assert.equal(progress.at(-1), 5);
  assert.equal(asked.filter((line) => line.endsWith("/a2a")).length, 2);
  assert.equal(keys[1], keys[2]);
  assert.notEqual(keys[0], keys[1]);
  await assert.rejects(sender.upload([{ name: "large", content: new Blob(["x".repeat(1001)]) }]), /at most 1000 a file/);
  await assert.rejects(sender.upload([{ name: "empty", content: new Blob([]) }]), /is empty/);
});

test("a stream that is cut continues after its last event, and one that is refused throws", async (t) => {
  let streams = 0;
  const last: unknown[] = [];
  const { url } = await serve(t, (request, response) => {
    last.push(request.headers["last-event-id"]);
    if (++streams === 3) return void response.writeHead(401).end('{"error":"revoked","code":"unauthenticated"}');
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(`id: ${streams}\nevent: ACTIVITY_LOGGED\ndata: {"seq":${streams}}\n\n`, () => response.destroy());
  });
  const sender = new Sender(url, { token: "secret", workspace: WORKSPACE });
  const ids: string[] = [];
  await assert.rejects(
    async () => {
      for await (const event of sender.events()) ids.push(event.id);
    },
    (error) => error instanceof SenderError && error.status === 401 && error.message === "revoked",
  );
  assert.deepEqual(ids, ["1", "2"]);
  assert.deepEqual(last, [undefined, "1", "2"]);
});

test("events end when the signal is aborted", async (t) => {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write('event: RESYNC\ndata: {}\n\n');
  });
  const stop = new AbortController();
  for await (const event of new Sender(url, { token: "secret", workspace: WORKSPACE }).events({ signal: stop.signal })) {
    assert.equal(event.type, "RESYNC");
    stop.abort();
  }
});
