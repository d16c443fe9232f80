"""BlobMoveServers: one database, the places between which blobs move, and the servers on them; a test may kill any server. Load: files
that are uploaded, read and acked during the move; in the end each is there exactly once, with its content. `blob_move_servers()` makes
the servers for a test.

RESTANTE_SEED repeats a run.
"""
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from support.backend import MARK, Bucket, s3_settings
from support.workspace import files_of, multipart
from support.server import Server, binary
from support.waiting import CEILING, Stalled, wait_until

SEED = int(os.environ.get("RESTANTE_SEED", "0")) or random.randrange(1, 1 << 32)
IN_ROW = 16_384
LONG = 10 * CEILING
# Sweeps run all the time. A blob in the database or in S3 is deleted timeouts.request after its row.
SETTINGS = {"log.requests": "none", "uploads.ack_retention": "0s", "uploads.sweep_every": "200ms", "uploads.check_every": "1s",
            "timeouts.request": "20s", "timeouts.drain": "2s"}


class BlobMoveServers:
    def __init__(self, *, database=None, psql=None, bucket=None, s3=({}, {}), settings=None):
        self.data = Path(tempfile.mkdtemp(prefix="restante-test-"))
        self.database = database or f"sqlite://{self.data}/restante.db"
        self._psql, self.bucket, self._s3 = psql, bucket, s3
        self.settings = {**s3[0], **SETTINGS, **(settings or {})}
        self.server, self.servers = None, []

    def start(self, settings=None, *, data=None):
        """Starts one more server; it gets all requests from now on. data: its own data directory, as on another machine."""
        wanted = {**self.settings, **(settings or {})}
        server = Server(wanted, data=data or self.data, arguments=("--database", self.database), environment=self._s3[1])
        server.expected_exit = None
        self.servers.append(server)
        self.server = server
        return server

    def kill(self):
        self.server.kill()
        self.start()

    def query(self, statement):
        if self._psql:
            return [tuple(line.split(" ")) for line in self._psql(statement).splitlines()]
        database = sqlite3.connect(f"file:{self.data}/restante.db?mode=ro", uri=True, timeout=30)
        try:
            return database.execute(statement).fetchall()
        finally:
            database.close()

    def files(self):
        return [path for path in (self.data / "blobs").rglob("*") if path.is_file() and path.parent.name != "tmp" and path.name != MARK]

    def count(self, place):
        """How many blobs the place has, including those of other installations."""
        if place == "dir":
            return len(self.files())
        if place == "inline":
            return int(self.query("SELECT count(*) FROM inline_blobs")[0][0])
        return len(self.bucket.objects())

    def finish(self):
        for server in self.servers:
            server.finish()
        shutil.rmtree(self.data, ignore_errors=True)

    # -- the operator

    def status(self, server=None):
        server = server or self.server
        answer = server.get("/admin/blobs", token=server.admin_token)
        assert answer.status == 200, answer
        return answer.json()

    def migrate(self, to, rate=0):
        return self.server.request("POST", "/admin/blobs/migration", token=self.server.admin_token, json_body={"to": to, "rate": rate})

    def finish_move(self):
        return self.server.request("POST", "/admin/blobs/migration/finish", token=self.server.admin_token)

    def migration(self, server=None):
        return self.status(server)["migration"]

    def figures(self, place, server=None):
        return next(one for one in self.status(server)["places"] if one["place"] == place)

    def wait_copied(self):
        wait_until(lambda: self.migration()["left_files"] == 0, "everything is in the new place", LONG)

    def run(self, *arguments):
        """`restante blobs …`"""
        return subprocess.run([binary(), "blobs", *arguments, "--data", str(self.data), "--url", f"http://127.0.0.1:{self.server.port}"],
                              capture_output=True, text=True, timeout=LONG)

    def wait_empty(self, old, new, kept):
        """Nothing is uploaded any more. Blobs that the kills have left behind are deleted as soon as they may be."""
        self.server.stop()
        self.start({"timeouts.request": "1s"})
        wait_until(lambda: self.count(old) == 0 and self.count(new) == kept, "the old place is empty, the new one has no orphans", LONG)
        assert (self.figures(old)["files"], self.figures(old)["second_copies"]) == (0, 0)
        assert (self.figures(new)["files"], self.figures(new)["second_copies"]) == (kept, 0)


