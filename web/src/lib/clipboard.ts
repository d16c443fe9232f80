// Copies the text; returns whether it is on the clipboard. A page without TLS has no clipboard API; there the old command
// on a selection still works.
export async function copy(text: string, shown: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const selection = getSelection();
    selection?.selectAllChildren(shown);
    return document.execCommand('copy');
  }
}
