import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSamePerson, sentenceOfLink, sentenceOfSession } from './whose';
import type { Session } from './wire';

const operator: Session = { role: 'admin' };
const marta: Session = { role: 'sender', workspace_id: 'a', token_id: '1' };
const paul: Session = { role: 'sender', workspace_id: 'a', token_id: '2' };
const elsewhere: Session = { role: 'sender', workspace_id: 'b', token_id: '3' };

test('a person is recognised by the token, not by the chat', () => {
  assert.ok(isSamePerson(operator, { role: 'admin', workspace_id: null }));
  assert.ok(isSamePerson(marta, { ...marta, workspace_id: 'A' }));
  for (const other of [operator, paul, elsewhere]) assert.ok(!isSamePerson(marta, other));
});

test('the sentences say whose the session and the link are', () => {
  assert.equal(sentenceOfSession(operator, ''), 'You are signed in as the operator.');
  assert.equal(sentenceOfSession(marta, 'Laptop'), 'You are signed in to the chat with Laptop.');
  assert.match(sentenceOfLink(operator, '', marta), /as the operator of this server/);
  assert.match(sentenceOfLink(elsewhere, 'Laptop', operator), /to the chat with Laptop, as the person it was made for/);
  assert.match(sentenceOfLink(elsewhere, '', marta), /to one chat/);
  assert.match(sentenceOfLink(paul, 'Laptop', marta), /the same chat, as somebody else/);
});
