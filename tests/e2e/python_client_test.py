"""The agent in Python beyond what all agents do (agents_test.py): the library, its state for each workspace, `send` and `status`, and the one
file that the server hands out."""
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import textwrap

import pytest

from support.agent import pending, send, url_of
from support.agent_kinds import SOURCE, joined_python_client
from support.server import Lines
from support.waiting import wait_until
from support.workspace import Workspace

PACKAGE = SOURCE / "clients" / "python"


class Program:
    """A program that uses the library, in its own process and folder."""

    def __init__(self, folder, text, *words, home=None):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "program.py").write_text(textwrap.dedent(text))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
        environment.update(PYTHONPATH=str(PACKAGE), HOME=str(home or folder), PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1")
        environment.pop("XDG_STATE_HOME", None)
        self.process = subprocess.Popen([sys.executable, "program.py", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.stdout, self.stderr = Lines(self.process.stdout), Lines(self.process.stderr)

    def stop(self):
        self.process.terminate()
        code = self.process.wait(60)
        self.stderr.join()
        assert code == 0, b"\n".join(self.stderr()).decode()

    def clean(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
        for lines, pipe in ((self.stdout, self.process.stdout), (self.stderr, self.process.stderr)):
            lines.join()
            pipe.close()


@pytest.fixture
def program(tmp_path):
    """program(text, *words) starts one; all end with the test."""
    made = []

    def maker(text, *words, **options):
        made.append(Program(tmp_path / f"program{len(made)}", text, *words, **options))
        return made[-1]

    yield maker
    for one in made:
        one.clean()


def enrolment(server, name="laptop"):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": name}).json()
    return Workspace(server, known=(made["id"], None)), made["connection"]["enrolment_token"]


EXAMPLE = """
    import sys
    from restante import Agent
    agent = Agent.connect(sys.argv[1], enrol=sys.argv[2])

    @agent.on_message
    def answer(message):
        return f"{len(message.files)} files, thank you"

    agent.run()
"""


def test_the_example_of_the_readme_answers_and_keeps_its_state_by_workspace(server, program):
    workspace, token = enrolment(server)
    one = program(EXAMPLE, url_of(server), token)
    (_, item), = workspace.upload(("a.txt", b"a"))
    send(workspace, "look", item["uri"])
    wait_until(lambda: "1 files, thank you" in workspace.messages(), "the answer")
    states = one.folder / ".local/state/restante/python"
    state, = [path for path in states.iterdir() if json.loads((path / "identity.json").read_text())["workspace"] == workspace.id]
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) in (0o600, 0o700) for path in state.rglob("*"))
    one.stop()
    # A second agent of the same user has its own state; the first is found again by its enrolment token, which was used.
    second, other = enrolment(server, "other")
    two = program(EXAMPLE, url_of(server), other, home=one.folder)
    three = program(EXAMPLE, url_of(server), token, home=one.folder)
    send(second, "you")
    send(workspace, "and you")
    wait_until(lambda: second.messages() and workspace.messages()[-1:] == ["0 files, thank you"], "both answer")
    two.stop()
    three.stop()


def test_a_task_has_progress_result_files_and_ends_when_it_is_cancelled(server, program):
    workspace, token = enrolment(server)
    caller = Workspace(server, "caller")
    one = program("""
        import pathlib, sys, tempfile
        from restante import Agent, Answer
        agent = Agent.connect(sys.argv[1], enrol=sys.argv[2])

        @agent.on_task
        def work(task):
            task.progress("half")
            if task.text == "endless":
                print("busy")
                task.wait_cancelled(600)
                assert task.cancelled
                raise RuntimeError("cancelled")
            with tempfile.TemporaryDirectory() as folder:
                table = pathlib.Path(folder) / "table.csv"
                table.write_text("1,2")
                task.attach(table)  # a copy: the folder is deleted before the function returns
            pathlib.Path("chart.txt").write_text("#")
            return Answer("counted", ["chart.txt"])

        agent.on_message(lambda message: None)
        agent.run()
    """, url_of(server), token)

    def give(name, text):
        body = {"target_id": workspace.id, "task": text, "delegation_id": name}
        assert server.request("POST", caller.path("delegate"), token=caller.token, json_body=body).status == 202

    record = lambda name: server.get(caller.path(f"delegations/{name}"), token=caller.token).json()
    give("endless", "endless")
    one.stdout.wait(lambda line: line == b"busy", "the task is begun")
    assert record("endless")["progress"] == "half" and record("endless")["status"] == "in_progress"
    assert server.request("POST", caller.path("delegations/endless/cancel"), token=caller.token).status == 200
    give("count", "count")
    wait_until(lambda: record("count")["status"] == "completed", "the next task")
    assert record("count")["result"] == "counted" and record("endless")["status"] == "failed"
    assert {file["name"] for file in pending(caller)} == {"table.csv", "chart.txt"}
    one.stop()


def test_a_result_with_files_reaches_a_caller_that_waits_in_its_own_function(server, program):
    worker, worker_token = enrolment(server, "worker")
    planner, planner_token = enrolment(server, "planner")
    program("""
        import pathlib, sys
        from restante import Agent, Answer
        agent = Agent.connect(sys.argv[1], enrol=sys.argv[2])

        @agent.on_task
        async def work(task):
            pathlib.Path("table.csv").write_text(task.files[0].path.read_text() * 2)
            return Answer("counted", ["table.csv"])

        agent.run()
    """, url_of(server), worker_token)
    program("""
        import pathlib, sys
        from restante import Agent
        agent = Agent.connect(sys.argv[1], enrol=sys.argv[2])

        @agent.on_message
        def ask(message):
            pathlib.Path("in.txt").write_text("ab")
            result = agent.delegate("worker", "count", files=["in.txt"]).result()
            agent.send("a picture", files=["in.txt"])
            return f"{result.ok} {result.text} {result.files[0].path.read_text()}"

        agent.run()
    """, url_of(server), planner_token)
    send(planner, "go")
    wait_until(lambda: "True counted abab" in planner.messages(), "the answer with the result")
    assert "a picture" in planner.messages()
    wait_until(lambda: pending(worker) == [] and pending(planner) == [], "every file is acknowledged")


def test_coroutines_run_on_the_programs_event_loop_and_are_cancelled_with_their_task(server, program):
    workspace, token = enrolment(server)
    caller = Workspace(server, "caller")
    one = program("""
        import asyncio, signal, sys
        from restante import Agent

        async def main():
            agent = Agent.connect(sys.argv[1], enrol=sys.argv[2])
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, agent.stop)

            @agent.on_message
            async def answer(message):
                assert asyncio.get_running_loop() is loop
                return "async " + message.text

            @agent.on_task
            async def work(task):
                print("busy")
                try:
                    await asyncio.sleep(600)
                except asyncio.CancelledError:
                    print("cancelled")
                    raise

            await agent.run_async()

        asyncio.run(main())
    """, url_of(server), token)
    send(workspace, "hello")
    wait_until(lambda: workspace.messages() == ["async hello"], "the answer")
    body = {"target_id": workspace.id, "task": "endless", "delegation_id": "async-endless"}
    assert server.request("POST", caller.path("delegate"), token=caller.token, json_body=body).status == 202
    one.stdout.wait(lambda line: line == b"busy", "the task is begun")
    assert server.request("POST", caller.path("delegations/async-endless/cancel"), token=caller.token).status == 200
    one.stdout.wait(lambda line: line == b"cancelled", "its coroutine is cancelled")
    one.stop()


def test_a_function_that_was_killed_gets_its_message_again_and_sees_that(server, program):
    workspace, token = enrolment(server)
    text = """
        import os, sys
        from restante import Agent
        agent = Agent.connect(sys.argv[1], enrol=sys.argv[2])

        @agent.on_message
        def answer(message):
            if not message.again:
                os.kill(os.getpid(), 9)
            return "again"

        agent.run()
    """
    one = program(text, url_of(server), token)
    send(workspace, "hello")
    assert one.process.wait(60) == -9
    program(text, url_of(server), token, home=one.folder)
    wait_until(lambda: workspace.messages() == ["again"], "the answer of the second process")


# -- the command line


def test_a_program_behind_json_lines_answers_on_stdin(server, workspace, tmp_path):
    caller = Workspace(server, "caller")
    (tmp_path / "token").write_text(workspace.token)
    (tmp_path / "chart.txt").write_text("#")
    words = ["connect", "--json", "--url", url_of(server), "--token-file", "token", "--state", "state", "--dir", "dir"]
    with subprocess.Popen([sys.executable, str(joined_python_client()), *words], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as agent:
        lines, errors = Lines(agent.stdout), Lines(agent.stderr)

        def answer(**body):
            agent.stdin.write(json.dumps(body).encode() + b"\n")
            agent.stdin.flush()

        send(workspace, "hello")
        delivery = json.loads(lines.wait(lambda _: True, "the message"))
        answer(reply_to=delivery["id"], text="see this", files=["chart.txt"])
        row = wait_until(lambda: [row for row in workspace.activity(token=workspace.server.admin_token) if row["method"] == "notify"], "the answer")[0]
        assert row["response_body"]["result"] == "see this" and row["response_body"]["parts"][0]["file"]["name"] == "chart.txt"
        body = {"target_id": workspace.id, "task": "count", "delegation_id": "by-lines"}
        assert server.request("POST", caller.path("delegate"), token=caller.token, json_body=body).status == 202
        task = json.loads(lines.wait(lambda line: b"by-lines" in line, "the task"))
        answer(reply_to=task["id"], text="three")
        record = lambda: server.get(caller.path("delegations/by-lines"), token=caller.token).json()
        wait_until(lambda: record()["status"] == "completed", "the result")
        assert record()["result"] == "three"
        answer(reply_to="no-such-delivery", text="x")
        errors.wait(lambda line: b"no delivery no-such-delivery is known" in line, "the refusal")
        answer(text="by myself")
        wait_until(lambda: workspace.messages()[-1] == "by myself", "a message that answers nothing")
        agent.terminate()
        assert agent.wait(60) == 0
        lines.join()
        errors.join()


def run(*words, cwd, file=None, **environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
    clean.pop("XDG_STATE_HOME", None)
    return subprocess.run([sys.executable, str(file or joined_python_client()), *map(str, words)], cwd=cwd, capture_output=True, text=True,
                          timeout=120, env={**clean, "HOME": str(cwd), **environment}, check=False)


def test_send_brings_text_and_files_to_an_agent_and_waits_for_the_ack(workspace, connect, tmp_path):
    server = workspace.server
    (tmp_path / "a.txt").write_text("content")
    where = {"RESTANTE_URL": url_of(server), "RESTANTE_TOKEN": server.admin_token}
    agent = connect(url_of(server), token=workspace.token)
    done = run("send", "--to", workspace.id, "look", "--file", "a.txt", "--wait", cwd=tmp_path, **where)
    assert done.returncode == 0 and "a.txt: acked" in done.stdout, done
    wait_until(lambda: workspace.messages() == ["got it"], "it is handed over")
    assert agent.deliveries()[0]["text"] == "look"
    assert agent.stop() == 0
    twins = [Workspace(server, "twin"), Workspace(server, "twin")]
    several = run("send", "--to", "twin", "hello", cwd=tmp_path, **where)
    assert several.returncode == 64 and all(one.id in several.stderr for one in twins)
    nothing = run("send", "--to", workspace.id, cwd=tmp_path, **where)
    assert nothing.returncode == 64 and "nothing to send" in nothing.stderr
    late = run("send", "--to", workspace.id, "--file", "a.txt", "--wait", "--timeout", "1", cwd=tmp_path, **where)
    assert late.returncode == 75, late


def test_status_tells_connected_from_stopped(server, connect, tmp_path):
    assert run("status", cwd=tmp_path).returncode == 77
    workspace = Workspace(server)
    agent = connect(url_of(server), token=workspace.token, program=[sys.executable, str(joined_python_client())])
    ask = lambda: run("status", "--json", "--state", agent.state, cwd=tmp_path)
    wait_until(lambda: ask().returncode == 0, "it is connected")
    facts = json.loads(ask().stdout)
    assert (facts["status"], facts["workspace_id"], facts["process"]) == ("connected", workspace.id, agent.process.pid)
    assert agent.stop() == 0
    assert ask().returncode == 1 and json.loads(ask().stdout)["status"] == "stopped"


@pytest.mark.parametrize("words, code, sentence", [
    (["connect", "--exec", "./no-such-script"], 64, "there is no command ./no-such-script"),
    (["connect", "--exec", "true", "--json"], 64, "give either --exec or --json"),
    (["connect", "--reply-to-agents"], 64, "--reply-to-agents needs --exec"),
    (["connect", "--token-file", "no-such-file"], 77, "no token can be read from --token-file"),
    (["connect", "--enrol-file", "no-such-file"], 77, "no token can be read from --enrol-file"),
    (["connect", "--url", "ftp://x", "--enrol", "T"], 64, "is not an address"),
    (["connect", "--workspace", "laptop"], 64, "of the form"),
    (["connect", "--file-wait", "x"], 64, "is not a number from 0 to 3600"),
    (["no-such-command"], 64, "invalid choice"),
])
def test_a_wrong_command_gets_a_sentence(tmp_path, words, code, sentence):
    done = run(*words, cwd=tmp_path)
    assert done.returncode == code and sentence in done.stderr, done
    assert "Traceback" not in done.stderr


def test_a_token_from_the_environment_finds_its_workspace_by_asking_the_server(server, workspace, tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "RESTANTE_URL": url_of(server), "RESTANTE_TOKEN": workspace.token}
    with subprocess.Popen([sys.executable, str(joined_python_client()), "connect"], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as agent:
        lines, errors = Lines(agent.stdout), Lines(agent.stderr)
        errors.wait(lambda line: b"connected to" in line, "it is connected")
        assert (tmp_path / ".local/state/restante/python" / workspace.id / "ledger.sqlite").exists()
        agent.terminate()
        assert agent.wait(60) == 0
        lines.join()
        errors.join()
    person = run("connect", cwd=tmp_path, RESTANTE_URL=url_of(server), RESTANTE_TOKEN=server.admin_token)
    assert person.returncode == 77 and "this is a person's token" in person.stderr, person


def test_a_typo_in_the_command_does_not_spend_the_enrolment_token(server, tmp_path, connect):
    workspace, token = enrolment(server)
    (tmp_path / "token").write_text(token + "\n")
    typo = run("connect", "--url", url_of(server), "--enrol-file", "token", "--exec", "./anser.sh", cwd=tmp_path)
    assert typo.returncode == 64 and token not in typo.stderr
    agent = connect(url_of(server), program=[sys.executable, str(joined_python_client())], arguments=["--enrol-file", str(tmp_path / "token")])
    agent.wait_printed(workspace.id)
    assert agent.stop() == 0


def test_a_command_that_is_not_there_any_more_pauses_and_destroys_no_mail(workspace, connect, tmp_path):
    script = tmp_path / "answer.sh"
    script.write_text("#!/bin/sh\necho answered\n")
    script.chmod(0o755)
    agent = connect(url_of(workspace.server), token=workspace.token, program=[sys.executable, str(joined_python_client())],
                    exec_command=f"{script}", arguments=["--attempts", "1"])
    agent.wait_printed("connected to")
    script.rename(tmp_path / "moved.sh")
    send(workspace, "hello")
    agent.wait_printed("nothing is handed over until the command can be run")
    (tmp_path / "moved.sh").rename(script)
    wait_until(lambda: workspace.messages() == ["answered"], "it is handed over when the command is back", ceiling=120)
    assert agent.stop() == 0


# -- the one file


def test_the_server_hands_out_the_file_with_its_sha256(server, tmp_path):
    answer = server.get("/download/restante.py")
    assert (answer.status, answer.header("Content-Type")) == (200, "text/x-python; charset=utf-8"), answer
    assert answer.body == joined_python_client().read_bytes(), "made from the package of this checkout"
    digest = hashlib.sha256(answer.body).hexdigest()
    assert answer.header("ETag") == f'"{digest}"'
    assert server.get("/download/restante.py.sha256").body.decode() == f"{digest}  restante.py\n"
    assert server.get("/download/restante.py", headers={"If-None-Match": f'"{digest}"'}).status == 304
    assert server.get("/download/restante.pyc").status == 404
    (tmp_path / "restante.py").write_bytes(answer.body)
    version = run("--version", cwd=tmp_path, file=tmp_path / "restante.py").stdout
    assert version == f"restante.py {(SOURCE / 'VERSION').read_text().strip()}\n"


def test_a_file_that_was_cut_or_changed_is_refused_with_a_sentence(tmp_path):
    whole, file = joined_python_client().read_text(), tmp_path / "restante.py"
    boundary = [match.start() for match in re.finditer(r"\n\n\nclass ", whole)][8]
    for broken in (whole[:boundary] + "\n", whole.replace("MOST_RECENT = 2_000", "MOST_RECENT = 2"), whole + "\n"):
        assert broken != whole
        file.write_text(broken)
        done = run("connect", "--help", cwd=tmp_path, file=file)
        assert done.returncode == 1 and done.stderr == "restante.py: this file is cut or was changed; download it again\n", done


def test_an_older_file_says_that_the_server_has_another_and_update_takes_it(server, workspace, connect, tmp_path):
    file = tmp_path / "restante.py"
    rest = joined_python_client().read_bytes().split(b"\n", 2)[2] + b"# older\n"
    file.write_bytes(b"#!/usr/bin/env python3\n# sha256 of the lines below: " + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
    agent = connect(url_of(server), token=workspace.token, program=[sys.executable, str(file)])
    agent.wait_printed("the server hands out another restante.py than this one")
    assert agent.stop() == 0
    done = run("update", "--url", url_of(server), cwd=tmp_path, file=file)
    assert done.returncode == 0 and file.read_bytes() == server.get("/download/restante.py").body, done
    again = run("update", "--url", url_of(server), cwd=tmp_path, file=file)
    assert again.stdout == "this is the restante.py that the server hands out\n", again


def test_the_file_is_a_library_too_and_the_same_package_gives_the_same_file(tmp_path):
    (tmp_path / "restante.py").write_bytes(joined_python_client().read_bytes())
    names = "import restante; print(*restante.__all__, restante.__version__)"
    one = subprocess.run([sys.executable, "-c", names], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    package = subprocess.run([sys.executable, "-c", names], cwd=PACKAGE, capture_output=True, text=True, check=True).stdout
    assert one == package and "Agent" in one
    subprocess.run([sys.executable, str(SOURCE / "tools/join_python_client.py"), str(tmp_path / "again.py")], check=True)
    assert (tmp_path / "again.py").read_bytes() == joined_python_client().read_bytes()
