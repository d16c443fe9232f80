"""The agent's executable that the server offers, and the line that a new workspace shows: fetched, verified, run, connected."""
import hashlib
import os
import re
import subprocess

import pytest

from support.agent import send, url_of
from support.workspace import Workspace
from support.roots import GLIBC
from support.server import Lines

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


def test_the_line_of_a_new_workspace_can_be_pasted_on_a_machine_that_has_nothing(server, tmp_path):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}, headers=host(server)).json()
    line = made["connection"]["install_command"]
    assert line.endswith(made["connection"]["connect_command"].removeprefix("restante"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    agent = subprocess.Popen(["sh", "-c", line.replace("./restante connect", "exec ./restante connect")], cwd=tmp_path, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stderr, lines = Lines(agent.stderr), Lines(agent.stdout)
    try:
        stderr.wait(lambda text: made["id"].encode() in text, "connected")
        workspace = Workspace(server, known=(made["id"], None))
        send(workspace, "good morning")
        lines.wait(lambda text: b"good morning" in text, "the message as a line")
        (_, item), = workspace.upload(("a.txt", b"hello"))
        path = lines.wait(lambda text: b" a.txt (5 bytes) " in text, "the file as a line").decode().split()[-1]
        assert path == str(tmp_path / ".molecule/chat-uploads" / f"{item['uri'][-36:].replace('-', '')}-a.txt")
        with open(path, "rb") as file:
            assert file.read() == b"hello"
    finally:
        agent.terminate()
        agent.wait(60)
        for reader, pipe in ((stderr, agent.stderr), (lines, agent.stdout)):
            reader.join()
            pipe.close()
    assert agent.returncode == 0


def test_an_invitation_shows_the_same_line(server):
    made = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "enrolment"}, headers=host(server)).json()
    assert made["install_command"].startswith(f"curl -fsSL {url_of(server)}/download/{NAME} -o restante && ")
    person = Workspace(server)
    link = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "sender", "workspace_id": person.id}).json()
    assert "install_command" not in link
