import type { ActivityRow } from './wire';

// Rows as the server writes them, for the tests beside this file.

export const kWorkspace = '6f0c0e9a-0000-4000-8000-000000000001';
export const kFile = '6f0c0e9a-0000-4000-8000-0000000000f1';
export const uriOf = (fileId: string): string => `platform-pending:${kWorkspace}/${fileId}`;
export const at = (second: number): string => `2026-05-04T10:00:${String(second).padStart(2, '0')}.000000Z`;

export function row(seq: number, type: string, method: string, rest: Partial<ActivityRow> = {}): ActivityRow {
  return {
    id: `00000000-0000-4000-8000-${String(seq).padStart(12, '0')}`,
    seq,
    workspace_id: kWorkspace,
    activity_type: type,
    method,
    source_id: null,
    target_id: kWorkspace,
    summary: null,
    status: 'ok',
    created_at: at(seq),
    ...rest,
  };
}

export const uploadRow = (seq: number, fileId = kFile, name = 'a.txt') =>
  row(seq, 'a2a_receive', 'chat_upload_receive', {
    request_body: { file_id: fileId, name, mimeType: 'text/plain', size: 3, uri: uriOf(fileId), sha256: 'ab'.repeat(32) },
  });

export const messageRow = (seq: number, parts: unknown, rest: Partial<ActivityRow> = {}) =>
  row(seq, 'a2a_receive', 'message/send', {
    request_body: { jsonrpc: '2.0', method: 'message/send', params: { message: { messageId: `m${seq}`, parts } } },
    ...rest,
  });

export const receiptRow = (seq: number, outcome: string, body: object = {}) =>
  row(seq, 'upload_receipt', `chat_upload_${outcome}`, { request_body: { file_id: kFile, ...body } });
