"""What every agent promises, whatever it is written in: the same scenarios with a real server, for each kind of support/agent_kinds.py.
`any_agent(url, …)` starts an agent of the kind under test; support/agent_kinds.py says what a kind must understand. Kills, cut
connections and full disks are in agents_faults_test.py."""
import hashlib
import json
import os
import stat
from datetime import datetime, timedelta, timezone

import pytest

from support.agent import pending, send, url_of
from support.waiting import wait_until
from support.workspace import Workspace, sweep

FILES = int(os.environ.get("RESTANTE_AGENT_FILES", "100"))


def test_a_file_arrives_byte_for_byte_and_is_acknowledged(workspace, any_agent):
    content = os.urandom(300_000)
    agent = any_agent(url_of(workspace.server), token=workspace.token)
    (file_id, _), = workspace.upload(("my report.pdf", content))
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    path, = agent.landed()
    assert path.name == file_id.replace("-", "") + "-my_report.pdf"
    assert path.read_bytes() == content and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pending(workspace) == []
    delivery, = agent.deliveries()
    assert delivery["type"] == "file" and delivery["source_id"] is None
    assert delivery["files"] == [{"name": "my_report.pdf", "size": len(content), "sha256": hashlib.sha256(content).hexdigest(),
                                  "path": str(path), "uri": f"workspace:{path}", "state": "landed"}]
    assert agent.stop() == 0


def test_a_message_is_answered_by_the_command_and_names_its_files_as_paths(workspace, any_agent):
    (_, first), (_, second) = workspace.upload(("a.txt", b"first" * 9000), ("b.txt", b"second" * 9000))
    send(workspace, "compare these", first["uri"], second["uri"])
    agent = any_agent(url_of(workspace.server), token=workspace.token)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    delivery, = agent.deliveries()
    assert (delivery["type"], delivery["text"]) == ("message", "compare these")
    parts = delivery["body"]["params"]["message"]["parts"]
    assert [part["file"]["uri"] for part in parts if part["kind"] == "file"] == [f"workspace:{file['path']}" for file in delivery["files"]]
    assert [open(file["path"], "rb").read() for file in delivery["files"]] == [b"first" * 9000, b"second" * 9000]
    assert agent.stop() == 0


