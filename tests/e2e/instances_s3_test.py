"""Three servers that share one database, one bucket and two secrets, each with its own data directory: they are one installation,
also when one of them is killed in the middle of its work."""
import hashlib
import os
import random
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.backend import Bucket, s3_settings
from support.workspace import Workspace, files_of, multipart
from support.push import PushWorkspace, allowing
from support.server import Server
from support.waiting import CEILING, Stalled, wait_until

WORKERS, EACH = 6, 9
MIB = 1 << 20
SIZES = (3_000, 40_000, 300_000, 6 * MIB)  # stored in the row, by one PUT, and the largest as a multipart upload
NO_BACKGROUND = {"uploads.sweep_every": "24h", "uploads.check_every": "0s"}
BUSY = {"uploads.ack_retention": "0s", "uploads.sweep_every": "100ms", "uploads.check_every": "100ms", "uploads.check_rate": 1 << 30}


class S3Group:
    """The servers share only what add() passes to each of them."""

    def __init__(self, url, swift):
        self.bucket, self._url, self.servers = Bucket(swift), url, []
        self._settings, self._environment = s3_settings(swift, self.bucket.name)
        self._environment |= {"RESTANTE_ADMIN_TOKEN": secrets.token_urlsafe(32), "RESTANTE_SERVER_KEY": secrets.token_urlsafe(32)}

    def add(self, settings):
        self.servers.append(Server({**self._settings, **settings}, arguments=("--database", self._url), environment=self._environment))
        return self.servers[-1]


@pytest.fixture
def s3_group(postgres, swift):
    with postgres.database() as url:
        made = S3Group(url, swift)
        yield made
        errors = []
        for server in made.servers:
            try:
                server.finish()
            except AssertionError as error:
                errors.append(error)
        if errors:
            raise errors[0]


class Load:
    """Files that are uploaded to one server, read from the next and acked at the one after. A server that does not run is skipped."""

    def __init__(self, servers, inbox):
        self.servers, self.inbox = servers, inbox
        self.sent, self.acked, self.lock = {}, set(), threading.Lock()

    def ask(self, first, method, rest, **options):
        """The answer of the first server that answers, beginning with number `first`. A request that failed is repeated."""
        def attempt():
            nonlocal first
            first += 1
            try:
                answer = self.servers[first % len(self.servers)].request(method, self.inbox.path(rest), **options)
            except (AssertionError, OSError, Stalled):
                return None  # the server was killed before or during the request
            return answer if answer.status not in (503, 409) else None
        return wait_until(attempt, f"{method} {rest} is answered", 4 * CEILING)

    def work(self, worker):
        chance = random.Random(worker)
        for n in range(EACH):
            name, data = f"{worker}-{n}", chance.randbytes(chance.choice(SIZES))
            fields, body = multipart((name, data))
            admin = self.servers[0].admin_token
            sent = self.ask(n, "POST", "chat/uploads", token=admin, headers={**fields, "Idempotency-Key": name}, body=body)
            (file_id, _), = files_of(sent)
            with self.lock:
                self.sent[file_id] = (name, hashlib.sha256(data).hexdigest())
            fetched = self.ask(n + 1, "GET", f"pending-uploads/{file_id}/content", token=self.inbox.token)
            assert (fetched.status, fetched.body == data) == (200, True), fetched
            if n % 3:
                assert self.ask(n + 2, "POST", f"pending-uploads/{file_id}/ack", token=self.inbox.token).status == 200
                with self.lock:
                    self.acked.add(file_id)


def check(inbox, load):
    """Every file is there once, every ack is there once, and all other files have their content."""
    rows = inbox.activity()
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    received = [row["request_body"] for row in rows if row["method"] == "chat_upload_receive"]
    assert sorted(row["name"] for row in received) == sorted(name for name, _ in load.sent.values()), "none is lost, none doubled"
    assert {row["file_id"] for row in received} == load.sent.keys()
    receipts = [row["request_body"]["file_id"] for row in rows if row["method"] == "chat_upload_acked"]
    assert sorted(receipts) == sorted(load.acked)
    assert not [row for row in rows if row["method"] == "chat_upload_failed"], "no file was reported as damaged"
    for file_id, (_, digest) in load.sent.items():
        answer = inbox.server.get(inbox.content(file_id), token=inbox.token)
        assert answer.status == (404 if file_id in load.acked else 200)
        assert file_id in load.acked or hashlib.sha256(answer.body).hexdigest() == digest


