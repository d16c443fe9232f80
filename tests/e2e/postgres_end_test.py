"""A server that gets SIGTERM ends in time, whatever the state of PostgreSQL is: every thread that waits for PostgreSQL gives up."""
import signal
import threading
from contextlib import contextmanager

import pytest

from support.workspace import Workspace
from support.postgres import DURABLE, Postgres
from support.postgres_proxy import AFTER, PostgresProxy
from support.server_group import ServerGroup, database_of
from support.waiting import wait_until

# Far longer than a test waits for the end of a server (support/server.py): none of these timeouts may decide how long the end takes.
PATIENT = {"timeouts.drain": "500ms", "postgres.connect_timeout": "30m", "postgres.statement_timeout": "30m"}


@pytest.fixture(scope="module")
def postgres():
    with Postgres(DURABLE) as running:
        yield running


@pytest.fixture
def group(postgres):
    with postgres.database() as url:
        made = ServerGroup(url)
        yield made
        made.finish()


@contextmanager
def dropped(postgres, group):
    postgres.sql(f"DROP DATABASE {database_of(group.url)} WITH (FORCE)")
    yield


@contextmanager
def stalled(postgres, _):
    with postgres.stalled():
        yield


@contextmanager
def killed(postgres, _):
    postgres.stop(signal.SIGKILL)
    try:
        yield
    finally:
        postgres.start()


class Writers:
    """Threads that write until the context ends, whatever the answers are."""

    def __init__(self, workspace, count):
        self._workspace, self._stopping, self.written = workspace, threading.Event(), 0
        self._threads = [threading.Thread(target=self._run) for _ in range(count)]

    def _run(self):
        while not self._stopping.is_set():
            try:
                server = self._workspace.server
                answer = server.request("POST", self._workspace.path("notify"), token=self._workspace.token, json_body={"message": "x"})
                self.written += answer.status == 200
            except (OSError, AssertionError):
                self._stopping.wait(0.01)  # the server has ended, or closed the connection while ending

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("writers", [0, 20], ids=["idle", "under load"])
@pytest.mark.parametrize("lost", [dropped, stalled, killed], ids=lambda lost: lost.__name__)
def test_a_server_whose_database_is_lost_ends_on_sigterm(postgres, group, lost, writers):
    server = group.add(PATIENT)
    workspace = Workspace(server)
    workspace.notify("before")
    held, = workspace.park()
    with Writers(workspace, writers) as under_way:
        wait_until(lambda: writers == 0 or under_way.written >= 50, "they write")
        with lost(postgres, group):
            assert server.stop() == 0
    held.close()


@pytest.fixture
def proxy(postgres):
    made = PostgresProxy(postgres.port)
    yield made
    made.close()


@contextmanager
def unsure(group, proxy, settings):
    """(server, connection): the server asks how a COMMIT ended and gets no answer."""
    server = group.add(settings, url=proxy.through(group.url))
    workspace = Workspace(server)
    fault = proxy.arm(AFTER, b"unsure")
    fault.then = proxy.refuse
    with server.connect() as wire:
        wire.send(workspace.notify_bytes("unsure"))
        assert fault.struck.wait(60)
        tried = proxy.connections
        wait_until(lambda: proxy.connections >= tried + 3, "the server asks again and again")
        yield server, wire


def refuses(server):
    try:
        server.connect().close()
    except OSError:
        return True
    return False


def test_a_server_that_asks_how_a_commit_ended_still_ends(group, proxy):
    with unsure(group, proxy, PATIENT) as (server, wire):
        assert server.stop() == 0
        answer = wire.read()
        assert answer is None or answer.status == 503, "no answer claims that it was done, or not"


def test_after_a_second_signal_it_waits_for_no_request(group, proxy):
    with unsure(group, proxy, {**PATIENT, "timeouts.drain": "30m"}) as (server, _):
        server.signal(signal.SIGTERM)
        wait_until(lambda: refuses(server), "it has begun to end")
        assert server.stop() == 0
