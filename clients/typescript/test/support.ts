// What several tests share: folders that are deleted at the end, a ledger, a server with scripted answers.
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import type { TestContext } from "node:test";
import { createHash } from "node:crypto";
import { ApiClient } from "../src/api_client.js";
import { HttpClient } from "../src/http.js";
import { Ledger } from "../src/ledger.js";
import type { FileRecord } from "../src/state.js";
import { StateDirectory } from "../src/state_directory.js";

export const WORKSPACE = "0199aaaa-0000-7000-8000-000000000001";
export const FILE = "0199bbbb-1111-7222-8333-444444444444";

/** A folder for one test. */
export function folder(t: TestContext): string {
  const made = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "restante-ts-")));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Returns when the condition is true. The ceiling is only for a broken program. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 60_000; !condition(); ) {
    if (Date.now() > end) throw new Error(`did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function ledgerIn(t: TestContext, at: string): Promise<{ ledger: Ledger; lines: string[] }> {
  const directory = await StateDirectory.open(at);
  t.after(() => directory.close());
  const lines: string[] = [];
  return { ledger: new Ledger(directory, directory.load(), (line) => lines.push(line)), lines };
}

export function announced(content: Uint8Array, more: Partial<FileRecord> = {}): FileRecord {
  return {
    id: FILE,
    name: "a.txt",
    size: content.length,
    sha256: sha256(content),
    uri: `platform-pending:${WORKSPACE}/${FILE}`,
    rowId: "row-1",
    seq: 1,
    createdAt: "2026-01-01T00:00:00.000000Z",
    where: "waiting",
    path: "",
    trouble: "",
    reason: "",
    acked: false,
    reported: false,
    handedOver: false,
    notified: false,
    ...more,
  };
}

export interface Served {
  api: ApiClient;
  url: string;
  /** Method and path of each request, in order. */
  asked: string[];
}

/** A client and a server that answers with this function. */
export async function serve(t: TestContext, answer: http.RequestListener): Promise<Served> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}${request.headers.range ? ` ${request.headers.range}` : ""}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api = new ApiClient(new HttpClient(new URL(url), {}));
  api.workspace = WORKSPACE;
  t.after(() => {
    api.http.close();
    server.closeAllConnections();
    server.close();
  });
  return { api, url, asked };
}
