import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import test, { type TestContext } from "node:test";
import { attachOutput, describeCode, forgetOtherRuns, forgetRun, hasRun, refusalOf, resultFolder, runCommand } from "../src/exec.js";
import { findResultFiles } from "../src/result_files.js";
import { Stop } from "../src/stop.js";
import { folder, until } from "./support.js";

function job(t: TestContext, command: string) {
  return { command, folder: path.join(folder(t), "runs"), id: "m1", input: "the input\n", longest: 0, printLine: () => {} };
}

test("a command gets the delivery on its stdin, and its stdout and exit code are the result", async (t) => {
  const run = await runCommand(job(t, "cat; exit 3"), new Stop(), new Stop());
  assert.deepEqual(run, { how: "exited", code: 3, output: "the input\n", cut: false, trouble: "", errors: "" });
});

test("a run that has ended is not run again until it is forgotten", async (t) => {
  const one = job(t, "true");
  const log = path.join(path.dirname(one.folder), "log");
  one.command = `echo ran >> '${log}'; echo out`;
  for (let n = 0; n < 3; ++n) assert.equal((await runCommand(one, new Stop(), new Stop())).output, "out\n");
  assert.equal(fs.readFileSync(log, "utf8"), "ran\n");
  assert.equal(await hasRun(one.folder, one.id), true);
  forgetRun(one.folder, one.id);
  assert.equal(await hasRun(one.folder, one.id), false);
  assert.deepEqual(fs.readdirSync(one.folder), []);
});

test("a command that is given up ends with its children, and is forgotten", async (t) => {
  const one = job(t, "");
  const child = path.join(path.dirname(one.folder), "child");
  one.command = `sleep 600 & echo $! > '${child}.tmp'; mv '${child}.tmp' '${child}'; wait`;
  const giveUp = new Stop();
  const run = runCommand(one, new Stop(), giveUp);
  await until(() => fs.existsSync(child), "the command runs");
  giveUp.request();
  assert.equal((await run).how, "given_up");
  const process_id = Number(fs.readFileSync(child, "utf8"));
  await until(() => !fs.existsSync(`/proc/${process_id}`) || fs.readFileSync(`/proc/${process_id}/stat`, "utf8").includes(") Z "), "its child ends");
  assert.equal(await hasRun(one.folder, one.id), false);
});

test("a command that ends well after a stop has its result taken", async (t) => {
  const one = job(t, "");
  const ready = path.join(path.dirname(one.folder), "ready");
  one.command = `trap 'echo saved; exit 0' TERM; touch '${ready}'; while :; do sleep 0.05; done`;
  const stop = new Stop();
  const run = runCommand(one, stop, new Stop());
  await until(() => fs.existsSync(ready), "the command runs");
  stop.request();
  const { how, code, output } = await run;
  assert.deepEqual([how, code, output], ["exited", 0, "saved\n"]);
});

test("nothing is started for a run that was given up before", async (t) => {
  const one = job(t, "echo ran > should_not_be_here");
  const giveUp = new Stop();
  giveUp.request();
  assert.equal((await runCommand(one, new Stop(), giveUp)).how, "given_up");
  assert.deepEqual(fs.readdirSync(one.folder), []);
});

test("output above the limit is cut between two characters, and all of it can be attached", async (t) => {
  const one = job(t, `printf x; yes 'é' | tr -d '\\n' | head -c 400000`);
  const run = await runCommand(one, new Stop(), new Stop());
  assert.equal(run.cut, true);
  assert.match(run.output, /^xé+$/);
  assert.equal(attachOutput(one.folder, one.id), "output.txt");
  assert.equal(attachOutput(one.folder, one.id), "output.txt");
  assert.deepEqual(findResultFiles(resultFolder(one.folder, one.id)).files.map((file) => file.size), [400_001]);
});

test("result files are regular files only, and the others are named with the reason", async (t) => {
  const one = job(t, 'cd "$RESTANTE_RESULT_DIR" && echo a > a.txt && : > empty && mkdir sub && ln -s a.txt link');
  await runCommand(one, new Stop(), new Stop());
  const { files, refused } = findResultFiles(resultFolder(one.folder, one.id));
  assert.deepEqual(files.map((file) => path.basename(file.path)), ["a.txt"]);
  assert.deepEqual(refused, ["empty: is empty", "link: is a symbolic link", "sub: is a folder"]);
});

test("the last lines of stderr are kept, and a run that takes too long is ended", async (t) => {
  const many = await runCommand(job(t, "seq 1 5000 >&2; printf 'no \\033[1mcolours\\n' >&2; exit 1"), new Stop(), new Stop());
  assert.equal(many.errors, [...Array.from({ length: 9 }, (_, n) => String(4992 + n)), "no ?[1mcolours"].join("\n"));
  const long = { ...job(t, "echo busy >&2; exec sleep 600"), longest: 1000 };
  const { how, trouble, errors } = await runCommand(long, new Stop(), new Stop());
  assert.deepEqual([how, trouble], ["killed", "the command took longer than 1 s and was ended"]);
  assert.match(errors, /^busy/); // the shell may add that it was terminated
});

test("runs that a kill has left are forgotten, except those that are still needed", async (t) => {
  const one = job(t, 'echo a > "$RESTANTE_RESULT_DIR/a"');
  for (const id of ["begun", "unsent", "left"]) await runCommand({ ...one, id }, new Stop(), new Stop());
  await forgetOtherRuns(one.folder, ["begun"], [resultFolder(one.folder, "unsent"), ""]);
  assert.deepEqual(await Promise.all(["begun", "unsent", "left"].map((id) => hasRun(one.folder, id))), [true, true, false]);
  assert.ok(!fs.existsSync(resultFolder(one.folder, "left")));
});

test("a command that cannot be found is refused before anything is taken", () => {
  assert.match(refusalOf("no-such-command --flag"), /no-such-command cannot be found/);
  assert.match(refusalOf("./no/such/script"), /cannot be found/);
  assert.match(refusalOf("  "), /empty/);
  for (const command of ["cat", "cat >> log && echo done", "A=b no-such", "if true; then echo; fi", "(cat)"]) assert.equal(refusalOf(command), "");
});

test("an exit code is described with the signal that it stands for", () => {
  assert.equal(describeCode(4), "exit code 4");
  assert.equal(describeCode(143), "exit code 143 (as after SIGTERM)");
});
