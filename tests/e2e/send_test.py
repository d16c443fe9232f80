"""`restante send`, `uploads` and `sweep` with a real server: the output for a person, the JSON for a script, and connections that
break in the middle."""
import json
import os
import pty
import re
import select
import socket
import subprocess
import termios
import threading

import pytest

from support.workspace import Workspace, multipart
from support.person import Person, environment
from support.ports import free_port
from support.push import Callback, PushWorkspace, allowing
from support.waiting import Deadline, wait_until

# A requested sweep is refused while another one runs.
SETTINGS = {"uploads.per_file_bytes": 3000000, "uploads.max_files": 3, "uploads.sweep_every": "24h"}


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
        acknowledge(agent, file_id)
    return content.body


def acknowledge(agent, file_id):
    """Without a fetch, because a watcher may see the fetched state in between, or not."""
    acked = agent.server.request("POST", agent.path(f"pending-uploads/{file_id}/ack"), token=agent.token)
    assert acked.json() == {"acked": True}, acked


def waiting(agent):
    return agent.server.get(agent.path("pending-uploads"), token=agent.token).json()


def test_text_and_files_reach_the_inbox_and_the_message_names_them(server, person):
    agent = Workspace(server, "the only laptop of that name")
    files = ["--file", person.file("a b.txt", b"hello"), "--file", person.file("c.pdf", b"%PDF")]
    done = person.run("send", "--to", "the only laptop of that name", *files, "have a look")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == "2 files (9 B) are kept for the agent until it asks; with --wait you see them being taken.\n"
    rows = agent.activity()
    assert [row["method"] for row in rows] == ["chat_upload_receive", "chat_upload_receive", "message/send"]
    parts = rows[2]["request_body"]["params"]["message"]["parts"]
    assert parts[0] == {"kind": "text", "text": "have a look"}
    assert [(p["file"]["name"], p["file"]["mimeType"]) for p in parts[1:]] == [("a_b.txt", "text/plain"), ("c.pdf", "application/pdf")]
    assert [p["file"]["uri"] for p in parts[1:]] == [row["request_body"]["uri"] for row in rows[:2]]
    assert take(agent, rows[0]["request_body"]["file_id"]) == b"hello"


@pytest.mark.bytes
def test_wait_prints_every_step_and_delivered_only_after_the_ack(agent, person):
    sending = person.start("send", "--to", agent.id, "--file", person.file("a.txt", b"hello" * 9000), "--wait")
    wait_until(lambda: waiting(agent), "the file waits")
    file_id = waiting(agent)[0]["file_id"]
    printed = iter(sending.stdout.readline, "")
    assert "waiting for the agent to take it" in next(printed)
    assert re.fullmatch(r"a\.txt +waiting\n", next(printed))
    take(agent, file_id, ack=False)
    assert re.fullmatch(r"a\.txt +fetched, not yet acknowledged\n", next(printed))
    take(agent, file_id)
    assert re.fullmatch(r"a\.txt +delivered\n", next(printed))
    assert sending.wait(Deadline().left()) == 0


def test_wait_fails_with_the_agents_reason(agent, person):
    sending = person.start("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"), "--wait")
    wait_until(lambda: waiting(agent), "the file waits")
    file_id = waiting(agent)[0]["file_id"]
    failed = agent.server.request("POST", agent.path(f"pending-uploads/{file_id}/fail"), token=agent.token, json_body={"reason": "disk full"})
    assert failed.status == 200, failed
    out, _ = sending.communicate(timeout=60)
    assert "failed: disk full" in out and "delivered" not in out
    assert sending.returncode == 1


def test_wait_gives_up_in_time_and_prints_that_the_file_stays(agent, person):
    done = person.run("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"), "--wait", "--timeout", 1)
    assert done.returncode == 75
    assert "stays there" in done.stderr
    assert len(waiting(agent)) == 1


