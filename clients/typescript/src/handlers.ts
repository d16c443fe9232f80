// HandlerHandover: hands deliveries to functions of this process. A function that throws is called again, as a command that
// fails is run again. When a task is cancelled, or the agent stops, the function's signal is aborted; a few seconds later
// its result is not waited for any more, because JavaScript has no way to end a function from outside.
import type { ApiClient } from "./api_client.js";
import type { DeliveredFile, Delivery } from "./delivery.js";
import { isTask } from "./delivery.js";
import { resultFolder } from "./exec.js";
import { asFailure, sentenceOf } from "./failure.js";
import { HANDLED, Handover, type HandoverResult } from "./handover.js";
import type { Json } from "./json.js";
import { copyResultFiles } from "./result_files.js";
import { Stop, waitForAny } from "./stop.js";

/** What a handler returns: the text of the answer, files of this machine to send with it, or nothing. */
export type Answer = string | { text?: string; files?: readonly string[] } | null | undefined | void;

/** A message of a person or of another agent, or a file that came without a message (then its text is empty). */
export interface Message {
  readonly id: string;
  readonly text: string;
  readonly files: readonly DeliveredFile[];
  /** The workspace of the sending agent; null: a person. */
  readonly from: string | null;
  readonly createdAt: string;
  /** True when an earlier hand-over of the same message has an unknown end: it may have been handled already. */
  readonly again: boolean;
  /** The A2A message, with every platform-pending: uri of a landed file rewritten to workspace:<path>. */
  readonly body: Json;
  /** Aborted when the result is not wanted any more, or when the agent stops. */
  readonly signal: AbortSignal;
}

/** Work that another agent gave to this one. */
export interface Task extends Message {
  readonly delegationId: string;
  /** True when the task was cancelled, or is overdue: its result is not wanted any more. */
  readonly cancelled: boolean;
  /** Tells the caller how far the work is. Resolves also when the server cannot be reached: it is only a report. */
  progress(text: string): Promise<void>;
}

/** The result of a task that this agent gave to another one. */
export interface Result {
  readonly delegationId: string;
  readonly status: "ok" | "error";
  readonly text: string;
  readonly files: readonly DeliveredFile[];
  readonly from: string | null;
}

export interface Handlers {
  message?: (message: Message) => Answer | Promise<Answer>;
  task?: (task: Task) => Answer | Promise<Answer>;
  result?: (result: Result) => void | Promise<void>;
}

const GRACE = 5_000; // for a handler whose signal was aborted
const LONG = 3_600_000;

export function resultFrom(delivery: Delivery): Result {
  const { delegationId, text, files, sourceId } = delivery;
  return { delegationId, status: delivery.status === "ok" ? "ok" : "error", text, files, from: sourceId };
}

export class HandlerHandover extends Handover {
  readonly returnsWhenDone = true;
  #task = "";
  #givenUp = new Stop();

  /** `runs` is the folder where the files of answers are kept until they are sent. */
  constructor(
    readonly handlers: Handlers,
    readonly api: ApiClient,
    readonly runs: string,
    readonly stop: Stop,
  ) {
    super();
  }

  async deliver(delivery: Delivery): Promise<HandoverResult> {
    this.#task = isTask(delivery) ? delivery.delegationId : "";
    const givenUp = (this.#givenUp = new Stop());
    const aborted = new AbortController();
    const forget = [givenUp, this.stop].map((one) => one.onRequest(() => aborted.abort()));
    try {
      return await this.#deliver(delivery, aborted.signal, givenUp);
    } finally {
      for (const one of forget) one();
    }
  }

  async #deliver(delivery: Delivery, signal: AbortSignal, givenUp: Stop): Promise<HandoverResult> {
    const work = this.#call(delivery, signal, givenUp);
    if (work === undefined) return { what: "refused", trouble: "this agent takes no tasks" };
    const over = new Stop();
    const settled = settle(work, over);
    while (!over.requested && !givenUp.requested && !this.stop.requested) await waitForAny(LONG, over, givenUp, this.stop);
    if (!over.requested) await waitForAny(GRACE, over);
    if (!over.requested) return this.#interrupted(delivery);
    const { answer, error } = await settled;
    if (error !== undefined) {
      if (givenUp.requested || this.stop.requested) return this.#interrupted(delivery);
      return { what: "failed", trouble: sentenceOf(error), errors: "" };
    }
    return this.#answerOf(delivery, answer, givenUp);
  }

  override giveUp(delegation: string): void {
    if (delegation === this.#task) this.#givenUp.request();
  }

  #interrupted(delivery: Delivery): HandoverResult {
    if (this.stop.requested) return { what: "stopped" };
    return { what: "dropped", trouble: `the work for task ${delivery.delegationId} was given up` };
  }

  // Undefined: there is no handler for it.
  #call(delivery: Delivery, signal: AbortSignal, givenUp: Stop): Promise<Answer> | undefined {
    const { message, task, result } = this.handlers;
    if (delivery.type === "result") return Promise.resolve(result?.(resultFrom(delivery)));
    const { id, text, files, sourceId: from, createdAt, again, body, delegationId } = delivery;
    const common: Message = { id, text, files, from, createdAt, again, body, signal };
    if (!isTask(delivery)) return start(() => message?.(common));
    if (!task) return undefined;
    const { api } = this;
    const progress = async (words: string): Promise<void> => {
      const interest = await api.beatDelegation(delegationId, words).catch(asFailure);
      if (interest === "unwanted") givenUp.request();
    };
    const given: Task = {
      ...common,
      delegationId,
      get cancelled() {
        return givenUp.requested;
      },
      progress,
    };
    return start(() => task(given));
  }

  #answerOf(delivery: Delivery, answer: Answer, givenUp: Stop): HandoverResult {
    if (delivery.type === "result") return HANDLED;
    const { text = "", files = [] } = typeof answer === "string" ? { text: answer } : (answer ?? {});
    if (text === "" && files.length === 0) {
      if (!isTask(delivery)) return HANDLED;
      // A task without an answer is done too, and its caller waits for a result; not when it was cancelled.
      return givenUp.requested ? this.#interrupted(delivery) : { what: "handled", reply: "Done.", files: "" };
    }
    const reply = text.replaceAll("\0", "");
    if (files.length === 0) return { what: "handled", reply, files: "" };
    const folder = resultFolder(this.runs, delivery.id);
    try {
      copyResultFiles(files, folder);
    } catch (error) {
      return { what: "failed", trouble: sentenceOf(error), errors: "" };
    }
    return { what: "handled", reply, files: folder };
  }
}

// A handler may throw before it returns a promise.
async function start(handler: () => Answer | Promise<Answer>): Promise<Answer> {
  return handler();
}

async function settle(work: Promise<Answer>, over: Stop): Promise<{ answer?: Answer; error?: unknown }> {
  try {
    return { answer: await work };
  } catch (error) {
    return { error: error ?? new Error("the handler failed without a reason") };
  } finally {
    over.request();
  }
}
