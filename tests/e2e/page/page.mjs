// Walks through the page as a person would: `node page.mjs <walk> <sign-in address>`. Exits 0 when the walk went well
// and the browser had nothing to complain about; otherwise prints what went wrong. The walks themselves lie beside this
// file, in walks_*.mjs.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, guarded, kPatienceMs } from './support.mjs';

const walkName = process.argv[2];
const here = path.dirname(fileURLToPath(import.meta.url));
const walks = {};
for (const file of readdirSync(here).filter((name) => /^walks_.*\.mjs$/.test(name))) {
  Object.assign(walks, (await import(`./${file}`)).default);
}

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
