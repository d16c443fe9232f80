"""Staged rows: a database with a million staged files, written while no server runs. It uses the schema that the server has
made. It writes the rows that uploads of that size would have made, except for their inbox rows."""
import os
import sqlite3
import time
import uuid

PER_WORKSPACE = 1000
SIZE = 1024
RETENTION_SECONDS = 3600  # uploads.ack_retention


def fill(database, rows, slices, apart, delay):
    """Half of the rows become due: a quarter as acked, a quarter as expired, in slices `apart` seconds from each other. The first slice
    is due about `delay` seconds after this returns. Returns the times."""
    connection = sqlite3.connect(database, isolation_level=None)
    for pragma in ("synchronous = OFF", "cache_size = -400000", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    content = os.urandom(SIZE)
    connection.execute("BEGIN")
    first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM upload_contents").fetchone()[0]
    connection.executemany("INSERT INTO upload_contents (id, content) VALUES (?, ?)",
                           ((first + i, content) for i in range(rows)))
    due = time.time() + delay + rows / 50_000
    connection.executemany(
        "INSERT INTO pending_uploads (file_id, workspace_id, content_row, size_bytes, filename, mimetype, sha256, created_at, "
        "fetched_at, acked_at, expires_at) VALUES (?, ?, ?, ?, 'file.bin', 'application/octet-stream', ?, ?, ?, ?, ?)",
        rows_of(rows, first, [due + apart * i for i in range(slices)]))
    add_heads(connection)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    os.sync()
    return [due + apart * i for i in range(slices)]


def rows_of(rows, first, moments):
    digest = os.urandom(32)
    created = int((moments[0] - 13 * 3600) * 1e6)
    day = 24 * 3600 * 1_000_000
    workspace = b""
    for i in range(rows):
        if i % PER_WORKSPACE == 0:
            workspace = uuid.uuid4().bytes
        kind = i % 4
        due_us = int(moments[i * len(moments) // rows] * 1e6)
        acked = due_us - RETENTION_SECONDS * 1_000_000 if kind == 0 else None
        expires = due_us if kind == 1 else due_us + day
        # Ids increase with time, as the server's do.
        yield ((created // 1000 + i // 100).to_bytes(6, "big") + os.urandom(10), workspace, first + i, SIZE, digest, created + i, acked,
               acked, expires)


def add_heads(connection):
    """Every workspace has a head that counts its files."""
    connection.execute("""
        INSERT OR IGNORE INTO inbox_heads (workspace_id, last_seq, last_created_at, staged_bytes, staged_files, acked_bytes, acked_files)
        SELECT workspace_id, 0, 0, sum(size_bytes), count(*), sum(iif(acked_at IS NULL, 0, size_bytes)), count(acked_at)
        FROM pending_uploads GROUP BY workspace_id""")
