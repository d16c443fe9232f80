"""`restante connect` as a process, against the real server: files land, are acknowledged and handed over once; replies come
back; kills, cuts and restarts on either side lose nothing."""
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from support.desk import Workspace
from support.server import SANITIZER_REPORTS, Lines, binary
from support.waiting import wait_until


class Connect:
    """A `restante connect` of the test's own, with directories that outlive it, so that it can be started again."""

    def __init__(self, url, *, token=None, reply="got it", keep=None, arguments=(), mode="exec", exec_command=None):
        self.root = keep.root if keep else Path(tempfile.mkdtemp(prefix="restante-connect-")).resolve()
        self.dir, self.state, self.log = self.root / "dir", self.root / "state", self.root / "deliveries"
        command = [binary(), "connect", "--dir", str(self.dir), "--state", str(self.state)]
        if url:
            command += ["--url", url]
        if token:
            token_file = self.root / "given.token"
            token_file.write_text(token + "\n")
            command += ["--token-file", str(token_file)]
        if mode == "exec":
            command += ["--exec", exec_command or f"cat >> '{self.log}' && printf '%s\\n' '{reply}'"]
        elif mode == "json":
            command += ["--json"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
        self.process = subprocess.Popen([*command, *arguments], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.stdout, self.stderr = Lines(self.process.stdout), Lines(self.process.stderr)

    def wait_said(self, text, start=0):
        return self.stderr.wait(lambda line: text.encode() in line, f"the agent says {text!r}", start=start)

    def deliveries(self):
        """What the --exec command was given so far, in order."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def landed(self):
        folder = self.dir / ".molecule" / "chat-uploads"
        return sorted(folder.iterdir()) if folder.exists() else []

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def stop(self):
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def wait_exit(self):
        code = self.process.wait(60)
        self.stderr.join()
        text = b"\n".join(self.stderr()).decode("utf-8", "replace")
        assert not any(report in text for report in SANITIZER_REPORTS), text
        return code

    def clean(self):
        if self.process.poll() is None:
            self.kill()
        for lines, pipe in ((self.stdout, self.process.stdout), (self.stderr, self.process.stderr)):
            lines.join()
            pipe.close()


@pytest.fixture
def connect():
    made = []

    def connector(*arguments, **options):
        made.append(Connect(*arguments, **options))
        return made[-1]

    yield connector
    for one in made:
        one.clean()
    for root in {one.root for one in made}:
        shutil.rmtree(root, ignore_errors=True)


class Proxy:
    """TCP between the agent and the server. `gate(bytes)` sees what the agent sends and may keep it; `tap(bytes)` sees what the
    server answers and may return fewer bytes, after which the connection is cut."""

    def __init__(self, port, gate=None, tap=None):
        self.target, self.gate, self.tap = port, gate or (lambda data: True), tap or (lambda data: len(data))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    try:
                        data = ready.recv(65536)
                        if not data:
                            return
                        if ready is client:
                            if self.gate(data):
                                server.sendall(data)
                        else:
                            allowed = self.tap(data)
                            client.sendall(data[:allowed])
                            if allowed < len(data):
                                return
                    except OSError:
                        return

    def close(self):
        self.listener.close()


@pytest.fixture
def proxy():
    made = []

    def maker(*arguments, **options):
        made.append(Proxy(*arguments, **options))
        return made[-1]

    yield maker
    for one in made:
        one.close()


def url_of(server):
    return f"http://127.0.0.1:{server.port}"


def pending(workspace):
    response = workspace.server.get(workspace.path("pending-uploads"), token=workspace.server.admin_token)
    assert response.status == 200, response
    return response.json()


def send(workspace, text, *uris):
    """A person's message that names files."""
    parts = [{"kind": "text", "text": text}] + [{"kind": "file", "file": {"uri": uri, "name": "x"}} for uri in uris]
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"messageId": os.urandom(8).hex(), "parts": parts}}}
    response = workspace.server.request("POST", workspace.path("a2a"), token=workspace.server.admin_token, json_body=body)
    assert (response.status, response.json()["status"]) == (200, "queued"), response


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


