// HttpClient: HTTP/1.1 to one server, over kept-alive connections; http and https, through the proxy of the environment.
// Bodies are streamed in both directions in bounded memory. Redirects are returned and never followed, because the token
// would be sent along. Every method throws a Failure, or what the caller's own sink threw.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { Failure, sentenceOf } from "./failure.js";
import { type Environment, proxyAuthorization, proxyFor, refusalOf, TunnelAgent } from "./proxy.js";

export interface Response {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Empty when a sink took it. */
  body: Buffer;
}

export interface Request {
  method?: string;
  /** Path and query, appended to the server's own path. */
  target: string;
  headers?: Record<string, string>;
  body?: string;
  /** Instead of `body`: the bytes, and how many they are. */
  source?: { length: number; read(): AsyncIterable<Uint8Array> };
  /** The effect is the same however often it is sent; always so for GET. Sent once more when a kept connection was closed. */
  repeatable?: boolean;
  /** Milliseconds without data, in either direction. */
  patience?: number;
  /** Milliseconds for the whole exchange. */
  total?: number;
  maxBody?: number;
  /** Takes a 2xx body piece by piece. What it throws ends the exchange and is thrown on. */
  sink?: (head: Response, bytes: Buffer) => Promise<void>;
}

const PATIENCE = 30_000;
const MAX_ERROR_BODY = 1 << 20;
const UNREACHABLE = new Set(["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL"]);
const CLOSED_BEFORE = new Set(["ECONNRESET", "EPIPE"]);
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO)/;

function readAuthorities(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Failure("bad_url", `the authorities of SSL_CERT_FILE cannot be read: ${sentenceOf(error)}`);
  }
}

class SinkError extends Error {
  constructor(readonly reason: unknown) {
    super("the sink stopped");
  }
}

