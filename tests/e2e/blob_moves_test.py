"""Bytes change over from one place to another under load, and back, while the server is killed again and again: what was
acknowledged is there, once, with its bytes; in the end the old place is empty and nothing lies around.

RESTANTE_KILLS sets how often it is killed, and RESTANTE_SEED repeats a run.
"""
import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.backend import Bucket, s3_settings
from support.checks import check_error
from support.desk import Workspace, files_of, multipart
from support.postgres import Postgres
from support.server import Server, binary
from support.swift import Swift
from support.waiting import CEILING, Stalled, wait_until

KILLS = int(os.environ.get("RESTANTE_KILLS", "5"))
SEED = int(os.environ.get("RESTANTE_SEED", "0")) or random.randrange(1, 1 << 32)
WORKERS, EACH = 4, 10
SIZES = (3_000, 20_000, 90_000, 700_000, 2_300_000)  # the first stays in its row
LONG = 10 * CEILING
# What leaves is swept all the time; what has no descriptor leaves once the longest request is over.
SETTINGS = {"log.requests": "none", "uploads.ack_retention": "0s", "uploads.sweep_every": "200ms", "uploads.check_every": "1s",
            "timeouts.request": "20s", "timeouts.drain": "2s"}


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as running:
        yield running


@pytest.fixture(scope="module")
def swift():
    with Swift() as running:
        yield running


class House:
    """One database and its places; the server in it may be another one any moment."""

    def __init__(self, *, database=None, psql=None, bucket=None, s3=({}, {}), settings=None):
        self.data = Path(tempfile.mkdtemp(prefix="restante-test-"))
        self.database = database or f"sqlite://{self.data}/restante.db"
        self._psql, self.bucket, self._s3 = psql, bucket, s3
        self.settings = {**s3[0], **SETTINGS, **(settings or {})}
        self.server, self.servers = None, []

    def start(self, settings=None):
        server = Server({**self.settings, **(settings or {})}, data=self.data, arguments=("--database", self.database), environment=self._s3[1])
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

    def count(self, place):
        """What lies there, whoever it belongs to."""
        if place == "dir":
            return sum(1 for path in (self.data / "blobs").rglob("*") if path.is_file() and path.parent.name != "tmp")
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

    def migration(self):
        return self.status()["migration"]

    def figures(self, place, server=None):
        return next(one for one in self.status(server)["places"] if one["place"] == place)

    def wait_copied(self):
        wait_until(lambda: self.migration()["left_files"] == 0, "everything is in the new place", LONG)


@contextmanager
def house_on(rows, request, *, with_s3=False, settings=None):
    bucket, s3 = None, ({}, {})
    if with_s3:
        swift = request.getfixturevalue("swift")
        bucket = Bucket(swift)
        s3 = s3_settings(swift, bucket.name)
    if rows == "postgres":
        server = request.getfixturevalue("postgres")
        with server.database() as url:
            name = url.rpartition("/")[2]
            house = House(database=url, psql=lambda sql: server.sql(sql, database=name), bucket=bucket, s3=s3, settings=settings)
            try:
                yield house
            finally:
                house.finish()
    else:
        house = House(bucket=bucket, s3=s3, settings=settings)
        try:
            yield house
        finally:
            house.finish()


class Load:
    """Files that come, are read and acknowledged, each as often as it takes until somebody answers."""

    def __init__(self, house, inbox):
        self.house, self.inbox = house, inbox
        self.sent, self.acked, self.lock = {}, set(), threading.Lock()

    def ask(self, method, rest, **options):
        def attempt():
            try:
                answer = self.house.server.request(method, self.inbox.path(rest), **options)
            except (AssertionError, OSError, Stalled):
                return None  # killed, before or under it
            return answer if answer.status not in (503, 409) else None
        return wait_until(attempt, f"{method} {rest} is answered", LONG)

    def send(self, name, data):
        fields, body = multipart((name, data))
        admin = self.house.server.admin_token
        answer = self.ask("POST", "chat/uploads", token=admin, headers={**fields, "Idempotency-Key": name}, body=body)
        (file_id, _), = files_of(answer)
        with self.lock:
            self.sent[file_id] = (name, hashlib.sha256(data).hexdigest(), len(data))
        return file_id

    def work(self, worker):
        chance = random.Random(SEED + worker)
        for n in range(EACH):
            data = chance.randbytes(chance.choice(SIZES))
            file_id = self.send(f"{worker}-{n}", data)
            fetched = self.ask("GET", f"pending-uploads/{file_id}/content", token=self.inbox.token)
            assert (fetched.status, fetched.body == data) == (200, True), (fetched.status, fetched.body[:300])
            if n % 3 == 0:
                assert self.ask("POST", f"pending-uploads/{file_id}/ack", token=self.inbox.token).status == 200
                with self.lock:
                    self.acked.add(file_id)

    def kept(self):
        """Of those that wait, the ones whose bytes are not in their row."""
        return sum(1 for file_id, (_, _, size) in self.sent.items() if file_id not in self.acked and size > 16_384)

    def check(self):
        inbox = self.inbox.on(self.house.server)
        rows = inbox.activity()
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        came = [row["request_body"] for row in rows if row["method"] == "chat_upload_receive"]
        assert sorted(row["name"] for row in came) == sorted(name for name, _, _ in self.sent.values()), "none is lost, none doubled"
        receipts = [row["request_body"]["file_id"] for row in rows if row["method"] == "chat_upload_acked"]
        assert sorted(receipts) == sorted(self.acked)
        assert not [row for row in rows if row["method"] == "chat_upload_failed"], "none was taken for damaged"
        for file_id, (_, digest, _) in self.sent.items():
            answer = inbox.server.get(inbox.content(file_id), token=inbox.token)
            assert answer.status == (404 if file_id in self.acked else 200), answer
            assert file_id in self.acked or hashlib.sha256(answer.body).hexdigest() == digest


