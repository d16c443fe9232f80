"""Raw HTTP/1.1 over a socket: bytes out, strictly parsed responses in, and how the connection ended.

send() also reads, so that the answer of a server that answers early and closes is not lost. A response that is not well
formed, has no length or is cut raises BrokenResponse; no test has to check for that.
"""
import json
import re
import select
import socket
import ssl
import struct

from support.waiting import Deadline, Stalled

CANONICAL = re.compile(r"[A-Z][A-Za-z0-9]*(-[A-Z0-9][A-Za-z0-9]*)*\Z")
STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-9][0-9]{2}) ([\t\x20-\x7e]*)\Z")
HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?[ \t]*\Z")


class BrokenResponse(AssertionError):
    """The server sent something that a strict client does not accept."""


class Response:
    """One response. `raw_head` and `body` are bytes, `headers` keeps order and repetition."""

    def __init__(self, status, headers, raw_head):
        self.status, self.headers, self.raw_head, self.body = status, headers, raw_head, b""
        self.informational = []  # the 1xx statuses that came before it

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name, default=None):
        """The value of a header that may be there once at most."""
        values = self.all(name)
        if len(values) > 1:
            raise BrokenResponse(f"{name} came {len(values)} times")
        return values[0] if values else default

    def json(self):
        return json.loads(self.body)

    @property
    def raw(self):
        return self.raw_head + self.body

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:200]!r}>"


def request(method, target, headers=(), body=None, host="127.0.0.1", version="HTTP/1.1"):
    """The bytes of a request. `headers` is a dict or pairs; a body brings its Content-Length unless one is given."""
    pairs = list(headers.items()) if isinstance(headers, dict) else list(headers)
    names = {as_bytes(name).lower() for name, _ in pairs}
    lines = [as_bytes(f"{method} ") + as_bytes(target) + as_bytes(f" {version}")]
    if host is not None and b"host" not in names:
        lines.append(as_bytes(f"Host: {host}"))
    lines += [as_bytes(name) + b": " + as_bytes(value) for name, value in pairs]
    if body is not None and not names & {b"content-length", b"transfer-encoding"}:
        lines.append(as_bytes(f"Content-Length: {len(body)}"))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


