"""The pollers of docs/agents.md, run as they are printed there."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.agent import pending, send, url_of
from support.desk import Workspace
from support.server import Lines
from support.waiting import wait_until

PAGE = (Path(os.environ["RESTANTE_SOURCE"]) / "docs" / "agents.md").read_text()


def block(language):
    """The one block of that language which is a whole program."""
    found = [text for text in re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S) if len(text.splitlines()) > 10]
    assert len(found) == 1
    return found[0]


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
