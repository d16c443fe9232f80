import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import test from "node:test";
import { nextHop, remember } from "../src/hops.js";
import { type Change, State } from "../src/state.js";
import { InUse, replay, StateDirectory } from "../src/state_directory.js";
import { chooseState, NoState, stateOf } from "../src/states.js";
import { hashOf } from "../src/session.js";
import { announced, FILE, folder, ledgerIn, WORKSPACE } from "./support.js";

function linkOf(name: string): string {
  try {
    return fs.readlinkSync(name);
  } catch {
    return "";
  }
}

const REPLY = { key: "reply-m1", text: "yes", to: "agent" as const, target: "peer", hops: 1, failed: false, files: "", row: "" };

test("every change is in the journal, and replaying it gives the same state", async (t) => {
  const at = folder(t);
  const { ledger } = await ledgerIn(t, at);
  ledger.setIdentity("https://post.example.org", WORKSPACE, "hash");
  assert.equal(ledger.announce(announced(Buffer.from("x"))), true);
  assert.equal(ledger.announce(announced(Buffer.from("x"))), false);
  ledger.fileUpdated({ ...ledger.file(FILE)!, where: "landed", path: "/there", acked: true });
  assert.equal(ledger.begin("m1"), false);
  assert.equal(ledger.begin("m1"), true);
  ledger.endDelivery({ id: "m1", createdAt: "2026-01-01T00:00:00Z", files: [FILE], notified: [], reply: REPLY });
  ledger.begin("m2");
  ledger.setCursor(7, "row-7");
  const again = replay(fs.readFileSync(path.join(at, "journal"), "utf8"), at);
  assert.deepEqual(again, ledger.state);
  assert.equal(again.files.get(FILE)?.handedOver, true);
  assert.deepEqual([...again.begun], ["m2"]);
  assert.deepEqual(again.outbox, [REPLY]);
  assert.deepEqual(again.answered, [{ peer: "peer", createdAt: "2026-01-01T00:00:00Z" }]);
  assert.equal(again.hasSeen("m1", ""), true);
  ledger.sent("reply-m1");
  assert.deepEqual(replay(fs.readFileSync(path.join(at, "journal"), "utf8"), at).outbox, []);
});

test("the journal and the token can be read by their owner only", async (t) => {
  const at = path.join(folder(t), "made");
  const { ledger } = await ledgerIn(t, at);
  ledger.setCursor(1, "row-1");
  ledger.directory.keepToken("secret");
  assert.equal(fs.statSync(at).mode & 0o777, 0o700);
  for (const name of ["journal", "token", "lock"]) assert.equal(fs.statSync(path.join(at, name)).mode & 0o777, 0o600);
  assert.equal(ledger.directory.token(), "secret");
});

test("a line that a kill has cut off at any byte is ignored, and everything before it counts", async (t) => {
  const at = folder(t);
  const { ledger } = await ledgerIn(t, at);
  ledger.setCursor(1, "row-1");
  ledger.setCursor(2, "row-2");
  const text = fs.readFileSync(path.join(at, "journal"), "utf8");
  const last = text.lastIndexOf("\n", text.length - 2) + 1;
  for (let length = last; length < text.length; ++length) assert.equal(replay(text.slice(0, length), at).cursor, 1);
  assert.equal(replay(text, at).cursor, 2);
  assert.equal(replay(text + "garbage of a power cut\n", at).cursor, 2);
});

test("a journal that is damaged before its end is refused with a sentence and not replaced", async (t) => {
  const at = folder(t);
  const { ledger } = await ledgerIn(t, at);
  for (const cursor of [1, 2, 3]) ledger.setCursor(cursor, `row-${cursor}`);
  ledger.directory.close();
  const file = path.join(at, "journal");
  const damaged = fs.readFileSync(file, "utf8").replace('"row-2"', '"row-9"');
  fs.writeFileSync(file, damaged);
  const directory = await StateDirectory.open(at);
  t.after(() => directory.close());
  assert.throws(() => directory.load(), /damaged or of another version; move it away/);
  assert.equal(fs.readFileSync(file, "utf8"), damaged);
});

test("a state of restante connect is refused instead of being used beside it", async (t) => {
  const at = folder(t);
  fs.writeFileSync(path.join(at, "state.json"), "{}\n");
  await assert.rejects(StateDirectory.open(at), /that of `restante connect`/);
});

test("a journal that has grown is replaced by a short one with the same state", async (t) => {
  const at = folder(t);
  const { ledger } = await ledgerIn(t, at);
  const text = "x".repeat(200_000);
  for (let n = 0; n < 60; ++n) {
    ledger.endDelivery({ id: `m${n}`, createdAt: "", files: [], notified: [], reply: { ...REPLY, to: "person", key: `k${n}`, text } });
    ledger.sent(`k${n}`);
  }
  const file = path.join(at, "journal");
  assert.ok(fs.statSync(file).size < 6_000_000);
  assert.deepEqual(replay(fs.readFileSync(file, "utf8"), at), ledger.state);
});

