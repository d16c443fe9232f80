// Delivery: a message with the files it names, or a file that came alone, as it is handed over to the agent. It is made
// from an inbox row and the state's files: a file part with a uri `platform-pending:…` gets the uri
// `workspace:<absolute path>` when the file has landed; otherwise it keeps its uri and has the reason in `state`. Pure.
import { HOPS_MEMBER, type ReceivedRow } from "./api_client.js";
import { flag, isObject, type Json, type JsonObject, member, text, whole } from "./json.js";
import { isPending, pendingFile } from "./names.js";
import type { FileRecord, State } from "./state.js";

export interface DeliveredFile {
  name: string;
  size?: number;
  sha256?: string;
  /** Only when it has landed. */
  path?: string;
  /** workspace:<path>, or as the sender named it. */
  uri: string;
  /** landed, missing, expired, recalled, failed, gone, unknown, or external for a uri of another scheme. */
  state: string;
  /** Why it has not landed, when known. */
  reason?: string;
}

export interface Delivery {
  /** message, result or file; ended: a task that had ended before it was begun. */
  type: "message" | "result" | "file" | "ended";
  id: string;
  seq: number;
  method: string;
  /** The workspace of the sending agent; null: a person. */
  sourceId: string | null;
  createdAt: string;
  text: string;
  files: DeliveredFile[];
  /** The ids of those files that the inbox announced, in the same order; undefined: another file. */
  fileIds: (string | undefined)[];
  /**
   * Of the task whose result this is, or that another agent gave us. That a message is a task is what the message says,
   * until the server has confirmed it (ApiClient.viewDelegation). Empty: none.
   */
  delegationId: string;
  /** Of a result: ok or error; of a task that has ended: how. */
  status: string;
  /** Of a task that has ended: why. */
  reason: string;
  /** How many automatic answers led to this message. */
  hops: number;
  /** Begun before with an unknown end: the receiver may have it already. */
  again: boolean;
  /** Of a message: the row's request_body with rewritten uris. */
  body: Json;
}

const RESULT_METHOD = "delegate_result";
const DELEGATION_ID = /^[A-Za-z0-9._:-]{1,128}$/;

// Calls `visit` for every part of every list of A2A parts, at any depth: in the message itself, its history, a task's
// artifacts.
function eachPart(node: Json, visit: (part: Json) => void): void {
  if (Array.isArray(node)) {
    for (const entry of node) eachPart(entry, visit);
  } else if (isObject(node)) {
    for (const [name, value] of Object.entries(node)) {
      if (name === "parts" && Array.isArray(value)) value.forEach(visit);
      else eachPart(value, visit);
    }
  }
}

/** The object with the uri: a part's `file`, as A2A has it. */
function fileOf(part: Json): JsonObject | undefined {
  const file = member(part, "file");
  return isObject(file) && typeof file["uri"] === "string" ? file : undefined;
}

function stateOf(file: FileRecord): string {
  if (file.where === "landed") return "landed";
  if (file.trouble) return file.trouble;
  return { waiting: "missing", refused: "failed", gone: "gone" }[file.where];
}

function delivered(record: FileRecord): DeliveredFile {
  const landed = record.where === "landed";
  return {
    name: record.name,
    size: record.size,
    ...(record.sha256 ? { sha256: record.sha256 } : {}),
    ...(landed ? { path: record.path } : {}),
    uri: landed ? `workspace:${record.path}` : record.uri,
    state: stateOf(record),
    ...(!landed && record.reason ? { reason: record.reason } : {}),
  };
}

function rewrite(file: JsonObject, state: State): [DeliveredFile, string | undefined] {
  const uri = text(file, "uri");
  const id = pendingFile(uri);
  const record = id ? state.files.get(id) : undefined;
  if (!record) {
    const ours = isPending(uri);
    if (ours) file["state"] = "unknown";
    return [{ name: text(file, "name"), uri, state: ours ? "unknown" : "external" }, undefined];
  }
  const known = delivered(record);
  file["uri"] = known.uri;
  if (known.state !== "landed") file["state"] = known.state;
  return [known, record.id];
}

function messageOf(body: Json): Json | undefined {
  return member(member(body, "params"), "message");
}

/** The uris of all file parts, in order, as sent. */
export function fileUris(body: Json): string[] {
  const uris: string[] = [];
  eachPart(body, (part) => {
    const file = fileOf(part);
    if (file) uris.push(text(file, "uri"));
  });
  return uris;
}

/** True when the delivery is a task that another agent gave to this one. */
export function isTask(delivery: Delivery): boolean {
  return delivery.delegationId !== "" && (delivery.type === "message" || delivery.type === "ended");
}

/** The message is no task: it names one that the server has not confirmed. */
export function forgetTask(delivery: Delivery): void {
  delivery.delegationId = "";
  const metadata = member(messageOf(delivery.body), "metadata");
  if (!isObject(metadata)) return;
  delete metadata["delegation_id"];
  delete metadata["parent_delegation_id"];
}