def test_a_message_brings_the_files_it_names_as_paths_and_they_do_not_come_twice(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_said("connected to")
    (_, first), (_, second) = workspace.upload(("a.txt", b"first"), ("b.txt", b"second"))
    send(workspace, "compare these", first["uri"], second["uri"])
    wait_until(lambda: agent.deliveries(), "the hand-over")
    delivery = agent.deliveries()[0]
    assert (delivery["type"], delivery["text"]) == ("message", "compare these")
    assert [Path(file["path"]).read_bytes() for file in delivery["files"]] == [b"first", b"second"]
    sent = [part["file"]["uri"] for part in delivery["body"]["params"]["message"]["parts"] if part["kind"] == "file"]
    assert sent == [f"workspace:{file['path']}" for file in delivery["files"]]
    # A file that comes alone afterwards is handed over; by then the two would have been, had they not come with the message.
    workspace.upload(("c.txt", b"third"))
    wait_until(lambda: len(agent.deliveries()) == 2, "the file that came alone")
    assert [file["name"] for file in agent.deliveries()[1]["files"]] == ["c.txt"]
    assert agent.stop() == 0


def test_a_kill_between_fetch_and_ack_delivers_exactly_once(workspace, connect, proxy):
    at_ack = threading.Event()

    def hold_acks(data):
        if b"/ack HTTP/1.1" in data:
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


def test_a_restart_of_the_server_is_survived_and_said_once(start, connect):
    first = start()
    workspace = Workspace(first)
    agent = connect(url_of(first), token=workspace.token)
    workspace.upload(("a.txt", b"before"))
    wait_until(lambda: len(workspace.messages()) == 1, "the first reply")
    first.stop()
    agent.wait_said("trying again until it works")
    second = start(data=first.data, listen=(f"127.0.0.1:{first.port}",))
    workspace = workspace.on(second)
    workspace.upload(("b.txt", b"after"))
    wait_until(lambda: len(workspace.messages()) == 2, "the reply after the restart")
    assert [delivery["files"][0]["name"] for delivery in agent.deliveries()] == ["a.txt", "b.txt"]
    assert sum(b"trying again" in line for line in agent.stderr()) == 1
    assert agent.stop() == 0


def test_the_pasted_line_enrols_once_and_is_remembered(server, connect):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}).json()
    enrolment = made["connection"]["enrolment_token"]
    workspace = Workspace(server, known=(made["id"], None))
    agent = connect(url_of(server), arguments=["--enrol", enrolment])
    agent.wait_said(made["id"])
    token_file = agent.state / "token"
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    workspace.token = token_file.read_text().strip()
    assert workspace.token != enrolment
    assert agent.stop() == 0
    # Just `restante connect`, and the same line pasted again, both go on with the kept token.
    for url, arguments in ((None, []), (url_of(server), ["--enrol", enrolment])):
        again = connect(url, keep=agent, arguments=arguments)
        again.wait_said(made["id"])
        assert again.stop() == 0
    send(workspace, "are you there")
    last = connect(None, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    assert last.stop() == 0
    # A stranger with the spent token gets nothing.
    stranger = connect(url_of(server), arguments=["--enrol", enrolment])
    assert stranger.wait_exit() == 77


def test_a_token_that_is_not_valid_says_what_to_do_and_exits_77(server, workspace, connect):
    agent = connect(url_of(server), token="A" * 43)
    assert agent.wait_exit() == 77
    assert b"restante connect --enrol" in agent.stderr()[-1]
    assert not any(b"AAAAAAAA" in line for line in agent.stderr())
    nothing = connect(url_of(server))
    assert nothing.wait_exit() == 77
    assert b"--enrol" in nothing.stderr()[-1]


def test_a_second_agent_with_the_same_state_is_told_who_is_there(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_said("connected to")
    second = connect(url_of(workspace.server), token=workspace.token, keep=agent)
    assert second.wait_exit() == 75
    assert f"process {agent.process.pid}, since 2".encode() in second.stderr()[-1]
    assert agent.stop() == 0


def test_json_lines_go_to_stdout_and_nothing_else_does(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token, mode="json")
    send(workspace, "one\ntwo")
    line = json.loads(agent.stdout.wait(lambda _: True, "a JSON line"))
    assert (line["type"], line["text"]) == ("message", "one\ntwo")
    assert agent.stop() == 0
    assert len(agent.stdout()) == 1
    assert workspace.messages() == []


def test_a_line_for_a_person_names_the_file_its_size_and_its_path(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token, mode="lines")
    workspace.upload(("a.txt", b"12345"))
    line = agent.stdout.wait(lambda _: True, "a line").decode()
    assert " file a.txt (5 bytes) " in line and line.endswith(str(agent.landed()[0]))
    assert agent.stop() == 0


def test_what_was_handed_over_is_not_handed_over_again_after_a_restart(workspace, connect):
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


def test_stopping_ends_a_command_under_way_and_its_message_comes_again(workspace, connect):
    first = connect(url_of(workspace.server), token=workspace.token, exec_command="cat > /dev/null; echo busy >&2; sleep 600")
    send(workspace, "long work")
    first.wait_said("busy")
    assert first.stop() == 0
    again = connect(url_of(workspace.server), token=workspace.token, keep=first)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    assert [delivery["text"] for delivery in again.deliveries()] == ["long work"]
    assert again.stop() == 0


def test_a_linked_folder_is_not_written_through_and_the_message_still_comes(workspace, connect, tmp_path):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_said("connected to")
    agent.dir.mkdir(exist_ok=True)
    (agent.dir / ".molecule").symlink_to(tmp_path)
    (_, item), = workspace.upload(("a.txt", b"a"))
    send(workspace, "see the file", item["uri"])
    wait_until(lambda: agent.deliveries(), "the message")
    delivery = agent.deliveries()[0]
    assert delivery["text"] == "see the file"
    assert [(file["state"], file["uri"], "path" in file) for file in delivery["files"]] == [("failed", item["uri"], False)]
    assert list(tmp_path.iterdir()) == []
    # Once the link is gone the file comes by itself.
    (agent.dir / ".molecule").unlink()
    wait_until(lambda: len(agent.deliveries()) == 2, "the file")
    assert Path(agent.deliveries()[1]["files"][0]["path"]).read_bytes() == b"a"
    assert agent.stop() == 0


def test_a_command_inherits_nothing_but_its_three_streams(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token, exec_command="ls -l /proc/$$/fd")
    send(workspace, "what is open")
    wait_until(workspace.messages, "the reply")
    listing, = workspace.messages()
    assert "socket:" not in listing and "state.json" not in listing and "lock" not in listing
    assert agent.stop() == 0
