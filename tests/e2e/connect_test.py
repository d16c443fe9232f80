"""`restante connect` as a process, with a real server: files land, are acked and handed over once; replies reach the sender; kills,
cut connections and restarts on either side lose nothing."""
import hashlib
import json
import os
import resource
import shutil
import signal
import stat
import threading
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from support.agent import pending, send, url_of
from support.workspace import Workspace
from support.ports import free_port
from support.waiting import wait_until


def is_listening(workspace):
    return workspace.server.get(f"/workspaces/{workspace.id}", token=workspace.server.admin_token).json()["listening"]


@pytest.mark.bytes
def test_a_file_lands_is_acknowledged_handed_over_and_answered(workspace, connect):
    content = os.urandom(100_000)
    agent = connect(url_of(workspace.server), token=workspace.token)
    (file_id, item), = workspace.upload(("my report.pdf", content))
    wait_until(lambda: "got it" in workspace.messages(), "the reply")
    path, = agent.landed()
    assert path.name == file_id.replace("-", "") + "-my_report.pdf"
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pending(workspace) == []
    delivery, = agent.deliveries()
    assert delivery["type"] == "file" and delivery["source_id"] is None
    assert delivery["files"] == [{"name": "my_report.pdf", "size": len(content), "sha256": hashlib.sha256(content).hexdigest(),
                                  "path": str(path), "uri": f"workspace:{path}", "state": "landed"}]
    assert agent.stop() == 0
    assert workspace.messages() == ["got it"]


@pytest.mark.bytes
def test_a_message_brings_the_files_it_names_as_paths_and_they_do_not_come_twice(workspace, connect):
    (_, first), (_, second) = workspace.upload(("a.txt", b"first" * 9000), ("b.txt", b"second" * 9000))
    send(workspace, "compare these", first["uri"], second["uri"])
    # Start the agent only now: it hands a file over alone if the file's message does not arrive within a second.
    agent = connect(url_of(workspace.server), token=workspace.token)
    wait_until(lambda: agent.deliveries(), "the hand-over")
    delivery = agent.deliveries()[0]
    assert (delivery["type"], delivery["text"]) == ("message", "compare these")
    assert [Path(file["path"]).read_bytes() for file in delivery["files"]] == [b"first" * 9000, b"second" * 9000]
    sent = [part["file"]["uri"] for part in delivery["body"]["params"]["message"]["parts"] if part["kind"] == "file"]
    assert sent == [f"workspace:{file['path']}" for file in delivery["files"]]
    # A file without a message is handed over after them. Had the two files not come with the message, they would be here by then.
    workspace.upload(("c.txt", b"third"))
    wait_until(lambda: len(agent.deliveries()) == 2, "the file that came alone")
    assert [file["name"] for file in agent.deliveries()[1]["files"]] == ["c.txt"]
    assert agent.stop() == 0


@pytest.mark.bytes
def test_a_kill_between_fetch_and_ack_delivers_exactly_once(workspace, connect, proxy):
    at_ack = threading.Event()

    def hold_acks(data):
        if b"/pending-uploads/" in data and b"/ack HTTP/1.1" in data:
            at_ack.set()
            return False
        return True

    between = proxy(workspace.server.port, gate=hold_acks)
    agent = connect(between.url, token=workspace.token)
    content = os.urandom(50_000)
    workspace.upload(("a.bin", content))
    assert at_ack.wait(60)
    agent.kill()
    assert [path.read_bytes() for path in agent.landed()] == [content]
    assert len(pending(workspace)) == 1
    assert agent.deliveries() == []

    again = connect(url_of(workspace.server), token=workspace.token, keep=agent)
    wait_until(lambda: "got it" in workspace.messages(), "the reply")
    workspace.upload(("b.bin", b"next"))
    wait_until(lambda: len(workspace.messages()) == 2, "the second reply")
    assert [file["name"] for delivery in again.deliveries() for file in delivery["files"]] == ["a.bin", "b.bin"]
    assert [path.read_bytes() for path in again.landed() if path.name.endswith("a.bin")] == [content]
    assert pending(workspace) == []
    assert again.stop() == 0


