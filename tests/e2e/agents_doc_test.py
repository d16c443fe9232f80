"""docs/agents.md, followed by somebody who knows nothing else: its lines are pasted as they are printed there."""
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from support.agent import pending, send, url_of
from support.desk import Workspace
from support.server import Lines, binary
from support.waiting import wait_until

PAGE = (Path(os.environ["RESTANTE_SOURCE"]) / "docs" / "agents.md").read_text()


def block(language):
    """The one block of that language which is a whole program."""
    found = [text for text in re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S) if len(text.splitlines()) > 10]
    assert len(found) == 1
    return found[0]


class Shell:
    """A terminal: somebody's home, and what their PATH has."""

    def __init__(self, home, path="", **environment):
        self.home = home
        self.environment = {"PATH": f"{path}:/usr/bin:/bin", "HOME": str(home), **environment}

    def run(self, line):
        return subprocess.run(["sh", "-c", line], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=False)

    def start(self, line):
        """The last command of the line in the foreground: (process, stdout, stderr)."""
        line = line.replace("./restante connect", "exec ./restante connect")
        process = subprocess.Popen(["sh", "-c", line], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return process, Lines(process.stdout), Lines(process.stderr)


def end(process, *readers):
    """Ctrl-C; the exit code."""
    process.send_signal(signal.SIGINT)
    code = process.wait(60)
    for reader, pipe in zip(readers, (process.stdout, process.stderr)):
        reader.join()
        pipe.close()
    return code


def test_a_stranger_who_pastes_the_lines_of_the_page_has_an_agent_connected(start, tmp_path):
    server = start()
    programs, office, laptop = tmp_path / "bin", tmp_path / "office", tmp_path / "laptop"
    for folder in (programs, office, laptop):
        folder.mkdir()
    (programs / "restante").symlink_to(binary())
    operator = Shell(office, str(programs), RESTANTE_URL=url_of(server), RESTANTE_DATA=str(server.data))
    stranger = Shell(laptop)
    create, = re.findall(r"^1\. (?:.*\n)??.*?`(restante workspace create '[^']+')`", PAGE, re.M)
    shown = operator.run(create)
    assert shown.returncode == 0, shown
    printed = [line.strip() for line in shown.stdout.splitlines() if "connect --url" in line]
    assert len(printed) == 2 and printed[1].startswith("restante connect"), shown.stdout
    documented, = re.findall(r"^ +(curl -fsSL .* --enrol TOKEN)$", PAGE, re.M)
    shape = re.escape(documented).replace(re.escape("https://post.example.org"), re.escape(url_of(server))).replace("TOKEN", "[A-Za-z0-9_-]{43}")
    assert re.fullmatch(shape.replace("linux\\-x86_64", r"linux\-\w+"), printed[0]), (printed[0], documented)

    agent, lines, said = stranger.start(printed[0])
    said.wait(lambda line: b"connected to " in line, "connected")
    (office / "a.pdf").write_bytes(b"%PDF")
    sent = operator.run("restante send --to 'Research laptop' 'Please read this' --file a.pdf")
    assert sent.returncode == 0, sent
    lines.wait(lambda line: b"Please read this" in line, "the message as a line")
    assert [path.read_bytes() for path in (laptop / ".molecule/chat-uploads").iterdir()] == [b"%PDF"]
    for command, wanted in (("./restante doctor", "\nEverything works.\n"), ("./restante status", "connected")):
        assert f"`{command}`" in PAGE
        done = stranger.run(command)
        assert done.returncode == 0 and wanted in done.stdout, done
    assert end(agent, lines, said) == 0
    assert stranger.run("./restante status").returncode == 1

    assert "`./restante connect` is enough" in PAGE
    agent, lines, said = stranger.start("./restante connect")
    said.wait(lambda line: b"connected to " in line, "connected again")
    assert end(agent, lines, said) == 0


class Poller:
    def __init__(self, command, folder, workspace):
        environment = {"PATH": os.environ["PATH"], "RESTANTE_URL": url_of(workspace.server), "RESTANTE_TOKEN": workspace.token,
                       "RESTANTE_DIR": str(folder), "RESTANTE_STATE": str(folder / "poller.state"), "ME": workspace.id}
        self.process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        self.lines = Lines(self.process.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, 9)
        self.process.wait(60)
        self.lines.join()
        self.process.stdout.close()


def landed(folder):
    return {path.name[33:]: path.read_bytes() for path in (folder / ".molecule" / "chat-uploads").iterdir()}


def test_the_python_poller_lands_files_answers_and_goes_on_after_a_restart(start, tmp_path):
    server = start()
    workspace = Workspace(server)
    program = tmp_path / "poller.py"
    program.write_text(block("python"))
    command = ["/usr/bin/python3", str(program)]
    content = os.urandom(200_000)
    with Poller(command, tmp_path, workspace) as poller:
        (_, item), = workspace.upload(("a report.pdf", content))
        send(workspace, "read this", item["uri"])
        said = poller.lines.wait(lambda line: line.startswith(b"message: read this"), "the message").decode()
        assert str(tmp_path) in said and "a_report.pdf" in said
        answers = lambda: [m["content"] for m in server.get(workspace.path("chat-history"), token=server.admin_token).json()["messages"]]
        wait_until(lambda: "Got 'read this' and 1 file(s)." in answers(), "the answer")
        wait_until(lambda: json.loads((tmp_path / "poller.state").read_text())["cursor"] >= 2, "it is written down")
    assert landed(tmp_path) == {"a_report.pdf": content}
    assert pending(workspace) == []
    with Poller(command, tmp_path, workspace) as poller:
        send(workspace, "and this")
        assert poller.lines.wait(lambda line: line.startswith(b"message:"), "the next message").startswith(b"message: and this")


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
def test_the_shell_poller_lands_files_and_goes_on_after_a_restart(start, tmp_path):
    workspace = Workspace(start())
    program = tmp_path / "poller.sh"
    program.write_text(block("sh"))
    with Poller(["sh", str(program)], tmp_path, workspace) as poller:
        (_, item), = workspace.upload(("a.txt", b"hello"))
        send(workspace, "good morning")
        poller.lines.wait(lambda line: line == b"message: good morning", "the message")
    assert landed(tmp_path) == {"a.txt": b"hello"}
    assert pending(workspace) == []
