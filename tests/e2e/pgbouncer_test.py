"""Behind pgbouncer: with pool_mode = session everything works; otherwise the server refuses to start and says what it needs."""
import pytest

from support.desk import Workspace
from support.pgbouncer import Pgbouncer
from support.postgres import QUICK, Postgres
from support.server import StartFailed
from support.several import Several
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
def house(url):
    made = Several(url)
    yield made
    made.finish()


def test_in_session_mode_everything_works_and_heals(postgres, house):
    with Pgbouncer(postgres, "session") as bouncer:
        one, other = house.add(url=bouncer.through(house.url)), house.add(url=bouncer.through(house.url))
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


def test_where_sessions_are_shared_the_start_is_refused_with_what_is_needed(postgres, house):
    with Pgbouncer(postgres, "transaction") as bouncer, pytest.raises(StartFailed) as failed:
        house.add(url=bouncer.through(house.url))
    assert "pool_mode = session" in str(failed.value)
