// Agent: a workspace's agent as a library. connect() registers it; run() polls, hands over and answers until stop().
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { DiskError } from "./disk.js";
import { forgetOtherRuns } from "./exec.js";
import { type Answer, HandlerHandover, type Handlers, type Message, type Result, resultFrom, type Task } from "./handlers.js";
import type { Handover } from "./handover.js";
import { parseServer } from "./http.js";
import { type Json, text, uuid } from "./json.js";
import type { PrintLine } from "./ledger.js";
import { type End, Session, type Settings } from "./session.js";
import { chooseState, NoState, stateOf } from "./states.js";
import { StateDirectory } from "./state_directory.js";
import { ApiClient } from "./api_client.js";
import { HttpClient } from "./http.js";
import { Stop } from "./stop.js";

export interface ConnectOptions {
  /** The enrolment token that `New agent` on the page shows; works once, and the token that it gives is kept. */
  enrol?: string;
  /** The workspace's token, instead of a kept one. */
  token?: string;
  /** Workspace id; default: the token's own. */
  workspace?: string;
  /** The name of a workspace that enrolling creates; default: the host's. */
  name?: string;
  /** Where files land, in .molecule/chat-uploads; default: /workspace if writable, else the current folder. */
  dir?: string;
  /** The state directory; default: one for each workspace, in ~/.local/state/restante/typescript. */
  state?: string;
  /** Seconds that a message waits for files that are still being downloaded; default 20. */
  fileWait?: number;
  /** How often a delivery is tried before its sender is notified; default 5. */
  attempts?: number;
  /** Send the answers to other agents' messages back to them, at most 8 times in a row; default false. */
  replyToAgents?: boolean;
  /** Takes each line for a person; default: stderr. */
  log?: PrintLine;
  /** Stops the agent when aborted. */
  signal?: AbortSignal;
}

export interface SendOptions {
  /** The id or name of another agent's workspace; default: the person. */
  to?: string;
  /** Paths of files to send with it. */
  files?: readonly string[];
  /** The same key twice is one message; default: a new one. */
  key?: string;
}

export interface DelegateOptions {
  files?: readonly string[];
  /** When the task fails by itself; default: the server's. */
  deadline?: Date;
  /** 1 to 128 of A-Z a-z 0-9 . _ : -; the same id twice is one task. */
  id?: string;
}

/** A task that this agent gave to another one. */
export interface GivenTask {
  readonly id: string;
  /** Waits for the result with its files; needs a running agent. Undefined when the time (milliseconds) is up. */
  result(options?: { timeout?: number }): Promise<Result | undefined>;
  cancel(): Promise<void>;
}

/** Why an agent could not connect, or has ended without being stopped. */
export class AgentEnded extends Error {
  override name = "AgentEnded";

  constructor(
    readonly end: Exclude<End, "stopped">,
    sentence: string,
  ) {
    super(sentence);
  }
}

function landingFolder(given: string | undefined): string {
  if (given) return given;
  try {
    fs.accessSync("/workspace", fs.constants.W_OK | fs.constants.X_OK);
    return "/workspace";
  } catch {
    return ".";
  }
}

const toStderr: PrintLine = (line) => void process.stderr.write(line + "\n");

export class Agent {
  readonly #session: Session;
  readonly #stop: Stop;
  readonly #handlers: Handlers = {};
  #running: Promise<void> | undefined;

  private constructor(session: Session, stop: Stop) {
    this.#session = session;
    this.#stop = stop;
  }

