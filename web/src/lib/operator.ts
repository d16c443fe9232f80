import { call, workspacePath } from './api';
import type { Tally } from './wire';

// What only the operator may ask, and the shapes of the answers.

export interface UploadRow {
  workspace_id: string;
  workspace_name: string | null;
  file_id: string;
  name: string;
  size: number;
  state: string;
  created_at: string;
  fetched_at?: string | null;
  failed_at?: string | null;
  reason?: string | null;
  damage?: string | null;
  expires_at: string;
}

export interface UploadTallies {
  waiting: Tally;
  never_fetched: Tally;
  fetched: Tally;
  failed: Tally;
  acked: Tally;
  expired: Tally;
  damaged: Tally;
  oldest: string | null;
}

export interface WorkspaceTallies extends UploadTallies {
  workspace_id: string;
  workspace_name: string | null;
}

export interface UploadStats {
  workspaces: WorkspaceTallies[];
  total: UploadTallies;
}

export type TaskStatus = 'queued' | 'dispatched' | 'in_progress' | 'completed' | 'failed' | 'stuck';

export interface TaskRow {
  delegation_id: string;
  source_id: string;
  target_id: string;
  status: TaskStatus;
  summary: string;
  response_preview?: string | null;
  error_detail?: string | null;
  last_heartbeat?: string | null;
  deadline: string;
  created_at: string;
  updated_at: string;
  finished_at?: string | null;
  why?: string | null;
  agent_seen_at?: string | null;
  progress?: string | null;
  progress_at?: string | null;
  late_at?: string | null;
  retry_count?: number;
  retry_of?: string | null;
  parent_delegation_id?: string | null;
  recorded?: boolean;
}

export interface TaskStep {
  at: string;
  status: TaskStatus;
  by: 'caller' | 'callee' | 'platform';
  late: boolean;
  note?: string | null;
}

export interface TaskFile {
  uri?: string;
  name?: string;
  size?: number;
}

export interface TaskDetails extends TaskRow {
  task: string;
  result?: string | null;
  late_answer?: string | null;
  attachments?: TaskFile[];
  result_attachments?: TaskFile[];
  late_attachments?: TaskFile[];
  history: TaskStep[];
}

export type TaskStats = Record<TaskStatus, number>;

export interface SeriesAnswer {
  now: number;
  period_seconds: number;
  kept: number;
  time: number[];
  columns: Record<string, (number | null)[]>;
  running: Record<string, number | null>;
}

export interface StoreState {
  name: string;
  ok: boolean;
  error: string | null;
  kind: string | null;
  detail: string | null;
  place: string | null;
}

export interface LoopState {
  name: string;
  period_seconds: number;
  last_tick_at: string | null;
  ok: boolean;
  error: string | null;
  failures: number;
}

export interface EffectiveSetting {
  key: string;
  value: string;
  origin: string | null;
  help: string;
}

export interface HealthReport {
  version: string;
  commit: string;
  compiler: string;
  now: string;
  started_at: string;
  shared: boolean;
  stores: StoreState[];
  loops: LoopState[];
  settings: EffectiveSetting[];
  warnings: string[];
  clock_doubt: string | null;
}

export interface Readiness {
  checks: Record<string, 'ok' | 'failed' | 'doubted' | 'none'>;
}
export const readReadiness = () => call<Readiness>('/ready');

export const kMostUploads = 1000;
export const listUploads = (state: string, workspace?: string) =>
  call<{ count: number; uploads: UploadRow[] }>(
    `/admin/uploads?state=${state}&limit=${kMostUploads}` + (workspace ? `&workspace=${encodeURIComponent(workspace)}` : ''),
  );
export const uploadStats = () => call<UploadStats>('/admin/uploads/stats');

export interface TaskFilter {
  caller: string;
  callee: string;
}
export const listTasks = (status: string, limit: number, filter: TaskFilter) =>
  call<{ count: number; delegations: TaskRow[] }>(
    `/admin/delegations?status=${status}&limit=${limit}` +
      (filter.caller ? `&caller=${encodeURIComponent(filter.caller)}` : '') +
      (filter.callee ? `&callee=${encodeURIComponent(filter.callee)}` : ''),
  );
export const taskStats = () => call<TaskStats>('/admin/delegations/stats');
export const taskDetails = (id: string) => call<TaskDetails>(`/admin/delegations/${encodeURIComponent(id)}`);
export const cancelTask = (task: TaskRow) =>
  call<unknown>(`${workspacePath(task.source_id)}/delegations/${encodeURIComponent(task.delegation_id)}/cancel`, {
    method: 'POST',
  });
// The same task again, for the same agent; the server takes its text, its files and its time from the old one.
export const retryTask = (task: TaskRow, key: string) =>
  call<{ delegation_id: string }>(`${workspacePath(task.source_id)}/delegate`, {
    method: 'POST',
    headers: { 'Idempotency-Key': key },
    body: { target_id: task.target_id, retry_of: task.delegation_id },
  });

export const readSeries = (since?: number) => call<SeriesAnswer>(`/admin/series${since ? `?since=${since}` : ''}`);
export const readHealth = () => call<HealthReport>('/admin/health');

export function settingOf(health: HealthReport | null, key: string): string | null {
  return health?.settings.find((one) => one.key === key)?.value ?? null;
}

// A TOML integer; null when the setting is not there.
export function numberOf(health: HealthReport | null, key: string): number | null {
  const value = Number(settingOf(health, key)?.replaceAll('_', '') ?? NaN);
  return Number.isFinite(value) ? value : null;
}