def change_over(house, old, new):
    """Forth, back, forth again and finished, under load and killed whenever it pleases."""
    print(f"RESTANTE_SEED={SEED}")
    chance = random.Random(SEED)
    house.start()
    load = Load(house, Workspace(house.server, "inbox"))
    for n in range(10):
        load.send(f"early-{n}", chance.randbytes(SIZES[n % len(SIZES)]))
    assert house.figures(old)["files"] == house.count(old) == 8
    assert house.migrate(new, 1_500_000).status == 200
    with ThreadPoolExecutor(WORKERS) as pool:
        working = [pool.submit(load.work, worker) for worker in range(WORKERS)]
        try:
            for kill in range(KILLS):
                target = len(load.sent) + chance.randrange(1, max(2, WORKERS * EACH // (KILLS + 1)))
                wait_until(lambda: len(load.sent) >= target or all(done.done() for done in working), "some more are through", LONG)
                house.kill()
                if kill == KILLS // 2:
                    assert house.migrate(old).status == 200
                    assert house.status()["writes_to"] == old and house.status()["also_to"] == new
                elif kill == KILLS // 2 + 1:
                    assert house.migrate(new, 3_000_000).status == 200
        finally:
            for done in working:
                done.result()
    if house.migration()["to"] != new:
        assert house.migrate(new).status == 200
    house.wait_copied()
    load.check()
    assert house.finish_move().status == 200
    house.kill()
    wait_until(lambda: house.migration()["phase"] == "finished", "it is finished, whoever was killed", LONG)
    assert house.status()["writes_to"] == new
    load.check()
    # Nothing is sent any more: what was left behind by all those kills goes as soon as it may.
    house.server.stop()
    house.start({"timeouts.request": "1s"})
    wait_until(lambda: house.count(old) == 0 and house.count(new) == load.kept(), "the old place is empty, the new one has no orphans", LONG)
    assert (house.figures(old)["files"], house.figures(old)["second_copies"]) == (0, 0)
    assert (house.figures(new)["files"], house.figures(new)["second_copies"]) == (load.kept(), 0)
    load.check()


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_from_files_to_the_database_and_nothing_is_lost(rows, request):
    with house_on(rows, request) as house:
        change_over(house, "dir", "inline")


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_from_the_database_to_a_bucket_and_nothing_is_lost(rows, request):
    with house_on(rows, request, with_s3=True, settings={"blobs": "inline"}) as house:
        change_over(house, "inline", "s3")


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_a_copy_that_is_lost_in_the_new_place_is_read_from_the_old_one_and_made_anew(rows, request):
    with house_on(rows, request, with_s3=True, settings={"blobs": "dir"}) as house:
        house.start({"uploads.check_every": "0s"})
        load = Load(house, Workspace(house.server, "inbox"))
        data = os.urandom(200_000)
        file_id = load.send("one", data)
        assert house.migrate("s3").status == 200
        house.wait_copied()
        name, = house.bucket.objects()
        house.bucket.remove(name)
        fetched = load.ask("GET", f"pending-uploads/{file_id}/content", token=load.inbox.token)
        assert fetched.body == data
        assert house.server.metric("restante_blob_fallbacks_total") == 1
        house.server.wait_log("blob_fallback")
        wait_until(lambda: name not in house.bucket.objects() and len(house.bucket.objects()) == 1, "it is copied anew", LONG)
        house.wait_copied()
        load.check()


def test_two_servers_follow_within_seconds_and_one_of_them_copies(postgres, request):
    with house_on("postgres", request) as house:
        one, two = house.start(), house.start()
        inbox = Workspace(one, "inbox")
        load = Load(house, inbox)
        for n in range(6):
            load.send(f"f-{n}", os.urandom(50_000))
        house.server = one
        assert house.migrate("inline").status == 200
        wait_until(lambda: house.status(two)["writes_to"] == "inline", "the other one has heard of it")
        house.server = two
        load.send("late", os.urandom(50_000))
        house.wait_copied()
        copied = [house.status(server)["migration"]["copied_files"] for server in (one, two)]
        assert sorted(copied) == [0, 6], "one of them did it"
        assert house.finish_move().status == 200
        for server in (one, two):
            wait_until(lambda: house.status(server)["also_to"] is None, "it writes to the new place alone")
            load.house.server = server
            load.check()
        wait_until(lambda: house.migration()["phase"] == "finished", "it is finished", LONG)
        wait_until(lambda: house.count("dir") == 0, "files leave at once", LONG)


def test_what_cannot_be_is_refused_with_what_to_do(request):
    with house_on("sqlite", request) as house:
        server = house.start({"uploads.check_every": "0s"})
        check_error(house.migrate("s3"), 409, code="blob_place_unusable")
        assert "s3.bucket" in house.migrate("s3").json()["error"]
        check_error(house.migrate("dir"), 409, code="blob_move_needless")
        check_error(house.migrate("disk"), 400, code="bad_field")
        check_error(house.migrate("inline", -1), 400, code="bad_field")
        check_error(house.finish_move(), 409, code="no_blob_move")
        load = Load(house, Workspace(server, "inbox"))
        for n in range(3):
            load.send(f"f-{n}", os.urandom(2_000_000))
        assert house.migrate("inline", 1).status == 200
        refused = house.finish_move()
        check_error(refused, 409, code="blob_move_unfinished")
        assert refused.json()["files"] >= 2 and refused.json()["bytes"] == 2_000_000 * refused.json()["files"]
        assert house.migrate("inline").status == 200, "faster"
        house.wait_copied()


def test_no_old_copy_leaves_before_the_new_one_is_seen(request):
    with house_on("sqlite", request, settings={"blobs": "inline", "uploads.check_every": "0s"}) as house:
        load = Load(house, Workspace(house.start(), "inbox"))
        for n in range(4):
            load.send(f"f-{n}", os.urandom(200_000))
        assert house.migrate("dir").status == 200
        house.wait_copied()
        blobs, away = house.data / "blobs", house.data / "away"
        blobs.rename(away)
        check_error(house.finish_move(), 409, code="blob_place_unusable")
        away.rename(blobs)
        removed = next(path for path in blobs.rglob("*") if path.is_file() and path.parent.name != "tmp")
        removed.unlink()
        assert house.finish_move().status == 200
        wait_until(lambda: house.migration()["phase"] == "finished", "it is finished", LONG)
        assert house.migration()["failures"] == 1 and "made anew" in house.migration()["last_failure"]
        assert house.count("dir") == 4
        load.check()
        assert house.finish_move().status == 200, "again is fine"


def test_the_reserve_is_kept_by_what_is_copied_too(request):
    with house_on("sqlite", request) as house:
        load = Load(house, Workspace(house.start(), "inbox"))
        load.send("f", os.urandom(200_000))
        house.server.stop()
        house.start({"storage.reserve": 1 << 50})
        assert house.migrate("inline").status == 200
        wait_until(lambda: house.migration()["failures"] > 0, "it was tried")
        assert "reserve" in house.migration()["last_failure"]
        assert house.migration()["left_files"] == 1 and house.count("inline") == 0
        house.server.stop()
        house.start()
        house.wait_copied()
        load.check()


def run(house, *arguments):
    return subprocess.run([binary(), "blobs", *arguments, "--data", str(house.data), "--url", f"http://127.0.0.1:{house.server.port}"],
                          capture_output=True, text=True, timeout=120)


def test_the_commands_take_an_operator_through_it(request):
    with house_on("sqlite", request) as house:
        house.start()
        load = Load(house, Workspace(house.server, "inbox"))
        for n in range(3):
            load.send(f"f-{n}", os.urandom(300_000))
        before = run(house, "status")
        assert before.returncode == 0 and "dir" in before.stdout and "not set up" in before.stdout, before
        migrated = run(house, "migrate", "--to", "inline", "--rate", "50MB", "--wait")
        assert migrated.returncode == 0, migrated
        assert "Everything is there" in migrated.stdout and "restante blobs finish" in migrated.stdout, migrated.stdout
        assert run(house, "migrate", "--to", "s3").returncode != 0
        assert run(house, "migrate", "--to", "inline", "--rate", "0.5").returncode == 64
        assert run(house, "migrate", "--to", "inline").returncode == 0
        assert house.migration()["rate"] == 50_000_000, "nothing was said of it"
        finished = run(house, "finish", "--wait")
        assert finished.returncode == 0 and "is done" in finished.stdout, finished
        assert 'set it to "inline"' in finished.stdout
        again = run(house, "finish")
        assert again.returncode == 0 and "is done" in again.stdout, again
        told = json.loads(run(house, "status", "--json").stdout)
        assert told["migration"]["phase"] == "finished" and told["writes_to"] == "inline"
        health = house.server.get("/admin/health", token=house.server.admin_token).json()
        assert [warning for warning in health["warnings"] if 'blobs = "inline"' in warning], health["warnings"]
        load.check()
        checked = run(house, "check")
        assert checked.returncode == 0, checked