def test_an_enrolment_token_is_exchanged_for_a_token_that_only_the_owner_can_read(server, any_agent):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}).json()
    enrolment = made["connection"]["enrolment_token"]
    agent = any_agent(url_of(server), arguments=["--enrol", enrolment])
    agent.wait_printed(made["id"])
    token_file = agent.state / "token"
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert agent.stop() == 0
    workspace = Workspace(server, known=(made["id"], token_file.read_text().strip()))
    assert workspace.token != enrolment
    # Without any token, and with the same line pasted again: both use the kept token.
    for url, arguments in ((None, []), (url_of(server), ["--enrol", enrolment])):
        again = any_agent(url, keep=agent, arguments=arguments)
        again.wait_printed(made["id"])
        assert again.stop() == 0
    send(workspace, "are you there")
    last = any_agent(None, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    assert last.stop() == 0
    other = any_agent(url_of(server), arguments=["--enrol", enrolment])
    assert other.wait_exit() == 77
    assert b"it was used, has expired, or is another server's" in other.stderr()[-1] and enrolment.encode() not in other.stderr()[-1]


def test_a_token_that_is_revoked_ends_the_agent_with_77_and_a_sentence_with_what_to_do(workspace, any_agent):
    agent = any_agent(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    admin = workspace.server.admin_token
    for token in workspace.server.get(workspace.path("tokens"), token=admin).json():
        workspace.server.request("DELETE", workspace.path(f"tokens/{token['id']}"), token=admin)
    assert agent.wait_exit() == 77
    assert b"revoked" in agent.stderr()[-1] and b"restante connect --enrol" in agent.stderr()[-1]
    assert workspace.token.encode() not in b"\n".join(agent.stderr())


def test_a_second_agent_with_the_same_state_is_refused_with_75(workspace, any_agent):
    agent = any_agent(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    second = any_agent(url_of(workspace.server), token=workspace.token, keep=agent)
    assert second.wait_exit() == 75
    assert f"process {agent.process.pid}".encode() in second.stderr()[-1]
    assert agent.stop() == 0


def test_json_lines_go_to_stdout_and_nothing_else_does(workspace, any_agent):
    agent = any_agent(url_of(workspace.server), token=workspace.token, mode="json")
    send(workspace, "one\ntwo")
    line = json.loads(agent.stdout.wait(lambda _: True, "a JSON line"))
    assert (line["type"], line["text"]) == ("message", "one\ntwo")
    assert agent.stop() == 0
    assert len(agent.stdout()) == 1
    assert workspace.messages() == []


def test_what_was_handed_over_is_not_handed_over_again_after_a_restart(workspace, any_agent):
    agent = any_agent(url_of(workspace.server), token=workspace.token)
    send(workspace, "one")
    workspace.upload(("a.txt", b"a"))
    wait_until(lambda: len(workspace.messages()) == 2, "two replies")
    assert agent.stop() == 0
    again = any_agent(url_of(workspace.server), token=workspace.token, keep=agent)
    send(workspace, "two")
    wait_until(lambda: len(workspace.messages()) == 3, "the third reply")
    assert [delivery["text"] for delivery in again.deliveries()] == ["one", "", "two"]
    assert again.stop() == 0


def test_many_files_arrive_each_once_with_their_content(workspace, any_agent):
    """100 files; RESTANTE_AGENT_FILES=1000 in make test-long."""
    contents = {f"{number}.bin": os.urandom(500 + number) for number in range(FILES)}
    for start in range(0, FILES, 50):
        workspace.upload(*list(contents.items())[start:start + 50])
    # With JSON lines, since this is about files: a command for each takes much longer.
    agent = any_agent(url_of(workspace.server), token=workspace.token, mode="json")
    agent.stdout.wait_count(FILES, ceiling=600)
    wait_until(lambda: pending(workspace) == [], "every file is acknowledged")
    files = [file for line in agent.stdout() for file in json.loads(line)["files"]]
    assert sorted(file["name"] for file in files) == sorted(contents)
    assert all(open(file["path"], "rb").read() == contents[file["name"]] for file in files)
    assert len(agent.landed()) == FILES
    assert agent.stop() == 0


def test_a_failing_command_is_tried_again_and_then_its_sender_is_notified(workspace, any_agent, tmp_path):
    agent = any_agent(url_of(workspace.server), token=workspace.token, exec_command=f"cat >> '{tmp_path}/log'; exit 3")
    send(workspace, "poison")
    message, = wait_until(lambda: workspace.messages(), "the failure reply", ceiling=120)
    assert message.startswith("The agent could not handle this: the command ended with exit code 3")
    assert len((tmp_path / "log").read_text().splitlines()) == 5
    assert agent.stop() == 0


def test_files_that_the_command_leaves_are_sent_with_its_answer(workspace, any_agent):
    command = 'cat > /dev/null; echo chart > "$RESTANTE_RESULT_DIR/chart.txt"; echo "see the chart"'
    agent = any_agent(url_of(workspace.server), token=workspace.token, exec_command=command)
    send(workspace, "draw")
    row = wait_until(lambda: [row for row in workspace.activity(token=workspace.server.admin_token) if row["method"] == "notify"], "the reply")[0]
    assert row["response_body"]["result"] == "see the chart"
    (part,) = row["response_body"]["parts"]
    file_id = part["file"]["uri"].rpartition("/")[2]
    assert workspace.server.get(workspace.content(file_id), token=workspace.server.admin_token).body == b"chart\n"
    assert agent.stop() == 0


# -- files that do not arrive


@pytest.mark.parametrize("how", ["recalled", "expired"])
def test_a_file_that_is_gone_is_reported_and_the_text_still_comes(start, any_agent, how):
    server = start({"uploads.ttl": "6s", "uploads.ack_retention": "0s"} if how == "expired" else {})
    workspace = Workspace(server)
    (file_id, item), = workspace.upload(("a.txt", b"a"))
    send(workspace, "see the file", item["uri"])
    state = lambda: server.get(workspace.path(f"pending-uploads/{file_id}"), token=server.admin_token).json()["state"]
    if how == "recalled":
        assert server.request("DELETE", workspace.path(f"pending-uploads/{file_id}"), token=server.admin_token).status == 200
    wait_until(lambda: sweep(server) and state() == how, f"it is {how}", every=0.2)
    agent = any_agent(url_of(server), token=workspace.token)
    delivery = wait_until(agent.deliveries, "the message")[0]
    assert (delivery["type"], delivery["text"]) == ("message", "see the file")
    assert [(file["state"], "path" in file, file["uri"]) for file in delivery["files"]] == [(how, False, item["uri"])]
    assert agent.landed() == []
    assert agent.stop() == 0


def test_a_linked_folder_is_not_written_through_and_the_message_still_comes(workspace, any_agent, tmp_path):
    agent = any_agent(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    agent.dir.mkdir(exist_ok=True)
    (agent.dir / ".molecule").symlink_to(tmp_path)
    (_, item), = workspace.upload(("a.txt", b"a"))
    send(workspace, "see the file", item["uri"])
    message = wait_until(lambda: [d for d in agent.deliveries() if d["type"] == "message"], "the message")[0]
    assert [(file["state"], file["uri"], "path" in file) for file in message["files"]] == [("failed", item["uri"], False)]
    assert "symbolic link" in message["files"][0]["reason"]
    assert list(tmp_path.iterdir()) == []
    assert agent.stop() == 0


# -- tasks


def task_id(caller, name):
    """The kinds share a server, on which every task has an id of its own."""
    return f"{name}-{caller.id}"


def delegate(caller, callee, name, **more):
    task = {"target_id": callee.id, "task": f"task {name}", "delegation_id": task_id(caller, name), **more}
    given = caller.server.request("POST", caller.path("delegate"), token=caller.token, json_body=task)
    assert given.status == 202, given


def task_of(caller, name):
    return caller.server.get(caller.path(f"delegations/{task_id(caller, name)}"), token=caller.token).json()


def cancel(caller, name):
    assert caller.server.request("POST", caller.path(f"delegations/{task_id(caller, name)}/cancel"), token=caller.token).status == 200


def results(caller):
    """(task, status, late) of every result in the caller's inbox."""
    return [(row["request_body"]["delegation_id"].removesuffix(f"-{caller.id}"), row["status"], row["request_body"].get("late", False))
            for row in caller.activity(token=caller.server.admin_token) if row["method"] == "delegate_result"]


def test_a_task_is_in_progress_while_its_command_runs_and_its_output_and_files_are_the_result(server, workspace, any_agent, tmp_path):
    caller, go = Workspace(server, "caller"), tmp_path / "go"
    command = (f"while [ ! -e '{go}' ]; do sleep 0.05; done; cat > /dev/null; echo rows > \"$RESTANTE_RESULT_DIR/table.csv\"; echo done")
    agent = any_agent(url_of(server), token=workspace.token, exec_command=command)
    delegate(caller, workspace, "count")
    wait_until(lambda: task_of(caller, "count")["status"] == "in_progress", "it is in progress")
    go.touch()
    wait_until(lambda: results(caller) == [("count", "ok", False)], "the result")
    assert task_of(caller, "count")["result"] == "done"
    file, = pending(caller)
    assert file["name"] == "table.csv"
    assert server.get(caller.content(file["file_id"]), token=caller.token).body == b"rows\n"
    assert agent.stop() == 0


def has_ended(process):
    """Also true if the parent has not read the exit code yet."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_cancelled_task_ends_its_command_with_its_children_and_the_next_one_runs(server, workspace, any_agent, tmp_path):
    caller = Workspace(server, "caller")
    command = f"if grep -q endless; then sleep 600 & echo $! > '{tmp_path}/child'; echo busy >&2; wait; else echo done; fi"
    agent = any_agent(url_of(server), token=workspace.token, exec_command=command)
    delegate(caller, workspace, "endless")
    agent.wait_printed("busy")
    cancel(caller, "endless")
    delegate(caller, workspace, "short")
    wait_until(lambda: ("short", "ok", False) in results(caller), "the next task")
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: has_ended(child), "the child of the command ends, too")
    assert sorted(results(caller)) == [("endless", "error", False), ("short", "ok", False)], "and no late answer"
    assert agent.stop() == 0


def test_tasks_that_were_cancelled_or_are_overdue_before_the_agent_started_are_not_begun(server, workspace, any_agent):
    caller = Workspace(server, "caller")
    soon = datetime.now(timezone.utc) + timedelta(seconds=2)
    delegate(caller, workspace, "cancelled")
    delegate(caller, workspace, "overdue", deadline=soon.isoformat())
    delegate(caller, workspace, "wanted")
    cancel(caller, "cancelled")
    wait_until(lambda: datetime.now(timezone.utc) > soon, "its deadline passes", every=0.1)
    agent = any_agent(url_of(server), token=workspace.token)
    wait_until(lambda: ("wanted", "ok", False) in results(caller), "the one that is wanted is done")
    assert [delivery["delegation_id"] for delivery in agent.deliveries()] == [task_id(caller, "wanted")]
    assert agent.stop() == 0


def test_only_what_the_server_gave_as_a_task_is_one(server, workspace, any_agent, proxy):
    """A message names a task that is another's. The server removes such a name, so a proxy writes it into the answer of the poll."""
    other, callee = Workspace(server, "other"), Workspace(server, "callee")
    delegate(other, callee, "of-others")
    theirs = task_id(other, "of-others")
    forged = f'"restante_hops_":"{theirs}"'.encode()
    named = f'"delegation_id" :"{theirs}"'.encode()
    assert len(forged) == len(named)
    between = proxy(server.port, rewrite=lambda data: data.replace(forged, named))
    body = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "task of others"}],
                                                             "metadata": {"restante_hops_": theirs}}}}
    assert server.request("POST", workspace.path("a2a"), token=other.token, json_body=body).status == 200
    agent = any_agent(between.url, token=workspace.token)
    delivery = wait_until(agent.deliveries, "the message")[0]
    assert delivery["text"] == "task of others" and "delegation_id" not in delivery
    assert "delegation_id" not in delivery["body"]["params"]["message"]["metadata"]
    agent.wait_printed("which the server did not give to this agent")
    assert task_of(other, "of-others")["status"] in ("queued", "dispatched")
    assert agent.stop() == 0


def test_another_agent_gets_no_automatic_answer_unless_it_is_asked_for_and_then_at_most_eight(server, any_agent):
    first, second = Workspace(server, "first"), Workspace(server, "second")
    body = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "hello"}]}}}
    quiet = any_agent(url_of(server), token=second.token)
    assert server.request("POST", second.path("a2a"), token=first.token, json_body=body).status == 200
    quiet.wait_printed("--reply-to-agents would")
    assert first.activity(token=first.server.admin_token) == []
    assert quiet.stop() == 0
    agents = [any_agent(url_of(server), token=one.token, reply="and you?", arguments=["--reply-to-agents"], keep=keep)
              for one, keep in ((first, None), (second, quiet))]
    assert server.request("POST", second.path("a2a"), token=first.token, json_body=body).status == 200
    wait_until(lambda: any(b"not answered any more" in line for agent in agents for line in agent.stderr()), "one of them stops", ceiling=240)
    assert sum(len(agent.deliveries()) for agent in agents) == 1 + 9, "the one before, the first message and eight automatic answers"
    for agent in agents:
        assert agent.stop() == 0
