import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kFile, messageRow, row, uploadRow, uriOf } from './testing';
import { chatMessagesFrom } from './timeline';
import type { ActivityRow } from './wire';

const none = () => false;
const filePart = { kind: 'file', file: { uri: uriOf(kFile), name: 'a.txt', mimeType: 'text/plain', size: 3 } };

test('a file that a message names is shown with that message only', () => {
  const chatMessages = chatMessagesFrom([uploadRow(1), messageRow(2, [{ kind: 'text', text: 'here' }, filePart])], none);
  assert.equal(chatMessages.length, 1);
  assert.equal(chatMessages[0]?.text, 'here');
  assert.deepEqual(chatMessages[0]?.attachments, [{ fileId: kFile, name: 'a.txt', mimeType: 'text/plain', size: 3 }]);
});

test('a file that no message names is a separate chat message', () => {
  const chatMessages = chatMessagesFrom([uploadRow(1)], none);
  assert.deepEqual(chatMessages.map((chatMessage) => [chatMessage.from, chatMessage.text, chatMessage.attachments.length]), [['person', '', 1]]);
});

test('a file whose message is still on its way is held back', () => {
  assert.deepEqual(chatMessagesFrom([uploadRow(1)], (file) => file.fileId === kFile), []);
});

test('an upload row that is older than the loaded page does not hide the file of its message', () => {
  assert.equal(chatMessagesFrom([messageRow(2, [filePart])], none)[0]?.attachments[0]?.fileId, kFile);
});

test('a notify is the agent speaking, with result and parts', () => {
  const body = { result: 'got it', parts: [filePart] };
  const [chatMessage] = chatMessagesFrom([row(1, 'a2a_receive', 'notify', { response_body: body })], none);
  assert.equal(chatMessage?.from, 'agent');
  assert.equal(chatMessage?.text, 'got it');
  assert.equal(chatMessage?.attachments.length, 1);
});

test('a media type is read in both spellings', () => {
  const types = (file: object) =>
    chatMessagesFrom([messageRow(1, [{ kind: 'file', file: { uri: uriOf(kFile), name: 'a', ...file } }])], none)[0]?.attachments[0]?.mimeType;
  assert.equal(types({ mime_type: 'image/png' }), 'image/png');
  assert.equal(types({ mimeType: 'text/plain', mime_type: 'image/png' }), 'text/plain');
});

test('a file that the agent uploaded and names is the agent\'s, and one of a person stays the person\'s', () => {
  const notify = row(2, 'a2a_receive', 'notify', { response_body: { result: 'here', parts: [filePart] } });
  const senders = (upload: ActivityRow) => chatMessagesFrom([upload, notify], none).map(({ from }) => from);
  const upload = uploadRow(1);
  assert.deepEqual(senders(upload), ['person', 'agent']);
  assert.deepEqual(senders({ ...upload, request_body: { ...(upload.request_body as object), uploaded_by: 'agent' } }), ['agent']);
});

test('messages of other agents, receipts and other rows are not part of the conversation', () => {
  const rows = [
    messageRow(1, [{ kind: 'text', text: 'x' }], { source_id: kFile }),
    row(2, 'upload_receipt', 'chat_upload_acked', { request_body: { file_id: kFile } }),
    { ...uploadRow(4), source_id: kFile },
    row(3, 'agent_log', 'notify', { response_body: { result: 'x' } }),
  ];
  assert.deepEqual(chatMessagesFrom(rows, none), []);
});

test('bodies of any shape are read without a throw', () => {
  const shapes = [undefined, null, 7, 'text', [], {}, { params: null }, { params: { message: [] } }, { file_id: 3 }];
  const parts = [null, [null, 3, 'x', {}, { text: 5 }, { file: null }, { file: { uri: 9 } }], { length: 2 }];
  const rows: ActivityRow[] = [];
  for (const body of shapes) {
    for (const method of ['message/send', 'notify', 'chat_upload_receive']) {
      rows.push(row(rows.length + 1, 'a2a_receive', method, { request_body: body, response_body: body }));
    }
  }
  for (const value of parts) rows.push(messageRow(rows.length + 1, value));
  for (const chatMessage of chatMessagesFrom(rows, none)) assert.deepEqual([chatMessage.text, chatMessage.attachments], ['', []]);
});

test('an inherited property is not a field of a body', () => {
  const [chatMessage] = chatMessagesFrom([row(1, 'a2a_receive', 'notify', { response_body: Object.create({ result: 'no' }) })], none);
  assert.equal(chatMessage?.text, '');
});

test('a message to a push agent and its answer are two chat messages', () => {
  const answer = { jsonrpc: '2.0', result: { kind: 'message', parts: [{ kind: 'text', text: 'pong' }] } };
  const taken = { ...messageRow(1, [{ kind: 'text', text: 'ping' }]), activity_type: 'a2a_send', response_body: answer };
  const seen = (row: ActivityRow) => chatMessagesFrom([row], () => false).map(({ key, from, text }) => [key, from, text]);
  assert.deepEqual(seen(taken), [
    ['row:1', 'person', 'ping'],
    ['reply:1', 'agent', 'pong'],
  ]);
  const task = { result: { status: { message: { parts: [{ text: 'done' }] } }, artifacts: [{ parts: [{ text: 'it' }] }, 7] } };
  assert.equal(seen({ ...taken, response_body: task })[1]?.[2], 'done\n\nit');
  for (const body of [{ error: { code: 1, message: 'no' } }, null, 'x', { result: 7 }, { result: { artifacts: {} } }]) {
    assert.deepEqual(seen({ ...taken, response_body: body }), [['row:1', 'person', 'ping']]);
  }
  assert.deepEqual(seen({ ...taken, target_id: 'another' }), [], 'a message of this agent to another agent is not part of the chat');
});
