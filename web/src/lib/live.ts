import { activitySince, eventsPath, fileStatus, waitingFiles } from './api';
import { ApiError } from './errors';
import { field } from './timeline';
import type { ActivityRow, FileStatus } from './wire';

// The live source: everything that happens in one workspace after `since`, told through LiveEvents until stopped.
// A stream of events says that something happened, and the log, read from our own cursor, says what: so nothing is missed
// or doubled, however often the stream is cut. What is no row of the log (a file was picked up) is in the event itself;
// after a cut it may have been missed, and the files on their way are looked at. Where no stream passes (a proxy that
// holds it back) the log is polled. Nothing outside this file knows how news arrives.

export interface LiveEvents {
  // Ascending, each row once.
  rows(rows: ActivityRow[]): void;
  // The agent has asked for the bytes.
  fetched(fileId: string, at: string): void;
  file(status: FileStatus): void;
  // The server knows no such file.
  fileUnknown(fileId: string): void;
  link(state: 'live' | 'lost'): void;
  // The cursor is no longer good: read the history again.
  resync(): void;
  signedOut(): void;
}

const kHoldSeconds = 25;
const kFirstRetryMs = 500;
const kLastRetryMs = 15_000;
// A page that nobody looks at gives its stream back after this: tabs share six connections to one server.
const kHiddenMs = 60_000;
// A stream that has said nothing by then is not going to: its first event comes at once.
const kBeginMs = 10_000;
// How long the browser may try to mend a stream that had begun.
const kMendMs = 30_000;
// For how long the log is polled before another stream is tried.
const kPollingMs = 300_000;
// An empty answer sooner than this means the server did not hold the poll (it is draining): do not spin on it.
const kShortestHoldMs = 1_000;
// Leaves the browser's six connections to one server free for the stream, uploads and messages.
const kLooksAtOnce = 2;
// From so many on, the files on their way are read as a list first, as far as they still wait.
const kListFrom = 4;
const kListPage = 500;

// `onTheirWay`: the files whose stage may still change, the most interesting first.
export function follow(workspace: string, since: number, onTheirWay: () => string[], events: LiveEvents): () => void {
  const line = new Line(workspace, since, onTheirWay, events);
  void line.run();
  return () => line.stop();
}

class Line {
  readonly #stop = new AbortController();
  #cursor: number;
  // The newest row the stream has told of.
  #told = 0;
  #reading: Promise<boolean> | null = null;
  #lookedAt = new Set<string>();
  #looking = false;
  #hangUp = () => {};

  constructor(
    private readonly workspace: string,
    since: number,
    private readonly onTheirWay: () => string[],
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
      // Why it ended is told by asking for the log.
      const answered = began ? await this.#catchUp() : await this.#poll();
      if (signal.aborted) return;
      this.events.link(answered ? 'live' : 'lost');
      if (began && answered) retryMs = kFirstRetryMs;
      await pause(retryMs * (0.75 + Math.random() / 2), signal, 'online');
      retryMs = Math.min(retryMs * 2, kLastRetryMs);
    }
  }

  // Until the stream is closed for good; whether it ever began. The browser itself mends one that is cut.
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
      // After a sleep a connection can be dead without knowing it.
      const check = () => {
        clearTimeout(rest);
        if (document.hidden) rest = setTimeout(finish, kHiddenMs);
        else void this.#checkStream(finish);
      };
      let rest: ReturnType<typeof setTimeout> | undefined;
      let timer = setTimeout(finish, kBeginMs);
      this.#hangUp = finish;
      signal.addEventListener('abort', finish);
      document.addEventListener('visibilitychange', check);
      window.addEventListener('online', check);

      source.addEventListener('RESYNC', (event) => {
        began = true;
        clearTimeout(timer);
        this.events.link('live');
        this.#lookedAt.clear();
        this.#hear(event);
        void this.#look();
      });
      source.addEventListener('ACTIVITY_LOGGED', (event) => this.#hear(event));
      source.addEventListener('UPLOAD_FETCHED', (event) => this.#hearFetched(event));
      source.addEventListener('error', () => {
        this.events.link('lost');
        clearTimeout(timer);
        if (source.readyState === EventSource.CLOSED) finish();
        else timer = setTimeout(finish, began ? kMendMs : kBeginMs);
      });
      if (signal.aborted) finish();
    });
  }

  #hear(event: MessageEvent): void {
    const seq = field(dataOf(event), 'seq');
    if (typeof seq !== 'number') return;
    this.#told = Math.max(this.#told, seq);
    if (seq > this.#cursor) void this.#catchUp().then((answered) => answered || this.#hangUp());
  }

  #hearFetched(event: MessageEvent): void {
    const data = dataOf(event);
    const id = field(data, 'file_id');
    const at = field(data, 'fetched_at');
    if (typeof id !== 'string') return;
    this.events.fetched(id.toLowerCase(), typeof at === 'string' ? at : new Date().toISOString());
  }

  async #checkStream(finish: () => void): Promise<void> {
    const answered = await this.#catchUp();
    if (!answered || this.#cursor > this.#told) finish();
  }

  // Reads the log to its end; false when it cannot be had. One reading at a time, which takes in what is told meanwhile.
  #catchUp(): Promise<boolean> {
    this.#reading ??= this.#readAll().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readAll(): Promise<boolean> {
    for (;;) {
      const told = this.#told;
      const rows = await this.#read(0);
      if (!rows) return false;
      // An empty answer is the end even below `told`: that row may not be for us to see.
      if (this.#cursor >= this.#told || (rows.length === 0 && told === this.#told)) return true;
    }
  }

  // The log, polled for a while: how news comes where no stream does.
  async #poll(): Promise<boolean> {
    const until = performance.now() + kPollingMs;
    let hold = 0;
    while (!this.#stop.signal.aborted && performance.now() < until) {
      const asked = performance.now();
      const rows = await this.#read(hold);
      if (!rows) return false;
      this.events.link('live');
      this.#lookedAt.clear();
      void this.#look();
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
        void this.#look();
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

  // Each file on its way is looked at once; from then on the stream tells.
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    await this.#readWaiting();
    const next = () => this.onTheirWay().find((id) => !this.#lookedAt.has(id));
    const lookOn = async () => {
      for (let id = next(); id !== undefined && !this.#stop.signal.aborted; id = next()) {
        this.#lookedAt.add(id);
        await this.#lookAt(id);
      }
    };
    await Promise.all(Array.from({ length: kLooksAtOnce }, lookOn));
    this.#looking = false;
  }

  async #readWaiting(): Promise<void> {
    const { signal } = this.#stop;
    let after: string | undefined;
    const wanted = new Set(this.onTheirWay().filter((id) => !this.#lookedAt.has(id)));
    try {
      while (wanted.size >= kListFrom && !signal.aborted) {
        const page = await waitingFiles(this.workspace, kListPage, after, signal);
        if (signal.aborted) return;
        for (const status of page) {
          const id = status.file_id.toLowerCase();
          if (!wanted.delete(id)) continue;
          this.#lookedAt.add(id);
          this.events.file(status);
        }
        if (page.length < kListPage) return;
        after = page.at(-1)?.file_id;
      }
    } catch {
      // Then each is looked at by itself.
    }
  }

  async #lookAt(id: string): Promise<void> {
    const { signal } = this.#stop;
    try {
      const status = await fileStatus(this.workspace, id, signal);
      if (!signal.aborted) this.events.file(status);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && !signal.aborted) this.events.fileUnknown(id);
      // Anything else is the stream's to report: it meets the same trouble.
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

// Resolves after `ms`, when stopped, or when the window event `wake` says that waiting is pointless.
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
