// The inline elements of Markdown: code, emphasis, links. Only http, https and mailto addresses become links; anything else
// stays text. Pure.

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'em' | 'del'; content: Inline[] }
  | { kind: 'link'; href: string; content: Inline[] };

const kDeepest = 6;
const kEmphasis: [string, 'strong' | 'em' | 'del'][] = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
];
// [words](address "title"); the address may hold one pair of brackets. All of it bounded, so that none of it is slow.
const kWords = /\[((?:[^[\]\\\n]|\\.){1,400})\]/.source;
const kTarget = /<?([^\s<>()]{1,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,2000})?)>?/.source;
const kLink = new RegExp(String.raw`${kWords}\(\s*${kTarget}(?:\s+"[^"\n]{0,400}")?\s*\)`, 'y');
const kAddress = /https?:\/\/[^\s<>"'`|\\^{}]{1,2000}/y;
const kWordCharacter = /[\p{L}\p{N}]/u;

export function inlinesOf(text: string): Inline[] {
  return new Reader(text, 0).read();
}

// The address as the browser would open it, or null when it is not one of those.
export function safeAddress(text: string): string | null {
  try {
    const { protocol, href } = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(protocol) ? href : null;
  } catch {
    return null;
  }
}

class Reader {
  readonly #out: Inline[] = [];
  // Delimiters that are not closed anywhere after this position: searching again for each would take too long in a hostile text.
  readonly #unclosed = new Set<string>();
  #at = 0;
  #plain = '';

  constructor(
    private readonly text: string,
    private readonly depth: number,
  ) {}

  read(): Inline[] {
    while (this.#at < this.text.length) {
      const found = this.#special();
      if (found) {
        this.#flush();
        this.#out.push(found.inline);
        this.#at = found.next;
      } else {
        this.#plain += this.text.charAt(this.#at);
        this.#at += 1;
      }
    }
    this.#flush();
    return this.#out;
  }

  #flush(): void {
    if (this.#plain !== '') this.#out.push({ kind: 'text', text: this.#plain });
    this.#plain = '';
  }

  #special(): { inline: Inline; next: number } | null {
    const character = this.text.charAt(this.#at);
    switch (character) {
      case '\\':
        return this.#escaped();
      case '`':
        return this.#code();
      case '[':
        return this.#link();
      case 'h':
        return this.#address();
      case '*':
      case '_':
      case '~':
        return this.#emphasis();
      default:
        return null;
    }
  }

  #escaped() {
    const next = this.text.charAt(this.#at + 1);
    if (!/[!-/:-@[-`{-~]/.test(next)) return null;
    return { inline: { kind: 'text' as const, text: next }, next: this.#at + 2 };
  }

  #code() {
    let length = 1;
    while (this.text.charAt(this.#at + length) === '`') length += 1;
    const ticks = '`'.repeat(length);
    const whole = { inline: { kind: 'text' as const, text: ticks }, next: this.#at + length };
    if (this.#unclosed.has(ticks)) return whole;
    let end = this.text.indexOf(ticks, this.#at + length);
    // As many ticks as opened it, not more.
    while (end >= 0 && this.text.charAt(end + length) === '`') {
      let past = end;
      while (this.text.charAt(past) === '`') past += 1;
      end = this.text.indexOf(ticks, past);
    }
    if (end < 0) {
      this.#unclosed.add(ticks);
      return whole;
    }
    const inside = this.text.slice(this.#at + length, end).replaceAll('\n', ' ');
    const padded = inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== '';
    const text = padded ? inside.slice(1, -1) : inside;
    return { inline: { kind: 'code' as const, text }, next: end + length };
  }

  #link() {
    if (this.depth >= kDeepest) return null;
    kLink.lastIndex = this.#at;
    const match = kLink.exec(this.text);
    const href = match && safeAddress(match[2] ?? '');
    if (!match || !href) return null;
    const content = new Reader(match[1] ?? '', this.depth + 1).read();
    return { inline: { kind: 'link' as const, href, content: withoutLinks(content) }, next: kLink.lastIndex };
  }

  #address() {
    if (this.#at > 0 && kWordCharacter.test(this.text.charAt(this.#at - 1))) return null;
    kAddress.lastIndex = this.#at;
    const [found] = kAddress.exec(this.text) ?? [];
    // Punctuation at its end does not belong to an address; nor does a bracket that was opened before it.
    let text = found?.replace(/[.,;:!?*_~]+$/, '') ?? '';
    while (text.endsWith(')') && !text.includes('(')) text = text.slice(0, -1);
    const href = text === '' ? null : safeAddress(text);
    if (!href) return null;
    const content: Inline[] = [{ kind: 'text', text }];
    return { inline: { kind: 'link' as const, href, content }, next: this.#at + text.length };
  }

  #emphasis() {
    if (this.depth >= kDeepest) return null;
    for (const [mark, kind] of kEmphasis) {
      if (!this.text.startsWith(mark, this.#at) || this.#unclosed.has(mark)) continue;
      if (!this.#opens(mark)) continue;
      const end = this.#closing(mark);
      if (end < 0) continue;
      const content = new Reader(this.text.slice(this.#at + mark.length, end), this.depth + 1).read();
      return { inline: { kind, content }, next: end + mark.length };
    }
    return null;
  }

  // Before a word; an underscore only where no word ends: snake_case_names are not emphasised.
  #opens(mark: string): boolean {
    const after = this.text.charAt(this.#at + mark.length);
    if (after === '' || /\s/.test(after) || after === mark.charAt(0)) return false;
    return !mark.startsWith('_') || this.#at === 0 || !kWordCharacter.test(this.text.charAt(this.#at - 1));
  }

  #closing(mark: string): number {
    const character = mark.charAt(0);
    for (let end = this.text.indexOf(mark, this.#at + mark.length); end >= 0; end = this.text.indexOf(mark, end + 1)) {
      const before = this.text.charAt(end - 1);
      const after = this.text.charAt(end + mark.length);
      if (/\s/.test(before) || before === character || before === '\\' || after === character) continue;
      if (character !== '_' || !kWordCharacter.test(after)) return end;
    }
    this.#unclosed.add(mark);
    return -1;
  }
}

function withoutLinks(content: Inline[]): Inline[] {
  return content.flatMap((inline) => (inline.kind === 'link' ? inline.content : [inline]));
}
