import { dayKey } from './format';
import type { ChatMessage } from './timeline';

// A long conversation in pieces, so that only those near the reader need be drawn. Which chatMessages make up a piece depends
// on their place in the log alone: history that is read later never reshuffles what is there.

const kRowsPerChunk = 32;

export interface Chunk {
  id: number;
  chatMessages: ChatMessage[];
  // By the chatMessage's key: the first of each day is headed by it.
  days: ReadonlySet<string>;
}

export function chunksOf(chatMessages: ChatMessage[]): Chunk[] {
  const chunks: Chunk[] = [];
  let chunk: Chunk | undefined;
  let days = new Set<string>();
  let day = '';
  for (const chatMessage of chatMessages) {
    const id = Math.floor(chatMessage.seq / kRowsPerChunk);
    if (chunk?.id !== id) {
      days = new Set();
      chunk = { id, chatMessages: [], days };
      chunks.push(chunk);
    }
    const today = dayKey(chatMessage.at);
    if (today !== day) days.add(chatMessage.key);
    day = today;
    chunk.chatMessages.push(chatMessage);
  }
  return chunks;
}
