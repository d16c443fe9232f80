"""How much a client may send: heads, bodies, connections, held polls. The defaults are promises, so the tests use them."""
import pytest

from support.checks import check_error, check_refused_and_closed
from support.workspace import Workspace
from support.waiting import wait_until
from support.wire import chunked, request

KIB = 1024
MIB = 1024 * KIB


def head_with(size=0, count=0, name="X-{}", value="v"):
    """GET /health whose header block has `count` headers besides Host, or is padded by one header of `size` bytes."""
    fields = [(name.format(i), value) for i in range(count)]
    if size:
        fields.append(("X-Pad", "p" * size))
    return request("GET", "/health", fields)


# -- heads

@pytest.mark.parametrize("data, statuses", [
    pytest.param(request("GET", "/" + "a" * 9 * KIB), (414,), id="request_line_of_9_KiB"),
    pytest.param(request("GET", "/health?" + "a=b&" * 3000), (414,), id="query_of_12_KiB"),
    pytest.param(b"GET /" + b"a" * MIB, (414,), id="request_line_without_end"),
    pytest.param(b"A" * MIB, (400, 414, 501), id="method_without_end"),
    pytest.param(head_with(size=17 * KIB), (431,), id="header_of_17_KiB"),
    pytest.param(head_with(count=40, value="v" * 500), (431,), id="headers_of_20_KiB"),
    pytest.param(head_with(size=MIB), (431,), id="header_of_1_MiB"),
    pytest.param(b"GET /health HTTP/1.1\r\nHost: a\r\nX: " + b"y" * MIB, (431,), id="header_without_end"),
    pytest.param(b"GET /health HTTP/1.1\r\nHost: a\r\n" + b"y" * MIB, (400, 431), id="header_name_without_end"),
    pytest.param(head_with(count=100), (431,), id="101_headers"),
    pytest.param(head_with(count=2000, name="a", value=""), (431,), id="2000_tiny_headers"),
    pytest.param(b"\r\n" * 100 * KIB, (400, 414, 431), id="empty_lines_without_end"),
])
def test_a_head_beyond_the_limits_is_refused(server, data, statuses):
    with server.connect() as wire:
        wire.send(data)
        check_refused_and_closed(wire, *statuses)


@pytest.mark.parametrize("data, status", [
    pytest.param(request("GET", "/health?" + "a" * 8000), 200, id="request_line_near_8_KiB"),
    pytest.param(head_with(size=15 * KIB), 200, id="header_of_15_KiB"),
    pytest.param(head_with(count=99), 200, id="100_headers"),
])
def test_a_head_within_the_limits_is_accepted(server, data, status):
    with server.connect() as wire:
        wire.send(data)
        assert wire.read().status == status


def test_the_limits_of_a_head_are_configuration(start):
    server = start({"limits.request_line": 200, "limits.header_bytes": 1000, "limits.header_count": 5})
    for data, status in ((request("GET", "/" + "a" * 300), 414), (head_with(size=1100), 431), (head_with(count=5), 431)):
        with server.connect() as wire:
            wire.send(data)
            check_refused_and_closed(wire, status)
    with server.connect() as wire:
        wire.send(head_with(count=4))
        assert wire.read().status == 200


# -- bodies

def notify_head(workspace, fields):
    return request("POST", workspace.path("notify"), {**workspace.auth(), "Content-Type": "application/json", **fields})


def test_a_json_body_beyond_1_mib_is_refused_by_its_length_before_it_is_read(server, workspace):
    with server.connect() as wire:
        wire.send(notify_head(workspace, {"Content-Length": MIB + 1}))
        check_refused_and_closed(wire, 413)


def test_a_chunked_json_body_beyond_1_mib_is_refused(server, workspace):
    with server.connect() as wire:
        wire.send(notify_head(workspace, {"Transfer-Encoding": "chunked"}))
        wire.send(b"10000\r\n%s\r\n" % (b" " * 65536) * 17)
        check_refused_and_closed(wire, 413)
    assert workspace.activity() == []


def test_one_byte_chunks_count_like_any_other(start):
    server = start({"limits.json_body": 20_000})
    workspace = Workspace(server)
    with server.connect() as wire:
        wire.send(notify_head(workspace, {"Transfer-Encoding": "chunked"}))
        wire.send(b"1\r\n \r\n" * 20_001)
        check_refused_and_closed(wire, 413)
    body = b'{"message":"padded"}'.ljust(20_000)
    with server.connect() as wire:
        wire.send(notify_head(workspace, {"Transfer-Encoding": "chunked"}) + chunked(*[body[i:i + 1] for i in range(len(body))]))
        assert wire.read().status == 200
    assert workspace.messages() == ["padded"]


