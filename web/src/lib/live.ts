import { activitySince, eventsPath, fileStatus, waitingFiles } from './api';
import { ApiError } from './errors';
import { field } from './timeline';
import type { ActivityRow, FileStatus } from './wire';

// Follows one workspace: reports everything after `since` through LiveEvents until it is stopped. An event of the stream only
// signals that there are new rows; the rows are read from the inbox with our own cursor. So no row is missed or reported twice,
// however often the stream is cut. A fetch is not a row but an event; it may have been missed while the stream was cut, so the
// states of unfinished files are read again afterwards. Where no stream gets through (a proxy buffers it) the inbox is polled.
// No other file knows how events arrive.

export interface LiveEvents {
  // Ascending, each row once.
  rows(rows: ActivityRow[]): void;
  // The agent has fetched the content.
  fetched(fileId: string, at: string): void;
  file(status: FileStatus): void;
  // The server knows no such file.
  fileUnknown(fileId: string): void;
  link(state: 'live' | 'lost'): void;
  // The cursor is no longer valid: read the history again.
  resync(): void;
  signedOut(): void;
}

const kHoldSeconds = 25;
const kFirstRetryMs = 500;
const kLastRetryMs = 15_000;
// A hidden page closes its stream after this time: all tabs share six connections to one server.
const kHiddenMs = 60_000;
// A stream without an event after this time does not get through: the first event comes at once.
const kBeginMs = 10_000;
// How long the browser may try to reconnect a stream that had begun.
const kReconnectMs = 30_000;
// How long the inbox is polled before another stream is tried.
const kPollingMs = 300_000;
// An empty answer sooner than this means the server did not hold the poll (it is draining): do not spin on it.
const kShortestHoldMs = 1_000;
// Leaves the browser's six connections to one server free for the stream, uploads and messages.
const kReadsAtOnce = 2;
// With this many unfinished files or more, the list of waiting files is read first.
const kListFrom = 4;
const kListPage = 500;

// `unfinished`: the files whose stage may still change, the newest first.
export function follow(workspace: string, since: number, unfinished: () => string[], events: LiveEvents): () => void {
  const follower = new Follower(workspace, since, unfinished, events);
  void follower.run();
  return () => follower.stop();
}

class Follower {
  readonly #stop = new AbortController();
  #cursor: number;
  // The newest seq in an event of the stream.
  #announcedSeq = 0;
  #reading: Promise<boolean> | null = null;
  #statusRead = new Set<string>();
  #readingStatus = false;
  #closeStream = () => {};

  constructor(
    private readonly workspace: string,
    since: number,
    private readonly unfinished: () => string[],
    private readonly events: LiveEvents,
  ) {
    this.#cursor = since;
  }

  stop(): void {
    this.#stop.abort();
  }

  async run(): Promise<void> {
    const { signal } = this.#stop;
    let retryMs = kFirstRetryMs;
    while (!signal.aborted) {
      await shown(signal);
      if (signal.aborted) return;
      const began = await this.#listen();
      // A read of the inbox shows why it ended.
      const answered = began ? await this.#catchUp() : await this.#poll();
      if (signal.aborted) return;
      this.events.link(answered ? 'live' : 'lost');
      if (began && answered) retryMs = kFirstRetryMs;
      await pause(retryMs * (0.75 + Math.random() / 2), signal, 'online');
      retryMs = Math.min(retryMs * 2, kLastRetryMs);
    }
  }

  // Resolves when the stream is closed for good, with whether it ever began. The browser itself reconnects a stream that is cut.
  #listen(): Promise<boolean> {
    return new Promise((resolve) => {
      const { signal } = this.#stop;
      const source = new EventSource(eventsPath(this.workspace));
      let began = false;
      const finish = () => {
        clearTimeout(timer);
        clearTimeout(rest);
        source.close();
        signal.removeEventListener('abort', finish);
        document.removeEventListener('visibilitychange', check);
        window.removeEventListener('online', check);
        resolve(began);
      };
      // After the machine slept, the connection can be dead without an error.
      const check = () => {
        clearTimeout(rest);
        if (document.hidden) rest = setTimeout(finish, kHiddenMs);
        else void this.#checkStream(finish);
      };
      let rest: ReturnType<typeof setTimeout> | undefined;
      let timer = setTimeout(finish, kBeginMs);
      this.#closeStream = finish;
      signal.addEventListener('abort', finish);
      document.addEventListener('visibilitychange', check);
      window.addEventListener('online', check);

      source.addEventListener('RESYNC', (event) => {
        began = true;
        clearTimeout(timer);
        this.events.link('live');
        this.#statusRead.clear();
        this.#onRow(event);
        void this.#readStatuses();
      });
      source.addEventListener('ACTIVITY_LOGGED', (event) => this.#onRow(event));
      source.addEventListener('UPLOAD_FETCHED', (event) => this.#onFetched(event));
      source.addEventListener('error', () => {
        this.events.link('lost');
        clearTimeout(timer);
        if (source.readyState === EventSource.CLOSED) finish();
        else timer = setTimeout(finish, began ? kReconnectMs : kBeginMs);
      });
      if (signal.aborted) finish();
    });
  }

  #onRow(event: MessageEvent): void {
    const seq = field(dataOf(event), 'seq');
    if (typeof seq !== 'number') return;
    this.#announcedSeq = Math.max(this.#announcedSeq, seq);
    if (seq > this.#cursor) void this.#catchUp().then((answered) => answered || this.#closeStream());
  }

  #onFetched(event: MessageEvent): void {
    const data = dataOf(event);
    const id = field(data, 'file_id');
    const at = field(data, 'fetched_at');
    if (typeof id !== 'string') return;
    this.events.fetched(id.toLowerCase(), typeof at === 'string' ? at : new Date().toISOString());
  }

