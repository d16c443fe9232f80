"""File content in the database: an answered upload is there even after crashes of PostgreSQL, and a slow sender does not block
others."""
import hashlib
import random
import signal
import threading

import pytest

from support.workspace import Workspace, files_of, multipart
from support.postgres import DURABLE, Postgres
from support.server import Server
from support.waiting import CEILING, wait_until

MIB = 1 << 20
INLINE = {"blobs": "inline"}
# Only a COMMIT that waits writes PostgreSQL's log: an upload that was acknowledged too early would be lost in a crash.
LAZY = DURABLE + "wal_writer_delay = 10s\n"


class Senders:
    """Several senders that upload without end. `answered` has the uploads with a 2xx answer: {file id: digest}."""

    def __init__(self, workspace, count=4):
        self.answered, self._stopping = {}, threading.Event()
        self._workspace = workspace
        self._threads = [threading.Thread(target=self._send, args=(seed,)) for seed in range(count)]

    def _send(self, seed):
        chosen = random.Random(seed)
        while not self._stopping.is_set():
            content = chosen.randbytes(chosen.choice([100_000, MIB, 3 * MIB + 1]))
            headers, body = multipart(("file.bin", content))
            server = self._workspace.server
            try:
                answer = server.request("POST", self._workspace.path("chat/uploads"), token=server.admin_token, headers=headers, body=body)
            except OSError:
                continue
            if answer.status == 200:
                self.answered[files_of(answer)[0][0]] = hashlib.sha256(content).digest()

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGKILL], ids=["immediate", "kill"])
def test_files_that_were_answered_survive_every_crash_of_the_database(how):
    with Postgres(LAZY) as postgres, postgres.database() as url, Server(INLINE, arguments=("--database", url)) as server:
        workspace = Workspace(server)
        with Senders(workspace) as senders:
            for _ in range(3):
                before = len(senders.answered)
                wait_until(lambda before=before: len(senders.answered) >= before + 5, "some files are there", 4 * CEILING)
                postgres.restart(how)
        wait_until(lambda: server.get("/ready").status == 200, "the server is ready again")
        assert len(senders.answered) >= 15
        for file_id, digest in senders.answered.items():
            assert hashlib.sha256(fetched(workspace, file_id)).digest() == digest, file_id
        database = url.rpartition("/")[2]
        holes = """SELECT count(*) FROM inline_blobs b WHERE finished AND (size_bytes, chunks) <> (SELECT coalesce(sum(octet_length(bytes)), 0), count(*)
                   FROM blob_chunks c WHERE c.blob_key = b.blob_key)"""
        assert postgres.sql(holes, database=database) == "0\n"
        # A blob whose upload was in progress at a crash is unfinished or has no row: it is an orphan in both cases.
        rowless = "SELECT count(*) FROM pending_uploads WHERE substr(blob_key, 8) NOT IN (SELECT blob_key FROM inline_blobs WHERE finished)"
        assert postgres.sql(rowless, database=database) == "0\n"


def fetched(workspace, file_id):
    answer = workspace.server.get(workspace.content(file_id), token=workspace.token)
    assert answer.status == 200, answer
    return answer.body


def can_lock(postgres, database):
    try:
        postgres.sql("BEGIN; LOCK TABLE inline_blobs, blob_chunks IN ACCESS EXCLUSIVE MODE NOWAIT; COMMIT", database=database)
    except RuntimeError:
        return False
    return True


def test_a_slow_sender_holds_no_session_and_no_lock_between_two_chunks():
    with Postgres() as postgres, postgres.database() as url, Server(INLINE, arguments=("--database", url)) as server:
        workspace, database = Workspace(server), url.rpartition("/")[2]
        content = random.Random(1).randbytes(8 * MIB)
        wire, rest = workspace.begin_upload(("slow.bin", content))
        begun = "SELECT count(*) FROM inline_blobs WHERE NOT finished AND chunks >= 3"
        wait_until(lambda: postgres.sql(begun, database=database) == "1\n", "three chunks of it are there", every=0.1)
        held = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND state LIKE 'idle in transaction%'"
        wait_until(lambda: postgres.sql(held) == "0\n", "no session is in a transaction")
        wait_until(lambda: can_lock(postgres, database), "no session holds a lock; the server's background work does for moments")
        (quick, _), = workspace.upload(("quick.bin", content[:2 * MIB]))
        assert fetched(workspace, quick) == content[:2 * MIB]
        wire.send(rest)
        (slow, _), = files_of(wire.read())
        assert fetched(workspace, slow) == content
