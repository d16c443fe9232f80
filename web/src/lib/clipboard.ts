// Whether the text is on the clipboard now. A page that did not come over TLS has no clipboard of its own; there the old
// command on a selection still works.
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
