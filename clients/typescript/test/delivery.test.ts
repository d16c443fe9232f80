import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { ReceivedRow, TaskView } from "../src/api_client.js";
import { deliverMessage, type Delivery, isSelfTest, jsonOf, readable } from "../src/delivery.js";
import { DeliveryLoop } from "../src/delivery_loop.js";
import { Failure } from "../src/failure.js";
import { HANDLED, Handover, type HandoverResult } from "../src/handover.js";
import type { JsonObject } from "../src/json.js";
import type { Ledger } from "../src/ledger.js";
import { State } from "../src/state.js";
import { Stop } from "../src/stop.js";
import { announced, FILE, folder, ledgerIn, until, WORKSPACE } from "./support.js";

const PEER = WORKSPACE.replace(/1$/, "9");
const URI = `platform-pending:${WORKSPACE}/${FILE}`;

function row(id: string, text: string, more: Partial<ReceivedRow> & { files?: string[]; metadata?: JsonObject } = {}): ReceivedRow {
  const { files = [], metadata, ...rest } = more;
  const parts = [{ kind: "text", text }, ...files.map((uri) => ({ kind: "file", file: { uri, name: "x" } }))];
  const message = { parts, ...(metadata ? { metadata } : {}) };
  return { id, seq: 5, method: "message/send", sourceId: null, createdAt: "2026-01-01T00:00:00Z", status: "ok", body: { params: { message } }, ...rest };
}

test("the uri of a landed file becomes its path, and that of another file keeps its state", () => {
  const state = new State();
  state.apply({ file: announced(Buffer.from("x"), { where: "landed", path: "/w/.molecule/chat-uploads/a.txt" }) });
  const given = row("m1", "see", { files: [URI, `platform-pending:${WORKSPACE}/${PEER}`, "https://example.org/x"] });
  const delivery = deliverMessage(given, state);
  assert.deepEqual(
    delivery.files.map((file) => [file.state, file.uri, file.path]),
    [
      ["landed", "workspace:/w/.molecule/chat-uploads/a.txt", "/w/.molecule/chat-uploads/a.txt"],
      ["unknown", `platform-pending:${WORKSPACE}/${PEER}`, undefined],
      ["external", "https://example.org/x", undefined],
    ],
  );
  const json = JSON.parse(jsonOf(delivery)) as { body: { params: { message: { parts: { file?: JsonObject }[] } } } };
  assert.deepEqual(
    json.body.params.message.parts.slice(1).map((part) => part.file),
    [
      { uri: "workspace:/w/.molecule/chat-uploads/a.txt", name: "x" },
      { uri: `platform-pending:${WORKSPACE}/${PEER}`, name: "x", state: "unknown" },
      { uri: "https://example.org/x", name: "x" },
    ],
  );
  assert.equal(JSON.stringify(given.body).includes("workspace:"), false, "the row itself is not changed");
});

test("a message of a person that names a task is no task", () => {
  const metadata = { delegation_id: "d1", parent_delegation_id: "d0", other: 1 };
  const person = deliverMessage(row("m1", "x", { metadata }), new State());
  assert.equal(person.delegationId, "");
  assert.equal(jsonOf(person).includes("delegation_id"), false);
  assert.equal(deliverMessage(row("m1", "x", { metadata, sourceId: PEER }), new State()).delegationId, "d1");
});

test("a line for a person has no control characters", () => {
  const line = readable(deliverMessage(row("m1", "one\ntwo\x1b[2J\u202e"), new State()));
  assert.equal(line, "2026-01-01T00:00:00Z message from the person: one\n    two?[2J?");
});

test("the rows of the self-test are recognised, and those of others are not", () => {
  const own = row("m1", "x", { sourceId: WORKSPACE, metadata: { restante_doctor: true } });
  assert.equal(isSelfTest(own, WORKSPACE), true);
  assert.equal(isSelfTest({ ...own, sourceId: PEER }, WORKSPACE), false);
  assert.equal(isSelfTest({ ...row("m1", ""), method: "chat_upload_receive", body: { name: "restante-doctor-1.txt" } }, WORKSPACE), true);
});

