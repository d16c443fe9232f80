"""Push workspaces: a message goes to the callback, and into the inbox if the callback fails in any way."""
import json
import re
import sqlite3
import ssl
import subprocess
import threading
from contextlib import closing, contextmanager

import pytest

from support.checks import MARKER, check_error
from support.push import OK, Callback, PushWorkspace, allowing
from support.waiting import CEILING, wait_until
from support.workspace import Workspace, files_of, multipart


def head_and_body(request):
    head, body = request.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    return lines[0], {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}, json.loads(body)


# -- delivered


def test_a_message_goes_to_the_callback_and_its_answer_to_the_sender(start):
    with Callback() as callback:
        server = start(allowing(callback.port))
        workspace = PushWorkspace(server, callback.url("/a2a?x=1"))
        caller = PushWorkspace(server, callback.url())
        sent = workspace.send("grüße", message_id="m-1", token=caller.token)
        assert (sent.status, sent.header("Content-Type"), sent.body) == (200, "application/json", b'{"result":"hi"}')
        line, fields, body = head_and_body(callback.requests[-1])
        assert line == "POST /a2a?x=1 HTTP/1.1"
        assert fields["host"] == f"127.0.0.1:{callback.port}"
        assert fields["content-type"] == "application/json"
        assert fields["authorization"] == f"Bearer {workspace.secret}"
        assert fields["x-workspace-id"] == caller.id
        assert body["params"]["message"]["messageId"] == "m-1"
        assert body["params"]["message"]["parts"] == [{"kind": "text", "text": "grüße"}]
        row, = workspace.rows()
        assert (row["activity_type"], row["method"], row["status"]) == ("a2a_send", "message/send", "ok")
        assert (row["source_id"], row["target_id"]) == (caller.id, workspace.id)
        assert isinstance(row["duration_ms"], int) and row["response_body"] == {"result": "hi"}
        assert workspace.rows("a2a_receive") == [], "a polling agent would get what the callback has"


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422])
def test_a_4xx_of_the_agent_is_passed_to_the_sender(start, status):
    def script(connection, _):
        connection.sendall(b"HTTP/1.1 %d No\r\nContent-Type: text/plain\r\nX-Evil: 1\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nno" % status)

    with Callback(script) as callback:
        workspace = PushWorkspace(start(allowing(callback.port)), callback.url())
        sent = workspace.send()
        assert (sent.status, sent.header("Content-Type"), sent.body) == (status, "text/plain", b"no")
        assert sent.header("X-Evil") is None and sent.header("Set-Cookie") is None, "only the type is relayed"
        row, = workspace.rows()
        assert (row["activity_type"], row["status"]) == ("a2a_send", "error") and str(status) in row["error_detail"]
        for _ in range(6):  # an agent that answers with an error is alive
            assert workspace.send().status == status


# -- not delivered


def answers(reply):
    return lambda connection, _: connection.sendall(reply)


def endless(head, piece):
    def script(connection, _):
        connection.sendall(head)
        while True:
            connection.sendall(piece)
    return script


