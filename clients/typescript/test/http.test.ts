import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as http from "node:http";
import * as net from "node:net";
import type { AddressInfo } from "node:net";
import * as path from "node:path";
import test from "node:test";
import { Backoff, LONGEST_PAUSE } from "../src/backoff.js";
import { Failure } from "../src/failure.js";
import { describeFile, divide, mediaTypeOf } from "../src/form.js";
import { HttpClient, parseServer, textOf } from "../src/http.js";
import { proxyFor } from "../src/proxy.js";
import { folder, serve, sha256 } from "./support.js";

function fails(kind: string, status = 0) {
  return (error: unknown): boolean => error instanceof Failure && error.kind === kind && error.status === status;
}

test("an address is that of a server, without a password and without a slash at its end", () => {
  assert.equal(textOf(parseServer("https://post.example.org/")), "https://post.example.org");
  assert.equal(textOf(parseServer("http://[::1]:8080/base/")), "http://[::1]:8080/base");
  for (const bad of ["post.example.org", "ftp://x", "https://name:secret@x", ""]) assert.throws(() => parseServer(bad), fails("bad_url"));
});

test("every error of the server is a Failure with its sentence and code", async (t) => {
  const { api } = await serve(t, (_, response) => void response.writeHead(429, { "Retry-After": "7" }).end('{"error":"slow down","code":"too_many"}'));
  await assert.rejects(api.limits(), (error) => {
    assert.ok(error instanceof Failure);
    assert.deepEqual([error.kind, error.status, error.code, error.retryAfter, error.passes], ["status", 429, "too_many", 7, true]);
    return error.message === "the server answers 429: slow down";
  });
});

test("an answer that is cut, is no HTTP or no JSON, or never comes, has its own kind", async (t) => {
  const cut = await serve(t, (_, response) => {
    response.writeHead(200, { "Content-Length": 100 });
    response.write("{", () => response.destroy());
  });
  await assert.rejects(cut.api.limits(), fails("cut"));
  const html = await serve(t, (_, response) => void response.end("<html>"));
  await assert.rejects(html.api.limits(), fails("protocol"));
  const silent = await serve(t, () => {});
  await assert.rejects(silent.api.http.send({ target: "/", patience: 50 }), fails("timeout"));
  const large = await serve(t, (_, response) => void response.end(Buffer.alloc(1000)));
  await assert.rejects(large.api.http.send({ target: "/", maxBody: 999 }), fails("too_large"));
  const greeting = net.createServer((socket) => void socket.on("error", () => {}).resume().end("SSH-2.0-OpenSSH\r\n"));
  await new Promise<void>((resolve) => greeting.listen(0, "127.0.0.1", resolve));
  const client = new HttpClient(new URL(`http://127.0.0.1:${(greeting.address() as AddressInfo).port}`), {});
  await assert.rejects(client.send({ target: "/" }), fails("protocol"));
  await new Promise((resolve) => greeting.close(resolve));
  await assert.rejects(client.send({ target: "/" }), fails("unreachable"));
});

test("a kept connection that the server has closed is replaced, and the request is sent once more if that is safe", async (t) => {
  let close = false;
  const { api, asked } = await serve(t, (request, response) => {
    if (close) return void ((close = false), request.socket.destroy());
    response.end("{}");
  });
  await api.http.send({ target: "/first" });
  close = true;
  await api.http.send({ target: "/again" });
  assert.deepEqual(asked, ["GET /first", "GET /again", "GET /again"]);
  close = true;
  await assert.rejects(api.http.send({ method: "POST", target: "/once" }), fails("cut"));
  assert.equal(asked.filter((line) => line === "POST /once").length, 1);
});

test("closing ends running calls and every later one", async (t) => {
  const { api } = await serve(t, () => api.http.close());
  await assert.rejects(api.limits(), fails("cancelled"));
  await assert.rejects(api.limits(), fails("cancelled"));
});

test("redirects are returned and not followed", async (t) => {
  const { api, asked } = await serve(t, (_, response) => void response.writeHead(302, { Location: "/elsewhere" }).end());
  await assert.rejects(api.limits(), (error) => fails("status", 302)(error) && (error as Failure).mayYetSucceed && !(error as Failure).passes);
  assert.equal(asked.length, 1);
});

