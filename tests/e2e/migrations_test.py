"""The schema: it equals the golden file, is the same after migrating down and up again, and has everything that the contract names."""
import os
import re
import sqlite3
import subprocess
from contextlib import closing

import pytest

from support.catalogue import postgres_catalogue, sqlite_catalogue
from support.workspace import Workspace
from support.golden import check_golden
from support.postgres import Postgres, clients
from support.server import Server, StartFailed, binary
from support.waiting import wait_until

# The promises of documents and contract about the tables, in the catalogue's spelling.
PROMISED_INDEXES = {
    "idx_pending_uploads_workspace_unacked": "(workspace_id, created_at) WHERE (acked_at IS NULL)",
    "idx_pending_uploads_expires": "(expires_at) WHERE (acked_at IS NULL)",
    "idx_pending_uploads_acked": "(acked_at) WHERE (acked_at IS NOT NULL)",
    "idx_delegations_inflight_heartbeat": "WHERE (status = ANY (ARRAY['queued'::text, 'dispatched'::text, 'in_progress'::text]))",
    "idx_delegations_caller_created": "(caller_id, created_at)",
    "idx_delegations_callee_created": "(callee_id, created_at)",
    "idx_delegations_idempotency": "(caller_id, idempotency_key) WHERE (idempotency_key IS NOT NULL)",
    "idx_activity_logs_workspace_seq": "(workspace_id, seq)",
}
PROMISED_CHECKS = [
    "pending_uploads.*size_bytes > 0.*size_bytes <= 26214400",
    "pending_uploads.*length\\(filename\\) >= 1.*length\\(filename\\) <= 100",
    "pending_uploads.*octet_length\\(sha256\\) = 32",
    "delegations.*'queued'.*'dispatched'.*'in_progress'.*'completed'.*'failed'.*'stuck'",
    "delegations.*length\\(delegation_id\\) >= 1.*<= 128",
    "delegations.*octet_length\\(task_preview\\) <= 4096",
    "workspaces.*'awaiting_agent'.*'online'.*'degraded'.*'offline'.*'removed'",
    "workspaces.*'push'.*'poll'",
    "tokens.*octet_length\\(hash\\) = 32",
]
PROMISED_COLUMNS = [
    "pending_uploads.mimetype: text not null default ''::text",
    "pending_uploads.created_at: timestamp with time zone not null",
    "pending_uploads.expires_at: timestamp with time zone not null default (now() + '24:00:00'::interval)",
    "delegations.deadline: timestamp with time zone not null default (now() + '06:00:00'::interval)",
    "delegations.status: text not null default 'queued'::text",
    "workspaces.status: text not null default 'awaiting_agent'::text",
    "activity_logs.request_body: json",
    "activity_logs.response_body: json",
]


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as running:
        yield running


@pytest.fixture
def url(postgres):
    with postgres.database() as fresh:
        yield fresh


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}


class Migrated:
    """A database and `restante migrate` on it."""

    def __init__(self, *where):
        self._where = where

    def run(self, action):
        return subprocess.run([binary(), "migrate", action, *self._where], capture_output=True, text=True, timeout=120, check=False,
                              stdin=subprocess.DEVNULL, env=environment())

    def migrate(self, action):
        done = self.run(action)
        assert done.returncode == 0, done
        return done.stdout


class OnPostgres(Migrated):
    def __init__(self, postgres, url):
        super().__init__("--database", url)
        self._postgres, self._url = postgres, url

    def catalogue(self):
        return postgres_catalogue(self._postgres, self._url.rpartition("/")[2])

    def change(self, statement):
        self._postgres.sql(statement, database=self._url.rpartition("/")[2])

    def serve(self):
        return Server(arguments=("--database", self._url))


class OnSqlite(Migrated):
    def __init__(self, file):
        super().__init__("--data", str(file.parent))
        self._file = file

    def catalogue(self):
        return sqlite_catalogue(self._file)

    def change(self, statement):
        with closing(sqlite3.connect(self._file)) as database:
            database.execute(statement)
            database.commit()

    def serve(self):
        return Server(data=self._file.parent)


@pytest.fixture(params=["postgres", "sqlite"])
def schema(request, tmp_path):
    if request.param == "sqlite":
        return OnSqlite(tmp_path / "restante.db")
    return OnPostgres(request.getfixturevalue("postgres"), request.getfixturevalue("url"))


def test_the_schema_of_postgresql_is_that_of_the_golden_file(postgres, url):
    schema = OnPostgres(postgres, url)
    schema.migrate("up")
    check_golden("schema/postgres.txt", schema.catalogue())


def test_the_schema_of_sqlite_is_that_of_the_golden_file(tmp_path):
    schema = OnSqlite(tmp_path / "restante.db")
    schema.migrate("up")
    check_golden("schema/sqlite.txt", schema.catalogue())


def test_down_and_up_again_step_by_step_gives_the_same_schema(schema):
    """From the newest migration to the first, and at each step up again: a down migration removes exactly what its up migration made."""
    schema.migrate("up")
    complete, on_the_way_down = schema.catalogue(), []
    while "Undid" in schema.migrate("down"):
        on_the_way_down.append(schema.catalogue())
    assert len(on_the_way_down) >= 9 and len(set(on_the_way_down)) == len(on_the_way_down)
    assert "schema_migrations" in on_the_way_down[-1] and "workspaces" not in on_the_way_down[-1]
    schema.migrate("up")
    assert schema.catalogue() == complete
    for expected in on_the_way_down:
        schema.migrate("down")
        assert schema.catalogue() == expected
    schema.migrate("up")
    assert schema.catalogue() == complete


