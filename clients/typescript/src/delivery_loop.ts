// DeliveryLoop: hands over to the agent, one delivery after the other. The poll does not wait for it, so a handler may take
// an hour. Messages go in the order of the inbox. A message waits a short while for the files it names and is then handed
// over with their present state. A file that no message names is handed over alone. The end of a delivery is in the ledger
// before the next begins: an ended delivery is never handed over again; one that was begun and has no recorded end is
// handed over again and marked so (Delivery.again).
import type { ReceivedRow, TaskView } from "./api_client.js";
import { Backoff } from "./backoff.js";
import { type Delivery, deliverFile, deliverMessage, fileUris, forgetTask, isTask, resultOf } from "./delivery.js";
import { asFailure, type Failure } from "./failure.js";
import { uuid } from "./json.js";
import type { Handover, HandoverResult } from "./handover.js";
import { MOST_HOPS } from "./hops.js";
import type { Ledger } from "./ledger.js";
import { pendingFile } from "./names.js";
import { discardFolder } from "./result_files.js";
import type { DeliveryEnd, FileRecord, Reply } from "./state.js";
import { monotonic, type Stop, Wakeup } from "./stop.js";

export interface DeliveryOptions {
  /** Milliseconds that a message waits for files that are not here yet. */
  filePatience: number;
  /**
   * Milliseconds that a file waits for a message that names it before it is handed over alone. Just below one second: a
   * page sends its message a few milliseconds after the upload, and a person looks at the clock from then on.
   */
  fileGrace: number;
  /** How often a delivery is tried before its sender is notified. */
  attempts: number;
  replyToAgents: boolean;
}

export interface DeliveryEvents {
  /** A delivery has ended. */
  progress(): void;
  /** The hand-over has no reader any more. */
  closed(): void;
  /** Before every attempt at a task, which begins only when the answer is that it is wanted. */
  ask(message: Delivery): Promise<TaskView>;
  /** The delegation that is worked on; empty: none. */
  task(delegation: string, left?: number): void;
}

type HandedOver = "handed" | "stopped" | "closed";

const LONG = 3_600_000;
const NO_TASK: TaskView = { interest: "not_a_task", status: "", why: "" };
const WANTED: TaskView = { interest: "wanted", status: "", why: "" };

function isOnItsWay(file: FileRecord): boolean {
  return file.where === "waiting" && file.trouble !== "failed";
}

// A file that another process of this workspace has taken is not reported.
function goesAlone(file: FileRecord): boolean {
  if (file.where === "landed") return !file.handedOver;
  return !file.notified && ["failed", "expired", "recalled"].includes(file.trouble);
}

function isWorthAskingAgain(failure: Failure): boolean {
  return failure.mayYetSucceed || failure.kind === "cancelled" || failure.isStatus(401);
}

// To the person. The report that a file did not arrive has an id of its own, which is no row.
function newReply(key: string, text: string, delivery: Delivery): Reply {
  return { key, text, to: "person", target: "", hops: 0, failed: false, files: "", row: uuid(delivery.id) ?? "" };
}

function describe(delivery: Delivery): string {
  const from = delivery.sourceId === null ? "the person" : `agent ${delivery.sourceId}`;
  if (delivery.type === "file") return `file ${delivery.files[0]?.name ?? delivery.id}`;
  if (delivery.type === "result") return `result of task ${delivery.delegationId}`;
  return isTask(delivery) ? `task ${delivery.delegationId} from ${from}` : `message from ${from}`;
}

function endOf(delivery: Delivery): DeliveryEnd {
  const end: DeliveryEnd = { id: delivery.id, createdAt: delivery.createdAt, files: [], notified: [] };
  for (const [index, file] of delivery.files.entries()) {
    const id = delivery.fileIds[index];
    if (id === undefined) continue;
    if (file.state === "landed") end.files.push(id);
    else if (file.state !== "missing") end.notified.push(id);
  }
  return end;
}

export class DeliveryLoop {
  readonly #changed = new Wakeup();
  #messages: ReceivedRow[] = [];
  readonly #files = new Map<string, number>(); // by id: when to hand it over alone
  #waitingSince: number | undefined; // since when the first message waits for its files
  readonly #expected = new Set<string>(); // delegations whose results waitForResult() takes
  #work: Promise<void> | undefined;

  constructor(
    readonly options: DeliveryOptions,
    readonly ledger: Ledger,
    readonly handover: Handover,
    readonly stop: Stop,
    readonly events: DeliveryEvents,
  ) {}

  start(): void {
    this.#work = this.#run();
  }

  /** The stop must have been requested. */
  async join(): Promise<void> {
    await this.#work;
  }

  take(message: ReceivedRow): void {
    this.#messages.push(message);
    this.#changed.ring();
  }

  /** The state of this file has changed. If it is to be handed over alone, its grace begins now. */
  takeFile(id: string): void {
    const file = this.ledger.file(id);
    if (file && goesAlone(file) && !this.#files.has(id)) {
      const begun = this.ledger.state.begun.has(deliverFile(file).id);
      this.#files.set(id, monotonic() + (begun ? 0 : this.options.fileGrace));
    }
    this.#changed.ring();
  }

