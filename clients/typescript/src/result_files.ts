// Result files: the files that are sent with an answer. A command left them in its folder (see exec.ts), or a handler
// named them and they were copied there. Only regular files directly in that folder, in the order of their names; every
// other entry is refused with a reason that the answer contains. The folder stays until the files are sent.
import * as fs from "node:fs";
import * as path from "node:path";
import { codeOf, diskError } from "./disk.js";

export const MOST_RESULT_FILES = 64;

export interface ResultFiles {
  files: { path: string; size: number }[];
  /** "name: why" */
  refused: string[];
}

/** Both lists are empty when there is no such folder. */
export function findResultFiles(folder: string): ResultFiles {
  const found: ResultFiles = { files: [], refused: [] };
  let names: string[];
  try {
    names = fs.readdirSync(folder).sort();
  } catch {
    return found;
  }
  for (const name of names) {
    const file = path.join(folder, name);
    let facts: fs.Stats;
    try {
      facts = fs.lstatSync(file);
    } catch {
      continue;
    }
    const why = refusal(facts) || (found.files.length === MOST_RESULT_FILES ? "is one more than can be sent" : "");
    if (why) found.refused.push(`${shown(name)}: ${why}`);
    else found.files.push({ path: file, size: facts.size });
  }
  return found;
}

// Why the entry cannot be sent; empty when it can.
function refusal(facts: fs.Stats): string {
  if (facts.isSymbolicLink()) return "is a symbolic link";
  if (facts.isDirectory()) return "is a folder";
  if (!facts.isFile()) return "is no regular file";
  return facts.size === 0 ? "is empty" : "";
}

function shown(name: string): string {
  return name.slice(0, 100).replace(/[\x00-\x1f\x7f]/g, "?");
}

/** Deletes the folder with its content; never through a link. One that cannot be deleted stays: it does no harm. */
export function discardFolder(folder: string): void {
  try {
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // a broken or read-only disk
  }
}

/** Copies the files into the folder, which is made anew; durable. Throws a DiskError that names the file. */
export function copyResultFiles(files: readonly string[], folder: string): void {
  discardFolder(folder);
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw diskError(`cannot make the folder ${folder}`, error);
  }
  for (const file of files) {
    try {
      const copy = freeName(folder, path.basename(file));
      fs.copyFileSync(file, copy, fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE);
      const descriptor = fs.openSync(copy, fs.constants.O_RDWR);
      try {
        fs.fsyncSync(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
    } catch (error) {
      throw diskError(`the file ${file} cannot be sent`, error);
    }
  }
}

// Two files of one answer may have the same name.
function freeName(folder: string, name: string): string {
  for (let number = 1; ; ++number) {
    const file = path.join(folder, number === 1 ? name : `${number}-${name}`);
    try {
      fs.lstatSync(file);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return file;
      throw error;
    }
  }
}
