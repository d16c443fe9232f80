// ApiClient: one method for each call of the server's API. Every answer other than the expected one is thrown as a
// Failure, so that callers decide by kind and status.
import { randomUUID } from "node:crypto";
import { Failure, asFailure } from "./failure.js";
import { describeFile, divide, Form, type FormFile, type UploadLimits } from "./form.js";
import { expectSuccess, HttpClient, type Request, type Response } from "./http.js";
import { flag, isObject, items, type Json, type JsonObject, member, text, uuid, whole } from "./json.js";

export interface ReceivedRow {
  id: string;
  seq: number;
  method: string;
  /** The workspace of the sending agent; null: a person. */
  sourceId: string | null;
  createdAt: string;
  /** Of a task's result: ok or error. */
  status: string;
  body: Json;
}

/** A file that waits on the server. */
export interface PendingFile {
  id: string;
  name: string;
  size: number;
  sha256: string;
  uri: string;
  createdAt: string;
}

export interface Registration {
  workspaceId: string;
  /** Empty unless the server returned a new one. */
  authToken: string;
}

export interface NewTask {
  /** Delegation id, chosen by us: the same id twice is one task. */
  id: string;
  target: string;
  text: string;
  files: JsonObject[];
  /** RFC 3339; empty: the server's default. */
  deadline: string;
}

// wanted: the caller waits for the result. unwanted: the task was cancelled, is overdue or has ended. late: the server gave
// it up as silent, and a late result is still accepted. not_a_task: the message names a task that the server did not give
// to us with it; anyone can write such a message.
export type TaskInterest = "wanted" | "unwanted" | "late" | "not_a_task";
export interface TaskView {
  interest: TaskInterest;
  /** As the server names it; empty: not known. */
  status: string;
  /** Why it is unwanted. */
  why: string;
  /** Milliseconds until its deadline at most, by the server's clock. */
  left?: number;
}

/** What a message says about the task that it names. */
export interface TaskMessage {
  delegationId: string;
  sourceId: string | null;
  text: string;
}

const MAX_ANSWER = 16 << 20;
const POLL_SLACK = 15_000; // how much later than `wait` an answer may come before the connection counts as dead
const POLL_TOTAL = 120_000; // a full page over a bad connection takes a while
const WAITING_PAGE = 500;
const UPLOAD_ATTEMPTS = 3; // of an upload whose connection breaks; its key makes it one upload
const UPLOAD_PAUSE = 500;
/** The member of a message's metadata that counts automatic answers between agents. */
export const HOPS_MEMBER = "restante_hops";

function notUnderstood(sentence: string): Failure {
  return new Failure("protocol", sentence);
}

function rowOf(entry: Json): ReceivedRow | undefined {
  const id = text(entry, "id");
  const seq = member(entry, "seq");
  if (!id || typeof seq !== "number" || !Number.isSafeInteger(seq)) return undefined;
  return {
    id,
    seq,
    method: text(entry, "method"),
    sourceId: text(entry, "source_id") || null,
    createdAt: text(entry, "created_at"),
    status: text(entry, "status"),
    body: member(entry, "request_body") ?? null,
  };
}

// Whether the server itself wrote the message: it gave us this task, from the message's sender and in these words. Of a
// recorded task the caller sends the words, and the server vouches for none of them.
function isFromServer(record: Json, workspace: string, message: TaskMessage): boolean {
  const words = member(record, "task");
  return (
    text(record, "target_id") === workspace &&
    message.sourceId === text(record, "source_id") &&
    (words === undefined || words === message.text) &&
    !flag(record, "recorded")
  );
}

function viewOf(record: Json): TaskView {
  const status = text(record, "status");
  const view: TaskView = { interest: "wanted", status, why: text(record, "error_detail") || status };
  if (status === "stuck") view.interest = "late";
  if (status === "failed" || status === "completed") view.interest = "unwanted";
  // Deadlines are in the server's time, so "now" must be too. agent_seen_at, our last sign of life, is a time of that clock
  // that has passed for certain. A laptop's clock may be hours off, and so may that of a proxy.
  const left = Date.parse(text(record, "deadline")) - Date.parse(text(record, "agent_seen_at"));
  if (view.interest !== "wanted" || Number.isNaN(left)) return view;
  view.left = left;
  // The server ends the task at its next sweep. No caller waits for work that begins now.
  if (left <= 0) {
    view.interest = "unwanted";
    view.why = "its deadline has passed";
  }
  return view;
}

