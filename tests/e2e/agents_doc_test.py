"""docs/agents.md works for a reader who knows nothing else: the tests run its commands and programs as they are printed there."""
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from support.agent import pending, send, url_of
from support.workspace import Workspace
from support.server import Lines, binary
from support.waiting import CEILING, wait_until

PAGE = (Path(os.environ["RESTANTE_SOURCE"]) / "docs" / "agents.md").read_text()


def block(language):
    """The one code block of that language that is a whole program."""
    found = [text for text in re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S) if len(text.splitlines()) > 10]
    assert len(found) == 1
    return found[0]


class Shell:
    """A terminal with its own home directory and PATH."""

    def __init__(self, home, path="", **environment):
        self.home = home
        self.environment = {"PATH": f"{path}:/usr/bin:/bin", "HOME": str(home), **environment}

    def run(self, line):
        return subprocess.run(["sh", "-c", line], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=False)

    def start(self, line):
        """Runs the line with its last command in the foreground: (process, stdout, stderr)."""
        line = re.sub(r"(\./restante connect|sh restante-install\.sh)", r"exec \1", line)
        process = subprocess.Popen(["sh", "-c", line], cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return process, Lines(process.stdout), Lines(process.stderr)


def end(process, *readers):
    """Sends Ctrl-C and returns the exit code."""
    process.send_signal(signal.SIGINT)
    code = process.wait(60)
    for reader, pipe in zip(readers, (process.stdout, process.stderr)):
        reader.join()
        pipe.close()
    return code


def test_a_new_user_who_pastes_the_commands_of_the_page_gets_a_connected_agent(start, tmp_path):
    server = start()
    programs, operator_home, laptop = tmp_path / "bin", tmp_path / "operator", tmp_path / "laptop"
    for folder in (programs, operator_home, laptop):
        folder.mkdir()
    (programs / "restante").symlink_to(binary())
    operator = Shell(operator_home, str(programs), RESTANTE_URL=url_of(server), RESTANTE_DATA=str(server.data))
    new_user = Shell(laptop)
    create, = re.findall(r"^1\. (?:.*\n)??.*?`(restante workspace create '[^']+')`", PAGE, re.M)
    shown = operator.run(create)
    assert shown.returncode == 0, shown
    printed = [line.strip() for line in shown.stdout.splitlines() if " --enrol " in line]
    assert len(printed) == 2 and printed[1].startswith("restante connect"), shown.stdout
    documented, = re.findall(r"^ +(curl -fsSL .* --enrol TOKEN)$", PAGE, re.M)
    shape = re.escape(documented).replace(re.escape("https://post.example.org"), re.escape(url_of(server)))
    shape = shape.replace("TOKEN", "[A-Za-z0-9_-]{43}").replace("SHA256", "[0-9a-f]{64}")
    assert re.fullmatch(shape, printed[0]), (printed[0], documented)

    agent, lines, stderr = new_user.start(printed[0])
    stderr.wait(lambda line: b"connected to " in line, "connected")
    (operator_home / "a.pdf").write_bytes(b"%PDF")
    sent = operator.run("restante send --to 'Research laptop' 'Please read this' --file a.pdf")
    assert sent.returncode == 0, sent
    lines.wait(lambda line: b"Please read this" in line, "the message as a line")
    assert [path.read_bytes() for path in (laptop / ".molecule/chat-uploads").iterdir()] == [b"%PDF"]
    for command, wanted in (("./restante doctor", "\nEverything works.\n"), ("./restante status", "connected")):
        assert f"`{command}`" in PAGE
        done = new_user.run(command)
        assert done.returncode == 0 and wanted in done.stdout, done
    assert end(agent, lines, stderr) == 0
    assert new_user.run("./restante status").returncode == 1

    assert "`./restante connect` is enough" in PAGE
    agent, lines, stderr = new_user.start("./restante connect")
    stderr.wait(lambda line: b"connected to " in line, "connected again")
    assert end(agent, lines, stderr) == 0


class Poller:
    """One of the two programs of the page, in a folder that remains when it ends. `path` comes before the PATH."""

    def __init__(self, language, folder, workspace, url=None, path=None):
        program = folder / ("poller.py" if language == "python" else "poller.sh")
        program.write_text(block(language))
        command = ["/usr/bin/python3" if language == "python" else "/bin/sh", str(program)]
        environment = {"PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"], "RESTANTE_URL": url or url_of(workspace.server),
                       "RESTANTE_TOKEN": workspace.token, "RESTANTE_DIR": str(folder), "RESTANTE_STATE": str(folder / "poller.state"),
                       "ME": workspace.id, "PYTHONUTF8": "1"}
        self.process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)
        self.lines, self.stderr = Lines(self.process.stdout), Lines(self.process.stderr)

    def wait_message(self, text, ceiling=None):
        return self.lines.wait(lambda line: line.startswith(b"message: " + text.encode()), f"message {text!r}", ceiling).decode()

    def text(self):
        return b"\n".join(self.lines()).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, 9)
        self.process.wait(60)
        for reader, pipe in ((self.lines, self.process.stdout), (self.stderr, self.process.stderr)):
            reader.join()
            pipe.close()


def landed(folder):
    return {path.name[33:]: path.read_bytes() for path in (folder / ".molecule" / "chat-uploads").iterdir()}


def cursor(folder):
    """The cursor that the poller has written to its file."""
    state = folder / "poller.state"
    text = state.read_text() if state.exists() else ""
    return json.loads(text)["cursor"] if text.startswith("{") else text.strip().removeprefix("since_id=")


