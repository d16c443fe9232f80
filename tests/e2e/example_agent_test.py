"""examples/echo_agent.cpp: a separate program that uses the agent library."""
import os
import signal
import subprocess
from pathlib import Path

from support.agent import send, url_of
from support.server import Lines, binary
from support.waiting import wait_until

PROGRAM = Path(binary()).parent / "examples" / "echo_agent"


def test_the_example_answers_with_the_text_and_the_files(workspace, tmp_path):
    program = os.environ.get("RESTANTE_EXAMPLE", str(PROGRAM))
    # Before the agent starts: it would hand the file over alone if its message did not arrive within a second.
    (file_id, item), = workspace.upload(("a.txt", b"hello"))
    send(workspace, "look", item["uri"])
    agent = subprocess.Popen([program, url_of(workspace.server), workspace.token, str(tmp_path / "state"), str(tmp_path / "files")],
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    stderr = Lines(agent.stderr)
    try:
        stderr.wait(lambda line: b"connected to" in line, "connected")
        path = tmp_path / "files" / ".molecule" / "chat-uploads" / (file_id.replace("-", "") + "-a.txt")
        wait_until(lambda: workspace.messages() == [f"You said: look\na.txt: {path}"], "the answer")
        assert path.read_bytes() == b"hello"
    finally:
        agent.send_signal(signal.SIGTERM)
        code = agent.wait(60)
        stderr.join()
        agent.stderr.close()
    assert code == 0
