"""`restante delegate`, `tasks` and `task` with a real server: the output for a person and the JSON for a script."""
import json
import re
import signal

import pytest

from support.agent import url_of
from support.workspace import Workspace, multipart, sweep
from support.person import Person
from support.ports import free_port
from support.server import Lines
from support.waiting import wait_until


@pytest.fixture
def planner(server):
    return Workspace(server, "Planner")


@pytest.fixture
def reviewer(server):
    return Workspace(server, "Reviewer")


@pytest.fixture
def operator(server, tmp_path):
    return Person(server, tmp_path)


def received(workspace):
    """The newest unfinished task that the workspace has received."""
    answer = workspace.server.get(workspace.path("delegations?direction=received&status=in_flight"), token=workspace.token)
    return answer.json()[0] if answer.json() else None


def report(workspace, task, **body):
    answer = workspace.server.request("POST", workspace.path(f"delegations/{task['delegation_id']}/update"), token=workspace.token, json_body=body)
    assert answer.status == 200, answer


def give(person, planner, reviewer, task, *more):
    done = person.run("delegate", task, "--from", planner.id, "--to", reviewer.id, "--json", *more)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["delegation_id"]


def test_a_task_is_given_listed_with_why_it_waits_and_shown_with_its_result(operator, planner, reviewer):
    done = operator.run("delegate", "Review the patch.\nAll of it.", "--from", planner.id, "--to", reviewer.id, "--id", "review-1", "--within", "2h")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "restante task show review-1" in done.stdout
    listed = operator.run("tasks").stdout
    line = next(line for line in listed.splitlines() if "review-1" in line)
    assert "Planner" in line and "Reviewer" in line and "Review the patch.…" in line and re.search(r"in [12] h", line)
    assert "queued: " in line, "it shows why the task waits"
    report(reviewer, received(reviewer), status="completed", result="Looks good.\nShip it.")
    assert "No task is in this state." in operator.run("tasks").stdout
    assert "review-1" in operator.run("tasks", "--status", "completed").stdout
    shown = operator.run("task", "show", "review-1").stdout
    assert "completed" in shown and "Review the patch.\nAll of it.\n" in shown and "Looks good.\nShip it.\n" in shown
    assert "queued" in shown and "by" in shown.lower(), "the history"
    assert re.search(r"^completed +1$", operator.run("tasks", "--stats").stdout, re.M)


def test_watching_shows_each_change_until_it_is_interrupted(operator, planner, reviewer):
    watching = operator.start("tasks", "--watch")
    shown = Lines(watching.stdout.buffer)
    try:
        shown.wait(lambda line: b"No task is in this state." in line, "nothing yet")
        give(operator, planner, reviewer, "Watch me.", "--id", "watched")
        shown.wait(lambda line: b"watched" in line and b"queued" in line, "the task appears")
        report(reviewer, received(reviewer), status="completed", result="done")
        shown.wait(lambda line: b"No task is in this state." in line, "and disappears", start=1)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) != 0
    finally:
        watching.kill()
        watching.wait(60)


