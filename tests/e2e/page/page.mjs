// Walks through the page as a person would: `node page.mjs <walk> <sign-in address>`. Exits 0 when the walk went well
// and the browser had nothing to complain about; otherwise prints what went wrong.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const source = process.env.RESTANTE_SOURCE ?? path.resolve(import.meta.dirname ?? '.', '../../..');
const { chromium } = createRequire(path.join(source, 'web', 'package.json'))('playwright-core');
const [, , walkName, address] = process.argv;
const origin = new URL(address).origin;
const token = new URLSearchParams(new URL(address).hash.slice(1)).get('token');
const screenshots = process.env.RESTANTE_SCREENSHOTS;
// Bounds a hang. Everything below waits for something to appear, never for time to pass.
const kPatienceMs = 60_000;

const digest = (buffer) => createHash('sha256').update(buffer).digest('hex');
const log = (page) => page.getByRole('log');
const cardOf = (page, name) => log(page).locator('[data-file]', { hasText: name });

// Notes everything the browser objects to. `expected` holds addresses whose failed loading is part of the walk:
// Chromium reports every answer from 400 up as a console error.
async function guarded(context) {
  const complaints = [];
  const expected = new Set();
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      console.error(`CSP: ${event.violatedDirective} blocked ${event.blockedURI}`);
    });
  });
  const page = await context.newPage();
  page.on('console', (message) => {
    const known = message.text().startsWith('Failed to load resource') && expected.has(message.location().url);
    if (message.type() === 'error' && !known) complaints.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.stack ?? error}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'blob:' && url.origin !== origin) complaints.push(`foreign request: ${url.origin}`);
  });
  return { page, complaints, expected };
}

// A workspace without anybody in it, and what its agent would do.
async function makeAgent(name) {
  const admin = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const ask = async (method, where, headers, body) => {
    const answer = await fetch(`${origin}${where}`, { method, headers, body: body && JSON.stringify(body) });
    assert.ok(answer.ok, `${method} ${where}: ${answer.status}`);
    return answer.headers.get('Content-Type') === 'application/json' ? answer.json() : answer.text();
  };
  const { id } = await ask('POST', '/workspaces', admin, { name });
  const { auth_token: bearer } = await ask('POST', `/admin/workspaces/${id}/tokens`, admin, {});
  const headers = { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' };
  return { id, call: (method, what, body) => ask(method, `/workspaces/${id}/${what}`, headers, body) };
}

async function enter(page) {
  await page.goto(address);
  await page.getByRole('form', { name: /^Write to/ }).waitFor();
}

async function send(page, text, files) {
  if (files.length > 0) await page.locator('input[type=file]').setInputFiles(files);
  await page.getByRole('textbox', { name: /^Message to/ }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

async function seeDelivered(page, name) {
  const card = cardOf(page, name);
  await card.and(page.locator('[data-stage="acked"]')).waitFor();
  const said = await card.innerText();
  assert.match(said, /Delivered/);
  const stops = await card.getByRole('list', { name: `Life line of ${name}` }).getByRole('listitem').all();
  const words = await Promise.all(stops.map(async (stop) => (await stop.innerText()).split(/\s+/)[0]));
  assert.deepEqual(words, ['Staged', 'Fetched', 'Acked']);
  for (const stop of stops) assert.equal(await stop.locator('time').count(), 1, `a stop without a time in: ${said}`);
}

async function seeReply(page, file) {
  const reply = log(page).locator('article.agent', { hasText: digest(file.buffer) });
  await reply.waitFor();
  const said = await reply.innerText();
  assert.ok(said.includes(file.name), `the reply does not name ${file.name}: ${said}`);
  assert.ok(said.includes(String(file.buffer.length)), `the reply does not give the size of ${file.name}: ${said}`);
}

async function picture(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  for (const [width, height, device] of [[1200, 820, 'desktop'], [390, 800, 'phone']]) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: path.join(screenshots, `${name}-${device}-${colorScheme}.png`) });
    }
  }
  await page.setViewportSize({ width: 1200, height: 820 });
}

