// A conversation of ten thousand messages and five hundred files that wait. Nothing here is timed: what makes a page slow is
// counted instead, the nodes it keeps and the nodes it touches.

import assert from 'node:assert/strict';
import { ask, eventually, log, makeAgent, openChat, origin, token } from './support.mjs';

const kMessages = Number(process.env.RESTANTE_MESSAGES ?? 10_000);
const kFiles = 500;
const kFilesAtOnce = 50;
const kAtOnce = 24;
// A few dozen letters with their life lines, however many there are.
const kMostNodes = 5_000;
// One letter is some twenty nodes; a whole piece of the conversation would be many hundreds.
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
  await agent.call('POST', 'notify', { message: 'The very first letter' });
  await Promise.all(Array.from({ length: kAtOnce }, speak));
  for (let n = 0; n < kFiles; n += kFilesAtOnce) {
    const form = new FormData();
    for (let m = n; m < n + kFilesAtOnce; m += 1) form.append('files', new Blob([`file ${m}`]), `waiting-${m}.txt`);
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(`${origin}/workspaces/${agent.id}/chat/uploads`, { method: 'POST', headers, body: form });
    assert.ok(answer.ok, await answer.text());
  }
  await agent.call('POST', 'notify', { message: 'The very last letter' });
}

// Until ten frames have passed in which the log stayed as it was.
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

// Runs `action` and tells how many nodes inside the log came, went or changed.
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
    await log(page).getByText('The very last letter').waitFor();
    // Each file has been asked after; what moves from here on is what the walk does.
    await page.waitForFunction(() => {
      const cards = [...document.querySelectorAll('[data-file]')];
      return cards.length > 0 && cards.every((card) => card.textContent.includes('Kept until'));
    });
    // And no older page is on its way.
    await page.getByRole('button', { name: 'Earlier letters', exact: true }).waitFor();
    const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
    let most = await nodes();

    // Typing leaves the letters alone, and a new letter touches itself.
    const field = page.getByRole('textbox', { name: /^Message to/ });
    assert.equal(await touched(page, () => field.pressSequentially('How have you been, old friend?')), 0);
    const one = await touched(page, async () => {
      await agent.call('POST', 'notify', { message: 'One more' });
      await log(page).getByText('One more').waitFor();
    });
    assert.ok(one > 0 && one <= kMostTouched, `a new letter touched ${one} nodes`);

    // Up to the first letter: the older ones are fetched on the way, and what lies behind is let go.
    const scroller = page.getByRole('region', { name: 'Letters' });
    const first = log(page).getByText('The very first letter');
    const older = page.getByRole('button', { name: /Earlier letters|Fetching…/ });
    await scroller.hover();
    while ((await older.count()) > 0 || !(await first.isVisible())) {
      await page.mouse.wheel(0, -20_000);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      most = Math.max(most, await nodes());
    }
    const middle = log(page).getByText(`Question ${kMessages / 2} of many`, { exact: true });
    await eventually(async () => assert.equal(await middle.count(), 0, 'what lies far from the reader is not drawn'));
    const unread = page.getByRole('button', { name: 'New letters' });
    assert.equal(await unread.count(), 0, 'old letters are no news');
    await agent.call('POST', 'notify', { message: 'While you read' });
    await unread.waitFor();
    assert.ok(await first.isVisible(), 'the reader is left where they are');

    // Every letter has its place, in order, without being drawn.
    const height = await scroller.evaluate((element) => element.scrollHeight);
    assert.ok(height > kMessages * 30, `${kMessages} letters in ${height} pixels`);
    await scroller.focus();
    await page.keyboard.press('End');
    await log(page).getByText('While you read').waitFor();
    // The end itself is reached: the last letter is drawn wherever the reader is, and scrolling there takes many frames.
    await unread.waitFor({ state: 'detached' });
    most = Math.max(most, await nodes());
    assert.ok(most <= kMostNodes, `${most} nodes`);
    assert.equal(await touched(page, () => field.pressSequentially(' Well, I hope.')), 0);

    // The files that wait were asked for in pages, not one by one.
    assert.ok(looks.filter((url) => url.pathname.endsWith('/pending-uploads')).length >= 1);
    assert.ok(looks.length <= 20, `${looks.length} requests for ${kFiles} files`);
    console.log(`${kMessages} letters, ${kFiles} files: at most ${most} nodes, ${one} for a new letter, ${looks.length} looks`);
  },
};
