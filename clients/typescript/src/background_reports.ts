// BackgroundReports: sends heartbeats and replies, beside the long poll. It beats for the agent and for the task in
// progress, and sends the replies that wait in the ledger, one after the other. It also compares the wall clock with the
// steady clock: when only the wall clock has jumped, the machine has slept, and all connections are closed because they
// are probably dead.
import * as path from "node:path";
import type { ApiClient } from "./api_client.js";
import { Backoff } from "./backoff.js";
import { asFailure, Failure } from "./failure.js";
import type { JsonObject } from "./json.js";
import type { Ledger } from "./ledger.js";
import { discardFolder, findResultFiles } from "./result_files.js";
import type { Reply } from "./state.js";
import { monotonic, type Stop, Wakeup } from "./stop.js";

const TICK = 1_000;
const BEAT = 30_000;
const TASK_BEAT = 10_000; // a cancelled task may run on for this long
const SLEEP_GAP = 20_000; // a larger jump of the wall clock means: the machine slept
const POLL_SILENCE = 180_000; // when no poll has completed or failed for so long, the connections are opened again
const LONG = 3_600_000;

// False when the server has refused the reply for good: it must not block the next ones.
function isWorthAnotherTry(failure: Failure): boolean {
  if (failure.mayYetSucceed || failure.kind === "cancelled") return true;
  return failure.isStatus(401) || failure.code === "idempotency_in_progress";
}

// False when the refused result's task has ended or is not known: then no caller waits.
function leavesTaskOpen(refusal: Failure): boolean {
  return refusal.kind === "status" && refusal.status >= 400 && refusal.status < 500 && refusal.status !== 404 && refusal.status !== 409;
}

export class BackgroundReports {
  readonly #woken = new Wakeup();
  readonly #started = Date.now();
  #work: Promise<unknown> | undefined;
  #task = "";
  #taskDue: number | undefined;
  #watched = ""; // the task that the members below are about
  #watch: "open" | "closed" | "given_up" = "open"; // closed: no more heartbeats for it
  #nextTaskBeat = 0;
  #aliveAt = monotonic(); // the last answered poll, or the last time its absence was acted on

  constructor(
    readonly api: ApiClient,
    readonly ledger: Ledger,
    readonly stop: Stop,
    /** Closes all connections. */
    readonly reconnect: () => void,
    /** Called for a task that ended without us. */
    readonly giveUp: (delegation: string) => void,
  ) {}

  start(): void {
    this.#work = Promise.all([this.#beat(), this.#send()]);
  }

  /** The stop must have been requested. */
  async join(): Promise<void> {
    await this.#work;
  }

  /** A poll has been answered, or has failed: no silence. */
  pollEnded(): void {
    this.#aliveAt = monotonic();
  }

  /** A reply waits in the ledger. */
  wake(): void {
    this.#woken.ring();
  }

  /** The task in progress, of which the server knows that it was begun, and the time until its deadline; empty: none. */
  setCurrentTask(delegation: string, left?: number): void {
    this.#task = delegation;
    this.#taskDue = left === undefined ? undefined : monotonic() + left;
  }

  // -- heartbeats

