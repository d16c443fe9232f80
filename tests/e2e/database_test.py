"""The database is lost, replaced, damaged or read-only: the server does not start, or refuses every write. It never goes on with an
empty database and never accepts a request without a valid token."""
import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from support.checks import check_error
from support.workspace import Workspace, multipart
from support.server import Server, StartFailed, binary
from support.waiting import wait_until

NOBODY_UID = 65534
PAGE = 4096


@pytest.fixture
def used(tmp_path):
    """(directory, workspace) of a data directory with a workspace and messages, all of them in the database file."""
    with Server(data=tmp_path) as server:
        workspace = Workspace(server)
        for n in range(50):
            workspace.notify(f"{n} " + "x" * 1000)
    assert not (tmp_path / "restante.db-wal").exists(), "stopping leaves one file"
    return tmp_path, workspace


def damage(file, first_page):
    size = file.stat().st_size
    assert size > (first_page + 5) * PAGE
    with open(file, "r+b") as out:
        out.seek(first_page * PAGE)
        out.write(b"\xff" * (size - first_page * PAGE))


def check_does_not_start(data, expected, **options):
    """The start fails with a sentence that names the file and the fault; the directory does not change."""
    before = {file.name: file.read_bytes() for file in data.iterdir() if file.is_file() and file.name != "lock"}
    with pytest.raises(StartFailed) as failed:
        Server(data=data, **options).discard()
    assert failed.value.code not in (0, None) and failed.value.code > 0, failed.value
    sentence = str(failed.value)
    assert "restante.db" in sentence and expected in sentence, sentence
    after = {file.name: file.read_bytes() for file in data.iterdir() if file.is_file() and file.name != "lock"}
    made = {name for name in after.keys() - before.keys() if after[name]}
    assert made <= {"restante.db-shm"} and before.items() <= after.items(), "nothing was made, changed or removed"


# -- at start

def test_a_lost_database_is_not_taken_for_a_new_one(used):
    data, _ = used
    (data / "restante.db").unlink()
    check_does_not_start(data, "missing")


def test_an_emptied_database_is_not_taken_for_a_new_one(used):
    data, _ = used
    (data / "restante.db").write_bytes(b"")
    check_does_not_start(data, "empty")
    migrated = subprocess.run([binary(), "migrate", "up", "--data", data], capture_output=True, text=True)
    assert migrated.returncode == 69 and "empty" in migrated.stderr, migrated
    assert (data / "restante.db").read_bytes() == b""


def test_a_log_without_its_database_is_kept(used):
    data, workspace = used
    with Server(data=data) as server:
        workspace.on(server).notify("only in the log")
        server.kill()
    (data / "restante.db").rename(data / "moved")
    check_does_not_start(data, "its log is there")
    (data / "moved").rename(data / "restante.db")
    with Server(data=data) as server:
        assert workspace.on(server).messages()[-1] == "only in the log"


@pytest.mark.parametrize("content", [b"not a database at all, but quite long " * 500, b"SQLite format 3\0" + b"\xff" * 5000],
                         ids=["text", "header_only"])
def test_a_file_that_is_no_database_is_refused(used, content):
    data, _ = used
    (data / "restante.db").write_bytes(content)
    check_does_not_start(data, "")


def test_a_database_of_another_program_is_refused(used):
    data, _ = used
    (data / "restante.db").unlink()
    with closing(sqlite3.connect(data / "restante.db")) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.commit()
    check_does_not_start(data, "not Restante's")


def test_a_damaged_page_is_refused(used):
    data, _ = used
    damage(data / "restante.db", 8)
    check_does_not_start(data, "damaged")


def test_a_database_cut_short_is_refused(used):
    data, _ = used
    os.truncate(data / "restante.db", (data / "restante.db").stat().st_size // 2)
    check_does_not_start(data, "")


def test_a_read_only_database_is_refused(used, monkeypatch):
    """Nothing is read-only for root, so then the server runs as another user, with its data where that user can read it."""
    data, workspace = used
    user = NOBODY_UID if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="restante-test-") as folder:
        place = Path(folder) / "data"
        shutil.copytree(data, place)
        if user:
            monkeypatch.setenv("RESTANTE_BINARY", shutil.copy(binary(), folder))
            for path in [Path(folder), *Path(folder).rglob("*")]:
                os.chown(path, user, user)
        (place / "restante.db").chmod(0o400)
        check_does_not_start(place, "read-only", user=user)
        (place / "restante.db").chmod(0o600)
        with Server(data=place, user=user) as server:
            assert len(workspace.on(server).messages()) == 50


