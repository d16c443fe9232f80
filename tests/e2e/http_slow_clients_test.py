"""Clients that are slow, stuck or silent: each is cut off by its own timer, and no other client waits for them.

The timers are small, but not so small that a busy machine would look like a slow client. Tests check the result, never how long it
took.
"""
from pathlib import Path

import pytest

from support.backend import BYTES
from support.checks import MARKER, check_error, check_refused_and_closed
from support.workspace import Workspace
from support.server import sanitizer
from support.waiting import wait_until
from support.wire import request

KIB, MIB = 1024, 1024 * 1024
SETTINGS = {
    "timeouts.header": "1s", "timeouts.idle": "3s", "timeouts.body_grace": "2s", "timeouts.write_stall": "2s",
    "timeouts.min_rate": 200_000, "timeouts.linger": "300ms",
}
BEGUN = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"


# -- heads and idle connections

@pytest.mark.parametrize("sent", [b"G", b"GET /health HTTP/1.1\r", BEGUN, BEGUN + b"X: y"], ids=["byte", "line", "header", "half_header"])
def test_a_head_that_stops_is_408(server, sent):
    with server.connect() as wire:
        wire.send(sent)
        check_refused_and_closed(wire, 408)


def test_a_head_that_trickles_is_408_even_if_it_never_stops(server):
    with server.connect() as wire:
        assert wire.trickle(BEGUN + b"X: " + b"y" * 4000), "the server waited for all of it"
        check_refused_and_closed(wire, 408)


def test_a_second_head_that_stops_is_408_too(server):
    with server.connect() as wire:
        wire.send(request("GET", "/health") + BEGUN)
        assert wire.read().status == 200
        check_refused_and_closed(wire, 408)


def test_a_connection_without_a_request_is_closed_without_an_answer(server):
    with server.connect() as wire:
        assert wire.wait_closed() and not wire.buffer


def test_a_connection_without_another_request_is_closed_without_an_answer(server):
    with server.connect() as wire:
        wire.send(request("GET", "/health"))
        assert wire.read().status == 200
        assert wire.wait_closed() == "eof" and not wire.buffer


def test_many_slow_heads_do_not_keep_others_waiting(server):
    slow = []
    for _ in range(200):
        slow.append(server.connect())
        slow[-1].send(BEGUN)
    for _ in range(20):
        server.check_alive()
    for wire in slow:
        check_refused_and_closed(wire, 408)
        wire.close()


def test_a_held_poll_outlives_the_timers_of_idle_connections(start):
    server = start({"timeouts.header": "2s", "timeouts.idle": "2s"})
    workspace = Workspace(server)
    wire, = workspace.park()
    # A connection opened after the poll was parked has been closed by its idle timer: more than that time has passed.
    for _ in range(3):
        with server.connect() as other:
            other.wait_closed()
    assert not wire.has_input()
    workspace.notify("patience")
    assert len(wire.read().json()) == 1
    wire.close()


# -- bodies

def test_a_body_that_stops_is_408_and_nothing_is_stored(server, workspace):
    with server.connect() as wire:
        wire.send(workspace.notify_bytes(MARKER)[:-1])
        check_refused_and_closed(wire, 408)
    assert workspace.activity() == []


def test_a_body_that_trickles_is_408_by_the_minimum_pace(server, workspace):
    data = workspace.notify_bytes("x" * 8000)
    head = data.index(b"\r\n\r\n") + 4
    with server.connect() as wire:
        wire.send(data[:head])
        assert wire.trickle(data[head:]), "the server waited for all of it"
        check_refused_and_closed(wire, 408)
    assert workspace.activity() == []


def test_a_chunked_body_that_trickles_is_408_by_the_minimum_pace(server, workspace):
    head = request("POST", workspace.path("notify"), {**workspace.auth(), "Content-Type": "application/json", "Transfer-Encoding": "chunked"})
    with server.connect() as wire:
        wire.send(head)
        assert wire.trickle(b"1\r\n \r\n" * 2000), "the server waited for all of it"
        check_refused_and_closed(wire, 408)
    assert workspace.activity() == []


@pytest.mark.bytes
def test_an_upload_that_stops_is_408_and_its_content_is_dropped(server, workspace):
    wires = [workspace.begin_upload((f"{i}.bin", b"x" * 100 * KIB))[0] for i in range(5)]
    for wire in wires:
        check_refused_and_closed(wire, 408)
        wire.close()
    wait_until(lambda: not server.unfinished(), "unfinished files are deleted")
    assert workspace.activity() == []


@pytest.mark.bytes
def test_the_absolute_deadline_ends_an_upload_that_keeps_the_pace(start):
    server = start({"timeouts.request": "1s", "timeouts.min_rate": 1, "timeouts.linger": "300ms"})
    workspace = Workspace(server)
    wire, rest = workspace.begin_upload(("a.bin", b"x" * 100 * KIB))
    with wire:
        assert wire.trickle(rest), "the server waited for all of it"
        check_refused_and_closed(wire, 408)
    assert workspace.activity() == []


def test_a_body_cut_short_is_400_and_nothing_is_stored(server, workspace):
    with server.connect() as wire:
        wire.send(workspace.notify_bytes(MARKER)[:-1])
        wire.finish_sending()
        assert check_refused_and_closed(wire, 400).json()["code"] == "body_cut"
    assert workspace.activity() == []


