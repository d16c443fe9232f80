// Sender: sends messages and files to one agent from a browser, and follows what happens to them. It imports nothing and
// uses only what browsers have; it works in Node >= 18, too, where an upload reports progress only at its end. The page must
// have the server's origin, or a proxy in between must allow its own: Restante sends no CORS headers.

/** Why a request got no usable answer. `status` is 0 when there was none. */
export class SenderError extends Error {
  override name = "SenderError";

  constructor(
    sentence: string,
    readonly status: number,
    /** The stable code of the server's error; empty when it sent none. */
    readonly code: string,
  ) {
    super(sentence);
  }

  /** Whether the same request may succeed later. */
  get passes(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** A file on the server that a message can name. */
export interface StagedFile {
  uri: string;
  name: string;
  mimeType: string;
  size: number;
  sha256?: string;
  expires_at?: string;
}

export interface Progress {
  /** Bytes of all files so far, and in all. */
  loaded: number;
  total: number;
}

export interface UploadOptions {
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

/** One event of the server: AGENT_MESSAGE, UPLOAD_FETCHED, UPLOAD_ACKED, ACTIVITY_LOGGED, RESYNC, … */
export interface SenderEvent {
  type: string;
  /** The number of its inbox row, for events that can be replayed; else empty. */
  id: string;
  data: Record<string, unknown>;
}

export interface ChatMessage {
  id: string;
  role: string;
  content: string;
  timestamp: string;
  attachments?: StagedFile[];
}

/** A file to send: a File of an input or a drop, or any content with a name. */
export type Sendable = File | { name: string; content: Blob };

const ATTEMPTS = 3; // of a request whose connection breaks; its key makes it one request
const PAUSE = 500;
const LONGEST_PAUSE = 10_000;
const SILENCE = 45_000; // the server sends a comment every 15 s
const PART_OVERHEAD = 1024;

interface Limits {
  per_file_bytes: number;
  per_request_bytes: number;
  max_files: number;
}

interface Answer {
  status: number;
  text: string;
}

function nameOf(file: Sendable): string {
  return file.name;
}

function contentOf(file: Sendable): Blob {
  return "content" in file ? file.content : file;
}

function newKey(): string {
  // randomUUID() exists on secure origins only, and Node 18 has no global `crypto`. A key is no secret: it only has to differ.
  const bytes = new Uint8Array(16).map(() => Math.random() * 256);
  const random = typeof crypto === "undefined" ? bytes : crypto.getRandomValues(bytes);
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end);
  });
}

function unreachable(): SenderError {
  return new SenderError("the server cannot be reached", 0, "");
}

function errorOf({ status, text }: Answer): SenderError {
  try {
    const body = JSON.parse(text) as { error?: unknown; code?: unknown };
    if (typeof body.error === "string") return new SenderError(body.error, status, typeof body.code === "string" ? body.code : "");
  } catch {
    // not an error of the server's own
  }
  return new SenderError(`the answer is ${status}`, status, "");
}

function read<T>(answer: Answer): T {
  if (answer.status < 200 || answer.status > 299) throw errorOf(answer);
  try {
    return JSON.parse(answer.text) as T;
  } catch {
    throw new SenderError("the server's answer is not valid JSON", answer.status, "");
  }
}

/** Batches that fit the limits, in order. Throws when one file alone is too large or empty. */
function divide(files: readonly Sendable[], limits: Limits): Sendable[][] {
  const batches: Sendable[][] = [];
  let size = 0;
  for (const file of files) {
    const bytes = contentOf(file).size;
    if (bytes === 0) throw new SenderError(`${nameOf(file)} is empty, and an empty file cannot be sent`, 400, "empty_file");
    if (limits.per_file_bytes > 0 && bytes > limits.per_file_bytes)
      throw new SenderError(`${nameOf(file)} has ${bytes} bytes, and this server takes at most ${limits.per_file_bytes} a file`, 413, "too_large");
    const last = batches.at(-1);
    const cost = bytes + PART_OVERHEAD;
    if (!last || last.length >= limits.max_files || (limits.per_request_bytes > 0 && size + cost > limits.per_request_bytes)) {
      batches.push([file]);
      size = PART_OVERHEAD + cost;
    } else {
      last.push(file);
      size += cost;
    }
  }
  return batches;
}

