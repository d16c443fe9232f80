// Every view, on desktop and phone, in light and dark: checked by axe, and saved as a picture.

import assert from 'node:assert/strict';
import { inspect } from './axe.mjs';
import { ask, drop, enter, eventually, log, makeAgent, openChat, origin, picture, send, otherBrowser, titled, token } from './support.mjs';

const kReport = `# Review of the parser

I read **three** files; it looks *fine*. See [the notes](https://example.org/notes) or \`git show\`.

1. tests pass
2. one nit: rename \`x\`

| file | lines |
|---|---|
| parser.cpp | 412 |

\`\`\`cpp
return 0;
\`\`\`

> Ship it.`;

// Elements that are wider than the screen, unless they are inside of an element that scrolls.
const stickingOut = () => {
  const clipped = (element) => element && (getComputedStyle(element).overflowX !== 'visible' || clipped(element.parentElement));
  const outside = (element) => element.getBoundingClientRect().right > innerWidth + 1;
  const found = [...document.querySelectorAll('body *')].filter((element) => outside(element) && !clipped(element.parentElement));
  return found.map((element) => element.outerHTML.slice(0, 120));
};

async function look(page, name) {
  await picture(page, name, async (how) => {
    await eventually(async () => assert.deepEqual(await page.evaluate(stickingOut), [], `${name} ${how} is wider than the screen`));
    await inspect(page, `${name} ${how}`);
  });
}

async function everyEnding(page) {
  const agent = await makeAgent('Night reviewer');
  await openChat(page, agent);
  await drop(page, ['taken.txt', 'unreadable.bin', 'unwanted.md'].map((name) => ({ name, type: 'text/plain', text: `${name}\n` })));
  await send(page, 'Three for the night shift.', []);
  // All three are in the inbox, and their message too: a file that is still being sent has no id.
  await page.locator('[data-file][data-stage="staged"]').nth(2).waitFor();
  const files = new Map((await agent.call('GET', 'pending-uploads')).map((file) => [file.name, file.file_id]));
  await agent.call('GET', `pending-uploads/${files.get('taken.txt')}/content`);
  await agent.call('POST', `pending-uploads/${files.get('taken.txt')}/ack`);
  await agent.call('POST', `pending-uploads/${files.get('unreadable.bin')}/fail`, { reason: 'not a format I know' });
  await ask('DELETE', `/workspaces/${agent.id}/pending-uploads/${files.get('unwanted.md')}`);
  await drop(page, [{ name: 'waiting.txt', type: 'text/plain', text: 'patience\n'.repeat(9) }]);
  await send(page, '', []);
  for (const stage of ['acked', 'failed', 'recalled', 'staged']) await page.locator(`[data-file][data-stage="${stage}"]`).waitFor();
  await page.getByRole('button', { name: 'Preview waiting.txt' }).click();
  await page.getByRole('group', { name: 'Beginning of waiting.txt' }).waitFor();
  await agent.call('POST', 'notify', { message: kReport });
  await log(page).getByRole('heading', { name: 'Review of the parser' }).waitFor();
  return agent;
}

export default {
  async looks({ page, context, expected }) {
    expected.add(`${origin}/session`);
    await page.goto(origin);
    await page.getByLabel('Token').waitFor();
    await look(page, 'sign-in');

    await enter(page);
    await send(page, 'The figures of May.', [{ name: 'figures.csv', mimeType: 'text/csv', buffer: Buffer.from('month,letters\nMay,31\n') }]);
    await page.locator('[data-stage="acked"]').first().waitFor();
    await log(page).locator('article.agent').first().waitFor();
    await look(page, 'chat-delivered');

    const agent = await everyEnding(page);
    await look(page, 'chat-endings');
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByRole('button', { name: 'Make a link' }).click();
    await page.getByRole('button', { name: 'Copy Link to share' }).waitFor();
    await look(page, 'share');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    const views = page.getByRole('navigation', { name: 'Views' }).getByRole('link');
    const names = await views.allInnerTexts();
    assert.ok(names.length >= 1);
    for (const name of names) {
      await views.filter({ hasText: name }).click();
      await titled(page, name).waitFor();
      await look(page, name.toLowerCase());
    }
    await page.goto(`${origin}/#/`);
    await page.getByRole('button', { name: 'New agent' }).click();
    await look(page, 'new-agent-name');
    await page.getByLabel('What is it called?').fill('Archivist');
    await page.keyboard.press('Enter');
    await page.getByText('Waiting for Archivist to connect…').waitFor();
    await look(page, 'new-agent-line');

    const { link } = await ask('POST', '/admin/invites', { kind: 'sender', workspace_id: agent.id });
    const { theirs, guest } = await otherBrowser(context);
    await guest.page.goto(link);
    await guest.page.locator('[data-stage="acked"]').waitFor();
    await look(guest.page, 'sender');
    assert.deepEqual(guest.complaints, []);
    await theirs.close();
  },

  // Without a mouse: everything is reached with Tab and done with Enter, Space and Escape.
  async keyboard({ page, expected }) {
    expected.add(`${origin}/session`);
    const focused = () =>
      page.evaluate(() => {
        const { activeElement: at } = document;
        return (at?.getAttribute('aria-label') ?? at?.textContent ?? '').trim();
      });
    const tabTo = async (name, key = 'Tab') => {
      for (let presses = 0; presses < 300; presses += 1) {
        if ((await focused()).startsWith(name)) return;
        await page.keyboard.press(key);
      }
      assert.fail(`Tab never reaches ${name}`);
    };
    // Registered before the click, so that the browser does not open its own file dialog.
    const chooser = page.waitForEvent('filechooser', { timeout: 0 });
    chooser.catch(() => {});
    await page.goto(origin);
    await page.getByLabel('Token').focus();
    await page.keyboard.type(token);
    await page.keyboard.press('Enter');
    await titled(page, 'Workspaces').waitFor();
    await tabTo('New agent');
    await page.keyboard.press('Enter');
    await page.getByLabel('What is it called?').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('Typed to');
    await page.keyboard.press('Enter');
    await page.getByText('Waiting for Typed to to connect…').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await eventually(async () => assert.match(await focused(), /^New agent/, 'the focus is given back'));
    await page.getByRole('main').getByRole('link', { name: 'Typed to', exact: true }).waitFor();
    await tabTo('Typed to');
    await page.keyboard.press('Enter');
    await page.getByRole('form', { name: 'Write to Typed to' }).waitFor();
    await tabTo('Message to Typed to');
    await page.keyboard.type('First line');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('second line');
    await page.keyboard.press('Enter');
    await log(page).getByText('First line\nsecond line').waitFor();
    await tabTo('Attach files', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await (await chooser).setFiles([{ name: 'chosen.txt', mimeType: 'text/plain', buffer: Buffer.from('chosen') }]);
    await page.getByRole('button', { name: 'Remove chosen.txt' }).waitFor();
    await tabTo('Send');
    await page.keyboard.press('Enter');
    await page.locator('[data-stage="staged"]').waitFor();
  },
};
