import { bytes } from './format';
import type { Limits } from './wire';

// What a multipart body carries besides the file: boundary, headers, the name. Generous, so that a file this page lets
// through is not refused for its envelope.
const kEnvelopeBytes = 4096;

export interface Chosen {
  name: string;
  size: number;
}

// Sorts `chosen` into what can be sent beside `already` others, and a sentence for each that cannot, naming the limit.
export function admit<F extends Chosen>(chosen: F[], already: number, limits: Limits): { taken: F[]; refused: string[] } {
  const cap = Math.min(limits.per_file_bytes, limits.per_request_bytes - kEnvelopeBytes);
  const taken: F[] = [];
  const refused: string[] = [];
  let left = 0;
  for (const file of chosen) {
    if (file.size === 0) refused.push(`“${file.name}” is empty; there is nothing to send.`);
    else if (file.size > cap) {
      refused.push(`“${file.name}” is ${bytes(file.size)}; the limit for one file is ${bytes(cap)}.`);
    } else if (already + taken.length >= limits.max_files) left += 1;
    else taken.push(file);
  }
  if (left > 0) refused.push(`One message carries at most ${limits.max_files} files; ${left} left out.`);
  return { taken, refused };
}