/** The members of a file part, as the server returned them when it staged the file; without those that are null. */
function filePart(staged: JsonObject): JsonObject {
  return Object.fromEntries(["uri", "name", "mimeType", "size"].filter((name) => staged[name] != null).map((name) => [name, staged[name]!]));
}

export class ApiClient {
  workspace = "";
  #token = "";

  constructor(readonly http: HttpClient) {}

  useToken(token: string): void {
    this.#token = token;
  }

  #request(method: string, target: string, more: Partial<Request> = {}): Request {
    const headers: Record<string, string> = { ...more.headers };
    if (this.#token) headers["Authorization"] = `Bearer ${this.#token}`;
    return { maxBody: MAX_ANSWER, ...more, method, target, headers };
  }

  #post(target: string, body: JsonObject, more: { key?: string; repeatable?: boolean } = {}): Request {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (more.key) headers["Idempotency-Key"] = more.key;
    return this.#request("POST", target, { headers, body: JSON.stringify(body), repeatable: more.repeatable ?? false });
  }

  #path(rest: string): string {
    return `/workspaces/${this.workspace}${rest}`;
  }

  #upload(file: string, rest: string): string {
    return this.#path(`/pending-uploads/${file}${rest}`);
  }

  #delegation(id: string, rest: string): string {
    return this.#path(`/delegations/${encodeURIComponent(id)}${rest}`);
  }

  async #tell(request: Request): Promise<Response> {
    return expectSuccess(await this.http.send(request));
  }

  async #ask(request: Request): Promise<Json> {
    const answer = await this.#tell(request);
    try {
      return JSON.parse(answer.body.toString("utf8")) as Json;
    } catch {
      throw notUnderstood("the server's answer is not valid JSON");
    }
  }

  async #list(target: string, what: string, more: Partial<Request> = {}): Promise<Json[]> {
    const page = await this.#ask(this.#request("GET", target, more));
    if (!Array.isArray(page)) throw notUnderstood(`the server's answer is not a list of ${what}`);
    return page;
  }

  get(target: string): Promise<Json> {
    return this.#ask(this.#request("GET", target));
  }

  /**
   * Registers in poll mode. Without a workspace the server takes that of the token. `name` is for a workspace that this
   * call creates. The agent card, which the operator writes, is not changed.
   */
  async register(workspace: string, name: string): Promise<Registration> {
    const registration = (card: boolean): Request =>
      this.#post("/registry/register", {
        ...(workspace ? { id: workspace } : {}),
        name,
        ...(card ? { agent_card: { name } } : {}),
        delivery_mode: "poll",
      });
    let answer: Json;
    try {
      answer = await this.#ask(registration(false));
    } catch (error) {
      // A server that requires a card gets one; Restante keeps the card that the operator wrote.
      if (!asFailure(error).isStatus(400)) throw error;
      answer = await this.#ask(registration(true));
    }
    const id = uuid(text(answer, "workspace_id") || text(answer, "id") || workspace);
    if (!id) throw notUnderstood("the server's answer does not name the workspace; give its id");
    return { workspaceId: id, authToken: text(answer, "auth_token") };
  }

  async limits(): Promise<UploadLimits> {
    const answer = await this.get("/uploads/limits");
    const limit = (name: string, least: number): number => Math.max(whole(answer, name), least);
    return { perFile: limit("per_file_bytes", 0), perRequest: limit("per_request_bytes", 0), files: limit("max_files", 1) };
  }

  /** The last seq that this workspace has acked. */
  async lastAcked(): Promise<number> {
    return whole(await this.#ask(this.#post(this.#path("/activity/ack"), { acked_seq: 0 }, { repeatable: true })), "last_acked_seq");
  }

  /** All files that wait for this workspace and are not acked, oldest first. */
  async waiting(): Promise<PendingFile[]> {
    const all: PendingFile[] = [];
    for (;;) {
      const after = all.at(-1);
      const page = await this.#list(this.#path(`/pending-uploads?limit=${WAITING_PAGE}${after ? `&after=${after.id}` : ""}`), "files");
      for (const entry of page) {
        const id = uuid(text(entry, "file_id"));
        if (!id) throw notUnderstood("the server lists a file without an id");
        all.push({
          id,
          name: text(entry, "name"),
          size: whole(entry, "size"),
          sha256: text(entry, "sha256"),
          uri: text(entry, "uri"),
          createdAt: text(entry, "created_at"),
        });
      }
      if (page.length < WAITING_PAGE) return all;
    }
  }

  async beat(uptimeSeconds: number): Promise<void> {
    await this.#tell(this.#post("/registry/heartbeat", { workspace_id: this.workspace, uptime_seconds: uptimeSeconds }, { repeatable: true }));
  }

  /**
   * The rows after row `sinceId` or, if that is empty, after the number `sinceSeq`; oldest first. When there are none, the
   * server holds the request for up to `wait` seconds.
   */
  async poll(sinceSeq: number, sinceId: string, wait: number): Promise<ReceivedRow[]> {
    const cursor = sinceId ? `since_id=${sinceId}` : `since_seq=${sinceSeq}`;
    const page = await this.#list(this.#path(`/activity?type=a2a_receive&${cursor}&wait=${wait}`), "inbox entries", {
      patience: wait * 1000 + POLL_SLACK,
      total: wait * 1000 + POLL_TOTAL,
    });
    return page.map((entry) => {
      const row = rowOf(entry);
      if (!row) throw notUnderstood("the server sent an inbox entry without id or seq");
      return row;
    });
  }

  /** The id of the row with this number; empty when the server has none. */
  async rowAt(seq: number): Promise<string> {
    try {
      const page = await this.#list(this.#path(`/activity?since_seq=${seq - 1}&limit=1`), "inbox entries");
      return page.map(rowOf).find((row) => row?.seq === seq)?.id ?? "";
    } catch (error) {
      if (asFailure(error).isStatus(410)) return "";
      throw error;
    }
  }

  /** The content from `offset` on. The sink sees in the head whether the server began there (206) or at 0 (200). */
  async fetch(file: string, offset: number, sink: NonNullable<Request["sink"]>): Promise<void> {
    const headers: Record<string, string> = offset > 0 ? { Range: `bytes=${offset}-` } : {};
    await this.#tell(this.#request("GET", this.#upload(file, "/content"), { headers, sink, repeatable: false }));
  }

  async ack(file: string): Promise<void> {
    await this.#tell(this.#request("POST", this.#upload(file, "/ack"), { repeatable: true }));
  }

  async fail(file: string, reason: string): Promise<void> {
    await this.#tell(this.#post(this.#upload(file, "/fail"), { reason }));
  }

  /** The state of a file: staged, fetched, acked, failed, expired or recalled. */
  async stateOf(file: string): Promise<string> {
    return text(await this.get(this.#upload(file, "")), "state");
  }

  /** A message to another agent; `hops` is the number of automatic answers that led to it. The same key twice is one message. */
  async message(workspace: string, words: string, hops: number, key: string, files: JsonObject[] = []): Promise<void> {
    const parts: Json[] = [{ kind: "text", text: words }, ...files.map((file) => ({ kind: "file", file }))];
    const message = { messageId: key, role: "agent", parts, metadata: { [HOPS_MEMBER]: hops } };
    const call = { jsonrpc: "2.0", id: key, method: "message/send", params: { message } };
    await this.#tell(this.#post(`/workspaces/${workspace}/a2a`, call, { key }));
  }

  /** A message to the person with files from stageFiles(). The same key twice is one message. `row` is the inbox row that it answers. */
  async notify(words: string, files: JsonObject[], key: string, row = ""): Promise<void> {
    const body = { message: words, ...(files.length > 0 ? { attachments: files.map(filePart) } : {}), ...(row ? { reply_to: row } : {}) };
    await this.#tell(this.#post(this.#path("/notify"), body, { key, repeatable: true }));
  }

  async peers(): Promise<Json[]> {
    return this.#list(`/registry/${this.workspace}/peers`, "agents");
  }

  async delegate(task: NewTask): Promise<Json> {
    const body = {
      target_id: task.target,
      task: task.text,
      delegation_id: task.id,
      ...(task.deadline ? { deadline: task.deadline } : {}),
      ...(task.files.length > 0 ? { attachments: task.files.map(filePart) } : {}),
    };
    return this.#ask(this.#post(this.#path("/delegate"), body, { repeatable: true })); // the delegation id makes it safe
  }

  delegation(id: string): Promise<Json> {
    return this.get(this.#delegation(id, ""));
  }

  async cancelDelegation(id: string): Promise<void> {
    await this.#tell(this.#post(this.#delegation(id, "/cancel"), {}, { repeatable: true }));
  }

  /** Reads the task that the message names; changes nothing. */
  async viewDelegation(message: TaskMessage): Promise<TaskView> {
    const record = await this.delegation(message.delegationId);
    return isFromServer(record, this.workspace, message) ? viewOf(record) : { interest: "not_a_task", status: "", why: "" };
  }

  /** Reads the task and, if it is wanted, reports that we work on it. Calling it twice is the same as once. */
  async beginDelegation(message: TaskMessage): Promise<TaskView> {
    const seen = await this.viewDelegation(message);
    if (seen.interest !== "wanted") return seen;
    try {
      await this.#tell(this.#post(this.#delegation(message.delegationId, "/update"), { status: "in_progress" }, { repeatable: true }));
      return seen;
    } catch (error) {
      if (!asFailure(error).isStatus(409)) throw error;
      return this.viewDelegation(message); // the task has ended between the two requests
    }
  }

  /** The task's heartbeat: we still work on it. */
  async beatDelegation(delegation: string, progress = ""): Promise<TaskInterest> {
    const body = await this.#ask(this.#post(this.#delegation(delegation, "/heartbeat"), progress ? { progress } : {}, { repeatable: true }));
    if (!flag(body, "cancel")) return "wanted";
    return text(body, "status") === "stuck" ? "late" : "unwanted";
  }

  /** Ends a task that another agent gave us. */
  async endDelegation(delegation: string, end: "completed" | "failed", words: string, key: string, files: JsonObject[] = []): Promise<void> {
    const body = {
      status: end,
      [end === "completed" ? "result" : "error"]: words,
      ...(files.length > 0 ? { attachments: files.map(filePart) } : {}),
    };
    await this.#tell(this.#post(this.#delegation(delegation, "/update"), body, { key }));
  }

  /**
   * Stages local files as outgoing ones; each result is {uri, name, mimeType, size, sha256}. With a key, the same files
   * twice are staged once. A file that cannot be read is a Failure of kind `stopped`.
   */
  async stageFiles(paths: string[], key = ""): Promise<JsonObject[]> {
    if (paths.length === 0) return [];
    const limits = await this.limits();
    const files: FormFile[] = [];
    for (const path of paths) {
      const file = await describeFile(path);
      if (limits.perFile > 0 && file.size > limits.perFile)
        throw new Failure("stopped", `${path}: has ${file.size} bytes, and this server takes at most ${limits.perFile} a file`);
      files.push(file);
    }
    const staged: JsonObject[] = [];
    for (const [number, batch] of divide(files, limits).entries())
      staged.push(...(await this.#sendBatch(batch, key ? `${key}-${number}` : randomUUID())));
    return staged;
  }

  async #sendBatch(files: FormFile[], key: string): Promise<JsonObject[]> {
    const form = new Form(files);
    const upload = this.#request("POST", this.#path("/chat/uploads?direction=out"), {
      headers: { "Content-Type": form.contentType, "Idempotency-Key": key },
      source: { length: form.length, read: () => form.read() },
    });
    for (let attempt = 1; ; ++attempt) {
      try {
        const list = items(await this.#ask(upload), "files").filter(isObject);
        if (list.length === files.length) return list;
        throw notUnderstood("the answer to the upload names other files than were sent");
      } catch (error) {
        if (attempt === UPLOAD_ATTEMPTS || !asFailure(error).passes) throw error;
        await new Promise((resolve) => setTimeout(resolve, UPLOAD_PAUSE));
      }
    }
  }
}
