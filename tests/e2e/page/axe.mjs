// Checks the page with axe: names, roles, contrast, order.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { source } from './support.mjs';

const axe = readFileSync(path.join(source, 'web', 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');
// These rules apply to every view; that they passed shows that axe did run.
const kEverywhere = ['color-contrast', 'button-name', 'region'];

const spell = ({ id, help, nodes }) =>
  `${id}: ${help}\n  ${nodes.map((node) => `${node.html} (${node.failureSummary})`).join('\n  ')}`;

// In the colour scheme that the page has now.
export async function inspect(page, what) {
  // Through the debugger, because the page's policy allows no foreign script.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map(spell), [], what);
  const passed = passes.map(({ id }) => id);
  for (const rule of kEverywhere) assert.ok(passed.includes(rule), `${what}: ${rule} was not looked at`);
}

// In both colour schemes, since contrast differs. Without motion: a colour that is still changing has another contrast.
export async function accessible(page, what) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await inspect(page, `${what}, ${colorScheme}`);
  }
}