def test_waiting_prints_the_result_and_files_go_both_ways(operator, planner, reviewer):
    waiting = operator.start("delegate", "Count the lines.", "--from", planner.id, "--to", reviewer.id, "--wait", "--file", operator.file("lines.txt", b"1\n2\n"))
    wait_until(lambda: received(reviewer), "the task arrives")
    file, = reviewer.server.get(reviewer.path("pending-uploads"), token=reviewer.token).json()
    assert reviewer.server.get(reviewer.content(file["file_id"]), token=reviewer.token).body == b"1\n2\n"
    headers, body = multipart(("counted.txt", b"2"))
    answer = reviewer.server.request("POST", reviewer.path("chat/uploads?direction=out"), token=reviewer.token, body=body, headers=headers)
    out = answer.json()["files"][0]
    report(reviewer, received(reviewer), status="completed", result="two", attachments=[out])
    stdout, stderr = waiting.communicate(timeout=60)
    assert (waiting.returncode, stderr.count("restante:")) == (0, 0), (stdout, stderr)
    task, = planner.server.get(planner.path("delegations?direction=sent"), token=planner.token).json()
    assert "platform-pending:" not in stdout, "a person cannot do anything with that"
    assert f"two\nfile  counted.txt (1 B), on the server; restante task show {task['delegation_id']} --save DIR takes it\n" in stdout
    for name in ("counted.txt", "counted-2.txt"):
        shown = operator.run("task", "show", task["delegation_id"], "--save", operator.folder / "out")
        assert (shown.returncode, shown.stdout) == (0, f"file  {operator.folder / 'out' / name}\n"), shown
        assert (operator.folder / "out" / name).read_bytes() == b"2"
    staged, = planner.server.get(planner.path("pending-uploads"), token=planner.token).json()
    assert planner.server.get(planner.content(staged["file_id"]), token=planner.token).body == b"2"


def test_waiting_with_save_takes_the_files_and_json_has_their_paths(operator, planner, reviewer, connect):
    connect(url_of(planner.server), token=reviewer.token, exec_command="printf 'a chart' > \"$RESTANTE_RESULT_DIR/chart.csv\"")
    done = operator.run("delegate", "draw", "--from", planner.id, "--to", reviewer.id, "--wait", "--save", "charts")
    path = operator.folder / "charts" / "chart.csv"
    assert done.returncode == 0 and f"file  {path}\n" in done.stdout, done
    assert path.read_text() == "a chart"
    done = operator.run("delegate", "draw", "--from", planner.id, "--to", reviewer.id, "--wait", "--save", "charts", "--json")
    saved, = json.loads(done.stdout)["saved"]
    assert saved == {"name": "chart.csv", "size": 7, "path": str(operator.folder / "charts" / "chart-2.csv")}


def test_two_agents_finish_a_task_by_connect_alone(operator, planner, reviewer, connect, tmp_path):
    """The receiving agent's command gets the task and its file; the task is in progress; the caller's agent gets the whole result."""
    gate, url = tmp_path / "go", url_of(planner.server)
    command = (f"python3 -c \"import json,sys,os,time; task=json.load(sys.stdin)\nwhile not os.path.exists('{gate}'): time.sleep(0.05)\n"
               "print('read', open(task['files'][0]['path']).read()*2000)\"")
    connect(url, token=reviewer.token, exec_command=command)
    asker = connect(url, token=planner.token, mode="json")
    task = give(operator, planner, reviewer, "Read it aloud.", "--file", operator.file("poem.txt", b"roses "))
    wait_until(lambda: received(reviewer)["status"] == "in_progress", "its agent has reported that it works on it")
    assert received(reviewer)["last_heartbeat"] is not None
    gate.touch()
    line = asker.stdout.wait(lambda line: b'"result"' in line, "the result arrives")
    result = json.loads(line)
    assert (result["type"], result["delegation_id"], result["status"]) == ("result", task, "ok")
    assert result["text"] == "read " + "roses " * 1999 + "roses", "all of it, not a preview"


# Records that it ran, writes a result file, and a symbolic link, which cannot be attached.
ANSWER_WITH_FILE = """
import json, os, sys, time
task, out = json.load(sys.stdin), os.environ["RESTANTE_RESULT_DIR"]
poem = open(task["files"][0]["path"]).read()
with open({log!r}, "a") as log: log.write("ran\\n")
open(os.path.join(out, "poem back.txt"), "w").write(poem[::-1] * 30000)
os.symlink("/etc/hostname", os.path.join(out, "link"))
while not os.path.exists({gate!r}): time.sleep(0.05)
print("read", poem)
"""