def test_a_reply_is_neither_lost_nor_repeated_when_the_agent_is_killed_before_it_is_sent(workspace, connect, proxy):
    at_reply = threading.Event()

    def hold_replies(data):
        if b"/notify HTTP/1.1" in data:
            at_reply.set()
            return False
        return True

    between = proxy(workspace.server.port, gate=hold_replies)
    agent = connect(between.url, token=workspace.token)
    send(workspace, "hello")
    assert at_reply.wait(60)
    agent.kill()
    assert workspace.messages() == []
    again = connect(url_of(workspace.server), token=workspace.token, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the kept reply")
    send(workspace, "and again")
    wait_until(lambda: len(workspace.messages()) == 2, "the second reply")
    assert [delivery["text"] for delivery in again.deliveries()] == ["hello", "and again"]
    assert again.stop() == 0


@pytest.mark.bytes
def test_a_cut_download_is_resumed_and_every_byte_is_right(workspace, connect, proxy):
    content = os.urandom(8_000_000)
    seen = {"ranges": 0, "bytes": 0, "cuts": 0}

    def count_ranges(data):
        seen["ranges"] += b"\r\nRange: bytes=" in data
        return True

    def cut_twice(data):
        seen["bytes"] += len(data)
        if seen["cuts"] < 2 and seen["bytes"] > 2_000_000:
            seen.update(bytes=0, cuts=seen["cuts"] + 1)
            return len(data) // 2
        return len(data)

    between = proxy(workspace.server.port, gate=count_ranges, tap=cut_twice)
    agent = connect(between.url, token=workspace.token)
    workspace.upload(("big.bin", content))
    wait_until(lambda: pending(workspace) == [], "the ack")
    path, = agent.landed()
    assert path.read_bytes() == content
    assert seen["cuts"] == 2 and seen["ranges"] == 2
    assert agent.stop() == 0


def test_connections_that_transfer_nothing_any_more_are_closed_and_nothing_is_missed(workspace, connect, proxy):
    between = proxy(workspace.server.port)
    agent = connect(between.url, token=workspace.token)
    # Only of this workspace: the metric may still count the agent of the previous test.
    wait_until(lambda: is_listening(workspace) and workspace.server.metric("restante_held_polls") == 1, "the held poll")
    between.freeze()
    workspace.upload(("a.txt", b"a"))
    send(workspace, "are you there?")
    wait_until(lambda: len(workspace.messages()) == 2, "both are handed over and answered", ceiling=240)
    assert sorted(delivery["text"] for delivery in agent.deliveries()) == ["", "are you there?"]
    assert [path.read_bytes() for path in agent.landed()] == [b"a"]
    assert agent.stop() == 0


@pytest.mark.bytes
def test_an_agent_reconnects_after_a_restart_of_the_server_and_reports_it_once(start, connect):
    address = f"127.0.0.1:{free_port()}"
    first = start(listen=(address,))
    workspace = Workspace(first)
    agent = connect(url_of(first), token=workspace.token)
    workspace.upload(("a.txt", b"before"))
    wait_until(lambda: len(workspace.messages()) == 1, "the first reply")
    first.stop()
    agent.wait_printed("trying again until it works")
    second = start(data=first.data, listen=(address,))
    workspace = workspace.on(second)
    workspace.upload(("b.txt", b"after" * 9000))
    wait_until(lambda: len(workspace.messages()) == 2, "the reply after the restart")
    assert [delivery["files"][0]["name"] for delivery in agent.deliveries()] == ["a.txt", "b.txt"]
    assert sum(b"trying again" in line for line in agent.stderr()) == 1
    assert agent.stop() == 0


def test_the_pasted_line_enrols_once_and_is_remembered(server, connect):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}).json()
    enrolment = made["connection"]["enrolment_token"]
    workspace = Workspace(server, known=(made["id"], None))
    agent = connect(url_of(server), arguments=["--enrol", enrolment])
    agent.wait_printed(made["id"])
    token_file = agent.state / "token"
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    workspace.token = token_file.read_text().strip()
    assert workspace.token != enrolment
    assert agent.stop() == 0
    # `restante connect` alone, and the same line pasted again, both use the kept token.
    for url, arguments in ((None, []), (url_of(server), ["--enrol", enrolment])):
        again = connect(url, keep=agent, arguments=arguments)
        again.wait_printed(made["id"])
        assert again.stop() == 0
    send(workspace, "are you there")
    last = connect(None, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    assert last.stop() == 0
    # Another client with the used token is refused.
    second = connect(url_of(server), arguments=["--enrol", enrolment])
    assert second.wait_exit() == 77
    sentence = second.stderr()[-1].decode()
    assert "this enrolment token: it was used, has expired, or is another server's" in sentence and "revoked" not in sentence
    assert "`Connect…`" in sentence and enrolment not in sentence


def test_an_invalid_token_exits_with_77_and_a_sentence_with_what_to_do(server, workspace, connect):
    agent = connect(url_of(server), token="A" * 43)
    assert agent.wait_exit() == 77
    assert b"restante connect --enrol" in agent.stderr()[-1] and b"revoked" in agent.stderr()[-1]
    assert not any(b"AAAAAAAA" in line for line in agent.stderr())
    nothing = connect(url_of(server))
    assert nothing.wait_exit() == 77
    assert b"--enrol with the token that `New agent` on the page shows" in nothing.stderr()[-1]


def test_a_second_agent_with_the_same_state_is_refused_and_the_running_one_is_named(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    second = connect(url_of(workspace.server), token=workspace.token, keep=agent)
    assert second.wait_exit() == 75
    assert f"{os.uname().nodename}, process {agent.process.pid}, since 2".encode() in second.stderr()[-1]
    assert agent.stop() == 0


def test_a_json_agent_answers_by_lines_on_stdin_whenever_it_is_ready(server, workspace, connect, tmp_path):
    agent = connect(url_of(server), token=workspace.token, mode="json", stdin=True)
    for text in ("first", "second"):
        send(workspace, text)
    first, second = (json.loads(agent.stdout.wait(lambda line: text in line, text.decode())) for text in (b"first", b"second"))
    (tmp_path / "chart.txt").write_text("a chart")
    agent.type({"reply_to": second["id"], "text": "to the second", "files": [str(tmp_path / "chart.txt"), str(tmp_path / "none.txt")]})
    wait_until(lambda: len(workspace.messages()) == 1, "the answer")
    agent.type({"reply_to": first["id"], "text": "to the first"})
    agent.type({"text": "by the way"})
    agent.type({"reply_to": "nobody", "text": "x"})
    agent.type({"replyto": first["id"], "text": "x"})
    agent.wait_printed("no delivery with the id nobody")
    agent.wait_printed('no member "replyto"')
    wait_until(lambda: len(workspace.messages()) == 3, "the answers")
    rows = [row["response_body"] for row in workspace.activity() if row["method"] == "notify"]
    assert [row.get("reply_to") for row in rows] == [second["id"], first["id"], None]
    assert rows[0]["result"].startswith("to the second\n[not attached: none.txt: ") and rows[0]["parts"][0]["file"]["name"] == "chart.txt"
    assert agent.stop() == 0
    assert list((agent.state / "answers").iterdir()) == [], "the copies are deleted once they are sent"


def test_an_answer_line_survives_a_kill_and_ends_the_task_it_answers(server, workspace, connect, proxy):
    planner = Workspace(server, "planner of tasks")
    line = proxy(server.port)
    agent = connect(line.url, token=workspace.token, mode="json", stdin=True)
    agent.wait_printed("connected to")
    given = server.request("POST", planner.path("delegate"), token=planner.token, json_body={"target_id": workspace.id, "task": "count", "delegation_id": "t1"})
    assert given.status in (200, 201, 202), given
    delivery = json.loads(agent.stdout.wait(lambda line: b'"delegation_id":"t1"' in line, "the task"))
    line.gate = lambda data: False  # nothing gets out any more
    agent.type({"reply_to": delivery["id"], "text": "two"})
    wait_until(lambda: b'"replied"' in (agent.state / "journal").read_bytes(), "the answer is recorded")
    agent.kill()
    connect(url_of(server), token=workspace.token, keep=agent, mode="json")
    state = lambda: server.get(planner.path("delegations/t1"), token=planner.token).json()
    wait_until(lambda: state()["status"] == "completed", "the task has its result")
    assert state()["result"] == "two"


def test_a_line_for_a_person_names_the_file_its_size_and_its_path(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token, mode="lines")
    workspace.upload(("a.txt", b"12345"))
    line = agent.stdout.wait(lambda _: True, "a line").decode()
    assert " file a.txt (5 bytes) " in line and line.endswith(str(agent.landed()[0]))
    assert agent.stop() == 0


def test_a_handed_over_delivery_is_not_handed_over_again_after_a_restart(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token)
    send(workspace, "one")
    workspace.upload(("a.txt", b"a"))
    wait_until(lambda: len(workspace.messages()) == 2, "two replies")
    assert agent.stop() == 0
    again = connect(url_of(workspace.server), token=workspace.token, keep=agent)
    send(workspace, "two")
    wait_until(lambda: len(workspace.messages()) == 3, "the third reply")
    assert [delivery["text"] for delivery in again.deliveries()] == ["one", "", "two"]
    assert again.stop() == 0


def test_a_linked_folder_is_not_written_through_and_the_message_still_comes(workspace, connect, tmp_path):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    agent.dir.mkdir(exist_ok=True)
    (agent.dir / ".molecule").symlink_to(tmp_path)
    (_, item), = workspace.upload(("a.txt", b"a"))
    send(workspace, "see the file", item["uri"])
    message = wait_until(lambda: [d for d in agent.deliveries() if d["type"] == "message"], "the message")[0]
    assert message["text"] == "see the file"
    assert [(file["state"], file["uri"], "path" in file) for file in message["files"]] == [("failed", item["uri"], False)]
    assert "symbolic link" in message["files"][0]["reason"]
    assert list(tmp_path.iterdir()) == []
    # When the link is deleted, the file arrives without further action.
    (agent.dir / ".molecule").unlink()
    landed = lambda: [file for d in agent.deliveries() if d["type"] == "file" for file in d["files"] if file["state"] == "landed"]
    # The pause between two attempts grows to about the time that the trouble has lasted.
    assert Path(wait_until(landed, "the file", ceiling=240)[0]["path"]).read_bytes() == b"a"
    assert agent.stop() == 0


def test_a_command_gets_no_open_file_except_its_three_streams(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token, exec_command="ls -l /proc/$$/fd")
    send(workspace, "what is open")
    wait_until(workspace.messages, "the reply")
    listing, = workspace.messages()
    assert "socket:" not in listing and "state.json" not in listing and "lock" not in listing
    assert agent.stop() == 0


def test_a_busy_agent_still_takes_files_and_later_messages_keep_their_order(workspace, connect, tmp_path):
    go = tmp_path / "go"
    command = f"cat >> '{tmp_path}/log'; while [ ! -e '{go}' ]; do sleep 0.05; done; echo done"
    agent = connect(url_of(workspace.server), token=workspace.token, exec_command=command)
    send(workspace, "first")
    wait_until(lambda: (tmp_path / "log").exists() and b"first" in (tmp_path / "log").read_bytes(), "the command runs")
    workspace.upload(("while-busy.txt", b"x"))
    wait_until(lambda: pending(workspace) == [], "the file is taken while the command runs")
    for n in range(3):
        send(workspace, f"later {n}")
    go.touch()
    wait_until(lambda: len(workspace.messages()) == 5, "every answer")
    texts = [json.loads(line)["text"] for line in (tmp_path / "log").read_text().splitlines()]
    assert [text for text in texts if text] == ["first", "later 0", "later 1", "later 2"]
    assert agent.stop() == 0


def test_a_delivery_that_had_begun_when_everything_was_killed_comes_again_marked_as_such(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token, exec_command="cat > /dev/null; echo $PPID; echo $PPID >&2; sleep 600")
    send(workspace, "work")
    runner = int(agent.stderr.wait(lambda line: line.isdigit(), "the command runs"))
    agent.kill()
    os.killpg(runner, signal.SIGKILL)
    again = connect(url_of(workspace.server), token=workspace.token, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    delivery, = again.deliveries()
    assert (delivery["text"], delivery["again"]) == ("work", True)
    send(workspace, "more")
    wait_until(lambda: len(workspace.messages()) == 2, "the second reply")
    assert "again" not in again.deliveries()[1]
    assert again.stop() == 0


def test_a_failing_command_is_tried_again_and_then_its_sender_is_notified(workspace, connect, tmp_path):
    agent = connect(url_of(workspace.server), token=workspace.token, exec_command=f"cat >> '{tmp_path}/log'; exit 3")
    send(workspace, "poison")
    wait_until(lambda: workspace.messages(), "the failure reply", ceiling=120)
    assert workspace.messages() == ["The agent could not handle this: the command ended with exit code 3."]
    assert len((tmp_path / "log").read_text().splitlines()) == 5
    assert agent.stop() == 0


def test_two_agents_that_answer_each_other_stop_after_eight_hops(server, connect):
    first, second = Workspace(server, "first"), Workspace(server, "second")
    agents = [connect(url_of(server), token=one.token, reply="and you?", arguments=["--reply-to-agents"]) for one in (first, second)]
    for agent in agents:
        agent.wait_printed("connected to")
    body = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "hello"}]}}}
    assert server.request("POST", second.path("a2a"), token=first.token, json_body=body).status == 200
    wait_until(lambda: any(b"not answered any more" in line for agent in agents for line in agent.stderr()), "one of them stops", ceiling=240)
    deliveries = [delivery for agent in agents for delivery in agent.deliveries()]
    assert len(deliveries) == 9  # the first message and eight automatic answers
    assert first.messages() == [] and second.messages() == []
    for agent in agents:
        assert agent.stop() == 0


