"""Uploads to push workspaces: the server streams the body to the callback and returns its answer; it stores nothing."""
import hashlib
import os
import re
import signal
import sqlite3
import ssl
import subprocess
import threading
import uuid

import pytest

from support.checks import check_error
from support.workspace import files_of, multipart
from support.push import Callback, PushWorkspace, allowing
from support.server import sanitizer
from support.waiting import CEILING, wait_until
from support.wire import chunked, request

INGEST = "/internal/chat/uploads/ingest"
DONE = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"files":[]}'


class Upload:
    """One upload as the callback received it."""

    def __init__(self, head, body):
        lines = head.decode().split("\r\n")
        self.line = lines[0]
        self.fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        self.body, self.whole = bytearray(body), False

    def read(self, connection, most=None):
        """Reads on to the end of the body, or until `most` bytes are there. `whole` is whether the end was reached."""
        while not self.is_whole() and (most is None or len(self.body) < most):
            piece = connection.recv(1 << 16)
            if not piece:
                return self
            self.body += piece
        self.whole = self.is_whole()
        return self

    def is_whole(self):
        if "content-length" in self.fields:
            return len(self.body) >= int(self.fields["content-length"])
        return self.body.endswith(b"0\r\n\r\n") and self.data() is not None

    def data(self):
        """The bytes without their framing; None while a chunked body has not ended."""
        if "content-length" in self.fields:
            return bytes(self.body)
        data, at = b"", 0
        while True:
            end = self.body.find(b"\r\n", at)
            if end < 0:
                return None
            size = int(self.body[at:end], 16)
            data, at = data + self.body[end + 2:end + 2 + size], end + size + 4
            if size == 0:
                assert at == len(self.body), "bytes after the last chunk"
                return bytes(data)


class Ingest(Callback):
    """A callback whose script gets the Upload after its head has arrived, and reads the body itself."""

    def __init__(self, script=None, tls=None):
        super().__init__(script or take_all, tls)

    def receive(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(1 << 16)
            if not piece:
                return None
            data += piece
        return Upload(*data.split(b"\r\n\r\n", 1))

    def upload(self):
        """Waits for the one upload and returns it."""
        wait_until(lambda: self.requests, "an upload at the callback")
        upload, = self.requests
        return upload


def take_all(connection, upload):
    if upload.read(connection).whole:
        connection.sendall(DONE)


def answers(reply):
    def script(connection, upload):
        upload.read(connection)
        connection.sendall(reply)
    return script


class Agent(PushWorkspace):
    """A push workspace that gets files from people."""

    def path(self, rest="chat/uploads"):
        return f"/workspaces/{self.id}/{rest}"

    def upload(self, *files, headers=None):
        fields, body = multipart(*(files or [("a.txt", b"hello")]))
        return self.server.request("POST", self.path(), token=self.server.admin_token, headers={**fields, **(headers or {})}, body=body)

    def head(self, length, **more):
        """The head of an upload without its body; length None: chunked."""
        framing = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": length}
        fields = {"Authorization": f"Bearer {self.server.admin_token}", **multipart()[0], **framing, **more}
        return request("POST", self.path(), fields)

    def row(self, status):
        """The one row of an upload that was sent to the callback."""
        row, = wait_until(lambda: self.rows("a2a_send"), "the row of the upload")
        assert (row["method"], row["status"], row["target_id"]) == ("chat_upload_push", status, self.id), row
        assert isinstance(row["duration_ms"], int), row
        return row

    def nothing_staged(self):
        waiting = self.server.get(self.path("pending-uploads"), token=self.token)
        assert waiting.json() == [], waiting
        assert self.rows("chat_upload_receive") == []

    def pushes(self, outcome):
        return self.server.metric("restante_upload_pushes_total", f'{{outcome="{outcome}"}}')


# -- delivered


def test_an_upload_of_25_mib_goes_through_byte_for_byte(start):
    content = os.urandom(25 << 20)
    fields, body = multipart(("große datei.bin", content), ("b.txt", b"second"), boundary="----WebKitFormBoundaryZq7")
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url("/a2a"))
        before = server.rss()
        sent = server.request("POST", agent.path(), token=server.admin_token, headers={**fields, "Idempotency-Key": "k-1"}, body=body)
        assert (sent.status, sent.header("Content-Type"), sent.body) == (200, "application/json", b'{"files":[]}')
        upload = callback.upload()
        assert upload.line == f"POST /a2a{INGEST} HTTP/1.1"
        assert upload.fields["authorization"] == f"Bearer {agent.secret}"
        assert upload.fields["content-type"] == fields["Content-Type"]
        assert upload.fields["content-length"] == str(len(body))
        assert upload.fields["host"] == f"127.0.0.1:{callback.port}"
        assert upload.fields["idempotency-key"] == "k-1"
        assert hashlib.sha256(upload.body).digest() == hashlib.sha256(body).digest()
        assert server.admin_token not in str(upload.fields), "the sender's token is not sent to the callback"
        if not sanitizer():
            assert server.rss() - before < 8 << 20, "the body was kept in memory"
        row = agent.row("ok")
        assert row["request_body"] == {"size": len(body)} and row["response_body"] == {"files": []}
        assert agent.rows("a2a_receive") == [], "a polling agent would get what the callback has"
        agent.nothing_staged()
        assert server.unfinished_files() == []
        assert agent.pushes("delivered") == 1
        assert server.metric("restante_upload_push_bytes_total") == len(body)
        line = server.wait_log('"upload_pushed"')
        assert (line["workspace_id"], line["size"], line["status"]) == (agent.id, len(body), 200)


