"""Held polls do not read the database while nothing happens. `make bench` holds ten thousand of them."""
from support.workspace import Workspace
from support.waiting import wait_until
from support.wire import request

POLLS = 200
FEW = POLLS // 10  # the server's background work may read this often meanwhile; one read for each poll would be far above it
SETTINGS = {"limits.polls_per_token": 2 * POLLS, "timeouts.idle": "4s", "log.requests": "none"}


def reads(server):
    return server.metric("restante_store_reads_total")


def let_time_pass(server):
    """Waits until the server has closed a connection that was idle for timeouts.idle: so its clock and its timers have moved on."""
    with server.connect() as idle:
        idle.send(request("GET", "/health"))
        assert idle.read().status == 200
        assert idle.wait_closed() == "eof"


def reads_while_idle(server):
    before = reads(server)
    let_time_pass(server)
    return reads(server) - before


def close(wires):
    for wire in wires:
        wire.close()


def test_reads_are_counted(server, workspace):
    before = reads(server)
    workspace.activity()
    assert reads(server) > before


def test_held_polls_do_not_read_the_database(server, workspace):
    wires = workspace.park(POLLS)
    try:
        # When the server's work at the start is done, there is a time without reads; polls that read would leave none.
        wait_until(lambda: reads_while_idle(server) < FEW, "a time in which the database is not asked")
        assert server.metric("restante_held_polls") == POLLS and not any(wire.has_input() for wire in wires)
        workspace.notify("hello")
        for wire in wires:
            row, = wire.read().json()
            assert row["response_body"] == {"result": "hello"}
    finally:
        close(wires)


def test_a_message_causes_reads_only_by_the_polls_of_its_workspace(server, workspace):
    other = Workspace(server, "other")
    wires, concerned = workspace.park(POLLS), other.park()
    try:
        wait_until(lambda: reads_while_idle(server) < FEW, "a time in which the database is not asked")
        before = reads(server)
        other.notify("for the other")
        assert len(concerned[0].read().json()) == 1
        assert reads(server) - before < POLLS
        assert server.metric("restante_held_polls") == POLLS
    finally:
        close(wires + concerned)


def test_polls_beyond_the_cap_end_empty_and_other_requests_are_served(start):
    """However many polls arrive, the oldest one ends; other requests are served, with two threads."""
    server = start({"limits.polls_per_token": 4, "threads.pool": 2, "threads.io": 1})
    workspace = Workspace(server)
    wires = []
    try:
        for _ in range(60):
            wires.append(server.connect())
            wires[-1].send(workspace.poll_bytes())
        while len(wires) > 4:
            ended = wait_until(lambda: [wire for wire in wires if wire.has_input()], "one too many is answered")
            for wire in ended:
                assert wire.read().body == b"[]"
                wires.remove(wire)
                wire.close()
        server.wait_metric("restante_held_polls", 4)
        (file_id, _), = workspace.upload(("a.bin", b"a" * 1_000_000))
        assert len(server.get(workspace.content(file_id), token=workspace.token).body) == 1_000_000
        for wire in wires:
            row, = wire.read().json()
            assert row["request_body"]["file_id"] == file_id
    finally:
        close(wires)
