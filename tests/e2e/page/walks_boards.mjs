// The walks of an operator: waiting files, tasks by state, the charts of the last day, and the health of the server.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { accessible } from './axe.mjs';
import { address, ask, enter, eventually, makeAgent, origin, picture, setClock, titled, token } from './support.mjs';

const bytes = (size) => Buffer.alloc(size, 'poste restante ');

// Files for an agent, as a person sends them; their ids by name.
async function stage(agent, files) {
  const form = new FormData();
  for (const [name, size] of files) form.append('files', new Blob([bytes(size)]), name);
  const answer = await fetch(`${origin}/workspaces/${agent.id}/chat/uploads`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: form,
  });
  assert.ok(answer.ok, `staging: ${answer.status}`);
  const rows = await ask('GET', `/admin/uploads?state=waiting&workspace=${agent.id}&limit=1000`);
  return Object.fromEntries(rows.uploads.map((row) => [row.name, row.file_id]));
}

const fetchFile = (agent, file) => agent.call('GET', `pending-uploads/${file}/content`);
const give = async (caller, callee, task, more = {}) =>
  (await caller.call('POST', 'delegate', { target_id: callee.id, task, ...more })).delegation_id;
const report = (callee, id, body) => callee.call('POST', `delegations/${id}/update`, body);
// Uploads an agent's outgoing file, to be named in the agent's task or result.
const attach = async (agent, name, text) => (await agent.upload(name, text)).files;
const statusOf = async (caller, id) => (await caller.call('GET', `delegations/${id}`)).status;

const until = (what, condition) => eventually(async () => assert.ok(await condition(), `still not: ${what}`));

// The agent reads and acks everything in its inbox.
async function readAll(agent) {
  const rows = await agent.call('GET', 'activity?since_seq=0&limit=500');
  await agent.call('POST', 'activity/ack', { acked_seq: rows.at(-1).seq });
}

async function go(page, view, title) {
  await page.goto(`${origin}/#/${view}`);
  await titled(page, title).waitFor();
}

const column = (page, title) => page.getByRole('region', { name: new RegExp(`^${title}`) });
const figure = (page, word) => page.locator('.figures > div', { hasText: word }).locator('dd');

// Texts of a chart that are outside of it, and figures that are wider than their tile.
const cutOff = () => {
  const inside = (part, whole) => {
    const [a, b] = [part.getBoundingClientRect(), whole.getBoundingClientRect()];
    return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
  };
  const words = [...document.querySelectorAll('svg text')].filter((word) => !inside(word, word.ownerSVGElement));
  const figures = [...document.querySelectorAll('.figures dd')].filter((one) => one.scrollWidth > one.clientWidth);
  return [...words, ...figures].map((one) => one.textContent);
};

// Agents with names, files in every state and tasks in every state but stuck.
async function furnish() {
  const [research, translator, books, night] = [
    await makeAgent('Research desk'),
    await makeAgent('Translator'),
    await makeAgent('Bookkeeper'),
    await makeAgent('Night shift'),
  ];
  const reading = await stage(research, [['survey-2026.pdf', 812_000], ['interviews.zip', 2_400_000], ['notes.md', 3_100]]);
  await fetchFile(research, reading['survey-2026.pdf']);
  await stage(night, [['lighthouse-scans.tar', 5_200_000], ['watch-list.csv', 18_200], ['photo-0413.jpg', 1_350_000], ['photo-0414.jpg', 1_410_000]]);
  const ledgers = await stage(books, [['invoices-october.xlsx', 240_000], ['receipts.pdf', 96_000]]);
  await fetchFile(books, ledgers['invoices-october.xlsx']);
  await books.call('POST', `pending-uploads/${ledgers['invoices-october.xlsx']}/fail`, { reason: 'the disk of the laptop is full' });
  const translated = await stage(translator, [['letter-de.docx', 44_000], ['contract-fr.pdf', 310_000]]);
  for (const file of Object.values(translated)) {
    await fetchFile(translator, file);
    await translator.call('POST', `pending-uploads/${file}/ack`);
  }

  await give(research, night, 'Look through the scans for every mention of the lamp of 1913.\nPage numbers, please.');
  await give(books, night, 'Compare the watch list with what was paid in October.');
  const picked = await give(research, books, 'Which of the invoices concern the archive?');
  await readAll(books);
  await until('picked up', async () => (await statusOf(research, picked)) === 'dispatched');
  const going = await give(research, translator, 'Translate the three letters into English, keep the line breaks.');
  await report(translator, going, { status: 'in_progress' });
  await translator.call('POST', `delegations/${going}/heartbeat`, { progress: 'second letter of three' });
  const done = await give(books, translator, 'What does “Skonto” mean on this invoice?');
  await report(translator, done, { status: 'in_progress' });
  await report(translator, done, { status: 'completed', result: 'A discount for paying early, here two per cent within ten days.' });
  const failed = await give(translator, books, 'Pay the invoice of the paper mill.');
  await report(books, failed, { status: 'failed', error: 'the bank refused the order: the account is closed' });
  return { research, translator, books, night, going, failed };
}

