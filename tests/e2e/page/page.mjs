// Walks through the page as a person would: `node page.mjs <walk> <sign-in address>`. Exits 0 when the walk went well
// and the browser had nothing to complain about; otherwise prints what went wrong. The walks themselves are in
// walks_*.mjs beside this file.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, guarded, kPatienceMs, watched } from './support.mjs';

const walkName = process.argv[2];
const here = path.dirname(fileURLToPath(import.meta.url));
const walks = {};
for (const file of readdirSync(here).filter((name) => /^walks_.*\.mjs$/.test(name))) {
  Object.assign(walks, (await import(`./${file}`)).default);
}

// The line of a walk that an error comes from.
function stepOf(error) {
  const found = /(walks_\w+\.mjs):(\d+)/.exec(error.stack ?? '');
  if (!found) return 'of no walk';
  const line = readFileSync(path.join(here, found[1]), 'utf8').split('\n')[found[2] - 1];
  return `${found[1]}:${found[2]}: ${line.trim()}`;
}

const indented = (lines) => lines.map((line) => `    ${line}`).join('\n');

async function shownBy(page) {
  const text = await page.locator('body').innerText({ timeout: 5_000 }).catch((error) => `(cannot be read: ${error.message})`);
  const lines = text.split('\n').filter((line) => line.trim());
  return lines.length > 40 ? [...lines.slice(0, 15), '…', ...lines.slice(-25)] : lines;
}

// The reason is printed at the beginning and at the end: if the output is cut, one of them is left.
async function report(error) {
  const reason = String(error.message ?? error).split('\n').slice(0, 30);
  console.error(`walk failed: ${walkName}, ${stepOf(error)}\n${indented(reason)}`);
  for (const { page, complaints, asked } of watched) {
    console.error(`  page at ${page.url()} shows:\n${indented(await shownBy(page))}`);
    console.error(`  asked for last:\n${indented([...asked.values()])}`);
    if (complaints.length > 0) console.error(`  the browser complained:\n${indented(complaints)}`);
  }
  console.error(`walk failed: ${walkName}, ${stepOf(error)}: ${reason[0]}`);
}

// Promises that a failed walk did not wait for.
process.on('unhandledRejection', (error) => {
  console.error(`left behind: ${String(error?.message ?? error).split('\n')[0]}`);
  process.exitCode = 1;
});

// A walk that hangs reports where, before the test that started it gives up.
const kSeconds = Number(process.env.RESTANTE_WALK_SECONDS ?? 900);
const late = setTimeout(async () => {
  await report(new Error(`it was not over after ${kSeconds} s`));
  process.exit(1);
}, kSeconds * 1000);

const walk = walks[walkName];
assert.ok(walk, `no such walk: ${walkName}`);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  timeout: kPatienceMs,
});
try {
  const context = await browser.newContext({ viewport: { width: 1200, height: 820 }, deviceScaleFactor: 2 });
  context.setDefaultTimeout(kPatienceMs);
  const guard = await guarded(context);
  await walk({ context, ...guard });
  assert.deepEqual(guard.complaints, []);
} catch (error) {
  await report(error);
  process.exitCode = 1;
} finally {
  clearTimeout(late);
  await browser.close();
}