def chunked(*pieces):
    """The pieces as a chunked body, one chunk each."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def as_bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("utf-8")


class Wire:
    """One connection. `ended` is None while open, then "eof" or "reset"."""

    def __init__(self, port, host="127.0.0.1", *, source=None, receive_buffer=None, tls=None, ceiling=None):
        self.ceiling = ceiling
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.buffer = bytearray()
        self.ended = None
        try:
            if receive_buffer:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            if source:
                self.sock.bind((source, 0))
            self.sock.settimeout(Deadline(ceiling).left())
            self.sock.connect((host, port))
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls:
                self.sock = tls.wrap_socket(self.sock, server_hostname=host, suppress_ragged_eofs=False)
            self.sock.setblocking(False)
        except BaseException:
            self.sock.close()
            raise
        self.local_port = self.sock.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- sending

    def send(self, data):
        """Sends all of it and reads what arrives meanwhile. False if the server closed before it had read everything."""
        view, deadline = memoryview(data), Deadline(self.ceiling)
        while view:
            readable, writable = self._poll(deadline, want_write=True)
            if not readable and not writable:
                raise Stalled(f"the server neither reads nor closes; {len(view)} bytes unsent")
            if readable:
                self._receive()
            if self.ended == "reset":
                return False
            if writable:
                try:
                    view = view[self.sock.send(view[:65536]):]
                except OSError as error:
                    if is_would_block(error):
                        continue
                    self._receive_rest()
                    return False
        return True

    def send_pieces(self, data, size=1):
        """Sends the bytes `size` at a time, each in a separate packet if the kernel does so."""
        return all([self.send(data[at:at + size]) for at in range(0, len(data), size)])

    def trickle(self, data, pause=0.02):
        """A slow client: one byte per `pause`, until all is sent or the server answers or closes. True if it did."""
        for at in range(len(data)):
            if self.buffer or self.ended or not self.send(data[at:at + 1]):
                return True
            if self._poll(Deadline(pause))[0]:
                self._receive()
        return bool(self.buffer or self.ended)

    def finish_sending(self):
        """Half-close: nothing more is sent, answers are still read."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.sock.close()

    def reset(self):
        """Closes with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    # -- receiving

    def read(self, method="GET"):
        """The next final response, or None if the server closed without a byte of one."""
        informational = []
        while True:
            response = self._read_one(method)
            if response is None or response.status >= 200:
                if response:
                    response.informational = informational
                return response
            informational.append(response.status)

    def read_informational(self):
        """The next response, which must be a 1xx."""
        response = self._read_one("GET")
        assert response is not None and response.status < 200, f"expected a 1xx, got {response}"
        return response

    def read_until_closed(self, methods=()):
        """Every response until the server closes. `methods` names those of the requests, as HEAD has no body."""
        methods, responses = list(methods), []
        while True:
            try:
                response = self.read(methods.pop(0) if methods else "GET")
            except Stalled as stalled:
                raise Stalled(f"the connection was left open after {responses}: {stalled}") from None
            if response is None:
                return responses
            responses.append(response)

    def wait_closed(self):
        """Waits for the end of the connection; bytes that arrive before it stay in `buffer`."""
        deadline = Deadline(self.ceiling)
        while not self.ended:
            self._fill(deadline)
        return self.ended

    def has_input(self):
        """Whether bytes or the end of the connection can be read now."""
        if not self.buffer and not self.ended and self._poll(Deadline(0))[0]:
            self._receive()
        return bool(self.buffer or self.ended)

    def _poll(self, deadline, want_write=False):
        poller, listening = select.poll(), not self.ended
        pending = getattr(self.sock, "pending", None)
        if listening and pending and pending():
            return True, want_write
        poller.register(self.sock, (select.POLLIN if listening else 0) | (select.POLLOUT if want_write else 0))
        events = 0
        for _, event in poller.poll(deadline.left() * 1000):
            events |= event
        broken = events & (select.POLLERR | select.POLLHUP)
        return bool(listening and (events & select.POLLIN or broken)), bool(want_write and (events & select.POLLOUT or broken))

    def _receive(self):
        try:
            data = self.sock.recv(1 << 18)
        except OSError as error:
            if not is_would_block(error):
                self.ended = "reset"
            return
        if data:
            self.buffer += data
        else:
            self.ended = "eof"

    def _receive_rest(self):
        """After a failed send: reads an answer that arrived between the last read and the reset."""
        ended, received = self.ended, -1
        while not self.ended and received != len(self.buffer):
            received = len(self.buffer)
            self._receive()
        self.ended = ended or "reset"

    def _fill(self, deadline):
        readable, _ = self._poll(deadline)
        if readable:
            self._receive()
        elif deadline.left() == 0:
            raise Stalled(f"no answer and no end; so far {bytes(self.buffer[:300])!r}")

    def _take(self, count):
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def _line(self, deadline, limit=65536):
        while True:
            end = self.buffer.find(b"\n")
            if end >= 0:
                line = self._take(end + 1)
                if not line.endswith(b"\r\n"):
                    raise BrokenResponse(f"bare LF: {line!r}")
                return line[:-2]
            if len(self.buffer) > limit:
                raise BrokenResponse(f"endless line: {bytes(self.buffer[:200])!r}")
            if self.ended:
                raise BrokenResponse(f"{self.ended} within a line: {bytes(self.buffer[:200])!r}")
            self._fill(deadline)

    def _exactly(self, count, deadline):
        while len(self.buffer) < count:
            if self.ended:
                raise BrokenResponse(f"{self.ended} after {len(self.buffer)} of {count} bytes of a body")
            self._fill(deadline)
        return self._take(count)

    def _read_one(self, method):
        deadline = Deadline(self.ceiling)
        while not self.buffer:
            if self.ended:
                return None
            self._fill(deadline)
        response = self._read_head(deadline)
        if response.status >= 200 and response.status not in (204, 304) and method != "HEAD":
            response.body = self._read_body(response, deadline)
        return response

    def _read_head(self, deadline):
        first = self._line(deadline)
        match = STATUS_LINE.match(first)
        if not match:
            raise BrokenResponse(f"not a status line: {first!r}")
        headers, raw = [], first + b"\r\n"
        while True:
            line = self._line(deadline)
            raw += line + b"\r\n"
            if not line:
                return Response(int(match[1]), headers, raw)
            field = HEADER_LINE.match(line)
            if not field:
                raise BrokenResponse(f"not a header line: {line!r}")
            name, value = field[1].decode(), (field[2] or b"").decode("latin-1")
            if not CANONICAL.match(name):
                raise BrokenResponse(f"header name not in canonical casing: {name}")
            headers.append((name, value))

    def _read_body(self, response, deadline):
        length, coding = response.header("Content-Length"), response.header("Transfer-Encoding")
        if length is not None and coding is not None:
            raise BrokenResponse("Content-Length and Transfer-Encoding in one response")
        if coding is not None:
            if coding != "chunked":
                raise BrokenResponse(f"Transfer-Encoding: {coding}")
            return self._read_chunks(deadline)
        if length is None:
            raise BrokenResponse(f"a {response.status} without a length")
        if not re.fullmatch(r"0|[1-9][0-9]*", length):
            raise BrokenResponse(f"Content-Length: {length}")
        return self._exactly(int(length), deadline)

    def _read_chunks(self, deadline):
        body = b""
        while True:
            line = self._line(deadline)
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}", line):
                raise BrokenResponse(f"not a chunk size: {line!r}")
            size = int(line, 16)
            body += self._exactly(size, deadline)
            if self._line(deadline) != b"":
                raise BrokenResponse("no line end after a chunk, or a trailer")
            if size == 0:
                return body


def is_would_block(error):
    return isinstance(error, (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError))
