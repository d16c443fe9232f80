"""How a request is delimited. No client can make the server and a proxy in front of it disagree about that.

Every refusal here is one JSON error and a closed connection; a second request hidden in the first is never answered.
"""
import pytest

from support.checks import MARKER, check_error, check_refused_and_closed
from support.wire import chunked, request

HIDDEN = request("GET", f"/{MARKER}-hidden")
MESSAGE = b'{"message":"' + MARKER.encode() + b'"}'


def case(name, *values):
    return pytest.param(*values, id=name.replace(" ", "_"))


def raw(*lines, host=True, body=b""):
    """A head written out by hand; lines are bytes, without their line ends."""
    lines = [lines[0], b"Host: 127.0.0.1", *lines[1:]] if host else list(lines)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@pytest.fixture
def post(workspace):
    """post(headers, body) is a POST that stores a message if it is accepted, with a hidden request behind it."""
    def make(headers, body, version="HTTP/1.1"):
        fields = [("Authorization", f"Bearer {workspace.token}"), ("Content-Type", "application/json"), *headers]
        return request("POST", workspace.path("notify"), fields, version=version) + body
    return make


@pytest.fixture
def refused(server, workspace):
    """refused(bytes, statuses…): one error, closed, nothing stored."""
    def check(data, *statuses, methods=()):
        with server.connect() as wire:
            wire.send(data)
            response = check_refused_and_closed(wire, *statuses, methods=methods)
        assert workspace.activity() == []
        return response
    return check


def test_the_good_request_from_which_the_bad_ones_are_made_is_accepted(server, workspace, post):
    with server.connect() as wire:
        wire.send(post([("Content-Length", len(MESSAGE))], MESSAGE))
        assert wire.read().status == 200
        wire.send(post([("Transfer-Encoding", "chunked")], chunked(MESSAGE[:3], MESSAGE[3:])))
        assert wire.read().status == 200
        wire.send(post([("Transfer-Encoding", "Chunked")], chunked(MESSAGE)))
        assert wire.read().status == 200
    assert workspace.messages() == [MARKER] * 3


LENGTHS = [
    ("both length and coding", [("Content-Length", "5"), ("Transfer-Encoding", "chunked")]),
    ("coding before length", [("Transfer-Encoding", "chunked"), ("Content-Length", "5")]),
    ("two different lengths", [("Content-Length", "5"), ("Content-Length", "6")]),
    ("two equal lengths", [("Content-Length", "5"), ("Content-Length", "5")]),
    ("list of different lengths", [("Content-Length", "5, 6")]),
    ("list of equal lengths", [("Content-Length", "5, 5")]),
    *[(f"length {value or 'empty'!r}", [("Content-Length", value)])
      for value in ("005", "+5", "0x5", "-1", "5 0", "", "1e3", "5.0", "5;", "٥", "18446744073709551621", "9" * 40)],
]


@pytest.mark.parametrize("headers", [case(name, headers) for name, headers in LENGTHS])
def test_an_ambiguous_length_is_refused(refused, post, headers):
    refused(post(headers, b"0\r\n\r\n" + HIDDEN), 400)


