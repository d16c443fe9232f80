// What the walks share: the server's address, frequent actions of a person, and a page that records every complaint of the
// browser.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

export const source = process.env.RESTANTE_SOURCE ?? path.resolve(import.meta.dirname ?? '.', '../../..');
export const { chromium } = createRequire(path.join(source, 'web', 'package.json'))('playwright-core');
export const address = process.argv[3];
export const origin = new URL(address).origin;
export const token = new URLSearchParams(new URL(address).hash.slice(1)).get('token');
export const screenshots = process.env.RESTANTE_SCREENSHOTS;
// Bounds a hang. Everything below waits for something to appear, never for time to pass.
export const kPatienceMs = 120_000;
// How many times slower the page's own work is made, to find tests that depend on time.
const kSlowdown = Number(process.env.RESTANTE_SLOWDOWN ?? 1);
const kRemembered = 25;

export const digest = (buffer) => createHash('sha256').update(buffer).digest('hex');
export const log = (page) => page.getByRole('log');
export const cardOf = (page, name) => log(page).locator('[data-file]', { has: page.getByText(name, { exact: true }) });
// The heading of the open chat or view; cards and dialogs have headings of other levels.
export const titled = (page, name) => page.getByRole('heading', { name, exact: true, level: 1 });
// A message of a person; an agent may repeat its text.
export const written = (page, text) => log(page).locator('article.person', { hasText: text });

// Every page of this walk, with what was recorded about it.
export const watched = [];

// The last requests and their outcomes; printed when a walk fails.
function remember(page) {
  const asked = new Map();
  const note = (request, outcome) => {
    asked.delete(request);
    asked.set(request, `${request.method()} ${request.url().replace(origin, '')}: ${outcome}`);
    if (asked.size > kRemembered) asked.delete(asked.keys().next().value);
  };
  page.on('request', (request) => note(request, 'no answer yet'));
  page.on('response', (response) => note(response.request(), response.status()));
  page.on('requestfailed', (request) => note(request, `failed, ${request.failure()?.errorText}`));
  return asked;
}

async function slowDown(context, page) {
  if (kSlowdown <= 1) return;
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: kSlowdown });
}