def test_wait_follows_every_file_to_its_own_end(agent, person):
    files = [person.file(name, b"hello") for name in ("a.txt", "b.txt", "c.txt")]
    sending = person.start("send", "--to", agent.id, "--wait", "--timeout", 2**63 - 1, *[word for file in files for word in ("--file", file)])
    printed = iter(sending.stdout.readline, "")
    assert "3 files (15 B) sent; waiting for the agent to take them." in next(printed)
    assert [next(printed).split() for _ in files] == [[name, "waiting"] for name in ("a.txt", "b.txt", "c.txt")]
    first, second, third = [item["file_id"] for item in waiting(agent)]
    acknowledge(agent, second)
    assert next(printed).split() == ["b.txt", "delivered"]
    recalled = agent.server.request("DELETE", agent.path(f"pending-uploads/{first}"), token=agent.server.admin_token)
    assert recalled.json() == {"recalled": True}
    assert next(printed).split() == ["a.txt", "recalled"]
    acknowledge(agent, third)
    assert next(printed).split() == ["c.txt", "delivered"]
    assert sending.wait(Deadline().left()) == 1, "not everything was delivered"


@pytest.mark.bytes
def test_wait_ends_when_a_file_expires(start, tmp_path):
    server = start({"uploads.ttl": "4s", "uploads.ack_retention": "1s"})
    person = Person(server, tmp_path)
    done = person.run("send", "--to", Workspace(server, "offline").id, "--file", person.file("a.txt", b"hello" * 9000), "--wait")
    assert done.returncode == 1 and "expired before the agent took it" in done.stdout, done


def test_a_message_alone_is_kept_too(agent, person):
    done = person.run("send", "--to", agent.id, "just words")
    assert (done.returncode, done.stdout) == (0, "The message is kept for the agent and will be there when it asks.\n"), done
    assert [row["method"] for row in agent.activity()] == ["message/send"]


def test_a_file_that_the_callback_accepts_at_once_is_not_waited_for(start, tmp_path):
    """A push workspace: the callback may give the files any names and answer a message with an empty body."""
    def answer(connection, request):
        body = b'{"files":[{"uri":"workspace:/inbox/a.txt","name":"a.txt"}]}' if b"/ingest " in request[:200] else b""
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    with Callback(answer) as callback:
        server = start(allowing(callback.port))
        agent = PushWorkspace(server, callback.url())
        person = Person(server, tmp_path)
        done = person.run("send", "--to", agent.id, "hi", "--file", person.file("a.txt", b"hello"), "--wait", "--json")
    assert done.returncode == 0, done
    output = json.loads(done.stdout)
    assert (output["files"], output["message"]) == ([{"uri": "workspace:/inbox/a.txt", "name": "a.txt"}], None)


def test_wait_survives_a_restart_of_the_server_and_reports_it_once(start, tmp_path):
    address = f"127.0.0.1:{free_port()}"
    first = start(listen=(address,))
    agent, person = Workspace(first, "laptop"), Person(first, tmp_path)
    sending = person.start("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"), "--wait")
    assert "waiting for the agent to take it" in sending.stdout.readline()
    assert sending.stdout.readline().split() == ["a.txt", "waiting"]
    first.stop()
    assert "waiting goes on, and the server is asked again until it answers" in sending.stderr.readline()
    agent = agent.on(start(data=first.data, listen=(address,)))
    take(agent, waiting(agent)[0]["file_id"])
    out, err = sending.communicate(timeout=120)
    assert (sending.returncode, err) == (0, ""), (out, err)
    assert out.splitlines()[-1].split() == ["a.txt", "delivered"]


def test_a_server_that_stays_down_ends_the_wait_in_time_and_json_names_the_sent_files(start, tmp_path):
    server = start()
    agent, person = Workspace(server, "laptop"), Person(server, tmp_path)
    sending = person.start("send", "--to", agent.id, "hi", "--file", person.file("a.txt", b"hello"), "--wait", "--json", "--timeout", 5)
    wait_until(lambda: any(row["method"] == "message/send" for row in agent.activity()), "all is sent")
    file_id = waiting(agent)[0]["file_id"]
    server.stop()
    out, err = sending.communicate(timeout=120)
    assert sending.returncode == 75 and "stays there" in err, (out, err)
    output = json.loads(out)
    assert output["message"]["status"] == "queued" and [item["uri"] for item in output["files"]] == [f"platform-pending:{agent.id}/{file_id}"]


