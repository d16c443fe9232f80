// State: what the agent must know after a kill at any moment: its position in the inbox, the announced files and where
// they are, the deliveries handed over, the replies not yet sent. It changes only by Change objects, each of which is one
// complete change. The journal has the same objects, so replaying the journal gives the same state.
import { type AutomaticAnswer, remember } from "./hops.js";
import { isObject } from "./json.js";
import type { AnnouncedFile } from "./landing_folder.js";

// waiting: not downloaded yet, tried again. landed: at `path`, verified. gone: the server no longer has it. refused: given
// up, because it is larger than allowed or its content was wrong several times.
export type Where = "waiting" | "landed" | "gone" | "refused";

/** What a download changes. */
export interface Location {
  where: Where;
  path: string;
  /** Why it has not landed: missing, failed, expired, recalled, gone. */
  trouble: string;
  /** The same as a sentence. */
  reason: string;
  /** The server has our ack. */
  acked: boolean;
  /** The server has our report of the trouble. */
  reported: boolean;
}

/** A file that the inbox announced. */
export interface FileRecord extends AnnouncedFile, Location {
  /** platform-pending:<workspace>/<file> */
  uri: string;
  rowId: string;
  seq: number;
  createdAt: string;
  /** Alone, or with a message that names it. */
  handedOver: boolean;
  /** The agent was notified of the trouble. */
  notified: boolean;
}

/** An answer of the agent that is to be sent. */
export interface Reply {
  /** The same for every attempt. */
  key: string;
  text: string;
  to: "person" | "agent" | "delegation";
  /** To an agent: its workspace; to a delegation: its id. */
  target: string;
  /** To an agent: how many automatic answers led to this one, itself included. */
  hops: number;
  /** To a delegation: the task failed. */
  failed: boolean;
  /** Folder of the files to send with it; empty: none. */
  files: string;
  /** The inbox row that it answers; empty: none. */
  row: string;
}

/** The end of a delivery: the files handed over with it, the files whose trouble the agent was notified of, the answer. */
export interface DeliveryEnd {
  id: string;
  createdAt: string;
  files: string[];
  notified: string[];
  reply?: Reply;
}

export type Change =
  | { identity: { server: string; workspace: string; enrolled: string } }
  | { cursor: number; row: string }
  | { file: FileRecord }
  | { came: Location & { id: string } }
  | { begun: string }
  | { handed: DeliveryEnd }
  | { sent: string };

const MAX_FILES = 10_000; // some MB of state; messages that name older files are rare
const MAX_RECENT = 2_000; // four pages at the server's largest

function isFinished(file: FileRecord): boolean {
  return file.where !== "waiting" && (file.where !== "landed" || (file.handedOver && file.acked));
}

export class State {
  /** Its address. */
  server = "";
  /** Its id. */
  workspace = "";
  /** Hash of the enrolment token that was used. */
  enrolled = "";
  cursor = 0;
  /** Id of that row; empty: not known. */
  cursorRow = "";
  /** The cursor is set, even if it is 0. */
  started = false;
  /** By id, oldest first. */
  files = new Map<string, FileRecord>();
  outbox: Reply[] = [];
  /** Deliveries without a recorded end. */
  begun = new Set<string>();
  /** The rows handled last, by id with their times, for when the server no longer knows our cursor. */
  recent = new Map<string, string>();
  answered: AutomaticAnswer[] = [];

  /** True when the row was handled: it is in `recent`, or older than all of them. */
  hasSeen(rowId: string, createdAt: string): boolean {
    if (this.recent.has(rowId)) return true;
    if (this.recent.size < MAX_RECENT) return false;
    const [oldest] = this.recent.values();
    return createdAt < (oldest ?? "");
  }

  /** False, and nothing has changed, when it is not one of our changes. */
  apply(change: Change): boolean {
    if ("cursor" in change) {
      this.cursor = change.cursor;
      this.cursorRow = change.row;
      this.started = true;
    } else if ("file" in change) {
      if (!this.files.has(change.file.id)) this.files.set(change.file.id, change.file);
      this.#trim();
    } else if ("came" in change) {
      const file = this.files.get(change.came.id);
      if (file) this.files.set(file.id, { ...file, ...change.came });
    } else if ("begun" in change) {
      this.begun.add(change.begun);
    } else if ("handed" in change) {
      this.#end(change.handed);
    } else if ("sent" in change) {
      this.outbox = this.outbox.filter((reply) => reply.key !== change.sent);
    } else if ("identity" in change) {
      Object.assign(this, change.identity);
    } else {
      return false;
    }
    return true;
  }

  #end(end: DeliveryEnd): void {
    this.begun.delete(end.id);
    this.recent.set(end.id, end.createdAt);
    for (const [oldest] of this.recent) {
      if (this.recent.size <= MAX_RECENT) break;
      this.recent.delete(oldest);
    }
    for (const id of end.files) this.#mark(id, { handedOver: true });
    for (const id of end.notified) this.#mark(id, { notified: true });
    if (!end.reply) return;
    if (end.reply.to === "agent" && end.reply.hops === 1)
      this.answered = remember(this.answered, { peer: end.reply.target, createdAt: end.createdAt });
    this.outbox.push(end.reply);
  }

  #mark(id: string, flags: { handedOver: true } | { notified: true }): void {
    const file = this.files.get(id);
    if (file) this.files.set(id, { ...file, ...flags });
  }

  // Drops the oldest finished files above MAX_FILES.
  #trim(): void {
    if (this.files.size <= MAX_FILES) return;
    for (const file of this.files.values()) {
      if (!isFinished(file)) continue;
      this.files.delete(file.id);
      if (this.files.size <= MAX_FILES) return;
    }
  }

  dump(): object {
    const { server, workspace, enrolled, cursor, cursorRow, started, outbox, answered } = this;
    const lists = { files: [...this.files.values()], begun: [...this.begun], recent: [...this.recent] };
    return { server, workspace, enrolled, cursor, cursorRow, started, outbox, answered, ...lists };
  }

  /** Undefined when the value is not a state. Its checksum was right, so only the version can be wrong. */
  static parse(value: unknown): State | undefined {
    if (!isObject(value) || !Array.isArray(value["files"]) || !Array.isArray(value["recent"])) return undefined;
    const dumped = value as unknown as ReturnType<State["dump"]> & {
      files: FileRecord[];
      begun: string[];
      recent: [string, string][];
    };
    const { files, begun, recent, ...plain } = dumped;
    const state = Object.assign(new State(), plain);
    state.files = new Map(files.map((file) => [file.id, file]));
    state.begun = new Set(begun);
    state.recent = new Map(recent);
    return state;
  }
}
