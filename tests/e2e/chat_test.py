"""`restante send --reply`, `--wait` and `--save`, and `restante chat`, with a real server and real agents."""
import json
import os
import pty
import select
import subprocess
import termios

import pytest

from support.agent import url_of
from support.person import Person, environment
from support.server import Lines
from support.waiting import Deadline, wait_until
from support.workspace import Workspace, multipart

ECHO = """python3 -c 'import json,sys; m=json.load(sys.stdin); print("you wrote: " + m["text"])'"""
CHART = ECHO + """ && printf 'a chart' > "$RESTANTE_RESULT_DIR/chart.txt" """


@pytest.fixture
def person(server, tmp_path):
    return Person(server, tmp_path)


def answer(workspace, text, **more):
    sent = workspace.server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": text, **more})
    assert sent.status == 200, sent


def stage(workspace, *files):
    """Files that the agent sends: [item]."""
    headers, body = multipart(*files)
    staged = workspace.server.request("POST", workspace.path("chat/uploads?direction=out"), token=workspace.token, headers=headers, body=body)
    assert staged.status == 200, staged
    return staged.json()["files"]


def sent_message(workspace):
    """The row of the message, read as the operator: the agent's own poll would ack it."""
    rows = lambda: workspace.server.get(workspace.path("activity?since_seq=0"), token=workspace.server.admin_token).json()
    return wait_until(lambda: next((row for row in rows() if row["method"] == "message/send"), None), "the message")


def test_reply_prints_the_answer_of_a_connected_agent_and_nothing_else(server, workspace, person, connect):
    connect(url_of(server), token=workspace.token, exec_command=ECHO)
    done = person.run("send", "--to", workspace.id, "how are you?", "--reply", "--timeout", 60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "you wrote: how are you?\n", ""), done


def test_reply_takes_the_answer_to_this_message_not_to_another_one(workspace, person):
    sending = person.start("send", "--to", workspace.id, "the second question", "--reply", "--timeout", 60)
    row = sent_message(workspace)
    answer(workspace, "to somebody else", reply_to="01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42")
    answer(workspace, "the second answer", reply_to=row["id"])
    out, error = sending.communicate(timeout=60)
    assert (sending.returncode, out, error) == (0, "the second answer\n", "")


def test_a_message_of_an_agent_that_names_no_question_counts_as_the_answer(workspace, person):
    sending = person.start("send", "--to", workspace.id, "anybody?", "--reply", "--json")
    sent_message(workspace)
    answer(workspace, "yes")
    out, _ = sending.communicate(timeout=60)
    assert json.loads(out)["answer"] == {"text": "yes", "files": []}


def test_no_answer_in_time_is_75_and_the_sentence_says_where_it_will_be(workspace, person):
    done = person.run("send", "--to", workspace.id, "anybody?", "--reply", "--timeout", 1)
    assert (done.returncode, done.stdout) == (75, "")
    assert f"restante chat {workspace.id}" in done.stderr


def test_save_takes_the_files_of_the_answer_and_replaces_none(server, workspace, person, connect, tmp_path):
    connect(url_of(server), token=workspace.token, exec_command=CHART)
    folder = tmp_path / "charts"
    for name in ("chart.txt", "chart-2.txt"):
        done = person.run("send", "--to", workspace.id, "draw", "--reply", "--save", folder, "--timeout", 60)
        assert done.returncode == 0, done
        assert done.stdout.splitlines() == ["you wrote: draw", f"file  {folder / name}"]
        assert (folder / name).read_text() == "a chart"
    assert sorted(os.listdir(folder)) == ["chart-2.txt", "chart.txt"], "nothing unfinished is left"


def test_without_save_the_answer_names_its_files_and_how_to_take_them(workspace, person):
    sending = person.start("send", "--to", workspace.id, "draw", "--reply")
    sent_message(workspace)
    answer(workspace, "here", attachments=stage(workspace, ("chart.png", b"x" * 2048)))
    out, _ = sending.communicate(timeout=60)
    assert out.splitlines() == ["here", "file  chart.png (2.0 KiB), on the server; --save DIR takes it"]


def test_a_file_that_cannot_be_saved_is_said_and_the_exit_code_is_1(workspace, person, tmp_path):
    sending = person.start("send", "--to", workspace.id, "draw", "--reply", "--save", tmp_path / "out")
    sent_message(workspace)
    answer(workspace, "here", attachments=[{"uri": "https://elsewhere.example.org/a", "name": "a.png"}])
    out, _ = sending.communicate(timeout=60)
    assert "a.png was not saved: this server does not keep it" in out
    assert sending.returncode == 1


def test_a_save_folder_that_cannot_be_written_is_refused_before_anything_is_sent(workspace, person, tmp_path):
    (tmp_path / "file").write_text("")
    done = person.run("send", "--to", workspace.id, "draw", "--reply", "--save", tmp_path / "file")
    assert done.returncode == 1 and "--save" in done.stderr
    assert workspace.activity() == []


