import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorFromAnswer } from './errors';
import { bytes, keptUntil, nextMicrosecond } from './format';
import { admit, refusalOf } from './limits';
import { segmentsOf } from './prose';
import { fileIdOf, placeOf } from './wire';

const limits = { per_file_bytes: 26_214_400, per_request_bytes: 134_217_728, max_files: 2 };

test('a file of exactly the limit passes, one byte more names the limit', () => {
  assert.equal(admit([{ name: 'a', size: 26_214_400 }], 0, limits).taken.length, 1);
  const { taken, refused } = admit([{ name: 'a', size: 26_214_401 }], 0, limits);
  assert.equal(taken.length, 0);
  const count = (n: number) => `${n.toLocaleString()} bytes`;
  assert.equal(refused[0], `“a” is ${count(26_214_401)}; the limit for one file is ${count(26_214_400)}.`, 'both are 25 MB');
  const [plain] = admit([{ name: 'a', size: 2 * 26_214_400 }], 0, limits).refused;
  assert.equal(plain, '“a” is 50 MB; the limit for one file is 25 MB.');
});

test('a text is measured as it is sent, and refused with its size', () => {
  assert.equal(refusalOf('x'.repeat(980_000)), '');
  assert.match(refusalOf('x'.repeat(1_048_576)), /^This text is 1\.0 MB; one message carries at most 960 KB\./);
  assert.notEqual(refusalOf('é'.repeat(500_000)), '', 'two bytes each');
  assert.notEqual(refusalOf('\n'.repeat(500_000)), '', 'two bytes each');
});

test('empty files and too many files are refused with a sentence each', () => {
  const chosen = [0, 1, 1, 1].map((size) => ({ name: 'a', size }));
  const { taken, refused } = admit(chosen, 1, limits);
  assert.equal(taken.length, 1);
  assert.deepEqual(refused, ['“a” is empty; there is nothing to send.', 'One message carries at most 2 files; 2 left out.']);
});

test('the sentence of an error is the server’s own, with its limit', () => {
  const cap = errorFromAnswer(413, '{"error":"file exceeds per-file cap","code":"too_big","max":26214400}', null);
  assert.equal(cap.message, 'File exceeds per-file cap (the limit is 25 MB).');
  assert.equal(cap.code, 'too_big');
  assert.equal(errorFromAnswer(502, '<html>', null).message, 'The server answered 502.');
  assert.equal(errorFromAnswer(503, '{"error":"store down"}', '7').retryAfterSeconds, 7);
  assert.equal(errorFromAnswer(400, '"text"', 'x').retryAfterSeconds, null);
});

test('sizes are written as people write them', () => {
  assert.deepEqual([0, 1, 1023, 1024, 1536, 26_214_400].map(bytes), ['0 bytes', '1 byte', '1023 bytes', '1 KB', '1.5 KB', '25 MB']);
});

test('a time to come names its day unless that is today', () => {
  const now = new Date(2026, 4, 4, 18, 20);
  const later = (hours: number) => new Date(now.getTime() + hours * 3_600_000).toISOString();
  assert.match(keptUntil(later(2), now), /^20:20$/);
  assert.match(keptUntil(later(24), now), /5.*18:20$/);
});

test('the next microsecond carries over', () => {
  assert.equal(nextMicrosecond('2026-05-04T10:00:00.000009Z'), '2026-05-04T10:00:00.000010Z');
  assert.equal(nextMicrosecond('2026-12-31T23:59:59.999999Z'), '2027-01-01T00:00:00.000000Z');
  assert.equal(nextMicrosecond('2026-05-04T10:00:00Z'), '2026-05-04T10:00:00.000001Z');
});

test('segments joined again are the text', () => {
  const sum = 'ab'.repeat(32);
  for (const text of ['', sum, `a ${sum} b\n${sum}`, `x${sum}`, `${sum}0`]) {
    assert.equal(segmentsOf(text).map((segment) => segment.text).join(''), text);
  }
  assert.deepEqual(segmentsOf(`of ${sum}.`).map((segment) => segment.digest), [false, true, false]);
  assert.deepEqual(segmentsOf(`${sum}0`).map((segment) => segment.digest), [false]);
});

test('only a staged file’s address names a file', () => {
  const id = '6f0c0e9a-0000-4000-8000-0000000000f1';
  assert.equal(fileIdOf(`platform-pending:${id}/${id.toUpperCase()}`), id);
  for (const uri of ['', id, `platform-pending:${id}`, `platform-pending:${id}/../x`, 'https://example.org/a', 'javascript:x']) {
    assert.equal(fileIdOf(uri), null);
    assert.equal(placeOf(uri), null);
  }
  const owner = '6f0c0e9a-0000-4000-8000-0000000000a2';
  assert.deepEqual(placeOf(`platform-pending:${owner.toUpperCase()}/${id}`), { workspace: owner, fileId: id });
});