def test_a_peer_that_sends_no_hop_count_is_answered_eight_times_also_across_kills(server, workspace, connect):
    peer = Workspace(server, "peer")
    options = {"token": workspace.token, "reply": "and you?", "arguments": ["--reply-to-agents"]}
    agent = connect(url_of(server), **options)
    message = lambda n: {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": f"hello {n}"}]}}}
    for n in range(8):
        assert server.request("POST", workspace.path("a2a"), token=peer.token, json_body=message(n)).status == 200
        wait_until(lambda: len(peer.activity()) == n + 1, f"answer {n}")
        if n % 3 == 2:
            agent.kill()
            agent = connect(url_of(server), keep=agent, **options)
    assert server.request("POST", workspace.path("a2a"), token=peer.token, json_body=message(8)).status == 200
    agent.wait_printed("not answered any more")
    send(workspace, "and I?")
    wait_until(lambda: workspace.messages() == ["and you?"], "the person is still answered")
    assert len(peer.activity()) == 8
    assert agent.stop() == 0
    assert list((agent.state / "runs").iterdir()) == []


def has_ended(process):
    """Also true if the parent has not read the exit code yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_cancelled_task_ends_its_command_with_its_children_and_the_next_task_runs(server, workspace, connect, tmp_path):
    caller = Workspace(server, "caller")
    command = f"if grep -q endless; then sleep 600 & echo $! > '{tmp_path}/child'; echo busy >&2; wait; else echo done; fi"
    agent = connect(url_of(server), token=workspace.token, exec_command=command)
    task = {"target_id": workspace.id, "task": "endless", "delegation_id": "d1"}
    assert server.request("POST", caller.path("delegate"), token=caller.token, json_body=task).status == 202
    agent.wait_printed("busy")
    assert server.request("POST", caller.path("delegations/d1/cancel"), token=caller.token).status == 200
    agent.wait_printed("the command of task d1 was ended")
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: has_ended(child), "the child of the command ends, too")
    send(workspace, "and now?")
    wait_until(lambda: workspace.messages() == ["done"], "the next message")
    results = [row for row in caller.activity() if row["method"] == "delegate_result"]
    assert [row["status"] for row in results] == ["error"], "one result, when it was cancelled"
    assert agent.stop() == 0
    assert list((agent.state / "runs").iterdir()) == []


def delegate(caller, callee, name, **more):
    task = {"target_id": callee.id, "task": f"task {name}", "delegation_id": name, **more}
    given = caller.server.request("POST", caller.path("delegate"), token=caller.token, json_body=task)
    assert given.status == 202, given


def cancel(caller, name):
    assert caller.server.request("POST", caller.path(f"delegations/{name}/cancel"), token=caller.token).status == 200


def results(caller):
    """(task, status, late) of every result in the caller's inbox."""
    return [(row["request_body"]["delegation_id"], row["status"], row["request_body"].get("late", False))
            for row in caller.activity() if row["method"] == "delegate_result"]


def test_tasks_that_were_cancelled_before_the_agent_started_are_not_begun(server, workspace, connect, tmp_path):
    caller = Workspace(server, "caller")
    names = [f"early-{n}" for n in range(5)]
    for name in names:
        delegate(caller, workspace, name)
    for name in names:
        cancel(caller, name)
    delegate(caller, workspace, "wanted")
    agent = connect(url_of(server), token=workspace.token, exec_command=f"cat >> '{tmp_path}/ran'; echo >> '{tmp_path}/ran'; echo done")
    wait_until(lambda: ("wanted", "ok", False) in results(caller), "the one that is wanted is done")
    for name in names:
        agent.wait_printed(f"task {name} is over and is not begun: cancelled by caller")
    ran = [json.loads(line)["text"] for line in (tmp_path / "ran").read_text().splitlines() if line]
    assert ran == ["task wanted"]
    assert sorted(results(caller)) == sorted([(name, "error", False) for name in names] + [("wanted", "ok", False)]), "and no late answer"
    assert agent.stop() == 0
    assert list((agent.state / "runs").iterdir()) == []


def test_a_task_that_is_overdue_when_the_agent_starts_is_not_begun(server, workspace, connect):
    caller = Workspace(server, "caller")
    soon = (datetime.now(timezone.utc) + timedelta(seconds=5)).isoformat()
    delegate(caller, workspace, "short", deadline=soon)
    delegate(caller, workspace, "long")
    clock = lambda: parsedate_to_datetime(server.get("/health").header("Date"))
    wait_until(lambda: clock() > datetime.fromisoformat(soon), "its deadline passes", every=0.1)
    agent = connect(url_of(server), token=workspace.token)
    wait_until(lambda: ("long", "ok", False) in results(caller), "the other is done")
    agent.wait_printed("task short is over and is not begun: ")
    assert [d["delegation_id"] for d in agent.deliveries()] == ["long"]
    assert agent.stop() == 0


def test_a_running_command_ends_at_the_deadline_of_its_task(server, workspace, connect, tmp_path):
    caller = Workspace(server, "caller")
    agent = connect(url_of(server), token=workspace.token, exec_command="if grep -q brief; then echo busy >&2; exec sleep 600; else echo done; fi")
    agent.wait_printed("connected to")
    delegate(caller, workspace, "brief", deadline=(datetime.now(timezone.utc) + timedelta(seconds=10)).isoformat())
    delegate(caller, workspace, "next-one")
    # The second text appears only on a machine so slow that the deadline comes before the command.
    ended_lines = (b"the command of task brief was ended", b"task brief is over and is not begun")
    agent.stderr.wait(lambda line: any(text in line for text in ended_lines), "the task has ended")
    wait_until(lambda: ("next-one", "ok", False) in results(caller), "the next is done")
    assert agent.stop() == 0


def test_a_task_waits_while_the_server_cannot_answer_whether_it_is_still_wanted(server, workspace, connect, proxy):
    caller = Workspace(server, "caller")
    cut_off = threading.Event()
    cut_off.set()
    # The proxy drops only this request and cuts its connection: polls and heartbeats go on.
    between = proxy(server.port, gate=lambda data: not (cut_off.is_set() and b"/delegations/" in data and between.cut() is None))
    delegate(caller, workspace, "unasked")
    delegate(caller, workspace, "asked")
    agent = connect(between.url, token=workspace.token)
    agent.wait_printed("task unasked waits until the server answers")
    cancel(caller, "unasked")
    assert agent.deliveries() == [], "not without an answer"
    cut_off.clear()
    # The agent repeats it after a pause that has grown meanwhile.
    wait_until(lambda: ("asked", "ok", False) in results(caller), "the one that is wanted is done", ceiling=240)
    assert [(d["delegation_id"], d.get("again", False)) for d in agent.deliveries()] == [("asked", False)]
    assert sorted(results(caller)) == [("asked", "ok", False), ("unasked", "error", False)]
    assert agent.stop() == 0


def test_json_lines_report_a_task_that_ended_before_it_was_handed_over(server, workspace, connect):
    caller = Workspace(server, "caller")
    for name in ("json-cancelled", "json-wanted"):
        delegate(caller, workspace, name)
    cancel(caller, "json-cancelled")
    agent = connect(url_of(server), token=workspace.token, mode="json")
    agent.stdout.wait(lambda line: b"task json-wanted" in line, "the task that is wanted")
    ended, wanted = [json.loads(line) for line in agent.stdout()]
    assert (ended["type"], ended["delegation_id"], ended["status"], ended["reason"]) == ("ended", "json-cancelled", "failed", "cancelled by caller")
    assert (wanted["type"], wanted["delegation_id"]) == ("message", "json-wanted")
    status = server.get(caller.path("delegations/json-wanted"), token=caller.token).json()["status"]
    assert status in ("queued", "dispatched"), "the agent has not reported that it works on it"
    assert agent.stop() == 0


def test_another_agent_gets_no_automatic_answer_by_default(server, workspace, connect):
    other = Workspace(server, "other")
    agent = connect(url_of(server), token=workspace.token)
    body = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "hello"}]}}}
    assert server.request("POST", workspace.path("a2a"), token=other.token, json_body=body).status == 200
    agent.wait_printed("--reply-to-agents would")
    assert [delivery["source_id"] for delivery in agent.deliveries()] == [other.id]
    assert other.activity() == []
    assert agent.stop() == 0