/** The id of the delegation whose result the row is; empty when it is no result. */
export function resultOf(row: ReceivedRow): string {
  if (row.method !== RESULT_METHOD) return "";
  return text(row.body, "delegation_id") || text(member(messageOf(row.body), "metadata"), "delegation_id");
}

/** A row that `restante doctor` made for its own test. */
export function isSelfTest(row: ReceivedRow, workspace: string): boolean {
  if (row.sourceId !== null && row.sourceId !== workspace) return false;
  if (row.method === "chat_upload_receive") return text(row.body, "name").startsWith("restante-doctor-");
  return row.sourceId !== null && flag(member(messageOf(row.body), "metadata"), "restante_doctor");
}

export function deliverFile(file: FileRecord): Delivery {
  return {
    type: "file",
    // The report that a file did not arrive and the file itself are two deliveries.
    id: file.where === "landed" ? file.rowId : `${file.rowId}-${stateOf(file)}`,
    seq: file.seq,
    method: "chat_upload_receive",
    sourceId: null,
    createdAt: file.createdAt,
    text: "",
    files: [delivered(file)],
    fileIds: [file.id],
    delegationId: "",
    status: "",
    reason: "",
    hops: 0,
    again: false,
    body: null,
  };
}

export function deliverMessage(row: ReceivedRow, state: State): Delivery {
  const body = structuredClone(row.body);
  const result = row.method === RESULT_METHOD;
  const metadata = member(messageOf(body), "metadata");
  const delivery: Delivery = {
    type: result ? "result" : "message",
    id: row.id,
    seq: row.seq,
    method: row.method,
    sourceId: row.sourceId,
    createdAt: row.createdAt,
    text: "",
    files: [],
    fileIds: [],
    delegationId: result ? resultOf(row) : "",
    status: result ? row.status : "",
    reason: "",
    hops: Math.max(0, whole(metadata, HOPS_MEMBER)),
    again: false,
    body,
  };
  const texts: string[] = [];
  eachPart(body, (part) => {
    const file = fileOf(part);
    if (file) {
      const [known, id] = rewrite(file, state);
      delivery.files.push(known);
      delivery.fileIds.push(id);
    }
    const words = text(part, "text");
    if (words) texts.push(words);
  });
  delivery.text = texts.join("\n");
  if (result) return delivery;
  // A task comes from an agent; the server sets the source.
  const task = text(metadata, "delegation_id");
  if (delivery.sourceId !== null && DELEGATION_ID.test(task)) delivery.delegationId = task;
  else forgetTask(delivery);
  return delivery;
}

/** One JSON object on one line, as every agent of Restante writes it. */
export function jsonOf(delivery: Delivery): string {
  const { type, id, seq, method, text: words, files } = delivery;
  return JSON.stringify({
    type,
    id,
    seq,
    method,
    source_id: delivery.sourceId,
    created_at: delivery.createdAt,
    text: words,
    ...(delivery.delegationId ? { delegation_id: delivery.delegationId } : {}),
    ...(delivery.status ? { status: delivery.status } : {}),
    ...(delivery.reason ? { reason: delivery.reason } : {}),
    ...(delivery.again ? { again: true } : {}),
    files,
    ...(delivery.body === null ? {} : { body: delivery.body }),
  });
}

export function humanSize(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  let size = bytes;
  let unit = "";
  for (const next of ["KiB", "MiB", "GiB"]) {
    if (size < 1024) break;
    size /= 1024;
    unit = next;
  }
  return `${size.toFixed(1)} ${unit}`;
}

// Text for a terminal: further lines are indented, control characters become `?`.
function shown(words: string): string {
  return words.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "?").replaceAll("\n", "\n    ");
}

/** A line for a person: time, sender, text; a file with its size and path. */
export function readable(delivery: Delivery): string {
  let line = `${delivery.createdAt} `;
  if (delivery.type === "file") {
    line += "file";
  } else if (delivery.type === "ended") {
    line += `task ${shown(delivery.delegationId)} from agent ${shown(delivery.sourceId ?? "")} is over before it was begun (${shown(delivery.reason)}): ${shown(delivery.text)}`;
  } else {
    line += `${delivery.type}${delivery.sourceId === null ? " from the person" : ` from agent ${shown(delivery.sourceId)}`}: ${shown(delivery.text)}`;
  }
  for (const file of delivery.files) {
    line += `${delivery.type === "file" ? " " : "\n    "}${shown(file.name)}`;
    if (file.size !== undefined) line += ` (${humanSize(file.size)})`;
    line += file.path ? ` ${shown(file.path)}` : ` [${file.state}${file.reason ? `: ${shown(file.reason)}` : ""}]`;
  }
  return line;
}
