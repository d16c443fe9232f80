"""Closed outputs, unexpected signals, mutated requests and abuse: the server goes on, and its memory is freed again."""
import os
import random
import signal
import threading

import pytest

from support.workspace import Workspace, multipart
from support.server import sanitizer
from support.waiting import wait_until
from support.wire import BrokenResponse, chunked, request

MIB = 1024 * 1024


# -- outputs and signals

def test_the_service_goes_on_when_stdout_is_closed(start):
    server = start({"log.requests": "all"}, stdout_closes=True)
    for number in (signal.SIGHUP, signal.SIGPIPE):
        server.signal(number)
    server.check_alive()
    Workspace(server).notify("still here")


def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("stderr", ["closed_pipe", "/dev/full"])
def test_the_service_goes_on_when_its_log_cannot_be_written(start, stderr):
    descriptor = closed_pipe() if stderr == "closed_pipe" else os.open("/dev/full", os.O_WRONLY)
    try:
        server = start({"log.requests": "all", "log.level": "info"}, stderr=descriptor)
    finally:
        os.close(descriptor)
    workspace = Workspace(server)
    for i in range(20):
        workspace.notify(f"message {i}")
        server.get("/no-such-thing")
    assert len(workspace.messages()) == 20
    server.check_alive()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGPIPE], ids=["SIGHUP", "SIGPIPE"])
def test_the_service_goes_on_after_an_unexpected_signal(start, number):
    server = start()
    workspace = Workspace(server)
    wire, = workspace.park()
    for _ in range(5):
        server.signal(number)
    server.check_alive()
    workspace.notify("still here")
    assert len(wire.read().json()) == 1
    wire.close()


# -- mutated requests

def samples(workspace):
    """Correct requests, to be mutated."""
    fields, body = multipart(("a.txt", b"some content"), ("b.txt", b"more"))
    admin = {"Authorization": f"Bearer {workspace.server.admin_token}"}
    return [
        request("GET", "/health"), request("GET", workspace.path("activity?since_seq=0&limit=5"), workspace.auth()),
        workspace.notify_bytes("fuzz"), request("POST", workspace.path("chat/uploads"), {**admin, **fields}, body),
        request("POST", workspace.path("chat/uploads"), {**admin, **fields, "Transfer-Encoding": "chunked"}) + chunked(body[:20], body[20:]),
        request("POST", "/registry/heartbeat", {**workspace.auth(), "Content-Type": "application/json"}, b'{"workspace_id":"x"}'),
    ]


TOKENS = [b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"%", b"\r\n\r\n", b"0\r\n\r\n", b"ffffffff", b"-1", b"--", b"\xff"]
HEADERS = [b"Transfer-Encoding: chunked\r\n", b"Content-Length: 3\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n"]


def mutate(chance, data, others):
    data = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0:
            data[at:at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del data[at:at + chance.randint(1, 20)]
        elif kind == 2:
            data[at:at] = chance.choice(TOKENS)
        elif kind == 3:
            data[at:at] = data[at:at + chance.randint(1, 60)] * chance.randint(1, 4)
        elif kind == 4:
            data[at:] = chance.choice(others)[chance.randrange(40):]
        else:
            data[at:at] = chance.choice(HEADERS)
    return bytes(data)


@pytest.mark.parametrize("seed", range(8))
def test_mutated_requests_get_well_formed_answers_or_none(server, workspace, seed):
    chance, good = random.Random(seed), samples(workspace)
    for round_number in range(60):
        data = mutate(chance, chance.choice(good), good)
        with server.connect() as wire:
            wire.send(data)
            wire.finish_sending()
            try:
                responses = wire.read_until_closed(["HEAD"] if data.startswith(b"HEAD ") else [])
            except BrokenResponse as broken:
                raise AssertionError(f"seed {seed}, round {round_number}: {data!r}: {broken}") from broken
        for response in responses:
            assert response.status not in (500, 502), f"seed {seed}, round {round_number}: {data!r}: {response}"


# -- other clients and memory

def abuse(server, workspace, rounds):
    """Everything at once, several times: big heads, endless bodies, cut uploads, held polls that disconnect, stuck readers."""
    (file_id, _), = workspace.upload(("big.bin", bytes(8 * MIB)))
    for _ in range(rounds):
        wires = [server.connect(receive_buffer=4096) for _ in range(8)]
        for wire in wires[:4]:
            wire.sock.send(request("GET", workspace.content(file_id), workspace.auth()) * 20)
        for wire in wires[4:]:
            wire.send(b"GET /" + b"a" * MIB)
        for data in (b"X: y\r\n" * 100_000, request("POST", workspace.path("notify"), {**workspace.auth(), "Transfer-Encoding": "chunked",
                     "Content-Type": "application/json"}) + b"1;" + b"x" * MIB):
            with server.connect() as wire:
                wire.send(data)
        for wire in workspace.park(8):
            wire.reset()
        for _ in range(8):
            wire, rest = workspace.begin_upload(("cut.bin", bytes(2 * MIB)))
            wire.send(rest[:-100])
            wire.reset()
        for wire in wires:
            wire.close()
        server.wait_metric("restante_held_polls", 0)


def test_uploads_of_others_are_not_disturbed_by_abuse(server, workspace):
    other, stop, failures, done = Workspace(server, "other"), threading.Event(), [], []

    def upload():
        while not stop.is_set():
            try:
                content = os.urandom(256 * 1024)
                (file_id, _), = other.upload(("mine.bin", content))
                assert server.get(other.content(file_id), token=other.token).body == content
                done.append(file_id)
            except Exception as error:  # noqa: BLE001: reported by the test below
                failures.append(error)
                return

    thread = threading.Thread(target=upload)
    thread.start()
    try:
        abuse(server, workspace, 2)
        wait_until(lambda: done or failures, "the other workspace has uploaded something")
    finally:
        stop.set()
        thread.join()
    assert not failures
    assert [row["request_body"]["file_id"] for row in other.activity()] == done


def test_memory_comes_back_after_abuse(start):
    if sanitizer():
        pytest.skip("a sanitizer keeps freed memory in quarantine, so resident memory is no measure")
    server = start()
    workspace = Workspace(server)
    sockets = server.sockets()
    abuse(server, workspace, 2)  # pools, caches and arenas reach their working size
    before = server.rss()
    abuse(server, workspace, 6)
    wait_until(lambda: server.sockets() <= sockets and not server.unfinished_files(), "connections and files are closed")
    wait_until(lambda: server.rss() <= before + 16 * MIB, "resident memory is back within 16 MiB")


def test_thousands_of_short_connections_leave_nothing_behind(server):
    server.check_alive()
    descriptors = len(server.descriptors())
    for i in range(2000):
        wire = server.connect()
        if i % 4 == 1:
            wire.send(request("GET", "/health"))
        elif i % 4 == 2:
            wire.send(b"GET /hea")
        elif i % 4 == 3:
            wire.send(b"\x00\r\n\r\n")
        wire.reset() if i % 3 else wire.close()
    wait_until(lambda: len(server.descriptors()) <= descriptors, "every descriptor is closed")