def test_a_full_disk_is_reported_to_the_sender_and_the_text_still_arrives(workspace, connect):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    agent = connect(url_of(workspace.server), token=workspace.token, preexec=small_files)
    agent.wait_printed("connected to")
    (file_id, item), = workspace.upload(("big.bin", os.urandom(300_000)))
    send(workspace, "see the file", item["uri"])
    message = wait_until(lambda: [d for d in agent.deliveries() if d["type"] == "message"], "the message")[0]
    assert [(file["state"], "path" in file) for file in message["files"]] == [("failed", False)]
    assert message["files"][0]["reason"]
    state = workspace.server.get(workspace.path(f"pending-uploads/{file_id}"), token=workspace.server.admin_token).json()
    assert (state["state"], state["reason"]) == ("failed", message["files"][0]["reason"])
    # A file that fits is not delayed by it.
    workspace.upload(("small.bin", b"x"))
    wait_until(lambda: any(file["name"] == "small.bin" for d in agent.deliveries() for file in d["files"]), "the small file")
    assert agent.stop() == 0


@pytest.mark.bytes
def test_a_recalled_file_is_reported_and_a_message_that_names_it_has_its_state(workspace, connect, proxy):
    hold, seen = threading.Event(), threading.Event()

    def no_content(data):
        if b"/content HTTP/1.1" in data:
            seen.set()
            return hold.is_set()
        return True

    between = proxy(workspace.server.port, gate=no_content)
    agent = connect(between.url, token=workspace.token, arguments=["--file-wait", "0"])
    (file_id, item), = workspace.upload(("a.txt", b"a"))
    assert seen.wait(60)
    send(workspace, "see", item["uri"])
    message = wait_until(lambda: [d for d in agent.deliveries() if d["type"] == "message"], "the message does not wait")[0]
    assert [file["state"] for file in message["files"]] == ["missing"]
    recalled = workspace.server.request("DELETE", workspace.path(f"pending-uploads/{file_id}"), token=workspace.server.admin_token)
    assert recalled.status == 200
    hold.set()
    between.cut()
    delivery = wait_until(lambda: [d for d in agent.deliveries() if d["type"] == "file"], "the delivery")[0]
    assert [file["state"] for file in delivery["files"]] == ["recalled"]
    assert agent.stop() == 0


