"""S3Proxy: a proxy between a server and a real S3 server. It forwards each request on its own connection, until a fault is set:

    proxy = S3Proxy(swift.endpoint)
    proxy.fail("put", slow_down, times=2)     # the next two; without `times` all of them until proxy.heal()
    proxy.cut_request("put_part", after=1000)
    fault = proxy.stall("put")                # no answer until proxy.heal(), which closes the held connections
    …
    assert fault.struck == 2

A fault is set for one operation: put head get list begin put_part complete abort list_uploads drop drop_many, or "*" for all.
The answer of a fault is a function of the request that returns (status line, headers, body). The proxy keeps every request
head, so that a test can check what is in it.
"""
import socket
import struct
import threading
from urllib.parse import parse_qs, urlsplit


def operation_of(method, target):
    parts = urlsplit(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    if parts.path.count("/") < 2:
        return {"POST": "drop_many", "PUT": "make"}.get(method, "list_uploads" if "uploads" in query else "list")
    if "uploadId" in query:
        return {"PUT": "put_part", "POST": "complete", "DELETE": "abort"}[method]
    return {"PUT": "put", "HEAD": "head", "GET": "get", "DELETE": "drop", "POST": "begin"}[method]


class Request:
    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.head, (self.method, self.target, _) = head, lines[0].split(" ")
        self.operation = operation_of(self.method, self.target)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
        self.length = int(self.headers.get("content-length", 0))


class Fault:
    def __init__(self, operation, act, times):
        self.operation, self.act, self.left, self.struck = operation, act, times, 0
        self.begun = threading.Semaphore(0)  # released once for each time it happens


# -- error answers of S3


def error(status, code, message="no", more="", headers=()):
    body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>'.encode()
    return lambda request: (status, list(headers), b"" if request.method == "HEAD" else body)


slow_down = error("503 Slow Down", "SlowDown", "Please reduce your request rate.")
access_denied = error("403 Forbidden", "AccessDenied", "Access Denied")
expired = error("400 Bad Request", "ExpiredToken", "The provided token has expired.")
other_region = error("301 Moved Permanently", "PermanentRedirect", more="<Endpoint>bucket.s3.eu-north-7.example.org</Endpoint>",
                  headers=[("x-amz-bucket-region", "eu-north-7")])
skewed = error("403 Forbidden", "RequestTimeTooSkewed", "The difference is too large.", "<ServerTime>2001-02-03T04:05:06Z</ServerTime>")
# An error with the status of success.
failed_with_200 = error("200 OK", "InternalError", "We encountered an internal error. Please try again.")


def accepted_but_not_stored(_):
    return "200 OK", [("ETag", '"0123456789abcdef0123456789abcdef"')], b""


class S3Proxy:
    def __init__(self, endpoint):
        parts = urlsplit(endpoint)
        self._target = (parts.hostname, parts.port)
        self._lock, self._faults, self._healed, self._open = threading.Lock(), [], threading.Event(), set()
        self.requests = []  # every request, in order of arrival
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.endpoint = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    # -- faults

    def fail(self, operation, answer, times=None):
        """Answers with `answer`; the request does not reach S3."""
        def act(connection, reader, request):
            reader.read(request.length)
            status, headers, body = answer(request)
            head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *(f"{n}: {v}" for n, v in headers)]
            connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        return self._add(Fault(operation, act, times))

    def cut_request(self, operation, after, times=None):
        """Cuts the connection after so many bytes of the request's body; the request does not reach S3."""
        def act(connection, reader, request):
            reader.read(min(after, request.length))
            reset(connection)
        return self._add(Fault(operation, act, times))

    def cut_answer(self, operation, after, times=None):
        """S3 executes the request; only so many bytes of the answer's body arrive."""
        def act(connection, reader, request):
            answer = self._forward(request, reader.read(request.length))
            head, _, body = answer.partition(b"\r\n\r\n")
            connection.sendall(head + b"\r\n\r\n" + body[:after])
            reset(connection, gently=True)
        return self._add(Fault(operation, act, times))

    def lose_answer(self, operation, times=None):
        """S3 executes the request; its answer does not arrive."""
        def act(connection, reader, request):
            self._forward(request, reader.read(request.length))
            reset(connection)
        return self._add(Fault(operation, act, times))

    def alter(self, operation, old, new, times=None):
        """S3 executes the request; these bytes of the answer's head are replaced."""
        def act(connection, reader, request):
            head, _, body = self._forward(request, reader.read(request.length)).partition(b"\r\n\r\n")
            assert old(head) in head, head
            connection.sendall(head.replace(old(head), new) + b"\r\n\r\n" + body)
        return self._add(Fault(operation, act, times))

    def stall(self, operation, times=None):
        """Reads the request and never answers it."""
        def act(connection, reader, request):
            reader.read(request.length)
            self._healed.wait()
        return self._add(Fault(operation, act, times))

    def heal(self):
        """Forwards everything from now on; held connections are closed."""
        with self._lock:
            self._faults.clear()
            healed, self._healed = self._healed, threading.Event()
        healed.set()

    def count(self, operation):
        with self._lock:
            return sum(request.operation == operation for request in self.requests)

    def close(self):
        self.heal()
        self._listener.close()

    # -- passing on

    def _add(self, fault):
        with self._lock:
            self._faults.append(fault)
        return fault

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as reader:
                head = read_head(reader)
                if not head:
                    return  # the client closed before its request
                request = Request(head)
                fault = self._strike(request)
                if fault:
                    fault.act(connection, reader, request)
                else:
                    connection.sendall(self._forward(request, reader.read(request.length)))
        except OSError:
            pass  # the client or S3 has closed

    def _strike(self, request):
        with self._lock:
            self.requests.append(request)
            for fault in self._faults:
                if fault.operation in ("*", request.operation) and fault.left != 0:
                    fault.left = None if fault.left is None else fault.left - 1
                    fault.struck += 1
                    fault.begun.release()
                    return fault
        return None

    def _forward(self, request, body):
        """The whole answer."""
        with socket.create_connection(self._target) as real:
            real.sendall(request.head + b"Connection: close\r\n\r\n" + body)
            return b"".join(iter(lambda: real.recv(1 << 16), b""))


def read_head(reader):
    """A head without its empty line; empty if the head was cut."""
    head = b""
    for line in iter(reader.readline, b""):
        if line == b"\r\n":
            return head
        head += line
    return b""


def reset(connection, gently=False):
    """Ends the connection: gently, so that sent data still arrives, or at once."""
    if gently:
        connection.shutdown(socket.SHUT_RDWR)
    else:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
