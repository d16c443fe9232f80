// Session: the connection of a workspace to its server. It registers, holds one long poll, downloads files, hands messages
// and files over, acknowledges them and sends the answers. A kill at any moment loses nothing, and a delivery whose end is
// recorded is not handed over again: ledger.ts and exec.ts describe the one case that is left. Everything that it starts
// has ended when run() returns. Works with every server that keeps the wire contract.
import { createHash } from "node:crypto";
import { ApiClient, type PendingFile, type ReceivedRow, type Registration } from "./api_client.js";
import { Backoff, LONGEST_PAUSE } from "./backoff.js";
import { BackgroundReports } from "./background_reports.js";
import { deliverFile, isSelfTest } from "./delivery.js";
import { DeliveryLoop, type DeliveryOptions } from "./delivery_loop.js";
import { DownloadQueue } from "./download_queue.js";
import { asFailure, type Failure, sentenceOf } from "./failure.js";
import type { Handover } from "./handover.js";
import { HttpClient, textOf } from "./http.js";
import { member, text, uuid } from "./json.js";
import { LandingFolder } from "./landing_folder.js";
import { Ledger, type PrintLine } from "./ledger.js";
import { sanitiseFilename } from "./names.js";
import type { FileRecord, State } from "./state.js";
import type { StateDirectory } from "./state_directory.js";
import { monotonic, type Stop, Wakeup } from "./stop.js";

export interface Settings {
  server: URL;
  /** Empty: the one in the state directory. */
  token: string;
  /** Empty: none. */
  enrol: string;
  /** Empty: the token's own. */
  workspace: string;
  /** For a workspace that enrolling creates. */
  name: string;
  dir: string;
  delivery: DeliveryOptions;
}

// not_permitted: the token is missing, wrong or revoked. refused: not a Restante server, or the workspace was removed.
// reader_gone: our output cannot be written, its reader has closed it.
export type End = "stopped" | "not_permitted" | "refused" | "reader_gone";

const POLL_WAIT = 25; // seconds
const BUSY_POLL_INTERVAL = 5_000; // how often to poll while deliveries wait
const MOST_WAITING = 100; // messages that are read ahead of the hand-over; the rest stays on the server
const NEW_LINE =
  "Get a new line, by `Connect…` at this workspace on the page or by `restante invite --workspace …` on the server, and run it here: " +
  "restante connect --enrol TOKEN, or restante-agent connect --enrol TOKEN";

export function hashOf(token: string): string {
  return token ? createHash("sha256").update(token).digest("hex") : "";
}

// A 401 without an error code of the server comes from something in between, such as a hotel's sign-in page.
function isRefusal(failure: Failure, connectedBefore: boolean): boolean {
  return (failure.isStatus(401) || failure.isStatus(403)) && (failure.code !== "" || !connectedBefore);
}

function newRecord(id: string, name: string, size: number, more: Pick<FileRecord, "sha256" | "uri" | "rowId" | "seq" | "createdAt">): FileRecord {
  const location = { where: "waiting", path: "", trouble: "", reason: "", acked: false, reported: false } as const;
  return { id, name: sanitiseFilename(name), size, ...more, ...location, handedOver: false, notified: false };
}

// Undefined when the row lacks a member that is needed to fetch the file.
function recordOfRow({ id: rowId, seq, createdAt, body }: ReceivedRow): FileRecord | undefined {
  const id = uuid(text(body, "file_id"));
  const size = member(body, "size");
  if (!id || typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) return undefined;
  return newRecord(id, text(body, "name"), size, { sha256: text(body, "sha256"), uri: text(body, "uri"), rowId, seq, createdAt });
}

function recordOfFile({ id, name, size, sha256, uri, createdAt }: PendingFile): FileRecord {
  return newRecord(id, name, size, { sha256, uri, rowId: id, seq: 0, createdAt });
}

