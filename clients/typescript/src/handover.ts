// Handover: how a delivery reaches the agent: by a handler of this process, as a line, or by a command. deliver() returns
// the result; only after `handled` or `dropped` does the cursor move on. One delivery at a time, except giveUp().
import { type Delivery, isTask, jsonOf, readable } from "./delivery.js";
import { attachOutput, type CommandResult, describeCode, forgetRun, hasRun, resultFolder, runCommand } from "./exec.js";
import { discardFolder, findResultFiles } from "./result_files.js";
import { Stop } from "./stop.js";
import { sentenceOf } from "./failure.js";

export type HandoverResult =
  // The reply to the sender and the folder of its files, see result_files.ts; empty: none.
  | { what: "handled"; reply: string; files: string }
  // Try again; `errors` is what the command wrote last, for the sender.
  | { what: "failed"; trouble: string; errors: string }
  // Nothing can be handed over now, and this is not the delivery's fault: try again, however often.
  | { what: "unusable"; trouble: string }
  // Stop was requested meanwhile.
  | { what: "stopped" }
  // Our output has no reader any more.
  | { what: "closed"; trouble: string }
  // Given up and not repeated.
  | { what: "dropped"; trouble: string }
  // The task has failed, and another attempt would not help.
  | { what: "refused"; trouble: string };

export const HANDLED: HandoverResult = { what: "handled", reply: "", files: "" };

export abstract class Handover {
  /**
   * True when deliver() returns only after the work is done, so that the task is in progress until then. With lines the
   * receiver only gets the delivery.
   */
  abstract readonly returnsWhenDone: boolean;

  abstract deliver(delivery: Delivery): Promise<HandoverResult>;

  /** Instead of deliver(), for a task that ended before it was begun (type `ended`): no work is started for it. */
  async skipEnded(ended: Delivery): Promise<HandoverResult> {
    return { what: "dropped", trouble: `task ${ended.delegationId} is over and is not begun: ${ended.reason}` };
  }

  /** True when an earlier agent process has begun work for it that is not lost. */
  async hasBegun(_delivery: Delivery): Promise<boolean> {
    return false;
  }

  /** The delivery's end is recorded: whatever was kept for the case that it is delivered again can be deleted. */
  ended(_delivery: Delivery): void {}

  /** At any time: the task was cancelled or is overdue, so the work for it is not wanted any more. */
  giveUp(_delegation: string): void {}
}

/** Writes lines to a stream: readable ones, or one JSON object each. A task that is skipped is a line, too. */
export class LineHandover extends Handover {
  readonly returnsWhenDone = false;

  constructor(
    readonly stream: NodeJS.WritableStream,
    readonly format: "readable" | "json",
  ) {
    super();
  }

  deliver(delivery: Delivery): Promise<HandoverResult> {
    const line = (this.format === "json" ? jsonOf(delivery) : readable(delivery)) + "\n";
    return new Promise((resolve) => {
      this.stream.write(line, (error) => resolve(error ? { what: "closed", trouble: sentenceOf(error) } : HANDLED));
    });
  }

  override skipEnded(ended: Delivery): Promise<HandoverResult> {
    return this.deliver(ended);
  }
}

// The output as a reply: without NUL, which the server does not accept, and without blank lines at its end.
function replyOf(output: string): string {
  return output.replaceAll("\0", "").replace(/[\n\r ]+$/, "");
}

const CANNOT_RUN = new Set([126, 127]); // of a shell: the command is not executable, or is not there

/**
 * Runs the command with the delivery as JSON on its stdin. Exit code 0 means handled, and its stdout is the reply. When a
 * task is given up, its command is ended. When a task is skipped, the command that an earlier agent process began for it
 * is ended, unless it has exited with 0: then its output is the late reply.
 */
export class CommandHandover extends Handover {
  readonly returnsWhenDone = true;
  #task = "";
  #givenUp = new Stop();

  /** `runs` is the folder for the files of runs, see exec.ts; `longest` the milliseconds of one run, 0: no limit. */
  constructor(
    readonly command: string,
    readonly runs: string,
    readonly stop: Stop,
    readonly longest = 0,
    readonly printLine: (line: string) => void = () => {},
  ) {
    super();
  }

  async deliver(delivery: Delivery): Promise<HandoverResult> {
    this.#task = delivery.type === "message" ? delivery.delegationId : "";
    this.#givenUp = new Stop();
    const run = await this.#run(delivery, this.#givenUp);
    switch (run.how) {
      case "exited":
        if (run.code === 0) return this.#answerOf(delivery, run);
        // A failed run is forgotten before the next attempt. Only a run whose end was not yet used is continued.
        this.#forget(delivery);
        if (CANNOT_RUN.has(run.code)) return { what: "unusable", trouble: `the command cannot be run: it ended with ${describeCode(run.code)}` };
        return { what: "failed", trouble: `the command ended with ${describeCode(run.code)}`, errors: run.errors };
      case "killed":
        this.#forget(delivery);
        return { what: "failed", trouble: run.trouble, errors: run.errors };
      case "not_started":
        return { what: "failed", trouble: `the command could not be started: ${run.trouble}`, errors: "" };
      case "stopped":
        return { what: "stopped" };
      case "given_up":
        this.#forget(delivery);
        return { what: "dropped", trouble: endOf(delivery, run) };
    }
  }

  override async skipEnded(ended: Delivery): Promise<HandoverResult> {
    const begun = await this.hasBegun(ended);
    const giveUp = new Stop();
    giveUp.request();
    const run = await this.#run(ended, giveUp);
    if (run.how === "stopped") return { what: "stopped" };
    if (run.how === "exited" && run.code === 0) return this.#answerOf(ended, run);
    this.#forget(ended);
    return begun ? { what: "dropped", trouble: endOf(ended, run) } : super.skipEnded(ended);
  }

  override hasBegun(delivery: Delivery): Promise<boolean> {
    return hasRun(this.runs, delivery.id);
  }

  override ended(delivery: Delivery): void {
    forgetRun(this.runs, delivery.id);
  }

  override giveUp(delegation: string): void {
    if (delegation === this.#task) this.#givenUp.request();
  }

  // A task whose command wrote nothing is done too, and its caller waits for a result.
  #answerOf(delivery: Delivery, run: CommandResult): HandoverResult {
    const whole = run.cut ? attachOutput(this.runs, delivery.id) : "";
    const mark = !run.cut ? "" : whole ? `\n[cut; all of it is in ${whole}]` : "\n[cut]";
    let reply = replyOf(run.output) + mark;
    const folder = resultFolder(this.runs, delivery.id);
    const left = findResultFiles(folder);
    if (isTask(delivery) && reply === "" && left.files.length === 0) reply = "Done; the command wrote no output.";
    return { what: "handled", reply, files: left.files.length > 0 || left.refused.length > 0 ? folder : "" };
  }

  #forget(delivery: Delivery): void {
    discardFolder(resultFolder(this.runs, delivery.id));
    forgetRun(this.runs, delivery.id);
  }

  #run(delivery: Delivery, giveUp: Stop): Promise<CommandResult> {
    const { command, runs: folder, longest, printLine } = this;
    return runCommand({ command, folder, id: delivery.id, input: jsonOf(delivery) + "\n", longest, printLine }, this.stop, giveUp);
  }
}

function endOf(delivery: Delivery, run: CommandResult): string {
  return `the command of task ${delivery.delegationId}${run.trouble ? `: ${run.trouble}` : " was ended"}`;
}
