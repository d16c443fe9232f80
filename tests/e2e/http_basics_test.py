"""Basics of HTTP for every client: keep-alive, pipelining, HEAD, Expect, routing errors, and the headers of every response."""
import pytest

from support.checks import MARKER, check_common, check_compact, check_error, check_refused_and_closed
from support.waiting import wait_until
from support.wire import chunked, request

BAD_TOKEN = "Bearer " + "A" * 43
PER_RESPONSE = {"date", "x-request-id"}


def stable_headers(response):
    return sorted((name.lower(), value) for name, value in response.headers if name.lower() not in PER_RESPONSE)


# -- keep-alive and pipelining

def test_a_connection_serves_many_requests(server):
    with server.connect() as wire:
        for _ in range(50):
            wire.send(request("GET", "/health"))
            response = wire.read()
            assert response.status == 200 and response.header("Connection", "keep-alive").lower() == "keep-alive"


@pytest.mark.parametrize("version, fields, stays", [
    ("HTTP/1.1", {}, True), ("HTTP/1.1", {"Connection": "close"}, False), ("HTTP/1.1", {"Connection": "CLOSE"}, False),
    ("HTTP/1.1", {"Connection": "foo, close"}, False), ("HTTP/1.0", {}, False), ("HTTP/1.0", {"Connection": "close"}, False),
])
def test_the_client_decides_whether_the_connection_stays_open(server, version, fields, stays):
    with server.connect() as wire:
        wire.send(request("GET", "/health", fields, version=version))
        assert wire.read().status == 200
        if stays:
            wire.send(request("GET", "/health", {"Connection": "close"}))
            assert wire.read().status == 200
        else:
            assert wire.wait_closed() == "eof" and not wire.buffer


def test_pipelined_requests_are_answered_in_order(server, workspace):
    files = workspace.upload(*[(f"{i}.txt", b"content of %d" % i) for i in range(8)])
    wanted, data = [], b""
    for i, (file_id, _) in enumerate(files):
        data += request("GET", workspace.content(file_id), workspace.auth())
        data += request("GET", f"/no-such-route-{i}")
        data += request("GET", "/health")
        data += request("GET", workspace.content(file_id), {**workspace.auth(), "Range": f"bytes=11-{11 + i % 2}"})
        tail = str(i).encode()
        wanted += [(200, b"content of %d" % i), (404, None), (200, b'{"status":"ok"}'), (206, tail)]
    with server.connect() as wire:
        wire.send(data + request("GET", "/uploads/limits", {"Connection": "close"}))
        responses = wire.read_until_closed()
    assert [r.status for r in responses] == [status for status, _ in wanted] + [200]
    for response, (_, body) in zip(responses, wanted):
        assert body is None or response.body == body
    assert len({r.header("X-Request-Id") for r in responses}) == len(responses)
    assert responses[-1].json()["max_files"] == 64


def test_a_long_pipeline_with_bodies_is_answered_in_order(server, workspace):
    with server.connect() as wire:
        data = b"".join(workspace.notify_bytes(f"message {i}") for i in range(64))
        wire.send(data + request("GET", "/health", {"Connection": "close"}))
        responses = wire.read_until_closed()
    assert [r.status for r in responses] == [200] * 65
    assert workspace.messages() == [f"message {i}" for i in range(64)]


def test_a_request_behind_a_held_poll_is_answered_after_it(server, workspace):
    with server.connect() as wire:
        wire.send(workspace.poll_bytes() + request("GET", "/health", {"Connection": "close"}))
        server.wait_metric("restante_held_polls", 1)
        assert not wire.has_input()
        workspace.notify("wake up")
        poll, health = wire.read_until_closed()
    assert [row["response_body"]["result"] for row in poll.json()] == ["wake up"]
    assert health.body == b'{"status":"ok"}'


def test_a_client_that_half_closes_after_its_request_is_answered(server):
    with server.connect() as wire:
        wire.send(request("GET", "/uploads/limits"))
        wire.finish_sending()
        assert [r.status for r in wire.read_until_closed()] == [200]


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_request_in_pieces_is_the_same_request(server, workspace, size):
    with server.connect() as wire:
        wire.send_pieces(workspace.notify_bytes("piecemeal") + request("GET", "/health", {"Connection": "close"}), size)
        assert [r.status for r in wire.read_until_closed()] == [200, 200]
    assert workspace.messages() == ["piecemeal"]


