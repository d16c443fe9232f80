// Where the states of agents are kept: one folder for each workspace, so that a second agent on one machine just works. The
// folder is chosen by the enrolment token, by the workspace, or because there is only one. An enrolment token is spent only
// after everything else was checked: its state is made under a name of its own first, and renamed when the server has said
// which workspace it is.
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { uuid } from "./json.js";
import { hashOf } from "./session.js";
import type { State } from "./state.js";
import { replay } from "./state_directory.js";

const ENROLLING = ".enrolling-";

export class NoState extends Error {
  override name = "NoState";
}

/** The folder that has the folder of each workspace. */
export function folderOfStates(): string {
  const given = process.env["XDG_STATE_HOME"];
  const home = given && path.isAbsolute(given) ? given : path.join(os.homedir(), ".local", "state");
  return path.join(home, "restante", "typescript");
}

interface Found {
  path: string;
  state: State;
}

function allStates(folder: string): Found[] {
  const found: Found[] = [];
  for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
    const at = path.join(folder, name);
    try {
      found.push({ path: at, state: replay(fs.readFileSync(path.join(at, "journal"), "utf8"), at) });
    } catch {
      // no state, or a damaged one: opening it by its name says so
    }
  }
  return found;
}

/**
 * The folder for this agent. `isNew` when the workspace is not known yet: move it to stateOf() then. Throws NoState when
 * none can be chosen.
 */
export function chooseState(options: { enrol: string; workspace: string }, folder = folderOfStates()): { path: string; isNew: boolean } {
  const all = allStates(folder);
  if (options.enrol) {
    const used = all.find(({ state }) => state.enrolled === hashOf(options.enrol));
    return used ? { path: used.path, isNew: path.basename(used.path).startsWith(ENROLLING) } : { path: path.join(folder, ENROLLING + randomUUID()), isNew: true };
  }
  if (options.workspace) return { path: stateOf(options.workspace, folder), isNew: false };
  const known = all.filter(({ path: at }) => uuid(path.basename(at)));
  if (known.length === 1) return { path: known[0]!.path, isNew: false };
  if (known.length === 0) throw new NoState("no token yet: give --enrol with the token that `New agent` on the page shows, or --token-file");
  const list = known.map(({ state }) => `${state.workspace} at ${state.server}`).join(", ");
  throw new NoState(`there are several workspaces on this machine; give --workspace with one of them: ${list}`);
}

export function stateOf(workspace: string, folder = folderOfStates()): string {
  return path.join(folder, workspace);
}