@pytest.mark.bytes
def test_two_connected_agents_finish_a_task_with_a_file_each_way(operator, planner, reviewer, connect, tmp_path):
    gate, script, log, url = tmp_path / "go", tmp_path / "answer.py", tmp_path / "log", url_of(planner.server)
    script.write_text(ANSWER_WITH_FILE.format(gate=str(gate), log=str(log)))
    worker = connect(url, token=reviewer.token, exec_command=f"python3 {script}")
    asker = connect(url, token=planner.token, mode="json")
    task = give(operator, planner, reviewer, "Read it aloud.", "--file", operator.file("poem.txt", b"roses "))
    wait_until(lambda: received(reviewer)["status"] == "in_progress", "its agent has reported that it works on it")
    worker.kill()
    gate.touch()
    connect(url, token=reviewer.token, keep=worker, exec_command=f"python3 {script}")
    result = json.loads(asker.stdout.wait(lambda line: b'"type":"result"' in line, "the result arrives"))
    assert (result["delegation_id"], result["status"]) == (task, "ok")
    assert result["text"] == "read roses\n[not attached: link: is a symbolic link]"
    file, = result["files"]
    assert (file["name"], file["state"]) == ("poem_back.txt", "landed")
    with open(file["path"]) as landed:
        assert landed.read() == " sesor" * 30000
    assert log.read_text() == "ran\n", "after a kill of the agent the command does not run twice"
    rows = [row for row in planner.activity() if row["method"] in ("delegate_result", "chat_upload_receive")]
    assert [row["method"] for row in rows] == ["chat_upload_receive", "delegate_result"], "one file, one result"
    wait_until(lambda: not list((worker.state / "runs").iterdir()), "nothing of the run is left")


def test_a_command_that_only_writes_a_file_answers_a_person_and_one_without_output_ends_its_task(operator, planner, reviewer, connect):
    url = url_of(planner.server)
    connect(url, token=reviewer.token, exec_command="printf chart > \"$RESTANTE_RESULT_DIR/chart.csv\"")
    connect(url, token=planner.token, exec_command="true")
    sent = operator.run("send", "--to", reviewer.id, "draw")
    assert sent.returncode == 0, sent
    noted = lambda: [row for row in reviewer.activity(token=reviewer.server.admin_token) if row["method"] == "notify"]
    wait_until(noted, "the person is answered")
    part, = noted()[0]["response_body"]["parts"]
    assert part["file"]["name"] == "chart.csv"
    done = operator.run("delegate", "be quiet", "--from", reviewer.id, "--to", planner.id, "--wait")
    assert (done.returncode, "wrote no output" in done.stdout) == (0, True), done


def test_a_failure_is_shown_with_its_reason_and_exit_code_1(operator, planner, reviewer):
    waiting = operator.start("delegate", "impossible", "--from", planner.id, "--to", reviewer.id, "--wait")
    wait_until(lambda: received(reviewer), "the task arrives")
    report(reviewer, received(reviewer), status="failed", error="no such thing")
    stdout, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 1 and "failed: no such thing" in stdout


def test_a_wait_whose_time_is_up_is_75_and_the_task_goes_on(operator, planner, reviewer):
    done = operator.run("delegate", "slow", "--from", planner.id, "--to", reviewer.id, "--wait", "--timeout", "1")
    assert done.returncode == 75 and "the task goes on" in done.stderr
    assert received(reviewer)["status"] == "queued"


def test_waiting_with_an_agents_own_token_reads_nothing_of_its_inbox(server, tmp_path, operator, planner, reviewer):
    """Tasks that wait for an agent are not picked up by a person who waits for a result with the agent's token."""
    assert operator.run("delegate", "please plan", "--from", reviewer.id, "--to", planner.id, "--id", "plan-1").returncode == 0
    agent = Person(server, tmp_path, token=planner.token)
    done = agent.run("delegate", "review", "--to", reviewer.id, "--wait", "--timeout", "1")
    assert done.returncode == 75, done
    # Another workspace polls afterwards: when that poll is recorded, a poll of the first one would be recorded, too.
    other = Workspace(server, "Other")
    later = give(operator, planner, other, "read me")
    last = other.activity()[-1]["seq"]
    assert server.get(other.path(f"activity?since_seq={last}"), token=other.token).status == 200
    status = lambda task: server.get(f"/admin/delegations/{task}", token=server.admin_token).json()["status"]
    wait_until(lambda: status(later) == "dispatched", "a read task counts as picked up")
    assert status("plan-1") == "queued"
    seen = server.get(f"/workspaces/{planner.id}", token=server.admin_token).json()
    assert (seen["status"], seen["last_poll_at"]) == ("awaiting_agent", None)