def test_a_chunked_body_cut_short_is_400_and_nothing_is_stored(server, workspace):
    fields = {**workspace.auth(), "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    body = b'{"message":"whole"}'
    whole = b"%x\r\n%s\r\n" % (len(body), body)
    for cut in (whole, whole + b"0", whole + b"0\r\n", whole + b"0\r\n\r"):
        with server.connect() as wire:
            wire.send(request("POST", workspace.path("notify"), fields) + cut)
            wire.finish_sending()
            check_refused_and_closed(wire, 400)
    assert workspace.activity() == []


@pytest.mark.bytes
@pytest.mark.parametrize("leave", ["finish_sending", "close", "reset"])
def test_an_upload_cut_short_leaves_nothing(server, workspace, leave):
    wire, rest = workspace.begin_upload(("a.bin", b"x" * 2 * MIB))
    wire.send(rest[:-10])
    getattr(wire, leave)()
    if leave == "finish_sending":
        refused = check_refused_and_closed(wire, 400).json()
        assert refused == {"error": "malformed multipart body", "code": "malformed_multipart"}
        wire.close()
    wait_until(lambda: not server.unfinished(), "unfinished files are deleted")
    assert workspace.activity() == []


# -- readers

def stuck_reader(server, workspace, file_id):
    wire = server.connect(receive_buffer=4096)
    wire.sock.sendall(request("GET", workspace.content(file_id), workspace.auth()))
    return wire


def connections(server):
    """Only those of clients: the server's stores may use sockets, too."""
    lines = server.get("/metrics").body.decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("restante_connections{"))


@pytest.mark.bytes
def test_readers_that_do_not_read_are_cut_off(server, workspace):
    (file_id, _), = workspace.upload(("big.bin", bytes(25 * MIB)))
    before, memory = connections(server), server.rss()
    wires = [stuck_reader(server, workspace, file_id) for _ in range(30)]
    for _ in range(10):
        server.check_alive()
        workspace.notify("neither a thread nor the database is held by a reader that does not read")
    if not sanitizer():
        # The kernel sends from a file; with any other place each reader has a piece in memory.
        pieces = 0 if BYTES == "dir" else len(wires) * MIB
        assert server.rss() - memory < 16 * MIB + pieces
    wait_until(lambda: connections(server) <= before, "the server gave up on readers that do not read")
    for wire in wires:
        wire.wait_closed()
        assert len(wire.buffer) < 25 * MIB
        wire.close()
    assert len(server.get(workspace.content(file_id), token=workspace.token).body) == 25 * MIB


def test_a_pipelining_client_that_never_reads_is_cut_off_and_its_answers_are_not_buffered(server, workspace):
    (file_id, _), = workspace.upload(("big.bin", bytes(5 * MIB)))
    before = server.sockets()
    wire = server.connect(receive_buffer=4096)
    wire.sock.sendall(request("GET", workspace.content(file_id), workspace.auth()) * 100)
    wait_until(lambda: server.sockets() <= before, "the server gave up on a reader that does not read")
    wire.close()


@pytest.mark.bytes
def test_a_reader_that_is_slow_but_steady_gets_everything(start):
    server = start({"timeouts.write_stall": "5s", "timeouts.min_rate": 1})
    workspace = Workspace(server)
    content = bytes(range(256)) * 4 * 4096
    (file_id, _), = workspace.upload(("steady.bin", content))
    wire = stuck_reader(server, workspace, file_id)
    response = wire.read()
    assert response.body == content
    wire.close()


def test_the_kernels_keepalive_finds_clients_without_a_network(server, workspace):
    wire, = workspace.park()
    with wire:
        # The timer of the server's side of the connection in the kernel's table: 2 is keepalive.
        assert socket_timer(server.port, wire.local_port) == 2


def socket_timer(local, remote):
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        ports = [int(address.split(":")[1], 16) for address in fields[1:3]]
        if ports == [local, remote]:
            return int(fields[5].split(":")[0], 16)
    raise AssertionError("no such connection")


# -- no HTTP at all


def lines_so_far(server):
    """The number of log lines up to that of a request that is made now: the log is written a moment after an answer."""
    server.wait_log(server.get("/no/such/route").header("X-Request-Id"))
    return len(server.stderr())


CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(193))


@pytest.mark.parametrize("data", [
    CLIENT_HELLO, bytes(range(256)) * 16, b"\xff" * 70_000, b"\x00", b"SSH-2.0-OpenSSH_9.2\r\n", b"\x03\x00\x00\x13\x0e\xe0\x00\x00",
    b"EHLO example.com\r\n", b"*1\r\n$4\r\nPING\r\n",
], ids=["client_hello", "all_bytes", "ff", "nul", "ssh", "rdp", "smtp", "redis"])
def test_data_that_is_not_http_is_refused_with_one_log_line_at_most(server, data):
    before = lines_so_far(server)
    with server.connect() as wire:
        wire.send(data)
        responses = wire.read_until_closed()
    assert len(responses) <= 1
    for response in responses:
        check_error(response, 400, 408, 414, 431, 505)
    assert lines_so_far(server) - before <= 1 + 1, f"a flood of log lines: {server.stderr()[before:]}"


def test_connections_without_a_byte_are_not_logged(server):
    before, sockets = lines_so_far(server), server.sockets()
    for _ in range(100):
        server.connect().close()
    wait_until(lambda: server.sockets() <= sockets, "empty connections are closed")
    assert lines_so_far(server) - before <= 1, server.stderr()[before:]
