import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import test, { type TestContext } from "node:test";
import { LandingFolder, landedName } from "../src/landing_folder.js";
import { announced, FILE, folder } from "./support.js";

const HEX = FILE.replaceAll("-", "");

function landing(t: TestContext): { dir: string; at: string; landing: LandingFolder } {
  const dir = path.join(folder(t), "dir");
  return { dir, at: path.join(dir, ".molecule", "chat-uploads"), landing: new LandingFolder(dir) };
}

async function land(into: LandingFolder, content: Uint8Array, record = announced(content)): Promise<string | undefined> {
  const partial = await into.begin(record);
  await partial.append(content.subarray(partial.size));
  return into.finish(partial, record);
}

test("a file lands under its id and safe name, for its owner only, and nothing else is left", async (t) => {
  const { at, landing: into } = landing(t);
  const content = randomBytes(100_000);
  const record = announced(content, { name: "../my report.pdf" });
  assert.equal(await land(into, content, record), path.join(at, `${HEX}-my_report.pdf`));
  assert.deepEqual(fs.readdirSync(at), [`${HEX}-my_report.pdf`]);
  assert.deepEqual(fs.readFileSync(path.join(at, `${HEX}-my_report.pdf`)), content);
  assert.equal(fs.statSync(path.join(at, `${HEX}-my_report.pdf`)).mode & 0o777, 0o600);
  assert.equal(await into.find(record), path.join(at, `${HEX}-my_report.pdf`));
});

test("a download goes on where an earlier process was killed", async (t) => {
  const { landing: into } = landing(t);
  const content = randomBytes(50_000);
  const first = await into.begin(announced(content));
  await first.append(content.subarray(0, 20_000));
  await first.close();
  const second = await into.begin(announced(content));
  assert.equal(second.size, 20_000);
  await second.append(content.subarray(20_000));
  assert.ok(await into.finish(second, announced(content)));
});

test("content of another size or hash does not land, and is begun again from nothing", async (t) => {
  const { at, landing: into } = landing(t);
  const content = randomBytes(1000);
  for (const wrong of [randomBytes(1000), content.subarray(1)]) {
    assert.equal(await land(into, wrong, announced(content)), undefined);
    assert.deepEqual(fs.readdirSync(at), []);
  }
});

test("another file with the same name is not replaced", async (t) => {
  const { at, landing: into } = landing(t);
  const content = Buffer.from("new");
  fs.mkdirSync(at, { recursive: true });
  fs.writeFileSync(path.join(at, landedName(announced(content))), "mine");
  assert.equal(await land(into, content), path.join(at, `${HEX}-1-a.txt`));
  assert.equal(fs.readFileSync(path.join(at, `${HEX}-a.txt`), "utf8"), "mine");
  assert.equal(await into.find(announced(content)), path.join(at, `${HEX}-1-a.txt`));
});

test("nothing is written through a link in the place of a folder or of an unfinished file", async (t) => {
  const { dir, at, landing: into } = landing(t);
  const outside = folder(t);
  const content = Buffer.from("content");
  fs.mkdirSync(dir);
  fs.symlinkSync(outside, path.join(dir, ".molecule"));
  await assert.rejects(into.begin(announced(content)), /symbolic link or no folder; nothing is written through it/);
  fs.unlinkSync(path.join(dir, ".molecule"));
  fs.mkdirSync(path.join(dir, ".molecule"));
  fs.symlinkSync(outside, at);
  await assert.rejects(into.find(announced(content)), /symbolic link/);
  fs.unlinkSync(at);
  fs.mkdirSync(at);
  fs.writeFileSync(path.join(outside, "victim"), "old");
  fs.symlinkSync(path.join(outside, "victim"), path.join(at, `.part-${HEX}`));
  assert.ok(await land(into, content));
  assert.equal(fs.readFileSync(path.join(outside, "victim"), "utf8"), "old");
  assert.deepEqual(fs.readdirSync(outside), ["victim"]);
});

test("a hard link to a file of somebody else is not written to", async (t) => {
  const { at, landing: into } = landing(t);
  const content = Buffer.from("content");
  fs.mkdirSync(at, { recursive: true });
  const victim = path.join(folder(t), "victim");
  fs.writeFileSync(victim, "");
  fs.linkSync(victim, path.join(at, `.part-${HEX}`));
  assert.ok(await land(into, content));
  assert.equal(fs.readFileSync(victim, "utf8"), "");
});

test("a file in the place of the landing folder is a sentence, not a crash", async (t) => {
  const { dir, landing: into } = landing(t);
  fs.writeFileSync(dir, "");
  await assert.rejects(into.begin(announced(Buffer.from("x"))), /cannot (make|open) the folder/);
});