def test_an_agent_without_state_goes_on_from_the_servers_last_ack(workspace, connect):
    first = connect(url_of(workspace.server), token=workspace.token)
    send(workspace, "one")
    wait_until(lambda: len(workspace.messages()) == 1, "the reply")
    head = workspace.activity()[-1]["seq"]
    ack = lambda: workspace.server.request("POST", workspace.path("activity/ack"), token=workspace.server.admin_token,
                                           json_body={"acked_seq": 0}).json()["last_acked_seq"]
    wait_until(lambda: ack() >= head - 1, "the server has the ack")
    assert first.stop() == 0
    (_, item), = workspace.upload(("waits.txt", b"w"))
    fresh = connect(url_of(workspace.server), token=workspace.token)
    wait_until(lambda: len(workspace.messages()) == 2, "the file that waited")
    assert [(d["type"], d["text"]) for d in fresh.deliveries()] == [("file", "")]
    assert fresh.stop() == 0


def test_a_restore_while_a_delivery_is_in_progress_skips_no_new_message_and_repeats_none(start, connect, tmp_path):
    hold, log, backup = tmp_path / "hold", tmp_path / "log", tmp_path / "backup"
    command = f"cat >> '{log}'; while [ -e '{hold}' ]; do sleep 0.05; done; echo done"
    texts = lambda: [json.loads(line)["text"] for line in log.read_text().split("\n")[:-1]] if log.exists() else []
    address = f"127.0.0.1:{free_port()}"
    first = start(listen=(address,))
    workspace = Workspace(first)
    agent = connect(url_of(first), token=workspace.token, exec_command=command)
    send(workspace, "in the backup")
    wait_until(lambda: len(workspace.messages()) == 1, "the first reply")
    first.stop()
    shutil.copytree(first.data, backup)
    hold.touch()
    # Where the agent does not see it, so that one answer brings both.
    hidden = start(data=first.data)
    for number in range(2):
        send(workspace.on(hidden), f"lost {number}")
    hidden.stop()
    second = start(data=first.data, listen=(address,))
    wait_until(lambda: texts()[-1:] == ["lost 0"], "the delivery that stays in progress")
    printed = len(agent.stderr())
    second.stop()
    agent.wait_printed("trying again until it works", printed)
    third = start(data=backup)
    for number in range(3):
        send(workspace.on(third), f"new {number}")
    third.stop()
    last = start(data=backup, listen=(address,))
    agent.wait_printed("reached ", printed)
    hold.unlink()
    expected = ["in the backup", "lost 0", "lost 1", "new 0", "new 1", "new 2"]
    wait_until(lambda: len(texts()) >= len(expected), "the new messages")
    send(workspace.on(last), "afterwards")
    wait_until(lambda: "afterwards" in texts(), "the message after the restore")
    assert texts() == [*expected, "afterwards"]
    assert agent.stop() == 0