def test_a_wait_that_is_refused_ends_at_once_and_json_still_names_the_sent_files(server, agent, tmp_path):
    invited = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "sender", "workspace_id": agent.id}).json()
    ada = Person(server, tmp_path, invited["token"])
    sending = ada.start("send", "--file", ada.file("a.txt", b"hello"), "--wait", "--json")
    wait_until(lambda: any(row["method"] == "message/send" for row in agent.activity()), "all is sent")
    revoked = server.request("DELETE", agent.path(f"tokens/{invited['token_id']}"), token=server.admin_token)
    assert revoked.status == 200, revoked
    out, err = sending.communicate(timeout=120)
    assert sending.returncode == 77, (out, err)
    assert [item["name"] for item in json.loads(out)["files"]] == ["a.txt"]


def test_json_names_the_files_of_a_message_that_was_refused(tmp_path):
    uri = f"platform-pending:{AGENT_ID}/0196f0c0-0000-7000-8000-00000000000b"
    with OtherServer({"/uploads/limits": [{}], "/chat/uploads": [{"files": [{"uri": uri}]}], "/a2a": [400, 400, {}], "/pending-uploads/": [400]}) as other:
        person = Person(None, tmp_path, token="t", port=other.port)
        done = person.run("send", "--to", AGENT_ID, "hi", "--file", person.file("a.txt", b"hello"), "--json")
        without_files = person.run("send", "--to", AGENT_ID, "hi", "--json")
        unseen = person.run("send", "--to", AGENT_ID, "hi", "--file", person.file("a.txt", b"hello"), "--wait", "--json")
    assert done.returncode == 1 and json.loads(done.stdout) == {"workspace_id": AGENT_ID, "files": [{"uri": uri}], "message": None}, done
    assert (without_files.returncode, without_files.stdout) == (1, ""), without_files
    assert unseen.returncode == 1 and json.loads(unseen.stdout) == {"workspace_id": AGENT_ID, "files": [{"uri": uri}], "message": {}}, unseen


class OtherServer(Callback):
    """A fake server: chooses the answer by a text in the request line, and repeats the last answer of a list; a number is a status
    instead of a body."""

    def __init__(self, answers):
        self.answers = {what: list(bodies) for what, bodies in answers.items()}
        super().__init__(self.answer)

    def receive(self, connection):
        data, size = b"", None
        while size is None or len(data) < size:
            piece = connection.recv(65536)
            if not piece:
                return b""
            data += piece
            if size is None and b"\r\n\r\n" in data:
                length = re.search(rb"(?i)\r\ncontent-length: *([0-9]+)", data)
                size = data.index(b"\r\n\r\n") + 4 + int(length[1] if length else 0)
        return data

    def answer(self, connection, request):
        line = request.split(b"\r\n")[0].decode()
        bodies = next(bodies for what, bodies in self.answers.items() if what in line)
        chosen = bodies.pop(0) if len(bodies) > 1 else bodies[0]
        status = chosen if isinstance(chosen, int) else 200
        body = json.dumps(chosen).encode()
        connection.sendall(b"HTTP/1.1 %d Text\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                           % (status, len(body), body))


AGENT_ID = "0196f0c0-0000-7000-8000-00000000000a"


@pytest.mark.parametrize("answered", [{}, {"files": 7}, {"files": []}], ids=["nothing", "no list", "fewer"])
def test_an_upload_whose_answer_names_other_files_is_not_reported_as_sent(tmp_path, answered):
    with OtherServer({"/uploads/limits": [{}], "/chat/uploads": [answered]}) as other:
        person = Person(None, tmp_path, token="t", port=other.port)
        done = person.run("send", "--to", AGENT_ID, "hi", "--file", person.file("a.txt", b"hello"))
    assert done.returncode == 1 and "names other files than were sent" in done.stderr, done
    assert not any(b"/a2a" in request[:100] for request in other.requests), "the message is not sent without its files"


def test_a_missing_answer_does_not_end_the_wait(tmp_path):
    uri = f"platform-pending:{AGENT_ID}/0196f0c0-0000-7000-8000-00000000000b"
    states = [{"state": state, "name": "a.txt"} for state in ("staged", "staged", "staged", "fetched", "acked")]
    answers = {"/uploads/limits": [{}], "/chat/uploads": [{"files": [{"uri": uri}]}, {"files": [{"uri": "platform-pending:"}]}],
               "/a2a": [{}], "/pending-uploads/": [503, *states]}
    with OtherServer(answers) as other:
        person = Person(None, tmp_path, token="t", port=other.port)
        files = ["--file", person.file("a.txt", b"hello"), "--file", person.file("b.txt", b"hello")]
        for away in (True, False):
            done = person.run("send", "--to", AGENT_ID, *files, "--wait")
            assert done.returncode == 0 and "delivered" in done.stdout, done
            assert ("waiting goes on" in done.stderr) == away, done
            other.answers["/chat/uploads"] = [{"files": [{"uri": uri}]}]
            other.answers["/pending-uploads/"] = [{"state": "acked", "name": "a.txt"}]


def test_waiting_with_the_agents_own_token_reads_nothing_of_its_inbox(server, agent, tmp_path):
    """Files that wait for an agent are not picked up by a person who sends with the agent's token and waits."""
    agent.notify("before")
    own = Person(server, tmp_path, token=agent.token)
    done = own.run("send", "hi", "--file", own.file("a.txt", b"hello"), "--wait", "--timeout", 1)
    assert done.returncode == 75 and "stays there" in done.stderr, done
    # Another workspace polls afterwards: when that poll is recorded, a poll of the first one would be recorded, too.
    other = Workspace(server, "other")
    other.notify("read me")
    last = other.activity()[-1]["seq"]
    assert server.get(other.path(f"activity?since_seq={last}"), token=other.token).status == 200
    seen = lambda workspace: server.get(f"/workspaces/{workspace.id}", token=server.admin_token).json()
    wait_until(lambda: seen(other)["last_poll_at"], "the poll is recorded")
    assert (seen(agent)["status"], seen(agent)["last_poll_at"]) == ("awaiting_agent", None)


def test_json_is_one_object_with_the_state_of_each_file(agent, person):
    sending = person.start("send", "--to", agent.id, "hi", "--file", person.file("a.txt", b"hello"), "--wait", "--json")
    wait_until(lambda: waiting(agent), "the file waits")
    take(agent, waiting(agent)[0]["file_id"])
    out, err = sending.communicate(timeout=60)
    output = json.loads(out)
    assert (output["workspace_id"], output["message"]["status"], err) == (agent.id, "queued", "")
    assert [(f["name"], f["state"], f["size"]) for f in output["files"]] == [("a.txt", "acked", 5)]


def test_a_sender_needs_no_name_and_can_wait_too(server, agent, tmp_path):
    invited = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "sender", "workspace_id": agent.id})
    ada = Person(server, tmp_path, invited.json()["token"])
    sending = ada.start("send", "hello from Ada", "--file", ada.file("a.txt", b"hello"), "--wait")
    wait_until(lambda: waiting(agent), "the file waits")
    take(agent, waiting(agent)[0]["file_id"])
    out, err = sending.communicate(timeout=60)
    assert (sending.returncode, err) == (0, ""), (out, err)
    assert "delivered" in out