export default {
  async uploads_board({ page }) {
    const { night, books } = await furnish();
    await enter(page);
    await go(page, 'uploads', 'Uploads');
    const box = page.locator('.boxes li', { hasText: 'Night shift' });
    await box.getByText('4 never fetched').waitFor();
    await page.locator('.boxes li', { hasText: 'Research desk' }).getByText('1 fetched, not acked').waitFor();
    await page.locator('.files li', { hasText: 'invoices-october.xlsx' }).getByText('the disk of the laptop is full').waitFor();
    assert.equal(await page.getByText('letter-de.docx').count(), 0, 'an acked file no longer waits');
    await box.getByText(/of 4 GB/).waitFor();

    await page.getByRole('link', { name: /^Fetched, never acked/ }).click();
    const names = page.locator('.files .name');
    const row = (name) => page.locator('.files li', { has: page.getByText(name, { exact: true }) });
    await eventually(async () => assert.deepEqual(await names.allInnerTexts(), ['survey-2026.pdf']));
    await page.getByRole('link', { name: /^Never fetched/ }).click();
    await page.getByText('photo-0414.jpg').waitFor();
    await page.getByText('survey-2026.pdf').waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Workspace' }).selectOption({ label: 'Bookkeeper' });
    await eventually(async () => assert.deepEqual(await names.allInnerTexts(), ['receipts.pdf']));
    await page.getByRole('combobox', { name: 'Workspace' }).selectOption('');
    await page.getByRole('link', { name: /^All waiting/ }).click();

    // Live: the page shows what the agent does without a reload.
    const { 'receipts.pdf': receipts } = await stage(books, [['late-receipt.pdf', 9_000]]);
    await row('late-receipt.pdf').waitFor();
    await fetchFile(books, receipts);
    await row('receipts.pdf').getByText('fetched, not acked').waitFor();
    await books.call('POST', `pending-uploads/${receipts}/ack`);
    await row('receipts.pdf').waitFor({ state: 'detached' });
    await picture(page, 'uploads');
    await accessible(page, 'uploads');

    await box.getByRole('link', { name: 'Night shift' }).click();
    await page.getByRole('form', { name: 'Write to Night shift' }).waitFor();
    assert.ok(page.url().endsWith(`#/chat/${night.id}`));
  },

  // Events that come faster than the server can be asked are shown all the same.
  async endless_events({ page, context }) {
    const agent = await makeAgent('Busy agent');
    await enter(page);
    await go(page, 'uploads', 'Uploads');
    await page.getByText('All waiting').waitFor();
    const network = await context.newCDPSession(page);
    await network.send('Network.enable');
    const far = { offline: false, latency: 1_500, downloadThroughput: -1, uploadThroughput: -1 };
    await network.send('Network.emulateNetworkConditions', far);
    let going = true;
    const flow = (async () => {
      for (let n = 0; going; n += 1) await stage(agent, [[`page-${n}.txt`, 10]]);
    })();
    try {
      await page.locator('.files li', { hasText: 'page-0.txt' }).waitFor();
    } finally {
      going = false;
      await flow;
    }
  },

  // Files wait for a day here; the page's clock is set to one hour before they expire.
  async expiring({ page }) {
    const agent = await makeAgent('Late riser');
    await stage(agent, [['almanac.pdf', 9_000], ['tides.csv', 4_000]]);
    await enter(page);
    await go(page, 'uploads', 'Uploads');
    await page.locator('.files li', { hasText: 'tides.csv' }).waitFor();
    await page.getByRole('link', { name: /^Expiring soon/ }).click();
    await page.locator('.files li').first().waitFor({ state: 'detached' });
    await page.clock.setFixedTime(Date.now() + 23 * 3_600_000);
    await page.reload();
    const names = page.locator('.files .name');
    await eventually(async () => assert.deepEqual((await names.allInnerTexts()).sort(), ['almanac.pdf', 'tides.csv']));
    await page.getByRole('link', { name: /^Expiring soon/ }).filter({ hasText: '2' }).waitFor();
  },

  async tasks_board({ page }) {
    const { research, translator, night, going, failed } = await furnish();
    await enter(page);
    await go(page, 'delegations', 'Tasks');
    await column(page, 'Queued').getByText('Look through the scans').waitFor();
    await column(page, 'Picked up').getByText('Which of the invoices').waitFor();
    await column(page, 'Completed').getByText('A discount for paying early').waitFor();
    await column(page, 'Failed').getByText('the account is closed').waitFor();
    const card = column(page, 'In progress').locator('li', { hasText: 'Translate the three letters' });
    await eventually(async () => assert.match(await card.innerText(), /Research desk\s*→\s*Translator/));
    await card.getByText('second letter of three').waitFor();
    await picture(page, 'delegations');
    await accessible(page, 'tasks');

    await page.getByRole('combobox', { name: 'From' }).selectOption({ label: 'Bookkeeper' });
    await page.getByText('Look through the scans').waitFor({ state: 'detached' });
    await column(page, 'Queued').getByText('Compare the watch list').waitFor();
    await page.getByRole('combobox', { name: 'From' }).selectOption('');
    await page.getByRole('combobox', { name: 'To' }).selectOption({ label: 'Translator' });
    await column(page, 'Queued').getByText('Compare the watch list').waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'To' }).selectOption('');
    // This card comes with an unfiltered answer; after it, a filtered answer that is still on its way is ignored and removes no card.
    await give(research, night, 'Count the pages of the log.');
    await column(page, 'Queued').getByText('Count the pages of the log.').waitFor();

    // The details, by keyboard; then the agent's report appears without a reload.
    await card.getByRole('link').focus();
    await page.keyboard.press('Enter');
    const details = page.getByRole('dialog', { name: /^Translate the three letters/ });
    await details.getByText('Why it waits:').waitFor();
    for (const word of ['Agent seen', 'Task heartbeat', 'Progress', 'Deadline']) await details.getByText(word, { exact: true }).waitFor();
    await picture(page, 'task-details');
    await accessible(page, 'the details of a task');
    await translator.call('POST', `delegations/${going}/heartbeat`, { progress: 'last letter' });
    await details.getByText('last letter').first().waitFor();

    await details.getByRole('button', { name: 'Cancel task…' }).click();
    await details.getByRole('button', { name: 'Yes, cancel it' }).click();
    await details.getByRole('button', { name: 'Retry' }).waitFor();
    assert.equal(await statusOf(research, going), 'failed');
    await page.keyboard.press('Escape');
    await details.waitFor({ state: 'detached' });
    await column(page, 'Failed').getByText('Translate the three letters').waitFor();

    await page.goto(`${origin}/#/delegations/${failed}`);
    const old = page.getByRole('dialog', { name: /^Pay the invoice/ });
    await old.getByRole('button', { name: 'Retry' }).click();
    const again = page.getByRole('dialog', { name: /^Pay the invoice/ });
    await again.getByRole('link', { name: 'an earlier task' }).waitFor();
    assert.notEqual(new URL(page.url()).hash, `#/delegations/${failed}`);
    await page.keyboard.press('Escape');
    await column(page, 'Queued').getByText('Pay the invoice').waitFor();
  },

  async task_files({ page, expected }) {
    const [caller, callee] = [await makeAgent('Author'), await makeAgent('Illustrator')];
    const attachments = await attach(caller, 'chapter.txt', 'once upon a time');
    const id = await give(caller, callee, 'Draw the first page.', { attachments });
    await report(callee, id, { status: 'completed', attachments: await attach(callee, 'page.svg', '<svg/>') });
    await enter(page);
    await page.goto(`${origin}/#/delegations/${id}`);
    const details = page.getByRole('dialog', { name: /^Draw the first page/ });
    for (const [name, content] of [['chapter.txt', 'once upon a time'], ['page.svg', '<svg/>']]) {
      const coming = page.waitForEvent('download');
      await details.getByRole('link', { name }).click();
      const download = await coming;
      assert.equal(download.suggestedFilename(), name);
      assert.equal((await readFile(await download.path())).toString(), content);
    }
    await details.getByRole('region', { name: 'The result' }).getByRole('link', { name: 'page.svg' }).waitFor();
    await accessible(page, 'a task with files');

    // A deleted file is shown as such, and a task whose file was deleted is not retried without it.
    const lost = await give(caller, callee, 'Draw the second page.', { attachments: await attach(caller, 'gone.txt', 'gone') });
    const [file] = (await caller.call('GET', `delegations/${lost}`)).attachments;
    const [original] = (await ask('GET', `/admin/uploads?state=outgoing&workspace=${caller.id}&limit=1000`)).uploads.filter((row) => row.name === 'gone.txt');
    await report(callee, lost, { status: 'failed', error: 'no pencil' });
    await ask('DELETE', `/workspaces/${callee.id}/pending-uploads/${file.uri.split('/').at(-1)}`);
    await ask('DELETE', `/workspaces/${caller.id}/pending-uploads/${original.file_id}`);
    await page.goto(`${origin}/#/delegations/${lost}`);
    const failed = page.getByRole('dialog', { name: /^Draw the second page/ });
    await failed.getByText('no longer kept here').waitFor();
    expected.add(`${origin}/workspaces/${caller.id}/delegate`);
    await failed.getByRole('button', { name: 'Retry' }).click();
    await failed.getByText(`restante task retry ${lost} --file FILE`).waitFor();
  },

  // Against a server that calls a task stuck after one second.
  async stuck_task({ page }) {
    const [caller, callee] = [await makeAgent('Manager'), await makeAgent('Sleeper')];
    const id = await give(caller, callee, 'Count the stamps in the drawer.');
    await report(callee, id, { status: 'in_progress' });
    await enter(page);
    await go(page, 'delegations', 'Tasks');
    await page.getByRole('alert').getByText('One task is stuck').waitFor();
    await column(page, 'Stuck').getByText('Count the stamps').waitFor();
    await picture(page, 'delegations-stuck');
    await accessible(page, 'a stuck task');
    await column(page, 'Stuck').getByRole('link', { name: 'Count the stamps' }).click();
    await page.getByRole('dialog').getByText('Why it ended:').waitFor();
    await page.getByRole('dialog').getByRole('listitem').filter({ hasText: 'Stuck by the server' }).waitFor();
  },

  // Against a server that samples every 500 ms and keeps files for five minutes; the walk sets its clock.
  async dashboard({ page, expected }) {
    const agent = await makeAgent('Short memory');
    await enter(page);
    const { 'kept.txt': kept } = await stage(agent, [['kept.txt', 5_000], ['left.txt', 7_000]]);
    await fetchFile(agent, kept);
    await agent.call('POST', `pending-uploads/${kept}/ack`);
    setClock(400);
    expected.add(`${origin}/workspaces/nobody`);
    await page.evaluate(() => fetch('/workspaces/nobody').then((answer) => answer.text()));
    await go(page, 'dashboard', 'Dashboard');
    const chart = (title) => page.getByRole('region', { name: title, exact: true });
    await until('the figures are drawn', async () => Number((await figure(page, 'files staged').innerText()) ?? 0) >= 2);
    await until('the ack is counted', async () => Number(await figure(page, 'files acked').innerText()) >= 1);
    await until('what expired is counted', async () => /expired\s+[1-9]/.test(await chart('Files').innerText()));
    await until('a refusal is counted', async () => /4xx\)\s+[1-9]/.test(await chart('Errors').innerText()));
    await until('a delivery was timed', async () => /50 %\s+[\d.]+ (ms|s)/.test(await chart('Delivery time').innerText()));
    for (const title of ['Waiting bytes', 'Held polls', 'Sweeps', 'Open tasks', 'Tasks ended']) await chart(title).waitFor();
    await chart('Files').getByRole('img', { name: /^Files\. staged \d/ }).waitFor();

    await chart('Files').getByText('As a table').click();
    await eventually(async () => {
      const cells = await chart('Files').getByRole('row').last().getByRole('cell').allInnerTexts();
      assert.equal(cells.length, 4, cells.join());
    });
    await page.getByRole('button', { name: '24 hours' }).click();
    await page.getByRole('button', { name: '24 hours', pressed: true }).waitFor();
    await page.getByRole('button', { name: '1 hour', exact: true }).click();
    await chart('Files').getByText('As a table').click();
    await picture(page, 'dashboard', async (how) => {
      await eventually(async () => {
        assert.ok((await page.locator('svg text.tick').count()) > 8);
        assert.deepEqual(await page.evaluate(cutOff), [], `${how}: cut off`);
      });
    });
    await accessible(page, 'dashboard');
  },

  async health({ page }) {
    await enter(page);
    await go(page, 'health', 'Health');
    await page.getByText('All is well').waitFor();
    const stores = page.getByRole('region', { name: 'Stores' });
    await stores.getByText(/^SQLite 3\.\d+\.\d+, schema \d+/).waitFor();
    assert.equal(await stores.getByText('works', { exact: true }).count(), 2);
    const loops = page.getByRole('region', { name: 'Background work' });
    for (const name of ['presence', 'retention', 'sweep', 'delegations', 'integrity', 'series']) {
      await loops.getByRole('row', { name: new RegExp(`^${name} `) }).waitFor();
    }
    const settings = page.getByRole('region', { name: 'Configuration in effect' });
    await settings.getByText('uploads.quota_bytes', { exact: true }).waitFor();
    const shown = await page.locator('body').innerText();
    assert.ok(!shown.includes(token), 'the token is shown');
    await picture(page, 'health');
    await accessible(page, 'health');

    await settings.getByRole('searchbox').fill('quota_files');
    await settings.getByText('uploads.quota_bytes', { exact: true }).waitFor({ state: 'detached' });
    await settings.getByText('uploads.quota_files', { exact: true }).waitFor();
    await settings.getByRole('searchbox').fill('');
    await settings.getByRole('checkbox', { name: 'only what was changed' }).check();
    await settings.getByText('uploads.quota_files', { exact: true }).waitFor({ state: 'detached' });
    await settings.getByText('data', { exact: true }).waitFor();
  },

  // The blob directory is missing: the page shows which store has failed, and why.
  async broken_store({ page }) {
    await enter(page);
    await go(page, 'health', 'Health');
    await page.getByText(/(has|have) a problem$/).waitFor();
    const store = page.locator('.stores li', { hasText: 'File content' });
    await store.getByText('failed', { exact: true }).waitFor();
    assert.notEqual((await store.locator('.why').innerText()).trim(), '');
    await picture(page, 'health-broken');
  },

  // The server's clock is set while it runs.
  async doubted_clock({ page }) {
    await enter(page);
    await go(page, 'health', 'Health');
    await page.getByText('All is well').waitFor();
    setClock(2 * 3_600);
    await page.getByText(/^In doubt: the clock .*2 hours.*Nothing expires.*restante clock accept/).waitFor();
    await page.getByText(/(has|have) a problem$/).waitFor();
    await go(page, 'dashboard', 'Dashboard');
    await page.getByText('The server’s clock is in doubt: no file expires until that is settled.').waitFor();
  },

  // 500 waiting files and hostile names are shown as a plain list.
  async full_board({ page }) {
    const hostile = '<img src=x onerror=alert(1)>';
    const agent = await makeAgent(hostile);
    for (let i = 0; i < 500; i += 50) {
      await stage(agent, Array.from({ length: 50 }, (_, n) => [`page-${String(i + n).padStart(3, '0')}.txt`, 100]));
    }
    await stage(agent, [['<b onclick=alert(1)>last.svg', 10]]);
    await enter(page);
    await go(page, 'uploads', 'Uploads');
    await page.getByText('page-000.txt').waitFor();
    const more = page.getByRole('button', { name: /^Show more of/ });
    while (await more.isVisible()) await more.click();
    await page.locator('.files li', { hasText: 'last.svg' }).waitFor();
    await eventually(async () => assert.equal(await page.locator('.files li').count(), 501));
    await page.locator('.boxes').getByRole('link', { name: hostile }).waitFor();
    assert.equal(await page.locator('main img, main [onclick]').count(), 0);
    const width = await page.evaluate(() => document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth);
    assert.equal(width, 0, 'nothing is wider than the screen');
  },

  // No view is wider than the screen of a small phone.
  async narrow_boards({ page }) {
    await furnish();
    await page.setViewportSize({ width: 375, height: 740 });
    await page.goto(address);
    await page.getByRole('form', { name: /^Write to/ }).waitFor();
    for (const [view, title] of [['uploads', 'Uploads'], ['delegations', 'Tasks'], ['dashboard', 'Dashboard'], ['health', 'Health']]) {
      await go(page, view, title);
      await page.locator('main .sheet').first().waitFor();
      await eventually(async () => {
        const over = await page.evaluate(() => {
          const wide = [document.documentElement, document.querySelector('main')];
          return Math.max(...wide.map((one) => one.scrollWidth - one.clientWidth));
        });
        assert.equal(over, 0, `${title} is wider than the screen`);
      });
    }
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Uploads' }).click();
    await titled(page, 'Uploads').waitFor();
  },
};
