// Ledger: the state while the agent runs. Each change is in the journal before the call returns, and on the disk where the
// method is marked "durable". When the disk fails, delivery continues: the change counts in memory, one line is printed,
// and the whole state is written as soon as the disk works again. Everything of the agent shares this one object.
import { sentenceOf } from "./failure.js";
import { nextHop } from "./hops.js";
import type { StateDirectory } from "./state_directory.js";
import type { Change, DeliveryEnd, FileRecord, State } from "./state.js";

/** One line for a person, on stderr. */
export type PrintLine = (line: string) => void;

function isUnfinished(file: FileRecord): boolean {
  switch (file.where) {
    case "waiting":
      return true;
    case "landed":
      return !file.acked || !file.handedOver;
    default:
      return !file.notified;
  }
}

export class Ledger {
  #failing = false;

  constructor(
    readonly directory: StateDirectory,
    /** Read it; only the methods below change it. */
    readonly state: State,
    readonly printLine: PrintLine,
  ) {}

  file(id: string): FileRecord | undefined {
    return this.state.files.get(id);
  }

  /** Files with something left to do: fetch, acknowledge, hand over, or notify the agent that they did not arrive. */
  unfinishedFiles(): FileRecord[] {
    return [...this.state.files.values()].filter(isUnfinished);
  }

  nextHop(peer: string, hops: number, createdAt: string): number | undefined {
    return nextHop(this.state.answered, peer, hops, createdAt);
  }

  /** Durable. */
  setIdentity(server: string, workspace: string, enrolled: string): void {
    this.#change({ identity: { server, workspace, enrolled } }, true);
  }

  /** False when the file is known already. Durable after the next setCursor(). */
  announce(file: FileRecord): boolean {
    if (this.state.files.has(file.id)) return false;
    this.#change({ file }, false);
    return true;
  }

  /** Durable, together with everything before it. */
  setCursor(cursor: number, row = ""): void {
    this.#change({ cursor, row }, true);
  }

  fileUpdated({ id, where, path, trouble, reason, acked, reported }: FileRecord): void {
    this.#change({ came: { id, where, path, trouble, reason, acked, reported } }, false);
  }

  /** Durable. True when it was begun before: a kill after this leaves it unknown whether the agent got the delivery. */
  begin(id: string): boolean {
    if (this.state.begun.has(id)) return true;
    this.#change({ begun: id }, true);
    return false;
  }

  /** Durable. */
  endDelivery(end: DeliveryEnd): void {
    this.#change({ handed: end }, true);
  }

  sent(key: string): void {
    this.#change({ sent: key }, false);
  }

  #change(change: Change, durable: boolean): void {
    this.state.apply(change);
    try {
      this.#write(change, durable);
      if (this.#failing) this.printLine("the state can be kept again");
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) this.printLine(`the state cannot be kept: ${sentenceOf(error)}`);
      this.#failing = true;
    }
  }

  // A journal that is too long, or that lacks a line, is replaced by the whole state, which includes this change.
  #write(change: Change, durable: boolean): void {
    if (this.#failing || this.directory.needsSave) return this.directory.save(this.state);
    try {
      this.directory.append(change);
      if (durable) this.directory.sync();
    } catch {
      this.directory.save(this.state);
    }
  }
}