def test_the_operators_card_and_the_current_task_are_not_changed_by_the_agent(workspace, connect):
    admin = workspace.server.admin_token
    card = {"name": "Reviewer", "skills": ["reads"]}
    path = f"/workspaces/{workspace.id}"
    assert workspace.server.request("PATCH", path, token=admin, json_body={"agent_card": card}).status == 200
    beat = {"active_tasks": 3, "current_task": "reading"}
    assert workspace.server.request("POST", "/registry/heartbeat", token=workspace.token, json_body=beat).status == 200
    agent = connect(url_of(workspace.server), token=workspace.token)
    wait_until(lambda: is_listening(workspace), "the held poll")
    seen = workspace.server.get(path, token=admin).json()
    assert (seen["agent_card"], seen["active_tasks"], seen["current_task"]) == (card, 3, "reading")
    assert agent.stop() == 0


def test_a_token_revoked_while_connected_ends_the_agent_with_a_sentence_with_what_to_do(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    admin = workspace.server.admin_token
    for token in workspace.server.get(workspace.path("tokens"), token=admin).json():
        workspace.server.request("DELETE", workspace.path(f"tokens/{token['id']}"), token=admin)
    assert agent.wait_exit() == 77
    assert b"restante connect --enrol" in agent.stderr()[-1]


def enrolment(server, name):
    """(id, enrolment token) of a new workspace."""
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": name}).json()
    return made["id"], made["connection"]["enrolment_token"]


def states(home):
    return home / ".local/state/restante/agents"


def test_a_second_agent_on_one_machine_just_works_and_each_has_its_own_state(server, connect, tmp_path):
    ids = []
    for name in ("first here", "second here"):
        workspace_id, token = enrolment(server, name)
        ids.append(workspace_id)
        agent = connect(url_of(server), home=tmp_path, arguments=["--enrol", token], reply=f"I am {name}")
        agent.wait_printed(f"as {name} (workspace {workspace_id})")
        agent.wait_printed(f"files land in {agent.dir}/.molecule/chat-uploads; to stop: Ctrl-C")
        assert (states(tmp_path) / workspace_id / "token").exists()
    for workspace_id, name in zip(ids, ("first here", "second here")):
        workspace = Workspace(server, known=(workspace_id, (states(tmp_path) / workspace_id / "token").read_text().strip()))
        send(workspace, "who are you?")
        wait_until(lambda: workspace.messages() == [f"I am {name}"], "its answer")
    unnamed = connect(None, home=tmp_path)
    assert unnamed.wait_exit() == 64
    unnamed.wait_printed("which agent?")
    unnamed.wait_printed(ids[1])
    again = connect(None, home=tmp_path, arguments=["--workspace", ids[0]])
    assert again.wait_exit() == 75, "that one runs already"


def test_the_only_agent_needs_no_name_also_with_the_state_of_an_earlier_version(server, connect, tmp_path):
    workspace_id, token = enrolment(server, "the only one")
    first = connect(url_of(server), home=tmp_path, arguments=["--enrol", token])
    first.wait_printed("connected to")
    assert first.stop() == 0
    (states(tmp_path) / workspace_id).rename(tmp_path / ".local/state/restante/connect")
    again = connect(None, home=tmp_path)
    again.wait_printed(f"workspace {workspace_id}")
    assert again.stop() == 0
    assert not (states(tmp_path) / workspace_id).exists(), "the old place is used as it is"
    new = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "enrolment", "workspace_id": workspace_id}).json()
    renewed = connect(None, home=tmp_path, arguments=["--enrol", new["token"]])
    renewed.wait_printed(f"workspace {workspace_id}")
    assert renewed.stop() == 0
    assert not (states(tmp_path) / workspace_id).exists(), "a new line for the same workspace goes on with its state"


