"""Fixtures of the end-to-end tests.

server     one process per test file, with the file's SETTINGS (a dict, optional); checked after every test
start      start(settings, …) starts a server for one test; all are stopped and checked at the end
workspace  a fresh workspace on `server`
connect    connect(url, token=…) starts a `restante connect` for one test
any_agent  the same with every kind of agent, one test for each (support/agent_kinds.py)
mcp        mcp(url, token=…) starts a `restante mcp` for one test and does the handshake
proxy      proxy(port, gate=…, tap=…) starts a proxy between an agent and the server
postgres   a PostgreSQL server for the test file
swift      an S3 server for the test file
"""
import resource
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.agent import Connect, Proxy  # noqa: E402
from support.agent_kinds import KINDS, chosen_kinds  # noqa: E402
from support.workspace import Workspace  # noqa: E402
from support.mcp import Mcp  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.server import Server  # noqa: E402
from support.swift import Swift  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "bytes: about the content of files; repeated with every blob place (support/backend.py)")
    # A thousand connections need more than the usual soft limit of 1024 descriptors, here and in the server we start.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 16384 if hard == resource.RLIM_INFINITY else min(16384, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Slot:
    """The server of a test file: started when first needed, and again after a test that broke it."""

    def __init__(self, settings):
        self._settings, self._server = settings, None

    def get(self):
        if not self._server:
            self._server = Server(self._settings)
        return self._server

    def check(self):
        """Fails if the server is not healthy. It is then discarded, and the next test gets a new one."""
        try:
            self._server.check_alive()
            self._server.check_reports()
        except BaseException:
            broken, self._server = self._server, None
            broken.discard()
            broken.check_reports()  # a sanitizer's report explains more than a closed connection
            raise

    def finish(self):
        if self._server:
            self._server.finish()


@pytest.fixture(scope="module")
def server_slot(request):
    slot = Slot(getattr(request.module, "SETTINGS", {}))
    yield slot
    slot.finish()


@pytest.fixture
def server(server_slot):
    yield server_slot.get()
    server_slot.check()


@pytest.fixture
def start():
    servers = []

    def starter(settings=None, **options):
        servers.append(Server(settings, **options))
        return servers[-1]

    yield starter
    errors = []
    for running in reversed(servers):
        try:
            running.finish()
        except AssertionError as error:
            errors.append(error)
    if errors:
        raise errors[0]


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as running:
        yield running


@pytest.fixture(scope="module")
def swift():
    with Swift() as running:
        yield running


@pytest.fixture
def workspace(server):
    return Workspace(server)


def make_agents(kind):
    made = []

    def maker(*arguments, **options):
        made.append(kind(*arguments, **options))
        return made[-1]

    yield maker
    for one in made:
        one.clean()
    for root in {one.root for one in made}:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def connect():
    """connect(url, token=…) starts a `restante connect`; all end with the test."""
    yield from make_agents(Connect)


@pytest.fixture(params=chosen_kinds())
def any_agent(request, connect):
    """any_agent(url, token=…) starts an agent of the kind under test; the options are those of support.agent.Connect, and `around`: words
    of a command that starts it."""
    program = KINDS[request.param]()
    return lambda url, around=(), **options: connect(url, program=[*around, *program], **options)


@pytest.fixture
def mcp():
    """mcp(url, token=…) starts a `restante mcp`; all end with the test."""
    yield from make_agents(Mcp)


@pytest.fixture
def proxy():
    """proxy(port, gate=…, tap=…) starts a proxy between an agent and the server."""
    made = []

    def maker(*arguments, **options):
        made.append(Proxy(*arguments, **options))
        return made[-1]

    yield maker
    for one in made:
        one.close()
