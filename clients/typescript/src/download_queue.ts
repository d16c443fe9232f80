// DownloadQueue: fetches, verifies, stores and acknowledges announced files, several at once. A failure is reported to the
// server; a file is tried again after a pause as long as that makes sense. Every result goes into the ledger; then `done`
// is called with the file's id.
import type { ApiClient } from "./api_client.js";
import { Backoff } from "./backoff.js";
import { DiskError } from "./disk.js";
import { asFailure, Failure, sentenceOf } from "./failure.js";
import type { AnnouncedFile, LandingFolder, Partial } from "./landing_folder.js";
import type { Ledger } from "./ledger.js";
import type { FileRecord } from "./state.js";
import { monotonic, type Stop, Wakeup } from "./stop.js";

// landed; gone: the server no longer has the file. later: network failure, try again. trouble: local failure, such as a
// full disk; try again, and report it to the sender. wrong: the content is not what was announced, or too large.
export type DownloadResult = "landed" | "gone" | "later" | "trouble" | "wrong";

const ATTEMPTS = 4; // in a row, each from where the last one broke off; then the file is queued again
const AT_ONCE = 4;
const WRONG_ATTEMPTS = 3; // how often the content may be wrong before the file is refused for good
const LONG = 3_600_000;

class Wrong extends Error {}

/** Downloads one announced file to the disk: finds it there, or fetches it, resumes by Range, verifies and names it. */
export class FileDownloader {
  /** `largest` is the largest size that may be announced; 0: any size. */
  constructor(
    readonly api: ApiClient,
    readonly landing: LandingFolder,
    readonly largest: number,
  ) {}

  /** Sets where, path, trouble and reason of the record. */
  async download(record: FileRecord): Promise<DownloadResult> {
    const why = { sentence: "" };
    const result = await this.#result(record, why);
    record.reason = result === "landed" ? "" : why.sentence;
    if (result === "gone" || result === "wrong") await this.landing.discard(record);
    switch (result) {
      case "landed":
        record.where = "landed";
        record.trouble = "";
        break;
      case "gone": {
        const state = await this.api.stateOf(record.id).catch(() => "");
        record.where = "gone";
        record.trouble = state === "expired" || state === "recalled" ? state : "gone";
        break;
      }
      case "later":
        record.trouble = "missing";
        break;
      default:
        record.trouble = "failed";
    }
    return result;
  }

  async #result(record: FileRecord, why: { sentence: string }): Promise<DownloadResult> {
    try {
      const found = await this.landing.find(record);
      if (found !== undefined) {
        record.path = found;
        return "landed";
      }
      if (this.largest > 0 && record.size > this.largest) throw new Wrong(`the file is larger than the server's own limit of ${this.largest} bytes`);
      return await this.#attempt(record, why);
    } catch (error) {
      why.sentence = sentenceOf(error);
      if (error instanceof DiskError) return "trouble";
      if (error instanceof Wrong) return "wrong";
      const failure = asFailure(error);
      if (failure.isStatus(404)) return "gone";
      return failure.code === "integrity_error" || failure.code === "content_missing" ? "wrong" : "later";
    }
  }

  async #attempt(record: FileRecord, why: { sentence: string }): Promise<DownloadResult> {
    let mismatched = false;
    for (let i = 0; i < ATTEMPTS; ++i) {
      const partial = await this.landing.begin(record);
      try {
        if (partial.size !== record.size && !(await this.#fetch(record, partial, why))) {
          await partial.close();
          continue;
        }
      } catch (error) {
        await partial.close();
        throw error;
      }
      const landed = await this.landing.finish(partial, record);
      if (landed !== undefined) {
        record.path = landed;
        return "landed";
      }
      why.sentence = "the content is not what was announced (size or sha256)";
      if (mismatched) return "wrong"; // the first mismatch may be a rest of an earlier attempt
      mismatched = true;
    }
    return mismatched ? "wrong" : "later";
  }

  /** False: try again at once, from where it broke off. */
  async #fetch(announced: AnnouncedFile, partial: Partial, why: { sentence: string }): Promise<boolean> {
    const offset = partial.size;
    let begun = false;
    try {
      await this.api.fetch(announced.id, offset, async (head, bytes) => {
        if (!begun && offset > 0) {
          if (head.status !== 206) await partial.restart();
          else if (!head.headers["content-range"]?.startsWith(`bytes ${offset}-`)) throw new Wrong("the server sent another range");
        }
        begun = true;
        if (partial.size + bytes.length > announced.size) throw new Wrong("the file is larger than announced");
        await partial.append(bytes);
      });
      return true;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      why.sentence = error.message;
      if (error.isStatus(416)) {
        await partial.restart();
        return false;
      }
      if (error.kind === "cut" && partial.size > offset) return false;
      throw error;
    }
  }
}

