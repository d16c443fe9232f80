import { parseAnswer, workspacePath } from './api';
import { ApiError, errorFromAnswer, unreachable } from './errors';
import type { StagedFile } from './wire';

export interface Upload {
  done: Promise<StagedFile>;
  // Rejects `done` with code `cancelled`; nothing was staged unless the server had already answered.
  cancel(): void;
}

// One file, one request: each can be cancelled and tried again by itself. XMLHttpRequest, because fetch does not report
// how much of a body has gone out. `key` makes a repeat after a lost answer the same upload, not a second one.
export function upload(workspace: string, file: File, key: string, onProgress: (sent: number) => void): Upload {
  const request = new XMLHttpRequest();
  const done = new Promise<StagedFile>((resolve, reject) => {
    request.upload.onprogress = (event) => {
      // The event counts the whole multipart body; people want to see the file's part of it only.
      if (event.total > 0) onProgress(Math.min(file.size, Math.round((event.loaded / event.total) * file.size)));
    };
    request.onabort = () => reject(new ApiError(0, 'cancelled', 'Cancelled.'));
    request.onerror = () => reject(unreachable());
    request.onload = () => {
      try {
        resolve(stagedFrom(request));
      } catch (error) {
        reject(error);
      }
    };
  });

  const form = new FormData();
  form.append('files', file, file.name);
  request.open('POST', `${workspacePath(workspace)}/chat/uploads`);
  request.setRequestHeader('Accept', 'application/json');
  request.setRequestHeader('Idempotency-Key', key);
  request.send(form);
  return { done, cancel: () => request.abort() };
}

function stagedFrom(request: XMLHttpRequest): StagedFile {
  if (request.status < 200 || request.status > 299) {
    throw errorFromAnswer(request.status, request.responseText, request.getResponseHeader('Retry-After'));
  }
  const staged = parseAnswer<{ files?: StagedFile[] }>(request.status, request.responseText)?.files?.[0];
  if (!staged) throw new ApiError(request.status, 'bad_answer', 'The server took the file but did not name it.');
  return staged;
}