/** The server's address. Throws a Failure when it is not an address of http or https. */
export function parseServer(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Failure("bad_url", `${text} is not an address such as https://post.example.org`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new Failure("bad_url", `${text} is neither http:// nor https://`);
  if (url.username || url.password) throw new Failure("bad_url", "an address with a name or a password in it is not accepted");
  url.pathname = url.pathname.replace(/\/+$/, "");
  url.search = url.hash = "";
  return url;
}

/** Without a slash at its end. */
export function textOf(server: URL): string {
  return server.origin + server.pathname.replace(/\/+$/, "");
}

export class HttpClient {
  readonly server: URL;
  readonly #proxy: URL | undefined;
  readonly #agent: http.Agent;
  readonly #running = new Set<(failure: Failure) => void>();
  #closed = false;

  constructor(server: URL, environment: Environment = process.env) {
    this.server = server;
    this.#proxy = proxyFor(server, environment);
    const options: https.AgentOptions = { keepAlive: true };
    if (server.protocol === "http:") {
      this.#agent = new http.Agent(options);
      return;
    }
    const authorities = environment["SSL_CERT_FILE"];
    if (authorities) options.ca = readAuthorities(authorities);
    this.#agent = this.#proxy ? new TunnelAgent(this.#proxy, options) : new https.Agent(options);
  }

  /** Any status is an answer. */
  async send(request: Request): Promise<Response> {
    const repeatable = request.repeatable ?? (request.method ?? "GET") === "GET";
    for (let attempt = 1; ; ++attempt) {
      const stale = { reused: false };
      try {
        return await this.#exchange(request, stale);
      } catch (error) {
        if (!(repeatable && stale.reused && attempt === 1) || this.#closed) throw error;
      }
    }
  }

  /** Ends every running call, and every later one, as cancelled. */
  close(): void {
    this.#closed = true;
    for (const end of [...this.#running]) end(new Failure("cancelled", "the client was closed"));
    this.#agent.destroy();
  }

  /** Ends every running call as cut, and all connections: the next call makes a new one. */
  hangUp(): void {
    for (const end of [...this.#running]) end(new Failure("cut", "the connection was closed"));
    this.#agent.destroy();
  }

  #options(request: Request): https.RequestOptions {
    const headers: Record<string, string> = { "User-Agent": "restante-typescript", ...request.headers };
    if (request.source) headers["Content-Length"] = String(request.source.length);
    const path = this.server.pathname.replace(/\/+$/, "") + request.target;
    const options: https.RequestOptions = {
      method: request.method ?? "GET",
      protocol: this.server.protocol,
      hostname: this.server.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: this.server.port || (this.server.protocol === "https:" ? 443 : 80),
      path,
      headers,
      agent: this.#agent,
    };
    // An address of both families is tried in both: Node 18 does so only when asked.
    Object.assign(options, { autoSelectFamily: true });
    if (this.#proxy && this.server.protocol === "http:") {
      options.hostname = this.#proxy.hostname;
      options.port = this.#proxy.port || 80;
      options.path = this.server.origin + path;
      options.headers = { Host: this.server.host, ...headers, ...proxyAuthorization(this.#proxy) };
    }
    return options;
  }

  async #exchange(request: Request, stale: { reused: boolean }): Promise<Response> {
    if (this.#closed) throw new Failure("cancelled", "the client was closed");
    const module = this.server.protocol === "https:" ? https : http;
    const sent = module.request(this.#options(request));
    let ended: Failure | undefined;
    let connected = false;
    const end = (failure: Failure): void => {
      ended ??= failure;
      sent.destroy();
    };
    const patience = request.patience ?? PATIENCE;
    const where = textOf(this.server);
    const idle = setTimeout(() => {
      // Idle connections were opened over the same network: they are probably as dead as this one.
      for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
      end(new Failure(connected ? "timeout" : "unreachable", `${where} does not answer`));
    }, patience);
    const total = request.total === undefined ? undefined : setTimeout(() => end(new Failure("timeout", `the answer of ${where} takes too long`)), request.total);
    this.#running.add(end);
    try {
      const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
        sent.once("response", resolve);
        sent.once("error", reject);
        sent.once("close", () => reject(new Error("the connection was closed")));
      });
      answered.catch(() => {});
      sent.on("error", () => {}); // later ones, after the first has ended the exchange
      sent.once("socket", (socket) => {
        connected = !socket.connecting;
        socket.once("connect", () => {
          connected = true;
          idle.refresh();
        });
      });
      if (request.source) void this.#write(sent, request.source, idle, end);
      else sent.end(request.body);
      const answer = await answered;
      idle.refresh();
      if (this.#proxy && answer.statusCode === 407) {
        answer.destroy();
        throw refusalOf(this.#proxy, 407);
      }
      return await this.#read(request, answer, idle);
    } catch (error) {
      if (error instanceof SinkError) throw error.reason;
      if (ended) throw ended;
      if (error instanceof Failure) throw error;
      const code = (error as NodeJS.ErrnoException).code ?? "";
      stale.reused = sent.reusedSocket && CLOSED_BEFORE.has(code);
      throw failureOf(error, code, connected, where);
    } finally {
      clearTimeout(idle);
      clearTimeout(total);
      this.#running.delete(end);
      if (!sent.writableFinished) sent.destroy(); // an answer that came before the whole body was sent
    }
  }

  async #write(sent: http.ClientRequest, source: NonNullable<Request["source"]>, idle: NodeJS.Timeout, end: (failure: Failure) => void): Promise<void> {
    try {
      for await (const piece of source.read()) {
        if (sent.destroyed) return;
        if (!sent.write(piece)) await Promise.race([once(sent, "drain"), once(sent, "close")]);
        idle.refresh();
      }
      sent.end();
    } catch (error) {
      // Also an error of the request itself, which the exchange has seen already.
      end(error instanceof Failure ? error : new Failure("stopped", sentenceOf(error)));
    }
  }

  async #read(request: Request, answer: http.IncomingMessage, idle: NodeJS.Timeout): Promise<Response> {
    const head: Response = { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.alloc(0) };
    const succeeded = head.status >= 200 && head.status < 300;
    const sink = succeeded ? request.sink : undefined;
    const max = succeeded ? (request.maxBody ?? MAX_ERROR_BODY) : MAX_ERROR_BODY;
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of answer as AsyncIterable<Buffer>) {
      idle.refresh();
      if (sink) {
        try {
          await sink(head, piece);
        } catch (reason) {
          throw new SinkError(reason);
        }
        idle.refresh();
        continue;
      }
      bytes += piece.length;
      if (bytes > max) throw new Failure("too_large", "the server's answer is larger than expected");
      pieces.push(piece);
    }
    if (!answer.complete) throw new Failure("cut", "the connection ended before the answer did");
    head.body = Buffer.concat(pieces);
    return head;
  }
}

function failureOf(error: unknown, code: string, connected: boolean, where: string): Failure {
  if (UNREACHABLE.has(code)) return new Failure("unreachable", `cannot reach ${where} (${code})`);
  if (TLS.test(code)) return new Failure("tls", `no secure connection to ${where}: ${sentenceOf(error)} (SSL_CERT_FILE can name another authority)`);
  if (code.startsWith("HPE_")) return new Failure("protocol", `${where} does not answer with HTTP`);
  if (!connected) return new Failure("unreachable", `cannot reach ${where}: ${sentenceOf(error)}`);
  return new Failure("cut", `the connection to ${where} was cut`);
}

/** The response if it is 2xx. Throws a Failure of kind `status` otherwise, with the server's own sentence if it sent one. */
export function expectSuccess(response: Response): Response {
  if (response.status >= 200 && response.status < 300) return response;
  let error = "";
  let code = "";
  try {
    const body = JSON.parse(response.body.toString("utf8")) as { error?: unknown; code?: unknown };
    if (typeof body.error === "string") error = body.error;
    if (typeof body.code === "string") code = body.code;
  } catch {
    // not an error of the server's own: the status is all there is
  }
  const after = Number(response.headers["retry-after"]);
  throw new Failure("status", error ? `the server answers ${response.status}: ${error}` : `the answer is ${response.status}`, {
    status: response.status,
    code,
    retryAfter: Number.isFinite(after) && after >= 0 ? after : undefined,
  });
}