  /**
   * Opens the state, registers, and keeps trying while the server cannot be reached. An empty `server` is the remembered one.
   * Throws AgentEnded when the server does not take the token, InUse when another process uses the state, DiskError when
   * the state cannot be kept, and NoState when it is not clear which one is meant.
   */
  static async connect(server: string, options: ConnectOptions = {}): Promise<Agent> {
    const stop = new Stop();
    if (options.signal?.aborted) stop.request();
    options.signal?.addEventListener("abort", () => stop.request(), { once: true });
    if (options.workspace && !uuid(options.workspace)) throw new TypeError("the workspace is not an id of the form 01234567-89ab-cdef-0123-456789abcdef");
    const chosen = await choose(server, options);
    let directory = await StateDirectory.open(chosen.path);
    try {
      const session = open(server, options, directory, stop);
      const end = await session.register();
      if (end === "stopped") throw new AgentEnded("refused", "the agent was stopped before it was connected");
      if (end) throw new AgentEnded(end, session.lastSentence);
      if (!chosen.isNew) return new Agent(session, stop);
      const own = stateOf(session.ledger.state.workspace);
      if (!fs.existsSync(own)) {
        directory.moveTo(own);
        return new Agent(session, stop);
      }
      // The workspace is known on this machine: its state goes on, with the new token.
      const token = directory.token();
      const enrolled = session.ledger.state.enrolled;
      const known = await StateDirectory.open(own);
      known.keepToken(token);
      const [before, after] = [directory, known];
      directory = after;
      before.close();
      fs.rmSync(before.path, { recursive: true, force: true });
      const again = open(server, options, after, stop);
      again.ledger.setIdentity(session.ledger.state.server, session.ledger.state.workspace, enrolled);
      const second = await again.register();
      if (second && second !== "stopped") throw new AgentEnded(second, again.lastSentence);
      return new Agent(again, stop);
    } catch (error) {
      stop.request(); // ends its connections
      directory.close();
      if (chosen.isNew && !directory.token()) fs.rmSync(directory.path, { recursive: true, force: true });
      throw error;
    }
  }

  get workspace(): string {
    return this.#session.ledger.state.workspace;
  }

  /** Called for each message, and for each file that comes without one. What it returns is sent to the person. */
  onMessage(handler: (message: Message) => Answer | Promise<Answer>): this {
    this.#handlers.message = handler;
    return this;
  }

  /** Called for each task of another agent. What it returns is the result; without this handler every task fails. */
  onTask(handler: (task: Task) => Answer | Promise<Answer>): this {
    this.#handlers.task = handler;
    return this;
  }

  /** Called for the result of each task that was given with delegate() and for which nobody waits. */
  onResult(handler: (result: Result) => void | Promise<void>): this {
    this.#handlers.result = handler;
    return this;
  }