def test_more_files_than_one_request_may_have_are_sent_in_several(agent, person):
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
def test_a_file_that_cannot_be_sent_is_named_before_anything_is_sent(agent, person, name, size, sentence):
    done = person.run("send", "--to", agent.id, "hi", "--file", person.file("fine.txt", b"fine"), "--file", person.file(name, bytes(size)))
    assert done.returncode == 1 and sentence in done.stderr, done
    assert agent.activity() == []


def test_without_anything_to_send_it_prints_what_is_missing(person, agent):
    done = person.run("send", "--to", agent.id)
    assert done.returncode == 64 and "--file" in done.stderr
    done = person.run("send", "hello")
    assert done.returncode == 64 and "--to" in done.stderr


class CuttingProxy:
    """Passes bytes to the server and cuts the first connection that has passed `allow` bytes, once."""

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


@pytest.mark.bytes
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


class Terminal:
    """A command on a terminal with so many columns; 0: an unknown number."""

    def __init__(self, command, columns=0):
        self._parent, child = pty.openpty()
        termios.tcsetwinsize(child, (24, columns))
        self.process = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, stdout=child, stderr=child)
        os.close(child)

    def to_end(self):
        """All its output, after it has ended with success."""
        seen = b""
        while True:
            try:
                piece = os.read(self._parent, 65536)
            except OSError:
                piece = b""
            if not piece:
                os.close(self._parent)
                assert self.process.wait(60) == 0, seen
                return seen
            seen += piece


def test_on_a_terminal_the_progress_is_drawn(agent, person):
    path = person.file("a.bin", os.urandom(2000000))
    seen = Terminal(person.command("send", "--to", agent.id, "--file", path)).to_end()
    assert re.search(rb"\[=+\] 100 %  1\.9 MiB of 1\.9 MiB  \S+ [KMG]iB/s", seen), seen


