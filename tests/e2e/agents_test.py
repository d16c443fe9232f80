"""What every agent promises, whatever it is written in: the same scenarios with a real server, for each kind of support/agent_kinds.py.
`connect(url, …)` starts an agent of the kind under test; see support/agent_kinds.py for what a kind must understand."""
import hashlib
import os
import threading

import pytest

from support.agent import pending, send, url_of
from support.agent_kinds import KINDS, chosen_kinds
from support.waiting import wait_until
from support.workspace import Workspace


@pytest.fixture(params=chosen_kinds())
def connect(request, connect):
    """connect(url, token=…) starts an agent of the kind under test; the options are those of support.agent.Connect."""
    program = KINDS[request.param]()
    return lambda url, **options: connect(url, program=program, **options)


def test_a_file_arrives_byte_for_byte_and_is_acknowledged(workspace, connect):
    content = os.urandom(300_000)
    agent = connect(url_of(workspace.server), token=workspace.token)
    (file_id, _), = workspace.upload(("my report.pdf", content))
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    path, = agent.landed()
    assert path.name == file_id.replace("-", "") + "-my_report.pdf"
    assert path.read_bytes() == content
    assert pending(workspace) == []
    delivery, = agent.deliveries()
    assert delivery["type"] == "file" and delivery["source_id"] is None
    assert delivery["files"] == [{"name": "my_report.pdf", "size": len(content), "sha256": hashlib.sha256(content).hexdigest(),
                                  "path": str(path), "uri": f"workspace:{path}", "state": "landed"}]
    assert agent.stop() == 0


def test_a_message_is_answered_by_the_command_and_names_its_files_as_paths(workspace, connect):
    (_, first), (_, second) = workspace.upload(("a.txt", b"first" * 9000), ("b.txt", b"second" * 9000))
    send(workspace, "compare these", first["uri"], second["uri"])
    agent = connect(url_of(workspace.server), token=workspace.token)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    delivery, = agent.deliveries()
    assert (delivery["type"], delivery["text"]) == ("message", "compare these")
    parts = delivery["body"]["params"]["message"]["parts"]
    assert [part["file"]["uri"] for part in parts if part["kind"] == "file"] == [f"workspace:{file['path']}" for file in delivery["files"]]
    assert [open(file["path"], "rb").read() for file in delivery["files"]] == [b"first" * 9000, b"second" * 9000]
    assert agent.stop() == 0


def test_an_enrolment_token_is_exchanged_for_a_token_that_only_the_owner_can_read(server, connect):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}).json()
    agent = connect(url_of(server), arguments=["--enrol", made["connection"]["enrolment_token"]])
    agent.wait_printed(made["id"])
    token_file = agent.state / "token"
    assert token_file.stat().st_mode & 0o777 == 0o600
    assert agent.stop() == 0
    workspace = Workspace(server, known=(made["id"], token_file.read_text().strip()))
    send(workspace, "are you there")
    again = connect(None, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    assert again.stop() == 0


def test_a_kill_between_fetch_and_ack_delivers_exactly_once(workspace, connect, proxy):
    at_ack = threading.Event()

    def hold_acks(data):
        if b"/pending-uploads/" in data and b"/ack HTTP/1.1" in data:
            at_ack.set()
            return False
        return True

    between = proxy(workspace.server.port, gate=hold_acks)
    agent = connect(between.url, token=workspace.token)
    content = os.urandom(50_000)
    workspace.upload(("a.bin", content))
    assert at_ack.wait(60)
    agent.kill()
    assert [path.read_bytes() for path in agent.landed()] == [content]
    assert len(pending(workspace)) == 1 and agent.deliveries() == []
    again = connect(url_of(workspace.server), token=workspace.token, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    assert [file["name"] for delivery in again.deliveries() for file in delivery["files"]] == ["a.bin"]
    assert pending(workspace) == []
    assert again.stop() == 0
