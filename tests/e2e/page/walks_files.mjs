// The walks of files: being sent, cancelled, tried again, recalled, failed, expired, previewed.

import assert from 'node:assert/strict';
import { ask, brake, cardOf, drop, enter, eventually, log, makeAgent, openChat, origin, seeDelivered, send, setClock, transferOf, written } from './support.mjs';

const staged = (page, name) => cardOf(page, name).and(page.locator('[data-stage="staged"]')).waitFor();
const stage = (page, name, word) => cardOf(page, name).and(page.locator(`[data-stage="${word}"]`)).waitFor();
const fileOf = async (agent, name) => (await agent.call('GET', 'pending-uploads')).find((file) => file.name === name).file_id;

// The word "delivered" must not be in the conversation before the ack.
async function neverDelivered(page) {
  assert.doesNotMatch(await log(page).innerText(), /delivered/i, 'the word is shown only after the ack');
}

// `word` with its time, and with the day when the server's day is not the page's: around midnight.
async function lastStep(page, name, word, why) {
  const steps = cardOf(page, name).getByRole('list', { name: `Progress of ${name}` }).getByRole('listitem');
  const timed = new RegExp(`^${word}\\s+(.+, )?\\d+:\\d`);
  await eventually(async () => assert.match(await steps.last().innerText(), timed, why));
}

