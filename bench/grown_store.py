"""Grown stores: databases with many workspaces and rows, written while no server runs. They use the schema that the server has made.
Each workspace has rows, files that wait and a task that has ended; one workspace, the asked one, has many more rows."""
import os
import sqlite3
import time
import uuid

FILES = 2  # for each workspace
SIZE = 1024
DAY = 24 * 3600


def in_sqlite(database, workspaces, rows, asked, asked_rows):
    """`rows` for each of so many workspaces, and `asked_rows` more for the workspace with the id `asked`."""
    connection = sqlite3.connect(database, isolation_level=None)
    for pragma in ("synchronous = OFF", "cache_size = -400000", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    now = int(time.time() * 1e6) - 60_000_000
    made = [uuid.uuid4().bytes for _ in range(workspaces)]
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO workspaces (id, name, delivery_mode, created_at, updated_at) VALUES (?, 'agent', 'poll', ?, ?)",
                           ((workspace, now, now) for workspace in made))
    connection.executemany(
        "INSERT INTO activity_logs (id, workspace_id, seq, activity_type, summary, created_at) VALUES (?, ?, ?, 'agent_log', 'row', ?)",
        ((os.urandom(16), workspace, seq, now) for workspace in made for seq in range(1, rows + 1)))
    digest = os.urandom(32)
    connection.executemany(
        "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, sha256, created_at, expires_at) "
        "VALUES (?, ?, ?, ?, 'file.bin', ?, ?, ?)",
        ((os.urandom(16), workspace, os.urandom(16).hex(), SIZE, digest, now, now + DAY * 1_000_000) for workspace in made for _ in range(FILES)))
    connection.executemany("INSERT INTO inbox_heads (workspace_id, last_seq, last_created_at, staged_bytes, staged_files) VALUES (?, ?, ?, ?, ?)",
                           ((workspace, rows, now, FILES * SIZE, FILES) for workspace in made))
    connection.executemany(
        "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, deadline, created_at, updated_at, finished_at) "
        "VALUES (?, ?, ?, 'task', 'completed', ?, ?, ?, ?)",
        ((workspace.hex(), workspace, workspace, now, now, now, now) for workspace in made))
    asked = uuid.UUID(asked).bytes
    connection.executemany(
        "INSERT INTO activity_logs (id, workspace_id, seq, activity_type, summary, created_at) VALUES (?, ?, ?, 'agent_log', 'row', ?)",
        ((os.urandom(16), asked, seq, now) for seq in range(1, asked_rows + 1)))
    connection.execute("UPDATE inbox_heads SET last_seq = ?, last_created_at = ? WHERE workspace_id = ?", (asked_rows, now, asked))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    os.sync()


def in_postgres(postgres, url, workspaces, rows, asked, asked_rows):
    """The same in PostgreSQL."""
    row = "activity_logs (id, workspace_id, seq, activity_type, summary, created_at) SELECT gen_random_uuid(), "
    postgres.sql(
        f"CREATE TABLE made AS SELECT gen_random_uuid() AS id, now() - interval '1 minute' AS at FROM generate_series(1, {workspaces})",
        "INSERT INTO workspaces (id, name, delivery_mode, created_at, updated_at) SELECT id, 'agent', 'poll', at, at FROM made",
        f"INSERT INTO {row} id, seq, 'agent_log', 'row', at FROM made, generate_series(1, {rows}) AS seq",
        "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, sha256, created_at, expires_at) SELECT "
        f"gen_random_uuid(), id, md5(random()::text), {SIZE}, 'file.bin', sha256('x'), at, at + interval '1 day' "
        f"FROM made, generate_series(1, {FILES})",
        f"INSERT INTO inbox_heads (workspace_id, last_seq, last_created_at, staged_bytes, staged_files) SELECT id, {rows}, at, {FILES * SIZE}, "
        f"{FILES} FROM made",
        "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, created_at, finished_at) SELECT id::text, id, id, "
        "'task', 'completed', at, at FROM made",
        f"INSERT INTO {row} '{asked}', seq, 'agent_log', 'row', now() - interval '1 minute' FROM generate_series(1, {asked_rows}) AS seq",
        f"UPDATE inbox_heads SET last_seq = {asked_rows}, last_created_at = now() - interval '1 minute' WHERE workspace_id = '{asked}'",
        "DROP TABLE made", database=url.rpartition("/")[2])
    postgres.sql("VACUUM ANALYZE", database=url.rpartition("/")[2])
