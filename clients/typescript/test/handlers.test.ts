import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import test, { type TestContext } from "node:test";
import { deliverMessage, type Delivery } from "../src/delivery.js";
import { HandlerHandover, type Handlers, type Task } from "../src/handlers.js";
import { findResultFiles } from "../src/result_files.js";
import { State } from "../src/state.js";
import { Stop } from "../src/stop.js";
import { folder, serve, WORKSPACE } from "./support.js";

function delivery(more: Partial<Delivery> = {}): Delivery {
  const body = { params: { message: { parts: [{ kind: "text", text: "hello" }] } } };
  const row = { id: "m1", seq: 1, method: "message/send", sourceId: null, createdAt: "", status: "", body };
  return { ...deliverMessage(row, new State()), ...more };
}

const TASK = { sourceId: WORKSPACE, delegationId: "d1" };

async function handover(t: TestContext, handlers: Handlers, beat: object = { status: "in_progress", cancel: false }) {
  const bodies: string[] = [];
  const { api, asked } = await serve(t, (request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => (body += piece.toString()));
    request.on("end", () => {
      bodies.push(body);
      response.end(JSON.stringify(beat));
    });
  });
  const at = folder(t);
  const stop = new Stop();
  return { given: new HandlerHandover(handlers, api, path.join(at, "runs"), stop), stop, at, asked, bodies };
}

test("what a handler returns is the answer: a text, files, or nothing", async (t) => {
  const { given, at } = await handover(t, { message: ({ text }) => (text === "nothing" ? undefined : text === "files" ? { files: names } : `you wrote ${text}`) });
  const names = ["a/x.txt", "b/x.txt"].map((name) => path.join(at, name));
  for (const name of names) {
    fs.mkdirSync(path.dirname(name));
    fs.writeFileSync(name, name);
  }
  assert.deepEqual(await given.deliver(delivery()), { what: "handled", reply: "you wrote hello", files: "" });
  assert.deepEqual(await given.deliver(delivery({ text: "nothing" })), { what: "handled", reply: "", files: "" });
  const result = await given.deliver(delivery({ text: "files" }));
  assert.ok(result.what === "handled");
  // Copies: the handler may delete its files, and a kill of the agent must not lose them.
  for (const name of names) fs.unlinkSync(name);
  const kept = findResultFiles(result.files).files.map((file) => [path.basename(file.path), fs.readFileSync(file.path, "utf8")]);
  assert.deepEqual(kept, [["2-x.txt", names[1]], ["x.txt", names[0]]]);
});

test("a handler that throws has failed, also when it names a file that is not there", async (t) => {
  const { given, at } = await handover(t, {
    message: ({ text }) => {
      if (text === "file") return { files: [path.join(at, "nowhere")] };
      throw new Error("out of ideas");
    },
  });
  assert.deepEqual(await given.deliver(delivery()), { what: "failed", trouble: "out of ideas", errors: "" });
  const missing = await given.deliver(delivery({ text: "file" }));
  assert.match(missing.what === "failed" ? missing.trouble : "", /nowhere cannot be sent: no such file/);
});

test("a task has progress, and one without an answer is done", async (t) => {
  const { given, asked, bodies } = await handover(t, {
    task: async (task) => {
      await task.progress("half");
      assert.equal(task.cancelled, false);
    },
  });
  assert.deepEqual(await given.deliver(delivery(TASK)), { what: "handled", reply: "Done.", files: "" });
  assert.deepEqual(asked, [`POST /workspaces/${WORKSPACE}/delegations/d1/heartbeat`]);
  assert.deepEqual(bodies, ['{"progress":"half"}']);
});

test("an agent without a handler for tasks refuses them", async (t) => {
  const { given } = await handover(t, { message: () => "hello" });
  assert.deepEqual(await given.deliver(delivery(TASK)), { what: "refused", trouble: "this agent takes no tasks" });
});

test("a cancelled task is aborted; an answer that comes all the same is a late one, and a failure is dropped", async (t) => {
  let late = false;
  const { given } = await handover(t, {
    task: (task: Task) =>
      new Promise((resolve, reject) => {
        task.signal.addEventListener("abort", () => (late ? resolve("nearly done") : reject(new Error("interrupted"))));
        given.giveUp("another task");
        given.giveUp("d1");
      }),
  });
  assert.deepEqual(await given.deliver(delivery(TASK)), { what: "dropped", trouble: "the work for task d1 was given up" });
  late = true;
  assert.deepEqual(await given.deliver(delivery(TASK)), { what: "handled", reply: "nearly done", files: "" });
});

test("a report of progress learns that the task was cancelled", async (t) => {
  const { given } = await handover(
    t,
    {
      task: async (task) => {
        await task.progress("half");
        assert.equal(task.cancelled, true);
        task.signal.throwIfAborted();
      },
    },
    { status: "failed", cancel: true },
  );
  assert.equal((await given.deliver(delivery(TASK))).what, "dropped");
});

test("a message in progress when the agent stops comes again, unless its handler ends well", async (t) => {
  const { given, stop } = await handover(t, {
    message: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
  });
  const result = given.deliver(delivery());
  stop.request();
  assert.deepEqual(await result, { what: "stopped" });
});
