// File functions that survive a kill and a power cut. A full or broken disk is expected on other people's machines: every
// function throws a DiskError with a sentence for a person. No symbolic link is followed below a Folder.
import { constants, promises as fs } from "node:fs";
import * as path from "node:path";
import { existsSync } from "node:fs";
import { sentenceOf } from "./failure.js";

export class DiskError extends Error {
  override name = "DiskError";
  /** Of the system, such as ENOSPC; empty: none. */
  readonly code: string;

  constructor(sentence: string, code = "") {
    super(sentence);
    this.code = code;
  }
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EDQUOT: "the disk quota is used up",
  EFBIG: "file too large",
  EIO: "input/output error",
  EMFILE: "too many open files",
  ENOENT: "no such file or folder",
  ENOSPC: "no space left on the disk",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
};

/** "<what>: <the system's reason>". */
export function diskError(what: string, error: unknown): DiskError {
  if (error instanceof DiskError) return error;
  const code = codeOf(error);
  return new DiskError(`${what}: ${REASONS[code] ?? sentenceOf(error)}`, code);
}

// Windows has none of these; there they are not needed, or have no counterpart.
export const NOFOLLOW = constants.O_NOFOLLOW ?? 0;
export const NONBLOCK = constants.O_NONBLOCK ?? 0;
const DIRECTORY = constants.O_DIRECTORY ?? 0;

// Where names can be looked up in an open folder, so that nobody can put a link in its place meanwhile.
const OPEN_FOLDERS = process.platform === "linux" && existsSync("/proc/self/fd") ? "/proc/self/fd" : "";
const NO_SUCH_SYNC = new Set(["EINVAL", "ENOTSUP", "ENOSYS"]);

export class Folder {
  readonly #handle: fs.FileHandle | undefined; // undefined on Windows, which cannot open folders
  readonly #path: string;

  private constructor(handle: fs.FileHandle | undefined, at: string) {
    this.#handle = handle;
    this.#path = at;
  }

  /** Opens a folder by its path, created with its parents when missing. Links on the way are the owner's choice. */
  static async root(at: string): Promise<Folder> {
    await makeFolders(path.resolve(at));
    try {
      return await Folder.#open(at, 0);
    } catch (error) {
      throw diskError(`cannot open the folder ${at}`, error);
    }
  }

  /** Opens the folder `name` in this one, created 0700 when missing, and then durable. A symbolic link is refused. */
  async sub(name: string): Promise<Folder> {
    const at = this.file(name);
    try {
      await fs.mkdir(at, { mode: 0o700 });
      await this.sync().catch(async (error: unknown) => {
        await fs.rmdir(at).catch(() => {}); // else the next attempt would find it, and not sync
        throw error;
      });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw diskError(`cannot make the folder ${name}`, error);
    }
    try {
      if (!NOFOLLOW && (await fs.lstat(at)).isSymbolicLink()) throw Object.assign(new Error("link"), { code: "ELOOP" });
      return await Folder.#open(at, NOFOLLOW);
    } catch (error) {
      if (codeOf(error) === "ELOOP" || codeOf(error) === "ENOTDIR")
        throw new DiskError(`${name} is a symbolic link or no folder; nothing is written through it`, "ELOOP");
      throw diskError(`cannot open the folder ${name}`, error);
    }
  }

  static async #open(at: string, flags: number): Promise<Folder> {
    if (process.platform === "win32") return new Folder(undefined, at);
    return new Folder(await fs.open(at, constants.O_RDONLY | DIRECTORY | flags), at);
  }

  /** The path of a name in this folder. */
  file(name: string): string {
    return this.#handle && OPEN_FOLDERS ? `${OPEN_FOLDERS}/${this.#handle.fd}/${name}` : path.join(this.#path, name);
  }

  /** Makes the names in the folder durable. Some file systems have no such call; there is nothing to do then. */
  async sync(): Promise<void> {
    try {
      await this.#handle?.sync();
    } catch (error) {
      if (!NO_SUCH_SYNC.has(codeOf(error))) throw diskError("cannot write the names in a folder through to the disk", error);
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close().catch(() => {});
  }
}

// Creates the folders of the path that are missing, from the top, each durable.
async function makeFolders(at: string): Promise<void> {
  if (existsSync(at)) return;
  const parent = path.dirname(at);
  if (parent !== at) await makeFolders(parent);
  try {
    await fs.mkdir(at);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw diskError(`cannot make the folder ${at}`, error);
  }
  if (process.platform === "win32") return;
  let handle: fs.FileHandle;
  try {
    handle = await fs.open(parent, constants.O_RDONLY | DIRECTORY);
  } catch {
    return; // one may write there and not read
  }
  try {
    await handle.sync();
  } catch (error) {
    if (NO_SUCH_SYNC.has(codeOf(error))) return;
    await fs.rmdir(at).catch(() => {});
    throw diskError("cannot write the names in a folder through to the disk", error);
  } finally {
    await handle.close();
  }
}

/** Gives `from` the name `to` in the folder. False when something has that name already; it is not changed. */
export async function renameWithoutReplacing(folder: Folder, from: string, to: string): Promise<boolean> {
  try {
    await fs.link(folder.file(from), folder.file(to));
    await fs.unlink(folder.file(from));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
  }
  // A file system without links: checking first is not atomic, but the name contains a random id that only we use.
  try {
    await fs.lstat(folder.file(to));
    return false;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw diskError("cannot rename", error);
  }
  try {
    await fs.rename(folder.file(from), folder.file(to));
    return true;
  } catch (error) {
    throw diskError("cannot rename", error);
  }
}

export async function writeAll(handle: fs.FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  } catch (error) {
    throw diskError("cannot write", error);
  }
}