  async #checkStream(finish: () => void): Promise<void> {
    const answered = await this.#catchUp();
    if (!answered || this.#cursor > this.#announcedSeq) finish();
  }

  // Reads the inbox to its end; false when that fails. One read runs at a time; it includes rows that are announced meanwhile.
  #catchUp(): Promise<boolean> {
    this.#reading ??= this.#readAll().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readAll(): Promise<boolean> {
    for (;;) {
      const announced = this.#announcedSeq;
      const rows = await this.#read(0);
      if (!rows) return false;
      // An empty answer is the end even below the announced seq: this session may not be allowed to see that row.
      if (this.#cursor >= this.#announcedSeq || (rows.length === 0 && announced === this.#announcedSeq)) return true;
    }
  }

  // Polls the inbox for a while, for networks in which no stream gets through.
  async #poll(): Promise<boolean> {
    const until = performance.now() + kPollingMs;
    let hold = 0;
    while (!this.#stop.signal.aborted && performance.now() < until) {
      const asked = performance.now();
      const rows = await this.#read(hold);
      if (!rows) return false;
      this.events.link('live');
      this.#statusRead.clear();
      void this.#readStatuses();
      if (hold > 0 && rows.length === 0 && performance.now() - asked < kShortestHoldMs) return true;
      hold = kHoldSeconds;
    }
    return true;
  }

  async #read(hold: number): Promise<ActivityRow[] | null> {
    const { signal } = this.#stop;
    try {
      const rows = await activitySince(this.workspace, this.#cursor, hold, signal);
      const last = rows.at(-1);
      if (last && !signal.aborted) {
        this.#cursor = last.seq;
        this.events.rows(rows);
        void this.#readStatuses();
      }
      return rows;
    } catch (error) {
      if (!signal.aborted && error instanceof ApiError && (error.signedOut || error.status === 410)) {
        this.stop();
        if (error.signedOut) this.events.signedOut();
        else this.events.resync();
      }
      return null;
    }
  }

  // Reads the state of each unfinished file once; after that the stream reports changes.
  async #readStatuses(): Promise<void> {
    if (this.#readingStatus) return;
    this.#readingStatus = true;
    await this.#readWaiting();
    const next = () => this.unfinished().find((id) => !this.#statusRead.has(id));
    const readOn = async () => {
      for (let id = next(); id !== undefined && !this.#stop.signal.aborted; id = next()) {
        this.#statusRead.add(id);
        await this.#readStatus(id);
      }
    };
    await Promise.all(Array.from({ length: kReadsAtOnce }, readOn));
    this.#readingStatus = false;
  }

  async #readWaiting(): Promise<void> {
    const { signal } = this.#stop;
    let after: string | undefined;
    const wanted = new Set(this.unfinished().filter((id) => !this.#statusRead.has(id)));
    try {
      while (wanted.size >= kListFrom && !signal.aborted) {
        const page = await waitingFiles(this.workspace, kListPage, after, signal);
        if (signal.aborted) return;
        for (const status of page) {
          const id = status.file_id.toLowerCase();
          if (!wanted.delete(id)) continue;
          this.#statusRead.add(id);
          this.events.file(status);
        }
        if (page.length < kListPage) return;
        after = page.at(-1)?.file_id;
      }
    } catch {
      // Then the states are read one by one.
    }
  }

  async #readStatus(id: string): Promise<void> {
    const { signal } = this.#stop;
    try {
      const status = await fileStatus(this.workspace, id, signal);
      if (!signal.aborted) this.events.file(status);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && !signal.aborted) this.events.fileUnknown(id);
      // The stream reports any other failure: it has the same one.
    }
  }
}

function dataOf(event: MessageEvent): unknown {
  try {
    return JSON.parse(String(event.data));
  } catch {
    return null;
  }
}

// Resolves when the page is visible, or when stopped.
function shown(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

// Resolves after `ms`, when stopped, or at the window event `wake`.
function pause(ms: number, signal: AbortSignal, wake: 'online'): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      window.removeEventListener(wake, finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish);
    window.addEventListener(wake, finish);
    if (signal.aborted) finish();
  });
}
