"""`restante send`, `uploads` and `sweep` against a real server: what a person reads, what a script gets, and what happens when the
connection breaks in the middle."""
import json
import os
import pty
import re
import select
import socket
import subprocess
import threading

import pytest

from support.desk import Workspace
from support.server import binary
from support.waiting import Deadline, wait_until

SETTINGS = {"uploads.per_file_bytes": 3000000, "uploads.max_files": 3}


def environment(**extra):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
    return {**clean, "TERM": "xterm", **extra}


class Person:
    """Somebody at a terminal with a token and a few files."""

    def __init__(self, server, folder, token=None, port=None):
        self.folder = folder
        self.token_file = folder / "token"
        self.token_file.write_text((token or server.admin_token) + "\n")
        self.where = ["--url", f"http://127.0.0.1:{port or server.port}", "--token-file", str(self.token_file)]

    def file(self, name, content):
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)

    def command(self, *args):
        return [binary(), *map(str, args), *self.where]

    def run(self, *args):
        return subprocess.run(self.command(*args), env=environment(), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)

    def start(self, *args):
        return subprocess.Popen(self.command(*args), env=environment(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)


@pytest.fixture
def agent(server):
    return Workspace(server, "laptop")


@pytest.fixture
def person(server, tmp_path):
    return Person(server, tmp_path)


def take(agent, file_id, ack=True):
    content = agent.server.get(agent.content(file_id), token=agent.token)
    assert content.status == 200, content
    if ack:
        acked = agent.server.request("POST", agent.path(f"pending-uploads/{file_id}/ack"), token=agent.token)
        assert acked.json() == {"acked": True}, acked
    return content.body


def waiting(agent):
    return agent.server.get(agent.path("pending-uploads"), token=agent.token).json()


def test_text_and_files_reach_the_inbox_and_the_message_names_them(server, person):
    agent = Workspace(server, "the only laptop of that name")
    done = person.run("send", "--to", "the only laptop of that name", "have a look", "--file", person.file("a b.txt", b"hello"), "--file", person.file("c.pdf", b"%PDF"))
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "2 files (9 B) are kept for the agent" in done.stdout
    rows = agent.activity()
    assert [row["method"] for row in rows] == ["chat_upload_receive", "chat_upload_receive", "message/send"]
    parts = rows[2]["request_body"]["params"]["message"]["parts"]
    assert parts[0] == {"kind": "text", "text": "have a look"}
    assert [(p["file"]["name"], p["file"]["mimeType"]) for p in parts[1:]] == [("a_b.txt", "text/plain"), ("c.pdf", "application/pdf")]
    assert [p["file"]["uri"] for p in parts[1:]] == [row["request_body"]["uri"] for row in rows[:2]]
    assert take(agent, rows[0]["request_body"]["file_id"]) == b"hello"


def test_wait_tells_every_step_and_says_delivered_only_after_the_ack(agent, person):
    sending = person.start("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"), "--wait")
    wait_until(lambda: waiting(agent), "the file waits")
    file_id = waiting(agent)[0]["file_id"]
    said = iter(sending.stdout.readline, "")
    assert "waiting for the agent to take it" in next(said)
    assert re.fullmatch(r"a\.txt +waiting\n", next(said))
    take(agent, file_id, ack=False)
    assert re.fullmatch(r"a\.txt +fetched, not yet acknowledged\n", next(said))
    take(agent, file_id)
    assert re.fullmatch(r"a\.txt +delivered\n", next(said))
    assert sending.wait(Deadline().left()) == 0


def test_wait_fails_with_the_agents_own_reason(agent, person):
    sending = person.start("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"), "--wait")
    wait_until(lambda: waiting(agent), "the file waits")
    file_id = waiting(agent)[0]["file_id"]
    failed = agent.server.request("POST", agent.path(f"pending-uploads/{file_id}/fail"), token=agent.token, json_body={"reason": "disk full"})
    assert failed.status == 200, failed
    out, _ = sending.communicate(timeout=60)
    assert "failed: disk full" in out and "delivered" not in out
    assert sending.returncode == 1


def test_wait_gives_up_in_time_and_says_that_the_file_stays(agent, person):
    done = person.run("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"), "--wait", "--timeout", 1)
    assert done.returncode == 75
    assert "stays there" in done.stderr
    assert len(waiting(agent)) == 1


def test_json_is_one_object_with_what_became_of_each_file(agent, person):
    sending = person.start("send", "--to", agent.id, "hi", "--file", person.file("a.txt", b"hello"), "--wait", "--json")
    wait_until(lambda: waiting(agent), "the file waits")
    take(agent, waiting(agent)[0]["file_id"])
    out, err = sending.communicate(timeout=60)
    told = json.loads(out)
    assert (told["workspace_id"], told["message"]["status"], err) == (agent.id, "queued", "")
    assert [(f["name"], f["state"], f["size"]) for f in told["files"]] == [("a.txt", "acked", 5)]


