// The walks of a person who writes to agents: signing in, sending, watching, leaving.

import assert from 'node:assert/strict';
import { cardOf, digest, enter, eventually, log, makeAgent, openChat, origin, picture, seeDelivered, seeReply, send, titled, token, written } from './support.mjs';

export default {
  async invitation({ page, context }) {
    await enter(page);
    assert.ok(!page.url().includes('token'), `the address still holds the token: ${page.url()}`);
    await page.getByRole('navigation', { name: 'Workspaces' }).getByRole('link').first().waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.ok(!kept.includes(token), 'the token is kept where a script can read it');
    const cookies = await context.cookies();
    assert.ok(cookies.length > 0, 'no session cookie');
    for (const cookie of cookies) {
      assert.ok(cookie.name.startsWith('__Host-') && cookie.secure, `cookie ${cookie.name} is not bound to this host`);
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
    const sentMessage = written(page, text);
    await sentMessage.waitFor();
    for (const { name } of files) await seeDelivered(page, name);
    for (const file of files) await seeReply(page, file);
    assert.equal(await sentMessage.count(), 1, 'the message is there once');
    assert.equal(await sentMessage.locator('[data-file]').count(), files.length, 'with its files');
    assert.ok(!page.url().includes('token'));
  },

  // An agent that does one thing at a time, so that every step of a file's progress can be seen.
  async progress({ page }) {
    const agent = await makeAgent('Slow agent');
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await enter(page);
    await page.goto(`${origin}/#/chat/${agent.id}`);
    await titled(page, 'Slow agent').waitFor();
    await send(page, 'One file.', [{ name: 'slow.txt', mimeType: 'text/plain', buffer: Buffer.from('take your time') }]);
    const card = cardOf(page, 'slow.txt');
    await card.and(page.locator('[data-stage="staged"]')).waitFor();
    // "Kept until" comes from the one status request for a new file; every later change comes from the stream.
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
    assert.deepEqual(asked.filter((url) => /[?&]wait=[1-9]/.test(url)), [], 'the inbox was polled');
    assert.equal(asked.filter((url) => url.endsWith(`${agent.id}/events/stream`)).length, 1);
  },

  // The server closes the oldest of too many streams: eight more of the same session close the page's stream.
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
    await eventually(() => assert.equal(begun.length, 1, 'the page’s stream is the oldest'));

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
    assert.equal(await log(page).getByText('Before the cut.').count(), 1, 'shown once');
    const from = () => begun.map((resync) => resync.replayed_from);
    await eventually(() => assert.deepEqual(from(), [undefined, 1], 'the browser continues at its last event'));
    await agent.call('POST', 'notify', { message: 'And live again.' });
    await log(page).getByText('And live again.').waitFor();
    assert.equal(streams.length, 2);
  },

  // A hidden tab closes its streams, and is up to date when it is shown again.
  async asleep({ page }) {
    const agent = await makeAgent('Night owl');
    const streams = new Set();
    const isStream = (request) => request.url().endsWith('/events/stream');
    page.on('request', (request) => isStream(request) && streams.add(request));
    page.on('requestfailed', (request) => streams.delete(request));
    page.on('requestfinished', (request) => streams.delete(request));
    await page.clock.install();
    await enter(page);
    await page.goto(`${origin}/#/chat/${agent.id}`);
    await agent.call('POST', 'notify', { message: 'Good night.' });
    await log(page).getByText('Good night.').waitFor();
    await send(page, '', [{ name: 'overnight.txt', mimeType: 'text/plain', buffer: Buffer.from('sleep well') }]);
    await cardOf(page, 'overnight.txt').and(page.locator('[data-stage="staged"]')).waitFor();

    const turn = (hidden) =>
      page.evaluate((now) => {
        Object.defineProperty(document, 'hidden', { value: now, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith(`${agent.id}/events/stream`));
    await turn(true);
    await page.clock.fastForward(90_000);
    await ended;
    const { file_id: file } = (await agent.call('GET', 'pending-uploads'))[0];
    await agent.call('GET', `pending-uploads/${file}/content`);
    await agent.call('POST', `pending-uploads/${file}/ack`);
    await agent.call('POST', 'notify', { message: 'Good morning.' });
    await eventually(() => assert.equal(streams.size, 0, 'a hidden tab has no open stream'));
    await turn(false);
    await log(page).getByText('Good morning.').waitFor();
    await seeDelivered(page, 'overnight.txt');
    assert.equal(await log(page).getByText('Good night.').count(), 1, 'shown once');
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

    const sentMessage = written(page, '{{7*7}}');
    await sentMessage.getByText(text, { exact: true }).waitFor();
    await sentMessage.locator('[data-stage="acked"]').waitFor();
    await log(page).locator('article.agent', { hasText: digest(Buffer.from(svg)) }).last().waitFor();
    assert.equal(await page.locator('main img, main script, main a[href^="javascript:"]').count(), 0, 'text became markup');
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  },

  // An agent's text is shown as Markdown, and nothing in it runs.
  async markdown({ page }) {
    const agent = await makeAgent('<img src=x onerror=globalThis.pwned=6>');
    await openChat(page, agent);
    const message = [
      '# A **heading**',
      'Go [there](https://example.org/a), not [here](javascript:globalThis.pwned=7) nor [here](data:text/html,<script>1</script>).',
      '<script>globalThis.pwned=8</script><svg onload=globalThis.pwned=9>',
      '- one\n- `two`',
      '```\n<b>code</b>\n```',
    ];
    await agent.call('POST', 'notify', { message: message.join('\n\n') });
    const reply = log(page).locator('article.agent');
    await reply.getByRole('heading', { name: 'A heading' }).waitFor();
    assert.equal(await reply.getByRole('strong').innerText(), 'heading');
    const links = reply.getByRole('link');
    assert.equal(await links.count(), 1, 'only one of them is a link');
    assert.equal(await links.getAttribute('href'), 'https://example.org/a');
    assert.match(await links.getAttribute('rel'), /noopener/);
    assert.equal(await links.getAttribute('target'), '_blank');
    assert.deepEqual(await reply.getByRole('listitem').allInnerTexts(), ['one', 'two']);
    assert.equal((await reply.locator('pre').innerText()).trim(), '<b>code</b>');
    await reply.getByText(message[2], { exact: true }).waitFor();
    await reply.getByText('[here](javascript:globalThis.pwned=7)').waitFor();
    assert.equal(await page.locator('img, main script, main svg[onload]').count(), 0, 'text became markup');
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
    const shown = await page.getByRole('alert').innerText();
    assert.match(shown, /“heavy\.bin” is 26,214,401 bytes; the limit for one file is 26,214,400 bytes\./);
    assert.match(shown, /“nothing\.txt” is empty/);
    assert.equal(await page.getByRole('list', { name: 'Files to send' }).count(), 0);
    assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), 'there is nothing to send');

    // A text that is too long for a message stays in the composer, and so do its files.
    const text = 'x'.repeat(1_048_576);
    await send(page, text, [{ name: 'beside.txt', mimeType: 'text/plain', buffer: Buffer.from('beside it') }]);
    await page.getByRole('alert').getByText(/^This text is 1\.0 MB; one message carries at most 960 KB/).waitFor();
    assert.equal(await page.getByRole('textbox', { name: /^Message to/ }).inputValue(), text);
    await page.getByRole('list', { name: 'Files to send' }).getByText('beside.txt').waitFor();
    assert.deepEqual(uploads, []);
  },

  async leaving({ page, context, expected }) {
    await enter(page);
    const cookies = await context.cookies();
    expected.add(`${origin}/session`);
    // Requests that are made at that moment may already be refused.
    expected.add(/\/(workspaces|events\/stream|admin\/uploads\/stats)/);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await picture(page, 'sign-in');

    // The old cookie must no longer work: sign-out ends the session on the server.
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
