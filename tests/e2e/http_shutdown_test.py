"""Stopping: requests in progress are completed, new ones are refused, and a request that does not end is cut."""
import signal

import pytest

from support.workspace import Workspace, files_of
from support.waiting import wait_until
from support.wire import Wire, request

KIB = 1024


def wait_refusing(server):
    """Waits until no new connection is accepted: the server has begun to stop."""
    def refusing():
        try:
            Wire(server.port, server.host).close()
            return False
        except ConnectionError:
            return True
    wait_until(refusing, "new connections are refused")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_an_idle_server_ends_at_once_with_0(start, number):
    server = start({"timeouts.drain": "600s"})
    with server.connect() as idle:
        idle.send(request("GET", "/health"))
        assert idle.read().status == 200
        server.signal(number)
        assert idle.wait_closed() == "eof" and not idle.buffer
    assert server.wait_exit() == 0


def test_held_polls_are_answered_empty(start):
    server = start({"timeouts.drain": "600s"})
    first, second = Workspace(server), Workspace(server)
    wires = first.park(5) + second.park(5)
    server.signal(signal.SIGTERM)
    for wire in wires:
        response, = wire.read_until_closed()
        assert (response.status, response.body) == (200, b"[]")
        wire.close()
    assert server.wait_exit() == 0


@pytest.mark.bytes
def test_an_upload_in_progress_finishes_and_is_kept(start, tmp_path):
    server = start({"timeouts.drain": "600s"}, data=tmp_path)
    workspace = Workspace(server)
    wire, rest = workspace.begin_upload(("kept.bin", b"k" * 300 * KIB))
    server.signal(signal.SIGTERM)
    wait_refusing(server)
    wire.send(rest)
    (file_id, _), = files_of(wire.read())
    assert wire.wait_closed() == "eof"
    wire.close()
    assert server.wait_exit() == 0
    again = workspace.on(start(data=tmp_path))
    assert [row["request_body"]["file_id"] for row in again.activity()] == [file_id]
    assert again.server.get(again.content(file_id), token=again.token).body == b"k" * 300 * KIB


@pytest.mark.bytes
def test_a_download_in_progress_finishes(start):
    server = start({"timeouts.drain": "600s"})
    workspace = Workspace(server)
    content = bytes(range(256)) * 4 * 25 * KIB
    (file_id, _), = workspace.upload(("big.bin", content))
    wire = server.connect(receive_buffer=4096)
    wire.send(request("GET", workspace.content(file_id), workspace.auth()))
    wait_until(wire.has_input, "the download has begun")
    server.signal(signal.SIGTERM)
    wait_refusing(server)
    assert wire.read().body == content
    wire.close()
    assert server.wait_exit() == 0


@pytest.mark.bytes
def test_a_second_signal_ends_at_once(start):
    server = start({"timeouts.drain": "600s", "timeouts.body_grace": "600s"})
    server.expected_exit = None
    wire, _ = Workspace(server).begin_upload(("stuck.bin", b"s" * 300 * KIB))
    server.signal(signal.SIGTERM)
    wait_refusing(server)
    assert server.process.poll() is None and not wire.has_input()
    server.signal(signal.SIGTERM)
    server.wait_exit()
    wire.wait_closed()
    wire.close()


@pytest.mark.bytes
def test_the_time_for_requests_in_progress_is_limited(start, tmp_path):
    server = start({"timeouts.drain": "500ms", "timeouts.body_grace": "600s"}, data=tmp_path)
    server.expected_exit = None
    workspace = Workspace(server)
    wire, _ = workspace.begin_upload(("stuck.bin", b"s" * 300 * KIB))
    server.signal(signal.SIGTERM)
    server.wait_exit()
    for response in wire.read_until_closed():
        assert response.status == 503
    wire.close()
    assert workspace.on(start(data=tmp_path)).activity() == []


@pytest.mark.bytes
def test_nothing_that_was_acknowledged_is_lost_in_a_busy_shutdown(start, tmp_path):
    server = start({"timeouts.drain": "600s"}, data=tmp_path)
    workspaces = [Workspace(server) for _ in range(4)]
    polls = [wire for workspace in workspaces for wire in workspace.park(4)]
    uploads = [(workspace, *workspace.begin_upload((f"{i}.bin", bytes([i]) * 64 * KIB)))
               for workspace in workspaces for i in range(8)]
    server.signal(signal.SIGTERM)
    for wire in polls:
        response, = wire.read_until_closed()
        assert (response.status, response.body) == (200, b"[]")
        wire.close()
    kept = {workspace.id: set() for workspace in workspaces}
    for workspace, wire, rest in uploads:
        wire.send(rest)
        response, = wire.read_until_closed()
        assert response.status in (200, 503), response
        if response.status == 200:
            kept[workspace.id] |= {file_id for file_id, _ in files_of(response)}
        wire.close()
    assert server.wait_exit() == 0
    again = start(data=tmp_path)
    for workspace in workspaces:
        assert {row["request_body"]["file_id"] for row in workspace.on(again).activity()} == kept[workspace.id]
    assert sum(map(len, kept.values())) > 0
    assert not again.unfinished()