export default {
  async drop({ page, context }) {
    const files = [
      { name: 'drawings.zip', type: 'application/zip', size: 3_000_000 },
      { name: 'note.txt', type: 'text/plain', text: 'Dear agent,\n' },
    ];
    await enter(page);
    // Slow enough to take minutes, so that the upload still runs while it is checked.
    await brake(page, context, 20_000);
    await drop(page, files);
    const chosen = page.getByRole('list', { name: 'Files to send' }).getByRole('listitem');
    await eventually(async () => assert.equal(await chosen.count(), 2));
    await send(page, 'Dropped on you.', []);
    const progress = page.getByRole('progressbar', { name: 'Sending drawings.zip' });
    await progress.waitFor();
    // It makes progress, and shows the rate.
    await page.getByText(/[\d.]+ [KM]B sent, [\d.]+ [KM]?B\/s/).waitFor();
    const first = await progress.getAttribute('value');
    await page.waitForFunction(
      ([bar, before]) => !bar.isConnected || Number(bar.getAttribute('value')) > Number(before),
      [await progress.elementHandle(), first],
    );
    await brake(page, context, 0);
    for (const { name } of files) await seeDelivered(page, name);

    await page.reload();
    await written(page, 'Dropped on you.').waitFor();
    for (const { name } of files) await seeDelivered(page, name);
  },

  async paste({ page }) {
    const agent = await makeAgent('Pasted to');
    await openChat(page, agent);
    const clipboardData = await transferOf(page, [{ name: 'clip.txt', type: 'text/plain', text: 'from another program' }]);
    const field = page.getByRole('textbox', { name: /^Message to/ });
    await field.evaluate((element, data) => {
      element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
    }, clipboardData);
    await page.getByRole('list', { name: 'Files to send' }).getByText('clip.txt').waitFor();
    await field.press('Enter');
    await staged(page, 'clip.txt');
  },

  async cancel({ page, context }) {
    const agent = await makeAgent('Patient');
    await openChat(page, agent);
    await brake(page, context, 20_000);
    await drop(page, [
      { name: 'too-much.bin', type: 'application/octet-stream', size: 8_000_000 },
      { name: 'enough.txt', type: 'text/plain', text: 'this is enough' },
    ]);
    await send(page, 'Two, then one.', []);
    await page.getByRole('progressbar', { name: 'Sending too-much.bin' }).waitFor();
    await page.getByRole('button', { name: 'Cancel too-much.bin' }).click();
    await brake(page, context, 0);
    await staged(page, 'enough.txt');
    assert.equal(await log(page).getByText('too-much.bin').count(), 0, 'the cancelled file is not in the chat');
    assert.deepEqual((await agent.call('GET', 'pending-uploads')).map((file) => file.name), ['enough.txt']);
  },

  async retry({ page, context, expected }) {
    const agent = await makeAgent('Reached at last');
    await openChat(page, agent);
    // Wait until the inbox has been read: a chat that could not be opened follows nothing.
    await page.getByRole('heading', { name: 'Nothing sent yet' }).waitFor();
    // All requests that fail because the network is down.
    expected.add(/\/(workspaces|events\/stream|admin\/uploads\/stats|uploads\/limits)/);
    await context.setOffline(true);
    await drop(page, [{ name: 'stubborn.txt', type: 'text/plain', text: 'again' }]);
    await send(page, 'Try until it works.', []);
    await log(page).getByRole('alert').getByText('The server cannot be reached.').waitFor();
    await log(page).getByText('not sent').waitFor();
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Retry stubborn.txt' }).click();
    await staged(page, 'stubborn.txt');
    assert.equal((await agent.call('GET', 'pending-uploads')).length, 1, 'once');
  },

  // A file of the agent, and what the page shows after the server has deleted it.
  async withdrawn({ page, expected }) {
    const agent = await makeAgent('Forgetful');
    await openChat(page, agent);
    const { files } = await agent.upload('answer.txt', 'an answer');
    const attachments = files.map(({ uri, name, mimeType, size }) => ({ uri, name, mimeType, size }));
    await agent.call('POST', 'notify', { message: 'Here it is.', attachments });
    await cardOf(page, 'answer.txt').getByRole('link').waitFor();
    const [, id] = files[0].uri.split('/');
    await ask('DELETE', `/workspaces/${agent.id}/pending-uploads/${id}`);
    expected.add(/\/content$/);
    await page.getByRole('button', { name: 'Preview answer.txt' }).click();
    await cardOf(page, 'answer.txt').getByText('This file is no longer stored on the server.', { exact: true }).waitFor();
    assert.equal(await cardOf(page, 'answer.txt').getByRole('link').count(), 0, 'there is nothing to download');
  },

  // Against a server that refuses a message of this length.
  async discarded({ page, expected }) {
    const agent = await makeAgent('Never informed');
    await openChat(page, agent);
    expected.add(/\/a2a$/);
    await send(page, 'x'.repeat(8_000), [{ name: 'attached.txt', mimeType: 'text/plain', buffer: Buffer.from('attached') }]);
    await log(page).getByRole('button', { name: 'Try again' }).waitFor();
    assert.equal((await agent.call('GET', 'pending-uploads')).length, 1, 'its file was sent first');
    await log(page).getByRole('button', { name: 'Discard' }).click();
    await stage(page, 'attached.txt', 'recalled');
    assert.deepEqual(await agent.call('GET', 'pending-uploads'), []);
  },

  async endings({ page }) {
    const agent = await makeAgent('Choosy');
    await openChat(page, agent);
    await drop(page, ['back.txt', 'broken.txt'].map((name) => ({ name, type: 'text/plain', text: name })));
    await send(page, 'One I want back, one you cannot read.', []);
    await staged(page, 'back.txt');
    await staged(page, 'broken.txt');
    await cardOf(page, 'back.txt').getByText('Waiting', { exact: true }).waitFor();
    await page.getByText('Choosy has never connected. What you send waits until it does.').waitFor();
    await neverDelivered(page);

    const broken = await fileOf(agent, 'broken.txt');
    const recall = page.getByRole('button', { name: 'Recall back.txt', exact: true });
    await recall.click();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await recall.click();
    await page.getByRole('button', { name: 'Yes, recall back.txt' }).click();
    await stage(page, 'back.txt', 'recalled');
    await lastStep(page, 'back.txt', 'Recalled');
    assert.equal(await cardOf(page, 'back.txt').getByRole('link').count(), 0, 'there is nothing to download');

    await agent.call('GET', `pending-uploads/${broken}/content`);
    await stage(page, 'broken.txt', 'fetched');
    assert.equal(await page.getByRole('button', { name: 'Recall broken.txt' }).count(), 0, 'the agent has fetched it');
    await agent.call('POST', `pending-uploads/${broken}/fail`, { reason: 'no room <b>on</b> the disk' });
    await stage(page, 'broken.txt', 'failed');
    await cardOf(page, 'broken.txt').getByText('no room <b>on</b> the disk').waitFor();
    await lastStep(page, 'broken.txt', 'Failed');
    await neverDelivered(page);

    // Both endings are still shown after a reload, and a failure is not final.
    await page.reload();
    await stage(page, 'back.txt', 'recalled');
    await cardOf(page, 'broken.txt').getByText('no room <b>on</b> the disk').waitFor();
    await agent.call('POST', `pending-uploads/${broken}/ack`);
    await seeDelivered(page, 'broken.txt');
  },

  // Against a server on which files expire after five minutes; the walk sets its clock.
  async expired({ page }) {
    const agent = await makeAgent('Too late');
    await openChat(page, agent);
    await drop(page, [{ name: 'stale.txt', type: 'text/plain', text: 'soon gone' }]);
    await send(page, 'Hurry.', []);
    await staged(page, 'stale.txt');
    setClock(400);
    // The call is refused while the server's own sweep runs.
    await eventually(() => ask('POST', '/admin/sweep', {}));
    await stage(page, 'stale.txt', 'expired');
    await lastStep(page, 'stale.txt', 'Expired');
    await neverDelivered(page);
    await page.reload();
    await stage(page, 'stale.txt', 'expired');
    await lastStep(page, 'stale.txt', 'Expired', 'the progress stays after the file was deleted');
    assert.equal(await cardOf(page, 'stale.txt').getByRole('link').count(), 0);
  },

  async preview({ page, context }) {
    const agent = await makeAgent('Gallery');
    await openChat(page, agent);
    const drawn = await page.evaluate(() => {
      const canvas = document.createElement('canvas');
      canvas.width = 320;
      canvas.height = 180;
      canvas.getContext('2d').fillRect(0, 0, 320, 90);
      return canvas.toDataURL('image/png').split(',')[1];
    });
    const evil = '<!doctype html><script>globalThis.pwned = 1</script><h1 onclick="pwned()">plain</h1>';
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.pwned=2"><script>globalThis.pwned=3</script></svg>';
    await send(page, 'Look.', [
      { name: 'half.png', mimeType: 'image/png', buffer: Buffer.from(drawn, 'base64') },
      { name: 'page.html', mimeType: 'text/html', buffer: Buffer.from(evil) },
      { name: 'drawing.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(svg) },
      { name: 'not-a-picture.png', mimeType: 'image/png', buffer: Buffer.from(evil) },
      { name: 'program.exe', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2, 3]) },
    ]);
    await staged(page, 'program.exe');
    const look = async () => {
      const picture = page.getByRole('img', { name: 'half.png' });
      await eventually(async () => assert.equal(await picture.evaluate((image) => image.complete && image.naturalWidth), 320));
      await page.getByText('This picture cannot be shown.').waitFor();
      for (const [name, content] of [['page.html', evil], ['drawing.svg', svg]]) {
        await page.getByRole('button', { name: `Preview ${name}` }).click();
        await page.getByRole('group', { name: `Beginning of ${name}` }).getByText(content, { exact: true }).waitFor();
      }
      assert.equal(await cardOf(page, 'program.exe').getByRole('button', { name: /^Preview/ }).count(), 0);
      assert.equal(await page.locator('main iframe, main object, main embed, main svg script').count(), 0);
      assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    };
    await look();
    await page.reload();
    await staged(page, 'program.exe');
    await look();

    // Opened by its address the file is downloaded, not shown.
    for (const name of ['page.html', 'drawing.svg']) {
      const href = await cardOf(page, name).getByRole('link', { name }).getAttribute('href');
      const tab = await context.newPage();
      const saved = tab.waitForEvent('download');
      await tab.goto(`${origin}${href}`).catch(() => null);
      await (await saved).cancel();
      assert.equal(await tab.evaluate(() => globalThis.pwned), undefined);
      await tab.close();
    }
  },
};