def test_a_second_server_on_the_same_data_is_refused_and_the_first_goes_on(used):
    data, workspace = used
    with Server(data=data) as first:
        with pytest.raises(StartFailed) as failed:
            Server(data=data).discard()
        assert str(first.process.pid) in str(failed.value)
        workspace.on(first).notify("still here")


# -- while it runs

def check_accepts_nothing(server, workspace):
    """Every write is answered 503, readiness fails, no request without a valid token succeeds, and no valid token is called wrong."""
    headers, body = multipart(("a.txt", b"content"))
    for answer in (server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": "lost?"}),
                   server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "lost?"}),
                   server.request("POST", workspace.path("chat/uploads"), token=server.admin_token, headers=headers, body=body)):
        check_error(answer, 503)
    ready = server.get("/ready")
    assert ready.status == 503 and ready.json()["checks"]["database"] == "failed", ready
    assert server.get("/health").status == 200


def test_a_server_whose_database_another_program_has_locked_is_not_ready(used):
    data, workspace = used
    with Server(data=data) as server, closing(sqlite3.connect(data / "restante.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        check_accepts_nothing(server, workspace.on(server))
        reason = server.wait_log("not_ready")["reason"]
        # Behind a message that waits for the lock the check does not get as far as the lock itself.
        assert "locked" in reason or "had no answer" in reason, reason
        other.execute("ROLLBACK")
        wait_until(lambda: server.get("/ready").status == 200, "it is ready again")
        workspace.on(server).notify("again")


@pytest.mark.parametrize("replacement", ["nothing", "an empty file", "an older copy", "a foreign database"])
def test_a_database_that_is_removed_while_the_server_runs_gets_no_more_writes(used, replacement):
    data, workspace = used
    database = data / "restante.db"
    shutil.copy(database, data / "copy")
    with Server(data=data) as server:
        workspace = workspace.on(server)
        workspace.notify("the last one")
        wire, = workspace.park()
        if replacement == "nothing":
            database.unlink()
        else:
            new = data / "new"
            if replacement == "an older copy":
                (data / "copy").rename(new)
            elif replacement == "a foreign database":
                with closing(sqlite3.connect(new)) as other:
                    other.execute("CREATE TABLE bookmarks (url TEXT)")
                    other.commit()
            else:
                new.touch()
            new.rename(database)
        check_accepts_nothing(server, workspace)
        rows = server.get(workspace.path("activity?since_seq=0&limit=500"), token=workspace.token)
        assert rows.status == 503 or len(rows.json()) == 51, "all of it or nothing, never an empty inbox"
        check_error(server.get(workspace.path("activity"), token="x" * 43), 401, 503)
        assert not wire.has_input() or wire.read().status == 503
        wire.close()
        server.expected_exit = None


def test_a_log_that_is_removed_while_the_server_runs_is_noticed_before_the_next_write_is_acknowledged(used):
    data, workspace = used
    with Server(data=data) as server:
        workspace = workspace.on(server)
        workspace.notify("the last one")
        (data / "restante.db-wal").unlink()
        check_accepts_nothing(server, workspace)
        server.expected_exit = None


def test_a_database_that_is_damaged_while_the_server_runs_accepts_no_token(used):
    data, workspace = used
    with Server(data=data) as server:
        workspace = workspace.on(server)
        damage(data / "restante.db", 1)
        for token in (workspace.token, "x" * 43):
            check_error(server.get(workspace.path("activity?since_seq=0"), token=token), 503, code="platform_unavailable")
        check_accepts_nothing(server, workspace)
        server.expected_exit = None


def test_an_upload_whose_inbox_row_cannot_be_written_leaves_nothing(used):
    data, workspace = used
    with Server(data=data) as server, closing(sqlite3.connect(data / "restante.db", timeout=30)) as beside:
        workspace = workspace.on(server)
        head = workspace.head()
        beside.execute("ALTER TABLE activity_logs RENAME TO hidden")
        headers, body = multipart(("a.txt", b"content" * 10_000), ("b.txt", b"more"))
        check_error(server.request("POST", workspace.path("chat/uploads"), token=server.admin_token, headers=headers, body=body), 503)
        beside.execute("ALTER TABLE hidden RENAME TO activity_logs")
        assert server.get(workspace.path("pending-uploads"), token=workspace.token).json() == []
        assert workspace.head() == head
        (file_id, _), = workspace.upload(("a.txt", b"content"))
        assert server.get(workspace.content(file_id), token=workspace.token).body == b"content"