def test_a_json_body_of_exactly_the_limit_is_accepted(server, workspace):
    body = b'{"message":"padded"}'.ljust(MIB)
    with server.connect() as wire:
        wire.send(notify_head(workspace, {"Content-Length": len(body)}) + body)
        assert wire.read().status == 200


@pytest.mark.parametrize("length", [128 * MIB + 1, 10 << 30, 1 << 62, (1 << 64) - 1])
def test_an_upload_beyond_128_mib_is_refused_by_its_length(server, workspace, length):
    head, _ = workspace.upload_bytes(("a", b"x"), headers={"Content-Length": length})
    with server.connect() as wire:
        wire.send(head)
        response = check_refused_and_closed(wire, 413)
    assert response.json()["max"] == 128 * MIB


def test_a_client_sees_the_413_although_it_sends_on(server, workspace):
    head, _ = workspace.upload_bytes(("a", b"x"), headers={"Content-Length": 200 * MIB})
    with server.connect() as wire:
        wire.send(head)
        wire.send(b"x" * 4 * MIB)
        check_refused_and_closed(wire, 413)


# -- connections

def ask(server):
    """A kept-alive connection that has been served once, or None if the server refused it."""
    try:
        wire = server.connect()
        wire.send(request("GET", "/health"))
        response = wire.read()
    except ConnectionError:
        return None
    if response is not None and response.status == 200:
        return wire
    assert response is None or response.status == 503, response
    wire.close()
    return None


def test_idle_connections_are_closed_for_new_ones(start):
    server = start({"limits.connections": 16, "limits.connections_per_address": 1000})
    idle = [wait_until(lambda: ask(server), "a new connection is served although the table is full of idle ones") for _ in range(40)]
    wait_until(lambda: sum(wire.has_input() for wire in idle) >= 40 - 16, "no more than 16 connections are open")
    for wire in idle:
        assert not wire.buffer, "closed without an answer"
        wire.close()
    server.check_alive()


def test_one_address_cannot_take_every_connection(start):
    server = start({"limits.connections_per_address": 8})
    begun = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    wires = []
    for _ in range(24):
        try:
            wire = server.connect()
            wire.send(begun)
            wires.append(wire)
        except ConnectionError:
            pass  # refused at once: fine

    def open_ones():
        return [wire for wire in wires if not wire.has_input()]

    wait_until(lambda: len(open_ones()) <= 8, "no more than 8 connections of one address")
    for wire in wires:
        if wire.has_input():
            responses = wire.read_until_closed()
            assert len(responses) <= 1
            for response in responses:
                check_error(response, 408, 429, 503)
    server.check_alive(source="127.0.0.2")
    for wire in wires:
        wire.close()
    wait_until(lambda: ask(server), "the first address is served again").close()


# -- held polls

def test_one_poll_too_many_answers_the_oldest_empty(start):
    server = start({"limits.polls_per_token": 2})
    workspace = Workspace(server)
    oldest, = workspace.park()
    older, = workspace.park()
    newest = server.connect()
    newest.send(workspace.poll_bytes())
    ended = oldest.read()
    assert (ended.status, ended.body) == (200, b"[]")
    server.wait_metric("restante_held_polls", 2)
    assert not older.has_input() and not newest.has_input()
    workspace.upload(("a.txt", b"uploads go on"))
    for wire in (older, newest):
        assert len(wire.read().json()) == 1
    for wire in (oldest, older, newest):
        wire.close()


def test_the_polls_of_another_token_are_not_counted(start):
    server = start({"limits.polls_per_token": 1})
    workspace = Workspace(server)
    first, = workspace.park()
    second, = workspace.park(token=workspace.new_token())
    assert not first.has_input() and not second.has_input()
    workspace.notify("both")
    for wire in (first, second):
        assert len(wire.read().json()) == 1
        wire.close()


def test_eight_polls_of_one_token_are_held_by_default(server, workspace):
    wires = workspace.park(8)
    extra = server.connect()
    extra.send(workspace.poll_bytes())
    # Sent at the same moment, so any of the eight may be the oldest; exactly one is ended.
    wait_until(lambda: any(wire.has_input() for wire in wires), "the oldest poll is answered")
    ended, = [wire for wire in wires if wire.has_input()]
    assert ended.read().body == b"[]"
    workspace.notify("go")
    for wire in [*(wire for wire in wires if wire is not ended), extra]:
        assert len(wire.read().json()) == 1
        wire.close()
    ended.close()
