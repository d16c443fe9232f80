"""Grown stores: databases with many workspaces and rows, written while no server runs. They use the schema that the server has made.
Each workspace has rows, files that wait and a task that has ended; one workspace, the asked one, has many more rows. As in a real store
each workspace has its own time, and ids begin with their time."""
import os
import sqlite3
import time
import uuid

FILES = 2  # for each workspace
SIZE = 1024
DAY = 24 * 3600
# An id of the time `at`, in PostgreSQL.
NEW_ID = ("(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || "
          "substr(md5(random()::text), 1, 15))::uuid")


def new_id(micros):
    return (micros // 1000).to_bytes(6) + bytes([0x70 | os.urandom(1)[0] & 15, *os.urandom(1), 0x80 | os.urandom(1)[0] & 63, *os.urandom(7)])


def in_sqlite(database, workspaces, rows, asked, asked_rows):
    """`rows` for each of so many workspaces, and `asked_rows` more for the workspace with the id `asked`."""
    connection = sqlite3.connect(database, isolation_level=None)
    for pragma in ("synchronous = OFF", "cache_size = -400000", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    now = int(time.time() * 1e6) - 60_000_000
    made = [(new_id(at), at) for at in range(now - workspaces * 1000, now, 1000)]
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO workspaces (id, name, delivery_mode, created_at, updated_at) VALUES (?, 'agent', 'poll', ?, ?)",
                           ((workspace, at, at) for workspace, at in made))
    connection.executemany(
        "INSERT INTO activity_logs (id, workspace_id, seq, activity_type, summary, created_at) VALUES (?, ?, ?, 'agent_log', 'row', ?)",
        ((new_id(at), workspace, seq, at) for workspace, at in made for seq in range(1, rows + 1)))
    digest = os.urandom(32)
    connection.executemany(
        "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, sha256, created_at, expires_at) "
        "VALUES (?, ?, ?, ?, 'file.bin', ?, ?, ?)",
        ((new_id(at), workspace, os.urandom(16).hex(), SIZE, digest, at, at + DAY * 1_000_000) for workspace, at in made for _ in range(FILES)))
    connection.executemany("INSERT INTO inbox_heads (workspace_id, last_seq, last_created_at, staged_bytes, staged_files) VALUES (?, ?, ?, ?, ?)",
                           ((workspace, rows, at, FILES * SIZE, FILES) for workspace, at in made))
    connection.executemany(
        "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, deadline, created_at, updated_at, finished_at) "
        "VALUES (?, ?, ?, 'task', 'completed', ?, ?, ?, ?)",
        ((workspace.hex(), workspace, workspace, at, at, at, at) for workspace, at in made))
    asked = uuid.UUID(asked).bytes
    connection.executemany(
        "INSERT INTO activity_logs (id, workspace_id, seq, activity_type, summary, created_at) VALUES (?, ?, ?, 'agent_log', 'row', ?)",
        ((new_id(now), asked, seq, now) for seq in range(1, asked_rows + 1)))
    connection.execute("UPDATE inbox_heads SET last_seq = ?, last_created_at = ? WHERE workspace_id = ?", (asked_rows, now, asked))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    os.sync()


def in_postgres(postgres, url, workspaces, rows, asked, asked_rows):
    """The same in PostgreSQL."""
    row = "activity_logs (id, workspace_id, seq, activity_type, summary, created_at) SELECT " + NEW_ID + ", "
    postgres.sql(
        f"CREATE TABLE made AS SELECT {NEW_ID} AS id, at FROM (SELECT now() - interval '1 minute' - n * interval '1 ms' AS at FROM "
        f"generate_series({workspaces}, 1, -1) AS n) AS times",
        "INSERT INTO workspaces (id, name, delivery_mode, created_at, updated_at) SELECT id, 'agent', 'poll', at, at FROM made",
        f"INSERT INTO {row} id, seq, 'agent_log', 'row', at FROM made, generate_series(1, {rows}) AS seq",
        "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, sha256, created_at, expires_at) SELECT "
        f"{NEW_ID}, id, md5(random()::text), {SIZE}, 'file.bin', sha256('x'), at, at + interval '1 day' "
        f"FROM made, generate_series(1, {FILES})",
        f"INSERT INTO inbox_heads (workspace_id, last_seq, last_created_at, staged_bytes, staged_files) SELECT id, {rows}, at, {FILES * SIZE}, "
        f"{FILES} FROM made",
        "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, created_at, finished_at) SELECT id::text, id, id, "
        "'task', 'completed', at, at FROM made",
        f"INSERT INTO {row} '{asked}', seq, 'agent_log', 'row', at FROM (SELECT now() - interval '1 minute' AS at) AS time, "
        f"generate_series(1, {asked_rows}) AS seq",
        f"UPDATE inbox_heads SET last_seq = {asked_rows}, last_created_at = now() - interval '1 minute' WHERE workspace_id = '{asked}'",
        "DROP TABLE made", database=url.rpartition("/")[2])
    postgres.sql("VACUUM ANALYZE", database=url.rpartition("/")[2])