class Recorder extends Handover {
  readonly returnsWhenDone = true;
  readonly got: Delivery[] = [];
  answers: HandoverResult[] = [];

  async deliver(delivery: Delivery): Promise<HandoverResult> {
    this.got.push(structuredClone(delivery));
    return this.answers.shift() ?? HANDLED;
  }
}

async function loopIn(t: TestContext, options: { attempts?: number; filePatience?: number; replyToAgents?: boolean; ask?: () => Promise<TaskView> } = {}) {
  const { ledger, lines } = await ledgerIn(t, folder(t));
  const handover = new Recorder();
  const stop = new Stop();
  const { ask = () => Promise.reject(new Error("not asked")), ...rest } = options;
  const rules = { filePatience: 20_000, fileGrace: 0, attempts: 5, replyToAgents: false, ...rest };
  const events = { progress: () => {}, closed: () => {}, ask, task: () => {} };
  const loop = new DeliveryLoop(rules, ledger, handover, stop, events);
  loop.start();
  t.after(async () => {
    stop.request();
    await loop.join();
  });
  return { ledger, lines, handover, loop };
}

function taskOf(ledger: Ledger): unknown[] {
  return ledger.state.outbox.map(({ to, target, text, failed }) => [to, target, text, failed]);
}

test("messages go in order, each once, and the end of each is recorded", async (t) => {
  const { ledger, handover, loop } = await loopIn(t);
  for (const id of ["m1", "m2", "m3"]) loop.take(row(id, id));
  await until(() => loop.waitingCount === 0, "all are handed over");
  assert.deepEqual(handover.got.map((delivery) => [delivery.id, delivery.again]), [["m1", false], ["m2", false], ["m3", false]]);
  assert.ok(["m1", "m2", "m3"].every((id) => ledger.state.hasSeen(id, "")));
  assert.equal(ledger.state.begun.size, 0);
});

test("a delivery whose end is not recorded comes again, marked so", async (t) => {
  const { ledger, handover, loop } = await loopIn(t);
  ledger.begin("m1");
  loop.take(row("m1", "x"));
  await until(() => loop.waitingCount === 0, "it is handed over");
  assert.equal(handover.got[0]?.again, true);
});

test("a message waits for its files, and no file that a message names comes alone", async (t) => {
  const { ledger, handover, loop } = await loopIn(t);
  ledger.announce(announced(Buffer.from("x")));
  loop.take(row("m1", "see", { files: [URI] }));
  loop.takeFile(FILE);
  assert.equal(handover.got.length, 0);
  ledger.fileUpdated({ ...ledger.file(FILE)!, where: "landed", path: "/there" });
  loop.takeFile(FILE);
  await until(() => loop.waitingCount === 0, "it is handed over");
  assert.deepEqual(handover.got.map((delivery) => [delivery.type, delivery.files[0]?.path]), [["message", "/there"]]);
  assert.equal(ledger.file(FILE)?.handedOver, true);
});

test("a message whose files do not come is handed over with their state, and the file comes alone later", async (t) => {
  const { ledger, handover, loop } = await loopIn(t, { filePatience: 0 });
  ledger.announce(announced(Buffer.from("x")));
  loop.take(row("m1", "see", { files: [URI] }));
  await until(() => loop.waitingCount === 0, "it is handed over");
  assert.deepEqual(handover.got[0]?.files.map((file) => file.state), ["missing"]);
  ledger.fileUpdated({ ...ledger.file(FILE)!, where: "landed", path: "/there" });
  loop.takeFile(FILE);
  await until(() => handover.got.length === 2, "the file");
  assert.deepEqual([handover.got[1]?.type, handover.got[1]?.files[0]?.state], ["file", "landed"]);
});