  async #beat(): Promise<void> {
    let nextBeat = monotonic();
    let [wall, steady] = [Date.now(), monotonic()];
    while (!this.stop.requested) {
      const now = monotonic();
      const slept = Date.now() - wall - (now - steady);
      [wall, steady] = [Date.now(), now];
      if (slept > SLEEP_GAP) {
        nextBeat = now;
        this.#reconnect("this machine was asleep; connecting again");
      } else if (now - this.#aliveAt > POLL_SILENCE) {
        this.#reconnect("no poll has been answered for a while; connecting again");
      }
      if (now >= nextBeat) {
        nextBeat = now + BEAT;
        // No line for a missed beat: the poll meets the same trouble and prints it.
        await this.api.beat(Math.round((Date.now() - this.#started) / 1000)).catch(asFailure);
      }
      await this.#watchTask();
      if (await this.stop.wait(TICK)) return;
    }
  }

  #reconnect(line: string): void {
    this.#aliveAt = monotonic();
    this.ledger.printLine(line);
    this.reconnect();
    this.#woken.ring();
  }

  async #watchTask(): Promise<void> {
    const [task, due, now] = [this.#task, this.#taskDue, monotonic()];
    if (task !== this.#watched) {
      this.#watched = task;
      this.#watch = "open";
      this.#nextTaskBeat = now + TASK_BEAT;
    }
    if (!task) return;
    // Again at every check: the first call may have come before the task's command was started.
    if (this.#watch === "given_up") return this.giveUp(task);
    // The server ends an overdue task only at its next sweep.
    if (due !== undefined && now >= due) return this.#giveUpTask(task, "is overdue");
    if (this.#watch === "open" && now >= this.#nextTaskBeat) await this.#beatTask(task);
  }

  async #beatTask(task: string): Promise<void> {
    this.#nextTaskBeat = monotonic() + TASK_BEAT;
    try {
      const interest = await this.api.beatDelegation(task);
      if (interest === "unwanted") return this.#giveUpTask(task, "was cancelled, or is overdue");
      if (interest === "wanted") return;
      this.#watch = "closed";
      this.ledger.printLine(`task ${task} was given up as silent; an answer to it is kept as a late one`);
    } catch (error) {
      // After a network failure the next beat tries again. When the server does not know the task, there are no more.
      if (asFailure(error).isStatus(404)) this.#watch = "closed";
    }
  }

  #giveUpTask(task: string, why: string): void {
    this.#watch = "given_up";
    this.ledger.printLine(`task ${task} ${why}: its result is no longer wanted`);
    this.giveUp(task);
  }

  // -- replies

  async #send(): Promise<void> {
    const pause = new Backoff(500);
    while (!this.stop.requested) {
      const [reply] = this.ledger.state.outbox;
      if (!reply) {
        await this.#woken.wait(LONG, this.stop);
        continue;
      }
      if (await this.#sendOrRefuse(reply)) {
        this.ledger.sent(reply.key);
        discardFolder(reply.files);
        pause.reset();
      } else {
        await this.#woken.wait(pause.next(), this.stop);
      }
    }
  }

  /** False: it has to wait, and so have the replies after it. */
  async #sendOrRefuse(reply: Reply): Promise<boolean> {
    try {
      await this.#sendReply(reply);
      return true;
    } catch (error) {
      const failure = asFailure(error);
      if (isWorthAnotherTry(failure)) return false;
      this.ledger.printLine(`the server refuses a reply: ${failure.message}`);
      return this.#sendFailure(reply, failure);
    }
  }

  async #sendReply(reply: Reply): Promise<void> {
    const { files, words } = await this.#sendFiles(reply);
    switch (reply.to) {
      case "person":
        return this.api.notify(words || "Here you are.", files, reply.key, reply.row);
      case "agent":
        return this.api.message(reply.target, words, reply.hops, reply.key, files);
      case "delegation":
        return this.api.endDelegation(reply.target, reply.failed ? "failed" : "completed", words, reply.key, files);
    }
  }

  // When the server refuses a result, reports the task as failed: otherwise its caller would wait for ever.
  async #sendFailure(reply: Reply, refusal: Failure): Promise<boolean> {
    if (reply.to !== "delegation" || reply.failed || !leavesTaskOpen(refusal)) return true;
    const words = `The agent has a result that the server refuses: ${refusal.message}`;
    try {
      await this.api.endDelegation(reply.target, "failed", words, `${reply.key}-refused`);
      return true;
    } catch (error) {
      return !isWorthAnotherTry(asFailure(error));
    }
  }

  // Stages the reply's files. A file that cannot be sent is named in the reply's text.
  async #sendFiles(reply: Reply): Promise<{ files: JsonObject[]; words: string }> {
    const staged: JsonObject[] = [];
    if (!reply.files) return { files: staged, words: reply.text };
    const { files, refused } = findResultFiles(reply.files);
    for (const [index, file] of files.entries()) {
      // On a slow connection one file takes minutes, and the task must not seem silent.
      if (index > 0 && reply.to === "delegation") await this.api.beatDelegation(reply.target).catch(asFailure);
      try {
        staged.push(...(await this.api.stageFiles([file.path], `${reply.key}-${index}-${file.size}`)));
      } catch (error) {
        const failure = asFailure(error);
        // A full quota may stay full for a day: the text is sent without the file.
        if (isWorthAnotherTry(failure) && failure.status !== 507) throw failure;
        refused.push(`${path.basename(file.path)}: ${failure.message}`);
      }
    }
    for (const why of refused) this.ledger.printLine(`not attached: ${why}`);
    return { files: staged, words: [reply.text, ...refused.map((why) => `[not attached: ${why}]`)].filter((line) => line).join("\n") };
  }
}