  get waitingCount(): number {
    return this.#messages.length;
  }

  /** The row id of the first message that is not yet handed over. */
  get firstWaiting(): string | undefined {
    return this.#messages[0]?.id;
  }

  // -- results of tasks that this agent gave to others

  /** From now on the loop does not hand over the result of this delegation: the caller takes it with waitForResult(). */
  expectResult(delegation: string): void {
    this.#expected.add(delegation);
  }

  /** The loop hands over this result again. */
  stopExpecting(delegation: string): void {
    this.#expected.delete(delegation);
    this.#changed.ring();
  }

  /** Waits until the result and its files have arrived, and takes it. Undefined when the time is up, or at a stop. */
  async waitForResult(delegation: string, milliseconds: number): Promise<Delivery | undefined> {
    const until = monotonic() + milliseconds;
    for (;;) {
      const row = this.#messages.find((message) => resultOf(message) === delegation);
      if (row && !this.#hasFilesOnTheirWay(row)) {
        const delivery = deliverMessage(row, this.ledger.state);
        delivery.again = this.ledger.begin(delivery.id);
        this.ledger.endDelivery(endOf(delivery));
        this.#drop(row.id);
        this.events.progress();
        return delivery;
      }
      if (this.stop.requested || monotonic() >= until) return undefined;
      await this.#changed.wait(until - monotonic(), this.stop);
    }
  }

  // -- the loop

  async #run(): Promise<void> {
    while (!this.stop.requested) {
      const now = monotonic();
      const file = this.#nextFile(now);
      const message = this.#messages.find((row) => !this.#expected.has(resultOf(row)));
      const ready = message && this.#isReady(message, now) ? message : undefined;
      if (file === undefined && !ready) {
        await this.#changed.wait(this.#pause(now), this.stop);
        continue;
      }
      let outcome: HandedOver;
      if (file !== undefined && (!ready || this.#comesBefore(file, ready))) {
        this.#files.delete(file);
        outcome = await this.#handOverFile(file);
      } else {
        outcome = await this.#handOverMessage(ready!);
        if (outcome === "handed") this.#drop(ready!.id);
      }
      if (outcome === "closed") return this.events.closed();
      if (outcome === "handed") this.events.progress();
    }
  }

  // Until the next moment at which time alone makes something ready.
  #pause(now: number): number {
    let next = this.#waitingSince === undefined ? now + LONG : this.#waitingSince + this.options.filePatience;
    for (const due of this.#files.values()) if (due > now) next = Math.min(next, due);
    return Math.max(1, next - now);
  }

