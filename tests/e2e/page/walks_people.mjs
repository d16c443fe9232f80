// The walks about permissions: a shared link, an agent that connects, foreign origins.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { address, ask, cardOf, enter, eventually, log, makeAgent, openChat, origin, picture, send, setClock, otherBrowser, titled, token } from './support.mjs';

// The status of an answer to a request with exactly these headers, Host and Origin included.
const statusOf = (method, where, headers, body) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin);
    const request = http.request({ hostname, port, path: where, method, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    });
    request.on('error', reject);
    request.end(body);
  });

const cookieOf = async (context) => (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');

// Runs the command line that the page shows, with the binary under test; returns a function that ends it.
function paste(line) {
  const [program, ...words] = line.split(' ');
  assert.equal(program, 'restante');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'newcomer-'));
  const options = ['--dir', path.join(folder, 'files'), '--state', path.join(folder, 'state'), '--exec', 'echo taken'];
  const agent = spawn(process.env.RESTANTE_BINARY, [...words, ...options], { stdio: 'ignore' });
  const ended = new Promise((resolve) => agent.once('exit', resolve));
  return async () => {
    agent.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
}

async function lineOf(dialog) {
  await dialog.getByRole('tab', { name: 'Installed' }).click();
  return dialog.getByRole('group', { name: 'Line to paste' }).innerText();
}

