import assert from 'node:assert/strict';
import { test } from 'node:test';

import { waysToConnect } from './connect_lines';

const ID = '01999a3c-0000-7000-8000-000000000001';
const ALL = {
  connect_command: 'restante connect --url https://post.example.org --enrol TOKEN',
  install_command: 'curl … && sh restante-install.sh --url https://post.example.org --enrol TOKEN',
  python_command: "curl -o restante.py && echo 'x' | sha256sum -c - && python3 restante.py connect --url https://post.example.org --enrol TOKEN",
  powershell_command: 'Invoke-WebRequest …',
};

test('there is a tab for every kind of agent, and the line of a new machine comes first', () => {
  const titles = waysToConnect(ALL, ID).map((way) => way.title);
  assert.deepEqual(titles, ['Linux, macOS', 'Windows', 'Python', 'TypeScript', 'MCP', 'curl', 'Installed']);
});

test('a server without programs to download offers only what needs none', () => {
  const titles = waysToConnect({ connect_command: ALL.connect_command }, ID).map((way) => way.title);
  assert.deepEqual(titles, ['TypeScript', 'MCP', 'curl', 'Installed']);
});

test('the line for Python downloads and compares, and the program connects', () => {
  const python = waysToConnect(ALL, ID).find((way) => way.title === 'Python');
  assert.equal(python?.line, "curl -o restante.py && echo 'x' | sha256sum -c -");
  assert.ok(python?.code?.includes('Agent.connect("https://post.example.org", enrol="TOKEN")'));
});

test('the line for curl names the workspace and the enrolment token', () => {
  const curl = waysToConnect(ALL, ID).find((way) => way.title === 'curl');
  assert.ok(curl?.line.includes('Bearer TOKEN') && curl.line.includes(`"id":"${ID}"`));
});