def test_load_through_three_servers_with_nothing_in_common_loses_doubles_and_leaves_nothing(s3_group):
    one, two, killed = (s3_group.add(NO_BACKGROUND) for _ in range(3))
    inbox = Workspace(one, "inbox")
    load = Load([one, two, killed], inbox)
    with ThreadPoolExecutor(WORKERS) as pool:
        working = [pool.submit(load.work, worker) for worker in range(WORKERS)]
        wait_until(lambda: len(load.sent) >= WORKERS * EACH // 3, "a third is done", 8 * CEILING)
        # While it writes: a multipart upload is in progress.
        wait_until(lambda: s3_group.bucket.parts() or len(load.sent) >= WORKERS * EACH // 2, "an upload is in progress", 8 * CEILING)
        killed.kill()
        for done in working:
            done.result()
    assert len(load.sent) == WORKERS * EACH
    check(inbox, load)
    # Three new servers sweep and check all the time. Their deadlines may be short, because nothing is uploaded any more.
    one.stop()
    two.stop()
    others = [s3_group.add({**BUSY, "timeouts.request": "1s"}) for _ in range(3)]
    kept = sum(1 for file_id in load.sent.keys() - load.acked if large(inbox.on(others[0]), file_id))
    wait_until(lambda: len(s3_group.bucket.objects()) == kept and not s3_group.bucket.parts(), "the blobs of waiting files, and no others",
               4 * CEILING)
    wait_until(lambda: swept(others) >= len(load.acked), "the last acked row is deleted")
    assert swept(others) == len(load.acked), "each was deleted once"
    for server in others:
        check(inbox.on(server), load)
    report = checked(others[1])
    assert (report["state"], report["wrong"], report["mended"], report["files"]) == ("done", 0, 0, len(load.sent) - len(load.acked))


def swept(servers):
    return sum(server.metric("restante_pending_uploads_swept_total", '{outcome="acked"}') for server in servers)


def large(inbox, file_id):
    """Whether its content is in the bucket, not in its row."""
    return inbox.server.get(inbox.path(f"pending-uploads/{file_id}"), token=inbox.token).json()["size"] > 16_384


def checked(server, how=None):
    started = server.request("POST", "/admin/blobs/check", token=server.admin_token, json_body=how or {})
    assert started.status == 202, started
    return wait_until(lambda: ended(server), "the check is done", 4 * CEILING)


def ended(server):
    report = server.get("/admin/blobs/check", token=server.admin_token).json()
    return report if report["state"] != "running" else None


def test_secrets_from_one_server_are_valid_at_all(s3_group):
    servers = [s3_group.add({**NO_BACKGROUND, **allowing(9)}) for _ in range(3)]
    agent = PushWorkspace(servers[0], "http://127.0.0.1:9/")
    for server in servers:
        beat = server.request("POST", "/registry/heartbeat", token=agent.token, json_body={"workspace_id": agent.id})
        assert beat.json().get("platform_inbound_secret") == agent.secret, beat
    assert not [server for server in servers if any(os.path.exists(server.data / name) for name in ("admin.token", "server.key"))]


def test_no_file_is_marked_as_damaged_while_its_bucket_is_missing(s3_group):
    server = s3_group.add(NO_BACKGROUND)
    inbox = Workspace(server)
    (file_id, _), = inbox.upload(("a.bin", b"x" * 100_000))
    key, = s3_group.bucket.objects()
    kept = {name: s3_group.bucket.read(name) for name in (key, *s3_group.bucket.marks())}
    s3_group.bucket.remove(key)
    s3_group.bucket.remove_all()
    assert server.get(inbox.content(file_id), token=inbox.token).status == 503
    ready = server.get("/ready")
    assert ready.status == 503 and ready.json()["checks"]["blobs"] == "failed"
    report = checked(server, {"fix": True})
    assert report["state"] == "failed" and report["reason"], "a check fails if the bucket cannot be listed"
    assert (report["found"]["unreadable"], report["mended"], report["wrong"]) == (1, 0, 1)
    s3_group.bucket.make()
    for name, data in kept.items():
        s3_group.bucket.write(name, data)
    assert wait_until(lambda: content(inbox, file_id), "it is there again") == b"x" * 100_000
    assert inbox.server.get(inbox.path(f"pending-uploads/{file_id}"), token=inbox.token).json()["damage"] is None
    s3_group.bucket.remove(key)
    assert server.get(inbox.content(file_id), token=inbox.token).json()["code"] == "content_missing", "a single missing object is reported"


def content(inbox, file_id):
    answer = inbox.server.get(inbox.content(file_id), token=inbox.token)
    return answer.body if answer.status == 200 else None