test("when the disk fails the state goes on in memory, and all of it is written once the disk works again", async (t) => {
  const at = folder(t);
  const { ledger, lines } = await ledgerIn(t, at);
  ledger.setCursor(1, "row-1");
  // The journal's descriptor is gone, and a new journal cannot be made: every write fails, also for root.
  const descriptor = fs.readdirSync("/proc/self/fd").find((name) => linkOf(`/proc/self/fd/${name}`) === path.join(at, "journal"));
  fs.closeSync(Number(descriptor));
  fs.renameSync(at, at + "-away");
  ledger.setCursor(2, "row-2");
  ledger.setCursor(3, "row-3");
  assert.equal(ledger.state.cursor, 3);
  assert.equal(lines.filter((line) => line.startsWith("the state cannot be kept")).length, 1);
  fs.renameSync(at + "-away", at);
  ledger.begin("m1");
  assert.equal(lines.at(-1), "the state can be kept again");
  const again = replay(fs.readFileSync(path.join(at, "journal"), "utf8"), at);
  assert.deepEqual([again.cursor, [...again.begun]], [3, ["m1"]]);
});

test("one process at a time has a state directory, and the lock ends with a killed process", async (t) => {
  const at = folder(t);
  const program = `import { StateDirectory } from ${JSON.stringify(new URL("../src/state_directory.js", import.meta.url).href)};
    await StateDirectory.open(${JSON.stringify(at)}); console.log("open"); setInterval(() => {}, 1000);`;
  const other = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => other.kill("SIGKILL"));
  await once(other.stdout, "data");
  await assert.rejects(StateDirectory.open(at), (error) => error instanceof InUse && error.message.includes(`process ${other.pid}, since 2`));
  other.kill("SIGKILL");
  await once(other, "exit");
  (await StateDirectory.open(at)).close();
});

test("files that are finished leave the state when there are too many, and others do not", () => {
  const state = new State();
  const apply = (change: Change): void => assert.ok(state.apply(change));
  const record = (n: number, finished: boolean) => ({
    ...announced(Buffer.from("x")),
    id: `file-${n}`,
    ...(finished ? { where: "landed" as const, acked: true, handedOver: true } : {}),
  });
  apply({ file: record(0, false) });
  for (let n = 1; n <= 10_000; ++n) apply({ file: record(n, true) });
  assert.equal(state.files.size, 10_000);
  assert.ok(state.files.has("file-0") && !state.files.has("file-1"));
});

test("rows that are older than all that are remembered count as seen", () => {
  const state = new State();
  const time = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
  for (let n = 0; n < 2_100; ++n) state.apply({ handed: { id: `m${n}`, createdAt: time(n), files: [], notified: [] } });
  assert.equal(state.recent.size, 2_000);
  assert.ok(state.hasSeen("m0", time(0)) && state.hasSeen("m2099", time(2099)));
  assert.ok(!state.hasSeen("new", time(2100)));
});

test("an agent is answered at most eight times in a row, counted by hops or within an hour", () => {
  assert.equal(nextHop([], "peer", 3, ""), 4);
  assert.equal(nextHop([], "peer", 8, ""), undefined);
  let answered: ReturnType<typeof remember> = [];
  for (let n = 0; n < 8; ++n) {
    assert.equal(nextHop(answered, "peer", 0, `2026-01-01T00:0${n}:00Z`), 1);
    answered = remember(answered, { peer: "peer", createdAt: `2026-01-01T00:0${n}:00Z` });
  }
  assert.equal(nextHop(answered, "peer", 0, "2026-01-01T00:30:00Z"), undefined);
  assert.equal(nextHop(answered, "other", 0, "2026-01-01T00:30:00Z"), 1);
  assert.equal(nextHop(answered, "peer", 0, "2026-01-01T01:30:00Z"), 1);
});

test("the state of a workspace is found by its enrolment token, by its id, or because it is the only one", async (t) => {
  const all = folder(t);
  assert.throws(() => chooseState({ enrol: "", workspace: "" }, all), NoState);
  const fresh = chooseState({ enrol: "token", workspace: "" }, all);
  assert.equal(fresh.isNew, true);
  const { ledger } = await ledgerIn(t, fresh.path);
  ledger.setIdentity("https://post.example.org", WORKSPACE, hashOf("token"));
  // A kill before it got its name: the same token finds it again, and it still has to be named.
  assert.deepEqual(chooseState({ enrol: "token", workspace: "" }, all), { path: fresh.path, isNew: true });
  ledger.directory.moveTo(stateOf(WORKSPACE, all));
  ledger.setCursor(5, "row-5");
  for (const options of [{ enrol: "token", workspace: "" }, { enrol: "", workspace: "" }, { enrol: "", workspace: WORKSPACE }])
    assert.deepEqual(chooseState(options, all), { path: path.join(all, WORKSPACE), isNew: false });
  const other = WORKSPACE.replace(/1$/, "2");
  const { ledger: second } = await ledgerIn(t, stateOf(other, all));
  second.setIdentity("https://post.example.org", other, "");
  assert.throws(() => chooseState({ enrol: "", workspace: "" }, all), new RegExp(`several workspaces.*${WORKSPACE}`));
});

test("a state directory that is closed is not written any more: another process may have it", async (t) => {
  const at = folder(t);
  const { ledger, lines } = await ledgerIn(t, at);
  ledger.setCursor(1, "row-1");
  ledger.directory.close();
  const before = fs.readFileSync(path.join(at, "journal"), "utf8");
  ledger.setCursor(2, "row-2");
  assert.equal(fs.readFileSync(path.join(at, "journal"), "utf8"), before);
  assert.deepEqual(lines, ["the state cannot be kept: the state directory is closed"]);
});