@contextmanager
def blob_move_servers(rows, request, *, with_s3=False, settings=None):
    """`request` is pytest's: it gives the fixtures that are needed."""
    bucket, s3 = None, ({}, {})
    if with_s3:
        swift = request.getfixturevalue("swift")
        bucket = Bucket(swift)
        s3 = s3_settings(swift, bucket.name)
    if rows == "postgres":
        server = request.getfixturevalue("postgres")
        with server.database() as url:
            name = url.rpartition("/")[2]
            made = BlobMoveServers(database=url, psql=lambda sql: server.sql(sql, database=name), bucket=bucket, s3=s3, settings=settings)
            try:
                yield made
            finally:
                made.finish()
    else:
        made = BlobMoveServers(bucket=bucket, s3=s3, settings=settings)
        try:
            yield made
        finally:
            made.finish()


class Load:
    """Repeats each request until a server answers it."""

    def __init__(self, move, inbox):
        self.move, self.inbox = move, inbox
        self.sent, self.acked, self.lock = {}, set(), threading.Lock()

    def ask(self, method, rest, **options):
        def attempt():
            try:
                answer = self.move.server.request(method, self.inbox.path(rest), **options)
            except (AssertionError, OSError, Stalled):
                return None  # the server was killed before or during the request
            # 408: on a busy machine a request may take longer than the small timeouts.request of these tests.
            return answer if answer.status not in (503, 409, 408) else None
        return wait_until(attempt, f"{method} {rest} is answered", LONG)

    def send(self, name, data):
        fields, body = multipart((name, data))
        admin = self.move.server.admin_token
        answer = self.ask("POST", "chat/uploads", token=admin, headers={**fields, "Idempotency-Key": name}, body=body)
        (file_id, _), = files_of(answer)
        with self.lock:
            self.sent[file_id] = (name, hashlib.sha256(data).hexdigest(), len(data))
        return file_id

    def ack(self, file_id):
        """404 when an earlier attempt did it and the kill took its answer: an acked file is swept at once. check() finds its one receipt."""
        answer = self.ask("POST", f"pending-uploads/{file_id}/ack", token=self.inbox.token)
        assert answer.status == 200 or (answer.status == 404 and answer.json()["code"] == "upload_gone"), answer
        with self.lock:
            self.acked.add(file_id)

    def work(self, worker, files, sizes):
        chance = random.Random(SEED + worker)
        for n in range(files):
            data = chance.randbytes(chance.choice(sizes))
            file_id = self.send(f"{worker}-{n}", data)
            fetched = self.ask("GET", f"pending-uploads/{file_id}/content", token=self.inbox.token)
            assert (fetched.status, fetched.body == data) == (200, True), (fetched.status, fetched.body[:300])
            if n % 3 == 0:
                self.ack(file_id)

    def kept(self):
        """The files that wait for their agent and whose content is not in their row."""
        return sum(1 for file_id, (_, _, size) in self.sent.items() if file_id not in self.acked and size > IN_ROW)

    def check(self):
        inbox = self.inbox.on(self.move.server)
        rows = inbox.activity()
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        received = [row["request_body"] for row in rows if row["method"] == "chat_upload_receive"]
        assert sorted(row["name"] for row in received) == sorted(name for name, _, _ in self.sent.values()), "none is lost, none doubled"
        receipts = [row["request_body"]["file_id"] for row in rows if row["method"] == "chat_upload_acked"]
        assert sorted(receipts) == sorted(self.acked)
        assert not [row for row in rows if row["method"] == "chat_upload_failed"], "no file was reported as damaged"
        for file_id, (_, digest, _) in self.sent.items():
            answer = inbox.server.get(inbox.content(file_id), token=inbox.token)
            assert answer.status == (404 if file_id in self.acked else 200), answer
            assert file_id in self.acked or hashlib.sha256(answer.body).hexdigest() == digest