ODD = ["two\nlines\n\nand a blank one", 'a "quoted" word and \'another\'', "C:\\new\\table \\0 \\x41 \\\\", "Größe: 3 µm, 漢字 😀",
       "100 % %s %d $HOME `id` $(id) *", "-n", "\ttabs\tand  spaces "]


def last_row(workspace):
    """The cursor after the last row of the inbox."""
    return [row["id"] for row in workspace.activity() if row["activity_type"] == "a2a_receive"][-1]


LANGUAGES = pytest.mark.parametrize("language", [pytest.param("sh", marks=pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")),
                                                 "python"])


@LANGUAGES
def test_a_poller_prints_any_text_unchanged_lands_files_and_goes_on_after_a_kill(start, tmp_path, language):
    workspace = Workspace(start())
    content = os.urandom(200_000)
    with Poller(language, tmp_path, workspace) as poller:
        for text in ODD:
            send(workspace, text)
        (_, item), (_, other) = workspace.upload(("a report.pdf", content), ("Größe.txt", b"hello"))
        send(workspace, "read these", item["uri"], other["uri"])
        poller.wait_message("read these")
        printed = poller.text()
        for text in ODD:
            assert printed.count(f"message: {text}") == 1, (text, printed)
        wait_until(lambda: cursor(tmp_path) == last_row(workspace), "the cursor is stored")
    assert landed(tmp_path) == {"a_report.pdf": content, other["name"]: b"hello"}
    assert pending(workspace) == []
    send(workspace, "while it was away")
    with Poller(language, tmp_path, workspace) as poller:
        send(workspace, "and this")
        poller.wait_message("and this")
        assert re.findall("^message: (while it was away|and this|.*)", poller.text(), re.M)[0].startswith("while it was away")
        assert poller.text().count("message: ") == 2, "messages that were printed before the kill are not printed again"


@LANGUAGES
def test_a_poller_goes_on_from_the_number_that_an_earlier_version_has_stored(start, tmp_path, language):
    workspace = Workspace(start())
    send(workspace, "already printed")
    row, = [row for row in workspace.activity() if row["activity_type"] == "a2a_receive"]
    state = tmp_path / "poller.state"
    state.write_text(json.dumps({"cursor": row["seq"], "files": {}}) if language == "python" else f"{row['seq']}\n")
    send(workspace, "not yet printed")
    with Poller(language, tmp_path, workspace) as poller:
        poller.wait_message("not yet printed")
        send(workspace, "the last one")
        poller.wait_message("the last one")
        assert re.findall("^message: (not yet printed|the last one|.*)", poller.text(), re.M) == ["not yet printed", "the last one"]


def test_the_python_poller_answers_with_the_paths_of_the_files(start, tmp_path):
    server = start()
    workspace = Workspace(server)
    with Poller("python", tmp_path, workspace) as poller:
        (_, item), = workspace.upload(("a report.pdf", b"%PDF"))
        send(workspace, "read this", item["uri"])
        line = poller.wait_message("read this")
        assert str(tmp_path) in line and "a_report.pdf" in line
        answers = lambda: [m["content"] for m in server.get(workspace.path("chat-history"), token=server.admin_token).json()["messages"]]
        wait_until(lambda: "Got 'read this' and 1 file(s)." in answers(), "the answer")


@LANGUAGES
def test_a_fetch_that_is_cut_is_tried_again_before_the_poller_reads_on(start, proxy, tmp_path, language):
    workspace = Workspace(start())
    cuts = []

    def cut_once(data):
        if b"Content-Disposition" in data and not cuts:
            cuts.append(data)
            return len(data) - 1
        return len(data)

    content = os.urandom(20_000)
    with Poller(language, tmp_path, workspace, url=proxy(workspace.server.port, tap=cut_once).url) as poller:
        (_, item), = workspace.upload(("a.bin", content))
        send(workspace, "after it", item["uri"])
        poller.wait_message("after it")
        wait_until(lambda: cursor(tmp_path) == last_row(workspace), "the cursor is stored")
    assert cuts and landed(tmp_path) == {"a.bin": content}
    assert pending(workspace) == []


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
@pytest.mark.parametrize("call", ["/content", "/ack"])
def test_the_shell_poller_loses_nothing_when_curl_fails_once(start, tmp_path, call):
    workspace = Workspace(start())
    programs, failed = tmp_path / "bin", tmp_path / "failed"
    programs.mkdir()
    (programs / "curl").write_text(f"#!/bin/sh\ncase $* in *pending-uploads/*{call}) mkdir '{failed}' 2>/dev/null && exit 56;; esac\n"
                                   f"exec '{shutil.which('curl')}' \"$@\"\n")
    (programs / "curl").chmod(0o755)
    (_, item), = workspace.upload(("a.txt", b"hello"))
    send(workspace, "after it", item["uri"])
    with Poller("sh", tmp_path, workspace, path=programs) as poller:
        poller.wait_message("after it")
    assert failed.exists() and landed(tmp_path) == {"a.txt": b"hello"}
    assert pending(workspace) == []


@LANGUAGES
def test_a_file_that_cannot_be_fetched_is_reported_and_delays_other_messages_only_briefly(start, proxy, tmp_path, language):
    workspace = Workspace(start())
    always = lambda data: len(data) - 1 if b"Content-Disposition" in data else len(data)
    with Poller(language, tmp_path, workspace, url=proxy(workspace.server.port, tap=always).url) as poller:
        (_, item), = workspace.upload(("a.bin", os.urandom(20_000)))
        send(workspace, "after it")
        poller.wait_message("after it", 4 * CEILING)  # five attempts with growing pauses come first
    state = workspace.server.get(workspace.path(f"pending-uploads/{item['uri'].rsplit('/', 1)[1]}"), token=workspace.server.admin_token).json()
    assert state["state"] == "failed", state
