import { field, isUpload } from './timeline';
import type { ActivityRow, FileStage, FileStatus } from './wire';

// FileProgress: what is known of one file's way to the agent. It only moves forward: acked, expired and recalled are final;
// failed is not, since the agent may still succeed before the file's time is up. Pure; values, never changed in place.

export interface FileProgress {
  fileId: string;
  // Null: named by a message, but neither its row nor its status has been seen yet.
  stage: FileStage | null;
  stagedAt: string | null;
  fetchedAt: string | null;
  ackedAt: string | null;
  // When it failed, expired or was recalled.
  endedAt: string | null;
  expiresAt: string | null;
  reason: string | null;
  sha256: string | null;
  // Whose it is never changes; whether it can still be taken back is told by the stage.
  recallable: boolean;
  // The newest receipt that went into this, so that an older page of the log cannot undo it.
  seq: number;
}

const kReceipts = new Map<string, FileStage>([
  ['chat_upload_acked', 'acked'],
  ['chat_upload_failed', 'failed'],
  ['chat_upload_expired', 'expired'],
  ['chat_upload_recalled', 'recalled'],
]);

export const isFinal = (life: FileProgress): boolean =>
  life.stage === 'acked' || life.stage === 'expired' || life.stage === 'recalled';

export function newFileProgress(fileId: string): FileProgress {
  return {
    fileId,
    stage: null,
    stagedAt: null,
    fetchedAt: null,
    ackedAt: null,
    endedAt: null,
    expiresAt: null,
    reason: null,
    sha256: null,
    recallable: false,
    seq: 0,
  };
}

// The file a row is about, or null when it is about none.
export function fileOfRow(row: ActivityRow): string | null {
  if (!isUpload(row) && !receiptOf(row)) return null;
  const id = field(row.request_body, 'file_id');
  return typeof id === 'string' ? id.toLowerCase() : null;
}

export function withRow(life: FileProgress, row: ActivityRow): FileProgress {
  const body = row.request_body;
  if (isUpload(row)) {
    return { ...life, stage: life.stage ?? 'staged', stagedAt: row.created_at, sha256: text(body, 'sha256') ?? life.sha256 };
  }
  const stage = receiptOf(row);
  if (!stage || row.seq < life.seq || (isFinal(life) && life.stage !== stage)) return life;
  const ackedAt = stage === 'acked' ? (text(body, 'acked_at') ?? row.created_at) : life.ackedAt;
  return {
    ...life,
    stage,
    seq: row.seq,
    fetchedAt: text(body, 'fetched_at') ?? life.fetchedAt,
    ackedAt,
    endedAt: stage === 'acked' ? null : row.created_at,
    reason: stage === 'acked' ? null : text(body, 'reason'),
  };
}

// The agent has asked for the bytes: a step on the way, and no more than that. What failed stays failed until the ack.
export function withFetched(life: FileProgress, at: string): FileProgress {
  if (isFinal(life)) return life;
  return { ...life, fetchedAt: at, stage: life.stage === 'failed' ? 'failed' : 'fetched' };
}

export function withStatus(life: FileProgress, status: FileStatus): FileProgress {
  // Asked before, answered after a receipt was read: the receipt knows better.
  if (isFinal(life) && life.stage !== status.state) return life;
  return {
    ...life,
    // The same of a look that crossed the news that the file was picked up.
    stage: status.state === 'staged' && life.stage === 'fetched' ? 'fetched' : status.state,
    stagedAt: status.created_at ?? life.stagedAt,
    fetchedAt: status.fetched_at ?? life.fetchedAt,
    ackedAt: status.acked_at ?? life.ackedAt,
    expiresAt: status.expires_at ?? life.expiresAt,
    reason: status.reason ?? (status.state === life.stage ? life.reason : null),
    sha256: status.sha256 ?? life.sha256,
    recallable: status.recallable ?? life.recallable,
  };
}

function receiptOf(row: ActivityRow): FileStage | undefined {
  return row.activity_type === 'upload_receipt' && row.method ? kReceipts.get(row.method) : undefined;
}

function text(body: unknown, key: string): string | null {
  const value = field(body, key);
  return typeof value === 'string' && value !== '' ? value : null;
}
