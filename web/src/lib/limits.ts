import { bytes } from './format';
import type { Limits } from './wire';

// The size of a multipart body besides the file: boundary, headers, the name. Generous, so that the server does not refuse
// a file that this page accepts.
const kEnvelopeBytes = 4096;
// The server's limit for one message, and the part of it that is not text: ids, and up to 64 named files.
const kMessageBytes = 1_048_576;
const kMessageEnvelopeBytes = 65_536;

export interface Chosen {
  name: string;
  size: number;
}

// Splits `chosen` into files that can be sent beside `already` others, and a sentence with the limit for each that cannot.
export function admit<F extends Chosen>(chosen: F[], already: number, limits: Limits): { taken: F[]; refused: string[] } {
  const cap = Math.min(limits.per_file_bytes, limits.per_request_bytes - kEnvelopeBytes);
  const taken: F[] = [];
  const refused: string[] = [];
  let left = 0;
  for (const file of chosen) {
    if (file.size === 0) refused.push(`“${file.name}” is empty; there is nothing to send.`);
    else if (file.size > cap) {
      const [size, most] = distinctSizes(file.size, cap);
      refused.push(`“${file.name}” is ${size}; the limit for one file is ${most}.`);
    } else if (already + taken.length >= limits.max_files) left += 1;
    else taken.push(file);
  }
  if (left > 0) refused.push(`One message carries at most ${limits.max_files} files; ${left} left out.`);
  return { taken, refused };
}

// A sentence for a text that is too long for a message, else empty. The size is that of the JSON that is sent: a line break
// is two bytes there.
export function refusalOf(text: string): string {
  const most = kMessageBytes - kMessageEnvelopeBytes;
  const size = new TextEncoder().encode(JSON.stringify(text)).length;
  if (size <= most) return '';
  const [actual, limit] = distinctSizes(size, most);
  return `This text is ${actual}; one message carries at most ${limit}. Send it as a file, or in pieces.`;
}

// Two different sizes as texts that are different, too.
function distinctSizes(size: number, most: number): [string, string] {
  const rounded = (count: number) => bytes(count).replace('.0 ', ' ');
  if (rounded(size) !== rounded(most)) return [bytes(size), bytes(most)];
  return [`${size.toLocaleString()} bytes`, `${most.toLocaleString()} bytes`];
}
