import { fileIdOf, type ActivityRow } from './wire';

// Turns inbox rows into chat messages, each with its text and its files. Pure: the same rows give the same messages,
// in whatever order they came. The bodies are written by other programs, so every field is checked.

export interface Attachment {
  // Null for an address that is not a file of this server.
  fileId: string | null;
  name: string;
  mimeType: string;
  size: number | null;
}

export interface ChatMessage {
  key: string;
  // Of its row in the inbox.
  seq: number;
  from: 'person' | 'agent';
  at: string;
  text: string;
  attachments: Attachment[];
  messageId: string | null;
}

// Rows must be in ascending seq. A file that a person's message names belongs to that message, and so does a file that the
// agent uploaded and names. A file that no such message names (yet, or because its client sends none) becomes a separate chat
// message of a person, unless `held` returns true: its message is still being sent.
export function chatMessagesFrom(rows: Iterable<ActivityRow>, held: (file: Attachment) => boolean): ChatMessage[] {
  const chatMessages: ChatMessage[] = [];
  const named = { person: new Set<string>(), agent: new Set<string>() };
  const agents = new Set<string>();
  for (const row of rows) {
    for (const chatMessage of read(row)) {
      chatMessages.push(chatMessage);
      const found = !isUpload(row) ? named[chatMessage.from] : isAgentsUpload(row) ? agents : null;
      for (const { fileId } of chatMessage.attachments) if (fileId) found?.add(fileId);
    }
  }
  return chatMessages.filter((chatMessage) => {
    const [file] = chatMessage.attachments;
    const alone = chatMessage.key.startsWith('upload:') && file?.fileId;
    if (!alone) return true;
    return !(named.person.has(alone) || (named.agent.has(alone) && agents.has(alone)) || held(file));
  });
}

// A row never changes: it is parsed once, however often the messages are put together again.
const kRead = new WeakMap<ActivityRow, ChatMessage[]>();

function read(row: ActivityRow): ChatMessage[] {
  const known = kRead.get(row);
  if (known) return known;
  const chatMessages = chatMessagesOf(row);
  kRead.set(row, chatMessages);
  return chatMessages;
}

function chatMessagesOf(row: ActivityRow): ChatMessage[] {
  const { created_at: at, seq } = row;
  if (isUpload(row)) {
    // Another agent's file comes with that agent's message, and neither is part of this conversation.
    if (row.source_id) return [];
    const file = attachmentFromUpload(row.request_body);
    const key = `upload:${seq}`;
    return file ? [{ key, seq, from: 'person', at, text: '', attachments: [file], messageId: null }] : [];
  }
  const answer = answerOf(row.response_body);
  const reply: ChatMessage = { key: `row:${seq}`, seq, from: 'agent', at, ...answer, messageId: null };
  if (row.activity_type === 'a2a_receive' && row.method === 'notify') return [reply];
  if (!isFromPeople(row)) return [];
  const message = field(field(row.request_body, 'params'), 'message');
  const id = field(message, 'messageId');
  const messageId = typeof id === 'string' ? id : null;
  const content = contentOf(field(message, 'parts'));
  const chatMessage: ChatMessage = { key: `row:${seq}`, seq, from: 'person', at, ...content, messageId };
  const replied = answer.text !== '' || answer.attachments.length > 0;
  return replied ? [chatMessage, { ...reply, key: `reply:${seq}` }] : [chatMessage];
}

// A message in the agent's inbox or, for a push agent, one that its callback accepted.
function isFromPeople(row: ActivityRow): boolean {
  if (row.method !== 'message/send' || row.source_id) return false;
  const taken = row.activity_type === 'a2a_send' && row.target_id === row.workspace_id;
  return taken || row.activity_type === 'a2a_receive';
}

// An agent's message: a text with its parts, or a push agent's answer, which is a message or a task.
function answerOf(body: unknown): { text: string; attachments: Attachment[] } {
  const result = field(body, 'result');
  const artifacts = field(result, 'artifacts');
  const pieces = [
    field(body, 'parts'),
    field(result, 'parts'),
    field(field(result, 'message'), 'parts'),
    field(field(field(result, 'status'), 'message'), 'parts'),
    ...(Array.isArray(artifacts) ? (artifacts as unknown[]) : []).map((artifact) => field(artifact, 'parts')),
  ].map(contentOf);
  const texts = [typeof result === 'string' ? result : '', ...pieces.map((piece) => piece.text)];
  return { text: texts.filter(Boolean).join('\n\n'), attachments: pieces.flatMap((piece) => piece.attachments) };
}

export const isUpload = (row: ActivityRow): boolean =>
  row.activity_type === 'a2a_receive' && row.method === 'chat_upload_receive';

const isAgentsUpload = (row: ActivityRow): boolean => field(row.request_body, 'uploaded_by') === 'agent';

function attachmentFromUpload(body: unknown): Attachment | null {
  const id = field(body, 'file_id');
  if (typeof id !== 'string') return null;
  return { fileId: id.toLowerCase(), ...describe(body) };
}

function contentOf(parts: unknown): { text: string; attachments: Attachment[] } {
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const part of Array.isArray(parts) ? (parts as unknown[]) : []) {
    const text = field(part, 'text');
    const file = field(part, 'file');
    const uri = field(file, 'uri');
    if (typeof text === 'string') texts.push(text);
    else if (typeof uri === 'string') attachments.push({ fileId: fileIdOf(uri), ...describe(file) });
  }
  return { text: texts.join('\n\n'), attachments };
}

function describe(value: unknown): Omit<Attachment, 'fileId'> {
  const name = field(value, 'name');
  const mimeType = field(value, 'mimeType') ?? field(value, 'mime_type');
  const size = field(value, 'size');
  return {
    name: typeof name === 'string' && name !== '' ? name : 'file',
    mimeType: typeof mimeType === 'string' ? mimeType : '',
    size: typeof size === 'number' ? size : null,
  };
}

export function field(value: unknown, key: string): unknown {
  const holds = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return holds ? (value as Record<string, unknown>)[key] : undefined;
}