def test_waiting_and_watching_go_on_through_a_restart_of_the_server(start, tmp_path):
    address = f"127.0.0.1:{free_port()}"
    first = start(listen=(address,))
    operator, planner, reviewer = Person(first, tmp_path), Workspace(first, "Planner"), Workspace(first, "Reviewer")
    commands = [operator.start("tasks", "--watch"),
                operator.start("delegate", "be patient", "--from", planner.id, "--to", reviewer.id, "--id", "patient", "--wait")]
    watched, waited = (Lines(command.stdout.buffer) for command in commands)
    warned = [Lines(command.stderr.buffer) for command in commands]
    try:
        watched.wait(lambda line: b"patient" in line, "it is shown")
        waited.wait(lambda line: b"queued" in line, "it is waited for")
        first.stop()
        for lines in warned:
            lines.wait(lambda line: b"the server is asked again until it answers" in line, "it prints that the server does not answer")
        again = start(data=first.data, listen=(address,))
        reviewer = reviewer.on(again)
        report(reviewer, received(reviewer), status="completed", result="it was worth it")
        waited.wait(lambda line: b"it was worth it" in line, "the result")
        assert commands[1].wait(60) == 0
        watched.wait(lambda line: b"No task is in this state." in line, "and disappears", start=1)
        assert commands[0].poll() is None
    finally:
        for command in commands:
            command.kill()
            command.wait(60)


def test_a_task_is_given_again_with_its_files_and_its_time(start, tmp_path):
    server = start({"uploads.ack_retention": "0s"})
    operator, planner, reviewer = Person(server, tmp_path), Workspace(server, "Planner"), Workspace(server, "Reviewer")

    def waiting():
        return server.get(reviewer.path("pending-uploads"), token=reviewer.token).json()

    def take():
        for file in waiting():
            assert server.request("POST", reviewer.path(f"pending-uploads/{file['file_id']}/ack"), token=reviewer.token).status == 200
        sweep(server)

    first = give(operator, planner, reviewer, "read it", "--within", "3d", "--file", operator.file("plan.txt", b"the plan"))
    assert re.search(r"^plan.txt +8 B +platform-pending:", operator.run("task", "show", first).stdout, re.M), "its file is listed"
    report(reviewer, received(reviewer), status="failed", error="later")
    take()
    again = operator.run("task", "retry", first)
    assert again.returncode == 0, again
    file, = waiting()
    assert server.get(reviewer.content(file["file_id"]), token=reviewer.token).body == b"the plan"
    assert re.search(r"^Due +in (2|3) days$|^Due +in 7[12] h$", operator.run("task", "show", received(reviewer)["delegation_id"]).stdout, re.M)
    report(reviewer, received(reviewer), status="failed", error="later")
    take()
    for row in server.get(f"/admin/uploads?state=outgoing&workspace={planner.id}", token=server.admin_token).json()["uploads"]:
        assert server.request("DELETE", planner.path(f"pending-uploads/{row['file_id']}"), token=server.admin_token).status == 200
    refused = operator.run("task", "retry", first)
    assert (refused.returncode, received(reviewer)) == (1, None), refused
    assert "no longer kept here" in refused.stderr and "--file FILE" in refused.stderr and "--no-files" in refused.stderr
    assert operator.run("task", "retry", first, "--no-files").returncode == 0
    assert waiting() == []
    report(reviewer, received(reviewer), status="failed", error="later")
    assert operator.run("task", "retry", first, "--file", operator.file("again.txt", b"again"), "--within", "30m").returncode == 0
    assert [file["name"] for file in waiting()] == ["again.txt"]
    assert re.search(r"^Due +in (30|29|28|2\d) min$", operator.run("task", "show", received(reviewer)["delegation_id"]).stdout, re.M)


