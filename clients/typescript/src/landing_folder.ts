// LandingFolder: stores downloaded files in the workspace as `<dir>/.molecule/chat-uploads/<32 hex of its id>-<name>`. The
// content is collected under a temporary name; after a broken connection or a kill the download resumes there. A file gets
// its final name only when it is complete, verified and durable; 0600. Nothing is replaced, and no symbolic link is
// followed. Throws DiskError.
import { createHash, type Hash } from "node:crypto";
import { constants, promises as fs } from "node:fs";
import * as path from "node:path";
import { codeOf, DiskError, diskError, Folder, NOFOLLOW, NONBLOCK, renameWithoutReplacing, writeAll } from "./disk.js";
import { sanitiseFilename } from "./names.js";

/** A file as the server announced it; the content must match. */
export interface AnnouncedFile {
  id: string;
  /** As announced; sanitised here in any case. */
  name: string;
  size: number;
  /** 64 hex digits; empty: not announced. */
  sha256: string;
}

const MAX_SAME_NAMES = 9;
const READ_ONLY = constants.O_RDONLY | NOFOLLOW | NONBLOCK;

function hexOf(id: string): string {
  return id.replaceAll("-", "");
}

/** 32 hex digits, a dash, the safe name; for n > 0 with the number before the name. */
export function landedName(file: AnnouncedFile, n = 0): string {
  let name = sanitiseFilename(file.name);
  // Windows drops dots at the end of a name, and two files would be one.
  if (process.platform === "win32") name = name.replace(/\.+$/, (dots) => "_".repeat(dots.length));
  return `${hexOf(file.id)}-${n === 0 ? "" : `${n}-`}${name}`;
}

function temporaryName(file: AnnouncedFile): string {
  return `.part-${hexOf(file.id)}`;
}

async function hashRest(handle: fs.FileHandle, hash: Hash): Promise<number> {
  const piece = Buffer.allocUnsafe(128 * 1024);
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return at;
    hash.update(piece.subarray(0, bytesRead));
    at += bytesRead;
  }
}

async function isOurs(handle: fs.FileHandle): Promise<boolean> {
  const facts = await handle.stat();
  return facts.isFile() && facts.nlink === 1 && (process.geteuid === undefined || facts.uid === process.geteuid());
}

/** The three folders, from the outermost; opened again for each file, since one may have been moved or removed. */
class Folders {
  private constructor(
    readonly root: Folder,
    readonly molecule: Folder,
    readonly uploads: Folder,
  ) {}

  static async open(dir: string): Promise<Folders> {
    const root = await Folder.root(dir);
    try {
      const molecule = await root.sub(".molecule");
      try {
        return new Folders(root, molecule, await molecule.sub("chat-uploads"));
      } catch (error) {
        await molecule.close();
        throw error;
      }
    } catch (error) {
      await root.close();
      throw error;
    }
  }

  /** Also the names of our two folders: the process that made them may have been killed before it synced them. */
  async sync(): Promise<void> {
    await this.uploads.sync();
    await this.molecule.sync();
    await this.root.sync();
  }

  async close(): Promise<void> {
    for (const folder of [this.uploads, this.molecule, this.root]) await folder.close();
  }
}

/** An unfinished download: the content on disk so far, and its hash. close() it, unless it was given to finish(). */
export class Partial {
  #hash: Hash = createHash("sha256");
  size = 0;

  constructor(
    readonly folders: Folders,
    readonly handle: fs.FileHandle,
  ) {}

  async append(bytes: Uint8Array): Promise<void> {
    await writeAll(this.handle, bytes, this.size);
    this.#hash.update(bytes);
    this.size += bytes.length;
  }

  /** Reads what an earlier attempt left. */
  async readOn(): Promise<void> {
    this.size = await hashRest(this.handle, this.#hash);
  }

  /** Discards the content so far. */
  async restart(): Promise<void> {
    try {
      await this.handle.truncate(0);
    } catch (error) {
      throw diskError("cannot start a file again", error);
    }
    this.#hash = createHash("sha256");
    this.size = 0;
  }

  digest(): string {
    return this.#hash.digest("hex");
  }

  async close(): Promise<void> {
    await this.handle.close().catch(() => {});
    await this.folders.close();
  }
}

export class LandingFolder {
  /** `dir` is created when missing. */
  constructor(readonly dir: string) {}

  /** The absolute path of the file if it is there, complete and with the announced content. Then it is durable. */
  async find(announced: AnnouncedFile): Promise<string | undefined> {
    const folders = await Folders.open(this.dir);
    try {
      for (let n = 0; n <= MAX_SAME_NAMES; ++n) {
        const name = landedName(announced, n);
        try {
          await fs.lstat(folders.uploads.file(name));
        } catch {
          return undefined;
        }
        if (!(await holds(folders.uploads, name, announced))) continue;
        await syncFound(folders, name, announced);
        // A kill may have come after the file got its name and before it lost the temporary one.
        await fs.unlink(folders.uploads.file(temporaryName(announced))).catch(() => {});
        return await this.#pathOf(name);
      }
      return undefined;
    } finally {
      await folders.close();
    }
  }