const walks = {
  async invitation({ page, context }) {
    await enter(page);
    assert.ok(!page.url().includes('token'), `the address still holds the token: ${page.url()}`);
    await page.getByRole('navigation', { name: 'Workspaces' }).getByRole('link').first().waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.ok(!kept.includes(token), 'the token is kept where a script can read it');
    const cookies = await context.cookies();
    assert.ok(cookies.length > 0, 'no session cookie');
    for (const cookie of cookies) {
      assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict', `cookie ${cookie.name} is open to scripts or other sites`);
      assert.ok(!cookie.value.includes(token), 'the cookie is the token itself');
    }
    await page.goBack().catch(() => null);
    assert.ok(!page.url().includes('token'), 'going back shows the token');
  },

  async delivery({ page }) {
    const files = [
      { name: 'figures-2026.csv', mimeType: 'text/csv', buffer: Buffer.from('month,letters\nMay,31\n') },
      { name: 'postcard.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(300_000, 'postcard') },
    ];
    const text = 'Two files for you.';
    await enter(page);
    await send(page, text, files);
    for (const { name } of files) await seeDelivered(page, name);
    for (const file of files) await seeReply(page, file);
    await picture(page, 'chat');

    await page.reload();
    await log(page).getByText(text).waitFor();
    for (const { name } of files) await seeDelivered(page, name);
    for (const file of files) await seeReply(page, file);
    const letter = log(page).locator('article.person', { hasText: text });
    assert.equal(await letter.count(), 1, 'the message is there once');
    assert.equal(await letter.locator('[data-file]').count(), files.length, 'with its files');
    assert.ok(!page.url().includes('token'));
  },

  // An agent that does one thing at a time, so that every step of a file's life can be seen.
  async lifeline({ page }) {
    const agent = await makeAgent('Slow agent');
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await enter(page);
    await page.goto(`${origin}/#/chat/${agent.id}`);
    await page.getByRole('heading', { name: 'Slow agent' }).waitFor();
    await send(page, 'One file.', [{ name: 'slow.txt', mimeType: 'text/plain', buffer: Buffer.from('take your time') }]);
    const card = cardOf(page, 'slow.txt');
    await card.and(page.locator('[data-stage="staged"]')).waitFor();
    // "Kept until" comes from the one look at a new file; whatever moves after that, the stream has moved.
    await card.getByText('Kept until').waitFor();
    const looks = asked.length;

    const { file_id: file } = (await agent.call('GET', 'pending-uploads'))[0];
    await agent.call('GET', `pending-uploads/${file}/content`);
    await card.and(page.locator('[data-stage="fetched"]')).waitFor();
    assert.match(await card.innerText(), /Picked up/);
    await agent.call('POST', `pending-uploads/${file}/ack`);
    await seeDelivered(page, 'slow.txt');
    await agent.call('POST', 'notify', { message: 'Thank you, slowly.' });
    await log(page).locator('article.agent', { hasText: 'Thank you, slowly.' }).waitFor();

    const later = asked.slice(looks).map((url) => new URL(url));
    assert.deepEqual(later.filter((url) => url.pathname.includes('pending-uploads')).map(String), [], 'files were polled');
    assert.deepEqual(asked.filter((url) => /[?&]wait=[1-9]/.test(url)), [], 'the log was polled');
    assert.equal(asked.filter((url) => url.endsWith(`${agent.id}/events/stream`)).length, 1);
  },

  // The server ends the oldest of too many streams: so the page's, with eight more of the same session.
  async cut({ page, context }) {
    const agent = await makeAgent('Cut off');
    const streams = [];
    page.on('request', (request) => {
      if (request.url().endsWith(`${agent.id}/events/stream`)) streams.push(request);
    });
    const begun = [];
    const browserSays = await context.newCDPSession(page);
    await browserSays.send('Network.enable');
    browserSays.on('Network.eventSourceMessageReceived', ({ eventName, data }) => {
      if (eventName === 'RESYNC' && data.includes(agent.id)) begun.push(JSON.parse(data));
    });
    await enter(page);
    await page.goto(`${origin}/#/chat/${agent.id}`);
    await agent.call('POST', 'notify', { message: 'Before the cut.' });
    await log(page).getByText('Before the cut.').waitFor();

    const Cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    const hangUp = new AbortController();
    const finished = page.waitForEvent('requestfinished', (request) => streams.includes(request));
    const others = Array.from({ length: 8 }, () =>
      fetch(`${origin}/workspaces/${agent.id}/events/stream`, { headers: { Cookie }, signal: hangUp.signal }),
    );
    await Promise.all(others);
    await finished;
    await agent.call('POST', 'notify', { message: 'While you were away.' });
    hangUp.abort();
    await log(page).getByText('While you were away.').waitFor();
    assert.equal(await log(page).getByText('Before the cut.').count(), 1, 'told once');
    assert.deepEqual(begun.map((resync) => resync.replayed_from), [undefined, 1], 'the browser goes on where it was');
    await agent.call('POST', 'notify', { message: 'And live again.' });
    await log(page).getByText('And live again.').waitFor();
    assert.equal(streams.length, 2);
  },

  async hostile({ page }) {
    const name = '<img src=x onerror="globalThis.pwned=1">.svg';
    const text = '<script>globalThis.pwned=2</script><img src=x onerror=globalThis.pwned=3> {{7*7}} [x](javascript:pwned)';
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.pwned=4"><script>globalThis.pwned=5</script></svg>';
    await enter(page);
    const dropped = await page.evaluateHandle(
      ([fileName, content]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], fileName, { type: 'image/svg+xml' }));
        return transfer;
      },
      [name, svg],
    );
    await page.getByRole('main').dispatchEvent('drop', { dataTransfer: dropped });
    await page.getByRole('list', { name: 'Files to send' }).getByText(name, { exact: true }).waitFor();
    await send(page, text, []);

    const letter = log(page).locator('article.person', { hasText: '{{7*7}}' });
    await letter.getByText(text, { exact: true }).waitFor();
    await letter.locator('[data-stage="acked"]').waitFor();
    await log(page).locator('article.agent', { hasText: digest(Buffer.from(svg)) }).waitFor();
    assert.equal(await page.locator('main img, main script, main a[href^="javascript:"]').count(), 0, 'text became markup');
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  },

  async limits({ page }) {
    const { per_file_bytes: cap } = await (await fetch(`${origin}/uploads/limits`)).json();
    const uploads = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/chat/uploads')) uploads.push(request.url());
    });
    await enter(page);
    await page.locator('input[type=file]').setInputFiles([
      { name: 'heavy.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(cap + 1) },
      { name: 'nothing.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) },
    ]);
    const said = await page.getByRole('alert').innerText();
    assert.match(said, /“heavy\.bin” is .*; the limit for one file is \d+(\.\d)? [KMG]?B/);
    assert.match(said, /“nothing\.txt” is empty/);
    assert.equal(await page.getByRole('list', { name: 'Files to send' }).count(), 0);
    assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'there is nothing to send');
    assert.deepEqual(uploads, []);
  },

  async leaving({ page, context, expected }) {
    await enter(page);
    const cookies = await context.cookies();
    expected.add(`${origin}/session`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await picture(page, 'sign-in');

    // The old cookie, presented again, must be worth nothing: sign-out happens on the server.
    const Cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    assert.equal((await fetch(`${origin}/session`, { headers: { Cookie } })).status, 401);
    await page.reload();
    await page.getByLabel('Token').waitFor();

    await page.getByLabel('Token').fill('x'.repeat(43));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('not valid').waitFor();
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('form', { name: /^Write to/ }).waitFor();
  },
};

const walk = walks[walkName];
assert.ok(walk, `no such walk: ${walkName}`);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});
try {
  const context = await browser.newContext({ viewport: { width: 1200, height: 820 }, deviceScaleFactor: 2 });
  context.setDefaultTimeout(kPatienceMs);
  const guard = await guarded(context);
  try {
    await walk({ context, ...guard });
  } catch (error) {
    console.error(await guard.page.locator('body').innerText().catch(() => ''));
    console.error(guard.complaints.join('\n'));
    throw error;
  }
  assert.deepEqual(guard.complaints, []);
} finally {
  await browser.close();
}
