import assert from 'node:assert/strict';
import { test } from 'node:test';
import { presenceOf, seenAfter } from './presence';
import type { Workspace } from './wire';

const workspace = (rest: Partial<Workspace>): Workspace => ({ id: 'w', name: 'W', status: 'online', ...rest });

test('an agent that polls and holds no poll is not listening', () => {
  const word = (rest: Partial<Workspace>) => presenceOf(workspace(rest)).word;
  assert.equal(word({ delivery_mode: 'poll', listening: true }), 'Online');
  assert.equal(word({ delivery_mode: 'poll', listening: false }), 'Online · not listening');
  assert.equal(word({ delivery_mode: 'push', listening: false }), 'Online', 'it is called');
  assert.equal(word({ delivery_mode: 'poll' }), 'Online', 'nothing is known of that');
  assert.equal(word({ status: 'offline', delivery_mode: 'poll', listening: false }), 'Offline');
});

test('a visit counts for a new line only when it came after it', () => {
  const early = '2026-05-04T10:00:00.000000Z';
  const late = '2026-05-04T10:00:01.000000Z';
  assert.ok(!seenAfter(workspace({ last_poll_at: early }), early));
  assert.ok(seenAfter(workspace({ last_heartbeat_at: early, last_poll_at: late }), early));
  assert.ok(!seenAfter(workspace({}), early));
  assert.ok(seenAfter(workspace({}), null), 'an agent that was never seen is recognised by its status');
});
