import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SeriesAnswer, UploadRow } from './operator';
import { duration, durationScale, gather, join, lastKnown, linearScale, newest, runs } from './series';
import { plainly } from './tasks';
import { byAge, expiresSoon, groupOf } from './waiting';

const kMinute = 60_000;
const kStart = 1_800_000_000_000;

const answer = (minutes: number[], staged: (number | null)[], running = 0, now = kStart + 99 * kMinute): SeriesAnswer => ({
  now,
  period_seconds: 60,
  kept: 4,
  time: minutes.map((minute) => kStart + minute * kMinute),
  columns: { staged },
  running: { staged: running },
});

test('what comes later is joined to what is known, and the running row is replaced', () => {
  const first = join(null, answer([1, 2], [5, 6], 1, kStart + 2.5 * kMinute));
  assert.deepEqual(first.columns['staged'], [5, 6, 1]);
  assert.equal(newest(first), kStart + 2 * kMinute);
  const second = join(first, answer([3], [7], 2, kStart + 3.5 * kMinute));
  assert.deepEqual(second.columns['staged'], [5, 6, 7, 2]);
  assert.deepEqual(join(second, answer([], [], 3, kStart + 3.6 * kMinute)).columns['staged'], [5, 6, 7, 3]);
});

test('no more is kept than the server keeps', () => {
  let known = join(null, answer([1, 2, 3], [1, 2, 3]));
  known = join(known, answer([4, 5], [4, 5]));
  assert.deepEqual(known.columns['staged'], [2, 3, 4, 5, 0]);
  assert.equal(known.time.length, 5);
});

test('a clock that was set back makes the known rows worthless', () => {
  const known = join(null, answer([50, 51], [1, 2], 0, kStart + 51 * kMinute));
  assert.deepEqual(join(known, answer([10], [9], 0, kStart + 10 * kMinute)).columns['staged'], [9, 0]);
});

test('stretches add up what was counted, take the most of what was measured and leave gaps unknown', () => {
  const figures = join(null, { ...answer([1, 2, 3, 4], [1, 2, null, 8], 0, kStart + 4 * kMinute), kept: 9 });
  const at = (how: 'sum' | 'max' | 'last') => gather(figures, ['staged'], how, 6 * kMinute, 2 * kMinute, kStart + 4 * kMinute);
  assert.deepEqual(at('sum').values, [[null, 3, 8]]);
  assert.deepEqual(at('max').values, [[null, 2, 8]]);
  assert.deepEqual(at('last').values, [[null, 2, 8]]);
  assert.deepEqual(at('sum').time, [0, 2, 4].map((minute) => kStart + minute * kMinute));
});

test('a line breaks where nothing is known', () => {
  assert.deepEqual(runs([null, 1, 2, null, 3]), [[1, 2], [4, 4]]);
  assert.deepEqual(runs([null, null]), []);
  assert.equal(lastKnown([1, null]), 1);
  assert.equal(lastKnown([null]), null);
});

test('scales end at round numbers that hold everything', () => {
  assert.deepEqual(linearScale(7, true).ticks, [0, 2, 4, 6, 8]);
  assert.deepEqual(linearScale(0, true).ticks, [0, 1]);
  assert.deepEqual(linearScale(1, true).ticks, [0, 1]);
  assert.deepEqual(linearScale(0, false, 1024).ticks, [0, 1], 'not 0 bytes twice');
  assert.deepEqual(linearScale(3, false, 1024).ticks, [0, 1, 2, 3]);
  assert.equal(linearScale(3 * 1024 * 1024, false, 1024).top, 3 * 1024 * 1024);
  assert.ok(linearScale(987_654, true).top >= 987_654);
  const seconds = durationScale(0.02, 45);
  assert.deepEqual(seconds.ticks, [0.01, 0.1, 1, 10, 60]);
  assert.equal(seconds.at(0.01), 0);
  assert.equal(seconds.at(60), 1);
});

test('durations are written as people write them', () => {
  assert.deepEqual([0.0123, 0.25, 1, 90, 5400, 86_400, 604_800].map(duration), ['12.3 ms', '250 ms', '1 s', '1.5 min', '1.5 h', '24 h', '7 days']);
});

const now = new Date('2026-05-04T10:00:00Z');
const file = (created: string, expires: string, rest: Partial<UploadRow> = {}): UploadRow => ({
  workspace_id: 'w', workspace_name: 'W', file_id: created, name: 'a', size: 1, state: 'staged', created_at: created, expires_at: expires, ...rest,
});

test('never fetched, fetched and failed are three things', () => {
  assert.equal(groupOf(file('', '')), 'never-fetched');
  assert.equal(groupOf(file('', '', { state: 'fetched', fetched_at: 'x' })), 'fetched');
  assert.equal(groupOf(file('', '', { state: 'failed', fetched_at: 'x' })), 'failed');
});

test('a file expires soon within two hours, or the last quarter of a short time to live', () => {
  assert.ok(expiresSoon(file('2026-05-03T11:00:00Z', '2026-05-04T11:00:00Z'), now));
  assert.ok(!expiresSoon(file('2026-05-03T13:00:00Z', '2026-05-04T13:00:00Z'), now));
  assert.ok(!expiresSoon(file('2026-05-04T09:30:00Z', '2026-05-04T10:30:00Z'), now));
  assert.ok(expiresSoon(file('2026-05-04T09:11:00Z', '2026-05-04T10:11:00Z'), now));
});

test('a time in a sentence is shown in local time', () => {
  const shown = plainly('offline since 2026-05-04T09:58:03.061340Z, so it waits', now);
  assert.doesNotMatch(shown, /T09|Z/);
  assert.match(shown, /^offline since .*:58:03.*, so it waits$/);
});

test('files are sorted by age, the oldest first', () => {
  const rows = ['2026-05-04T09:59:00Z', '2026-05-02T00:00:00Z', '2026-05-04T09:10:00Z', '2026-05-04T11:00:00Z'].map((at) => file(at, at));
  assert.deepEqual(
    byAge(rows, now).map((group) => [group.word, group.rows.map((row) => row.created_at.slice(8, 16))]),
    [['More than a day', ['02T00:00']], ['Less than an hour', ['04T09:10', '04T09:59', '04T11:00']]],
  );
});