def test_a_result_with_only_files_is_shown_and_no_text_of_an_agent_controls_the_terminal(operator, planner, reviewer):
    task = give(operator, planner, reviewer, "draw \x1b[2J it")
    headers, body = multipart(("chart.csv", b"1,2"))
    staged = reviewer.server.request("POST", reviewer.path("chat/uploads?direction=out"), token=reviewer.token, body=body, headers=headers)
    report(reviewer, received(reviewer), status="completed", attachments=staged.json()["files"])
    shown = operator.run("task", "show", task).stdout
    assert re.search(r"^Files of the result:\n.*\nchart.csv +3 B +platform-pending:", shown, re.M), shown
    assert "\x1b" not in shown and "draw  [2J it" in shown


def test_a_task_is_cancelled_and_given_again(operator, planner, reviewer):
    first = give(operator, planner, reviewer, "once more")
    assert operator.run("task", "cancel", first).returncode == 0
    assert "failed: cancelled by caller" in operator.run("task", "show", first).stdout
    again = operator.run("task", "retry", first)
    assert again.returncode == 0 and again.stdout.startswith("Retried as "), again
    task = received(reviewer)
    assert task["retry_of"] == first and task["summary"] == "once more"
    second = operator.run("task", "cancel", first)
    assert second.returncode == 0, "a second cancel changes nothing"


def test_the_same_id_twice_is_one_task(operator, planner, reviewer):
    assert give(operator, planner, reviewer, "one", "--id", "same") == give(operator, planner, reviewer, "one", "--id", "same") == "same"
    assert operator.run("tasks").stdout.count("same") == 1


def test_with_its_own_token_a_workspace_needs_no_from_and_sees_its_own(server, tmp_path, planner, reviewer):
    agent = Person(server, tmp_path, token=planner.token)
    done = agent.run("delegate", "from me", "--to", reviewer.id, "--json")
    assert done.returncode == 0, done
    task = json.loads(done.stdout)["delegation_id"]
    assert task in agent.run("tasks").stdout
    assert "from me" in agent.run("task", "show", task).stdout
    assert json.loads(agent.run("tasks", "--json").stdout)[0]["delegation_id"] == task
    strange = agent.run("task", "show", f"../delegations/{task}?x=1 y")
    assert strange.returncode == 1 and "from me" not in strange.stdout, "an id with special characters is still only an id"
    refused = agent.run("tasks", "--stats")
    assert refused.returncode == 64 and "operator" in refused.stderr


@pytest.mark.parametrize("args, code, expected", [
    (["delegate", "x", "--to", "Reviewer"], 64, "--from WORKSPACE"),
    (["delegate", "x", "--from", "Planner", "--to", "Unknown"], 1, "no workspace is called"),
    (["delegate", "x", "--from", "Planner", "--to", "Reviewer", "--within", "soon"], 64, "such as 30m, 6h or 3d"),
    (["tasks", "--status", "stcuk"], 64, "did you mean --status stuck?"),
    (["task", "show", "nothing-like-it"], 1, "delegation not found"),
    (["task", "cancel", "nothing-like-it"], 1, "delegation not found"),
])
def test_a_wrong_command_gets_a_sentence_with_what_to_do(server, operator, args, code, expected):
    workspaces = {"Planner": Workspace(server, "Planner").id, "Reviewer": Workspace(server, "Reviewer").id}
    done = operator.run(*[workspaces.get(arg, arg) for arg in args])
    assert done.returncode == code and expected in done.stderr, done
