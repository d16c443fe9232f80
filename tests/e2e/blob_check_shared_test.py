"""One blob check for all servers on a database: it is started at one server, and every other server reports its state, also after the
server that ran it was killed or stopped."""
import json
import os
import subprocess
import threading

import pytest

from support.blocked_open import BlockedOpen
from support.checks import check_error
from support.workspace import Workspace
from support.server import Server, binary
from support.server_group import ServerGroup
from support.waiting import CEILING, wait_until

NO_BACKGROUND = {"uploads.sweep_every": "24h", "uploads.check_every": "0s"}
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


class CheckCommand:
    """A running `restante blobs check` on that server, with the lines of its stderr."""

    def __init__(self, server, *arguments):
        environment = {**os.environ, "RESTANTE_URL": f"http://127.0.0.1:{server.port}", "RESTANTE_TOKEN": server.admin_token}
        self._process = subprocess.Popen([binary(), "blobs", "check", *arguments], env=environment, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.stderr = []
        self._reader = threading.Thread(target=lambda: self.stderr.extend(iter(self._process.stderr.readline, "")))
        self._reader.start()

    def end(self, code):
        with self._process:
            try:
                out = self._process.stdout.read()
                assert self._process.wait(4 * CEILING) == code, (out, self.stderr)
                return out
            finally:
                self._process.kill()
                self._reader.join()


def with_files(server):
    """Uploads three files; returns the paths of their blobs, in the order in which a check reads them."""
    workspace, paths = Workspace(server), []
    for n in range(3):
        workspace.upload((f"{n}.bin", os.urandom(100_000)))
        paths += [path for path in (server.data / "blobs").rglob("?" * 32) if path not in paths]
    return paths


def test_a_check_started_at_one_server_is_followed_at_another_which_reports_when_the_first_is_killed(group, tmp_path):
    opens = BlockedOpen(tmp_path)
    killed = group.add(NO_BACKGROUND, environment=opens.environment)
    other, third = (group.add(NO_BACKGROUND) for _ in range(2))
    paths = with_files(other)
    with opens.blocked(paths[1]):
        assert start(killed).status == 202
        wait_until(lambda: report(other)["files"] == 1, "the first file has been looked at", 4 * CEILING)
        assert report(third)["state"] == "running" and report(third)["all_files"] == 3
        for server in (killed, other, third):
            check_error(start(server), 409, code="blob_check_running")
        command = CheckCommand(other, "--json")
        wait_until(lambda: any("already running" in line for line in command.stderr), "it follows the check that was started")
        killed.kill()
        shown = json.loads(command.end(75))
    assert (shown["state"], shown["files"], shown["all_files"], shown["ended_at"]) == ("interrupted", 1, 3, None)
    assert "the server that ran the check has stopped, 1 of 3 files were checked; start the check again" in command.stderr[-1], command.stderr
    assert report(third)["state"] == "interrupted"
    # Any server may start another check.
    assert "All is well." in CheckCommand(third).end(0)
    assert report(other)["state"] == "done" and report(other)["files"] == 3


def test_the_last_report_is_shown_after_a_restart_and_a_stop_is_shown_as_a_stop(group):
    one, two = group.add(NO_BACKGROUND), group.add(NO_BACKGROUND)
    paths = with_files(one)
    data = paths[0].read_bytes()
    paths[0].unlink()
    CheckCommand(one).end(1)
    assert one.stop() == 0
    restarted = group.add(NO_BACKGROUND)
    for server in (two, restarted):
        state = report(server)
        assert (state["state"], state["wrong"], [finding["name"] for finding in state["findings"]]) == ("done", 1, ["0.bin"])
    paths[0].write_bytes(data)
    assert start(restarted).status == 202
    assert restarted.stop() == 0
    # The check ended by itself or by the stop. In both cases the next check need not wait for a lease.
    assert report(two)["state"] in ("done", "stopped")
    assert start(two).status == 202


def test_alone_on_its_database_a_server_does_not_wait_for_the_one_that_was_killed(tmp_path):
    opens, data = BlockedOpen(tmp_path), tmp_path / "data"
    data.mkdir()
    with Server(NO_BACKGROUND, data=data, environment=opens.environment) as killed:
        paths = with_files(killed)
        with opens.blocked(paths[1]):
            assert start(killed, fix=True).status == 202
            wait_until(lambda: report(killed)["files"] == 1, "the first file has been looked at", 4 * CEILING)
            killed.kill()
    with Server(NO_BACKGROUND, data=data) as server:
        state = report(server)
        assert (state["state"], state["fix"], state["files"]) == ("interrupted", True, 1)
        assert "All is well." in CheckCommand(server).end(0)
