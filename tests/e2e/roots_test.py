"""The agent's executable in a root file system with only glibc, and in those that RESTANTE_ROOTS names (separated by colons;
`make test-roots` makes two): it starts, connects, takes a message and a file, and passes its self-test."""
import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from support.agent import pending, send, url_of
from support.roots import GLIBC, Root, make_bare
from support.server import SANITIZER_REPORTS, Lines
from support.waiting import wait_until

NAME = f"restante-{os.uname().sysname.lower()}-{os.uname().machine}"
NAMED = [path for path in os.environ.get("RESTANTE_ROOTS", "").split(":") if path]


@pytest.fixture(params=["bare", *NAMED], ids=lambda path: Path(path).name)
def root(request, server, tmp_path):
    program = tmp_path / "restante"
    program.write_bytes(server.get(f"/download/{NAME}").body)
    program.chmod(0o755)
    one = Root(make_bare(tmp_path / "bare", program) if request.param == "bare" else request.param)
    one.take(program)
    yield one
    one.clean()


def test_it_takes_a_message_and_a_file_in_a_minimal_root(workspace, root):
    token = root.work / "token"
    token.write_text(workspace.token)
    common = ["--url", url_of(workspace.server), "--token-file", root.inside(token), "--dir", root.inside(root.work / "dir"), "--state",
              root.inside(root.work / "state")]
    agent = root.start("connect", *common, "--json")
    stderr, lines = Lines(agent.stderr), Lines(agent.stdout)
    try:
        stderr.wait(lambda line: workspace.id.encode() in line, "connected")
        content = os.urandom(300_000)
        (_, item), = workspace.upload(("a.bin", content))
        send(workspace, "good morning", item["uri"])
        delivery = json.loads(lines.wait(lambda line: b"good morning" in line, "the message"))
        file, = delivery["files"]
        assert (file["state"], file["sha256"]) == ("landed", hashlib.sha256(content).hexdigest())
        landed, = (root.work / "dir/.molecule/chat-uploads").iterdir()
        assert landed.read_bytes() == content and file["path"] == root.inside(landed)
        wait_until(lambda: pending(workspace) == [], "the file is acked")
        status = root.run("status", "--json", "--state", root.inside(root.work / "state"))
        assert (status.returncode, json.loads(status.stdout)["status"]) == (0, "connected"), status
    finally:
        agent.terminate()
        agent.wait(60)
        for reader, pipe in ((stderr, agent.stderr), (lines, agent.stdout)):
            reader.join()
            pipe.close()
    assert agent.returncode == 0 and not any(report.encode() in line for report in SANITIZER_REPORTS for line in stderr())
    if (root.path / "usr/bin/ldd").exists():  # a distribution has its own ldd
        listed = subprocess.run(["chroot", root.path, "ldd", "/" + str(root.work.relative_to(root.path) / "restante")], capture_output=True,
                                text=True, check=True).stdout
        assert "not found" not in listed and all(GLIBC.search(line.split()[0]) for line in listed.splitlines()), listed
    checkup = root.run("doctor", *common)
    assert checkup.returncode == 0 and checkup.stdout.endswith("\nEverything works.\n"), checkup
