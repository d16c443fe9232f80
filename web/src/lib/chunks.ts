import { dayKey } from './format';
import type { ChatMessage } from './timeline';

// Splits a long conversation into chunks, so that only those near the visible part are drawn. Which messages form a chunk
// depends only on their seq: loading older messages never changes existing chunks.

const kRowsPerChunk = 32;

export interface Chunk {
  id: number;
  chatMessages: ChatMessage[];
  // The keys of the messages that are the first of their day: the day is shown above them.
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