def test_waiting_with_a_text_alone_ends_when_the_agent_has_taken_it(workspace, person):
    sending = person.start("send", "--to", workspace.id, "hello", "--wait")
    printed = iter(sending.stdout.readline, "")
    assert next(printed) == "The message is sent; waiting for the agent to take it.\n"
    row = sent_message(workspace)
    assert sending.poll() is None
    workspace.activity(since_seq=row["seq"])  # a poll that goes on from there
    assert next(printed) == "The agent has taken the message.\n"
    assert sending.wait(60) == 0


def test_a_text_that_nobody_takes_is_75(workspace, person):
    done = person.run("send", "--to", workspace.id, "hello", "--wait", "--timeout", 1)
    assert done.returncode == 75 and "has not taken the message" in done.stderr


def test_an_agents_own_token_is_refused_with_what_to_use_instead(server, workspace, tmp_path):
    other = Workspace(server, "other")
    (tmp_path / "agent").mkdir()
    done = Person(server, tmp_path / "agent", token=workspace.token).run("send", "--to", other.id, "hello", "--reply")
    assert done.returncode == 77 and "restante delegate --wait" in done.stderr
    assert other.activity() == []


# -- restante chat


class Chat:
    """A `restante chat` whose stdin stays open."""

    def __init__(self, person, *args):
        self.process = subprocess.Popen(person.command("chat", *args), env=environment(), cwd=person.folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = Lines(self.process.stdout)

    def type(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, text):
        return self.lines.wait(lambda line: text.encode() in line, text)

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(60)
        self.lines.join()
        return code


def test_a_chat_shows_what_was_before_and_answers_as_they_come(server, person, connect):
    workspace = Workspace(server, "Laptop of the chat")
    answer(workspace, "an earlier message")
    connect(url_of(server), token=workspace.token, exec_command=ECHO)
    chat = Chat(person, "Laptop of the chat")
    chat.wait("Laptop of the chat: an earlier message")
    chat.type("good morning")
    chat.wait("Laptop of the chat: you wrote: good morning")
    chat.type("//slash")
    chat.wait("you wrote: /slash")
    assert chat.end() == 0


def test_a_chat_sends_files_and_saves_those_that_come(server, workspace, person, connect, tmp_path):
    connect(url_of(server), token=workspace.token, exec_command=CHART)
    person.file("my notes.txt", b"some notes")
    chat = Chat(person, workspace.id, "--save", "taken")
    chat.type("/file 'my notes.txt' read this")
    chat.wait("has taken my_notes.txt")
    chat.wait("you wrote: read this")
    chat.wait(str(tmp_path / "taken" / "chart.txt"))
    chat.type("/save again")
    chat.wait(str(tmp_path / "again" / "chart.txt"))
    assert (tmp_path / "again" / "chart.txt").read_text() == "a chart"
    chat.type("/file nothing-there.txt")
    chat.wait("not sent: --file")
    chat.type("/what")
    chat.wait("There is no command /what")
    assert chat.end() == 1, "a script learns that something was not sent"


def test_a_chat_goes_on_after_the_server_was_away(start, tmp_path):
    server = start({})
    workspace = Workspace(server)
    chat = Chat(Person(server, tmp_path), workspace.id)
    chat.wait("/help shows the commands")
    port, data = server.port, server.data
    server.stop()
    chat.wait("no answer from")
    server = start({}, data=data, listen=(f"127.0.0.1:{port}",))
    chat.wait("(connected again)")
    answer(workspace.on(server), "still here")
    chat.wait("still here")
    assert chat.end() == 0


def test_a_line_that_is_being_typed_survives_a_message_that_comes(server, workspace, person):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(person.folder)
        os.execve(person.command("chat", workspace.id)[0], person.command("chat", workspace.id), environment())
    seen = b""

    def wait(text, start=0):
        nonlocal seen
        deadline = Deadline()
        while text not in seen[start:]:
            assert select.select([terminal], [], [], deadline.left())[0], seen
            seen += os.read(terminal, 4096)
        return len(seen)

    wait(b"Ctrl-D ends.")
    assert termios.tcgetattr(terminal)[1] & termios.OPOST, "the terminal still begins a line at its left end"
    os.write(terminal, "half a séntence".encode())
    at = wait("half a séntence".encode())
    answer(workspace, "an interruption")
    at = wait(b"an interruption", at - 1)
    wait("> half a séntence".encode(), at - 20)
    os.write(terminal, b" and the rest\r")
    wait(": half a séntence and the rest".encode())
    row = sent_message(workspace)
    assert row["request_body"]["params"]["message"]["parts"] == [{"kind": "text", "text": "half a séntence and the rest"}]
    os.write(terminal, b"\x04")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)
