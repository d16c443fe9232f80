// Form: local files as the body of an upload, multipart/form-data, read while it is sent.
import { randomUUID } from "node:crypto";
import { createReadStream, promises as fs } from "node:fs";
import * as path from "node:path";
import { Failure, sentenceOf } from "./failure.js";

export interface FormFile {
  path: string;
  name: string;
  type: string;
  size: number;
}

export interface UploadLimits {
  perFile: number; // 0: not known
  perRequest: number;
  files: number;
}

const TYPES: Record<string, string> = {
  csv: "text/csv",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  gif: "image/gif",
  gz: "application/gzip",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/markdown",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  pdf: "application/pdf",
  png: "image/png",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  txt: "text/plain",
  wav: "audio/wav",
  webp: "image/webp",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xml: "application/xml",
  zip: "application/zip",
};
const PART_OVERHEAD = 1024; // upper bound for the head of a part

export function mediaTypeOf(name: string): string {
  return TYPES[path.extname(name).slice(1).toLowerCase()] ?? "application/octet-stream";
}

function refuse(file: string, why: string): Failure {
  return new Failure("stopped", `${file}: ${why}`);
}

/** Throws a Failure of kind `stopped` when the file cannot be sent. */
export async function describeFile(file: string): Promise<FormFile> {
  try {
    const facts = await fs.stat(file);
    if (!facts.isFile()) throw refuse(file, "is not a file; to send a directory, pack it first");
    if (facts.size === 0) throw refuse(file, "is empty, and an empty file cannot be sent");
    await fs.access(file, fs.constants.R_OK);
    const name = path.basename(file);
    return { path: file, name, type: mediaTypeOf(name), size: facts.size };
  } catch (error) {
    throw error instanceof Failure ? error : refuse(file, sentenceOf(error));
  }
}

/** Batches that fit the limits, in order. */
export function divide(files: FormFile[], limits: UploadLimits): FormFile[][] {
  const batches: FormFile[][] = [];
  let size = 0;
  for (const file of files) {
    const cost = file.size + PART_OVERHEAD;
    const last = batches.at(-1);
    if (!last || last.length >= limits.files || (limits.perRequest > 0 && size + cost > limits.perRequest)) {
      batches.push([file]);
      size = PART_OVERHEAD + cost;
    } else {
      last.push(file);
      size += cost;
    }
  }
  return batches;
}

// As browsers write it: these three are escaped, a backslash is not.
function inForm(name: string): string {
  return name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

export class Form {
  readonly contentType: string;
  readonly length: number;
  readonly #heads: Buffer[];
  readonly #tail: Buffer;

  constructor(readonly files: FormFile[]) {
    const boundary = "restante-" + randomUUID();
    this.contentType = `multipart/form-data; boundary=${boundary}`;
    this.#heads = files.map((file, index) =>
      Buffer.from(
        `${index === 0 ? "" : "\r\n"}--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="${inForm(file.name)}"\r\n` +
          `Content-Type: ${file.type}\r\n\r\n`,
      ),
    );
    this.#tail = Buffer.from(`\r\n--${boundary}--\r\n`);
    const bytes = (list: { length: number }[]): number => list.reduce((sum, one) => sum + one.length, 0);
    this.length = bytes(this.#heads) + files.reduce((sum, file) => sum + file.size, 0) + this.#tail.length;
  }

  /** The whole body. Throws a Failure when a file has changed its size since it was described. */
  async *read(): AsyncGenerator<Uint8Array> {
    for (const [index, file] of this.files.entries()) {
      yield this.#heads[index]!;
      let left = file.size;
      try {
        for await (const piece of createReadStream(file.path, { end: file.size - 1 }) as AsyncIterable<Buffer>) {
          left -= piece.length;
          yield piece;
        }
      } catch (error) {
        throw refuse(file.path, sentenceOf(error));
      }
      if (left !== 0) throw refuse(file.path, "has become shorter while it was sent");
    }
    yield this.#tail;
  }
}
