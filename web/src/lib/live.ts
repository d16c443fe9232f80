import { activitySince, fileStatus } from './api';
import { ApiError } from './errors';
import type { ActivityRow, FileStatus } from './wire';

// The live source: everything that happens in one workspace after `since`, told through LiveEvents until stopped.
// Today a long poll on the log, and a look at the files on their way, because "fetched" is not a row of the log.
// Nothing outside this file knows how news arrives.

export interface LiveEvents {
  // Ascending, each row once.
  rows(rows: ActivityRow[]): void;
  file(status: FileStatus): void;
  // The server knows no such file.
  fileUnknown(fileId: string): void;
  link(state: 'live' | 'lost'): void;
  // The cursor is no longer good: read the history again.
  resync(): void;
  signedOut(): void;
}

// Files whose stage may still change, the most interesting first; `fresh` while a person is likely to be watching.
export interface Watched {
  ids: string[];
  fresh: boolean;
}

const kHoldSeconds = 25;
const kFirstRetryMs = 500;
const kLastRetryMs = 15_000;
// An empty answer sooner than this means the server did not hold the poll (it is draining): do not spin on it.
const kShortestHoldMs = 1_000;
const kFreshLookMs = 1_000;
const kCalmLookMs = 10_000;
// Leaves the browser's six connections to one server free for the poll, uploads and messages.
const kLooksAtOnce = 2;
const kLooksPerRound = 12;

export function follow(workspace: string, since: number, watched: () => Watched, events: LiveEvents): () => void {
  const stop = new AbortController();
  void followRows(workspace, since, events, stop);
  void followFiles(workspace, watched, events, stop.signal);
  return () => stop.abort();
}

async function followRows(workspace: string, since: number, events: LiveEvents, stop: AbortController): Promise<void> {
  const { signal } = stop;
  let cursor = since;
  let retryMs = kFirstRetryMs;
  let lost = false;
  while (!signal.aborted) {
    const asked = performance.now();
    try {
      // After a failure ask without being held: the reader should hear at once that the line is up again.
      const rows = await activitySince(workspace, cursor, lost ? 0 : kHoldSeconds, signal);
      const back = lost;
      lost = false;
      events.link('live');
      const last = rows.at(-1);
      if (last) {
        cursor = last.seq;
        events.rows(rows);
      }
      if (last || back || performance.now() - asked >= kShortestHoldMs) {
        retryMs = kFirstRetryMs;
        continue;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && (error.signedOut || error.status === 410)) {
        stop.abort();
        return error.signedOut ? events.signedOut() : events.resync();
      }
      lost = true;
      events.link('lost');
      if (error instanceof ApiError && error.retryAfterSeconds) retryMs = error.retryAfterSeconds * 1000;
    }
    await pause(retryMs * (0.75 + Math.random() / 2), signal, 'online');
    retryMs = Math.min(retryMs * 2, kLastRetryMs);
  }
}

async function followFiles(workspace: string, watched: () => Watched, events: LiveEvents, signal: AbortSignal) {
  let turn = 0;
  let lookedAt = -Infinity;
  for (; !signal.aborted; await pause(kFreshLookMs, signal)) {
    const { ids, fresh } = watched();
    const due = performance.now() - lookedAt >= (fresh ? kFreshLookMs : kCalmLookMs) * 0.9;
    if (document.hidden || ids.length === 0 || !due) continue;
    lookedAt = performance.now();
    // With more files waiting than one round asks for, later rounds take the next ones.
    const from = ids.length > kLooksPerRound ? (turn++ * kLooksPerRound) % ids.length : 0;
    const queue = ids.slice(from, from + kLooksPerRound);
    await Promise.all(Array.from({ length: kLooksAtOnce }, () => lookAt(workspace, queue, events, signal)));
  }
}

async function lookAt(workspace: string, queue: string[], events: LiveEvents, signal: AbortSignal): Promise<void> {
  for (let id = queue.shift(); id !== undefined && !signal.aborted; id = queue.shift()) {
    try {
      const status = await fileStatus(workspace, id, signal);
      if (!signal.aborted) events.file(status);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && !signal.aborted) events.fileUnknown(id);
      // Anything else is the poll's to report: it meets the same trouble.
    }
  }
}

// Resolves after `ms`, when stopped, or when the window event `wake` says that waiting is pointless.
function pause(ms: number, signal: AbortSignal, wake?: 'online'): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      if (wake) window.removeEventListener(wake, finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish);
    if (wake) window.addEventListener(wake, finish);
    if (signal.aborted) finish();
  });
}
