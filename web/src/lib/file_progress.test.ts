import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepsOf, stateSentenceOf } from './progress_line';
import { fileOfRow, isFinal, newFileProgress, withFetched, withRow, withStatus, type FileProgress } from './file_progress';
import { at, kFile, receiptRow, row, uploadRow } from './testing';
import type { ActivityRow, FileStage, FileStatus } from './wire';

const live = (...rows: ActivityRow[]): FileProgress => rows.reduce(withRow, newFileProgress(kFile));
const status = (state: FileStage, rest: Partial<FileStatus> = {}): FileStatus => ({
  file_id: kFile,
  name: 'a.txt',
  size: 3,
  state,
  created_at: at(1),
  ...rest,
});

test('the word delivered appears after the ack and never before', () => {
  const before = [live(uploadRow(1)), withStatus(live(uploadRow(1)), status('fetched', { fetched_at: at(2) }))];
  for (const fileProgress of before) assert.notEqual(stateSentenceOf(fileProgress), 'Delivered');
  for (const outcome of ['failed', 'expired', 'recalled']) {
    assert.notEqual(stateSentenceOf(live(uploadRow(1), receiptRow(2, outcome))), 'Delivered');
  }
  assert.equal(stateSentenceOf(live(uploadRow(1), receiptRow(2, 'acked', { acked_at: at(2) }))), 'Delivered');
});

test('whether a file can be recalled is decided by the server', () => {
  assert.equal(live(uploadRow(1)).recallable, false, 'a row does not contain who may recall it');
  const own = withStatus(live(uploadRow(1)), status('staged', { recallable: true }));
  assert.equal(own.recallable, true);
  assert.equal(withRow(own, receiptRow(2, 'failed')).recallable, true);
  assert.equal(withStatus(own, status('staged', { recallable: false })).recallable, false);
});

test('a delivered file shows three steps with their times', () => {
  const fileProgress = live(uploadRow(1), receiptRow(3, 'acked', { fetched_at: at(2), acked_at: at(3) }));
  assert.deepEqual(
    stepsOf(fileProgress).map((step) => [step.word, step.at, step.mark]),
    [
      ['Staged', at(1), 'done'],
      ['Fetched', at(2), 'done'],
      ['Acked', at(3), 'done'],
    ],
  );
});

test('an ack without a fetch shows the fetch as skipped', () => {
  assert.equal(stepsOf(live(uploadRow(1), receiptRow(2, 'acked')))[1].mark, 'skipped');
});

test('a status that was asked before the ack cannot undo it', () => {
  const acked = live(uploadRow(1), receiptRow(2, 'acked', { acked_at: at(2) }));
  assert.deepEqual(withStatus(acked, status('staged')), acked);
});

test('an older page of the inbox cannot undo a newer receipt', () => {
  const fileProgress = live(receiptRow(5, 'acked', { acked_at: at(5) }), uploadRow(1), receiptRow(3, 'failed', { reason: 'x' }));
  assert.equal(fileProgress.stage, 'acked');
  assert.equal(fileProgress.stagedAt, at(1));
  assert.equal(fileProgress.reason, null);
});

test('a failed file may still arrive, and its reason goes with the failure', () => {
  const failed = live(uploadRow(1), receiptRow(2, 'failed', { reason: 'disk full' }));
  assert.equal(isFinal(failed), false);
  assert.equal(failed.reason, 'disk full');
  const acked = withRow(failed, receiptRow(3, 'acked', { acked_at: at(3) }));
  assert.equal(acked.stage, 'acked');
  assert.equal(acked.reason, null);
});

test('a row with an unknown method or file is about no file', () => {
  assert.equal(fileOfRow(row(1, 'upload_receipt', 'constructor', { request_body: { file_id: kFile } })), null);
  assert.equal(fileOfRow(receiptRow(1, 'acked', { file_id: 7 })), null);
  assert.equal(fileOfRow(receiptRow(1, 'acked', { file_id: kFile.toUpperCase() })), kFile);
});

test('being fetched is a step on the way and never undoes what came after it', () => {
  const fetched = withFetched(live(uploadRow(1)), at(2));
  assert.deepEqual([fetched.stage, fetched.fetchedAt], ['fetched', at(2)]);
  assert.equal(withFetched(newFileProgress(kFile), at(2)).stage, 'fetched');
  assert.equal(withFetched(fetched, at(3)).fetchedAt, at(3));
  assert.deepEqual(withStatus(fetched, status('staged', { fetched_at: null })).stage, 'fetched');
  const acked = live(uploadRow(1), receiptRow(3, 'acked', { acked_at: at(3) }));
  assert.deepEqual(withFetched(acked, at(9)), acked);
  const failed = withFetched(live(uploadRow(1), receiptRow(2, 'failed', { reason: 'full' })), at(3));
  assert.deepEqual([failed.stage, failed.reason, failed.fetchedAt], ['failed', 'full', at(3)]);
});
