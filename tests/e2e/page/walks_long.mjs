// A conversation of ten thousand messages and five hundred files that wait. Nothing here is timed. The walk counts what makes
// a page slow instead: the nodes that it has and the nodes that it changes.

import assert from 'node:assert/strict';
import { ask, eventually, log, makeAgent, openChat, origin, token } from './support.mjs';

const kMessages = Number(process.env.RESTANTE_MESSAGES ?? 10_000);
const kFiles = 500;
const kFilesAtOnce = 50;
const kAtOnce = 24;
// A few dozen messages with the progress of their files, however long the conversation is.
const kMostNodes = 5_000;
// One message has about twenty nodes; a whole chunk of the conversation would have many hundreds.
const kMostTouched = 60;

async function fill(agent) {
  let next = 1;
  const speak = async () => {
    for (let n = next++; n <= kMessages; n = next++) {
      if (n % 2) await agent.call('POST', 'notify', { message: `Answer **${n}** of many` });
      else {
        const message = { role: 'user', messageId: `m${n}`, parts: [{ kind: 'text', text: `Question ${n} of many` }] };
        await ask('POST', `/workspaces/${agent.id}/a2a`, { jsonrpc: '2.0', id: n, method: 'message/send', params: { message } });
      }
    }
  };
  await agent.call('POST', 'notify', { message: 'The very first message' });
  await Promise.all(Array.from({ length: kAtOnce }, speak));
  for (let n = 0; n < kFiles; n += kFilesAtOnce) {
    const form = new FormData();
    for (let m = n; m < n + kFilesAtOnce; m += 1) form.append('files', new Blob([`file ${m}`]), `waiting-${m}.txt`);
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(`${origin}/workspaces/${agent.id}/chat/uploads`, { method: 'POST', headers, body: form });
    assert.ok(answer.ok, await answer.text());
  }
  await agent.call('POST', 'notify', { message: 'The very last message' });
}

// Waits until the conversation has not changed for ten frames.
const settled = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        let still = 0;
        const watcher = new MutationObserver(() => (still = 0));
        watcher.observe(document.querySelector('[role=log]'), { subtree: true, childList: true });
        const step = () => {
          still += 1;
          if (still < 10) return void requestAnimationFrame(step);
          watcher.disconnect();
          resolve();
        };
        step();
      }),
  );

// Runs `action` and returns how many nodes of the conversation were added, removed or changed.
async function touched(page, action) {
  await settled(page);
  await page.evaluate(() => {
    globalThis.touchedNodes = 0;
    globalThis.watcher = new MutationObserver((records) => {
      const count = (node) => 1 + (node.querySelectorAll?.('*').length ?? 0);
      for (const { addedNodes, removedNodes } of records) {
        for (const node of [...addedNodes, ...removedNodes]) globalThis.touchedNodes += count(node);
      }
    });
    const everything = { subtree: true, childList: true };
    globalThis.watcher.observe(document.querySelector('[role=log]'), everything);
  });
  await action();
  return page.evaluate(() => {
    globalThis.watcher.disconnect();
    return globalThis.touchedNodes;
  });
}

export default {
  async long({ page }) {
    const agent = await makeAgent('Old friend');
    await fill(agent);
    const looks = [];
    page.on('request', (request) => {
      if (request.url().includes(`${agent.id}/pending-uploads`)) looks.push(new URL(request.url()));
    });
    await openChat(page, agent);
    await log(page).getByText('The very last message').waitFor();
    // The state of each file has been read; every later change comes from the walk.
    await page.waitForFunction(() => {
      const cards = [...document.querySelectorAll('[data-file]')];
      return cards.length > 0 && cards.every((card) => card.textContent.includes('Kept until'));
    });
    // And no request for older messages is running.
    await page.getByRole('button', { name: 'Earlier messages', exact: true }).waitFor();
    const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
    let most = await nodes();

    // Typing changes no message, and a new message changes only its own nodes.
    const field = page.getByRole('textbox', { name: /^Message to/ });
    assert.equal(await touched(page, () => field.pressSequentially('How have you been, old friend?')), 0);
    const one = await touched(page, async () => {
      await agent.call('POST', 'notify', { message: 'One more' });
      await log(page).getByText('One more').waitFor();
    });
    assert.ok(one > 0 && one <= kMostTouched, `a new message changed ${one} nodes`);

    // Up to the first message: older messages are fetched on the way, and those far behind are no longer drawn.
    const scroller = page.getByRole('region', { name: 'Messages' });
    const first = log(page).getByText('The very first message');
    const older = page.getByRole('button', { name: /Earlier messages|Fetching…/ });
    await scroller.hover();
    while ((await older.count()) > 0 || !(await first.isVisible())) {
      await page.mouse.wheel(0, -20_000);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      most = Math.max(most, await nodes());
    }
    const middle = log(page).getByText(`Question ${kMessages / 2} of many`, { exact: true });
    await eventually(async () => assert.equal(await middle.count(), 0, 'messages far from the visible part are not drawn'));
    const unread = page.getByRole('button', { name: 'New messages' });
    assert.equal(await unread.count(), 0, 'old messages are not announced as new');
    await agent.call('POST', 'notify', { message: 'While you read' });
    await unread.waitFor();
    assert.ok(await first.isVisible(), 'the view does not move');

    // Every message has its place, in order, without being drawn.
    const height = await scroller.evaluate((element) => element.scrollHeight);
    assert.ok(height > kMessages * 30, `${kMessages} messages in ${height} pixels`);
    await scroller.focus();
    await page.keyboard.press('End');
    await log(page).getByText('While you read').waitFor();
    // Wait until the view is at the end: the last message is always drawn, and scrolling there takes many frames.
    await unread.waitFor({ state: 'detached' });
    most = Math.max(most, await nodes());
    assert.ok(most <= kMostNodes, `${most} nodes`);
    assert.equal(await touched(page, () => field.pressSequentially(' Well, I hope.')), 0);

    // The states of the waiting files were read as lists, not one by one.
    assert.ok(looks.filter((url) => url.pathname.endsWith('/pending-uploads')).length >= 1);
    assert.ok(looks.length <= 20, `${looks.length} requests for ${kFiles} files`);
    console.log(`${kMessages} messages, ${kFiles} files: at most ${most} nodes, ${one} for a new message, ${looks.length} status requests`);
  },
};
