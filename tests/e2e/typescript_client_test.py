"""The TypeScript client as a library, in real Node processes with a real server: handlers, tasks, answers with files, state for each
workspace. What it shares with the other agents is in agents_test.py."""
import json
import os
import re
import shutil
import signal
import ssl
import stat
import subprocess

import pytest

from support.agent import pending, send, url_of
from support.forward_proxy import ForwardProxy
from support.server import Lines
from support.typescript_agent import CLIENT
from support.waiting import wait_until
from support.workspace import Workspace

NODE = shutil.which("node")

# A program that uses the library. It prints one line of JSON for each thing that happens.
PROGRAM = """
import { Agent } from "restante";
import { writeFileSync } from "node:fs";
const { url, ...options } = JSON.parse(process.env.TEST_OPTIONS);
const say = (what) => console.log(JSON.stringify(what));
const agent = await Agent.connect(url, options);
process.once("SIGTERM", () => agent.stop());
say({ workspace: agent.workspace });
%s
await agent.run();
say({ ended: true });
"""


class Library:
    """A Node process with PROGRAM and these handlers."""

    def __init__(self, folder, handlers, **options):
        folder.mkdir(parents=True, exist_ok=True)
        self.dir = folder / "dir"
        options = {"dir": str(self.dir), **options}
        env = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
        env.update(TEST_OPTIONS=json.dumps(options), XDG_STATE_HOME=str(folder / "states"))
        self.process = subprocess.Popen([NODE, "--input-type=module", "-e", PROGRAM % handlers], cwd=CLIENT, env=env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.stdout, self.stderr = Lines(self.process.stdout), Lines(self.process.stderr)

    def said(self):
        return [json.loads(line) for line in self.stdout()]

    def wait_said(self, key):
        return json.loads(self.stdout.wait(lambda line: key in json.loads(line), f"the program says {key}"))[key]

    def wait_printed(self, text):
        return self.stderr.wait(lambda line: text.encode() in line, f"the agent prints {text!r}").decode()

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture
def library(tmp_path):
    """library(handlers, url=…, token=…) starts a program with these handlers; all end with the test."""
    made = []

    def maker(handlers, folder="home", **options):
        made.append(Library(tmp_path / folder, handlers, **options))
        return made[-1]

    yield maker
    for one in made:
        one.kill()


ANSWER = "agent.onMessage((message) => { say({ text: message.text, again: message.again }); return `got ${message.text}`; });"


def enrolment(server, name):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": name}).json()
    return made["id"], made["connection"]["enrolment_token"]


def test_the_example_enrols_and_answers_a_message_with_files_and_a_task(server, tmp_path):
    workspace_id, token = enrolment(server, "laptop")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "RESTANTE_URL": url_of(server), "RESTANTE_ENROL": token}
    workspace, caller = Workspace(server, known=(workspace_id, None)), Workspace(server, "caller")
    (tmp_path / "folder").mkdir()
    running = subprocess.Popen([NODE, str(CLIENT / "examples" / "answer.mjs")], cwd=tmp_path / "folder", env=env, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        printed = Lines(running.stderr)
        printed.wait(lambda line: workspace_id.encode() in line, "it is connected")
        state = tmp_path / ".local/state/restante/typescript" / workspace_id
        assert stat.S_IMODE((state / "token").stat().st_mode) == 0o600
        workspace.token = (state / "token").read_text().strip()
        (_, first), (_, second) = workspace.upload(("a.txt", b"one two"), ("b.txt", b"three"))
        send(workspace, "count these", first["uri"], second["uri"])
        wait_until(lambda: "2 files, thank you" in workspace.messages(), "the answer")
        task = {"target_id": workspace_id, "task": "count", "delegation_id": "count"}
        assert server.request("POST", caller.path("delegate"), token=caller.token, json_body=task).status == 202
        wait_until(lambda: server.get(caller.path("delegations/count"), token=caller.token).json()["status"] == "completed", "the task")
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    finally:
        running.kill()


def test_a_second_agent_on_one_machine_just_works_and_the_same_line_can_be_run_again(server, library):
    made = [enrolment(server, name) for name in ("first", "second")]
    agents = [library(ANSWER, url=url_of(server), enrol=token) for _, token in made]
    assert [agent.wait_said("workspace") for agent in agents] == [workspace_id for workspace_id, _ in made]
    # The running one has the state of its workspace.
    third = library(ANSWER, url=url_of(server), enrol=made[0][1])
    third.wait_printed("another agent uses the state")
    assert [agent.stop() for agent in agents] == [0, 0]
    again = library(ANSWER, url=url_of(server), enrol=made[0][1])
    assert again.wait_said("workspace") == made[0][0]
    assert again.stop() == 0
    # The server is remembered; the workspace has to be chosen, because there are two.
    unclear = library(ANSWER, url="")
    unclear.wait_printed("there are several workspaces on this machine")
    chosen = library(ANSWER, url="", workspace=made[1][0])
    assert chosen.wait_said("workspace") == made[1][0]
    assert chosen.stop() == 0


def test_a_token_finds_the_state_of_its_workspace(server, library):
    workspace = Workspace(server)
    first = library(ANSWER, url=url_of(server), token=workspace.token)
    send(workspace, "one")
    wait_until(lambda: workspace.messages() == ["got one"], "the first answer")
    assert first.stop() == 0
    again = library(ANSWER, url=url_of(server), token=workspace.token)
    send(workspace, "two")
    wait_until(lambda: len(workspace.messages()) == 2, "the second answer")
    again.wait_said("text")
    assert [one["text"] for one in again.said() if "text" in one] == ["two"], "what was handed over does not come again"
    assert again.stop() == 0


def test_a_new_enrolment_of_a_known_workspace_goes_on_with_its_state(server, library):
    workspace_id, token = enrolment(server, "laptop")
    workspace = Workspace(server, known=(workspace_id, server.admin_token))
    first = library(ANSWER, url=url_of(server), enrol=token)
    send(workspace, "one")
    wait_until(lambda: workspace.messages() == ["got one"], "the first answer")
    assert first.stop() == 0
    invite = {"kind": "enrolment", "workspace_id": workspace_id}
    renewed = server.request("POST", "/admin/invites", token=server.admin_token, json_body=invite).json()["token"]
    again = library(ANSWER, url=url_of(server), enrol=renewed)
    send(workspace, "two")
    wait_until(lambda: len(workspace.messages()) == 2, "the second answer")
    again.wait_said("text")
    assert [one["text"] for one in again.said() if "text" in one] == ["two"]
    assert again.stop() == 0


def test_a_message_whose_handler_was_killed_comes_again_marked_as_such(workspace, library):
    url = url_of(workspace.server)
    first = library("agent.onMessage((message) => { say({ begun: message.id }); return new Promise(() => {}); });", url=url, token=workspace.token)
    send(workspace, "work")
    first.wait_said("begun")
    first.kill()
    again = library(ANSWER, url=url, token=workspace.token)
    wait_until(lambda: workspace.messages() == ["got work"], "the answer")
    again.wait_said("again")  # the answer may be here before the line is read
    assert [one["again"] for one in again.said() if "again" in one] == [True]
    assert again.stop() == 0


def test_a_task_reports_progress_and_returns_files_and_a_cancelled_one_is_aborted(server, workspace, library, tmp_path):
    caller = Workspace(server, "caller")
    agent = library("""
agent.onMessage(() => "");
agent.onTask(async (task) => {
  await task.progress("half of " + task.text);
  if (task.text === "endless") {
    say({ busy: true });
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
    say({ cancelled: task.cancelled });
    return;
  }
  writeFileSync(options.dir + "/report.txt", "the report");
  return { text: "done", files: [options.dir + "/report.txt"] };
});
""", url=url_of(server), token=workspace.token)
    agent.dir.mkdir(exist_ok=True)
    for name, text in (("long", "endless"), ("short", "a report")):
        task = {"target_id": workspace.id, "task": text, "delegation_id": name}
        assert server.request("POST", caller.path("delegate"), token=caller.token, json_body=task).status == 202
    agent.wait_said("busy")
    seen = server.get(caller.path("delegations/long"), token=caller.token).json()
    assert seen["status"] == "in_progress" and "half of endless" in json.dumps(seen)
    assert server.request("POST", caller.path("delegations/long/cancel"), token=caller.token).status == 200
    assert agent.wait_said("cancelled") is True
    show = lambda: server.get(caller.path("delegations/short"), token=caller.token).json()
    wait_until(lambda: show()["status"] == "completed", "the other task")
    files = [item for item in pending(caller) if item["name"] == "report.txt"]
    assert server.get(caller.content(files[0]["file_id"]), token=caller.token).body == b"the report"
    results = [(row["request_body"]["delegation_id"], row["status"]) for row in caller.activity() if row["method"] == "delegate_result"]
    assert sorted(results) == [("long", "error"), ("short", "ok")], "no late answer of a task that returned nothing"
    assert agent.stop() == 0


def test_an_agent_sends_files_to_the_person_and_takes_the_result_of_a_task_it_gave(server, library, tmp_path):
    boss, worker = Workspace(server, "boss"), Workspace(server, "worker")
    (tmp_path / "note.txt").write_text("a note")
    helper = library('agent.onMessage(() => ""); agent.onTask((task) => `${task.files[0].size} bytes`);', folder="worker", url=url_of(server),
                     token=worker.token)
    helper.wait_said("workspace")
    agent = library("""
agent.onResult((result) => say({ unexpected: result }));
agent.onMessage(async (message) => {
  await agent.send("see the note", { files: [message.text] });
  const task = await agent.delegate("worker", "how large is it?", { files: [message.text] });
  const result = await task.result({ timeout: 120_000 });
  return `${result.status}: ${result.text}`;
});
""", folder="boss", url=url_of(server), token=boss.token)
    agent.wait_said("workspace")
    send(boss, str(tmp_path / "note.txt"))
    wait_until(lambda: len(boss.messages()) == 2, "both messages")
    assert boss.messages() == ["see the note", "ok: 6 bytes"]
    note = next(row for row in boss.activity() if row["method"] == "notify" and "parts" in row["response_body"])
    assert note["response_body"]["parts"][0]["file"]["name"] == "note.txt"
    assert not any("unexpected" in one for one in agent.said())
    assert (agent.stop(), helper.stop()) == (0, 0)


def test_a_revoked_token_ends_run_with_an_error_that_says_what_to_do(workspace, library):
    agent = library(ANSWER, url=url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    admin = workspace.server.admin_token
    for token in workspace.server.get(workspace.path("tokens"), token=admin).json():
        workspace.server.request("DELETE", workspace.path(f"tokens/{token['id']}"), token=admin)
    agent.wait_printed("AgentEnded")
    assert agent.process.wait(60) != 0


def test_a_used_enrolment_token_is_refused_and_leaves_no_state(server, library, tmp_path):
    _, token = enrolment(server, "laptop")
    first = library(ANSWER, url=url_of(server), enrol=token)
    first.wait_said("workspace")
    other = library(ANSWER, folder="another machine", url=url_of(server), enrol=token)
    other.wait_printed("it was used, has expired, or is another server's")
    assert other.process.wait(60) != 0
    assert list((tmp_path / "another machine" / "states").rglob("token")) == []
    assert first.stop() == 0


@pytest.mark.parametrize("page", ["clients/typescript/README.md", "docs/agents.md"])
def test_the_program_in_the_documents_runs_as_it_is_printed(server, tmp_path, page):
    workspace_id, token = enrolment(server, "reader")
    workspace = Workspace(server, known=(workspace_id, server.admin_token))
    program = re.search(r'^```js\n(import \{ Agent \} from "restante";\n.*?)^```$', (CLIENT.parents[1] / page).read_text(), re.M | re.S)[1]
    program = program.replace("https://post.example.org", url_of(server)).replace("TOKEN", json.dumps(token))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    running = subprocess.Popen([NODE, "--input-type=module", "-e", program], cwd=CLIENT, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        send(workspace, "hello")
        wait_until(lambda: workspace.messages() == ["0 files, thank you"], "the answer")
    finally:
        running.kill()
        running.wait(60)


PROGRAM_FILE = str(CLIENT / "bin" / "restante-agent.mjs")


def test_https_goes_through_a_tunnel_of_the_proxy_and_only_a_known_authority_is_trusted(start, connect, tmp_path):
    host = "post.example.invalid"  # no name service knows it: a request that reaches the server went through the proxy
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=post",
                    "-addext", f"subjectAltName=DNS:{host},IP:127.0.0.1", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
                   check=True, capture_output=True)
    tls = ssl.create_default_context(cadata=(tmp_path / "cert.pem").read_text())
    server = start({"tls.certificate": tmp_path / "cert.pem", "tls.key": tmp_path / "key.pem"}, tls=tls)
    workspace, proxy = Workspace(server), ForwardProxy(server.port, password="me:secret")
    through = {"https_proxy": f"http://me:secret@{proxy.address}"}
    doubtful = connect(f"https://{host}", token=workspace.token, program=PROGRAM_FILE, environment=through)
    doubtful.wait_printed("no secure connection")
    agent = connect(f"https://{host}", token=workspace.token, program=PROGRAM_FILE, environment={**through, "SSL_CERT_FILE": str(tmp_path / "cert.pem")})
    workspace.upload(("a.bin", os.urandom(200_000)))
    wait_until(lambda: workspace.messages() == ["got it"], "the answer")
    assert set(proxy.asked) == {("CONNECT", f"{host}:443")}
    assert (agent.stop(), doubtful.stop()) == (0, 0)
    proxy.close()


def test_a_command_that_is_not_there_is_refused_at_the_start_and_one_that_is_lost_later_loses_no_message(workspace, connect, tmp_path):
    url = url_of(workspace.server)
    typo = connect(url, token=workspace.token, program=PROGRAM_FILE, exec_command="anwser.sh --fast")
    assert typo.wait_exit() == 64
    assert b"the command anwser.sh cannot be found" in typo.stderr()[-1]
    script = tmp_path / "answer.sh"
    script.write_text("#!/bin/sh\necho here I am\n")
    script.chmod(0o700)
    agent = connect(url, token=workspace.token, program=PROGRAM_FILE, exec_command=str(script), arguments=["--attempts", "1"])
    agent.wait_printed("connected to")
    script.rename(tmp_path / "away")
    send(workspace, "where are you?")
    agent.wait_printed("the command cannot be run: it ended with exit code 127; deliveries wait")
    (tmp_path / "away").rename(script)
    wait_until(lambda: workspace.messages() == ["here I am"], "the answer, after all")
    assert agent.stop() == 0


def test_a_command_that_fails_or_takes_too_long_is_reported_with_its_last_errors(workspace, connect):
    def failure(text, command, *arguments):
        """What the sender reads after the one attempt."""
        before = len(workspace.messages())
        agent = connect(url_of(workspace.server), token=workspace.token, program=PROGRAM_FILE, exec_command=command,
                        arguments=["--attempts", "1", *arguments])
        agent.wait_printed("connected to")
        send(workspace, text)
        wait_until(lambda: len(workspace.messages()) == before + 1, f"the failure of {text}; printed: {agent.stderr()}")
        assert agent.stop() == 0
        return workspace.messages()[-1]

    reason = failure("short", "cat > /dev/null; echo 'no such word' >&2; exit 3")
    assert reason == "The agent could not handle this: the command ended with exit code 3. The last lines of its errors:\nno such word"
    reason = failure("long", "exec sleep 600", "--exec-timeout", "1")
    assert reason.startswith("The agent could not handle this: the command took longer than 1 s and was ended.")