test("an upload has every byte of its files, also when the connection breaks once, and the same key", async (t) => {
  const at = folder(t);
  const content = Buffer.alloc(3_000_000, "restante ");
  const files = ["one.pdf", 'two "quoted".txt'].map((name) => path.join(at, name));
  for (const file of files) fs.writeFileSync(file, content);
  const keys: unknown[] = [];
  const bodies: Buffer[] = [];
  const { api } = await serve(t, (request, response) => {
    if (request.url === "/uploads/limits") return void response.end('{"per_file_bytes":4000000,"per_request_bytes":0,"max_files":64}');
    keys.push(request.headers["idempotency-key"]);
    const pieces: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (piece: Buffer) => {
      pieces.push(piece);
      if (keys.length === 1) request.socket.destroy();
    });
    request.on("end", () => {
      bodies.push(Buffer.concat(pieces));
      response.end(JSON.stringify({ files: files.map(() => ({ uri: "platform-pending:x", name: "n" })) }));
    });
  });
  assert.equal((await api.stageFiles(files, "key")).length, 2);
  assert.deepEqual(keys, ["key-0", "key-0"]);
  const text = bodies[0]!.toString("latin1");
  assert.match(text, /name="files"; filename="one\.pdf"\r\nContent-Type: application\/pdf\r\n\r\n/);
  assert.match(text, /filename="two %22quoted%22\.txt"\r\nContent-Type: text\/plain/);
  for (const part of text.split(/\r\n--restante-[^\r]*\r\n|--restante-[^\r]*\r\n/).slice(1, 3))
    assert.equal(sha256(Buffer.from(part.slice(part.indexOf("\r\n\r\n") + 4), "latin1")), sha256(content));
  fs.writeFileSync(files[0]!, Buffer.alloc(4_000_001));
  await assert.rejects(api.stageFiles(files), /at most 4000000 a file/);
  fs.writeFileSync(files[0]!, "");
  await assert.rejects(api.stageFiles(files), /is empty/);
  await assert.rejects(describeFile(at), /is not a file/);
});

test("files are divided into requests that the server takes", () => {
  const file = (size: number) => ({ path: "", name: "", type: "", size });
  const sizes = (limits: { perRequest: number; files: number }) =>
    divide([file(1000), file(2000), file(3000)], { perFile: 0, ...limits }).map((batch) => batch.map(({ size }) => size));
  assert.deepEqual(sizes({ perRequest: 0, files: 64 }), [[1000, 2000, 3000]]);
  assert.deepEqual(sizes({ perRequest: 0, files: 2 }), [[1000, 2000], [3000]]);
  assert.deepEqual(sizes({ perRequest: 7000, files: 64 }), [[1000, 2000], [3000]]);
  assert.equal(mediaTypeOf("A.PNG"), "image/png");
});

test("pauses double and are never longer than ten seconds", () => {
  const backoff = new Backoff(500);
  const pauses = Array.from({ length: 40 }, () => backoff.next());
  assert.ok(pauses[0]! >= 250 && pauses[0]! <= 500);
  assert.ok(pauses.every((pause) => pause <= LONGEST_PAUSE));
  assert.equal(LONGEST_PAUSE, 10_000);
  backoff.reset();
  assert.ok(backoff.next() <= 500);
});

test("the proxy comes from the environment, and not for loopback or an exception", () => {
  const server = new URL("https://post.example.org");
  assert.equal(proxyFor(server, {}), undefined);
  assert.equal(proxyFor(server, { https_proxy: "http://proxy:3128" })?.host, "proxy:3128");
  assert.equal(proxyFor(server, { all_proxy: "proxy:3128" })?.host, "proxy:3128");
  assert.equal(proxyFor(server, { https_proxy: "http://proxy", no_proxy: "a.test, .example.org" }), undefined);
  assert.equal(proxyFor(new URL("http://127.0.0.1:1"), { http_proxy: "http://proxy" }), undefined);
  assert.throws(() => proxyFor(server, { https_proxy: "socks5://proxy" }), fails("bad_url"));
});

test("a request through a proxy names the whole address and the proxy's password", async (t) => {
  const seen: string[] = [];
  const proxy = http.createServer((request, response) => {
    seen.push(`${request.url} ${request.headers.host} ${request.headers["proxy-authorization"]}`);
    response.end("{}");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const client = new HttpClient(new URL("http://post.example.org"), { http_proxy: `http://me:pass@127.0.0.1:${(proxy.address() as AddressInfo).port}` });
  t.after(() => client.close());
  await client.send({ target: "/health" });
  assert.deepEqual(seen, [`http://post.example.org/health post.example.org Basic ${Buffer.from("me:pass").toString("base64")}`]);
});