def test_a_chunked_upload_stays_chunked_and_gets_100_continue(start):
    _, body = multipart(("a.bin", os.urandom(300_000)))
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        with server.connect() as wire:
            wire.send(agent.head(None, Expect="100-continue"))
            assert wire.read_informational().status == 100
            wire.send(chunked(body[:1], body[1:70_000], body[70_000:]))
            assert wire.read().body == b'{"files":[]}'
            wire.send(request("GET", "/health", {"Connection": "close"}))
            assert wire.read().status == 200, "the connection stays open"
        upload = callback.upload()
        assert upload.fields["transfer-encoding"] == "chunked" and "content-length" not in upload.fields
        assert "expect" not in upload.fields
        assert upload.data() == body
        assert agent.row("ok")["request_body"] == {"size": len(body)}


def test_many_uploads_at_once_are_not_mixed(start):
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        contents, answers_ = [os.urandom(1 << 20) for _ in range(12)], []
        threads = [threading.Thread(target=lambda c=c: answers_.append(agent.upload(("f", c)).status)) for c in contents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers_ == [200] * len(contents)
        wanted = sorted(hashlib.sha256(multipart(("f", c))[1]).hexdigest() for c in contents)
        assert sorted(hashlib.sha256(upload.body).hexdigest() for upload in callback.requests) == wanted
        assert len(agent.rows("a2a_send")) == len(contents)


@pytest.fixture
def certificate(tmp_path):
    """(certificate, key) of 127.0.0.1, signed by itself."""
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[1], "-out", files[0]],
                   check=True, capture_output=True)
    return files


def tls_of(certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)
    return tls


def test_a_callback_with_a_trusted_certificate_gets_it_over_tls(start, certificate):
    with Ingest(tls=tls_of(certificate)) as callback:
        distrusting = start(allowing(callback.port))
        error = check_error(Agent(distrusting, callback.url(scheme="https")).upload(), 502, code="callback_unreachable")
        assert error["reason"] == "unreachable" and callback.requests == [], "the secret was sent to an untrusted server"
        trusting = start(allowing(callback.port), environment={"SSL_CERT_FILE": str(certificate[0])})
        content = os.urandom(3 << 20)
        assert Agent(trusting, callback.url(scheme="https")).upload(("f", content)).status == 200
        assert bytes(callback.upload().body) == multipart(("f", content))[1]