interface Job {
  due: number;
  running: boolean;
  wrong: number;
  network: Backoff;
  trouble: Backoff;
}

// True when it makes no sense to repeat the report to the server.
async function isFinal(report: Promise<void>): Promise<boolean> {
  try {
    await report;
    return true;
  } catch (error) {
    return !asFailure(error).mayYetSucceed && asFailure(error).kind !== "cancelled";
  }
}

export class DownloadQueue {
  readonly #jobs = new Map<string, Job>();
  readonly #changed = new Wakeup();
  #workers: Promise<void>[] = [];
  #largest = 0;

  constructor(
    readonly api: ApiClient,
    readonly ledger: Ledger,
    readonly landing: LandingFolder,
    readonly stop: Stop,
    readonly done: (file: string) => void,
  ) {}

  start(largestFile: number): void {
    this.#largest = largestFile;
    for (let i = 0; i < AT_ONCE; ++i) this.#workers.push(this.#work());
  }

  /** The stop must have been requested. */
  async join(): Promise<void> {
    await Promise.all(this.#workers);
  }

  /** Starts as soon as a worker is free. A file that is already queued or running is not added again. */
  enqueue(id: string): void {
    if (this.#jobs.has(id)) return;
    this.#jobs.set(id, { due: monotonic(), running: false, wrong: 0, network: new Backoff(500), trouble: new Backoff(2_000) });
    this.#changed.ring();
  }

  /** Tries all files in a pause now: the network is back. */
  retryNow(): void {
    const now = monotonic();
    for (const job of this.#jobs.values()) job.due = Math.min(job.due, now);
    this.#changed.ring();
  }

  #next(): [string, Job] | undefined {
    let next: [string, Job] | undefined;
    for (const entry of this.#jobs) if (!entry[1].running && (!next || entry[1].due < next[1].due)) next = entry;
    return next;
  }

  async #work(): Promise<void> {
    while (!this.stop.requested) {
      const next = this.#next();
      const pause = next ? next[1].due - monotonic() : LONG;
      if (!next || pause > 0) {
        await this.#changed.wait(pause, this.stop);
        continue;
      }
      const [id, job] = next;
      job.running = true;
      const after = await this.#attempt(id, job);
      job.running = false;
      if (after === undefined) this.#jobs.delete(id);
      else job.due = monotonic() + after;
      if (!this.stop.requested) this.done(id);
    }
  }

  /** The pause before the next attempt; undefined: nothing more to do for this file. */
  async #attempt(id: string, job: Job): Promise<number | undefined> {
    const known = this.ledger.file(id);
    if (!known) return undefined;
    const file = { ...known };
    let finished = true;
    if (file.where === "waiting") finished = await this.#download(file, job);
    if (file.where === "refused" && !file.reported) finished = file.reported = await isFinal(this.api.fail(id, file.reason));
    if (file.where === "landed" && !file.acked) finished = await this.#acknowledge(file);
    this.ledger.fileUpdated(file);
    if (finished) return undefined;
    return file.trouble === "failed" ? job.trouble.next() : job.network.next();
  }

  /** False: try again. */
  async #download(file: FileRecord, job: Job): Promise<boolean> {
    switch (await new FileDownloader(this.api, this.landing, this.#largest).download(file)) {
      case "landed":
        this.ledger.fileUpdated(file); // before the ack, after which the server may delete its copy
        return true;
      case "gone":
        return true;
      case "later":
        return false;
      case "trouble":
        await this.#report(file);
        return false;
      case "wrong":
        await this.#report(file);
        if (++job.wrong < WRONG_ATTEMPTS && (this.#largest === 0 || file.size <= this.#largest)) return false;
        file.where = "refused";
        return true;
    }
  }

  async #acknowledge(file: FileRecord): Promise<boolean> {
    try {
      await this.api.ack(file.id);
      file.acked = true;
    } catch (error) {
      // 404: acked before and swept, or expired meanwhile; the file has landed either way.
      file.acked = asFailure(error).isStatus(404);
    }
    return file.acked;
  }

  async #report(file: FileRecord): Promise<void> {
    if (file.reported) return;
    this.ledger.printLine(`the file ${file.name} cannot be taken: ${file.reason}`);
    file.reported = await isFinal(this.api.fail(file.id, file.reason));
  }
}
