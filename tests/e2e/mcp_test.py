"""`restante mcp` as a process, with raw lines: versions, bad input, parallel calls, cancellation, progress. A message is handed over
once, whatever is killed at any time. tests/e2e/mcp has the official client and inspector."""
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from support.agent import pending, send, url_of
from support.workspace import Workspace
from support.mcp import NEWEST
from support.server import binary
from support.waiting import wait_until

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
TOOLS = ["wait_for_message", "inbox_peek", "inbox_pop", "list_files", "send_message_to_user", "send_message_to_agent",
         "delegate_task", "delegate_task_async", "check_task_status", "complete_task", "list_peers", "get_workspace_info", "chat_history"]


@pytest.fixture
def session(workspace, mcp, tmp_path):
    return mcp(url_of(workspace.server), token=workspace.token, arguments=("--allow", str(tmp_path)))


def texts(session):
    return [message["text"] for message in session.call("inbox_peek")["messages"]]


def wait_inbox(session, *expected):
    wait_until(lambda: texts(session) == list(expected), f"the inbox holds {expected}")


def unread(pipe):
    """How many bytes are in the pipe."""
    return int.from_bytes(fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4), sys.byteorder)


# -- handshake and versions

@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_gets_the_features_that_it_knows(workspace, mcp, version):
    one = mcp(url_of(workspace.server), token=workspace.token, version=version)
    tools = one.request("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    structured = version >= "2025-06-18"
    for tool in tools:
        assert tool["description"] and tool["inputSchema"]["type"] == "object"
        assert ("outputSchema" in tool, "title" in tool, "annotations" in tool) == (structured, structured, version >= "2025-03-26"), tool
    result = one.request("tools/call", {"name": "get_workspace_info"})["result"]
    assert ("structuredContent" in result) == structured and workspace.id in result["content"][0]["text"]
    assert one.close() == 0


@pytest.mark.parametrize("asked", ["2099-01-01", None])
def test_an_unknown_version_is_answered_with_the_newest(workspace, mcp, asked):
    one = mcp(url_of(workspace.server), token=workspace.token, version=None)
    answer = one.request("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}})
    assert answer["result"]["protocolVersion"] == NEWEST
    assert answer["result"]["serverInfo"]["name"] == "restante" and answer["result"]["instructions"]
    assert one.close() == 0


def test_before_the_handshake_only_ping_is_answered(workspace, mcp):
    one = mcp(url_of(workspace.server), token=workspace.token, version=None)
    assert one.request("ping")["result"] == {}
    assert one.request("tools/list")["error"]["code"] == -32600
    one.initialize(NEWEST)
    assert one.request("initialize", {"protocolVersion": NEWEST})["error"]["code"] == -32600
    assert one.request("tools/list")["result"]["tools"]
    assert one.close() == 0


def test_the_handshake_needs_no_server(mcp, workspace):
    """The client gets its tools at once; the tools report what is wrong."""
    one = mcp("http://127.0.0.1:9", token=workspace.token)
    assert one.request("tools/list")["result"]["tools"]
    assert "not reached" in one.trouble("list_peers")
    assert one.close() == 0


# -- what a line may be

BAD_LINES = [
    ("{", -32700), ("", None), (" ", None), ("[]", -32600), ("7", -32600), ("null", -32600), ('"x"', -32600), ("{}", -32600),
    ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602), ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700), ("[" * 5000, -32700), ('{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
    ('{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}', -32601),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602), ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600)]


def test_a_bad_line_is_answered_and_the_session_goes_on(session):
    for line, code in BAD_LINES:
        before = len(session.stdout())
        session.write(line)
        assert session.request("ping")["result"] == {}
        answers = session.messages()[before:-1]
        assert [answer["error"]["code"] for answer in answers] == ([code] if code else []), (line, answers)
    assert session.close() == 0