def test_a_chunked_request_split_anywhere_is_the_same_request(server, workspace):
    fields = {**workspace.auth(), "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    data = request("POST", workspace.path("notify"), fields) + chunked(b'{"mess', b'age":"x', b'"}')
    with server.connect() as wire:
        for at in range(1, len(data)):
            wire.send(data[:at])
            wire.send(data[at:])
            assert wire.read().status == 200, f"split at {at}"
    assert workspace.messages() == ["x"] * (len(data) - 1)


# -- HEAD, routing, headers

@pytest.mark.parametrize("target", ["/health", "/ready", "/uploads/limits", "/no-such-thing"])
def test_head_is_get_without_the_body(server, target):
    get, head = server.get(target), server.request("HEAD", target)
    assert (head.status, stable_headers(head)) == (get.status, stable_headers(get))
    assert head.body == b"" and int(get.header("Content-Length")) == len(get.body) > 0


def test_head_of_a_file_is_get_without_the_body(server, workspace):
    (file_id, _), = workspace.upload(("a.bin", bytes(range(256)) * 100))
    with server.connect() as wire:
        for method in ("GET", "HEAD"):
            wire.send(request(method, workspace.content(file_id), workspace.auth()))
        get, head = wire.read("GET"), wire.read("HEAD")
        assert (head.status, stable_headers(head)) == (get.status, stable_headers(get))
        for field in ("bytes=5-9", "bytes=99999-"):
            wire.send(request("HEAD", workspace.content(file_id), {**workspace.auth(), "Range": field}))
            ranged = wire.read("HEAD")
            assert (ranged.status, stable_headers(ranged)) == (200, stable_headers(head)), "a range is for a GET only"


@pytest.mark.parametrize("fields, status", [
    ([("If-Match", '"{tag}"')], 200), ([("If-Match", "*")], 200), ([("If-Match", '"old"'), ("If-Match", '"{tag}"')], 200),
    ([("If-Match", '"old"')], 412), ([("If-Match", 'W/"{tag}"')], 412), ([("If-Match", "")], 412),
    ([("If-None-Match", 'W/"{tag}"')], 304), ([("If-None-Match", '"old"'), ("If-None-Match", '"{tag}"')], 304),
    ([("If-None-Match", "")], 200), ([("If-Match", '"old"'), ("If-None-Match", '"{tag}"')], 412),
    ([("Range", "bytes=0-1"), ("If-Range", '"{tag}"')], 206), ([("Range", "bytes=0-1"), ("If-Range", "")], 200),
    ([("Range", "bytes=0-1"), ("If-Range", 'W/"{tag}"')], 200), ([("Range", "bytes=0-1"), ("Range", "bytes=0-1")], 200),
    ([("If-Modified-Since", "Sun, 15 Nov 2099 03:28:00 GMT"), ("If-Unmodified-Since", "Sun, 15 Nov 1999 03:28:00 GMT")], 200),
])
def test_conditions_are_those_of_rfc_9110(server, workspace, fields, status):
    (file_id, item), = workspace.upload(("a.bin", bytes(1000)))
    pairs = [*workspace.auth().items(), *[(name, value.format(tag=item["sha256"])) for name, value in fields]]
    with server.connect() as wire:
        for method in ("GET", "HEAD"):
            wire.send(request(method, workspace.content(file_id), pairs))
        get, head = wire.read("GET"), wire.read("HEAD")
    assert get.status == status, get
    assert head.status == (200 if status == 206 else status), head
    assert len(get.body) == {200: 1000, 206: 2, 304: 0}.get(status, len(get.body))
    if status == 412:
        check_error(get, 412, code="precondition_failed")


def test_a_file_comes_with_headers_that_keep_a_browser_from_running_it(server, workspace):
    content = b"<script>alert(1)</script>" * 1000
    (file_id, _), = workspace.upload(("page.html", content, "text/html"))
    response = server.get(workspace.content(file_id), token=workspace.token)
    assert (response.status, response.body) == (200, content)
    check_common(response)
    assert response.header("Content-Type") == "text/html"
    assert response.header("Content-Disposition") == "attachment; filename=\"page.html\"; filename*=UTF-8''page.html"
    assert response.header("Content-Security-Policy") == "sandbox; default-src 'none'"
    assert response.header("Cache-Control") == "private, no-store"
    assert response.header("Accept-Ranges") == "bytes" and response.header("ETag")


@pytest.mark.parametrize("value, status, first, last", [
    ("bytes=0-0", 206, 0, 0), ("bytes=100-199", 206, 100, 199), ("bytes=999-", 206, 999, 999), ("bytes=-1", 206, 999, 999),
    ("bytes=-5000", 206, 0, 999), ("bytes=0-99999", 206, 0, 999), ("bytes=1000-", 416, None, None), ("bytes=-0", 416, None, None),
    ("bytes=5-4", 200, 0, 999), ("bytes=x-y", 200, 0, 999), ("lines=0-1", 200, 0, 999), ("bytes=18446744073709551616-", 416, None, None),
])
def test_a_range_gives_those_bytes(server, workspace, value, status, first, last):
    content = bytes(i % 251 for i in range(1000))
    (file_id, _), = workspace.upload(("a.bin", content))
    response = server.get(workspace.content(file_id), token=workspace.token, headers={"Range": value})
    # A range that overflows 64 bits may count as malformed, which means the whole file, or as beyond the end.
    allowed = {status, 200} if "18446744073709551616" in value else {status}
    assert response.status in allowed, response
    if response.status == 206:
        assert response.header("Content-Range") == f"bytes {first}-{last}/1000"
        assert response.body == content[first:last + 1]
    elif response.status == 416:
        assert response.header("Content-Range") == "bytes */1000"
    else:
        assert response.body == content


def test_an_unknown_route_is_a_json_404(server):
    for target in ("/no-such-thing", f"/{MARKER}", f"/workspaces/{MARKER}/{MARKER}/{MARKER}", "/health/"):
        check_error(server.get(target), 404)
    for target in ("//health", "/%2e%2e/health", "/../health", "/health%00", "/health%2f", "/health%zz", "/health%4"):
        check_error(server.get(target), 404, 400)


@pytest.mark.parametrize("method, target, allowed", [
    ("DELETE", "/health", {"GET", "HEAD"}), ("POST", "/uploads/limits", {"GET", "HEAD"}), ("PUT", "/metrics", {"GET", "HEAD"}),
    ("GET", "/registry/heartbeat", {"POST"}), ("OPTIONS", "/health", {"GET", "HEAD"}),
])
def test_a_wrong_method_is_405_and_names_the_right_ones(server, method, target, allowed):
    response = server.request(method, target, headers={"Content-Length": "0"} if method != "GET" else None)
    check_error(response, 405)
    named = {name.strip() for name in response.header("Allow").split(",")}
    assert allowed <= named and method not in named


def test_a_preflight_of_another_origin_is_not_allowed(server):
    response = server.request("OPTIONS", "/workspaces", headers={
        "Origin": "https://evil.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"})
    assert response.status in (403, 405)
    assert not [name for name, _ in response.headers if name.lower().startswith("access-control-allow")]


def test_every_response_has_a_new_id_and_the_security_headers(server, workspace):
    targets = ["/health", "/ready", "/metrics", "/uploads/limits", "/no-such-thing", workspace.path("activity")]
    responses = [server.get(target) for target in targets] + [server.request("DELETE", "/health")]
    for response in responses:
        check_common(response)
    with server.connect() as wire:
        wire.send(b"\x00\r\n\r\n")
        responses.append(check_refused_and_closed(wire, 400))
    assert len({r.header("X-Request-Id") for r in responses}) == len(responses)


def test_json_is_compact_and_a_401_names_the_scheme(server, workspace):
    for target in ("/health", "/ready", "/uploads/limits"):
        check_compact(server.get(target))
    missing = server.get(workspace.path("activity"))
    assert check_error(missing, 401)["error"] == "missing workspace auth token"
    wrong = server.get(workspace.path("activity"), headers={"Authorization": BAD_TOKEN})
    assert check_error(wrong, 401)["error"] == "invalid workspace auth token"
    assert missing.header("WWW-Authenticate") == wrong.header("WWW-Authenticate") == "Bearer"


@pytest.mark.parametrize("values, status", [
    (["Basic dXNlcjpwYXNz"], 401), (["Bearer"], 401), (["Bearer "], 401), (["Bearer a b"], 401), (["Bearer " + "x" * 4000], 401),
    (["TOKEN, TOKEN"], 401), (["TOKEN", "TOKEN"], 400),
], ids=["basic", "alone", "blank", "two_words", "long", "joined", "twice"])
def test_a_malformed_authorization_is_refused(server, workspace, values, status):
    good = f"Bearer {workspace.token}"
    fields = [("Authorization", value.replace("TOKEN", good)) for value in values]
    with server.connect() as wire:
        wire.send(request("GET", workspace.path("activity"), [*fields, ("Connection", "close")]))
        check_error(wire.read_until_closed()[0], status)


# -- Expect

def expecting(workspace, length, auth=None):
    fields = {**workspace.auth(), "Content-Type": "application/json", "Expect": "100-continue", "Content-Length": length}
    if auth:
        fields["Authorization"] = auth
    return request("POST", workspace.path("notify"), fields)


def test_expect_is_answered_100_and_then_the_body_is_read(server, workspace):
    body = b'{"message":"after the 100"}'
    with server.connect() as wire:
        for _ in range(2):
            wire.send(expecting(workspace, len(body)))
            assert wire.read_informational().status == 100
            wire.send(body)
            assert wire.read().status == 200
    assert workspace.messages() == ["after the 100"] * 2


def test_a_client_that_expects_and_never_waits_is_read_normally(server, workspace):
    body = b'{"message":"at once"}'
    with server.connect() as wire:
        wire.send(expecting(workspace, len(body)) + body + request("GET", "/health", {"Connection": "close"}))
        first, second = wire.read_until_closed()
    assert first.status == 200 and set(first.informational) <= {100} and len(first.informational) <= 1
    assert (second.status, second.informational) == (200, [])
    assert workspace.messages() == ["at once"]


def test_an_expecting_client_is_refused_before_its_body(server, workspace):
    for head, status in ((expecting(workspace, 1 << 30), 413), (expecting(workspace, 30, BAD_TOKEN), 401)):
        with server.connect() as wire:
            wire.send(head)
            response = check_refused_and_closed(wire, status)
        assert response.informational == []


def test_an_expecting_uploader_is_refused_before_its_body(server, workspace):
    head, _ = workspace.upload_bytes(("a", b"x"), headers={"Expect": "100-continue", "Content-Length": 10 << 30})
    with server.connect() as wire:
        wire.send(head)
        assert check_refused_and_closed(wire, 413).informational == []


def test_an_unknown_expectation_is_417(server, workspace):
    with server.connect() as wire:
        wire.send(expecting(workspace, 5).replace(b"100-continue", b"foo"))
        assert check_refused_and_closed(wire, 417).informational == []


def test_http_1_0_never_gets_a_100(server, workspace):
    body = b'{"message":"old"}'
    with server.connect() as wire:
        wire.send(expecting(workspace, len(body)).replace(b"HTTP/1.1", b"HTTP/1.0") + body)
        response, = wire.read_until_closed()
    assert (response.status, response.informational) == (200, [])


# -- parked requests

def test_a_held_poll_is_woken_by_a_row(server, workspace):
    wire, = workspace.park()
    with wire:
        workspace.notify("hello")
        assert [row["response_body"]["result"] for row in wire.read().json()] == ["hello"]
        wire.send(request("GET", "/health", {"Connection": "close"}))
        assert [r.status for r in wire.read_until_closed()] == [200]
    server.wait_metric("restante_held_polls", 0)


def test_a_held_poll_without_new_rows_ends_empty(server, workspace):
    with server.connect() as wire:
        wire.send(workspace.poll_bytes(wait=1, headers={"Connection": "close"}))
        response, = wire.read_until_closed()
    assert (response.status, response.body) == (200, b"[]")


@pytest.mark.parametrize("leave", ["close", "reset"])
def test_a_client_that_disconnects_from_a_held_poll_is_noticed(server, workspace, leave):
    before = server.sockets()
    for wire in workspace.park(5):
        getattr(wire, leave)()
    server.wait_metric("restante_held_polls", 0)
    wait_until(lambda: server.sockets() <= before, "the sockets of closed clients are closed")
    workspace.notify("still here")
    assert workspace.messages() == ["still here"]


def test_a_message_that_arrives_as_its_poller_disconnects_is_not_lost(server, workspace):
    for i in range(20):
        with server.connect() as wire:
            wire.send(workspace.poll_bytes(since_seq=i))
            if i % 2:
                server.wait_metric("restante_held_polls", 1)
            wire.reset()
        workspace.notify(f"message {i}")
        assert workspace.messages()[-1] == f"message {i}"
    server.wait_metric("restante_held_polls", 0)


def test_a_wait_beyond_the_limit_is_clamped_and_reported(server, workspace):
    workspace.notify("there already")
    response = server.get(workspace.path("activity?since_seq=0&wait=9999"), token=workspace.token)
    assert (response.status, response.header("Restante-Wait")) == (200, "50")
