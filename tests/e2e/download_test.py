"""The programs that the server offers, and the lines that a new workspace shows: downloaded, verified, run, connected."""
import hashlib
import os
import re
import shutil
import signal
import subprocess

import pytest

from support.agent import send, url_of
from support.workspace import Workspace
from support.roots import GLIBC
from support.server import Lines
from support.waiting import CEILING

NAME = f"restante-{os.uname().sysname.lower()}-{os.uname().machine}"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return tmp_path_factory.mktemp("download") / "restante"


def host(server):
    """The Host header as a browser or curl sends it: without a public_url the server takes its own address from it."""
    return {"Host": f"127.0.0.1:{server.port}"}


def fetch(server, program):
    response = server.get(f"/download/{NAME}")
    assert response.status == 200 and response.header("Content-Type") == "application/octet-stream", response
    program.write_bytes(response.body)
    program.chmod(0o755)
    return response


def test_the_program_comes_without_a_token_and_matches_its_sha256(server, program):
    response = fetch(server, program)
    digest = hashlib.sha256(response.body).hexdigest()
    line = server.get(f"/download/{NAME}.sha256")
    assert (line.status, line.body.decode()) == (200, f"{digest}  {NAME}\n")
    head = server.request("HEAD", f"/download/{NAME}")
    assert head.status == 200 and int(head.header("Content-Length")) == len(response.body)
    for file in (NAME, f"{NAME}.sha256"):
        assert server.get(f"/download/{file}", headers={"If-None-Match": f'"{digest}"'}).status == 304
        assert server.get(f"/download/{file}", headers={"If-Match": '"old"'}).status == 412
        assert server.get(f"/download/{file}", headers={"If-Match": f'"{digest}"', "Range": "bytes=0-1"}).status == 200
    for other in ("x", "restante", f"{NAME}.md5", "..%2Fadmin.token"):
        assert server.get(f"/download/{other}").status in (400, 404), other


@pytest.mark.parametrize("name, media_type", [("restante.py", "text/x-python; charset=utf-8"), ("install.sh", "text/x-shellscript; charset=utf-8")])
def test_the_agent_in_python_and_the_script_match_their_sha256(server, name, media_type):
    response = server.get(f"/download/{name}")
    assert (response.status, response.header("Content-Type")) == (200, media_type)
    digest = hashlib.sha256(response.body).hexdigest()
    assert server.get(f"/download/{name}.sha256").body.decode() == f"{digest}  {name}\n"
    assert server.get(f"/download/{name}", headers={"If-None-Match": f'"{digest}"'}).status == 304


def test_it_needs_only_glibc(server, program):
    fetch(server, program)
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    foreign = [line for line in needed.splitlines() if not GLIBC.search(line.split()[0])]
    assert foreign == [], needed
    # The same without running it: the libraries that the file names, whether this machine has them or not.
    named = re.findall(r"NEEDED\)\s+.*\[(.*)\]", subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout)
    assert "libc.so.6" in named and all(GLIBC.match(name) for name in named), named
    wanted = {int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=\0)", program.read_bytes())}
    assert max(wanted) <= 35, f"docs/agents.md promises glibc 2.35, this needs 2.{max(wanted)}"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("restante ")


def test_it_has_the_agents_commands_and_no_others(server, program):
    fetch(server, program)
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    for word in ("connect", "mcp", "status", "doctor", "send"):
        assert re.search(rf"^  {word} ", text, re.M), word
    assert not re.search(r"^  (serve|migrate|workspace) ", text, re.M)


def test_it_is_an_mcp_server_too(server, program, workspace, mcp):
    fetch(server, program)
    one = mcp(f"http://127.0.0.1:{server.port}", token=workspace.token, program=str(program))
    send(workspace, "good morning")
    assert one.call("wait_for_message", timeout_seconds=60)["message"]["text"] == "good morning"
    assert one.close() == 0


def new_agent(server):
    return server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}, headers=host(server)).json()


def tools(folder, *missing, **replaced):
    """A PATH with every program of this machine but the missing ones; `replaced` are shell scripts that take another's place."""
    folder.mkdir()
    for directory in reversed(os.environ["PATH"].split(":")):
        for program in os.scandir(directory) if os.path.isdir(directory) else ():
            (folder / program.name).unlink(missing_ok=True)
            (folder / program.name).symlink_to(program.path)
    for name in (*missing, *replaced):
        (folder / name).unlink(missing_ok=True)
    for name, script in replaced.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def run_line(line, folder, path):
    return subprocess.run(["sh", "-c", line], cwd=folder, env={"PATH": path, "HOME": str(folder)}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=CEILING)


