import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunksOf } from './chunks';
import { previewOf, readable } from './preview';
import { chatMessagesFrom } from './timeline';
import { messageRow } from './testing';

const chatMessages = (from: number, to: number) => {
  const rows = Array.from({ length: to - from }, (_, n) => {
    const seq = from + n;
    const created_at = `2026-05-${String(1 + Math.floor(seq / 100)).padStart(2, '0')}T12:00:00.000000Z`;
    return messageRow(seq, [{ kind: 'text', text: `${seq}` }], { created_at });
  });
  return chatMessagesFrom(rows, () => false);
};

test('every message is in one chunk, in order', () => {
  const all = chatMessages(1, 500);
  assert.deepEqual(chunksOf(all).flatMap((chunk) => chunk.chatMessages), all);
  assert.ok(chunksOf(all).every((chunk) => chunk.chatMessages.length <= 32));
});

test('older messages do not change the chunks that exist', () => {
  const shape = (from: number) => new Map(chunksOf(chatMessages(from, 500)).map((chunk) => [chunk.id, chunk.chatMessages.map(({ key }) => key)]));
  const [late, whole] = [shape(210), shape(1)];
  const [partial, ...full] = late.keys();
  for (const id of full) assert.deepEqual(late.get(id), whole.get(id));
  assert.ok(whole.get(partial as number)?.join().endsWith(late.get(partial as number)?.join() ?? '?'));
});

test('each day is headed once, also when it goes on in the next chunk', () => {
  const days = chunksOf(chatMessages(1, 500)).flatMap((chunk) => [...chunk.days]);
  assert.deepEqual(days, ['row:1', 'row:100', 'row:200', 'row:300', 'row:400']);
});

test('pictures and texts can be previewed, documents that could run cannot be shown as what they are', () => {
  const kind = (name: string, type: string, size: number | null = 10) => previewOf(name, type, size)?.kind;
  assert.equal(kind('a.png', 'image/png'), 'picture');
  assert.equal(kind('a.png', ''), 'picture');
  assert.equal(kind('a.svg', 'image/svg+xml'), 'text');
  assert.equal(kind('a.html', 'text/html'), 'text');
  assert.equal(kind('a.png', 'text/html'), 'text', 'the declared type decides');
  assert.equal(kind('a.exe', 'application/octet-stream'), undefined);
  assert.equal(kind('a.txt', 'text/plain', 0), undefined);
  assert.equal(kind('a.png', 'image/png', 1 << 30), undefined);
  assert.equal(previewOf('a.png', 'image/png', 5 << 20)?.atOnce, false);
});

test('a text is what decodes as one', () => {
  const bytes = (...list: number[]) => new Uint8Array(list);
  assert.equal(readable(new TextEncoder().encode('Grüße\n\t✉')), 'Grüße\n\t✉');
  assert.equal(readable(bytes(0x61, 0xe2, 0x9c)), 'a', 'a character that is cut at the end is left out');
  assert.equal(readable(bytes(0xff, 0xfe)), null);
  assert.equal(readable(bytes(0x61, 0)), null);
});
