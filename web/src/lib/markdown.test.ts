import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markdownOf, type Block } from './markdown';
import { inlinesOf, safeAddress, type Inline } from './markdown_inline';

const plain = (content: Inline[]): string =>
  content.map((one) => ('text' in one ? one.text : plain(one.content))).join('');
const kinds = (blocks: Block[]): string[] => blocks.map((block) => block.kind);
const only = (text: string): Inline => {
  const content = inlinesOf(text);
  assert.equal(content.length, 1, JSON.stringify(content));
  return content[0] as Inline;
};

test('kinds of blocks are recognised', () => {
  const lists = '- one\n- two\n\n1. first\n2. second';
  const text = `# Title\n\nwords\nmore words\n\n${lists}\n\n> said\n\n~~~js\na()\n~~~\n\n---\n\n|a|b|\n|-|-|\n|1|2|`;
  assert.deepEqual(kinds(markdownOf(text)), ['heading', 'paragraph', 'list', 'list', 'quote', 'code', 'rule', 'table']);
});

test('a line break in a paragraph stays', () => {
  const [block] = markdownOf('one\ntwo');
  assert.deepEqual(block, { kind: 'paragraph', content: [{ kind: 'text', text: 'one\ntwo' }] });
});

test('code is taken as it is, closed or not', () => {
  assert.deepEqual(markdownOf('```py\n**x**\n\n# y\n```\nz')[0], { kind: 'code', language: 'py', text: '**x**\n\n# y' });
  assert.deepEqual(markdownOf('~~~\nopen'), [{ kind: 'code', language: '', text: 'open' }]);
  assert.deepEqual(only('``a ` b``'), { kind: 'code', text: 'a ` b' });
  assert.deepEqual(only('`<b>`'), { kind: 'code', text: '<b>' });
});

test('a list keeps its start, its nesting and what belongs to an item', () => {
  const [list] = markdownOf('3. three\n   - inner\n\n   second paragraph\n4. four');
  assert.ok(list?.kind === 'list');
  assert.equal(list.start, 3);
  assert.deepEqual(list.items.map(kinds), [['paragraph', 'list', 'paragraph'], ['paragraph']]);
  assert.deepEqual(kinds(markdownOf('It was\n2026. A good year.')), ['paragraph'], 'a number at the start of a line');
});

test('a table has as many cells in each row as in its head', () => {
  const [table] = markdownOf('| a | b |\n|:--|--:|\n| 1 |\n| 1 | 2 | 3 |\n| x \\| y | z |');
  assert.ok(table?.kind === 'table');
  assert.deepEqual(table.rows.map((row) => row.map(plain)), [['1', ''], ['1', '2'], ['x | y', 'z']]);
  assert.deepEqual(kinds(markdownOf('a | b\nno table')), ['paragraph']);
});

test('emphasis', () => {
  assert.equal(only('**strong**').kind, 'strong');
  assert.equal(only('_em_').kind, 'em');
  assert.equal(only('~~gone~~').kind, 'del');
  assert.deepEqual(only('**a *b* c**'), {
    kind: 'strong',
    content: [{ kind: 'text', text: 'a ' }, { kind: 'em', content: [{ kind: 'text', text: 'b' }] }, { kind: 'text', text: ' c' }],
  });
  for (const text of ['snake_case_name.txt', '2 * 3 * 4', '**', '* a', 'a ** b', '_open', '~5']) {
    assert.equal(plain(inlinesOf(text)), text);
  }
  assert.deepEqual(inlinesOf('snake_case_name'), [{ kind: 'text', text: 'snake_case_name' }]);
  assert.equal(plain(inlinesOf('\\*not\\*')), '*not*');
});

test('links lead to the web and to mail, and nowhere else', () => {
  assert.deepEqual(only('[x](https://example.org/a_(b))'), {
    kind: 'link',
    href: 'https://example.org/a_(b)',
    content: [{ kind: 'text', text: 'x' }],
  });
  assert.equal(only('[mail](mailto:a@example.org)').kind, 'link');
  const scripts = ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:x', 'java\tscript:x', 'vbscript:x'];
  const hostile = [...scripts, 'data:text/html,x', 'file:///etc/passwd', '/relative', '//host/x', 'blob:null/x'];
  for (const address of hostile) {
    assert.equal(safeAddress(address), null, address);
    const text = `[x](${address})`;
    assert.ok(!JSON.stringify(inlinesOf(text)).includes('"link"'), text);
    assert.equal(plain(inlinesOf(text)), text, 'it stays the text it is');
  }
});

test('an address in a sentence is a link without the full stop', () => {
  const content = inlinesOf('see https://example.org/x, (or http://example.org/y).');
  assert.deepEqual(content.flatMap((one) => (one.kind === 'link' ? [one.href] : [])), ['https://example.org/x', 'http://example.org/y']);
  assert.equal(plain(content), 'see https://example.org/x, (or http://example.org/y).');
});

test('HTML is text', () => {
  const text = '<script>alert(1)</script> <img src=x onerror=alert(1)> &lt;';
  assert.deepEqual(markdownOf(text), [{ kind: 'paragraph', content: [{ kind: 'text', text }] }]);
});

// What would take a careless reader minutes must not: each of these is read in a number of steps that grows with its length.
test('no text is too hostile to be read', () => {
  const many = 20_000;
  const inside = ['*a ', '_a ', '**', '~~a ', '`', '``a`', '[', '[a](', '[a]( ', '\\', 'http://', '<'];
  const texts = [...inside, '> ', '- ', '1. ', '|', '-|', '# ', '\n\n- ', '  '];
  for (const text of texts) assert.ok(markdownOf(text.repeat(many)).length > 0 || text.trim() === '', text);
  for (const end of ['x', '`', '|', '#', '\u2028']) {
    for (const begin of ['```', '- ', '# ', '> ', '|-', '***', '`', '[a](']) markdownOf(begin + ' '.repeat(many) + end);
  }
  markdownOf('> '.repeat(500) + 'deep');
  markdownOf(Array.from({ length: 500 }, (_, n) => `${' '.repeat(2 * n)}- x`).join('\n'));
});
