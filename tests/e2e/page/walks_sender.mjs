// The sender of clients/typescript in a page of the server's origin, without the server's own page.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { digest, origin, source, token } from './support.mjs';

// Runs in the browser: a file and a text are sent, and the answer of the demo agent is awaited in the live events.
async function sendAndListen({ bearer, size }) {
  const { Sender } = await import('/sender-test/browser.js');
  const headers = { Authorization: `Bearer ${bearer}` };
  const [workspace] = await (await fetch('/workspaces', { headers })).json();
  const sender = new Sender(location.origin, { token: bearer, workspace: workspace.id });
  const stop = new AbortController();
  const content = new Uint8Array(size).map((_, index) => index % 251);
  const progress = [];
  const types = new Set();
  let sent;
  for await (const { type, data } of sender.events({ signal: stop.signal })) {
    types.add(type);
    // The first event says that the stream is open.
    sent ??= await sender.send('Please look at this.', {
      files: [new File([content], 'größe.bin')],
      onProgress: ({ loaded, total }) => progress.push([loaded, total]),
    });
    if (type === 'AGENT_MESSAGE' && JSON.stringify(data).includes('.bin')) stop.abort();
  }
  const { messages } = await sender.history();
  return { sent, progress, types: [...types], texts: messages.map((message) => message.content) };
}

async function sender({ context }) {
  const size = 5_000_000;
  const program = readFileSync(path.join(source, 'clients', 'typescript', 'dist', 'browser.js'), 'utf8');
  await context.route(`${origin}/sender-test/*`, (route) =>
    route.request().url().endsWith('.js')
      ? route.fulfill({ contentType: 'text/javascript', body: program })
      : route.fulfill({ contentType: 'text/html', body: '<!doctype html><link rel="icon" href="data:,"><title>sender</title>' }),
  );
  const page = await context.newPage();
  await page.goto(`${origin}/sender-test/page.html`);
  const { sent, progress, types, texts } = await page.evaluate(sendAndListen, { bearer: token, size });
  assert.equal(sent.files[0].size, size);
  assert.equal(sent.files[0].sha256, digest(Buffer.from(new Uint8Array(size).map((_, index) => index % 251))));
  assert.ok(sent.seq > 0);
  assert.deepEqual(progress.at(-1), [size, size]);
  assert.ok(progress.every(([loaded], index) => index === 0 || loaded >= progress[index - 1][0]), 'progress never goes back');
  assert.ok(types.includes('RESYNC') && types.includes('AGENT_MESSAGE'), String(types));
  assert.ok(texts.includes('Please look at this.'));
}

export default { sender };