FAILURES = {
    "closes at once": (lambda connection, _: None, "bad_reply"),
    "closes in the middle": (answers(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), "bad_reply"),
    "sends no HTTP": (answers(b"\x00\x01garbage\r\n\r\n"), "bad_reply"),
    "is broken": (answers(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"), "failed"),
    "is unavailable": (answers(b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"), "failed"),
    "is busy": (answers(b"HTTP/1.1 429 Later\r\nContent-Length: 0\r\n\r\n"), "busy"),
    "redirects": (answers(b"HTTP/1.1 307 There\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"), "redirected"),
    "redirects to a file": (answers(b"HTTP/1.1 301 There\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"), "redirected"),
    "sends too much": (endless(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n", b"x" * 65536), "too_large"),
    "never ends its chunks": (endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"), "too_large"),
    "sends a megabyte of headers": (endless(b"HTTP/1.1 200 OK\r\n", b"X-Header: " + b"y" * 1000 + b"\r\n"), "bad_reply"),
    "sends an endless trailer": (endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ", b"z" * 65536), "bad_reply"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_the_message_is_in_the_inbox_when_the_callback(start, name):
    script, outcome = FAILURES[name]
    with Callback(script) as callback:
        server = start(allowing(callback.port))
        workspace = PushWorkspace(server, callback.url())
        row = workspace.check_fell_back(workspace.send(message_id="m-7"), outcome=outcome)
        assert row["request_body"]["params"]["message"]["messageId"] == "m-7"
        assert row["activity_type"] == "a2a_receive" and isinstance(row["duration_ms"], int)
        assert len(callback.requests) == 1, "one attempt"
        assert len(workspace.rows()) == 1
        assert server.metric("restante_pushes_total", f'{{outcome="{outcome}"}}') == 1


def drip(callback):
    def script(connection, _):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not callback().over.wait(0.05):
            connection.sendall(b"x")
    return script


@pytest.mark.parametrize("kind", ["never answers", "drips"])
def test_a_callback_that_is_too_slow_delays_the_sender_only_until_its_timeout(start, kind):
    slow = []
    script = drip(lambda: slow[0]) if kind == "drips" else lambda connection, _: slow[0].over.wait(CEILING)
    with Callback(script) as callback:
        slow.append(callback)
        server = start(allowing(callback.port, **{"push.timeout": "300ms"}))
        workspace = PushWorkspace(server, callback.url())
        workspace.check_fell_back(workspace.send(), outcome="timed_out")


def test_a_callback_that_is_down_leaves_the_message_in_the_inbox(start):
    with Callback() as callback:
        server = start(allowing(callback.port))
        workspace = PushWorkspace(server, callback.url())
    sent = workspace.send("still here", message_id="m-1")
    workspace.check_fell_back(sent, "still here", "unreachable")
    again = workspace.send("still here", message_id="m-1")
    assert again.json() == sent.json(), "the same message is one message"
    assert len(workspace.rows()) == 1


def test_a_callback_without_a_trusted_certificate_gets_no_request(start, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with Callback(tls=tls) as callback:
        distrusting = start(allowing(callback.port))
        workspace = PushWorkspace(distrusting, callback.url(scheme="https"))
        workspace.check_fell_back(workspace.send(), outcome="unreachable")
        assert callback.requests == [], "the secret was sent to an untrusted server"
        trusting = start(allowing(callback.port), environment={"SSL_CERT_FILE": str(certificate)})
        workspace = PushWorkspace(trusting, callback.url(scheme="https"))
        assert workspace.send().body == b'{"result":"hi"}'


# -- paused callbacks


def test_calls_to_a_dead_callback_are_paused_and_tried_again_later(start):
    broken = threading.Event()
    broken.set()

    def script(connection, _):
        connection.sendall(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n" if broken.is_set() else OK)

    with Callback(script) as callback, Callback() as healthy:
        server = start(allowing(callback.port, healthy.port))
        workspace, other = PushWorkspace(server, callback.url()), PushWorkspace(server, healthy.url())
        for number in range(5):
            workspace.check_fell_back(workspace.send(f"{number}"), f"{number}", "failed")
        assert len(callback.requests) == 5
        more = []

        def is_paused():
            """If the machine stalled for longer than the pause, this call was the probe: it fails, and the next pause is longer."""
            asked = len(callback.requests)
            more.append(workspace.check_fell_back(workspace.send("more"), "more"))
            paused = "spared" in more[-1]["error_detail"]
            assert len(callback.requests) == asked + (not paused), "a paused callback is not called"
            return paused

        wait_until(is_paused, "calls are paused")
        asked = len(callback.requests)
        assert other.send().body == b'{"result":"hi"}', "one dead callback does not affect others"
        broken.clear()
        sent = []
        wait_until(lambda: sent.append(workspace.send("back?")) or sent[-1].body == b'{"result":"hi"}', "the probe")
        assert len(callback.requests) == asked + 1, "one probe, and it was enough"
        assert workspace.send().body == b'{"result":"hi"}'
        lost = len(sent) - 1
        texts = [row["summary"] for row in workspace.rows("a2a_receive")]
        assert texts == ["0", "1", "2", "3", "4"] + ["more"] * len(more) + ["back?"] * lost, "no message is missing"


def test_a_callback_that_hangs_delays_no_other_workspace(start):
    with Callback(lambda connection, _: hanging[0].over.wait(CEILING)) as callback, Callback() as healthy:
        hanging = [callback]
        server = start(allowing(callback.port, healthy.port, **{"push.timeout": "5m", "threads.pool": "2", "threads.io": "1",
                                                                "timeouts.drain": "0ms"}))
        stuck, other = PushWorkspace(server, callback.url()), PushWorkspace(server, healthy.url())
        wires = []
        for number in range(20):
            wires.append(server.connect())
            body = json.dumps({"method": "message/send", "params": {"message": {"parts": [{"text": f"{number}"}]}}}).encode()
            wires[-1].send(b"POST /workspaces/%s/a2a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (stuck.id.encode(), server.admin_token.encode(), len(body), body))
        wait_until(lambda: len(callback.requests) == 20, "all calls are in progress")
        assert other.send().body == b'{"result":"hi"}'
        assert not any(wire.has_input() for wire in wires)
        callback.close()


# -- refused at registration

LOOPBACK = ["127.0.0.1", "localhost", "a.localhost", "[::1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "017700000001",
            "127。0。0。1", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[::]"]
PRIVATE = ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "169.254.169.254", "224.0.0.1", "240.0.0.1", "192.0.0.1",
           "198.18.0.1", "[fd00::1]", "[fe80::1]", "[2002:a00:1::1]"]
SPELLINGS = ["file:///etc/passwd", "gopher://example.org/", "ftp://example.org/", "data:text/plain,x", "unix:/run/x",
             "http://user:pass@1.1.1.1/", "http://1.1.1.1#@10.0.0.1/", "http://1.1.1.1\\@10.0.0.1/", "http://1.1.1.1/\t",
             "http://1.1.1.1/\r\nX: y", "http://1.1.1.1:22/", "http://1.1.1.1:25/", "http://1.1.1.1:6379/", "http://1.1.1.1:/",
             "http://", "", "   ", f"http://no-such-host.invalid/{MARKER}", "http://1.1.1.1/" + "x" * 2048]


@pytest.mark.parametrize("url", [f"http://{host}/{MARKER}" for host in LOOPBACK + PRIVATE] + SPELLINGS)
def test_a_url_that_must_not_be_called_is_refused_at_registration(server, url):
    created = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "x"})
    token, id = created.json()["connection"]["enrolment_token"], created.json()["id"]
    error = check_error(server.request("POST", "/registry/register", token=token, json_body={
        "id": id, "agent_card": {}, "url": url, "delivery_mode": "push"}), 400)
    assert error["field"] == "url" and "url" in error["error"], error
    kept = server.get(f"/workspaces/{id}", token=server.admin_token).json()
    assert (kept["url"], kept["delivery_mode"], kept["status"]) == (None, "poll", "awaiting_agent"), "refused, so nothing changed"
    if url.strip():
        check_error(server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "x", "url": url}), 400,
                    code="callback_refused")


def test_a_poll_workspace_may_name_any_url(server):
    created = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "x"}).json()
    registered = server.request("POST", "/registry/register", token=created["connection"]["enrolment_token"], json_body={
        "id": created["id"], "agent_card": {}, "url": "http://localhost:8000", "delivery_mode": "poll"})
    assert registered.status == 200 and registered.json()["delivery_mode"] == "poll", registered
    assert "platform_inbound_secret" not in registered.json()


def test_a_network_that_is_no_longer_allowed_is_not_called(start, tmp_path):
    with Callback() as callback:
        before = start(allowing(callback.port), data=tmp_path)
        workspace = PushWorkspace(before, callback.url())
        assert workspace.send().body == b'{"result":"hi"}'
        before.stop()
        workspace.server = start({"push.allow_ports": str(callback.port)}, data=tmp_path)
        workspace.check_fell_back(workspace.send(), outcome="refused_address")
        assert len(callback.requests) == 1


# -- the secret


def test_the_agent_gets_the_inbound_secret_and_can_rotate_it(start):
    with Callback() as callback:
        server = start(allowing(callback.port))
        workspace, other = PushWorkspace(server, callback.url()), PushWorkspace(server, callback.url())
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}", workspace.secret) and workspace.secret != other.secret
        assert workspace.register(callback.url()).json()["platform_inbound_secret"] == workspace.secret
        beat = server.request("POST", "/registry/heartbeat", token=workspace.token, json_body={"workspace_id": workspace.id})
        assert beat.json() == {"status": "ok", "platform_inbound_secret": workspace.secret}
        path = f"/workspaces/{workspace.id}/inbound-secret"
        check_error(server.request("POST", path), 401)
        check_error(server.request("POST", path, token=other.token), 401)
        rotated = server.request("POST", path, token=workspace.token)
        assert rotated.status == 200 and rotated.json()["platform_inbound_secret"] != workspace.secret, rotated
        workspace.send()
        assert head_and_body(callback.requests[-1])[1]["authorization"] == f"Bearer {rotated.json()['platform_inbound_secret']}"
        assert server.request("POST", path, token=server.admin_token).status == 200


def test_the_secret_survives_a_restart_and_is_in_no_file(start, tmp_path):
    with Callback() as callback:
        first = start(allowing(callback.port, **{"log.level": "debug", "log.requests": "all"}), data=tmp_path)
        workspace = PushWorkspace(first, callback.url())
        workspace.send()
        key = (tmp_path / "server.key").read_bytes()
        assert len(key) == 32 and (tmp_path / "server.key").stat().st_mode & 0o777 == 0o600
        metrics = first.get("/metrics").body
        first.stop()
        secret = workspace.secret.encode()
        assert secret not in b"\n".join(first.stderr()) and secret not in metrics
        for file in tmp_path.rglob("*"):
            if file.is_file():
                content = file.read_bytes()
                assert secret not in content, f"{file.name} holds the secret"
                assert file.name == "server.key" or key not in content, f"{file.name} holds the key"
        workspace.server = second = start(allowing(callback.port), data=tmp_path)
        assert workspace.register(callback.url()).json()["platform_inbound_secret"] == workspace.secret
        second.stop()
        (tmp_path / "server.key").unlink()
        workspace.server = start(allowing(callback.port), data=tmp_path)
        fresh = workspace.register(callback.url()).json()["platform_inbound_secret"]
        assert fresh != workspace.secret, "a lost key means a new secret, not a broken server"
        workspace.send()
        assert head_and_body(callback.requests[-1])[1]["authorization"] == f"Bearer {fresh}"


@contextmanager
def no_new_secrets(server):
    """Meanwhile the database refuses every inbound secret."""
    def run(sql):
        with closing(sqlite3.connect(server.data / "restante.db", timeout=CEILING)) as database, database:
            database.execute(sql)

    run("CREATE TRIGGER no_secrets BEFORE INSERT ON inbound_secrets BEGIN SELECT raise(ABORT, 'no room'); END")
    yield
    run("DROP TRIGGER no_secrets")


def test_a_registration_that_fails_leaves_the_enrolment_unused(start):
    with Callback() as callback:
        server = start(allowing(callback.port))
        made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "push"}).json()
        enrolment = made["connection"]["enrolment_token"]
        body = {"id": made["id"], "agent_card": {}, "url": callback.url(), "delivery_mode": "push"}

        def register():
            return server.request("POST", "/registry/register", token=enrolment, json_body=body)

        with no_new_secrets(server):
            assert register().status >= 500
        seen = server.get(f"/workspaces/{made['id']}", token=server.admin_token).json()
        assert (seen["status"], seen["delivery_mode"], seen["url"]) == ("awaiting_agent", "poll", None)
        registered = register()
        assert registered.status == 200 and registered.json()["auth_token"], registered
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}", registered.json()["platform_inbound_secret"])
        check_error(register(), 401)


def test_a_message_that_fails_for_want_of_a_secret_leaves_no_file_behind(start):
    with Callback() as callback:
        server = start(allowing(callback.port))
        body = {"name": "push", "url": callback.url()}
        target = server.request("POST", "/workspaces", token=server.admin_token, json_body=body).json()["id"]
        caller = Workspace(server, "caller")
        headers, content = multipart(("a.txt", b"hello"))
        staged = server.request("POST", caller.path("chat/uploads?direction=out"), token=caller.token, headers=headers, body=content)
        (_, item), = files_of(staged)
        message = {"messageId": "m-1", "parts": [{"kind": "file", "file": {"uri": item["uri"], "name": "a.txt"}}]}

        def send():
            return server.request("POST", f"/workspaces/{target}/a2a", token=caller.token,
                                  json_body={"method": "message/send", "params": {"message": message}})

        def rows():
            return server.get(f"/workspaces/{target}/activity?since_seq=0", token=server.admin_token).json()

        with no_new_secrets(server):
            assert send().status >= 500
        assert rows() == []
        assert send().body == b'{"result":"hi"}'
        assert [row["method"] for row in rows()] == ["chat_upload_receive", "message/files", "message/send"]