def test_a_sender_over_tls_is_served_the_same_way(start, certificate):
    early = threading.Event()

    def script(connection, upload):
        if early.is_set():
            upload.read(connection, most=5)
            connection.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno")
            upload.read(connection)
        else:
            take_all(connection, upload)

    with Ingest(script, tls=tls_of(certificate)) as callback:
        server = start(allowing(callback.port, **{"tls.certificate": certificate[0], "tls.key": certificate[1]}),
                       environment={"SSL_CERT_FILE": str(certificate[0])}, tls=ssl.create_default_context(cafile=certificate[0]))
        agent = Agent(server, callback.url(scheme="https"))
        content = os.urandom(3 << 20)
        assert agent.upload(("f", content)).status == 200
        assert bytes(callback.upload().body) == multipart(("f", content))[1]
        early.set()
        with server.connect() as wire:
            wire.send(agent.head(1_000_000) + b"first")
            assert wire.read().body == b"no", "although the sender has not sent everything"


def test_a_stop_waits_for_an_upload_in_progress(start):
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        _, body = multipart(("f", os.urandom(100_000)))
        with server.connect() as wire:
            wire.send(agent.head(len(body)) + body[:50_000])
            upload = callback.upload()
            wait_until(lambda: len(upload.body) >= 50_000, "half of it at the callback")
            server.signal(signal.SIGTERM)
            wait_until(lambda: not can_connect(server), "the server accepts no more connections")
            wire.send(body[50_000:])
            assert wire.read().status == 200
        assert server.wait_exit() == 0


def can_connect(server):
    try:
        server.connect().close()
        return True
    except OSError:
        return False


# -- the callback's answers


@pytest.mark.parametrize("status", [201, 400, 401, 413, 422, 429, 500, 503])
def test_the_callbacks_answer_goes_to_the_sender(start, status):
    reply = b"HTTP/1.1 %d Text\r\nContent-Type: text/plain\r\nX-Evil: 1\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\ntext" % status
    with Ingest(answers(reply)) as callback:
        agent = Agent(start(allowing(callback.port)), callback.url())
        sent = agent.upload()
        assert (sent.status, sent.header("Content-Type"), sent.body) == (status, "text/plain", b"text")
        assert sent.header("X-Evil") is None and sent.header("Set-Cookie") is None, "only the type is relayed"
        row = agent.row("ok" if status < 300 else "error")
        assert status < 300 or str(status) in row["error_detail"]
        agent.nothing_staged()


@pytest.mark.parametrize("framing", ["sized", "chunked"])
def test_an_answer_before_the_end_of_the_body_goes_to_the_sender_at_once(start, framing):
    def script(connection, upload):
        upload.read(connection, most=5)
        connection.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno")
        upload.read(connection)

    with Ingest(script) as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        with server.connect() as wire:
            wire.send(agent.head(1_000_000) + b"first" if framing == "sized" else agent.head(None) + b"5\r\nfirst\r\n")
            answer, = wire.read_until_closed()
        assert (answer.status, answer.body, answer.header("Connection")) == (401, b"no", "close")
        assert agent.row("error")["request_body"] == {"size": 5}


def test_a_sender_that_is_still_sending_gets_the_early_answer(start):
    def script(connection, upload):
        upload.read(connection, most=100_000)
        connection.sendall(b"HTTP/1.1 413 Much\r\nContent-Length: 8\r\n\r\ntoo much")

    with Ingest(script) as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        with server.connect() as wire:
            wire.send(agent.head(50 << 20) + bytes(50 << 20))
            assert wire.read().body == b"too much"
        agent.row("error")


