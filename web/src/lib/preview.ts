// Which files can be shown in place, and how. A picture is shown as one of these types whatever its file claims to be, and
// a text as text: nothing that is previewed can run.

// SVG is not among them: it is a document, and stays a download.
const kPictures = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['avif', 'image/avif'],
  ['bmp', 'image/bmp'],
]);
const kTexts =
  /^(txt|md|csv|tsv|log|json|jsonl|ya?ml|toml|ini|conf|xml|html?|svg|css|m?[jt]s|py|rb|go|rs|c|h|cc|cpp|hpp|java|sh|sql|diff|patch)$/;
// Larger ones are fetched when asked for.
const kPictureAtOnce = 4 << 20;
const kPictureMost = 32 << 20;
export const kTextBytes = 16 << 10;

export interface Previewable {
  kind: 'picture' | 'text';
  type: string;
  // Small enough to be shown without being asked for.
  atOnce: boolean;
}

export function previewOf(name: string, mimeType: string, size: number | null): Previewable | null {
  if (!size) return null;
  const ending = /\.([A-Za-z0-9]{1,5})$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const type = mimeType.split(';')[0]?.trim().toLowerCase() ?? '';
  const picture = [...kPictures.values()].includes(type) ? type : kPictures.get(type === '' ? ending : '');
  if (picture) return size <= kPictureMost ? { kind: 'picture', type: picture, atOnce: size <= kPictureAtOnce } : null;
  const text = type.startsWith('text/') || type === 'application/json' || kTexts.test(ending);
  return text ? { kind: 'text', type: 'text/plain', atOnce: false } : null;
}

// The beginning of a text, or null when it is none: bytes that are not UTF-8, or not meant to be read.
export function readable(bytes: Uint8Array): string | null {
  try {
    // As a stream: a character may be cut in two at the end.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return /[\0-\x08\x0e-\x1a]/.test(text) ? null : text;
  } catch {
    return null;
  }
}
