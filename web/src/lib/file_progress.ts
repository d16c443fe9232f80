import { field, isUpload } from './timeline';
import type { ActivityRow, FileStage, FileStatus } from './wire';

// FileProgress: how far one file has come on its way to the agent. It only moves forward: acked, expired and recalled are
// final; failed is not, because the agent may still succeed before the file expires. Pure; values are never changed in place.

export interface FileProgress {
  fileId: string;
  // Null: a message names the file, but neither its row nor its status was read yet.
  stage: FileStage | null;
  stagedAt: string | null;
  fetchedAt: string | null;
  ackedAt: string | null;
  // When it failed, expired or was recalled.
  endedAt: string | null;
  expiresAt: string | null;
  reason: string | null;
  sha256: string | null;
  // Whether this session may recall the file. Whether it can still be recalled depends on the stage.
  recallable: boolean;
  // The seq of the newest receipt in this value, so that an older page of the inbox cannot undo it.
  seq: number;
}

const kReceipts = new Map<string, FileStage>([
  ['chat_upload_acked', 'acked'],
  ['chat_upload_failed', 'failed'],
  ['chat_upload_expired', 'expired'],
  ['chat_upload_recalled', 'recalled'],
]);

export const isFinal = (fileProgress: FileProgress): boolean =>
  fileProgress.stage === 'acked' || fileProgress.stage === 'expired' || fileProgress.stage === 'recalled';

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

export function withRow(fileProgress: FileProgress, row: ActivityRow): FileProgress {
  const body = row.request_body;
  if (isUpload(row)) {
    return { ...fileProgress, stage: fileProgress.stage ?? 'staged', stagedAt: row.created_at, sha256: text(body, 'sha256') ?? fileProgress.sha256 };
  }
  const stage = receiptOf(row);
  if (!stage || row.seq < fileProgress.seq || (isFinal(fileProgress) && fileProgress.stage !== stage)) return fileProgress;
  const ackedAt = stage === 'acked' ? (text(body, 'acked_at') ?? row.created_at) : fileProgress.ackedAt;
  return {
    ...fileProgress,
    stage,
    seq: row.seq,
    fetchedAt: text(body, 'fetched_at') ?? fileProgress.fetchedAt,
    ackedAt,
    endedAt: stage === 'acked' ? null : row.created_at,
    reason: stage === 'acked' ? null : text(body, 'reason'),
  };
}

// The agent has fetched the content, which is not yet a delivery. A failed file stays failed until the ack.
export function withFetched(fileProgress: FileProgress, at: string): FileProgress {
  if (isFinal(fileProgress)) return fileProgress;
  return { ...fileProgress, fetchedAt: at, stage: fileProgress.stage === 'failed' ? 'failed' : 'fetched' };
}

export function withStatus(fileProgress: FileProgress, status: FileStatus): FileProgress {
  // The status was asked for before the receipt was read: the receipt is newer.
  if (isFinal(fileProgress) && fileProgress.stage !== status.state) return fileProgress;
  return {
    ...fileProgress,
    // The same for a status that was asked for before the fetch was reported.
    stage: status.state === 'staged' && fileProgress.stage === 'fetched' ? 'fetched' : status.state,
    stagedAt: status.created_at ?? fileProgress.stagedAt,
    fetchedAt: status.fetched_at ?? fileProgress.fetchedAt,
    ackedAt: status.acked_at ?? fileProgress.ackedAt,
    expiresAt: status.expires_at ?? fileProgress.expiresAt,
    reason: status.reason ?? (status.state === fileProgress.stage ? fileProgress.reason : null),
    sha256: status.sha256 ?? fileProgress.sha256,
    recallable: status.recallable ?? fileProgress.recallable,
  };
}

function receiptOf(row: ActivityRow): FileStage | undefined {
  return row.activity_type === 'upload_receipt' && row.method ? kReceipts.get(row.method) : undefined;
}

function text(body: unknown, key: string): string | null {
  const value = field(body, key);
  return typeof value === 'string' && value !== '' ? value : null;
}
