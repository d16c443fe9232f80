// sanitiseFilename: a name that is safe on every disk. The last component after / or \; every code point outside
// [A-Za-z0-9._-] becomes one _; at most 100 characters, keeping a short extension. Pure.

const MAX_NAME = 100;
const MAX_KEPT_EXTENSION = 16; // with its dot

export function sanitiseFilename(raw: string): string {
  const last = raw.slice(Math.max(raw.lastIndexOf("/"), raw.lastIndexOf("\\")) + 1);
  let name = Array.from(last, (c) => (/^[A-Za-z0-9._-]$/.test(c) ? c : "_")).join("");
  if (name.length > MAX_NAME) {
    const dot = name.lastIndexOf(".");
    let extension = dot < 0 ? "" : name.slice(dot);
    if (extension.length > MAX_KEPT_EXTENSION) extension = "";
    name = name.slice(0, MAX_NAME - extension.length) + extension;
  }
  return name === "" || name === "." || name === ".." ? "file" : name;
}

const FILE_SCHEME = "platform-pending:";
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the uri is one of the server's files, in any letter case. */
export function isPending(uri: string): boolean {
  return uri.slice(0, FILE_SCHEME.length).toLowerCase() === FILE_SCHEME;
}

/** The file that a uri platform-pending:<workspace>/<file> names; undefined for any other uri. */
export function pendingFile(uri: string): string | undefined {
  if (!isPending(uri) || !uri.includes("/")) return undefined;
  const id = uri.slice(uri.lastIndexOf("/") + 1).toLowerCase();
  return ID.test(id) ? id : undefined;
}