def test_a_sender_needs_no_name_and_can_wait_too(server, agent, tmp_path):
    invited = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "sender", "workspace_id": agent.id})
    ada = Person(server, tmp_path, invited.json()["token"])
    sending = ada.start("send", "hello from Ada", "--file", ada.file("a.txt", b"hello"), "--wait")
    wait_until(lambda: waiting(agent), "the file waits")
    take(agent, waiting(agent)[0]["file_id"])
    out, err = sending.communicate(timeout=60)
    assert (sending.returncode, err) == (0, ""), (out, err)
    assert "delivered" in out


def test_more_files_than_one_request_takes_go_in_several(agent, person):
    files = [person.file(f"{i}.txt", b"x" * (i + 1)) for i in range(7)]
    done = person.run("send", "--to", agent.id, *[word for file in files for word in ("--file", file)])
    assert done.returncode == 0, done
    assert [item["name"] for item in waiting(agent)] == [f"{i}.txt" for i in range(7)]
    message = agent.activity()[-1]
    assert len(message["request_body"]["params"]["message"]["parts"]) == 7


@pytest.mark.parametrize("name, size, sentence", [
    ("big.bin", 3000001, "big.bin: has 3000001 bytes (2.9 MiB), and this server takes at most 3000000 (2.9 MiB) a file; nothing was sent"),
    ("empty.txt", 0, "empty.txt: is empty"),
])
def test_what_cannot_be_sent_is_named_before_anything_is(agent, person, name, size, sentence):
    done = person.run("send", "--to", agent.id, "hi", "--file", person.file("fine.txt", b"fine"), "--file", person.file(name, bytes(size)))
    assert done.returncode == 1 and sentence in done.stderr, done
    assert agent.activity() == []


def test_without_anything_to_send_it_says_what_to_give(person, agent):
    done = person.run("send", "--to", agent.id)
    assert done.returncode == 64 and "--file" in done.stderr
    done = person.run("send", "hello")
    assert done.returncode == 64 and "--to" in done.stderr


class CuttingProxy:
    """Passes bytes to the server; the first connection that has carried `allow` bytes is cut, once."""

    def __init__(self, port, allow):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target, self.allow, self.cuts = self.listener.getsockname()[1], port, allow, 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.carry, args=(near, far), daemon=True).start()

    def carry(self, near, far):
        carried = 0
        while True:
            ready, _, _ = select.select([near, far], [], [], 60)
            for end in ready:
                try:
                    piece = end.recv(65536)
                except OSError:
                    piece = b""
                if not piece:
                    near.close()
                    far.close()
                    return
                (far if end is near else near).sendall(piece)
                carried += len(piece) if end is near else 0
            if not self.cuts and carried > self.allow:
                self.cuts += 1
                near.close()
                far.close()
                return


def test_a_connection_cut_in_the_middle_is_tried_again_and_kept_once(server, agent, tmp_path):
    proxy = CuttingProxy(server.port, 1000000)
    person = Person(server, tmp_path, port=proxy.port)
    content = os.urandom(2500000)
    done = person.run("send", "--to", agent.id, "--file", person.file("a.bin", content))
    proxy.listener.close()
    assert done.returncode == 0 and proxy.cuts == 1, done
    assert "trying again" in done.stderr
    assert len(waiting(agent)) == 1
    assert take(agent, waiting(agent)[0]["file_id"]) == content


def test_on_a_terminal_the_progress_is_drawn(agent, person):
    parent, child = pty.openpty()
    path = person.file("a.bin", os.urandom(2000000))
    process = subprocess.Popen(person.command("send", "--to", agent.id, "--file", path), env=environment(), stdin=subprocess.DEVNULL,
                               stdout=child, stderr=child)
    os.close(child)
    seen = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    assert process.wait(60) == 0
    assert re.search(rb"\[=+\] 100 %  1\.9 MiB of 1\.9 MiB  \S+ [KMG]iB/s", seen), seen


def test_uploads_shows_what_waits_and_sweep_what_was_due(agent, person):
    assert person.run("uploads", "--workspace", agent.id).stdout == "No file is in this state.\n"
    person.run("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"))
    (item,) = waiting(agent)
    shown = person.run("uploads", "--workspace", agent.id).stdout
    assert re.search(rf"^laptop +a\.txt +5 B +\S.* ago|just now +waiting +in \d+ h +{item['file_id']}$", shown, re.M), shown
    take(agent, item["file_id"], ack=False)
    assert "fetched, not yet acknowledged" in person.run("uploads", "--state", "fetched", "--workspace", agent.id).stdout
    assert person.run("uploads", "--state", "never_fetched", "--workspace", agent.id).stdout == "No file is in this state.\n"
    take(agent, item["file_id"])
    assert "delivered" in person.run("uploads", "--state", "acked", "--workspace", agent.id).stdout
    assert re.search(r"^laptop +- +- +1 \(5 B\)", person.run("uploads", "--stats", "--workspace", agent.id).stdout, re.M)
    assert json.loads(person.run("uploads", "--json", "--workspace", agent.id).stdout)["uploads"] == []
    swept = person.run("sweep")
    assert (swept.returncode, swept.stdout) == (0, "Nothing was due.\n"), swept
    assert "did you mean --state fetched" in person.run("uploads", "--state", "fetchd").stderr
