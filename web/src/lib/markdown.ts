import { inlinesOf, type Inline } from './markdown_inline';

// The Markdown that agents write, as a tree of plain values: headings, lists, quotes, code, tables, rules, paragraphs.
// Anything else, HTML above all, stays text. Pure; the time is about linear in the length of any text.

export type Block =
  | { kind: 'paragraph'; content: Inline[] }
  | { kind: 'heading'; level: number; content: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'list'; start: number | null; items: Block[][] }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

// Deeper than real texts are; from there on it is text.
const kDeepest = 6;

// None of these can be made to backtrack over a long line.
const kFence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const kHeading = /^ {0,3}(#{1,6})\s+(\S[^]*)$/;
const kRule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const kQuote = /^ {0,3}> ?([^]*)$/;
const kItem = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)([^]*)$/;
const kTableRule = /^\|?\s*:?-+:?(\s*\|\s*:?-+:?)*\s*\|?$/;

export function markdownOf(text: string): Block[] {
  return blocksOf(text.replace(/\r\n?/g, '\n').split('\n'), 0);
}

function blocksOf(lines: string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', content: inlinesOf(paragraph.join('\n')) });
    paragraph = [];
  };
  for (let n = 0; n < lines.length; ) {
    const line = lines[n] ?? '';
    if (line.trim() === '') {
      flush();
      n += 1;
      continue;
    }
    const found = depth < kDeepest ? blockAt(lines, n, depth, paragraph.length > 0) : null;
    if (found) {
      flush();
      blocks.push(found.block);
      n = found.next;
    } else {
      paragraph.push(line.trimStart());
      n += 1;
    }
  }
  flush();
  return blocks;
}

interface Found {
  block: Block;
  next: number;
}

function blockAt(lines: string[], n: number, depth: number, inParagraph: boolean): Found | null {
  const line = lines[n] ?? '';
  const fence = kFence.exec(line);
  if (fence) return codeAt(lines, n, fence[1] ?? '', (fence[2] ?? '').trim());
  const heading = kHeading.exec(line);
  if (heading) return headingFrom(heading[1] ?? '', heading[2] ?? '', n);
  if (kRule.test(line)) return { block: { kind: 'rule' }, next: n + 1 };
  if (kQuote.test(line)) return quoteAt(lines, n, depth);
  // "2026. A good year" in the middle of a sentence does not begin a list.
  const item = kItem.exec(line);
  if (item && (!inParagraph || /^([-*+]|1[.)])$/.test(item[2] ?? '')) && item[4] !== '') return listAt(lines, n, depth);
  if (line.includes('|') && kTableRule.test((lines[n + 1] ?? '').trim())) return tableAt(lines, n);
  return null;
}

function headingFrom(marks: string, text: string, n: number): Found {
  const content = inlinesOf(text.trimEnd().replace(/\s#+$/, '').trimEnd());
  return { block: { kind: 'heading', level: marks.length, content }, next: n + 1 };
}

function codeAt(lines: string[], n: number, fence: string, language: string): Found {
  const content: string[] = [];
  let next = n + 1;
  for (; next < lines.length; next += 1) {
    const line = (lines[next] ?? '').trim();
    if (line.length >= fence.length && line === fence.charAt(0).repeat(line.length)) break;
    content.push(lines[next] ?? '');
  }
  return { block: { kind: 'code', language, text: content.join('\n') }, next: next + 1 };
}

function quoteAt(lines: string[], n: number, depth: number): Found {
  const inner: string[] = [];
  let next = n;
  for (let match = kQuote.exec(lines[next] ?? ''); match; match = kQuote.exec(lines[next] ?? '')) {
    inner.push(match[1] ?? '');
    next += 1;
  }
  return { block: { kind: 'quote', blocks: blocksOf(inner, depth + 1) }, next };
}

function listAt(lines: string[], n: number, depth: number): Found {
  const items: string[][] = [];
  const [, , first = ''] = kItem.exec(lines[n] ?? '') ?? [];
  const ordered = /\d/.test(first);
  let indent = 0;
  let next = n;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    const leading = line.length - line.trimStart().length;
    const match = kItem.exec(line);
    if (line.trim() === '') {
      // A gap belongs to the list when the list goes on behind it.
      const after = lines[next + 1] ?? '';
      const goesOn = kItem.test(after) || (after.trim() !== '' && after.length - after.trimStart().length >= indent);
      if (!goesOn) break;
      items.at(-1)?.push('');
    } else if (match && (items.length === 0 || leading < indent) && /\d/.test(match[2] ?? '') === ordered) {
      indent = leading + (match[2]?.length ?? 1) + 1;
      items.push([match[4] ?? '']);
    } else if (leading >= indent) {
      items.at(-1)?.push(line.slice(indent));
    } else if (match || kHeading.test(line) || kFence.test(line) || kQuote.test(line) || lines[next - 1]?.trim() === '') {
      break;
    } else {
      items.at(-1)?.push(line.trimStart());
    }
  }
  const start = ordered ? parseInt(first, 10) : null;
  return { block: { kind: 'list', start, items: items.map((item) => blocksOf(item, depth + 1)) }, next };
}

function tableAt(lines: string[], n: number): Found | null {
  const head = cellsOf(lines[n] ?? '');
  if (head.length !== cellsOf(lines[n + 1] ?? '').length) return null;
  const rows: Inline[][][] = [];
  let next = n + 2;
  for (; next < lines.length && (lines[next] ?? '').includes('|'); next += 1) {
    const cells = cellsOf(lines[next] ?? '');
    rows.push(head.map((_, column) => inlinesOf(cells[column] ?? '')));
  }
  return { block: { kind: 'table', head: head.map((cell) => inlinesOf(cell)), rows }, next };
}

function cellsOf(line: string): string[] {
  const bare = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}