@pytest.mark.parametrize("row", ["INSERT INTO inline_blobs (blob_key, touched_at) VALUES ('k', {now})", "INSERT INTO dropped_blobs (blob_key) VALUES ('s3:k')"],
                         ids=["inline", "dropped"])
def test_a_migration_down_is_refused_while_files_are_where_an_older_binary_would_not_find_them(schema, row):
    schema.migrate("up")
    schema.change(row.format(now="now()" if isinstance(schema, OnPostgres) else "0"))
    # Later migrations may be reverted; this one may not.
    while (done := schema.run("down")).returncode == 0:
        assert "Undid" in done.stdout
    before = schema.catalogue()
    assert "inline_blobs" in before
    for _ in range(2):
        done = schema.run("down")
        assert done.returncode == 69 and "bring them back first (restante blobs migrate --to dir)" in done.stderr, done
        assert schema.catalogue() == before, "it changed nothing"
    for table in ("inline_blobs", "dropped_blobs"):
        schema.change(f"DELETE FROM {table}")
    assert "Undid 0011" in schema.migrate("down")
    assert "inline_blobs" not in schema.catalogue()


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "forbidden"])
def test_an_older_binary_runs_on_a_newer_schema_only_if_the_schema_allows_it(schema, allowed):
    schema.migrate("up")
    schema.change("INSERT INTO schema_migrations (version, name, applied_at, oldest_binary, digest) SELECT version + 1, 'future', applied_at, "
                  f"version + {0 if allowed else 1}, digest FROM schema_migrations ORDER BY version DESC LIMIT 1")
    if allowed:
        with schema.serve() as server:
            Workspace(server).notify("hello")
            assert server.get("/ready").status == 200
        return
    with pytest.raises(StartFailed) as failed:
        schema.serve().discard()
    assert "too new for this binary" in str(failed.value)


def test_a_migration_that_is_killed_in_the_middle_changes_nothing_and_goes_on_when_run_again(postgres, url):
    schema = OnPostgres(postgres, url)
    schema.migrate("up")
    complete = schema.catalogue()
    while "0006" not in schema.migrate("down"):
        pass
    before = schema.catalogue()
    name = url.rpartition("/")[2]
    # The next step changes this table, and so waits in the middle of its transaction.
    with subprocess.Popen([clients() / "psql", "-qAtX", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        holder.stdin.write("BEGIN; LOCK TABLE tokens IN SHARE MODE; SELECT 'held';\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "held\n"
        first = subprocess.Popen([binary(), "migrate", "up", "--database", url], stdout=subprocess.DEVNULL, env=environment())
        waiting = f"SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE NOT l.granted AND d.datname = '{name}'"
        wait_until(lambda: postgres.sql(waiting) != "0\n", "the migration waits for the table")
        # Another server starts and waits for the migration lock.
        second = subprocess.Popen([binary(), "migrate", "up", "--database", url], stdout=subprocess.PIPE, text=True, env=environment())
        first.kill()
        first.wait()
        holder.stdin.write("COMMIT;\n")
        holder.stdin.close()
    assert "Applied" in second.communicate(timeout=120)[0] and second.returncode == 0
    assert schema.catalogue() == complete != before


@pytest.fixture(scope="module")
def complete(postgres):
    with postgres.database() as fresh:
        schema = OnPostgres(postgres, fresh)
        schema.migrate("up")
        yield schema.catalogue()


@pytest.mark.parametrize("name", PROMISED_INDEXES)
def test_an_index_of_the_contract_is_there_under_its_name(complete, name):
    line, = re.findall(rf"^index CREATE .*INDEX {name} ON .*$", complete, re.MULTILINE)
    assert line.endswith(PROMISED_INDEXES[name]), line
    assert ("UNIQUE" in line) == (name in ("idx_delegations_idempotency", "idx_activity_logs_workspace_seq")), line


@pytest.mark.parametrize("rule", PROMISED_CHECKS, ids=range(len(PROMISED_CHECKS)))
def test_a_rule_of_the_contract_is_in_the_schema_itself(complete, rule):
    assert re.search(rf"^constraint {rule}", complete, re.MULTILINE)


@pytest.mark.parametrize("column", PROMISED_COLUMNS, ids=[column.split(":")[0] for column in PROMISED_COLUMNS])
def test_a_column_of_the_contract_has_its_type_and_default(complete, column):
    assert f"\ncolumn {column}" in complete


def test_no_table_has_a_foreign_key(complete):
    assert "FOREIGN KEY" not in complete, "rows may outlive the rows that they refer to"


def test_every_table_has_a_comment_with_its_reason(complete):
    for table in re.findall(r"^table (\w+)", complete, re.MULTILINE):
        assert re.search(rf"^comment on {table}(\.\w+)?: \S", complete, re.MULTILINE), table


def test_both_databases_have_the_same_indexes(complete, tmp_path):
    """Except for keys, which each database names in its own way, and for indexes that only one of them needs."""
    schema = OnSqlite(tmp_path / "restante.db")
    schema.migrate("up")
    with closing(sqlite3.connect(tmp_path / "restante.db")) as file:
        ours = {name for name, in file.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")}
    theirs = {name for name in re.findall(r"^index CREATE .*INDEX (\w+) ON", complete, re.MULTILINE) if name.startswith("idx_")}
    # SQLite stores that table in the index's order; PostgreSQL stores long texts outside of their row by itself.
    assert theirs - ours == {"idx_finished_uploads_ended"} and ours - theirs == {"idx_delegation_texts_files"}