class Pasted:
    """A line that runs in a shell, in a folder that has nothing."""

    def __init__(self, line, folder, path=os.environ["PATH"]):
        environment = {"PATH": path, "HOME": str(folder)}
        self.process = subprocess.Popen(["sh", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)
        self.stderr, self.lines = Lines(self.process.stderr), Lines(self.process.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)  # the shell, and the agent that it waits for
        self.process.wait(CEILING)
        for reader, pipe in ((self.stderr, self.process.stderr), (self.lines, self.process.stdout)):
            reader.join()
            pipe.close()


def check_connected(server, made, pasted, folder):
    pasted.stderr.wait(lambda text: made["id"].encode() in text, "connected")
    workspace = Workspace(server, known=(made["id"], None))
    send(workspace, "good morning")
    pasted.lines.wait(lambda text: b"good morning" in text, "the message as a line")
    (_, item), = workspace.upload(("a.txt", b"hello"))
    path = pasted.lines.wait(lambda text: b" a.txt (5 bytes) " in text, "the file as a line").decode().split()[-1]
    assert path == str(folder / ".molecule/chat-uploads" / f"{item['uri'][-36:].replace('-', '')}-a.txt")
    with open(path, "rb") as file:
        assert file.read() == b"hello"


def test_the_line_of_a_new_workspace_can_be_pasted_on_a_machine_that_has_nothing(server, tmp_path):
    made = new_agent(server)
    assert made["connection"]["connect_command"].startswith("restante connect --url ")
    with Pasted(made["connection"]["install_command"], tmp_path) as pasted:
        check_connected(server, made, pasted, tmp_path)
    assert (tmp_path / "restante").is_file() and not (tmp_path / "restante.py").exists()


@pytest.mark.parametrize("system", [{"uname": "case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac"}, {"uname": "case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac"}],
                         ids=["macos", "other-processor"])
def test_on_a_system_without_an_executable_the_line_uses_the_agent_in_python(server, tmp_path, system):
    made = new_agent(server)
    # macOS has shasum and no sha256sum.
    path = tools(tmp_path / "bin", "sha256sum", **system)
    with Pasted(made["connection"]["install_command"], tmp_path, path) as pasted:
        check_connected(server, made, pasted, tmp_path)
    assert (tmp_path / "restante.py").is_file() and not (tmp_path / "restante").exists()


def test_the_line_for_python_connects(server, tmp_path):
    made = new_agent(server)
    with Pasted(made["connection"]["python_command"], tmp_path) as pasted:
        check_connected(server, made, pasted, tmp_path)


def test_the_line_for_powershell_has_the_sha256_of_the_file(server):
    line = new_agent(server)["connection"]["powershell_command"]
    digest = server.get("/download/restante.py.sha256").body.decode().split()[0]
    assert f"-ne '{digest}'" in line and "restante.py connect --url " in line


@pytest.mark.parametrize("file", ["install.sh", "restante"])
def test_what_was_changed_on_the_way_is_not_run_and_the_enrolment_token_stays_valid(server, tmp_path, file):
    made = new_agent(server)
    change = {"install.sh": "*install.sh", "restante": "*" + NAME}[file]
    real = shutil.which("curl")
    path = tools(tmp_path / "bin", curl=f'{real} "$@" || exit\ncase "$2" in {change}) echo x >> "$4" ;; esac')
    ended = run_line(made["connection"]["install_command"], tmp_path, path)
    assert ended.returncode != 0 and not (tmp_path / "restante").exists(), ended
    if file == "restante":
        assert "was cut or changed on the way" in ended.stderr, ended.stderr
    with Pasted(made["connection"]["python_command"], tmp_path) as pasted:
        check_connected(server, made, pasted, tmp_path)


def test_without_python_and_without_an_executable_the_line_says_what_to_install(server, tmp_path):
    path = tools(tmp_path / "bin", "python3", "python", uname="case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac")
    ended = run_line(new_agent(server)["connection"]["install_command"], tmp_path, path)
    assert ended.returncode == 69 and "Python 3.9 or newer" in ended.stderr, ended


def test_an_invitation_shows_the_same_line(server):
    made = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "enrolment"}, headers=host(server)).json()
    assert made["install_command"].startswith(f"curl -fsSL {url_of(server)}/download/install.sh -o restante-install.sh && ")
    assert made["token"] in made["python_command"] and made["token"] in made["powershell_command"]
    person = Workspace(server)
    link = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "sender", "workspace_id": person.id}).json()
    assert "install_command" not in link