  /** Continues where an earlier attempt ended; size is that offset, never more than the announced size. */
  async begin(announced: AnnouncedFile): Promise<Partial> {
    const folders = await Folders.open(this.dir);
    const at = folders.uploads.file(temporaryName(announced));
    let handle: fs.FileHandle | undefined;
    try {
      handle = await fs.open(at, constants.O_RDWR | NOFOLLOW | NONBLOCK).catch(() => undefined);
      if (handle && (await isOurs(handle))) {
        const partial = new Partial(folders, handle);
        await partial.readOn();
        if (partial.size > announced.size) await partial.restart();
        return partial;
      }
      // No file, or one that we did not create: begin with a new one.
      await handle?.close();
      await fs.unlink(at).catch((error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
      });
      handle = await fs.open(at, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | NOFOLLOW, 0o600);
      return new Partial(folders, handle);
    } catch (error) {
      await handle?.close().catch(() => {});
      await folders.close();
      throw diskError("cannot begin a file", error);
    }
  }

  /** Deletes the unfinished download. */
  async discard(announced: AnnouncedFile): Promise<void> {
    try {
      const folders = await Folders.open(this.dir);
      await fs.unlink(folders.uploads.file(temporaryName(announced))).catch(() => {});
      await folders.close();
    } catch {
      // no folder, no download
    }
  }

  /**
   * Verifies the file and gives it its final name; both are durable then. Undefined when size or hash differ from the
   * announced ones: the content is deleted. If another file has the name, the new one gets `<32 hex>-<n>-<name>`.
   */
  async finish(partial: Partial, announced: AnnouncedFile): Promise<string | undefined> {
    const { uploads } = partial.folders;
    const temporary = temporaryName(announced);
    try {
      const digest = partial.digest();
      if (partial.size !== announced.size || (announced.sha256 && digest !== announced.sha256.toLowerCase())) {
        await fs.unlink(uploads.file(temporary)).catch(() => {});
        return undefined;
      }
      try {
        await partial.handle.sync();
      } catch (error) {
        // After a failed sync the content on disk is unknown: begin again from nothing.
        await fs.unlink(uploads.file(temporary)).catch(() => {});
        throw diskError("cannot write through to the disk", error);
      }
      for (let n = 0; n <= MAX_SAME_NAMES; ++n) {
        const name = landedName(announced, n);
        if (await renameWithoutReplacing(uploads, temporary, name)) {
          await syncName(partial.folders, name, announced);
          return await this.#pathOf(name);
        }
        if (!(await holds(uploads, name, announced))) continue;
        await syncFound(partial.folders, name, announced);
        await fs.unlink(uploads.file(temporary)).catch(() => {});
        return await this.#pathOf(name);
      }
      throw new DiskError("too many other files have the name of this one", "EEXIST");
    } finally {
      await partial.close();
    }
  }

  async #pathOf(name: string): Promise<string> {
    const root = await fs.realpath(this.dir).catch(() => path.resolve(this.dir));
    return path.join(root, ".molecule", "chat-uploads", name);
  }
}

/** True when `name` is a regular file with exactly the announced content. */
async function holds(folder: Folder, name: string, announced: AnnouncedFile): Promise<boolean> {
  const handle = await fs.open(folder.file(name), READ_ONLY).catch(() => undefined);
  if (!handle) return false;
  try {
    const facts = await handle.stat();
    if (!facts.isFile() || facts.size !== announced.size) return false;
    if (!announced.sha256) return true;
    const hash = createHash("sha256");
    await hashRest(handle, hash);
    return hash.digest("hex") === announced.sha256.toLowerCase();
  } catch {
    return false;
  } finally {
    await handle.close();
  }
}

/** Makes a file that was found durable: the process that gave it its name may have been killed before it was. */
async function syncFound(folders: Folders, name: string, announced: AnnouncedFile): Promise<void> {
  let handle: fs.FileHandle;
  try {
    handle = await fs.open(folders.uploads.file(name), process.platform === "win32" ? constants.O_RDWR : READ_ONLY);
  } catch (error) {
    throw diskError("cannot open a file that has landed", error);
  }
  try {
    await handle.sync();
  } catch (error) {
    await fs.unlink(folders.uploads.file(name)).catch(() => {}); // what is on the disk is unknown: begin again from nothing
    throw diskError("cannot write through to the disk", error);
  } finally {
    await handle.close();
  }
  await syncName(folders, name, announced);
}

/** Makes the name of a landed file durable, whose content is. */
async function syncName(folders: Folders, name: string, announced: AnnouncedFile): Promise<void> {
  try {
    await folders.sync();
  } catch (error) {
    // The next sync may succeed without having written this name: it has to be written again.
    await fs.rename(folders.uploads.file(name), folders.uploads.file(temporaryName(announced))).catch(() => {});
    throw error;
  }
}
