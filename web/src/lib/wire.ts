// The JSON of the server's API, as far as the page reads it. Unknown fields are ignored. A field that may be absent is
// optional here, so that the compiler finds code that needs it.

export type Role = 'admin' | 'sender';

export interface Session {
  role: Role;
  workspace_id?: string | null;
  // Of the token behind it; none: the operator's.
  token_id?: string | null;
}

export interface Workspace {
  id: string;
  name: string;
  status: 'awaiting_agent' | 'online' | 'degraded' | 'offline' | 'removed' | (string & {});
  delivery_mode?: 'push' | 'poll' | '' | null;
  last_heartbeat_at?: string | null;
  last_poll_at?: string | null;
  // The agent holds a poll open right now.
  listening?: boolean;
  // For a person: "silent for 7 min", "never polled".
  silence?: string | null;
  silent_for_seconds?: number | null;
  current_task?: string | null;
  role?: string | null;
  // 500 means 500 or more.
  waiting_messages?: number;
}

export interface Connection {
  platform_url: string;
  expires_at: string;
  connect_command?: string;
  install_command?: string;
  python_command?: string;
  powershell_command?: string;
}

export interface CreatedWorkspace extends Workspace {
  connection: Connection;
}

export interface Invite {
  token_id: string;
  kind: 'sender' | 'enrolment';
  expires_at?: string | null;
  link?: string;
  connect_command?: string;
  install_command?: string;
  python_command?: string;
  powershell_command?: string;
}

export interface TokenRow {
  id: string;
  kind: 'workspace' | 'sender' | 'enrolment';
  label: string;
  created_at: string;
  last_used_at?: string | null;
  expires_at?: string | null;
  revoked_at?: string | null;
}

export interface Tally {
  files: number;
  bytes: number;
}

export interface WorkspaceFigures {
  workspace_id: string;
  waiting: Tally;
}

export interface UploadFigures {
  workspaces: WorkspaceFigures[];
  next: string | null;
}

export interface ActivityRow {
  id: string;
  seq: number;
  workspace_id: string;
  activity_type: string;
  method: string | null;
  source_id: string | null;
  target_id: string | null;
  summary: string | null;
  status: string | null;
  created_at: string;
  // Written by agents and other clients: nothing about their shape is certain.
  request_body?: unknown;
  response_body?: unknown;
}

export interface Limits {
  per_file_bytes: number;
  per_request_bytes: number;
  max_files: number;
}

export interface StagedFile {
  uri: string;
  name: string;
  mimeType: string;
  size: number;
  sha256?: string;
  expires_at?: string;
}

export type FileStage = 'staged' | 'fetched' | 'acked' | 'failed' | 'expired' | 'recalled';

export interface FileStatus {
  file_id: string;
  name: string;
  size: number;
  state: FileStage;
  mimeType?: string;
  sha256?: string | null;
  created_at?: string | null;
  fetched_at?: string | null;
  acked_at?: string | null;
  expires_at?: string | null;
  reason?: string | null;
  // When the content was deleted; absent while the server still has it.
  ended_at?: string | null;
  // Whether this session may recall it.
  recallable?: boolean;
}

export interface TextPart {
  kind: 'text';
  text: string;
}

export interface FilePart {
  kind: 'file';
  file: { uri: string; name: string; mimeType?: string; size?: number };
}

export type Part = TextPart | FilePart;

// `platform-pending:<workspace>/<file id>` names a staged file; anything else is not an address of this server.
export const fileIdOf = (uri: string): string | null => placeOf(uri)?.fileId ?? null;

// The same, with the workspace.
export function placeOf(uri: string): { workspace: string; fileId: string } | null {
  const match = /^platform-pending:([0-9a-f-]{36})\/([0-9a-f-]{36})$/i.exec(uri);
  return match?.[1] && match[2] ? { workspace: match[1].toLowerCase(), fileId: match[2].toLowerCase() } : null;
}
