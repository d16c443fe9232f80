import { dayKey } from './format';
import type { Letter } from './timeline';

// A long conversation in pieces, so that only those near the reader need be drawn. Which letters make up a piece depends
// on their place in the log alone: history that is read later never reshuffles what is there.

const kRowsPerChunk = 32;

export interface Chunk {
  id: number;
  letters: Letter[];
  // By the letter's key: the first of each day is headed by it.
  days: ReadonlySet<string>;
}

export function chunksOf(letters: Letter[]): Chunk[] {
  const chunks: Chunk[] = [];
  let chunk: Chunk | undefined;
  let days = new Set<string>();
  let day = '';
  for (const letter of letters) {
    const id = Math.floor(letter.seq / kRowsPerChunk);
    if (chunk?.id !== id) {
      days = new Set();
      chunk = { id, letters: [], days };
      chunks.push(chunk);
    }
    const today = dayKey(letter.at);
    if (today !== day) days.add(letter.key);
    day = today;
    chunk.letters.push(letter);
  }
  return chunks;
}