// Records every complaint of the browser. `expected` holds addresses (or patterns) whose failed loading is part of the walk:
// Chromium reports every answer from 400 up as a console error. A page asks who is signed in before it signs in with a link.
export async function guarded(context) {
  const complaints = [];
  const expected = new Set([`${origin}/session`]);
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      console.error(`CSP: ${event.violatedDirective} blocked ${event.blockedURI}`);
    });
  });
  const page = await context.newPage();
  await slowDown(context, page);
  watched.push({ page, complaints, asked: remember(page) });
  page.on('console', (message) => {
    const { url } = message.location();
    const foreseen = [...expected].some((one) => (one instanceof RegExp ? one.test(url) : one === url));
    const known = message.text().startsWith('Failed to load resource') && foreseen;
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

// Repeats `check` until its assertions hold: the page draws asynchronously.
export async function eventually(check) {
  const end = Date.now() + kPatienceMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// Another person's browser: it shares no cookies with ours.
export async function otherBrowser(context) {
  const theirs = await context.browser().newContext({ viewport: { width: 1200, height: 820 } });
  theirs.setDefaultTimeout(kPatienceMs);
  return { theirs, guest: await guarded(theirs) };
}

// Sets the server's clock this many seconds ahead of the true time.
export function setClock(seconds) {
  const microseconds = Buffer.alloc(8);
  microseconds.writeBigInt64LE(BigInt(seconds) * 1_000_000n);
  const file = openSync(process.env.WALL_CLOCK_FILE, 'r+');
  writeSync(file, microseconds, 0, 8, 0);
  closeSync(file);
}

// As the operator, or with other headers.
export async function ask(method, where, body, headers = { Authorization: `Bearer ${token}` }) {
  const content = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${origin}${where}`, { method, headers: { ...content, ...headers }, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${where}: ${answer.status}`);
  return answer.headers.get('Content-Type') === 'application/json' ? answer.json() : answer.text();
}

// A workspace without an agent program, and the calls that its agent would make.
export async function makeAgent(name) {
  const { id } = await ask('POST', '/workspaces', { name });
  const { auth_token: bearer } = await ask('POST', `/admin/workspaces/${id}/tokens`, {});
  const headers = { Authorization: `Bearer ${bearer}` };
  const upload = async (file, text) => {
    const form = new FormData();
    form.append('files', new Blob([text], { type: 'text/plain' }), file);
    const answer = await fetch(`${origin}/workspaces/${id}/chat/uploads?direction=out`, { method: 'POST', headers, body: form });
    assert.ok(answer.ok, `staging ${file}: ${answer.status}`);
    return answer.json();
  };
  return { id, name, upload, call: (method, what, body) => ask(method, `/workspaces/${id}/${what}`, body, headers) };
}

// Opens the agent's chat by its address, with the operator signed in.
export async function openChat(page, agent) {
  await enter(page);
  await page.goto(`${origin}/#/chat/${agent.id}`);
  await titled(page, agent.name).waitFor();
}

// The files of a drop or a paste, made inside the page as the browser would.
export const transferOf = (page, files) =>
  page.evaluateHandle((contents) => {
    const transfer = new DataTransfer();
    for (const { name, type, text, size } of contents) {
      transfer.items.add(new File([size ? new Uint8Array(size).fill(46) : text], name, { type }));
    }
    return transfer;
  }, files);

export async function drop(page, files) {
  const dataTransfer = await transferOf(page, files);
  await page.getByRole('main').dispatchEvent('drop', { dataTransfer });
}

// The session that limited a page's upload rate must also remove the limit.
const kBrakes = new WeakMap();

// Limits this page's uploads to so many bytes a second; 0 removes the limit, also for running uploads.
export async function brake(page, context, uploadThroughput) {
  const session = kBrakes.get(page) ?? (await context.newCDPSession(page));
  kBrakes.set(page, session);
  await session.send('Network.enable');
  const throughput = uploadThroughput > 0 ? uploadThroughput : -1;
  const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: throughput };
  await session.send('Network.emulateNetworkConditions', conditions);
}

export async function enter(page) {
  await page.goto(address);
  await page.getByRole('form', { name: /^Write to/ }).waitFor();
}

export async function send(page, text, files) {
  if (files.length > 0) await page.locator('input[type=file]').setInputFiles(files);
  await page.getByRole('textbox', { name: /^Message to/ }).fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

export async function seeDelivered(page, name) {
  const card = cardOf(page, name);
  await card.and(page.locator('[data-stage="acked"]')).waitFor();
  const steps = card.getByRole('list', { name: `Progress of ${name}` }).getByRole('listitem');
  await eventually(async () => {
    const shown = await card.innerText();
    assert.match(shown, /Delivered/);
    const words = (await steps.allInnerTexts()).map((text) => text.split(/\s+/)[0]);
    assert.deepEqual(words, ['Staged', 'Fetched', 'Acked']);
    assert.equal(await steps.locator('time').count(), 3, `a step without a time in: ${shown}`);
  });
}

// An agent waits for the message of a file for a limited time only: when it comes late, the agent replies twice.
export async function seeReply(page, file) {
  const reply = log(page).locator('article.agent', { hasText: digest(file.buffer) }).last();
  await reply.waitFor();
  const text = await reply.innerText();
  assert.ok(text.includes(file.name), `the reply does not name ${file.name}: ${text}`);
  assert.ok(text.includes(String(file.buffer.length)), `the reply does not give the size of ${file.name}: ${text}`);
}

// Takes pictures for desktop and phone, in light and dark; `inspect` is called with the variant's name for each.
export async function picture(page, name, inspect = async () => {}) {
  if (screenshots) mkdirSync(screenshots, { recursive: true });
  for (const [width, height, device] of [[1200, 820, 'desktop'], [375, 760, 'phone']]) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const how = `${device}-${colorScheme}`;
      if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name}-${how}.png`) });
      await inspect(how);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1200, height: 820 });
}
