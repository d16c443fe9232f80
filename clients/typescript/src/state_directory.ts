// StateDirectory: the directory with the agent's token, journal, lock and the files of running commands. Files are 0600; a
// folder that we create is 0700. One agent process at a time: a second one gets an error that names the first (host,
// process, since). Its calls are synchronous: a change is on the disk, or has failed, when the call returns.
//
// The journal is one file of lines `<16 hex digits> <JSON>`; the digits are the beginning of the JSON's sha256. The first
// line is the whole state, each further line one change. A line that a kill or a power cut has left incomplete at the end is
// ignored; a damaged line before a good one is an error. When the journal has grown, a new one with the state as its first
// line is written under another name, synced, and renamed over it: after a crash there is the old one or the new one.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { codeOf, DiskError, diskError, NOFOLLOW } from "./disk.js";
import { FileLock } from "./lock.js";
import { type Change, State } from "./state.js";

const FORMAT = "restante-typescript-1";
const COMPACT_ABOVE = 4 << 20; // replayed in well under a second at the next start

export class InUse extends DiskError {
  override name = "InUse";
}

function encode(value: object): string {
  const json = JSON.stringify(value);
  return `${createHash("sha256").update(json).digest("hex").slice(0, 16)} ${json}\n`;
}

/** Undefined when the line is damaged. */
function decode(line: string): unknown {
  const json = line.slice(17);
  const sum = createHash("sha256").update(json).digest("hex").slice(0, 16);
  return line.slice(0, 17) === `${sum} ` ? (JSON.parse(json) as unknown) : undefined;
}

function readIfThere(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = fs.openSync(file, fs.constants.O_RDONLY | NOFOLLOW);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw diskError(`cannot read ${file}`, error);
  }
  try {
    return fs.readFileSync(descriptor, "utf8");
  } catch (error) {
    throw diskError(`cannot read ${file}`, error);
  } finally {
    fs.closeSync(descriptor);
  }
}

function writeAllSync(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(descriptor, bytes, done);
}

function syncFolderSync(folder: string): void {
  if (process.platform === "win32") return; // it cannot open folders
  const descriptor = fs.openSync(folder, fs.constants.O_RDONLY);
  try {
    fs.fsyncSync(descriptor);
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "ENOSYS"].includes(codeOf(error))) throw error;
  } finally {
    fs.closeSync(descriptor);
  }
}

/** The state that the journal's text holds. Throws a DiskError when it is damaged; `where` is for its sentence. */
export function replay(text: string, where: string): State {
  const damaged = new DiskError(`${where} is damaged or of another version; move it away to begin with an empty state`, "EINVAL");
  const whole = text.split("\n").slice(0, -1).map(decode);
  const firstBad = whole.indexOf(undefined);
  // A power cut may leave garbage at the end, but not before the last sync.
  if (firstBad >= 0 && whole.slice(firstBad).some((line) => line !== undefined)) throw damaged;
  const lines = firstBad >= 0 ? whole.slice(0, firstBad) : whole;
  const head = lines[0] as { format?: unknown; state?: unknown } | undefined;
  const state = head?.format === FORMAT ? State.parse(head.state) : undefined;
  if (!state) throw damaged;
  for (const line of lines.slice(1)) if (!state.apply(line as Change)) throw damaged;
  return state;
}

export class StateDirectory {
  #path: string;
  readonly #lock: FileLock;
  #journal = -1;
  #closed = false;
  #bytes = 0;
  #compactAbove = COMPACT_ABOVE;

  private constructor(at: string, lock: FileLock) {
    this.#path = at;
    this.#lock = lock;
  }