export default {
  async share({ page, context }) {
    const agent = await makeAgent('Shared agent');
    await makeAgent('Nobody else’s business');
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openChat(page, agent);
    await send(page, 'The operator here.', [{ name: 'from-operator.txt', mimeType: 'text/plain', buffer: Buffer.from('hi') }]);
    await page.getByRole('button', { name: 'Recall from-operator.txt' }).waitFor();
    const shareButton = page.getByRole('button', { name: 'Share', exact: true });
    await shareButton.click();
    const dialog = page.getByRole('dialog', { name: 'Share this chat' });
    await dialog.getByLabel('For whom?').fill('Marta');
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    await dialog.getByRole('button', { name: 'Copy Link to share' }).click();
    await dialog.getByRole('status').getByText('Copied').waitFor({ state: 'attached' });
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, await dialog.getByRole('group', { name: 'Link to share' }).innerText());
    assert.ok(!link.includes(token), 'not the operator’s own token');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    const focused = () => page.evaluate(() => document.activeElement?.textContent.trim());
    await eventually(async () => assert.equal(await focused(), 'Share', 'the focus is given back'));

    const { theirs, guest } = await otherBrowser(context);
    await guest.page.goto(link);
    await titled(guest.page, 'Shared agent').waitFor();
    assert.ok(!guest.page.url().includes('token'), `the address still holds the token: ${guest.page.url()}`);
    await send(guest.page, 'Marta here.', [{ name: 'from-marta.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }]);
    await cardOf(guest.page, 'from-marta.txt').and(guest.page.locator('[data-stage="staged"]')).waitFor();
    await log(page).getByText('Marta here.').waitFor();
    // A sender may recall only their own files, the operator all of them.
    await guest.page.getByRole('button', { name: 'Recall from-marta.txt' }).waitFor();
    await cardOf(guest.page, 'from-operator.txt').getByText('Kept until').waitFor();
    assert.equal(await guest.page.getByRole('button', { name: 'Recall from-operator.txt' }).count(), 0);
    await page.getByRole('button', { name: 'Recall from-marta.txt' }).waitFor();
    await picture(guest.page, 'sender');
    for (const hash of ['#/', '#/uploads', '#/dashboard', '#/health', '#/delegations']) {
      await guest.page.goto(`${origin}/${hash}`);
      // Loaded again, so that everything on the page was drawn for this address.
      await guest.page.reload();
      await titled(guest.page, 'Shared agent').waitFor();
      assert.equal(await guest.page.getByRole('navigation').count(), 0, 'there is no navigation');
      assert.equal(await guest.page.getByRole('button', { name: 'Share' }).count(), 0);
      assert.ok(!(await guest.page.locator('body').innerText()).includes('business'));
    }
    const Cookie = await cookieOf(theirs);
    for (const where of ['/workspaces', '/admin/uploads', '/admin/liveness', '/events/stream', `/workspaces/${agent.id}/tokens`]) {
      assert.equal(await statusOf('GET', where, { Host: new URL(origin).host, Cookie }), 401, where);
    }

    // A revoked link ends the session at once.
    guest.expected.add(/.*/);
    await shareButton.click();
    await dialog.getByRole('button', { name: 'Revoke the link Marta' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'hidden' });
    await guest.page.getByText('Your session has ended.').waitFor();
    assert.deepEqual(guest.complaints, []);
    await theirs.close();
  },

  async link_over_session({ page, context }) {
    const agent = await makeAgent('Linked agent');
    const linkFor = async (label) => {
      const made = await ask('POST', '/admin/invites', { kind: 'sender', workspace_id: agent.id, label });
      return `${origin}/#token=${made.token}&workspace=${agent.id}`;
    };
    const [martas, pauls] = [await linkFor('Marta'), await linkFor('Paul')];
    const whoIsIn = () => page.evaluate(async () => (await fetch('/session')).json());
    const dialog = page.getByRole('dialog', { name: 'Sign in with this link?' });
    const stay = dialog.getByRole('button', { name: 'Stay signed in' });
    // A new document, not only another fragment.
    const load = async (link) => {
      await page.goto('about:blank');
      await page.goto(link);
    };

    await enter(page);
    for (const open of [(link) => page.goto(link), load]) {
      await open(martas);
      await dialog.getByText('You are signed in as the operator.').waitFor();
      await dialog.getByText('to the chat with Linked agent, as the person it was made for').waitFor();
      assert.ok(!page.url().includes('token'), `the address still holds the token: ${page.url()}`);
      assert.equal((await whoIsIn()).role, 'admin', 'nothing has changed before the answer');
      await stay.click();
      await dialog.waitFor({ state: 'hidden' });
      await titled(page, 'Linked agent').waitFor();
      assert.equal((await whoIsIn()).role, 'admin');
    }
    // The operator's own link asks nothing.
    await load(address);
    await page.getByRole('form', { name: /^Write to/ }).waitFor();
    assert.equal(await dialog.count(), 0);

    const before = await cookieOf(context);
    await page.goto(martas);
    await dialog.getByText('You are signed in as the operator.').waitFor();
    await picture(page, 'link-offer');
    await dialog.getByRole('button', { name: 'Sign in with the link' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await eventually(async () => assert.equal(await page.getByRole('navigation').count(), 0, 'a person sees the chat alone'));
    await titled(page, 'Linked agent').waitFor();
    const marta = await whoIsIn();
    assert.equal(marta.role, 'sender');
    assert.equal(await statusOf('GET', '/session', { Host: new URL(origin).host, Cookie: before }), 401, 'the other session has ended');

    await load(martas);
    await titled(page, 'Linked agent').waitFor();
    assert.equal(await dialog.count(), 0, 'one’s own link asks nothing');
    await load(pauls);
    await dialog.getByText('You are signed in to the chat with Linked agent.').waitFor();
    await dialog.getByText('to the same chat, as somebody else').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.goto(address);
    await dialog.getByText('This link signs you in as the operator of this server.').waitFor();
    await stay.click();
    await dialog.waitFor({ state: 'hidden' });
    await page.goto(`${origin}/#token=${'x'.repeat(43)}`);
    await page.getByText('The link was not used. This token is not valid here.').waitFor();
    assert.deepEqual(await whoIsIn(), marta);
  },

  async new_agent({ page }) {
    await enter(page);
    await page.getByRole('link', { name: 'Restante, all workspaces' }).click();
    await page.getByRole('button', { name: 'New agent' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('What is it called?').fill('Newcomer');
    await page.keyboard.press('Enter');
    await dialog.getByText('Waiting for Newcomer to connect…').waitFor();
    await picture(page, 'new-agent');
    const lineIn = async (tab) => {
      await dialog.getByRole('tab', { name: tab }).click();
      return dialog.getByRole('tabpanel', { name: tab }).getByRole('group', { name: 'Line to paste' }).innerText();
    };
    assert.match(await lineIn('Linux, macOS'), /^curl -fsSL \S+\/download\/install\.sh -o restante-install\.sh && echo '[0-9a-f]{64}  .* && sh restante-install\.sh --url /);
    await dialog.getByText('Add --exec').waitFor();
    assert.match(await lineIn('Windows'), /^Invoke-WebRequest .*\/download\/restante\.py .*-ne '[0-9a-f]{64}'/);
    assert.match(await lineIn('Python'), /\/download\/restante\.py -o restante\.py && echo '[0-9a-f]{64}  restante\.py' .* -c -$/);
    await picture(page, 'new-agent-python');
    await page.keyboard.press('ArrowRight');
    await dialog.getByRole('tabpanel', { name: 'TypeScript' }).getByText('npm install').waitFor();
    const end = paste(await lineOf(dialog));
    try {
      await dialog.getByText('Newcomer has connected.').waitFor();
      await dialog.getByRole('link', { name: 'Write to Newcomer' }).click();
      await titled(page, 'Newcomer').waitFor();
      await page.getByRole('main').getByText('Online').waitFor();
      await send(page, 'Welcome.', [{ name: 'welcome.txt', mimeType: 'text/plain', buffer: Buffer.from('welcome') }]);
      await cardOf(page, 'welcome.txt').and(page.locator('[data-stage="acked"]')).waitFor();
    } finally {
      await end();
    }
  },

  // Against a server that soon reports an agent as silent; the walk sets its clock.
  async absent({ page }) {
    const agent = await makeAgent('Night watch');
    await openChat(page, agent);
    // The agent polls while the page is open: it counts as online for 90 s from then on, however long the page took to load.
    await agent.call('GET', 'activity?since_seq=0');
    const main = page.getByRole('main');
    await main.getByText('Online · not listening').waitFor();
    await main.getByText(/^silent for \d/).waitFor();
    assert.equal(await main.getByText('is not connected right now').count(), 0);
    setClock(300);
    await page.reload();
    await main.getByText('Offline').waitFor();
    await main.getByText(/^silent for \d/).waitFor();
    await main.getByText('Night watch is not connected right now. What you send waits').waitFor();

    await page.goto(`${origin}/#/`);
    const card = main.getByRole('listitem').filter({ hasText: 'Night watch' });
    await card.getByText('Offline').waitFor();
    await card.getByText(/^silent for \d/).waitFor();
    await card.getByRole('button', { name: 'Connect… Night watch' }).click();
    const dialog = page.getByRole('dialog', { name: 'Connect Night watch' });
    await dialog.getByRole('button', { name: 'Make the line to paste' }).click();
    await dialog.getByText('Waiting for Night watch to connect…').waitFor();
    const end = paste(await lineOf(dialog));
    try {
      await dialog.getByText('Night watch has connected.').waitFor();
      await page.keyboard.press('Escape');
      await card.getByText('Online').waitFor();
      await card.getByRole('button', { name: /^Connect…/ }).waitFor({ state: 'detached' });
      await card.getByText(/^silent for/).waitFor({ state: 'detached' });
    } finally {
      await end();
    }
  },

  // Waiting files and messages of an agent that is not connected.
  async waiting({ page }) {
    const agent = await makeAgent('Absent');
    await enter(page);
    await page.goto(`${origin}/#/`);
    const card = page.getByRole('main').getByRole('listitem').filter({ hasText: 'Absent' });
    await card.getByText('nothing waits').waitFor();
    await card.getByText('Not connected yet').waitFor();
    await card.getByText('never seen').waitFor();
    const message = { role: 'user', messageId: 'm1', parts: [{ kind: 'text', text: 'Are you there?' }] };
    await ask('POST', `/workspaces/${agent.id}/a2a`, { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } });
    const form = new FormData();
    form.append('files', new Blob(['x'.repeat(2048)]), 'two.bin');
    const headers = { Authorization: `Bearer ${token}` };
    await fetch(`${origin}/workspaces/${agent.id}/chat/uploads`, { method: 'POST', headers, body: form });
    await card.getByText('1 file · 2 KB').waitFor();
    await card.getByText('1 message').waitFor();
    // The agent polls, reads its inbox up to there and stops: the page shows it without a reload.
    const rows = await agent.call('GET', 'activity?since_seq=0');
    await agent.call('GET', `activity?since_seq=${rows.at(-1).seq}`);
    await card.getByText('Online').waitFor();
    await card.getByText('1 message').waitFor({ state: 'hidden' });
    await card.getByText('1 file · 2 KB').waitFor();
  },

  // The second page of the list is held back: the first is shown without it. Later reads replace the list only when they are complete.
  async many_workspaces({ page }) {
    for (let n = 0; n < 110; n += 1) await ask('POST', '/workspaces', { name: `Agent ${n}` });
    const chats = page.getByRole('navigation', { name: 'Workspaces' }).getByRole('link');
    const newest = chats.filter({ hasText: 'Agent 109' });
    // Resolves with the function that lets the request continue.
    let caught = () => {};
    const nextHeld = () => new Promise((resolve) => (caught = resolve));
    await page.route(/\/workspaces\?.*after=/, (route) => caught(() => route.continue()));
    const [first] = await Promise.all([nextHeld(), enter(page)]);
    await eventually(async () => assert.equal(await chats.count(), 100));
    const again = nextHeld();
    await first();
    await newest.waitFor();
    const listed = (await ask('GET', '/workspaces')).length;
    assert.equal(await chats.count(), listed);
    const second = await again;
    assert.equal(await chats.count(), listed, 'nothing vanishes while the list is read again');
    await second();
  },

  async foreign_origins({ page, context }) {
    const agent = await makeAgent('Guarded');
    await openChat(page, agent);
    const Cookie = await cookieOf(context);
    const own = { Host: new URL(origin).host, Cookie };
    const body = JSON.stringify({ name: 'made by another origin' });
    const json = { ...own, 'Content-Type': 'application/json', 'Content-Length': body.length };
    assert.equal(await statusOf('GET', '/session', own), 200);
    assert.equal(await statusOf('GET', '/session', { ...own, Host: 'evil.example' }), 421);
    assert.equal(await statusOf('GET', '/', { ...own, Host: 'evil.example' }), 421);
    const foreign = [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }];
    for (const header of [...foreign, {}]) {
      assert.equal(await statusOf('POST', '/workspaces', { ...json, ...header }, body), 403, JSON.stringify(header));
    }

    // A page of another origin, in the same browser with the same cookie.
    const server = http.createServer((_, answer) => answer.setHeader('Content-Type', 'text/html').end('<title>evil</title>'));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const evil = await context.newPage();
      await evil.goto(`http://127.0.0.1:${server.address().port}/`);
      const outcome = await evil.evaluate(
        async ([where, id]) => {
          const read = async (path, init) => (await fetch(`${where}${path}`, { credentials: 'include', ...init })).text();
          const tries = [
            read('/session'),
            read(`/workspaces/${id}/activity`),
            read('/workspaces', { method: 'POST', mode: 'no-cors', body: '{"name":"made by another origin"}' }),
          ];
          const frame = document.createElement('iframe');
          frame.src = where;
          document.body.append(frame);
          await new Promise((resolve) => frame.addEventListener('load', resolve));
          const results = (await Promise.allSettled(tries)).map((one) => (one.status === 'fulfilled' ? one.value : ''));
          return [...results, frame.contentDocument ? 'same' : ''];
        },
        [origin, agent.id],
      );
      assert.deepEqual(outcome, ['', '', '', ''], 'a page of another origin reads nothing');
      await evil.close();
    } finally {
      server.close();
    }
    const names = (await ask('GET', '/workspaces')).map(({ name }) => name);
    assert.ok(!names.includes('made by another origin'));
  },
};
