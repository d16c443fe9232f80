import { bytes } from './format';
import type { Limits } from './wire';

// What a multipart body carries besides the file: boundary, headers, the name. Generous, so that a file this page lets
// through is not refused for its envelope.
const kEnvelopeBytes = 4096;
// What the server takes as one message, and what goes beside the text in it: ids, and up to 64 named files.
const kMessageBytes = 1_048_576;
const kMessageEnvelopeBytes = 65_536;

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
      const [size, most] = told(file.size, cap);
      refused.push(`“${file.name}” is ${size}; the limit for one file is ${most}.`);
    } else if (already + taken.length >= limits.max_files) left += 1;
    else taken.push(file);
  }
  if (left > 0) refused.push(`One message carries at most ${limits.max_files} files; ${left} left out.`);
  return { taken, refused };
}

// A sentence for a text that no message can carry; empty for one that can be sent. What counts is how it travels: a line
// break is two bytes there.
export function refusalOf(text: string): string {
  const most = kMessageBytes - kMessageEnvelopeBytes;
  const size = new TextEncoder().encode(JSON.stringify(text)).length;
  if (size <= most) return '';
  const [said, limit] = told(size, most);
  return `This text is ${said}; one message carries at most ${limit}. Send it as a file, or in pieces.`;
}

// Two sizes so that they differ for the reader, too.
function told(size: number, most: number): [string, string] {
  const rounded = (count: number) => bytes(count).replace('.0 ', ' ');
  if (rounded(size) !== rounded(most)) return [bytes(size), bytes(most)];
  return [`${size.toLocaleString()} bytes`, `${most.toLocaleString()} bytes`];
}
