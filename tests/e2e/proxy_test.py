"""Behind a real proxy: everything also works through Debian's nginx, and the server gets the client's address."""
import hashlib
import os
import ssl
import subprocess

import pytest

from support.checks import check_error
from support.workspace import Workspace, files_of, multipart
from support.events import EventStream
from support.nginx import Nginx
from support.wire import chunked, request

SETTINGS = {"trusted_proxies": "127.0.0.1", "log.requests": "all"}


@pytest.fixture
def proxy(server, tmp_path):
    nginx = Nginx(server, tmp_path)
    yield nginx
    nginx.stop()


@pytest.fixture
def agent(proxy):
    return Workspace(proxy)


def test_a_held_poll_is_woken_through_the_proxy(proxy, agent):
    polls = agent.park(3)
    agent.notify("through the wall")
    for wire in polls:
        rows = wire.read().json()
        assert [row["response_body"]["result"] for row in rows] == ["through the wall"]


def test_a_poll_whose_client_disconnects_from_the_proxy_ends(server, proxy, agent):
    wire, = agent.park()
    wire.close()
    server.wait_metric("restante_held_polls", 0)
    agent.notify("still here")
    assert agent.messages() == ["still here"]


def test_an_upload_through_the_proxy_arrives_unchanged(proxy, agent):
    content = os.urandom(3 << 20)
    (file_id, item), = agent.upload(("big.bin", content))
    assert item["sha256"] == hashlib.sha256(content).hexdigest()
    fetched = proxy.get(agent.content(file_id), token=agent.token)
    assert fetched.status == 200 and fetched.body == content
    part = proxy.get(agent.content(file_id), token=agent.token, headers={"Range": "bytes=1000-1999"})
    assert (part.status, part.header("Content-Range"), part.body) == (206, f"bytes 1000-1999/{len(content)}", content[1000:2000])


def test_a_chunked_upload_without_a_length_passes(proxy, agent):
    headers, body = multipart(("a.txt", b"x" * 100_000))
    fields = {**headers, "Authorization": f"Bearer {proxy.admin_token}", "Transfer-Encoding": "chunked", "Connection": "close"}
    pieces = [body[at:at + 7_001] for at in range(0, len(body), 7_001)]
    with proxy.connect() as wire:
        wire.send(request("POST", agent.path("chat/uploads"), fields, chunked(*pieces)))
        (_, item), = files_of(wire.read())
    assert item["size"] == 100_000


def test_an_upload_that_is_cut_at_the_proxy_leaves_nothing(server, proxy, agent):
    head, body = agent.upload_bytes(("cut.bin", b"x" * 2_000_000))
    wire = proxy.connect()
    wire.send(head + body[:1_000_000])
    wire.reset()
    agent.notify("after")
    assert [row["method"] for row in agent.activity()] == ["notify"]
    assert proxy.get(agent.path("pending-uploads"), token=agent.token).json() == []


def test_many_requests_share_a_connection_on_both_sides(server, proxy, agent):
    with proxy.connect() as wire:
        for number in range(20):
            wire.send(agent.notify_bytes(f"message {number}"))
            assert wire.read().status == 200
    assert agent.messages() == [f"message {number}" for number in range(20)]
    assert server.sockets() < 20, "nginx opened a connection for every request"


def test_errors_keep_their_body_status_and_retry_hint(proxy, agent):
    error = check_error(proxy.get(agent.path("activity"), token="x" * 43), 401)
    assert error["error"] == "invalid workspace auth token"
    check_error(proxy.get(agent.path("activity?since_id=00000000-0000-0000-0000-000000000000"), token=agent.token), 410, code="cursor_gone")


def test_the_clients_address_from_a_trusted_proxy_is_logged(server, proxy, agent):
    started = len(server.stderr())
    proxy.get("/uploads/limits", headers={"X-Forwarded-For": "198.51.100.7"})
    # nginx appends the address that it saw; 127.0.0.1 is trusted, so the address before it is the client's.
    assert server.wait_log("/uploads/limits", started)["peer"] == "198.51.100.7"


def test_an_invented_address_before_the_real_one_is_not_used(server, proxy):
    started = len(server.stderr())
    proxy.get("/uploads/limits", headers={"X-Forwarded-For": "203.0.113.1, 198.51.100.8"})
    assert server.wait_log("/uploads/limits", started)["peer"] == "198.51.100.8"
    started = len(server.stderr())
    proxy.get("/uploads/limits", headers={"X-Forwarded-For": "<script>, , garbage"})
    assert server.wait_log("/uploads/limits", started)["peer"] == "127.0.0.1"


def test_without_trusted_proxies_the_header_is_ignored(start, tmp_path):
    server = start({"log.requests": "all"})
    nginx = Nginx(server, tmp_path)
    try:
        nginx.get("/uploads/limits", headers={"X-Forwarded-For": "198.51.100.7"})
        assert server.wait_log("/uploads/limits")["peer"] == "127.0.0.1"
    finally:
        nginx.stop()


def test_live_events_arrive_one_by_one_through_the_proxy(proxy, agent):
    with EventStream(proxy, agent.path("events/stream"), token=agent.token) as stream:
        assert stream.next().name == "RESYNC"
        for text in ["first", "second"]:
            agent.notify(text)
            message, _ = stream.until("ACTIVITY_LOGGED")
            assert (message.name, message.data["message"]) == ("AGENT_MESSAGE", text)


def test_a_stream_whose_client_disconnects_from_the_proxy_ends(server, proxy, agent):
    with EventStream(proxy, agent.path("events/stream"), token=agent.token) as stream:
        assert stream.next().name == "RESYNC"
        server.wait_metric("restante_held_polls", 1)
    server.wait_metric("restante_held_polls", 0)


def test_tls_at_the_proxy_makes_sign_in_possible_from_another_machine(start, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=post", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    server = start({"trusted_proxies": "127.0.0.1", "public_url": "https://post.example.org"})
    nginx = Nginx(server, tmp_path, certificate=certificate, key=key, tls=ssl.create_default_context(cafile=certificate))
    fields = {"Host": "post.example.org", "Origin": "https://post.example.org", "X-Forwarded-For": "198.51.100.7"}
    try:
        signed_in = nginx.request("POST", "/session", json_body={"token": server.admin_token}, headers=fields)
        assert signed_in.status == 200, signed_in
        cookie = signed_in.header("Set-Cookie").split(";")[0]
        listed = nginx.get("/workspaces", headers={"Host": "post.example.org", "Cookie": cookie, "Sec-Fetch-Site": "same-origin"})
        assert (listed.status, listed.json()) == (200, [])
        # The same without TLS at the proxy: the secret would be sent unencrypted.
        plain = Nginx(server, tmp_path)
        try:
            check_error(plain.request("POST", "/session", json_body={"token": server.admin_token}, headers=fields), 403, code="sign_in_needs_tls")
        finally:
            plain.stop()
    finally:
        nginx.stop()