  /** Until stop(). Throws AgentEnded when the token was revoked or the workspace removed. */
  run(): Promise<void> {
    if (!this.#handlers.message) return Promise.reject(new TypeError("give onMessage() a handler before run(): a message without one would be lost"));
    return this.runWith((runs, stop) => new HandlerHandover(this.#handlers, this.#session.api, runs, stop));
  }

  /** The same with another way to hand over; `runs` is a folder of the state directory for its files. */
  runWith(make: (runs: string, stop: Stop) => Handover): Promise<void> {
    if (this.#running) return Promise.reject(new TypeError("the agent runs, or has run, already"));
    this.#running = this.#run(make);
    return this.#running;
  }

  async #run(make: (runs: string, stop: Stop) => Handover): Promise<void> {
    const { ledger, directory } = this.#session;
    const runs = path.join(directory.path, "runs");
    try {
      await forgetOtherRuns(
        runs,
        ledger.state.begun,
        ledger.state.outbox.map((reply) => reply.files),
      );
      const end = await this.#session.run(make(runs, this.#stop));
      if (end !== "stopped") throw new AgentEnded(end, this.#session.lastSentence || "the output cannot be written");
    } finally {
      this.#stop.request();
      directory.close();
    }
  }

  /** Ends run(): running handlers get their signal and a few seconds. What was not handled comes at the next start. */
  async stop(): Promise<void> {
    this.#stop.request();
    if (this.#running) await this.#running.catch(() => {});
    else this.#session.directory.close();
  }

  /** A message to the person, or to another agent. Throws a Failure when the server does not take it. */
  async send(words: string, options: SendOptions = {}): Promise<void> {
    const { api } = this.#session;
    const key = options.key ?? randomUUID();
    const target = options.to === undefined ? "" : await this.#find(options.to);
    const files = await api.stageFiles([...(options.files ?? [])], options.key ? `${key}-files` : "");
    if (target) await api.message(target, words, 0, key, files);
    else await api.notify(words || "Here you are.", files, key);
  }

  /** Gives a task to another agent, by its id or name. */
  async delegate(target: string, words: string, options: DelegateOptions = {}): Promise<GivenTask> {
    const { api } = this.#session;
    const id = options.id ?? randomUUID();
    const to = await this.#find(target);
    const files = await api.stageFiles([...(options.files ?? [])], options.id ? `${id}-files` : "");
    await api.delegate({ id, target: to, text: words, files, deadline: options.deadline?.toISOString() ?? "" });
    return { id, result: (wait = {}) => this.#result(id, wait.timeout ?? 2 ** 31 - 1), cancel: () => api.cancelDelegation(id) };
  }

  async #result(id: string, timeout: number): Promise<Result | undefined> {
    const loop = this.#session.deliveryLoop;
    if (!loop) throw new TypeError("the result of a task comes while the agent runs: call run() first");
    loop.expectResult(id);
    try {
      const delivery = await loop.waitForResult(id, timeout);
      return delivery && resultFrom(delivery);
    } finally {
      loop.stopExpecting(id);
    }
  }

  /** The other agents, as the server describes them. */
  peers(): Promise<Json[]> {
    return this.#session.api.peers();
  }

  async #find(target: string): Promise<string> {
    const id = uuid(target);
    if (id) return id;
    const named = (await this.peers()).filter((peer) => text(peer, "name") === target).map((peer) => text(peer, "id"));
    if (named.length === 1) return named[0]!;
    throw new TypeError(named.length === 0 ? `there is no agent named ${target}` : `several agents are named ${target}; give one id of: ${named.join(", ")}`);
  }
}

// -- connect()

function open(server: string, options: ConnectOptions, directory: StateDirectory, stop: Stop): Session {
  const state = directory.load();
  const address = server || state.server;
  if (!address) throw new NoState("which server? Give its address the first time; it is remembered");
  const settings: Settings = {
    server: parseServer(address),
    token: options.token ?? "",
    enrol: options.enrol ?? "",
    workspace: options.workspace?.toLowerCase() ?? "",
    name: options.name ?? (os.hostname() || "agent"),
    dir: landingFolder(options.dir),
    delivery: {
      filePatience: (options.fileWait ?? 20) * 1000,
      fileGrace: 900,
      attempts: options.attempts ?? 5,
      replyToAgents: options.replyToAgents ?? false,
    },
  };
  return new Session(settings, directory, state, stop, options.log ?? toStderr);
}

async function choose(server: string, options: ConnectOptions): Promise<{ path: string; isNew: boolean }> {
  if (options.state) return { path: options.state, isNew: false };
  let workspace = options.workspace?.toLowerCase() ?? "";
  if (options.token && !workspace) {
    workspace = await workspaceOf(server, options.token);
    if (!workspace) throw new NoState("this token is not that of one workspace; give --workspace");
  }
  const chosen = chooseState({ enrol: options.token ? "" : (options.enrol ?? ""), workspace });
  if (chosen.isNew && options.enrol && !fs.existsSync(chosen.path)) {
    // A server that says which workspace the token is for, without spending it, lets us check that state first.
    const own = await workspaceOf(server, options.enrol).catch(() => "");
    if (own) return { path: stateOf(own), isNew: false };
  }
  if (!options.token && !options.enrol && !fs.existsSync(chosen.path)) throw new DiskError(`there is no state of the workspace ${workspace} on this machine`, "ENOENT");
  return chosen;
}

// The workspace of a token, which only the server knows; empty: it is not that of one workspace.
async function workspaceOf(server: string, token: string): Promise<string> {
  const http = new HttpClient(parseServer(server));
  try {
    const api = new ApiClient(http);
    api.useToken(token);
    return uuid(text(await api.get("/session"), "workspace_id")) ?? "";
  } finally {
    http.close();
  }
}
