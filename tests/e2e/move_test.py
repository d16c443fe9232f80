"""Database moves: everything goes from SQLite to PostgreSQL and back, also with kills, faults and wrong arguments."""
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from support.workspace import Workspace
from support.filled_data import FilledData
from support.postgres import Postgres, clients
from support.server import Server, StartFailed, binary
from support.waiting import wait_until

CEILING = 240  # of one move by a sanitized binary on a busy machine


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as running:
        yield running


@pytest.fixture
def url(postgres):
    with postgres.database() as fresh:
        yield fresh


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A data directory that is filled once; tests get copies of it."""
    return FilledData(tmp_path_factory.mktemp("filled") / "data")


@pytest.fixture
def filled_copy(filled, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(filled.data, copy)
    was, filled.data = filled.data, copy
    yield filled
    filled.data = was


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}


def move(*arguments, code=0):
    done = subprocess.run([binary(), "move", *map(str, arguments)], capture_output=True, text=True, timeout=CEILING, check=False, env=environment())
    assert done.returncode == code, done
    assert "Sanitizer" not in done.stderr, done.stderr
    return done


def refused(*arguments, code=69):
    """The one sentence at the end of the output."""
    return move(*arguments, code=code).stderr.splitlines()[-1]


def report(*arguments):
    return json.loads(move(*arguments, "--json").stdout)


def rows_of(postgres, url, table):
    return int(postgres.sql(f"SELECT count(*) FROM {table}", database=name_of(url)))


def name_of(url):
    return url.rpartition("/")[2]


@contextmanager
def serving(filled_copy, url, **more):
    with Server(filled_copy.settings, arguments=("--database", url), **{"data": filled_copy.data, **more}) as server:
        yield server


def dump(database):
    """Every row of a SQLite file."""
    with closing(sqlite3.connect(database)) as file:
        file.text_factory = bytes
        tables = [name.decode() for name, in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {table: sorted(map(repr, file.execute(f"SELECT * FROM {table}"))) for table in tables}


# -- all of it

def test_a_server_on_postgresql_goes_on_where_the_one_on_sqlite_stopped(filled_copy, url):
    before = dump(filled_copy.database)
    moved = report("--from", filled_copy.url, "--to", url)
    assert moved["outcome"] == "moved" and moved["rows"] == sum(table["rows"] for table in moved["tables"])
    for table in moved["tables"]:
        assert (table["rows"], table["digest"]) == (table["target_rows"], table["target_digest"]), table
        assert table["rows"] > 0, f"{table['name']} was empty: support/filled_data.py fills every table, so that its move is tested"
    assert moved["files"]["files"] > 0 and moved["files"]["missing"] == moved["files"]["changed"] == moved["files"]["copied"] == 0
    after = dump(filled_copy.database)
    assert before.pop("post_offices") and not after.pop("post_offices"), "the id has moved: the source does not own the files any more"
    assert after == before, "nothing else in the source has changed"
    with serving(filled_copy, url) as server:
        filled_copy.check(server)


def test_the_report_for_people_names_each_table_with_its_rows_and_digest(filled_copy, url):
    done = move("--from", filled_copy.url, "--to", url)
    with closing(sqlite3.connect(filled_copy.database)) as rows:
        for table in ("activity_logs", "tokens", "pending_uploads", "delegations"):
            count, = rows.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert any(line.split()[:2] == [table, str(count)] and line.endswith("the same") for line in done.stdout.splitlines()), done.stdout
    for word in ("Reading", "Writing", "Comparing"):
        assert f"\n{word} " in "\n" + done.stderr
    assert "\r" not in done.stderr, "no progress bar without a terminal"
    assert "belong to the new database now" in done.stdout and "To go back" in done.stdout


def test_on_a_terminal_a_bar_shows_how_far_it_is(filled_copy, url):
    mine, its = pty.openpty()
    process = subprocess.Popen([binary(), "move", "--from", filled_copy.url, "--to", url], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its,
                               env={**environment(), "TERM": "xterm"})
    os.close(its)
    shown = b""
    try:
        while chunk := os.read(mine, 4096):
            shown += chunk
    except OSError:
        pass  # Linux reports in this way that the other side has closed
    os.close(mine)
    assert process.wait(CEILING) == 0
    bars = re.findall(r"\r\x1b\[K(?:\[[=> ]+\] )?100 %  (\d+) rows of (\d+) rows", shown.decode())
    assert len(bars) >= 3 and all(done == total for done, total in bars), shown


def test_files_token_and_key_are_copied_if_the_new_server_has_another_directory(filled_copy, url, tmp_path):
    new = tmp_path / "new data"
    first = report("--from", filled_copy.url, "--to", url, "--data-to", new)
    assert first["files"]["copied"] == first["files"]["files"] > 0
    shutil.rmtree(filled_copy.data)
    for secret in ("admin.token", "server.key"):
        assert (new / secret).stat().st_mode & 0o777 == 0o600
    with serving(filled_copy, url, data=new) as server:
        filled_copy.check(server)


def test_there_and_back_again(filled_copy, url, tmp_path):
    there = report("--from", filled_copy.url, "--to", url)
    back = report("--from", url, "--to", f"sqlite://{tmp_path}/back/restante.db", "--data", filled_copy.data, "--data-to", tmp_path / "back")
    assert [(t["name"], t["rows"], t["digest"]) for t in back["tables"]] == [(t["name"], t["rows"], t["digest"]) for t in there["tables"]]
    with Server(filled_copy.settings, data=tmp_path / "back") as server:
        filled_copy.check(server)


def test_content_in_the_database_moves_with_it_and_objects_stay_where_they_are(filled_copy, url, tmp_path):
    with closing(sqlite3.connect(filled_copy.database)) as rows:
        # As in the middle of a blob move: one copy is in the directory, the other is already an object.
        file_key, = rows.execute("SELECT blob_key FROM pending_uploads WHERE filename = 'large.bin'").fetchone()
        rows.execute("UPDATE pending_uploads SET twin_key = blob_key, blob_key = 's3:' || blob_key WHERE filename = 'large.bin'")
        rows.commit()
    target = tmp_path / "new data"
    moved = report("--from", filled_copy.url, "--to", url, "--data-to", target)
    assert moved["outcome"] == "moved" and moved["files"]["objects"] == 1
    chunks, = [table for table in moved["tables"] if table["name"] == "blob_chunks"]
    assert chunks["rows"] == 4 and chunks["digest"] == chunks["target_digest"]
    assert [path.name for path in (target / "blobs").rglob(file_key)] == [file_key], "a second copy that is a file is copied like any other file"
    back = tmp_path / "back" / "restante.db"
    assert report("--from", url, "--to", f"sqlite://{back}", "--data", target)["files"]["objects"] == 1
    shown = move("--from", filled_copy.url, "--to", url, "--verify", "--data", filled_copy.data).stdout
    assert "Objects in S3: 1; they stay in their bucket" in shown
    with serving(filled_copy, f"sqlite://{back}", data=target) as server:
        agent = Workspace(server, known=filled_copy.agent)
        for file_id, content in filled_copy.contents.items():
            assert server.get(agent.content(file_id), token=agent.token).body == content


def test_lost_and_changed_files_are_reported_and_do_not_stop_the_move(filled_copy, url, tmp_path):
    with closing(sqlite3.connect(filled_copy.database)) as rows:
        keys = [key for key, in rows.execute("SELECT blob_key FROM pending_uploads WHERE blob_key IS NOT NULL LIMIT 2")]
    lost, changed = (filled_copy.data / "blobs" / key[30:] / key for key in keys)
    lost.unlink()
    changed.write_bytes(b"?" * changed.stat().st_size)
    done = move("--from", filled_copy.url, "--to", url, "--data-to", tmp_path / "new", "--json")
    assert "the content of 1 files is missing, and the content of 1 files is not what was sent" in done.stderr
    files = json.loads(done.stdout)["files"]
    assert (files["missing"], files["changed"]) == (1, 1)


# -- interrupted

@contextmanager
def stalled(postgres, url, table):
    """No session can write to that table meanwhile, but all can read it."""
    holder = subprocess.Popen([clients() / "psql", "-qAtX", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    holder.stdin.write(f"BEGIN; LOCK TABLE {table} IN SHARE MODE; SELECT 'held';\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "held\n"
    yield
    holder.communicate("COMMIT;\n", timeout=60)


def start_move(*arguments):
    return subprocess.Popen([binary(), "move", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env=environment())


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()


def test_a_move_that_is_killed_again_and_again_goes_on_where_it_was(postgres, filled_copy, url):
    subprocess.run([binary(), "migrate", "up", "--database", url], check=True, stdout=subprocess.DEVNULL, env=environment())
    for table in ("activity_logs", "inbox_heads", "message_keys", "pending_uploads", "upload_contents", "workspaces"):
        with stalled(postgres, url, table):
            process = start_move("--from", filled_copy.url, "--to", url)
            wait_until(lambda: rows_waiting(postgres, url) or process.poll() is not None, "the move has come to the table", CEILING)
            assert process.poll() is None, process.stderr.read()
            kill(process)
        # PostgreSQL may still write what the killed move had sent: the next move must wait for that.
        with pytest.raises(StartFailed) as failed:
            Server(filled_copy.settings, data=filled_copy.data, arguments=("--database", url)).discard()
        assert "has not finished" in str(failed.value)
    dry = report("--from", filled_copy.url, "--to", url, "--dry-run")
    assert dry["target"] == "moving" and dry["resumed_at"] > 0
    moved = report("--from", filled_copy.url, "--to", url)
    assert moved["outcome"] == "moved" and moved["resumed_at"] > 0
    with serving(filled_copy, url) as server:
        filled_copy.check(server)


def rows_waiting(postgres, url):
    return int(postgres.sql(f"SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE NOT l.granted AND d.datname = '{name_of(url)}'"))


@contextmanager
def halting(postgres, url, rows):
    """A writer of inbox rows stops after so many rows; yields a function that returns whether one has stopped."""
    stopped = f"SELECT pid FROM pg_stat_activity WHERE datname = '{name_of(url)}' AND wait_event = 'PgSleep'"
    postgres.sql(f"CREATE FUNCTION halt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF (SELECT count(*) FROM activity_logs) >= {rows} "
                 "THEN PERFORM pg_sleep(3600); END IF; RETURN NULL; END $$",
                 "CREATE TRIGGER halt BEFORE INSERT ON activity_logs FOR EACH STATEMENT EXECUTE FUNCTION halt()", database=name_of(url))
    yield lambda: postgres.sql(stopped) != ""
    postgres.sql(f"SELECT pg_terminate_backend(pid) FROM ({stopped}) halted", "DROP FUNCTION halt CASCADE", database=name_of(url))


def test_a_move_that_is_killed_before_its_last_step_goes_on_and_the_files_have_one_owner(postgres, filled_copy, url):
    subprocess.run([binary(), "migrate", "up", "--database", url], check=True, stdout=subprocess.DEVNULL, env=environment())
    with ExitStack() as held:
        with stalled(postgres, url, "workspaces"):
            process = start_move("--from", filled_copy.url, "--to", url)
            wait_until(lambda: rows_waiting(postgres, url) or process.poll() is not None, "the move is running", CEILING)
            held.enter_context(stalled(postgres, url, "moving_house"))
        ending = lambda: waiting_for(postgres, url, "moving_house") or process.poll() is not None
        wait_until(ending, "only the move marker is left to be removed", CEILING)
        assert process.poll() is None, process.stderr.read()
        kill(process)
    assert not dump(filled_copy.database)["post_offices"], "the old database has no installation id any more"
    assert report("--from", filled_copy.url, "--to", url, "--dry-run")["target"] == "moving"
    moved = report("--from", filled_copy.url, "--to", url)
    assert moved["outcome"] == "moved" and moved["resumed_at"] == moved["rows"]
    with serving(filled_copy, url) as server:
        filled_copy.check(server)
        with pytest.raises(StartFailed) as failed:
            Server(filled_copy.settings, data=filled_copy.data).discard()
        assert "belongs to another installation" in str(failed.value)


def waiting_for(postgres, url, table):
    return int(postgres.sql(f"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = to_regclass('{table}')", database=name_of(url)))


def test_a_kill_in_the_middle_of_a_table_loses_and_doubles_no_row(postgres, filled_copy, url):
    filled_copy.grow(20_000)
    subprocess.run([binary(), "migrate", "up", "--database", url], check=True, stdout=subprocess.DEVNULL, env=environment())
    for rows in (5_000, 10_000, 15_000):
        with halting(postgres, url, rows) as halted:
            process = start_move("--from", filled_copy.url, "--to", url)
            wait_until(lambda: halted() or process.poll() is not None, "it is in the middle of the table", CEILING)
            assert process.poll() is None, process.stderr.read()
            kill(process)
        assert rows <= rows_of(postgres, url, "activity_logs") < 20_000
    moved = report("--from", filled_copy.url, "--to", url)
    log, = [table for table in moved["tables"] if table["name"] == "activity_logs"]
    assert log["rows"] == log["target_rows"] == rows_of(postgres, url, "activity_logs") > 20_000 and moved["resumed_at"] > 0


def test_a_source_that_was_used_meanwhile_is_not_mixed_with_rows_that_were_moved_before(postgres, filled_copy, url):
    subprocess.run([binary(), "migrate", "up", "--database", url], check=True, stdout=subprocess.DEVNULL, env=environment())
    with stalled(postgres, url, "workspaces"):
        process = start_move("--from", filled_copy.url, "--to", url)
        wait_until(lambda: rows_waiting(postgres, url) or process.poll() is not None, "the move is running", CEILING)
        kill(process)
    filled_copy.grow(1)
    for arguments in ((), ("--dry-run",)):
        assert "the source has changed" in refused("--from", filled_copy.url, "--to", url, *arguments)


# -- refused

def test_a_dry_run_reports_what_would_move_and_changes_nothing(postgres, filled_copy, url, tmp_path):
    before = dump(filled_copy.database)
    plan = report("--from", filled_copy.url, "--to", url, "--dry-run", "--data-to", tmp_path / "new")
    assert plan["outcome"] == "would_move" and plan["target"] == "empty" and plan["rows"] > 50 and plan["files"]["files"] > 0
    assert postgres.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace", database=name_of(url)) == "0\n"
    assert not (tmp_path / "new").exists()
    report("--from", filled_copy.url, "--to", f"sqlite://{tmp_path}/other/restante.db", "--dry-run")
    assert not (tmp_path / "other").exists()
    assert dump(filled_copy.database) == before
    moved = report("--from", filled_copy.url, "--to", url)
    assert [(t["name"], t["rows"]) for t in moved["tables"]] == [(t["name"], t["rows"]) for t in plan["tables"]]


def test_a_target_that_is_not_empty_is_refused_and_not_changed(postgres, filled_copy, url):
    report("--from", filled_copy.url, "--to", url)
    count = rows_of(postgres, url, "activity_logs")
    assert "not empty" in refused("--from", filled_copy.url, "--to", url)
    assert "not empty" in refused("--from", filled_copy.url, "--to", url, "--dry-run")
    assert rows_of(postgres, url, "activity_logs") == count
    assert report("--from", filled_copy.url, "--to", url, "--verify")["outcome"] == "same"
    postgres.sql("UPDATE tokens SET label = label || '!'", database=name_of(url))
    done = move("--from", filled_copy.url, "--to", url, "--verify", code=1)
    assert any(line.startswith("tokens ") and line.endswith("as many, but not the same") for line in done.stdout.splitlines()), done.stdout


def test_a_foreign_database_is_refused(postgres, filled_copy, url):
    postgres.sql("CREATE TABLE customers (id int)", database=name_of(url))
    assert "not Restante's" in refused("--from", filled_copy.url, "--to", url)


def test_a_source_in_use_is_refused(filled_copy, url):
    with Server(filled_copy.settings, data=filled_copy.data):
        assert "in use by process" in refused("--from", filled_copy.url, "--to", url)


def test_a_source_on_postgresql_in_use_is_refused(filled_copy, url, tmp_path):
    report("--from", filled_copy.url, "--to", url)
    with serving(filled_copy, url):
        assert "--from: a restante server" in refused("--from", url, "--to", f"sqlite://{tmp_path}/back/restante.db", "--data", filled_copy.data)
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("name, ways", [("", ((), ("--dry-run",), ("--verify",))), ("?application_name=other-name", (("--dry-run",),))],
                         ids=["by its name", "under another name"])
def test_a_target_in_use_is_refused_also_by_a_dry_run(filled_copy, url, tmp_path, name, ways):
    (tmp_path / "other").mkdir()
    with Server(filled_copy.settings, data=tmp_path / "other", arguments=("--database", url + name)) as server:
        for arguments in ways:
            assert "--to: a restante server, or another move, has this database open; stop it first" in refused(
                "--from", filled_copy.url, "--to", url, *arguments)
        assert server.get("/ready").status == 200, "the server still works"
    assert report("--from", filled_copy.url, "--to", url, "--dry-run")["target"] == "empty", "a server that was only started has written nothing"
    assert report("--from", filled_copy.url, "--to", url)["outcome"] == "moved"
    with serving(filled_copy, url) as server:
        filled_copy.check(server)


def test_a_target_on_sqlite_in_use_is_refused_also_by_a_dry_run(filled_copy, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with Server(filled_copy.settings, data=other):
        for dry in ((), ("--dry-run",)):
            assert "in use by process" in refused("--from", filled_copy.url, "--to", f"sqlite://{other}/restante.db", "--data", filled_copy.data, *dry)


def test_no_server_starts_on_a_database_that_is_being_moved_away(postgres, filled_copy, url, tmp_path):
    report("--from", filled_copy.url, "--to", url)
    with postgres.database() as new:
        subprocess.run([binary(), "migrate", "up", "--database", new], check=True, stdout=subprocess.DEVNULL, env=environment())
        with stalled(postgres, new, "workspaces"):
            process = start_move("--from", url, "--to", new, "--data", filled_copy.data)
            wait_until(lambda: rows_waiting(postgres, new) or process.poll() is not None, "the move is running", CEILING)
            with pytest.raises(StartFailed) as failed:
                serving(filled_copy, url).__enter__()
            assert "a restante move has this database for itself" in str(failed.value)
        _, output = process.communicate(timeout=CEILING)
        assert process.returncode == 0, output
        with serving(filled_copy, new) as server:
            filled_copy.check(server)


@pytest.mark.parametrize("change, expected", [
    ("DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)", "older than this binary"),
    ("INSERT INTO schema_migrations SELECT max(version) + 1, 'future', 0, 1, digest FROM schema_migrations", "newer than this binary"),
], ids=["older", "newer"])
def test_a_source_of_another_schema_is_refused_with_what_to_do(filled_copy, url, change, expected):
    with closing(sqlite3.connect(filled_copy.database)) as rows:
        rows.execute(change)
        rows.commit()
    assert expected in refused("--from", filled_copy.url, "--to", url)


@pytest.mark.parametrize("source, target, code, expected", [
    ("{folder}/data/restante.db", "{url}", 64, "--from must be sqlite://PATH"),
    ("{source}", "mysql://u:hunter2@h/d", 64, "--to must be sqlite://PATH"),
    ("{source}", "{source}", 64, "the same database"),
    ("{source}", "sqlite://{folder}/./data/../data/restante.db", 64, "the same database"),
    ("{source}", "sqlite://{folder}/data/other.db", 64, "are in the same directory, {folder}/data: a data directory is for one database"),
    ("{source}", "sqlite://{folder}/data/server.key/new/restante.db", 69, "--to: {folder}/data/server.key is not a directory"),
    ("sqlite://{folder}/data", "{url}", 64, "did you mean sqlite://{folder}/data/restante.db?"),
    ("sqlite://{folder}/none.db", "{url}", 69, "there is no database {folder}/none.db"),
    ("{source}", "postgres://nobody:hunter2@127.0.0.1:1/none", 69, "--to: the database cannot be opened"),
    ("{source}", "{url}_none", 69, "does not exist"),
], ids=["a path", "another kind", "twice the same", "the same by another name", "the same directory",
        "under a file", "a directory", "no file", "no server", "no database"])
def test_a_wrong_url_gets_a_sentence_that_helps(filled_copy, url, source, target, code, expected):
    values = {"folder": filled_copy.data.parent, "source": filled_copy.url, "url": url}
    sentence = refused("--from", source.format(**values), "--to", target.format(**values), code=code)
    assert expected.format(**values) in sentence and "hunter2" not in sentence


def test_a_wrong_data_directory_is_refused(filled_copy, url, tmp_path):
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    shutil.copy(filled_copy.database, lonely)
    assert "--data names" in refused("--from", f"sqlite://{lonely}/restante.db", "--to", url)
    (lonely / "admin.token").write_text("x" * 43 + "\n")
    (lonely / "admin.token").chmod(0o600)
    assert "belongs to another server" in refused("--from", filled_copy.url, "--to", url, "--data-to", lonely)
    assert Path(lonely, "admin.token").read_text().strip() == "x" * 43


def test_a_directory_for_files_that_cannot_be_made_is_reported_by_the_dry_run_too(postgres, filled_copy, url, tmp_path):
    (tmp_path / "file").touch()
    for dry in ((), ("--dry-run",)):
        for folder in (tmp_path / "file", tmp_path / "file" / "deep" / "down"):
            assert f"--data-to: {tmp_path}/file is not a directory" in refused("--from", filled_copy.url, "--to", url, "--data-to", folder, *dry)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "blobs").touch()
    sentence = refused("--from", filled_copy.url, "--to", url, "--data-to", tmp_path / "new")
    assert f"cannot use {tmp_path}/new/blobs" in sentence and "Not a directory" in sentence
    assert postgres.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace", database=name_of(url)) == "0\n"