CODINGS = [
    ("xchunked", [("Transfer-Encoding", "xchunked")]),
    ("chunkedx", [("Transfer-Encoding", "chunkedx")]),
    ("chunked then identity", [("Transfer-Encoding", "chunked, identity")]),
    ("gzip then chunked", [("Transfer-Encoding", "gzip, chunked")]),
    ("chunked twice in a list", [("Transfer-Encoding", "chunked, chunked")]),
    ("identity with a length", [("Transfer-Encoding", "identity"), ("Content-Length", "5")]),
    ("identity", [("Transfer-Encoding", "identity")]),
    ("vertical tab before", [("Transfer-Encoding", b"\x0bchunked")]),
    ("no-break space before", [("Transfer-Encoding", b"\xa0chunked")]),
    ("quoted", [("Transfer-Encoding", '"chunked"')]),
    ("parameter", [("Transfer-Encoding", "chunked;q=1")]),
    ("two headers", [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")]),
    ("two headers with identity", [("Transfer-Encoding", "identity"), ("Transfer-Encoding", "chunked")]),
    ("empty", [("Transfer-Encoding", "")]),
    ("trailing comma", [("Transfer-Encoding", "chunked,")]),
]


@pytest.mark.parametrize("headers", [case(name, headers) for name, headers in CODINGS])
def test_a_transfer_coding_other_than_chunked_is_refused_and_hides_nothing(refused, post, headers):
    refused(post(headers, b"0\r\n\r\n" + HIDDEN), 400, 501)


def test_a_transfer_coding_in_http_1_0_is_refused(refused, post):
    refused(post([("Transfer-Encoding", "chunked"), ("Connection", "keep-alive")], chunked(MESSAGE) + HIDDEN, "HTTP/1.0"), 400)


CHUNKS = [
    *[(f"size {size!r}", size + b"\r\nhello\r\n0\r\n\r\n", (400,))
      for size in (b"0x5", b"5 ", b" 5", b"5\t", b"-1", b"+5", b"", b"g", b"5,5", b"1" * 17, b"0" * 64 + b"5")],
    ("size of 2 to the 64th less one", b"FFFFFFFFFFFFFFFF\r\nhello", (413,)),
    ("size above what is left of 64 bits", b"1\r\n{\r\nFFFFFFFFFFFFFFFF\r\nhello", (413,)),
    ("data longer than its size", b"5\r\nhelloworld\r\n0\r\n\r\n", (400,)),
    ("data shorter than its size", b"6\r\nhello\r\n0\r\n\r\n", (400,)),
    ("only LF after the size", b"5\nhello\r\n0\r\n\r\n", (400,)),
    ("only LF after the data", b"5\r\nhello\n0\r\n\r\n", (400,)),
    ("only CR after the size", b"5\rhello\r\n0\r\n\r\n", (400,)),
    ("only LF at the end", b"5\r\nhello\r\n0\n\n", (400,)),
    ("extension of 8 KiB", b"5;" + b"x" * 8192 + b"\r\nhello\r\n0\r\n\r\n", (400,)),
    ("extension of 900 KB", b"5;" + b"x" * 900_000 + b"\r\nhello\r\n0\r\n\r\n", (400,)),
    ("endless size line", b"5" * 900_000, (400, 413)),
    ("extension with LF", b"5;a\nb\r\nhello\r\n0\r\n\r\n", (400,)),
    ("extension with NUL", b"5;a\x00b\r\nhello\r\n0\r\n\r\n", (400,)),
    ("extension with a bare CR", b"5;a\rb\r\nhello\r\n0\r\n\r\n", (400,)),
    ("extension on the last chunk", b"0;" + b"x" * 8192 + b"\r\n\r\n", (400,)),
]


@pytest.mark.parametrize("body, statuses", [case(name, body, statuses) for name, body, statuses in CHUNKS])
def test_a_broken_chunk_is_refused_and_hides_nothing(refused, post, body, statuses):
    refused(post([("Transfer-Encoding", "chunked")], body + HIDDEN), *statuses)


TRAILERS = [
    ("any", b"X-Anything: 1\r\n"),
    ("Content-Length", b"Content-Length: 5\r\n"),
    ("Host", b"Host: elsewhere\r\n"),
    ("line of 64 KiB", b"X: " + b"y" * 65_536 + b"\r\n"),
    ("line of 1 MiB without end", b"X: " + b"y" * 1_048_576),
    ("200 000 of them", b"a: b\r\n" * 200_000),
    ("folded", b"X: 1\r\n 2\r\n"),
]


@pytest.mark.parametrize("trailer", [case(name, trailer) for name, trailer in TRAILERS])
def test_a_trailer_is_refused(refused, post, trailer):
    body = b"%x\r\n%s\r\n0\r\n" % (len(MESSAGE), MESSAGE)
    refused(post([("Transfer-Encoding", "chunked")], body + trailer + b"\r\n" + HIDDEN), 400)


@pytest.mark.parametrize("before", [None, "Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"], ids=["no_token", "bad_token"])
def test_a_trailer_never_authorises(server, workspace, before):
    headers = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")]
    headers += [("Authorization", before)] if before else []
    trailer = f"Authorization: Bearer {workspace.token}\r\n".encode()
    body = b"%x\r\n%s\r\n0\r\n" % (len(MESSAGE), MESSAGE)
    with server.connect() as wire:
        wire.send(request("POST", workspace.path("notify"), headers) + body + trailer + b"\r\n" + HIDDEN)
        check_refused_and_closed(wire, 400, 401)
    assert workspace.activity() == []


HEADS = [
    # line ends and control bytes
    ("bare LF line ends", b"GET /health HTTP/1.1\nHost: 127.0.0.1\n\n"),
    ("bare LF after the request line", b"GET /health HTTP/1.1\nHost: 127.0.0.1\r\n\r\n"),
    ("bare LF within the headers", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\nX: y\r\n\r\n"),
    ("bare LF at the end", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\n"),
    ("bare CR in a value", raw(b"GET /health HTTP/1.1", b"X: a\rb")),
    ("bare CR as line end", b"GET /health HTTP/1.1\rHost: 127.0.0.1\r\r"),
    ("CR CR LF", b"GET /health HTTP/1.1\r\r\nHost: 127.0.0.1\r\n\r\n"),
    *[(f"byte {byte:#04x} in a value", raw(b"GET /health HTTP/1.1", b"X: a" + bytes([byte]) + b"b"))
      for byte in (0x00, 0x01, 0x08, 0x0b, 0x0c, 0x1b, 0x7f)],
    # folding
    ("obs-fold with a space", raw(b"GET /health HTTP/1.1", b"X: a", b" b")),
    ("obs-fold with a tab", raw(b"GET /health HTTP/1.1", b"X: a", b"\tb")),
    ("obs-fold of the coding", raw(b"POST /health HTTP/1.1", b"Transfer-Encoding:", b" chunked", body=b"0\r\n\r\n")),
    ("obs-fold before the first header", raw(b"GET /health HTTP/1.1", b" X: a", host=False)),
    # names
    ("space before the colon", raw(b"GET /health HTTP/1.1", b"X : a")),
    ("space before the colon of the length", raw(b"POST /health HTTP/1.1", b"Content-Length : 5", body=b"hello")),
    ("tab before the colon of the coding", raw(b"POST /health HTTP/1.1", b"Transfer-Encoding\t: chunked", body=b"0\r\n\r\n")),
    ("space within a name", raw(b"GET /health HTTP/1.1", b"X Y: a")),
    ("no colon", raw(b"GET /health HTTP/1.1", b"X")),
    ("empty name", raw(b"GET /health HTTP/1.1", b": a")),
    *[(f"byte {byte:#04x} in a name", raw(b"GET /health HTTP/1.1", b"X" + bytes([byte]) + b"Y: a"))
      for byte in (0x00, 0x7f, 0xe9, *b'"(),/;<=>?@[\\]{}')],
    # the host
    ("no Host", raw(b"GET /health HTTP/1.1", host=False)),
    ("two Hosts", raw(b"GET /health HTTP/1.1", b"Host: 127.0.0.1")),
    ("two different Hosts", raw(b"GET /health HTTP/1.1", b"Host: elsewhere")),
    ("space in the Host", raw(b"GET /health HTTP/1.1", b"Host: a b", host=False)),
    ("list of Hosts", raw(b"GET /health HTTP/1.1", b"Host: a, b", host=False)),
    ("path in the Host", raw(b"GET /health HTTP/1.1", b"Host: a/b", host=False)),
    ("user in the Host", raw(b"GET /health HTTP/1.1", b"Host: user@a", host=False)),
    # the request line
    ("two spaces before the target", raw(b"GET  /health HTTP/1.1")),
    ("two spaces before the version", raw(b"GET /health  HTTP/1.1")),
    ("tab for space", raw(b"GET\t/health\tHTTP/1.1")),
    ("space at the end", raw(b"GET /health HTTP/1.1 ")),
    ("space at the beginning", raw(b" GET /health HTTP/1.1")),
    ("no version", raw(b"GET /health")),
    ("empty target", raw(b"GET  HTTP/1.1")),
    ("relative target", raw(b"GET health HTTP/1.1")),
    ("byte 0x00 in the method", raw(b"G\x00T /health HTTP/1.1")),
    ("slash in the method", raw(b"G/T /health HTTP/1.1")),
    ("lower case version name", raw(b"GET /health http/1.1")),
    ("version of three digits", raw(b"GET /health HTTP/1.10")),
    ("version with a leading zero", raw(b"GET /health HTTP/01.1")),
    ("junk after the version", raw(b"GET /health HTTP/1.1x")),
    ("fragment", raw(b"GET /health#top HTTP/1.1")),
    ("raw UTF-8", raw("GET /héalth HTTP/1.1".encode())),
    ("raw Latin-1", raw(b"GET /h\xe9alth HTTP/1.1")),
    *[(f"byte {byte:#04x} in the target", raw(b"GET /he" + bytes([byte]) + b"lth HTTP/1.1")) for byte in (0x00, 0x01, 0x0d, 0x1b, 0x7f)],
]


@pytest.mark.parametrize("head", [case(name, head) for name, head in HEADS])
def test_a_malformed_head_is_refused(server, head):
    with server.connect() as wire:
        wire.send(head + HIDDEN)
        check_refused_and_closed(wire, 400)


@pytest.mark.parametrize("version", ["HTTP/1.9", "HTTP/1.2", "HTTP/0.9", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9"])
def test_a_version_other_than_1_0_and_1_1_is_refused(server, version):
    with server.connect() as wire:
        wire.send(request("GET", "/health", version=version) + HIDDEN)
        check_refused_and_closed(wire, 400, 505)


def test_the_http2_preface_is_refused(server):
    with server.connect() as wire:
        wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        check_refused_and_closed(wire, 400, 505)


@pytest.mark.parametrize("fields", [
    {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABkAAQAAP__"},
    {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"},
], ids=["h2c", "websocket"])
def test_an_upgrade_is_ignored(server, fields):
    with server.connect() as wire:
        wire.send(request("GET", "/health", fields))
        response = wire.read()
        assert (response.status, response.informational) == (200, [])
        assert response.header("Upgrade") is None
        wire.send(request("GET", "/health", {"Connection": "close"}))
        assert [r.status for r in wire.read_until_closed()] == [200]


METHODS = [
    ("FOO", b"FOO /health HTTP/1.1", (405, 501)),
    ("lower case get", b"get /health HTTP/1.1", (405, 501)),
    ("TRACE", b"TRACE /health HTTP/1.1", (405, 501)),
    ("CONNECT", b"CONNECT example.com:443 HTTP/1.1", (400, 405, 501)),
    ("OPTIONS of everything", b"OPTIONS * HTTP/1.1", (405, 501)),
    ("method of 1000 bytes", b"X" * 1000 + b" /health HTTP/1.1", (400, 405, 501)),
]


@pytest.mark.parametrize("line, statuses", [case(name, line, statuses) for name, line, statuses in METHODS])
def test_an_unknown_method_is_refused_and_never_echoed(server, line, statuses):
    with server.connect() as wire:
        wire.send(raw(line, b"Connection: close", f"X-Secret: {MARKER}".encode()))
        responses = wire.read_until_closed()
    assert len(responses) == 1
    check_error(responses[0], *statuses)
    assert responses[0].header("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize("head, word", [
    case("none", raw(b"GET /health HTTP/1.1", host=False), "none"),
    case("two", raw(b"GET /health HTTP/1.1", b"Host: 127.0.0.1"), "more"),
])
def test_the_error_for_a_missing_or_second_host_names_the_host(refused, head, word):
    error = refused(head, 400).json()
    assert error["code"] == "bad_request" and "Host header" in error["error"] and word in error["error"], error


@pytest.mark.parametrize("line", [b"Host: elsewhere", b"Expect: foo", b"Content-Length: 005", b"X : y"],
                         ids=["two_hosts", "expectation", "length", "header"])
def test_a_refused_head_has_no_body(server, line):
    with server.connect() as wire:
        wire.send(raw(b"HEAD /health HTTP/1.1", line))
        check_refused_and_closed(wire, 400, 417, methods=["HEAD"])


def test_a_post_without_a_length_is_refused_where_a_body_is_needed(refused, post):
    refused(post([], HIDDEN), 411)


def test_a_post_without_a_length_is_fine_where_no_body_is_needed(server, workspace):
    (file_id, _), = workspace.upload(("a.txt", b"content"))
    with server.connect() as wire:
        wire.send(request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), workspace.auth())
                  + request("GET", "/health", {"Connection": "close"}))
        acked, health = wire.read_until_closed()
    assert (acked.status, acked.body) == (200, b'{"acked":true}')
    assert (health.status, health.body) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
@pytest.mark.parametrize("coding", ["length", "chunked"])
def test_an_unexpected_body_is_never_read_as_a_request(server, method, coding):
    if coding == "length":
        data = request(method, "/health", body=HIDDEN)
    else:
        data = request(method, "/health", {"Transfer-Encoding": "chunked"}) + chunked(HIDDEN)
    with server.connect() as wire:
        wire.send(data)
        responses = wire.read_until_closed([method])
    assert len(responses) == 1, responses
    assert responses[0].status in ((405,) if method == "DELETE" else (200,)) + (400,)


def test_a_big_body_of_a_get_is_not_read_for_ever(server):
    with server.connect() as wire:
        wire.send(request("GET", "/health", {"Content-Length": 10 << 30}) + b"x" * (1 << 20))
        check_refused_and_closed(wire, 400, 413)


REFUSALS = [
    ("no token", "POST", "notify", {"Content-Type": "application/json"}, 401),
    ("unknown route", "POST", "no-such-thing", {}, 404),
    ("wrong method", "PUT", "notify", {}, 405),
    ("wrong media type", "POST", "notify", {"Content-Type": "text/plain"}, 415),
    ("encoded body", "POST", "notify", {"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
    ("unknown expectation", "POST", "notify", {"Content-Type": "application/json", "Expect": "foo"}, 417),
]


@pytest.mark.parametrize("method, path, fields, status", [case(row[0], *row[1:]) for row in REFUSALS])
@pytest.mark.parametrize("coding", ["length", "chunked"])
def test_the_body_of_a_refused_request_is_never_read_as_a_request(server, workspace, method, path, fields, status, coding):
    if status in (415, 417):
        fields = {**fields, **workspace.auth()}
    if coding == "length":
        data = request(method, workspace.path(path), fields, HIDDEN)
    else:
        data = request(method, workspace.path(path), {**fields, "Transfer-Encoding": "chunked"}) + chunked(HIDDEN)
    with server.connect() as wire:
        wire.send(data + request("GET", "/health", {"Connection": "close"}))
        responses = wire.read_until_closed()
    check_error(responses[0], status)
    # Either the server skipped the body and answered the next request, or it closed the connection. Nothing else.
    assert [r.status for r in responses[1:]] in ([], [200]), responses
    assert responses[1:] or responses[0].header("Connection", "").lower() == "close"


def test_bytes_beyond_the_length_are_the_next_request_and_never_part_of_the_body(server, workspace):
    with server.connect() as wire:
        wire.send(workspace.notify_bytes("exactly this") + b"\x00\x01 not a request\r\n\r\n")
        first, second = wire.read_until_closed()
    assert first.status == 200
    check_error(second, 400)
    assert workspace.messages() == ["exactly this"]


def test_good_requests_before_a_bad_one_are_answered(server):
    with server.connect() as wire:
        wire.send(request("GET", "/health") * 3 + raw(b"GET /health HTTP/1.1", b"X : y") + request("GET", "/health") * 3)
        responses = wire.read_until_closed()
    assert [r.status for r in responses] == [200, 200, 200, 400]


@pytest.mark.parametrize("value", ["", ",", ",,,,", "garbage", "::ffff:1.2.3.4, <script>", "10.0.0.1", "1.2.3.4, " * 1000, '"', "[::1"],
                         ids=["empty", "comma", "commas", "garbage", "markup", "spoofed", "1000", "quote", "bracket"])
@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_a_forwarded_header_from_an_untrusted_address_is_ignored(server, name, value):
    response = server.get("/health", headers={name: value})
    assert (response.status, response.body) == (200, b'{"status":"ok"}')


def test_several_forwarded_headers_are_ignored(server):
    with server.connect() as wire:
        wire.send(raw(b"GET /health HTTP/1.1", b"Connection: close", *[b"X-Forwarded-For:"] * 40))
        assert [r.status for r in wire.read_until_closed()] == [200]