test("a delivery that always fails does not block the next, and its sender is notified", async (t) => {
  const { ledger, handover, loop } = await loopIn(t, { attempts: 1 });
  handover.answers = [{ what: "failed", trouble: "no", errors: "line 1\nline 2" }];
  loop.take(row("m1", "bad"));
  loop.take(row("m2", "good"));
  await until(() => loop.waitingCount === 0, "both");
  assert.deepEqual(taskOf(ledger), [["person", "", "The agent could not handle this: no. The last lines of its errors:\nline 1\nline 2", false]]);
});

test("a failure of the agent itself is no attempt: the message waits", async (t) => {
  const { ledger, lines, handover, loop } = await loopIn(t, { attempts: 1 });
  handover.answers = [{ what: "unusable", trouble: "the command cannot be run" }];
  loop.take(row("m1", "x"));
  await until(() => loop.waitingCount === 0, "it is handed over at the second attempt");
  assert.equal(handover.got.length, 2);
  assert.deepEqual(ledger.state.outbox, []);
  assert.ok(lines.some((line) => line.includes("deliveries wait and are tried again until it works")));
});

const TASK = { sourceId: PEER, metadata: { delegation_id: "d1" } };

test("a task is begun only when the server says that it is wanted, and its answer is the result", async (t) => {
  const answers: (() => Promise<TaskView>)[] = [
    () => Promise.reject(new Failure("unreachable", "no network")),
    () => Promise.resolve({ interest: "wanted", status: "queued", why: "" }),
  ];
  const { ledger, lines, handover, loop } = await loopIn(t, { ask: () => answers.shift()!() });
  handover.answers = [{ what: "handled", reply: "done", files: "" }];
  loop.take(row("m1", "work", TASK));
  await until(() => loop.waitingCount === 0, "it is handed over");
  assert.deepEqual(taskOf(ledger), [["delegation", "d1", "done", false]]);
  assert.ok(lines.some((line) => line.startsWith("task d1 waits until the server answers")));
});

test("a task that was cancelled is not begun", async (t) => {
  const { ledger, lines, handover, loop } = await loopIn(t, { ask: () => Promise.resolve({ interest: "unwanted", status: "failed", why: "cancelled by caller" }) });
  loop.take(row("m1", "work", TASK));
  await until(() => loop.waitingCount === 0, "it is skipped");
  assert.deepEqual([handover.got, ledger.state.outbox], [[], []]);
  assert.ok(lines.includes("task d1 is over and is not begun: cancelled by caller"));
});

test("a message that names a task which the server did not give is a message, and is answered as one", async (t) => {
  for (const ask of [() => Promise.resolve<TaskView>({ interest: "not_a_task", status: "", why: "" }), () => Promise.reject(new Failure("status", "no", { status: 404 }))]) {
    const { ledger, handover, loop } = await loopIn(t, { ask, replyToAgents: true });
    handover.answers = [{ what: "handled", reply: "hello", files: "" }];
    loop.take(row("m1", "work", TASK));
    await until(() => loop.waitingCount === 0, "it is handed over");
    assert.equal(handover.got[0]?.delegationId, "");
    assert.deepEqual(taskOf(ledger), [["agent", PEER, "hello", false]]);
  }
});

test("the result that a caller waits for is not handed over by the loop, and is recorded when it is taken", async (t) => {
  const { ledger, handover, loop } = await loopIn(t);
  const result = row("r1", "forty-two", { method: "delegate_result", sourceId: PEER });
  (result.body as JsonObject)["delegation_id"] = "d7";
  loop.expectResult("d7");
  loop.take(result);
  loop.take(row("m1", "other"));
  const taken = await loop.waitForResult("d7", 60_000);
  assert.deepEqual([taken?.text, taken?.delegationId, taken?.status], ["forty-two", "d7", "ok"]);
  await until(() => loop.waitingCount === 0, "the other message");
  assert.deepEqual(handover.got.map((delivery) => delivery.id), ["m1"]);
  assert.ok(ledger.state.hasSeen("r1", ""));
});