  #drop(rowId: string): void {
    this.#messages = this.#messages.filter((row) => row.id !== rowId);
    this.#waitingSince = undefined;
  }

  // Whether a waiting message names the file, an expected result included.
  #isNamed(id: string): boolean {
    return this.#messages.some((row) => fileUris(row.body).some((uri) => pendingFile(uri) === id));
  }

  // A file that is due and that no waiting message names. Never before a message that an earlier process has begun: its
  // command may still run.
  #nextFile(now: number): string | undefined {
    const first = this.firstWaiting;
    if (first !== undefined && this.ledger.state.begun.has(first)) return undefined;
    for (const [id, due] of this.#files) if (due <= now && !this.#isNamed(id)) return id;
    return undefined;
  }

  #comesBefore(id: string, message: ReceivedRow): boolean {
    const file = this.ledger.file(id);
    return !file || file.seq < message.seq;
  }

  #isReady(row: ReceivedRow, now: number): boolean {
    this.#waitingSince ??= now;
    return now - this.#waitingSince >= this.options.filePatience || !this.#hasFilesOnTheirWay(row);
  }

  #hasFilesOnTheirWay(row: ReceivedRow): boolean {
    return fileUris(row.body).some((uri) => {
      const file = this.ledger.file(pendingFile(uri) ?? "");
      return file !== undefined && isOnItsWay(file);
    });
  }

  async #handOverMessage(row: ReceivedRow): Promise<HandedOver> {
    const task = await this.#ask(deliverMessage(row, this.ledger.state));
    if (!task) return "stopped";
    // Composed after the answer, which may have taken hours: the files are shown as they are now.
    return this.#handOver(deliverMessage(row, this.ledger.state), task);
  }

  async #handOverFile(id: string): Promise<HandedOver> {
    const file = this.ledger.file(id);
    // A message may have delivered it meanwhile.
    return file && goesAlone(file) ? this.#handOver(deliverFile(file), WANTED) : "handed";
  }

  // Asks the server whether the delivery is a task and is still wanted. Repeats until the server answers: a task that was
  // cancelled meanwhile must not be begun. One that the server does not know, or does not show, is no task: nobody could
  // take its result. Undefined: stop was requested.
  async #ask(delivery: Delivery): Promise<TaskView | undefined> {
    if (!isTask(delivery)) return WANTED;
    const pause = new Backoff(1_000);
    for (let printed = false; ; printed = true) {
      try {
        return await this.events.ask(delivery);
      } catch (error) {
        const failure = asFailure(error);
        if (!isWorthAskingAgain(failure)) return NO_TASK;
        if (this.stop.requested) return undefined;
        if (!printed)
          this.ledger.printLine(`task ${delivery.delegationId} waits until the server answers whether it is still wanted: ${failure.message}`);
        if (await this.stop.wait(pause.next())) return undefined;
      }
    }
  }

  async #handOver(delivery: Delivery, asked: TaskView): Promise<HandedOver> {
    let task = asked;
    delivery.again = this.ledger.begin(delivery.id);
    const end = endOf(delivery);
    const finish = (): HandedOver => {
      this.ledger.endDelivery(end);
      this.handover.ended(delivery);
      return "handed";
    };
    const pause = new Backoff(1_000);
    let unusable = false;
    for (let attempt = 1; ; ) {
      if (task.interest === "not_a_task") {
        this.ledger.printLine(
          `the message ${delivery.id} names task ${delivery.delegationId}, which the server did not give to this agent with it; it is handed over as a message`,
        );
        forgetTask(delivery);
      }
      const result = await this.#deliver(delivery, task);
      switch (result.what) {
        case "stopped":
          return "stopped";
        case "closed":
          this.ledger.printLine(`the output cannot be written: ${result.trouble}`);
          return "closed";
        case "handled":
          if (result.reply || result.files) {
            const reply = this.#replyTo(delivery, result.reply);
            if (reply) end.reply = { ...reply, files: result.files };
            else discardFolder(result.files);
          }
          // A line shows by itself that it was handed over.
          if (this.handover.returnsWhenDone)
            this.ledger.printLine(`${describe(delivery)}: handled, ${end.reply ? "the answer is sent" : "without an answer"}`);
          return finish();
        case "dropped":
          this.ledger.printLine(result.trouble);
          return finish();
        case "failed":
          this.ledger.printLine(`${result.trouble} (attempt ${attempt} of ${this.options.attempts})`);
          break;
        case "unusable":
          if (!unusable) this.ledger.printLine(`${result.trouble}; deliveries wait and are tried again until it works`);
          unusable = true;
          break;
        case "refused":
          this.ledger.printLine(result.trouble);
          break;
      }
      if (result.what === "refused" || (result.what === "failed" && attempt >= this.options.attempts)) {
        // One message that always fails must not block the others; its sender is notified.
        const reply = this.#failureReplyFor(delivery, result.trouble, result.what === "failed" ? result.errors : "");
        if (reply) end.reply = reply;
        return finish();
      }
      if (result.what === "failed") ++attempt;
      delivery.again = true;
      if (await this.stop.wait(pause.next())) return "stopped";
      const view = await this.#ask(delivery);
      if (!view) return "stopped";
      task = view;
    }
  }

  async #deliver(delivery: Delivery, task: TaskView): Promise<HandoverResult> {
    // A task that was given up as silent is finished if it was begun, since a late result is accepted. Otherwise it is not
    // begun.
    if (task.interest === "unwanted" || (task.interest === "late" && !(await this.handover.hasBegun(delivery))))
      return this.handover.skipEnded({ ...delivery, type: "ended", status: task.status, reason: task.why });
    const watched = isTask(delivery) && this.handover.returnsWhenDone;
    if (watched) this.events.task(delivery.delegationId, task.left);
    try {
      return await this.handover.deliver(delivery);
    } finally {
      if (watched) this.events.task("");
    }
  }

  #replyTo(delivery: Delivery, words: string): Reply | undefined {
    const reply = newReply(`reply-${delivery.id}`, words, delivery);
    if (delivery.delegationId && delivery.type === "message") return { ...reply, to: "delegation", target: delivery.delegationId };
    if (delivery.sourceId === null) return reply;
    if (!this.options.replyToAgents || delivery.type === "result") {
      this.ledger.printLine("the answer to another agent is not sent; --reply-to-agents would");
      return undefined;
    }
    const hops = this.ledger.nextHop(delivery.sourceId, delivery.hops, delivery.createdAt);
    if (hops === undefined) {
      this.ledger.printLine(`agent ${delivery.sourceId} is not answered any more: ${MOST_HOPS} automatic answers in a row are enough`);
      return undefined;
    }
    return { ...reply, to: "agent", target: delivery.sourceId, hops };
  }

  #failureReplyFor(delivery: Delivery, trouble: string, errors: string): Reply | undefined {
    const words = `The agent could not handle this: ${trouble}.${errors ? ` The last lines of its errors:\n${errors}` : ""}`;
    const reply = newReply(`failed-${delivery.id}`, words, delivery);
    if (delivery.delegationId && delivery.type === "message")
      return { ...reply, to: "delegation", target: delivery.delegationId, failed: true };
    return delivery.sourceId === null ? reply : undefined;
  }
}
