// Runs a shell command for one delivery: the delivery on its stdin, its stdout is the answer, its stderr goes to ours
// and its last lines are kept. A small shell, the runner, starts the command and records its exit code, so that a kill of the agent neither stops the command
// nor makes it run twice: the next agent process finds it running and waits, or finds the recorded end. One case is left:
// when the runner is killed too (the machine, or all processes at once) between the command's last effect and the record
// of its end, the command runs again. The command has its own process group, so that its children end with it when stop is
// requested or its result is not wanted any more. Files that it leaves in the folder RESTANTE_RESULT_DIR are sent with its
// answer; the folder is empty when the command begins. Not on Windows, which has no such shell.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { NOFOLLOW, NONBLOCK } from "./disk.js";
import { sentenceOf } from "./failure.js";
import { FileLock } from "./lock.js";
import { discardFolder } from "./result_files.js";
import { monotonic, Stop, waitForAny } from "./stop.js";

export interface CommandRun {
  command: string;
  /** Created when missing; has the files of all runs that are not forgotten. */
  folder: string;
  /** The same for the same delivery. */
  id: string;
  input: string;
  /** Milliseconds, after which the command is ended; 0: no limit. */
  longest: number;
  printLine: (line: string) => void;
}

export interface CommandResult {
  how: "exited" | "killed" | "not_started" | "stopped" | "given_up";
  /** Exit code as a shell returns it: 128 + the signal's number after a signal. */
  code: number;
  /** At most 256 KiB. */
  output: string;
  /** Its output was longer. */
  cut: boolean;
  /** Why it did not exit, or why it could not be ended early. */
  trouble: string;
  /** The last lines of its stderr; at most 2 KiB. */
  errors: string;
}

const MAX_OUTPUT = 256 * 1024;
const MAX_WRITTEN = 64 << 20; // a command that writes more than this is killed
const MAX_ERRORS = 2 * 1024;
const MAX_ERROR_LINES = 10;
const MAX_ERROR_FILE = 1 << 20; // what was passed on is deleted then
const CHECK_INTERVAL = 100;
const KILL_DELAY = 5_000; // between SIGTERM and SIGKILL

// The runner. The traps are no-ops that the command does not inherit: after a signal the runner still records how the
// command ended; what it says about signals itself is not the command's. It writes its process id, which is also the group's, before the command begins: the next agent process
// may have to end the group. Descriptor 3 is the lock, which the runner keeps and the command does not get.
const RUNNER = `trap : TERM INT HUP
exec 4>&2 2>/dev/null
echo $$ > "$2.lock"
RESTANTE_RESULT_DIR="$2.files" /bin/sh -c "$1" 2>&4 3>&- 4>&-
echo $? > "$2.tmp" && mv -f "$2.tmp" "$2.code"
`;

// The path of one run's files without suffix: <base>.in, .out, .err, .code, .lock, and the folder .files.
function baseOf(folder: string, id: string): string {
  return path.join(folder, createHash("sha256").update(id).digest("hex").slice(0, 32));
}

function removeIfPossible(remove: () => void): void {
  try {
    remove();
  } catch {
    // it stays: the next start tries again
  }
}

function forgetFiles(base: string): void {
  // .code first: without it the other files mean nothing.
  for (const end of [".code", ".tmp", ".out", ".err", ".in", ".lock"]) removeIfPossible(() => fs.rmSync(base + end, { force: true }));
  // It may have files that are still to be sent.
  removeIfPossible(() => fs.rmdirSync(base + ".files"));
}

function readStart(file: string, most: number): { bytes: Buffer; cut: boolean } {
  const piece = Buffer.alloc(most + 1);
  let have = 0;
  try {
    const descriptor = fs.openSync(file, fs.constants.O_RDONLY | NOFOLLOW);
    try {
      for (let got = 1; got > 0 && have < piece.length; have += got) got = fs.readSync(descriptor, piece, have, piece.length - have, null);
    } finally {
      fs.closeSync(descriptor);
    }
  } catch {
    // not there: empty
  }
  return { bytes: piece.subarray(0, Math.min(have, most)), cut: have > most };
}

function readNumber(file: string): number | undefined {
  const digits = /^(\d{1,9})\n/.exec(readStart(file, 64).bytes.toString("latin1"));
  return digits ? Number(digits[1]) : undefined;
}

