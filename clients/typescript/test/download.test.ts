import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type * as http from "node:http";
import * as path from "node:path";
import * as fs from "node:fs";
import test, { type TestContext } from "node:test";
import { DownloadQueue, FileDownloader } from "../src/download_queue.js";
import { LandingFolder } from "../src/landing_folder.js";
import { Stop } from "../src/stop.js";
import { announced, FILE, folder, ledgerIn, serve, until } from "./support.js";

async function download(t: TestContext, content: Uint8Array, answer: http.RequestListener, record = announced(content), largest = 0) {
  const { api, asked } = await serve(t, answer);
  const result = await new FileDownloader(api, new LandingFolder(folder(t)), largest).download(record);
  return { result, record, asked: asked.map((line) => line.replace(/^(\w+) .*\/pending-uploads\/[^/ ]+/, "$1 ")) };
}

test("a download that is cut goes on by Range, and every byte is right", async (t) => {
  const content = randomBytes(300_000);
  const { result, record, asked } = await download(t, content, (request, response) => {
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const headers = from > 0 ? { "Content-Range": `bytes ${from}-${content.length - 1}/${content.length}` } : {};
    response.writeHead(from > 0 ? 206 : 200, { "Content-Length": content.length - from, ...headers });
    if (from > 0) return void response.end(content.subarray(from));
    response.write(content.subarray(0, 100_000), () => response.destroy());
  });
  assert.equal(result, "landed");
  assert.deepEqual(fs.readFileSync(record.path), content);
  assert.equal(asked.length, 2);
  assert.match(asked[1]!, /^GET \/content bytes=\d+-$/);
});

test("a server that answers a Range with the whole file is understood", async (t) => {
  const content = randomBytes(200_000);
  let requests = 0;
  const { result, record } = await download(t, content, (_, response) => {
    response.writeHead(200, { "Content-Length": content.length });
    if (++requests === 1) response.write(content.subarray(0, 100_000), () => response.destroy());
    else response.end(content);
  });
  assert.equal(result, "landed");
  assert.deepEqual(fs.readFileSync(record.path), content);
});

test("another range than the one that was asked for is wrong content", async (t) => {
  const content = randomBytes(200_000);
  const { result, record } = await download(t, content, (request, response) => {
    if (request.headers.range) return void response.writeHead(206, { "Content-Range": "bytes 0-9/200000", "Content-Length": 10 }).end("0123456789");
    response.writeHead(200, { "Content-Length": content.length });
    response.write(content.subarray(0, 100_000), () => response.destroy());
  });
  assert.deepEqual([result, record.trouble, record.reason], ["wrong", "failed", "the server sent another range"]);
});

test("content that differs from what was announced does not land", async (t) => {
  const content = randomBytes(1000);
  const { result, record } = await download(t, content, (_, response) => void response.end(randomBytes(1000)));
  assert.deepEqual([result, record.where, record.reason], ["wrong", "waiting", "the content is not what was announced (size or sha256)"]);
});

test("a file that is larger than announced, or than the server takes, is refused", async (t) => {
  const content = randomBytes(1000);
  const larger = await download(t, content, (_, response) => void response.end(randomBytes(2000)));
  assert.deepEqual([larger.result, larger.record.reason], ["wrong", "the file is larger than announced"]);
  const limit = await download(t, content, (_, response) => void response.end(content), announced(content), 999);
  assert.deepEqual([limit.result, limit.asked], ["wrong", []]);
});

for (const state of ["expired", "recalled", "acked"])
  test(`a file that is ${state} is gone, with the reason`, async (t) => {
    const content = Buffer.from("x");
    const { result, record } = await download(t, content, (request, response) => {
      if (request.url?.endsWith("/content")) response.writeHead(404).end('{"error":"gone","code":"upload_gone"}');
      else response.end(JSON.stringify({ state }));
    });
    assert.deepEqual([result, record.where, record.trouble], ["gone", "gone", state === "acked" ? "gone" : state]);
  });

test("a server that is down is tried again later, and so is one that answers with a sign-in page's redirect", async (t) => {
  const content = Buffer.from("x");
  for (const status of [503, 302]) {
    const { result, record } = await download(t, content, (_, response) => void response.writeHead(status).end());
    assert.deepEqual([result, record.trouble], ["later", "missing"]);
  }
});

test("a landed file is acknowledged after it is in the ledger, and local trouble is reported to the sender once", async (t) => {
  const content = randomBytes(1000);
  const dir = path.join(folder(t), "dir");
  fs.writeFileSync(dir, ""); // a file in the place of the folder
  const { ledger, lines } = await ledgerIn(t, folder(t));
  const { api, asked } = await serve(t, (request, response) => void response.end(request.url?.endsWith("/content") ? content : "{}"));
  const stop = new Stop();
  const states: string[] = [];
  const queue = new DownloadQueue(api, ledger, new LandingFolder(dir), stop, (id) => states.push(ledger.file(id)!.trouble || "landed"));
  ledger.announce(announced(content));
  queue.start(0);
  queue.enqueue(FILE);
  await until(() => states.length > 0, "the first attempt");
  assert.deepEqual(states, ["failed"]);
  fs.unlinkSync(dir);
  queue.retryNow();
  await until(() => states.includes("landed"), "the file lands");
  stop.request();
  await queue.join();
  const { where, acked, reported } = ledger.file(FILE)!;
  assert.deepEqual([where, acked, reported], ["landed", true, true]);
  assert.deepEqual(asked.map((line) => line.split("/").at(-1)), ["fail", "content", "ack"]);
  assert.equal(lines.filter((line) => line.includes("cannot be taken")).length, 1);
});
