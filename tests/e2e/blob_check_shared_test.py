"""One check of all bytes for all servers on a database: begun at one, it is told at every other, also after the one that did it was
killed or stopped."""
import contextlib
import json
import os
import subprocess
import threading

import pytest

from support.checks import check_error
from support.workspace import Workspace
from support.server import Server, binary
from support.server_group import ServerGroup
from support.waiting import CEILING, wait_until

QUIET = {"uploads.sweep_every": "24h", "uploads.check_every": "0s"}
TARGET = "/admin/blobs/check"


@pytest.fixture
def group(postgres):
    with postgres.database() as url:
        made = ServerGroup(url)
        yield made
        made.finish()


def report(server):
    return server.get(TARGET, token=server.admin_token).json()


def start(server, fix=False):
    return server.request("POST", TARGET, token=server.admin_token, json_body={"fix": fix})


class Followed:
    """`restante blobs check` at that server, which tells on stderr what it does."""

    def __init__(self, server, *arguments):
        environment = {**os.environ, "RESTANTE_URL": f"http://127.0.0.1:{server.port}", "RESTANTE_TOKEN": server.admin_token}
        self._process = subprocess.Popen([binary(), "blobs", "check", *arguments], env=environment, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = []
        self._reader = threading.Thread(target=lambda: self.said.extend(iter(self._process.stderr.readline, "")))
        self._reader.start()

    def end(self, code):
        with self._process:
            try:
                out = self._process.stdout.read()
                assert self._process.wait(4 * CEILING) == code, (out, self.said)
                return out
            finally:
                self._process.kill()
                self._reader.join()


@contextlib.contextmanager
def unreadable_for_ever(path):
    """Whoever opens it waits, so that a check is in the middle for as long as one wants."""
    data = path.read_bytes()
    path.unlink()
    os.mkfifo(path, 0o600)
    yield
    path.unlink()
    path.write_bytes(data)


def with_files(server):
    """Three of them; the paths of their bytes, in the order in which they are looked at."""
    workspace, paths = Workspace(server), []
    for n in range(3):
        workspace.upload((f"{n}.bin", os.urandom(100_000)))
        paths += [path for path in (server.data / "blobs").rglob("?" * 32) if path not in paths]
    return paths


def test_begun_at_one_it_is_followed_at_another_that_tells_when_the_first_is_killed(group):
    doomed, other, third = (group.add(QUIET) for _ in range(3))
    paths = with_files(other)
    with unreadable_for_ever(paths[1]):
        assert start(doomed).status == 202
        wait_until(lambda: report(other)["files"] == 1, "the first file has been looked at", 4 * CEILING)
        assert report(third)["state"] == "running" and report(third)["all_files"] == 3
        for server in (doomed, other, third):
            check_error(start(server), 409, code="blob_check_running")
        followed = Followed(other, "--json")
        wait_until(lambda: any("under way" in line for line in followed.said), "it follows the one that was begun")
        doomed.kill()
        shown = json.loads(followed.end(75))
    assert (shown["state"], shown["files"], shown["all_files"], shown["ended_at"]) == ("interrupted", 1, 3, None)
    assert "the server that checked is gone, 1 of 3 files were looked at; start it again" in followed.said[-1], followed.said
    assert report(third)["state"] == "interrupted"
    # Another one begins, anywhere.
    assert "All is well." in Followed(third).end(0)
    assert report(other)["state"] == "done" and report(other)["files"] == 3


def test_the_last_report_is_told_after_a_restart_and_a_stop_is_told_as_such(group):
    one, two = group.add(QUIET), group.add(QUIET)
    paths = with_files(one)
    data = paths[0].read_bytes()
    paths[0].unlink()
    Followed(one).end(1)
    assert one.stop() == 0
    restarted = group.add(QUIET)
    for server in (two, restarted):
        told = report(server)
        assert (told["state"], told["wrong"], [finding["name"] for finding in told["findings"]]) == ("done", 1, ["0.bin"])
    paths[0].write_bytes(data)
    assert start(restarted).status == 202
    assert restarted.stop() == 0
    # Ended by itself, or by the stop; in any case nobody has to wait for a lease.
    assert report(two)["state"] in ("done", "stopped")
    assert start(two).status == 202


def test_alone_on_its_database_a_server_does_not_wait_for_the_one_that_was_killed(tmp_path):
    with Server(QUIET, data=tmp_path) as doomed:
        paths = with_files(doomed)
        with unreadable_for_ever(paths[1]):
            assert start(doomed, fix=True).status == 202
            wait_until(lambda: report(doomed)["files"] == 1, "the first file has been looked at", 4 * CEILING)
            doomed.kill()
    with Server(QUIET, data=tmp_path) as server:
        told = report(server)
        assert (told["state"], told["fix"], told["files"]) == ("interrupted", True, 1)
        assert "All is well." in Followed(server).end(0)
