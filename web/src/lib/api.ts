import { ApiError, errorFromAnswer, unreachable } from './errors';
import type {
  ActivityRow,
  CreatedWorkspace,
  FileStatus,
  Invite,
  Limits,
  Part,
  Session,
  TokenRow,
  UploadFigures,
  Workspace,
  WorkspaceFigures,
} from './wire';

// The calls of the server's API, one function each. Same origin, authenticated by the session cookie; every failure is an ApiError,
// except an abort, which stays the browser's AbortError.

interface Options {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  // Instead of the session: the request is made with this token, and without the cookie.
  token?: string;
}

// Of the requests with the cookie of the present session.
let ofSession = new AbortController();

// Ends the session's requests that still run: after its end they would only be refused.
export function abortSessionRequests(): void {
  ofSession.abort();
  ofSession = new AbortController();
}

export async function call<T>(path: string, options: Options = {}): Promise<T> {
  return (await exchange<T>(path, options)).value;
}

async function exchange<T>(path: string, options: Options): Promise<{ value: T; next: string | null }> {
  const headers: Record<string, string> = { Accept: 'application/json', ...options.headers };
  if (options.token !== undefined) headers['Authorization'] = `Bearer ${options.token}`;
  const credentials = options.token === undefined ? 'same-origin' : 'omit';
  const init: RequestInit = { method: options.method ?? 'GET', headers, credentials, cache: 'no-store' };
  if (options.body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  if (options.signal) init.signal = options.signal;
  else if (options.token === undefined) init.signal = ofSession.signal;

  let status: number;
  let answered: Headers;
  let text: string;
  try {
    const answer = await fetch(path, init);
    status = answer.status;
    answered = answer.headers;
    text = await answer.text();
  } catch (error) {
    if (options.signal?.aborted && options.signal.reason?.name !== 'TimeoutError') throw error;
    throw unreachable();
  }
  if (status < 200 || status > 299) throw errorFromAnswer(status, text, answered.get('Retry-After'));
  return { value: parseAnswer<T>(status, text), next: answered.get('Restante-Next') };
}

export function parseAnswer<T>(status: number, text: string): T {
  try {
    return (text === '' ? undefined : JSON.parse(text)) as T;
  } catch {
    throw new ApiError(status, 'bad_answer', 'The server sent an answer this page cannot read.');
  }
}

export const workspacePath = (id: string): string => `/workspaces/${encodeURIComponent(id)}`;

export const contentPath = (workspace: string, fileId: string): string =>
  `${workspacePath(workspace)}/pending-uploads/${encodeURIComponent(fileId)}/content`;

export const eventsPath = (workspace: string): string => `${workspacePath(workspace)}/events/stream`;

export const signIn = (token: string) => call<Session>('/session', { method: 'POST', body: { token } });
export const currentSession = () => call<Session>('/session');
// Whose token it is; signs nobody in.
export const ownerOf = (token: string) => call<Session>('/session', { token });
export const signOut = () => call<void>('/session', { method: 'DELETE' });

// A part of a list. `next` is what the next part comes after; null: this is the last one.
export interface Page<T> {
  items: T[];
  next: string | null;
}

const pageOf = (limit: number, after: string | null) => `limit=${limit}` + (after ? `&after=${encodeURIComponent(after)}` : '');
// Long enough for a slow server. Without a limit a lost connection would stop all later reads of the list.
const inTime = () => ({ signal: AbortSignal.timeout(60_000) });

export async function listWorkspaces(limit: number, after: string | null): Promise<Page<Workspace>> {
  const { value, next } = await exchange<Workspace[]>(`/workspaces?include=waiting&${pageOf(limit, after)}`, inTime());
  return { items: value, next };
}

export async function listUploadFigures(limit: number, after: string | null): Promise<Page<WorkspaceFigures>> {
  const { workspaces, next } = await call<UploadFigures>(`/admin/uploads/stats?${pageOf(limit, after)}`, inTime());
  return { items: workspaces, next };
}

export const findWorkspace = (id: string, options: Options = {}) => call<Workspace>(workspacePath(id), options);
export const createWorkspace = (name: string, key: string) =>
  call<CreatedWorkspace>('/workspaces', { method: 'POST', headers: { 'Idempotency-Key': key }, body: { name } });
export const inviteAgent = (workspace: string) =>
  call<Invite>('/admin/invites', { method: 'POST', body: { kind: 'enrolment', workspace_id: workspace } });
export const inviteSender = (workspace: string, label: string) =>
  call<Invite>('/admin/invites', { method: 'POST', body: { kind: 'sender', workspace_id: workspace, label } });
export const listTokens = (workspace: string) => call<TokenRow[]>(`${workspacePath(workspace)}/tokens`);
export const revokeToken = (workspace: string, tokenId: string) =>
  call<void>(`${workspacePath(workspace)}/tokens/${encodeURIComponent(tokenId)}`, { method: 'DELETE' });
export const uploadLimits = () => call<Limits>('/uploads/limits');

// Newest first.
export const newestActivity = (id: string, limit: number, beforeTs?: string) =>
  call<ActivityRow[]>(
    `${workspacePath(id)}/activity?limit=${limit}` + (beforeTs ? `&before_ts=${encodeURIComponent(beforeTs)}` : ''),
  );

// Oldest first, everything after `seq`; held by the server for up to `wait` seconds while there is nothing.
export const activitySince = (id: string, seq: number, wait: number, signal: AbortSignal) =>
  call<ActivityRow[]>(`${workspacePath(id)}/activity?since_seq=${seq}&wait=${wait}`, { signal });

export const fileStatus = (id: string, fileId: string, signal: AbortSignal) =>
  call<FileStatus>(`${workspacePath(id)}/pending-uploads/${encodeURIComponent(fileId)}`, { signal });

// The files that wait for the agent, oldest first.
export const waitingFiles = (id: string, limit: number, after: string | undefined, signal: AbortSignal) =>
  call<FileStatus[]>(
    `${workspacePath(id)}/pending-uploads?limit=${limit}` + (after ? `&after=${encodeURIComponent(after)}` : ''),
    { signal },
  );

export const recallFile = (id: string, fileId: string) =>
  call<void>(`${workspacePath(id)}/pending-uploads/${encodeURIComponent(fileId)}`, { method: 'DELETE' });

// The first `most` bytes of a file on this server, or all of it.
export async function readContent(id: string, fileId: string, most: number | null, signal: AbortSignal): Promise<Blob> {
  const init: RequestInit = { credentials: 'same-origin', cache: 'no-store', signal };
  if (most !== null) init.headers = { Range: `bytes=0-${most - 1}` };
  let answer: Response;
  let blob: Blob;
  try {
    answer = await fetch(contentPath(id, fileId), init);
    blob = await answer.blob();
  } catch (error) {
    if (signal.aborted) throw error;
    throw unreachable();
  }
  if (!answer.ok) throw errorFromAnswer(answer.status, await blob.text(), answer.headers.get('Retry-After'));
  return blob;
}

// Safe to repeat: the same messageId with the same parts is the same message.
export const sendMessage = (id: string, messageId: string, parts: Part[]) =>
  call<{ status?: string; seq?: number }>(`${workspacePath(id)}/a2a`, {
    method: 'POST',
    headers: { 'Idempotency-Key': messageId },
    body: {
      jsonrpc: '2.0',
      id: messageId,
      method: 'message/send',
      params: { message: { role: 'user', messageId, parts } },
    },
  });