def test_an_oversized_line_is_discarded_and_the_session_goes_on(session):
    session.write('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + "x" * (5 << 20) + '"}}')
    answer = session.wait_message(lambda message: "error" in message, "the refusal")
    assert (answer["error"]["code"], answer["id"]) == (-32600, 1)
    assert session.request("ping")["result"] == {}


def test_a_call_that_cannot_be_read_ends_with_an_error(session):
    deep = "[" * 200 + "]" * 200
    for number, argument in enumerate((r'"\u0000"', r'"\ud800"', deep, '{"a":1,"a":2}', '"' + "x" * (5 << 20) + '"'), start=1000):
        session.write('{"method":"tools/call","params":{"name":"send_message_to_user","arguments":{"message":%s}},"jsonrpc":"2.0","id":%d}'
                      % (argument, number))
        assert session.answer(number)["error"]["message"]
    assert session.close() == 0


def test_responses_and_unknown_notifications_are_ignored(session):
    before = len(session.stdout())
    session.write({"jsonrpc": "2.0", "id": 99, "result": {}})
    session.notify("notifications/roots/list_changed")
    session.notify("notifications/cancelled", {"requestId": "unknown"})
    session.notify("notifications/cancelled")
    assert session.request("ping")["result"] == {}
    assert len(session.stdout()) == before + 1


def test_a_batch_is_answered_as_one_in_the_version_that_has_them(workspace, mcp):
    one = mcp(url_of(workspace.server), token=workspace.token, version="2025-03-26")
    one.write([{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/initialized"},
               {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "list_peers"}}, 7])
    answers = one.wait_message(lambda message: isinstance(message, list), "the batch")
    assert {str(answer["id"]): "result" in answer for answer in answers} == {"a": True, "b": True, "None": False}
    assert one.close() == 0


def test_wrong_arguments_are_reported_to_the_model(session):
    for arguments, sentence in [({"timeout_seconds": "soon"}, "timeout_seconds must be a whole number from 0 to 3600"),
                                ({"timeout_seconds": -1}, "whole number"), ({"timeout_seconds": 1.5}, "whole number"),
                                ({"timout": 1}, "wait_for_message takes timeout_seconds and nothing else")]:
        assert sentence in session.trouble("wait_for_message", **arguments)
    assert "message is missing" in session.trouble("send_message_to_user")
    assert "message must not be empty" in session.trouble("send_message_to_user", message="")
    assert "list of paths" in session.trouble("send_message_to_user", message="x", attachments="a.txt")


# -- taking messages

@pytest.mark.bytes
def test_a_message_with_a_file_is_taken_once(workspace, mcp):
    content = os.urandom(100_000)
    (_, item), = workspace.upload(("my report.pdf", content))
    send(workspace, "please read", item["uri"])
    # Start the agent only now: it hands a file over alone if the file's message does not arrive within a second.
    session = mcp(url_of(workspace.server), token=workspace.token)
    answer = session.answer(session.start_call("wait_for_message", {"timeout_seconds": 60}))["result"]
    message = answer["structuredContent"]["message"]
    assert (message["type"], message["from"], message["text"]) == ("message", "person", "please read")
    file, = message["files"]
    assert Path(file["path"]).read_bytes() == content and file["state"] == "landed"
    digest = hashlib.sha256(content).hexdigest()
    assert f"- my_report.pdf, {len(content)} bytes, sha256 {digest}, at {file['path']}" in answer["content"][0]["text"]
    assert session.pop() == {"message": None, "waiting": 0}
    assert session.call("list_files")["files"] == [file]
    wait_until(lambda: pending(workspace) == [], "the file is acked")
    assert session.close() == 0


def test_peek_takes_nothing_and_pop_takes_the_oldest(workspace, session):
    for text in ("one", "two", "three"):
        send(workspace, text)
    wait_inbox(session, "one", "two", "three")
    first = session.call("inbox_peek", limit=1)
    assert [message["text"] for message in first["messages"]] == ["one"] and first["waiting"] == 3
    assert "not the oldest" in session.trouble("inbox_pop", id=session.call("inbox_peek")["messages"][1]["id"])
    popped = session.pop(id=first["messages"][0]["id"])
    assert (popped["message"]["text"], popped["waiting"]) == ("one", 2)
    assert "already" in session.trouble("inbox_pop", id=popped["message"]["id"])
    assert [session.pop()["message"]["text"], session.call("wait_for_message")["message"]["text"]] == ["two", "three"]
    assert session.pop()["message"] is None


def test_a_wait_whose_time_is_up_reports_it_and_takes_nothing(workspace, session):
    assert session.call("wait_for_message", timeout_seconds=0)["message"] is None
    send(workspace, "later")
    assert session.call("wait_for_message", timeout_seconds=60)["message"]["text"] == "later"


def test_a_wait_blocks_no_other_call(workspace, session):
    waiting = session.start_call("wait_for_message", {"timeout_seconds": 600})
    assert session.call("get_workspace_info")["id"] == workspace.id
    assert session.request("ping")["result"] == {}
    assert not session.answered(waiting)
    send(workspace, "at last")
    assert session.result(waiting)["message"]["text"] == "at last"


def test_several_waits_each_get_one_message(workspace, session):
    waits = [session.start_call("wait_for_message", {"timeout_seconds": 600}) for _ in range(3)]
    for text in ("one", "two", "three"):
        send(workspace, text)
    assert sorted(session.result(wait)["message"]["text"] for wait in waits) == ["one", "three", "two"]


def test_a_cancelled_wait_takes_nothing_and_is_not_answered(workspace, session):
    waiting = session.start_call("wait_for_message", {"timeout_seconds": 600})
    session.notify("notifications/cancelled", {"requestId": waiting, "reason": "no longer needed"})
    assert session.request("ping")["result"] == {}, "so the cancellation has been read"
    send(workspace, "still here")
    wait_inbox(session, "still here")
    assert session.pop()["message"]["text"] == "still here"
    assert session.close() == 0
    assert not session.answered(waiting)


def test_a_long_wait_reports_its_progress(session):
    waiting = session.start_call("wait_for_message", {"timeout_seconds": 600}, token="w")
    reported = wait_until(lambda: session.progress("w"), "progress")
    assert reported[0]["total"] == 600 and 0 < reported[0]["progress"] < 600 and reported[0]["message"]
    session.notify("notifications/cancelled", {"requestId": waiting})
    assert session.close() == 0


# -- kills

def test_a_kill_between_peek_and_pop_neither_loses_nor_doubles(workspace, mcp):
    first = mcp(url_of(workspace.server), token=workspace.token)
    for text in ("one", "two"):
        send(workspace, text)
    wait_inbox(first, "one", "two")
    assert first.pop()["message"]["text"] == "one"
    wait_inbox(first, "two")
    first.kill()
    second = mcp(None, keep=first)
    taken = [second.call("wait_for_message", timeout_seconds=60)["message"]]
    while taken[-1]:
        taken.append(second.pop()["message"])
    assert [message["text"] for message in taken[:-1] if "again" not in message] == ["two"]
    assert [message["text"] for message in taken[:-1] if "again" in message] in ([], ["one"])
    assert second.close() == 0


def test_an_unread_message_comes_again_after_a_kill_without_a_remark(workspace, mcp):
    """Killed while a wait was open and messages were only peeked at: no hand-over had begun."""
    first = mcp(url_of(workspace.server), token=workspace.token)
    send(workspace, "one")
    wait_inbox(first, "one")
    first.kill()
    second = mcp(None, keep=first)
    message = second.call("wait_for_message", timeout_seconds=60)["message"]
    assert message["text"] == "one" and "again" not in message
    assert second.close() == 0


def test_kills_at_any_moment_lose_nothing_and_what_may_be_double_is_marked(workspace, mcp):
    total, seen, kept = 30, [], None
    for number in range(total):
        send(workspace, f"m{number}")
    for round_ in range(6):
        one = mcp(url_of(workspace.server), token=workspace.token, keep=kept)
        kept = one
        for _ in range(4):
            seen.append(one.call("wait_for_message", timeout_seconds=60)["message"])
        if round_ % 2:
            one.start_call("inbox_pop")
        one.kill()
        one.stdout.join()
        for line in one.messages():
            late = line.get("result", {}).get("structuredContent", {}).get("message") if isinstance(line, dict) else None
            if late and late["id"] not in [message["id"] for message in seen]:
                seen.append(late)
    last = mcp(url_of(workspace.server), token=workspace.token, keep=kept)
    while len({message["id"] for message in seen}) < total:
        seen.append(last.call("wait_for_message", timeout_seconds=60)["message"])
    firsts = [message for message in seen if "again" not in message]
    assert len({message["id"] for message in firsts}) == len(firsts), "handed over twice without a mark"
    assert {message["text"] for message in seen} == {f"m{number}" for number in range(total)}
    assert last.pop()["message"] is None
    assert last.close() == 0


# -- ends

def test_the_end_of_stdin_and_sigterm_end_it_cleanly(workspace, mcp):
    first = mcp(url_of(workspace.server), token=workspace.token)
    first.start_call("wait_for_message", {"timeout_seconds": 600})
    assert first.request("ping")["result"] == {}
    assert first.close() == 0
    second = mcp(None, keep=first)
    second.start_call("wait_for_message", {"timeout_seconds": 600})
    assert second.request("ping")["result"] == {}
    assert second.stop() == 0
    for line in first.messages() + second.messages():
        assert line["jsonrpc"] == "2.0"


def test_a_client_that_does_not_read_does_not_prevent_the_end(workspace):
    with subprocess.Popen([binary(), "mcp", "--url", url_of(workspace.server), "--state", "unread", "--dir", "."], cwd=workspace.server.data,
                          env={"PATH": os.environ["PATH"], "RESTANTE_TOKEN": workspace.token}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as one:
        def flood():
            line = json.dumps({"jsonrpc": "2.0", "id": "x" * 2000, "method": "ping"}).encode() + b"\n"
            try:
                while True:
                    os.write(one.stdin.fileno(), line)
            except OSError:
                pass  # it has ended

        writer = threading.Thread(target=flood)
        writer.start()
        # Its answers fill the pipe; then it waits in poll(2) until they are read.
        wait_until(lambda: unread(one.stdout) >= 60_000, "a full pipe")
        one.terminate()
        assert one.wait(60) == 0
        writer.join(60)


def test_a_second_process_with_the_same_state_is_refused_and_names_the_first(workspace, mcp):
    first = mcp(url_of(workspace.server), token=workspace.token)
    second = mcp(url_of(workspace.server), token=workspace.token, keep=first, version=None)
    assert second.wait_exit() == 75
    assert first.close() == 0


def test_the_tools_report_a_revoked_token(workspace, mcp):
    one = mcp(url_of(workspace.server), token="x" * 43)
    text = one.trouble("wait_for_message")
    assert "token" in text and "restante invite" in text
    assert one.close() == 77


# -- to the person

def test_a_message_with_files_reaches_the_person_and_not_the_agents_own_inbox(workspace, session, tmp_path):
    content = os.urandom(300_000)
    (tmp_path / "chart 1.png").write_bytes(content)
    sent = session.call("send_message_to_user", message="Here it is.", attachments=[str(tmp_path / "chart 1.png")])
    file, = sent["files"]
    assert (file["name"], file["size"], file["sha256"]) == ("chart_1.png", len(content), hashlib.sha256(content).hexdigest())
    row = [row for row in workspace.activity() if row["method"] == "notify"][-1]
    assert row["response_body"]["result"] == "Here it is." and row["response_body"]["parts"][0]["file"]["uri"] == file["uri"]
    got = workspace.server.get(workspace.content(file["uri"].rsplit("/", 1)[1]), token=workspace.server.admin_token)
    assert got.status == 200 and got.body == content
    history = session.call("chat_history")["messages"]
    assert history[-1]["content"] == "Here it is." and history[-1]["files"][0]["name"] == "chart_1.png"
    assert history[-1]["files"][0]["state"] == "sent"
    send(workspace, "thanks")
    assert session.call("wait_for_message", timeout_seconds=60)["message"]["text"] == "thanks"
    assert session.pop()["message"] is None and session.call("list_files")["files"] == []


def test_the_conversation_has_the_path_of_each_file_also_after_a_restart(workspace, mcp):
    content = os.urandom(5_000)
    (_, item), = workspace.upload(("a.pdf", content))
    send(workspace, "read this", item["uri"])
    one = mcp(url_of(workspace.server), token=workspace.token)
    one.call("wait_for_message", timeout_seconds=60)
    assert one.close() == 0
    two = mcp(None, keep=one)
    answer = two.answer(two.start_call("chat_history"))["result"]
    entry = answer["structuredContent"]["messages"][-1]
    file, = entry["files"]
    path = Path(file["path"])
    assert (entry["content"], file["state"], file["uri"]) == ("read this", "landed", f"workspace:{path}")
    assert (file["size"], file["sha256"], path.read_bytes()) == (len(content), hashlib.sha256(content).hexdigest(), content)
    text = answer["content"][0]["text"]
    assert str(path) in text and file["sha256"] in text and "platform-pending:" not in text


def test_the_folder_of_files_is_reported_as_an_absolute_path(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given.token").write_text(workspace.token)
    command = [binary(), "mcp", "--dir", "d1", "--state", "s1", "--url", url_of(workspace.server), "--token-file", "given.token"]
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_workspace_info", "arguments": {}}}]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for line in lines:
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        answer = next(found for found in map(json.loads, process.stdout) if found.get("id") == 2)
    assert answer["result"]["structuredContent"]["files_folder"] == str(tmp_path.resolve() / "d1")


def test_a_file_that_cannot_be_sent_is_named_and_nothing_is_sent(workspace, session, tmp_path):
    (tmp_path / "empty").touch()
    with open(tmp_path / "large", "wb") as large:
        large.truncate(26_214_401)
    for name, why in [("missing.txt", "No such file"), (".", "is not a file"), ("empty", "is empty"), ("large", "takes at most")]:
        assert why in session.trouble("send_message_to_user", message="x", attachments=[str(tmp_path / name)])
    assert workspace.messages() == []


def test_only_files_of_the_allowed_folders_are_sent_and_never_the_agents_token(workspace, mcp, tmp_path):
    outside, allowed = tmp_path / "outside", tmp_path / "allowed"
    for folder in (outside, allowed):
        folder.mkdir()
        (folder / "a.txt").write_text("x")
    invite = workspace.server.request("POST", "/admin/invites", token=workspace.server.admin_token,
                                      json_body={"kind": "enrolment", "workspace_id": workspace.id}).json()
    one = mcp(url_of(workspace.server), arguments=("--enrol", invite["token"], "--allow", str(allowed)))
    assert one.call("get_workspace_info")["send_folders"] == [str(one.dir), str(allowed)]
    token = one.state / "token"
    assert token.read_text().strip()
    # The state directory is in the folder that is allowed now.
    assert one.close() == 0
    two = mcp(url_of(workspace.server), keep=one, arguments=("--allow", str(one.root), "--allow", str(allowed)))
    two.dir.mkdir(exist_ok=True)
    (two.dir / "b.txt").write_text("b")
    (two.dir / "link.txt").symlink_to(outside / "a.txt")
    (two.dir / "notes.txt").symlink_to(token)
    os.link(token, allowed / "hard.txt")
    for path, why in [(outside / "a.txt", "--allow"), (two.dir / "link.txt", "--allow"), (Path("/etc/passwd"), "--allow"),
                      (token, "its token"), (two.dir / "notes.txt", "its token"), (allowed / "hard.txt", "its token")]:
        for tool, arguments in [("send_message_to_user", {"message": "x"}), ("complete_task", {"delegation_id": "d", "result": "x"}),
                                ("delegate_task", {"target": workspace.id, "task": "x"}),
                                ("delegate_task_async", {"target": workspace.id, "task": "x"})]:
            trouble = two.trouble(tool, attachments=[str(two.dir / "b.txt"), str(path)], **arguments)
            assert str(path) in trouble and why in trouble, trouble
    assert workspace.messages() == []
    sent = two.call("send_message_to_user", message="both", attachments=[str(two.dir / "b.txt"), str(allowed / "a.txt")])
    assert [file["name"] for file in sent["files"]] == ["b.txt", "a.txt"]


def test_a_folder_to_allow_must_be_one(workspace, tmp_path):
    command = [binary(), "mcp", "--state", str(tmp_path / "state"), "--url", url_of(workspace.server), "--allow", str(tmp_path / "missing")]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (64, b"") and b"missing is not a folder" in done.stderr


def test_a_large_transfer_reports_its_progress_and_can_be_cancelled(workspace, mcp, proxy, tmp_path):
    (tmp_path / "big.bin").write_bytes(os.urandom(8_000_000))
    seen, held = {"bytes": 0}, threading.Event()

    def hold_the_middle(data):
        seen["bytes"] += len(data)
        if seen["bytes"] > 4_000_000:
            held.set()
            return False
        return True

    between = proxy(workspace.server.port, gate=hold_the_middle)
    one = mcp(between.url, token=workspace.token, arguments=("--allow", str(tmp_path)))
    sending = one.start_call("send_message_to_user", {"message": "big", "attachments": [str(tmp_path / "big.bin")]}, token=7)
    reported = wait_until(lambda: one.progress(7), "progress")
    assert held.wait(60)
    assert all(0 < step["progress"] <= step["total"] == 8_000_000 for step in reported)
    assert [step["progress"] for step in reported] == sorted({step["progress"] for step in reported})
    one.notify("notifications/cancelled", {"requestId": sending})
    assert one.request("ping")["result"] == {}
    assert one.close() == 0
    assert not one.answered(sending) and workspace.messages() == []


def test_peers_are_the_agents_to_which_it_may_send(workspace, session):
    other = Workspace(workspace.server, "reviewer")
    peers = session.call("list_peers")["peers"]
    assert {"id": other.id, "name": "reviewer"}.items() <= next(peer for peer in peers if peer["id"] == other.id).items()
    assert workspace.id not in [peer["id"] for peer in peers]