BROKEN = {
    "redirects": (b"HTTP/1.1 307 There\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", "redirected"),
    "closes without an answer": (b"", "bad_reply"),
    "breaks off": (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "bad_reply"),
    "switches protocols": (b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "bad_reply"),
    "has an invalid status": (b"HTTP/1.1 799 What\r\nContent-Length: 0\r\n\r\n", "bad_reply"),
    "sends two megabytes": (b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 2_000_000, "too_large"),
    "sends a megabyte of headers": (b"HTTP/1.1 200 OK\r\n" + b"X-H: " + b"y" * 1_000_000 + b"\r\n\r\n", "bad_reply"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_answer_is_502_when_the_callback(start, name):
    reply, reason = BROKEN[name]
    with Callback() as trap, Ingest(lambda *got: answers(reply % trap.url().encode() if b"%s" in reply else reply)(*got)) as callback:
        agent = Agent(start(allowing(callback.port, trap.port)), callback.url())
        error = check_error(agent.upload(), 502, code="callback_failed")
        assert error["reason"] == reason and "retry_after" not in error, "the callback may have the file: only a person can find out"
        assert reason in agent.row("error")["error_detail"] or "307" in agent.row("error")["error_detail"]
        assert trap.requests == [], "a redirect was followed"
        assert agent.pushes(reason) == 1
        agent.nothing_staged()


def test_a_waiting_sender_is_answered_when_the_callback_dies_in_the_middle(start):
    with Ingest(lambda connection, upload: upload.read(connection, most=5)) as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        with server.connect() as wire:
            wire.send(agent.head(1_000_000) + b"first")
            answer, = wire.read_until_closed()
        assert check_error(answer, 502, code="callback_failed")["reason"] == "bad_reply"
        assert agent.row("error")["request_body"] == {"size": 5}


# -- slow callbacks and senders


def test_a_callback_that_does_not_read_stops_the_sender_and_is_cut_off(start):
    with Ingest(lambda *_: stuck[0].over.wait(CEILING)) as callback, Callback() as healthy:
        stuck = [callback]
        server = start(allowing(callback.port, healthy.port, **{"timeouts.write_stall": "1s", "threads.pool": "1", "threads.io": "1"}))
        agent, other = Agent(server, callback.url()), Agent(server, healthy.url())
        with server.connect() as wire:
            wire.send(agent.head(100 << 20))
            callback.upload()
            sender = threading.Thread(target=wire.send, args=(bytes(100 << 20),))
            sender.start()
            assert other.send().status == 200, "no other request is delayed"
            sender.join()
            error = check_error(wire.read(), 502, code="callback_failed")
        assert error["reason"] == "timed_out"
        assert agent.row("error")["request_body"]["size"] < 30 << 20, "more was read than sockets buffer"
        callback.close()


def test_a_callback_that_never_answers_is_cut_off_at_its_timeout(start):
    def script(connection, upload):
        upload.read(connection)
        slow[0].over.wait(CEILING)

    with Ingest(script) as callback:
        slow = [callback]
        # Long enough to connect on a slow machine: an unreachable callback would give another answer.
        agent = Agent(start(allowing(callback.port, **{"push.timeout": "3s"})), callback.url())
        assert check_error(agent.upload(), 502, code="callback_failed")["reason"] == "timed_out"
        callback.close()


def test_a_sender_that_stops_is_answered_408_and_the_callback_sees_the_cut(start):
    with Ingest() as callback:
        server = start(allowing(callback.port, **{"timeouts.body_grace": "200ms", "timeouts.min_rate": "1000000000"}))
        agent = Agent(server, callback.url())
        with server.connect() as wire:
            wire.send(agent.head(1_000_000) + b"first")
            answer, = wire.read_until_closed()
        check_error(answer, 408)
        assert agent.row("error")["request_body"] == {"size": 5}
        assert not callback.upload().whole


# -- cut


@pytest.mark.parametrize("how", ["close", "reset", "finish_sending"])
@pytest.mark.parametrize("framing", ["sized", "chunked"])
def test_when_a_sender_disconnects_in_the_middle_the_callback_is_cut_off(start, framing, how):
    ended = threading.Event()

    def script(connection, upload):
        try:
            take_all(connection, upload)
        finally:
            ended.set()

    with Ingest(script) as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        wire = server.connect()
        wire.send(agent.head(1_000_000) + b"first" if framing == "sized" else agent.head(None) + b"5\r\nfirst\r\n")
        upload = callback.upload()
        wait_until(lambda: b"first" in upload.body, "the first bytes at the callback")
        getattr(wire, how)()
        if how == "finish_sending":
            check_error(wire.read(), 400, code="malformed_multipart")
        assert ended.wait(CEILING) and not upload.whole and b"0\r\n\r\n" not in upload.body
        assert "cut" in agent.row("error")["error_detail"]
        assert (agent.pushes("cut"), agent.pushes("delivered")) == (1, 0)
        agent.nothing_staged()
        wire.close()
        for _ in range(6):  # a sender that disconnects is no fault of the callback
            with server.connect() as again:
                again.send(agent.head(1_000_000) + b"first")
        wait_until(lambda: agent.pushes("cut") == 7, "all cut")
        assert agent.upload().status == 200


def test_a_body_beyond_the_limit_is_refused_or_cut(start):
    with Ingest() as callback:
        server = start(allowing(callback.port, **{"uploads.per_file_bytes": "50000", "uploads.per_request_bytes": "100000"}))
        agent = Agent(server, callback.url())
        with server.connect() as wire:
            wire.send(agent.head(100_001, Expect="100-continue"))
            announced, = wire.read_until_closed()
        assert check_error(announced, 413)["max"] == 100_000 and announced.informational == []
        assert callback.requests == [], "a refused request does not reach the callback"
        with server.connect() as wire:
            wire.send(agent.head(None) + chunked(*[b"x" * 1000] * 101))
            assert check_error(wire.read(), 413)["max"] == 100_000
        assert not callback.upload().whole
        assert "cut" in agent.row("error")["error_detail"]


# -- not to be called


def test_an_address_that_is_no_longer_allowed_is_not_called(start, tmp_path):
    with Ingest() as callback:
        before = start(allowing(callback.port), data=tmp_path)
        agent = Agent(before, callback.url())
        before.stop()
        agent.server = start({"push.allow_ports": str(callback.port)}, data=tmp_path)
        error = check_error(agent.upload(), 502, code="callback_unreachable")
        assert error["reason"] == "refused_address" and "retry_after" not in error
        assert callback.requests == [] and agent.rows() == []
        agent.nothing_staged()


def test_a_body_that_is_no_form_does_not_reach_the_callback(start):
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        for kind in ("application/json", "multipart/mixed; boundary=b", "multipart/form-data"):
            check_error(server.request("POST", agent.path(), token=server.admin_token, headers={"Content-Type": kind}, body=b"{}"),
                        400, code="malformed_multipart")
        check_error(agent.upload(headers={"Content-Encoding": "gzip"}), 415)
        assert callback.requests == []


def test_a_callback_that_is_down_is_502_and_then_paused_for_messages_too(start):
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
    for _ in range(5):
        with server.connect() as wire:
            wire.send(agent.head(1_000_000, Expect="100-continue"))
            answer, = wire.read_until_closed()
        error = check_error(answer, 502, code="callback_unreachable")
        assert error["reason"] == "unreachable" and error["retry_after"] > 0 and answer.informational == []
    # If the machine stalled for longer than the pause, a call is the probe: it fails, and the next pause is longer.
    wait_until(lambda: check_error(agent.upload(), 502)["reason"] == "spared", "calls are paused")
    wait_until(lambda: "spared" in agent.check_fell_back(agent.send("hello"))["error_detail"], "for messages, too")
    assert agent.rows("a2a_send") == [], "the workspace got no rows"
    agent.nothing_staged()


# -- no url, no secret, no mode


def rewrite(server, workspace_id, **columns):
    """Changes a row to a state that only older versions could write."""
    database = sqlite3.connect(server.data / "restante.db", timeout=CEILING)
    with database:
        settings = ", ".join(f"{name} = ?" for name in columns)
        changed = database.execute(f"UPDATE workspaces SET {settings} WHERE id = ?", (*columns.values(), uuid.UUID(workspace_id).bytes))
        assert changed.rowcount == 1
    database.close()


@pytest.mark.parametrize("mode", [None, ""])
def test_an_unset_mode_is_push(start, mode):
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        rewrite(server, agent.id, delivery_mode=mode)
        assert server.get(f"/workspaces/{agent.id}", token=agent.token).json()["delivery_mode"] == "push"
        assert agent.upload(("a.txt", b"hello")).body == b'{"files":[]}'
        assert bytes(callback.upload().body) == multipart(("a.txt", b"hello"))[1]
        agent.row("ok")


@pytest.mark.parametrize("mode, status, code", [("push", 503, "callback_missing"), (None, 422, "no_callback"), ("", 422, "no_callback")])
def test_without_a_url_the_answer_depends_on_whether_the_mode_was_set(start, mode, status, code):
    with Ingest() as callback:
        server = start(allowing(callback.port))
        agent = Agent(server, callback.url())
        rewrite(server, agent.id, delivery_mode=mode, url="")
        error = check_error(agent.upload(), status, code=code)
        assert error["error"].startswith("workspace has no callback URL")
        assert callback.requests == []
        agent.nothing_staged()


def test_a_secret_that_cannot_be_read_is_503_until_the_agent_has_a_new_one(start, tmp_path):
    with Ingest() as callback:
        first = start(allowing(callback.port), data=tmp_path)
        agent = Agent(first, callback.url())
        first.stop()
        (tmp_path / "server.key").unlink()
        agent.server = second = start(allowing(callback.port), data=tmp_path)
        check_error(agent.upload(), 503, code="no_inbound_secret")
        assert callback.requests == []
        beat = second.request("POST", "/registry/heartbeat", token=agent.token, json_body={"workspace_id": agent.id})
        fresh = beat.json()["platform_inbound_secret"]
        assert fresh != agent.secret
        assert agent.upload().status == 200
        assert callback.upload().fields["authorization"] == f"Bearer {fresh}"


# -- staged instead, where the operator wants it


@pytest.mark.bytes
def test_with_stage_when_down_the_files_for_a_dead_callback_are_staged(start):
    with Ingest() as callback:
        server = start(allowing(callback.port, **{"push.stage_when_down": "true"}))
        agent = Agent(server, callback.url())
        assert agent.upload().body == b'{"files":[]}', "a callback that works gets them"
        agent.nothing_staged()
    content = os.urandom(300_000)
    (file_id, item), = files_of(agent.upload(("late.bin", content)))
    assert item["size"] == len(content)
    fetched = server.get(agent.path(f"pending-uploads/{file_id}/content"), token=agent.token)
    assert fetched.body == content
    assert [row["request_body"]["file_id"] for row in agent.rows("chat_upload_receive")] == [file_id]
    for number in range(5):
        files_of(agent.upload((f"{number}.txt", b"x")))
    assert agent.pushes("staged") == 6
    names = [row["request_body"]["name"] for row in agent.rows("chat_upload_receive")]
    assert names == ["late.bin", "0.txt", "1.txt", "2.txt", "3.txt", "4.txt"], "also while its calls are paused"


def test_with_stage_when_down_a_file_that_the_callback_has_seen_is_not_staged(start):
    with Ingest(lambda connection, upload: upload.read(connection, most=5)) as callback:
        agent = Agent(start(allowing(callback.port, **{"push.stage_when_down": "true"})), callback.url())
        check_error(agent.upload(("a", b"x" * 1000)), 502, code="callback_failed")
        agent.nothing_staged()


# -- logs, metrics and files


def test_neither_content_nor_secret_is_in_a_log_a_metric_or_a_file(start, tmp_path):
    marker = b"zq7content" + os.urandom(8).hex().encode()
    with Ingest() as callback:
        server = start(allowing(callback.port, **{"log.level": "debug", "log.requests": "all"}), data=tmp_path)
        agent = Agent(server, callback.url())
        assert agent.upload(("zq7name.txt", marker)).status == 200
        metrics = server.get("/metrics").body
        server.stop()
        output = b"\n".join(server.stderr()) + metrics
        for file in tmp_path.rglob("*"):
            if file.is_file():
                output += file.read_bytes()
        for secret in (marker, b"zq7name", agent.secret.encode()):
            assert not re.search(re.escape(secret), output), secret