def test_on_a_narrow_terminal_the_progress_fits(agent, person):
    path = person.file("a.bin", os.urandom(2000000))
    seen = Terminal(person.command("send", "--to", agent.id, "--file", path), columns=24).to_end()
    drawn = [line for line in re.split(rb"[\r\n]+", seen.replace(b"\x1b[K", b"")) if b" %  " in line]
    assert drawn and all(len(line) < 24 for line in drawn), seen
    assert drawn[-1].startswith(b"100 %  1.9 MiB of"), seen


def test_on_a_terminal_states_have_colours(agent, person):
    shown = Terminal(person.command("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"), "--wait"))
    wait_until(lambda: waiting(agent), "the file waits")
    take(agent, waiting(agent)[0]["file_id"])
    assert b"\x1b[32mdelivered\x1b[0m" in shown.to_end()
    listed = Terminal(person.command("uploads", "--workspace", agent.id, "--state", "acked")).to_end()
    assert b"\x1b[32mdelivered\x1b[0m" in listed, listed


def test_uploads_shows_waiting_files_and_sweep_deletes_due_ones(agent, person):
    assert person.run("uploads", "--workspace", agent.id).stdout == "No file is in this state.\n"
    person.run("send", "--to", agent.id, "--file", person.file("a.txt", b"hello"))
    (item,) = waiting(agent)
    shown = person.run("uploads", "--workspace", agent.id).stdout
    assert re.search(rf"^laptop +a\.txt +5 B +\S.* ago|just now +waiting +in \d+ h +{item['file_id']}$", shown, re.M), shown
    take(agent, item["file_id"], ack=False)
    state = lambda: agent.server.get(agent.path(f"pending-uploads/{item['file_id']}"), token=agent.token).json()
    wait_until(lambda: state()["fetched_at"], "the fetch is stored")
    assert "fetched, not yet acknowledged" in person.run("uploads", "--state", "fetched", "--workspace", agent.id).stdout
    assert person.run("uploads", "--state", "never_fetched", "--workspace", agent.id).stdout == "No file is in this state.\n"
    take(agent, item["file_id"])
    assert "delivered" in person.run("uploads", "--state", "acked", "--workspace", agent.id).stdout
    assert re.search(r"^laptop +- +- +1 \(5 B\)", person.run("uploads", "--stats", "--workspace", agent.id).stdout, re.M)
    assert json.loads(person.run("uploads", "--json", "--workspace", agent.id).stdout)["uploads"] == []
    assert person.run("uploads", "--state", "expired", "--workspace", agent.id).stdout == "No file is in this state.\n"
    fields, body = multipart(("out.txt", b"mine"))
    agent.server.request("POST", agent.path("chat/uploads?direction=out"), token=agent.token, headers=fields, body=body)
    assert re.search(r"^laptop +out\.txt +4 B .* from the agent ", person.run("uploads", "--state", "outgoing", "--workspace", agent.id).stdout, re.M)
    wait_until(lambda: agent.server.metric("restante_sweep_duration_seconds_count"), "the sweep at start is over")
    swept = person.run("sweep")
    assert (swept.returncode, swept.stdout) == (0, "Nothing was due.\n"), swept
    assert json.loads(person.run("sweep", "--json").stdout)["acked"] == 0
    assert "did you mean --state fetched" in person.run("uploads", "--state", "fetchd").stderr
    assert "--state is one of waiting, never_fetched" in person.run("uploads", "--state", "xyzzy").stderr


def test_a_script_is_warned_when_one_answer_does_not_contain_all_files(tmp_path):
    with OtherServer({"/admin/uploads?limit=1000&state=all": [{"count": 1000, "uploads": []}, {"count": 999, "uploads": []}],
                      "/admin/uploads/stats": [{"count": 1000}]}) as other:
        person = Person(None, tmp_path, token="t", port=other.port)
        full, short = (person.run("uploads", "--state", "all", "--json") for _ in range(2))
        stats = person.run("uploads", "--stats", "--json")
    assert "these are the first 1000; --workspace and --state narrow it down" in full.stderr, full
    assert json.loads(full.stdout)["count"] == 1000 and (short.stderr, stats.stderr) == ("", "")