def test_an_enrolment_token_is_not_spent_before_everything_else_was_checked(server, workspace, connect, tmp_path):
    workspace_id, token = enrolment(server, "enrolled late")
    typo = connect(url_of(server), home=tmp_path, arguments=["--enrol", token], exec_command="./anser.sh")
    assert typo.wait_exit() == 64
    typo.wait_printed("--exec cannot be run: ./anser.sh: No such file or directory")
    typo.dir.write_text("a file where the folder should be")
    nowhere = connect(url_of(server), home=tmp_path, keep=typo, arguments=["--enrol", token])
    assert nowhere.wait_exit() != 0
    nowhere.wait_printed("The enrolment token was not used")
    other = connect(url_of(server), token=workspace.token)
    other.wait_printed("connected to")
    assert other.stop() == 0
    foreign = connect(url_of(server), keep=other, arguments=["--enrol", token])
    assert foreign.wait_exit() != 0
    foreign.wait_printed(f"this state belongs to workspace {workspace.id}")
    connect(url_of(server), home=tmp_path, arguments=["--enrol", token]).wait_printed(f"workspace {workspace_id}")


def test_a_token_finds_its_workspace_by_asking_the_server(server, connect, tmp_path):
    for name in ("by a file", "by a variable"):
        workspace = Workspace(server, name)
        given = {"token": workspace.token} if name == "by a file" else {"environment": {"RESTANTE_TOKEN": workspace.token}}
        agent = connect(url_of(server), home=tmp_path, **given)
        agent.wait_printed(f"as {name} (workspace {workspace.id})")
        assert (states(tmp_path) / workspace.id / "state.json").exists()
        assert agent.stop() == 0


