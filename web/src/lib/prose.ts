export interface Segment {
  text: string;
  digest: boolean;
}

// Splits a text at its sha256 sums, so that these can be shown in a monospaced font. The segments joined together are the
// text again.
export function segmentsOf(text: string): Segment[] {
  return text
    .split(/(?<![0-9A-Za-z])([0-9a-f]{64})(?![0-9A-Za-z])/)
    .map((piece, n) => ({ text: piece, digest: n % 2 === 1 }))
    .filter((segment) => segment.text !== '');
}
