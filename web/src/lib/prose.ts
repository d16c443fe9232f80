export interface Segment {
  text: string;
  digest: boolean;
}

// Cuts a text at its sha256 sums, so that they can be set in a face in which they can be compared. Joined again, the
// segments are the text.
export function segmentsOf(text: string): Segment[] {
  return text
    .split(/(?<![0-9A-Za-z])([0-9a-f]{64})(?![0-9A-Za-z])/)
    .map((piece, n) => ({ text: piece, digest: n % 2 === 1 }))
    .filter((segment) => segment.text !== '');
}