  /** Takes the lock, which ends with the process. Throws InUse when another process has it, else a DiskError. */
  static async open(at: string): Promise<StateDirectory> {
    const folder = path.resolve(at);
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      syncFolderSync(path.dirname(folder));
    } catch (error) {
      throw diskError(`cannot make the folder ${folder}`, error);
    }
    if (fs.existsSync(path.join(folder, "state.json")))
      throw new DiskError(`the state in ${folder} is that of \`restante connect\`; give this agent another state directory`, "EEXIST");
    const file = path.join(folder, "lock");
    const lock = await FileLock.take(file);
    if (!lock) {
      const holder = (readIfThere(file) ?? "").replace(/[\x00-\x1f\x7f]/g, "");
      throw new InUse(`another agent uses the state in ${folder}${holder ? `: ${holder}` : ""}`, "EWOULDBLOCK");
    }
    try {
      // For people; the lock works without it.
      fs.ftruncateSync(lock.descriptor, 0);
      fs.writeSync(lock.descriptor, `${os.hostname()}, process ${process.pid}, since ${new Date().toISOString()}`, 0);
    } catch {
      // a full disk
    }
    return new StateDirectory(folder, lock);
  }

  get path(): string {
    return this.#path;
  }

  /** Gives the directory another name, which must be free; durable. */
  moveTo(at: string): void {
    try {
      fs.renameSync(this.#path, at);
      this.#path = at;
      syncFolderSync(path.dirname(at));
    } catch (error) {
      throw diskError(`cannot rename the state directory to ${at}`, error);
    }
  }

  /** An empty state when there is none. A file that is not a journal of ours is an error and is never replaced. */
  load(): State {
    const file = this.#file("journal");
    const text = readIfThere(file);
    return text === undefined ? new State() : replay(text, file);
  }

  #file(name: string): string {
    return path.join(this.path, name);
  }

  /** True when the next change should be written by save(), which also makes the journal short. */
  get needsSave(): boolean {
    return this.#journal < 0 || this.#bytes > this.#compactAbove;
  }

  /** Replaces the journal by one with this state alone; durable. */
  save(state: State): void {
    if (this.#closed) throw new DiskError("the state directory is closed"); // another process may have it now
    this.#closeJournal();
    const text = encode({ format: FORMAT, state: state.dump() });
    this.#replace("journal", text);
    try {
      this.#journal = fs.openSync(this.#file("journal"), fs.constants.O_WRONLY | fs.constants.O_APPEND | NOFOLLOW);
    } catch (error) {
      throw diskError("cannot open the journal", error);
    }
    this.#bytes = Buffer.byteLength(text);
    this.#compactAbove = Math.max(COMPACT_ABOVE, 2 * this.#bytes);
  }

  /** Adds a line to the journal; durable after sync(). */
  append(change: Change): void {
    const text = encode(change);
    try {
      writeAllSync(this.#journal, text);
    } catch (error) {
      this.#closeJournal(); // nothing may follow half a line: the next write is a new journal
      throw diskError("cannot write the journal", error);
    }
    this.#bytes += Buffer.byteLength(text);
  }

  sync(): void {
    try {
      fs.fsyncSync(this.#journal);
    } catch (error) {
      this.#closeJournal();
      throw diskError("cannot write the journal through to the disk", error);
    }
  }

  /** Empty when there is none. */
  token(): string {
    return (readIfThere(this.#file("token")) ?? "").split(/\r?\n/, 1)[0]!.trim();
  }

  /** Durable. */
  keepToken(token: string): void {
    this.#replace("token", token + "\n");
  }

  close(): void {
    this.#closed = true;
    this.#closeJournal();
    this.#lock.release();
  }

  #closeJournal(): void {
    try {
      if (this.#journal >= 0) fs.closeSync(this.#journal);
    } catch {
      // of a broken disk; the descriptor is free all the same
    }
    this.#journal = -1;
  }

  // Atomically: after a crash there is the new file or the old one; 0600.
  #replace(name: string, contents: string): void {
    const temporary = this.#file(`.${name}.new`);
    try {
      fs.rmSync(temporary, { force: true });
      const descriptor = fs.openSync(temporary, fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | NOFOLLOW, 0o600);
      try {
        writeAllSync(descriptor, contents);
        fs.fsyncSync(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
      fs.renameSync(temporary, this.#file(name));
      syncFolderSync(this.path);
    } catch (error) {
      throw diskError(`cannot write ${name}`, error);
    }
  }
}