export class Session {
  readonly api: ApiClient;
  readonly ledger: Ledger;
  #loop: DeliveryLoop | undefined;
  #reports: BackgroundReports | undefined;
  readonly #backoff = new Backoff(500);
  readonly #progressed = new Wakeup();
  // Rows that were read and that the cursor has not passed, in the order in which they were read.
  #ahead: { seq: number; row: string }[] = [];
  #largestFile = 0;
  #connectedBefore = false; // then a captive portal is no reason to give up
  #unreachable = false;
  #caughtUp = false; // the first poll has been answered
  #requestedEnd: End | undefined;
  /** The last line that says why the session has ended. */
  lastSentence = "";

  constructor(
    readonly settings: Settings,
    readonly directory: StateDirectory,
    state: State,
    readonly stop: Stop,
    readonly printLine: PrintLine,
  ) {
    this.api = new ApiClient(new HttpClient(settings.server));
    this.ledger = new Ledger(directory, state, printLine);
    stop.onRequest(() => this.api.http.close());
  }

  get deliveryLoop(): DeliveryLoop | undefined {
    return this.#loop;
  }

  #end(end: End, sentence: string): End {
    this.lastSentence = sentence;
    this.printLine(sentence);
    return end;
  }

  // -- registering

  // An enrolment token works once. The same command line can be run again: the token that it gave is used.
  #chooseToken(): string {
    const { token, enrol } = this.settings;
    if (token) return token;
    const kept = this.directory.token();
    return kept && (!enrol || hashOf(enrol) === this.ledger.state.enrolled) ? kept : enrol;
  }

  /** Undefined when registered; an End when there is nothing more to do. */
  async register(): Promise<End | undefined> {
    const { enrol, workspace, name } = this.settings;
    const token = this.#chooseToken();
    if (!token) return this.#end("not_permitted", "no token yet: give --enrol with the token that `New agent` on the page shows, or --token-file");
    this.api.useToken(token);
    const known = this.ledger.state.workspace;
    this.#connectedBefore = known !== "";
    while (!this.stop.requested) {
      try {
        const made = await this.api.register(token === enrol ? workspace : workspace || known, name);
        if (!this.#setIdentity(made, token)) return "refused";
        return await this.#findStartPosition();
      } catch (error) {
        const failure = asFailure(error);
        if (token === enrol && failure.isStatus(401) && isRefusal(failure, this.#connectedBefore))
          return this.#end("not_permitted", `the server does not take this enrolment token: it was used, has expired, or is another server's. ${NEW_LINE}`);
        const end = await this.#handleFailure(failure);
        if (end) return end;
      }
    }
    return "stopped";
  }

  #setIdentity(made: Registration, token: string): boolean {
    const { state } = this.ledger;
    if (state.workspace && state.workspace !== made.workspaceId) {
      this.#end("refused", `this state belongs to workspace ${state.workspace}, the token to ${made.workspaceId}; give another --state`);
      return false;
    }
    let enrolled = state.enrolled;
    if (made.authToken) {
      try {
        this.directory.keepToken(made.authToken);
      } catch (error) {
        this.#end("refused", `the token cannot be kept: ${sentenceOf(error)}`);
        return false;
      }
      if (this.settings.enrol) enrolled = hashOf(this.settings.enrol);
    }
    this.api.useToken(made.authToken || token);
    this.api.workspace = made.workspaceId;
    this.ledger.setIdentity(textOf(this.settings.server), made.workspaceId, enrolled);
    this.#connectedBefore = true;
    return true;
  }

  // Where an agent without state begins: after the last row that the server knows to be acked, and with the files that wait
  // on the server.
  async #findStartPosition(): Promise<End | undefined> {
    while (!this.stop.requested) {
      try {
        await this.api.limits().then(({ perFile }) => (this.#largestFile = perFile), asFailure);
        if (this.ledger.state.started) return undefined;
        const acked = await this.#unless(this.api.lastAcked(), 0);
        const files = acked > 0 ? await this.#unless(this.api.waiting(), []) : [];
        for (const file of files) this.ledger.announce(recordOfFile(file));
        const row = acked > 0 ? await this.#unless(this.api.rowAt(acked), "") : "";
        this.ledger.setCursor(acked, row);
        return undefined;
      } catch (error) {
        const end = await this.#handleFailure(asFailure(error));
        if (end) return end;
      }
    }
    return "stopped";
  }

  // The answer; the other value when the server refuses the request for good: some servers do not have it.
  async #unless<T>(answer: Promise<T>, other: T): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      const failure = asFailure(error);
      if (failure.mayYetSucceed || failure.kind === "cancelled") throw failure;
      return other;
    }
  }

  // An End when the failure is final; otherwise pauses and returns undefined.
  async #handleFailure(failure: Failure): Promise<End | undefined> {
    if (failure.kind === "cancelled") return "stopped";
    if (isRefusal(failure, this.#connectedBefore))
      return this.#end("not_permitted", `the server does not take this token (${failure.message}); it was revoked, or is another server's. ${NEW_LINE}`);
    if (failure.code === "workspace_removed") return this.#end("refused", "this workspace was removed from the server");
    if (!failure.passes && !this.#connectedBefore)
      return this.#end("refused", `${textOf(this.settings.server)} does not work as a Restante server: ${failure.message}`);
    if (!this.#unreachable) this.printLine(`${failure.message}; trying again until it works`);
    this.#unreachable = true;
    this.#reports?.pollEnded();
    await this.stop.wait(Math.max(this.#backoff.next(), Math.min((failure.retryAfter ?? 0) * 1000, LONGEST_PAUSE)));
    return undefined;
  }

  // -- running

  async run(handover: Handover): Promise<End> {
    const { api, ledger, stop } = this;
    const reports = (this.#reports = new BackgroundReports(
      api,
      ledger,
      stop,
      () => {
        api.http.hangUp();
        downloads.retryNow();
      },
      (delegation) => handover.giveUp(delegation),
    ));
    const loop = (this.#loop = new DeliveryLoop(this.settings.delivery, ledger, handover, stop, {
      progress: () => {
        this.#progressed.ring();
        reports.wake();
      },
      closed: () => {
        this.#requestedEnd = "reader_gone";
        stop.request();
      },
      // An agent that only hands a task on does not work on it: if we reported in_progress, the task would become stuck.
      ask: (message) => (handover.returnsWhenDone ? api.beginDelegation(message) : api.viewDelegation(message)),
      task: (delegation, left) => reports.setCurrentTask(delegation, left),
    }));
    const downloads = new DownloadQueue(api, ledger, new LandingFolder(this.settings.dir), stop, (file) => {
      if (this.#caughtUp) loop.takeFile(file);
    });
    downloads.start(this.#largestFile);
    for (const file of ledger.unfinishedFiles()) downloads.enqueue(file.id);
    loop.start();
    reports.start();
    this.printLine(`connected to ${textOf(this.settings.server)} as workspace ${ledger.state.workspace}`);
    // An error that none of them expects is a bug. It ends the agent, and run() throws it.
    const parts = [downloads.join(), loop.join(), reports.join()];
    for (const part of parts) part.catch(() => stop.request());
    let end: End | undefined;
    try {
      await this.#findCursorRow();
      while (!end && !stop.requested) end = await this.#pollOnce(loop, downloads, reports);
    } finally {
      stop.request();
      await Promise.all(parts);
      this.#moveCursor(loop);
    }
    return this.#requestedEnd ?? end ?? "stopped";
  }

  async #pollOnce(loop: DeliveryLoop, downloads: DownloadQueue, reports: BackgroundReports): Promise<End | undefined> {
    this.#moveCursor(loop);
    if (loop.waitingCount > 0) await this.#waitForProgress(loop);
    if (this.stop.requested) return undefined;
    this.#moveCursor(loop);
    // While a delivery waits, the cursor stays before it, and the server would answer a held poll at once. The first poll is
    // not held, so that an empty inbox is known soon.
    const wait = this.#caughtUp && loop.waitingCount === 0 ? POLL_WAIT : 0;
    const polledAt = monotonic();
    const { cursor, cursorRow } = this.ledger.state;
    let rows: ReceivedRow[];
    try {
      rows = await this.api.poll(cursor, cursorRow, wait);
    } catch (error) {
      const failure = asFailure(error);
      if (!failure.isStatus(410) || failure.code === "workspace_removed" || cursor === 0) return this.#handleFailure(failure);
      // A delivery in progress has a seq from before the reread.
      if (loop.waitingCount === 0) this.#reread();
      return undefined;
    }
    this.#backoff.reset();
    reports.pollEnded();
    if (this.#unreachable) {
      this.#unreachable = false;
      this.printLine(`reached ${textOf(this.settings.server)} again`);
      downloads.retryNow();
      reports.wake();
    }
    if (!this.#caughtUp) {
      // Deliveries that an earlier process has begun go first.
      for (const file of this.ledger.unfinishedFiles()) if (this.ledger.state.begun.has(deliverFile(file).id)) loop.takeFile(file.id);
    }
    this.#take(rows, loop, downloads);
    if (!this.#caughtUp) {
      this.#caughtUp = true;
      // Only now: a message that names a file of an earlier run may have been in this answer.
      for (const file of this.ledger.unfinishedFiles()) loop.takeFile(file.id);
    }
    // A server that shuts down, or does not know `wait`, answers at once: do not ask a thousand times a second.
    if (rows.length === 0 && wait > 0 && monotonic() - polledAt < 200) await this.stop.wait(1_000);
    return undefined;
  }

  #take(rows: ReceivedRow[], loop: DeliveryLoop, downloads: DownloadQueue): void {
    const { workspace } = this.ledger.state;
    for (const row of rows) {
      // By its id: when an older copy of the server's database was restored while deliveries wait, new rows have the numbers
      // of rows that were read.
      if (this.#ahead.some((read) => read.seq === row.seq && read.row === row.id)) continue;
      if (loop.waitingCount >= MOST_WAITING) return;
      this.#ahead.push({ seq: row.seq, row: row.id });
      if (row.method === "chat_upload_receive") {
        this.#takeFile(row, downloads);
      } else if (row.method !== "notify" && !isSelfTest(row, workspace) && !this.ledger.state.hasSeen(row.id, row.createdAt)) {
        loop.take(row); // a notify row is our own message
      }
    }
  }

  #takeFile(row: ReceivedRow, downloads: DownloadQueue): void {
    const record = recordOfRow(row);
    if (!record) return this.printLine("a file was announced without a valid id or size; it is skipped");
    record.handedOver = record.notified = isSelfTest(row, this.ledger.state.workspace);
    if (this.ledger.announce(record)) downloads.enqueue(record.id);
  }

  #reread(): void {
    this.printLine("the server no longer knows our position in the inbox; reading it again, without what was already handed over");
    this.#ahead = [];
    this.ledger.setCursor(0);
  }

  // For a position of which only the number is known.
  async #findCursorRow(): Promise<void> {
    const { cursor, cursorRow } = this.ledger.state;
    if (cursor === 0 || cursorRow) return;
    const row = await this.api.rowAt(cursor).catch(asFailure);
    if (typeof row === "string" && row) this.ledger.setCursor(cursor, row);
  }

  // The cursor covers the messages that are handed over. Files do not hold it back: the ledger has them. It is always a row
  // that was read, so that its id is known. If it is a row that a restore has lost, the next poll is answered 410.
  #moveCursor(loop: DeliveryLoop): void {
    const first = loop.firstWaiting;
    const passed = this.#ahead.findIndex((read) => read.row === first);
    const count = passed < 0 ? this.#ahead.length : passed;
    const last = this.#ahead[count - 1];
    if (!last) return;
    this.#ahead = this.#ahead.slice(count);
    this.ledger.setCursor(last.seq, last.row);
  }

  // Waits until all messages that were read are handed over, but not for long: files that arrive meanwhile should not wait.
  async #waitForProgress(loop: DeliveryLoop): Promise<void> {
    const until = monotonic() + BUSY_POLL_INTERVAL;
    while (!this.stop.requested && loop.waitingCount > 0 && monotonic() < until) await this.#progressed.wait(until - monotonic(), this.stop);
  }
}
