// FileLock: an exclusive lock on a file that ends with the process, whatever ends it: the kernel has it, not the content of
// the file. Node has no call for it. On Linux the program flock (of util-linux, or busybox) takes it for our own open file;
// on macOS and Windows the flag of open() does. A child that inherits the descriptor keeps the lock for as long as it runs.
import { spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { codeOf, DiskError, diskError, NOFOLLOW, NONBLOCK } from "./disk.js";

const EXLOCK_MACOS = 0x20; // O_EXLOCK
const EXLOCK_WINDOWS = 0x10000000; // UV_FS_O_EXLOCK: nobody else can open it

export class FileLock {
  #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Undefined when another process has the lock. The file is created, 0600, when missing. Throws a DiskError. */
  static async take(path: string): Promise<FileLock | undefined> {
    const by_flag = process.platform === "darwin" ? EXLOCK_MACOS | NONBLOCK : process.platform === "win32" ? EXLOCK_WINDOWS : 0;
    let descriptor: number;
    try {
      descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | NOFOLLOW | by_flag, 0o600);
    } catch (error) {
      if (by_flag && ["EAGAIN", "EWOULDBLOCK", "EBUSY", "EPERM"].includes(codeOf(error))) return undefined;
      throw diskError(`cannot open the lock ${path}`, error);
    }
    try {
      if (by_flag || (await flock(descriptor))) return new FileLock(descriptor);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    closeSync(descriptor);
    return undefined;
  }

  get descriptor(): number {
    return this.#descriptor;
  }

  release(): void {
    if (this.#descriptor >= 0) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

// The lock belongs to the open file, which the child shares with us: it stays when the child has ended.
function flock(descriptor: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn("flock", ["-x", "-n", "3"], { stdio: ["ignore", "ignore", "ignore", descriptor] });
    child.once("error", () => reject(new DiskError("the program flock (Debian's util-linux) is needed to lock the state, and is not here", "ENOENT")));
    child.once("exit", (code, signal) => {
      if (code === 0) resolve(true);
      else if (code === 1) resolve(false);
      else reject(new DiskError(`flock ended with ${code ?? signal}`));
    });
  });
}