export class Sender {
  readonly #server: string;
  readonly #token: string;
  #workspace: string;

  /** Without a token the page's session is used; without a workspace the server is asked whose the token is. */
  constructor(server: string, options: { token?: string; workspace?: string } = {}) {
    this.#server = server.replace(/\/+$/, "");
    this.#token = options.token ?? "";
    this.#workspace = options.workspace ?? "";
  }

  /** Uploads the files and sends a message that names them; the text may be empty. One message, however often it is repeated. */
  async send(text: string, options: UploadOptions & { files?: readonly Sendable[] } = {}): Promise<{ activityId: string; seq: number; files: StagedFile[] }> {
    const files = options.files?.length ? await this.upload(options.files, options) : [];
    const parts = [
      ...(text ? [{ kind: "text", text }] : []),
      ...files.map(({ uri, name, mimeType, size }) => ({ kind: "file", file: { uri, name, mimeType, size } })),
    ];
    const key = newKey();
    const message = { messageId: key, role: "user", parts };
    const body = JSON.stringify({ jsonrpc: "2.0", id: key, method: "message/send", params: { message } });
    const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
    const path = `${await this.#path()}/a2a`;
    const sent = await this.#repeat(() => this.#fetch("POST", path, { headers, body }, options.signal), options.signal);
    const queued = read<{ activity_id?: string; seq?: number }>(sent);
    return { activityId: queued.activity_id ?? "", seq: queued.seq ?? 0, files };
  }