def test_a_command_that_cannot_be_run_pauses_and_destroys_no_mail(workspace, connect, tmp_path):
    script = tmp_path / "answer.sh"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    agent = connect(url_of(workspace.server), token=workspace.token, exec_command=str(script))
    agent.wait_printed("connected to")
    script.rename(tmp_path / "away.sh")
    send(workspace, "hello")
    agent.wait_printed("the command cannot be run: it ended with exit code 127; deliveries wait")
    wait_until(lambda: b"cannot be run" in (agent.state / "health.json").read_bytes(), "status shows it")
    script.write_text("#!/bin/sh\necho back again\n")
    script.chmod(0o755)
    wait_until(lambda: workspace.messages() == ["back again"], "the message is handled after all")
    agent.wait_printed("message from the person: handled, the answer is sent")


def test_a_command_is_ended_after_its_time_and_the_sender_reads_its_last_errors(workspace, connect):
    command = "echo starting >&2; echo the disk is on fire >&2; exec sleep 600"
    agent = connect(url_of(workspace.server), token=workspace.token, exec_command=command, arguments=["--exec-timeout", "1", "--attempts", "1"])
    send(workspace, "hello")
    wait_until(workspace.messages, "the failure")
    assert workspace.messages() == ["The agent could not handle this: the command took longer than 1 s and was ended. The last lines of its "
                                    "errors:\nstarting\nthe disk is on fire"]
    agent.wait_printed("the disk is on fire")
    agent.wait_printed("(attempt 1 of 1)")


def test_waiting_for_the_command_of_an_earlier_run_is_said(workspace, connect, tmp_path):
    gate, command = tmp_path / "go", "while [ ! -e '{}' ]; do sleep 0.05; done; echo done"
    first = connect(url_of(workspace.server), token=workspace.token, exec_command=command.format(gate))
    send(workspace, "hello")
    wait_until(lambda: list((first.state / "runs").glob("*.lock")) if (first.state / "runs").exists() else None, "the command runs")
    wait_until(lambda: all(path.read_text().strip() for path in (first.state / "runs").glob("*.lock")), "its runner has its process id")
    first.kill()
    second = connect(url_of(workspace.server), token=workspace.token, keep=first, exec_command=command.format(gate))
    second.wait_printed("the command of an earlier run still works on")
    gate.touch()
    wait_until(lambda: workspace.messages() == ["done"], "its answer")


def test_a_long_answer_travels_as_a_file_in_the_chat_too(workspace, connect):
    connect(url_of(workspace.server), token=workspace.token, exec_command="head -c 300000 /dev/zero | tr '\\0' x")
    send(workspace, "tell me all")
    wait_until(workspace.messages, "the answer")
    row, = [row for row in workspace.activity() if row["method"] == "notify"]
    assert row["response_body"]["result"].endswith("[cut; all of it is in output.txt]")
    part, = row["response_body"]["parts"]
    assert (part["file"]["name"], part["file"]["size"]) == ("output.txt", 300000)
