"""Behind pgbouncer: with pool_mode = session everything works; otherwise servers and moves refuse to start and name what they need."""
import subprocess

import pytest

from support.workspace import Workspace
from support.pgbouncer import Pgbouncer
from support.postgres import QUICK, Postgres
from support.server import Server, StartFailed, binary
from support.server_group import ServerGroup
from support.waiting import wait_until


@pytest.fixture(scope="module")
def postgres():
    with Postgres(QUICK) as running:
        yield running


@pytest.fixture
def url(postgres):
    with postgres.database() as fresh:
        yield fresh


@pytest.fixture
def group(url):
    made = ServerGroup(url)
    yield made
    made.finish()


def test_in_session_mode_everything_works_and_heals(postgres, group):
    with Pgbouncer(postgres, "session") as bouncer:
        one, other = group.add(url=bouncer.through(group.url)), group.add(url=bouncer.through(group.url))
        workspace = Workspace(one)
        for content in (b"small", b"large" * 100_000):
            held, = workspace.on(other).park()
            (file_id, _), = workspace.upload(("a.txt", content))
            row, = held.read().json()
            assert row["request_body"]["file_id"] == file_id
            assert other.get(workspace.content(file_id), token=workspace.token).body == content
        bouncer.stop()
        assert one.get("/ready").status == 503
        bouncer.start()
        wait_until(lambda: one.get("/ready").status == other.get("/ready").status == 200, "both are ready again")
        other.wait_log("announcements_healed")
        held, = workspace.on(other).park()
        workspace.notify("again")
        assert [row["method"] for row in held.read().json()] == ["notify"]
        one.stop()
        other.stop()


def test_with_shared_sessions_the_start_is_refused_with_what_is_needed(postgres, group):
    with Pgbouncer(postgres, "transaction") as bouncer, pytest.raises(StartFailed) as failed:
        group.add(url=bouncer.through(group.url))
    assert "pool_mode = session" in str(failed.value)


CONTENT = b"large" * 10_000


@pytest.fixture
def moving(tmp_path):
    """A SQLite data directory with a file in it."""
    data = tmp_path / "data"
    data.mkdir()
    with Server(data=data) as server:
        workspace = Workspace(server)
        (file_id, _), = workspace.upload(("a.bin", CONTENT))
        server.stop()
    yield data, workspace, file_id


def move(data, source, target, *arguments):
    return subprocess.run([binary(), "move", "--from", source, "--to", target, "--data", data, *arguments], capture_output=True, text=True, timeout=240,
                          stdin=subprocess.DEVNULL)


def starts(data, url, workspace, file_id):
    with Server(data=data, arguments=("--database", url)) as server:
        assert server.get(workspace.on(server).content(file_id), token=workspace.token).body == CONTENT
        server.stop()


def test_a_move_works_in_both_directions_in_session_mode_and_holds_no_lock_afterwards(postgres, url, moving, tmp_path):
    data, *file = moving
    with Pgbouncer(postgres, "session") as bouncer:
        done = move(data, f"sqlite://{data}/restante.db", bouncer.through(url))
        assert done.returncode == 0, done
        starts(data, bouncer.through(url), *file)
        starts(data, url, *file)
        done = move(data, bouncer.through(url), f"sqlite://{tmp_path}/back/restante.db")
        assert done.returncode == 0, done
        starts(data, f"sqlite://{tmp_path}/back/restante.db", *file)


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_with_shared_sessions_a_move_is_refused_and_leaves_nothing_in_them(postgres, url, moving, tmp_path, mode):
    data, *file = moving
    old = f"sqlite://{data}/restante.db"
    with Pgbouncer(postgres, mode) as bouncer:
        for arguments in ((), ("--dry-run",), ()):
            done = move(data, old, bouncer.through(url), *arguments)
            assert done.returncode == 69 and "pool_mode = session" in done.stderr, done
        done = move(data, old, url)
        assert done.returncode == 0, done
        done = move(data, bouncer.through(url), f"sqlite://{tmp_path}/back/restante.db")
        assert done.returncode == 69 and "pool_mode = session" in done.stderr, done
        starts(data, url, *file)