  /** Uploads files, in requests that fit the server's limits. Returns them in the same order. */
  async upload(files: readonly Sendable[], options: UploadOptions = {}): Promise<StagedFile[]> {
    const limits = read<Limits>(await this.#repeat(() => this.#fetch("GET", "/uploads/limits", {}, options.signal), options.signal));
    const total = files.reduce((sum, file) => sum + contentOf(file).size, 0);
    const path = `${await this.#path()}/chat/uploads`;
    const staged: StagedFile[] = [];
    let before = 0;
    for (const batch of divide(files, limits)) {
      const bytes = batch.reduce((sum, file) => sum + contentOf(file).size, 0);
      const form = new FormData();
      for (const file of batch) form.append("files", contentOf(file), nameOf(file));
      const headers = { "Idempotency-Key": newKey() };
      const report = (sent: number): void => options.onProgress?.({ loaded: before + Math.min(sent, bytes), total });
      const answer = await this.#repeat(() => this.#send(path, headers, form, report, options.signal), options.signal);
      staged.push(...read<{ files: StagedFile[] }>(answer).files);
      before += bytes;
      options.onProgress?.({ loaded: before, total });
    }
    return staged;
  }

  /**
   * The live events of the chat, for ever: a stream that is cut is opened again and continues at its last event. A RESYNC
   * without `replayed_from` means that some may be missing, and that the chat should be read again. Ends when the signal is
   * aborted; throws a SenderError when the server refuses the stream for good.
   */
  async *events(options: { signal?: AbortSignal; lastEventId?: string } = {}): AsyncGenerator<SenderEvent, void, void> {
    const path = `${await this.#path()}/events/stream`;
    let last = options.lastEventId ?? "";
    let pause = PAUSE;
    while (!options.signal?.aborted) {
      try {
        for await (const event of this.#stream(path, last, options.signal)) {
          if (event.id) last = event.id;
          pause = PAUSE;
          yield event;
        }
      } catch (error) {
        if (options.signal?.aborted) return;
        if (error instanceof SenderError && !error.passes) throw error;
      }
      await wait(pause * (0.5 + Math.random() / 2), options.signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  /** The messages so far. `before` is the timestamp of an older page's end. */
  async history(options: { limit?: number; before?: string; signal?: AbortSignal } = {}): Promise<{ messages: ChatMessage[]; reached_end: boolean }> {
    const query = new URLSearchParams({ limit: String(options.limit ?? 50) });
    if (options.before) query.set("before_ts", options.before);
    return read(await this.#fetch("GET", `${await this.#path()}/chat-history?${query.toString()}`, {}, options.signal));
  }

  async #path(): Promise<string> {
    if (!this.#workspace) {
      const session = read<{ workspace_id?: string }>(await this.#fetch("GET", "/session", {}));
      if (!session.workspace_id) throw new SenderError("this token is not that of one workspace; name the workspace", 400, "");
      this.#workspace = session.workspace_id;
    }
    return `/workspaces/${encodeURIComponent(this.#workspace)}`;
  }

  #headers(more: Record<string, string>): Record<string, string> {
    return this.#token ? { ...more, Authorization: `Bearer ${this.#token}` } : more;
  }

  async #fetch(method: string, path: string, more: { headers?: Record<string, string>; body?: BodyInit }, signal?: AbortSignal): Promise<Answer> {
    const request: RequestInit = { method, headers: this.#headers(more.headers ?? {}), cache: "no-store", credentials: this.#token ? "omit" : "same-origin" };
    if (more.body !== undefined) request.body = more.body;
    if (signal) request.signal = signal;
    try {
      const answer = await fetch(this.#server + path, request);
      return { status: answer.status, text: await answer.text() };
    } catch (error) {
      if (signal?.aborted) throw error;
      throw unreachable();
    }
  }

  // Only XMLHttpRequest reports how much of a body was sent; it is not in Node, nor in service workers.
  #send(path: string, headers: Record<string, string>, form: FormData, report: (sent: number) => void, signal?: AbortSignal): Promise<Answer> {
    if (typeof XMLHttpRequest === "undefined") return this.#fetch("POST", path, { headers, body: form }, signal);
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", this.#server + path);
      for (const [name, value] of Object.entries(this.#headers(headers))) request.setRequestHeader(name, value);
      const abort = (): void => request.abort();
      const end = (): void => signal?.removeEventListener("abort", abort);
      request.upload.onprogress = (event) => report(event.loaded);
      request.onload = () => {
        end();
        resolve({ status: request.status, text: request.responseText });
      };
      request.onerror = request.ontimeout = () => {
        end();
        reject(unreachable());
      };
      request.onabort = () => {
        end();
        reject(signal?.reason instanceof Error ? signal.reason : new DOMException("aborted", "AbortError"));
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort);
      request.send(form);
    });
  }

  async #repeat(request: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    for (let attempt = 1; ; ++attempt) {
      try {
        const answer = await request();
        if (attempt === ATTEMPTS || (answer.status < 500 && answer.status !== 429) || answer.status === 501 || answer.status === 507) return answer;
      } catch (error) {
        if (attempt === ATTEMPTS || !(error instanceof SenderError)) throw error;
      }
      await wait(PAUSE * 2 ** (attempt - 1), signal);
    }
  }

  async *#stream(path: string, last: string, signal?: AbortSignal): AsyncGenerator<SenderEvent, void, void> {
    const ended = new AbortController();
    const abort = (): void => ended.abort();
    if (signal?.aborted) return;
    signal?.addEventListener("abort", abort);
    let silence = setTimeout(abort, SILENCE);
    try {
      const headers = this.#headers({ Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) });
      const answer = await fetch(this.#server + path, { headers, cache: "no-store", credentials: this.#token ? "omit" : "same-origin", signal: ended.signal });
      if (answer.status !== 200 || !answer.body) throw errorOf({ status: answer.status, text: await answer.text() });
      const parser = new EventParser();
      const reader = answer.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(abort, SILENCE);
        yield* parser.take(value);
      }
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener("abort", abort);
      ended.abort(); // also when the reader of the events leaves
    }
  }
}

/** Reads the events of a stream of text/event-stream, however its bytes are divided. */
export class EventParser {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #type = "";
  #id = "";
  #data: string[] = [];

  take(bytes: Uint8Array): SenderEvent[] {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): SenderEvent | undefined {
    if (line === "") return this.#event();
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") this.#type = value;
    else if (name === "id") this.#id = value;
    else if (name === "data") this.#data.push(value);
    return undefined;
  }

  #event(): SenderEvent | undefined {
    const [type, id, text] = [this.#type || "message", this.#id, this.#data.join("\n")];
    const empty = this.#data.length === 0;
    [this.#type, this.#id, this.#data] = ["", "", []];
    if (empty) return undefined;
    try {
      const data = JSON.parse(text) as Record<string, unknown>;
      return { type, id, data };
    } catch {
      return undefined; // not one of our server's events
    }
  }
}
