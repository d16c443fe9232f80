// The agent as a program, with the words of `restante connect`.
import * as fs from "node:fs";
import { parseArgs } from "node:util";
import { Agent, AgentEnded, type ConnectOptions } from "./agent.js";
import { refusalOf } from "./exec.js";
import { Failure, sentenceOf } from "./failure.js";
import { CommandHandover, LineHandover } from "./handover.js";
import { NoState } from "./states.js";
import { InUse } from "./state_directory.js";

const HELP = `restante-agent connect [flags]: connects an agent on this machine to its workspace.

Files land below --dir, are checked and acknowledged; messages are handed over, with file addresses rewritten to local
paths: as lines to read, with --json as JSON lines, or to the command of --exec, which gets the JSON on its stdin; its exit
code 0 means handled, its stdout is the answer, and the files it leaves in the folder $RESTANTE_RESULT_DIR are sent with it.

  --url URL            The server (also --server). Remembered after the first time.
  --enrol TOKEN        Enrolment token shown with a new workspace; works once.
  --enrol-file FILE    File with the enrolment token.
  --token-file FILE    File with the workspace's token.
  --workspace ID       Workspace id; default: the token's own.
  --name NAME          The name of a workspace that enrolling creates; default: the host's.
  --dir DIR            Where files land; default: /workspace if writable, else here.
  --state DIR          The state directory; default: one for each workspace.
  --exec COMMAND       Shell command run once per message.
  --json               One JSON object a line on stdout for everything that arrives.
  --file-wait SECONDS  How long a message waits for files that are still being downloaded; default 20.
  --exec-timeout N     Seconds, after which a command is ended; it has failed then. Default: no limit.
  --attempts N         How often a command is tried before the sender is notified; default 5.
  --reply-to-agents    Send the output of --exec for other agents' messages back to them; at most 8 times in a row.

Environment: RESTANTE_URL, the server; RESTANTE_TOKEN, the workspace's token.
Exit codes: 0 stopped, 64 wrong usage, 69 no Restante server or workspace removed, 75 the state is in use, 77 not permitted.
`;

const EXIT = { stopped: 0, not_permitted: 77, refused: 69, reader_gone: 1 } as const;

class Usage extends Error {}
class NotPermitted extends Error {}

function firstLine(flag: string, file: string): string {
  let line = "";
  try {
    line = fs.readFileSync(file, "utf8").split("\n", 1)[0]!.trim();
  } catch {
    // the sentence below says it
  }
  if (!line) throw new NotPermitted(`no token can be read from ${flag} ${file}`);
  return line;
}

function wholeNumber(flag: string, value: string | undefined, least: number): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,6}$/.test(value) || Number(value) < least) throw new Usage(`${flag} takes a whole number of at least ${least}`);
  return Number(value);
}

function parse(words: string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        url: text,
        server: text,
        enrol: text,
        "enrol-file": text,
        "token-file": text,
        workspace: text,
        name: text,
        dir: text,
        state: text,
        exec: text,
        json: flag,
        "file-wait": text,
        attempts: text,
        "exec-timeout": text,
        "reply-to-agents": flag,
        help: flag,
      },
    });
    if (positionals.length > 1 || (positionals.length === 1 && positionals[0] !== "connect")) throw new Usage("the only command is `connect`");
    return values;
  } catch (error) {
    throw error instanceof Usage ? error : new Usage(sentenceOf(error));
  }
}

async function connect(given: ReturnType<typeof parse>, signal: AbortSignal): Promise<number> {
  const enrol = given["enrol-file"] ? firstLine("--enrol-file", given["enrol-file"]) : given.enrol;
  if (enrol && given["token-file"]) throw new Usage("give either --enrol or --token-file, not both");
  if (given.exec !== undefined && given.json) throw new Usage("give either --exec or --json: a command gets JSON on its stdin anyway");
  if (given["reply-to-agents"] && given.exec === undefined) throw new Usage("--reply-to-agents needs --exec: only a command has an answer to send");
  const refusal = given.exec === undefined ? "" : refusalOf(given.exec);
  if (refusal) throw new Usage(`--exec: ${refusal}`);
  const token = given["token-file"] ? firstLine("--token-file", given["token-file"]) : enrol ? undefined : process.env["RESTANTE_TOKEN"];
  const options: ConnectOptions = { signal, replyToAgents: given["reply-to-agents"] ?? false };
  const optional: { [Name in keyof ConnectOptions]: ConnectOptions[Name] | undefined } = {
    enrol,
    token,
    workspace: given.workspace,
    name: given.name,
    dir: given.dir,
    state: given.state,
    fileWait: wholeNumber("--file-wait", given["file-wait"], 0),
    attempts: wholeNumber("--attempts", given.attempts, 1),
  };
  for (const [name, value] of Object.entries(optional)) if (value !== undefined) Object.assign(options, { [name]: value });
  const agent = await Agent.connect(given.url ?? given.server ?? process.env["RESTANTE_URL"] ?? "", options);
  const command = given.exec;
  const longest = (wholeNumber("--exec-timeout", given["exec-timeout"], 1) ?? 0) * 1000;
  await agent.runWith((runs, stop) =>
    command === undefined
      ? new LineHandover(process.stdout, given.json ? "json" : "readable")
      : new CommandHandover(command, runs, stop, longest, (line) => void process.stderr.write(line + "\n")),
  );
  return EXIT.stopped;
}

/** Runs until a signal ends it; the exit code. */
export async function main(words: string[]): Promise<number> {
  const stopped = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stopped.abort());
  process.stdout.on("error", () => {}); // a closed reader: the hand-over sees it
  try {
    const given = parse(words);
    if (given.help) {
      process.stdout.write(HELP);
      return 0;
    }
    return await connect(given, stopped.signal);
  } catch (error) {
    if (stopped.signal.aborted) return EXIT.stopped;
    if (error instanceof AgentEnded) return EXIT[error.end]; // it has printed its sentence
    process.stderr.write(`${sentenceOf(error)}\n`);
    if (error instanceof Usage || (error instanceof Failure && error.kind === "bad_url")) return 64;
    if (error instanceof InUse) return 75;
    return error instanceof NoState || error instanceof NotPermitted ? 77 : 1;
  }
}
