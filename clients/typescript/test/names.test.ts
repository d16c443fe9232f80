import assert from "node:assert/strict";
import test from "node:test";
import { landedName } from "../src/landing_folder.js";
import { pendingFile, sanitiseFilename } from "../src/names.js";
import { FILE, WORKSPACE } from "./support.js";

test("a file name is made safe as the server and the other agents do it", () => {
  const pairs: [string, string][] = [
    ["../../etc/passwd", "passwd"],
    ["..\\..\\boot.ini", "boot.ini"],
    ["hello world.pdf", "hello_world.pdf"],
    ["weird;chars!?.txt", "weird_chars__.txt"],
    ["中文.docx", "__.docx"],
    ["file (1).pdf", "file__1_.pdf"],
    ["report-2026.05.04_v2.pdf", "report-2026.05.04_v2.pdf"],
    ["b".repeat(200) + ".pdf", "b".repeat(96) + ".pdf"],
    ["c".repeat(90) + ".thisisaverylongextensionnotpreserved", ("c".repeat(90) + ".thisisaverylongextensionnotpreserved").slice(0, 100)],
    ["中文中文", "____"],
    ["😀.txt", "_.txt"],
    ["", "file"],
    [".", "file"],
    ["..", "file"],
    ["CON:aux", "CON_aux"],
  ];
  for (const [raw, safe] of pairs) assert.equal(sanitiseFilename(raw), safe);
});

test("a landed file's name begins with its id, so that no name is a reserved one", () => {
  const file = { id: FILE, name: "CON", size: 1, sha256: "" };
  assert.equal(landedName(file), `${FILE.replaceAll("-", "")}-CON`);
  assert.equal(landedName(file, 2), `${FILE.replaceAll("-", "")}-2-CON`);
});

test("only a platform-pending uri with a file id names a file, in any letter case", () => {
  assert.equal(pendingFile(`platform-pending:${WORKSPACE}/${FILE}`), FILE);
  assert.equal(pendingFile(`Platform-Pending:${WORKSPACE}/${FILE.toUpperCase()}`), FILE);
  for (const uri of [`https://example.org/${FILE}`, `platform-pending:${FILE}`, "platform-pending:x/y", "", "workspace:/tmp/x"])
    assert.equal(pendingFile(uri), undefined);
});