function result(how: CommandResult["how"], trouble = ""): CommandResult {
  return { how, code: 0, output: "", cut: false, trouble, errors: "" };
}

// How the command ended, as the runner recorded it; undefined when it has not.
function recordedEnd(base: string): CommandResult | undefined {
  const code = readNumber(base + ".code");
  if (code === undefined || code > 255) return undefined;
  const { bytes, cut } = readStart(base + ".out", MAX_OUTPUT);
  // With `stream`, a character that the limit has cut is left out.
  return { how: "exited", code, output: new TextDecoder().decode(bytes, { stream: cut }), cut, trouble: "", errors: "" };
}

// The stderr of a command: a file, so that the command can write on when the agent is killed. What is new is passed on to
// our stderr, and the last lines are kept.
class ErrorOutput {
  #offset = 0; // how far it was read
  #passedOn = 0; // how far it was passed on
  #tail = Buffer.alloc(0);

  constructor(readonly file: string) {}

  /** For a command that an earlier agent process has started: what it wrote until now was passed on already. */
  skipToEnd(): void {
    this.#passedOn = fs.statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
    this.#offset = Math.max(0, this.#passedOn - MAX_ERRORS);
  }

  passOn(): void {
    try {
      const descriptor = fs.openSync(this.file, fs.constants.O_RDWR | NOFOLLOW | NONBLOCK);
      try {
        this.#read(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
    } catch {
      // not there yet, or forgotten
    }
  }

  #read(descriptor: number): void {
    const piece = Buffer.alloc(16 * 1024);
    for (let got; (got = fs.readSync(descriptor, piece, 0, piece.length, this.#offset)) > 0; this.#offset += got) {
      const known = Math.min(Math.max(this.#passedOn - this.#offset, 0), got);
      if (known < got) process.stderr.write(Buffer.from(piece.subarray(known, got)));
      this.#tail = Buffer.concat([this.#tail, piece.subarray(0, got)]).subarray(-MAX_ERRORS);
    }
    if (this.#offset <= MAX_ERROR_FILE) return;
    fs.ftruncateSync(descriptor, 0); // it was opened for appending: the command goes on at the beginning
    this.#offset = this.#passedOn = 0;
  }

  lastLines(): string {
    const lines = this.#tail.toString("utf8").trimEnd().split("\n");
    // The first one may be a rest.
    const whole = this.#tail.length === MAX_ERRORS && lines.length > 1 ? lines.slice(1) : lines;
    return whole.slice(-MAX_ERROR_LINES).join("\n").replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "?");
  }
}

class CommandRunner {
  readonly #base: string;
  #lock: FileLock | undefined;
  #child: ChildProcess | undefined; // undefined: an earlier agent process started it
  #over = new Stop(); // of the child
  #group = 0;
  #begunAt = monotonic();
  readonly #errors: ErrorOutput;

  constructor(
    readonly job: CommandRun,
    readonly stop: Stop,
    readonly giveUp: Stop,
  ) {
    this.#base = baseOf(job.folder, job.id);
    this.#errors = new ErrorOutput(this.#base + ".err");
  }

  async finish(): Promise<CommandResult> {
    const ended = await this.#run();
    this.#errors.passOn();
    return { ...ended, errors: this.#errors.lastLines() };
  }

  async #run(): Promise<CommandResult> {
    try {
      fs.mkdirSync(this.job.folder, { recursive: true, mode: 0o700 });
      if (!(await this.#takeLock())) return await this.#endEarly();
      const recorded = recordedEnd(this.#base);
      if (recorded) return recorded;
      if (this.giveUp.requested) return this.#neverBegun();
      await this.#start();
    } catch (error) {
      return result("not_started", sentenceOf(error));
    } finally {
      if (!this.#child) this.#lock?.release();
    }
    try {
      return await this.#wait();
    } finally {
      this.#lock?.release();
    }
  }

  // The command of an earlier agent process may still run: its runner has the lock. False when stop or giveUp is requested
  // meanwhile.
  async #takeLock(): Promise<boolean> {
    let until: number | undefined;
    let waited = false;
    while (!(this.#lock = await FileLock.take(this.#base + ".lock"))) {
      if (!waited) {
        waited = true;
        this.#errors.skipToEnd();
        this.#begunAt = monotonic() - Math.max(0, Date.now() - (fs.statSync(this.#base + ".in", { throwIfNoEntry: false })?.mtimeMs ?? Date.now()));
        this.job.printLine(`the command of an earlier run still works on ${this.job.id}; waiting for its end`);
      }
      this.#errors.passOn();
      await waitForAny(CHECK_INTERVAL, this.stop, this.giveUp);
      if (!this.stop.requested && !this.giveUp.requested && !this.#isTooLong()) continue;
      this.#group = readNumber(this.#base + ".lock") ?? 0;
      // Without a process id the runner has only just begun and is about to write it; unless it cannot, on a full disk.
      until ??= monotonic() + KILL_DELAY;
      if (this.#group > 0 || this.stop.requested || monotonic() >= until) return false;
    }
    return true;
  }

  #isTooLong(): boolean {
    return this.job.longest > 0 && monotonic() - this.#begunAt >= this.job.longest;
  }

  async #start(): Promise<void> {
    const base = this.#base;
    const lock = this.#lock!.descriptor;
    discardFolder(base + ".files");
    fs.mkdirSync(base + ".files", { mode: 0o700 });
    for (const end of [".out", ".err", ".in"]) fs.rmSync(base + end, { force: true });
    fs.ftruncateSync(lock, 0); // the id of a run before a crash may belong to another process now
    fs.writeFileSync(base + ".in", this.job.input, { mode: 0o600, flag: "wx" });
    const output = fs.openSync(base + ".out", fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL, 0o600);
    const errors = fs.openSync(base + ".err", fs.constants.O_WRONLY | fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_EXCL, 0o600);
    const input = fs.openSync(base + ".in", fs.constants.O_RDONLY);
    try {
      const child = spawn("/bin/sh", ["-c", RUNNER, "sh", this.job.command, base], { detached: true, stdio: [input, output, errors, lock] });
      await new Promise((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", reject);
      });
      this.#child = child;
      this.#group = child.pid ?? 0;
      this.#begunAt = monotonic();
      if (child.exitCode !== null || child.signalCode !== null) this.#over.request();
      else child.once("exit", () => this.#over.request());
    } finally {
      for (const descriptor of [input, output, errors]) fs.closeSync(descriptor);
    }
  }

  async #wait(): Promise<CommandResult> {
    while (!this.#over.requested) {
      this.#errors.passOn();
      if (this.stop.requested || this.giveUp.requested || this.#isTooLong()) return this.#endEarly();
      await waitForAny(CHECK_INTERVAL, this.#over, this.stop, this.giveUp);
      if (this.#written() <= MAX_WRITTEN) continue;
      this.#kill("SIGKILL");
      await waitForAny(KILL_DELAY, this.#over);
      return result("killed", "the command wrote more than 64 MiB");
    }
    return recordedEnd(this.#base) ?? result("killed", "the command was killed");
  }

  #written(): number {
    try {
      return fs.statSync(this.#base + ".out").size;
    } catch {
      return 0;
    }
  }

  #kill(signal: "SIGTERM" | "SIGKILL"): void {
    try {
      process.kill(-this.#group, signal);
    } catch {
      // it has ended
    }
  }

  #early(): CommandResult {
    if (this.stop.requested || this.giveUp.requested) return result(this.stop.requested ? "stopped" : "given_up");
    return result("killed", `the command took longer than ${Math.round(this.job.longest / 1000)} s and was ended`);
  }

  #neverBegun(): CommandResult {
    forgetRun(this.job.folder, this.job.id);
    return this.#early();
  }

  // If the command still ends with exit code 0, that result counts.
  async #endEarly(): Promise<CommandResult> {
    const early = this.#early();
    if (this.#group <= 0) return { ...early, trouble: "it cannot be ended, since its process id is not known" };
    this.#kill("SIGTERM");
    const until = monotonic() + KILL_DELAY;
    while (!(await this.#isOver()) && monotonic() < until) await waitForAny(CHECK_INTERVAL / 4, this.#over);
    this.#kill("SIGKILL");
    if (this.#child) await waitForAny(KILL_DELAY, this.#over);
    const recorded = recordedEnd(this.#base);
    if (recorded?.how === "exited" && recorded.code === 0) return recorded;
    this.#errors.passOn(); // before its file is deleted
    forgetRun(this.job.folder, this.job.id);
    return early;
  }

  async #isOver(): Promise<boolean> {
    if (this.#child) return this.#over.requested;
    this.#lock = await FileLock.take(this.#base + ".lock");
    return this.#lock !== undefined;
  }
}

/**
 * `stopped` when `stop` was requested first, `given_up` when `giveUp` was: the command and all its children got SIGTERM,
 * and SIGKILL after a few seconds; so it is ended, as `killed`, when it runs longer than `longest`. If the command ended with exit code 0 in that time, that result counts. The end of a run
 * is kept until it is forgotten: a second call with the same id returns it and runs nothing. When `giveUp` was requested
 * before the call, nothing is started.
 */
export function runCommand(job: CommandRun, stop: Stop, giveUp: Stop): Promise<CommandResult> {
  return new CommandRunner(job, stop, giveUp).finish();
}

/** "exit code 4"; "exit code 143 (as after SIGTERM)": a shell's code does not show whether there was a signal. */
export function describeCode(code: number): string {
  const signal = Object.entries(os.constants.signals).find(([, number]) => code === 128 + number);
  return signal ? `exit code ${code} (as after ${signal[0]})` : `exit code ${code}`;
}

/** True when the run is in progress, or its end is kept. */
export async function hasRun(folder: string, id: string): Promise<boolean> {
  const base = baseOf(folder, id);
  if (recordedEnd(base)) return true;
  return fs.existsSync(base + ".lock") && (await isLocked(base));
}

async function isLocked(base: string): Promise<boolean> {
  const lock = await FileLock.take(base + ".lock").catch(() => undefined);
  lock?.release();
  return lock === undefined;
}

export function forgetRun(folder: string, id: string): void {
  forgetFiles(baseOf(folder, id));
}

/** The folder with the result files of this run. forgetRun() deletes it only when it is empty. */
export function resultFolder(folder: string, id: string): string {
  return baseOf(folder, id) + ".files";
}

/** Adds the whole output to the run's result files. Returns the file's name there; empty when that failed. */
export function attachOutput(folder: string, id: string): string {
  const from = baseOf(folder, id) + ".out";
  for (let number = 1; number <= 100; ++number) {
    const name = number === 1 ? "output.txt" : `output-${number}.txt`;
    const to = path.join(resultFolder(folder, id), name);
    const there = fs.lstatSync(to, { throwIfNoEntry: false });
    // The link may exist from before a kill; any other file of that name belongs to the command.
    if (there && there.ino === fs.statSync(from, { throwIfNoEntry: false })?.ino) return name;
    if (there) continue;
    try {
      fs.linkSync(from, to);
    } catch {
      try {
        fs.copyFileSync(from, to);
      } catch {
        return "";
      }
    }
    return name;
  }
  return "";
}

/**
 * Forgets every run except those with these ids, those in progress and those of these result folders. For runs that a kill
 * left before forgetRun().
 */
export async function forgetOtherRuns(folder: string, ids: Iterable<string>, resultFolders: string[]): Promise<void> {
  const kept = new Set([...ids].map((id) => baseOf(folder, id)));
  for (const files of resultFolders) kept.add(files.replace(/\.files$/, ""));
  let names: string[];
  try {
    names = fs.readdirSync(folder);
  } catch {
    return;
  }
  for (const base of new Set(names.map((name) => path.join(folder, path.parse(name).name)))) {
    if (kept.has(base) || (fs.existsSync(base + ".lock") && (await isLocked(base)))) continue;
    discardFolder(base + ".files");
    forgetFiles(base);
  }
}

/** A sentence when the command cannot be found; empty when it can, or when only the shell can tell. */
export function refusalOf(command: string): string {
  const word = /^\s*([\w./+-]+)(\s|$)/.exec(command)?.[1];
  if (!word) return command.trim() ? "" : "the command is empty";
  const found = spawnSync("/bin/sh", ["-c", 'command -v -- "$1"', "sh", word]);
  return found.status === 0 || found.error ? "" : `the command ${word} cannot be found, or cannot be run`;
}
