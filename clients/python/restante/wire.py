"""HttpClient: HTTP/1.1 to one server over one kept-alive connection, http and https, through the proxy set in the environment.

Redirects are returned and never followed, because the token would be sent along. Belongs to one thread at a time; cancel() and
hang_up() may be called from any thread. Raises Failure and nothing else.
"""
from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Union

from .failure import Failure

CONNECT_PATIENCE = 15.0  # seconds for name, connection, proxy and TLS together
PATIENCE = 30.0  # longest time without data
MOST_BODY = 16 << 20  # of an answer kept in memory
PIECE = 256 * 1024

Body = Union[bytes, Callable[[], Iterable[bytes]], None]


# What a connection that another thread has ended may raise; ssl raises ValueError and AttributeError, too.
_CLOSED = (OSError, http.client.HTTPException, ValueError, AttributeError)


class Url(NamedTuple):
    """The address of a server."""

    scheme: str
    host: str
    port: int
    path: str  # without a slash at its end

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme] == self.port
        return f"{self.scheme}://{host}{'' if usual else f':{self.port}'}{self.path}"


def parse_url(text: str) -> Url:
    """Raises Failure with a sentence that says what is wrong with the address."""
    try:
        parts = urllib.parse.urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise Failure("bad_url", f"{text!r} is not an address of the form https://host") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Failure("bad_url", f"{text!r} is not an address of the form https://host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Failure("bad_url", "the address must not contain a name, a password, a query or a fragment")
    return Url(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), parts.path.rstrip("/"))


class Response(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes  # empty when a sink took it

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Failure("protocol", "the server's answer is not valid JSON") from None


# Takes the next bytes of a 2xx body, with the head of that answer; False ends the exchange as stopped.
Sink = Callable[[http.client.HTTPResponse, bytes], bool]


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def proxy_for(url: Url) -> Optional[urllib.parse.SplitResult]:
    """The proxy for this server, from the environment and on macOS and Windows from the system's settings; None: none. Loopback
    addresses never use one."""
    if _is_loopback(url.host) or urllib.request.proxy_bypass(f"{url.host}:{url.port}") or urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    text = proxies.get(url.scheme) or proxies.get("all")
    if not text:
        return None
    found = urllib.parse.urlsplit(text if "://" in text else f"http://{text}")
    if found.scheme != "http" or not found.hostname:
        raise Failure("bad_url", "the proxy's address in the environment is not of the form http://host:port")
    return found


class HttpClient:
    """See the module."""

    def __init__(self, server: Url, user_agent: str = "restante-python") -> None:
        self.server = server
        self._agent = user_agent
        self._connection: Optional[http.client.HTTPConnection] = None
        self._lock = threading.Lock()
        self._cancelled = self._hung_up = False

    def cancel(self) -> None:
        """Ends a running call and every later one as cancelled."""
        with self._lock:
            self._cancelled = True
        self.hang_up()

    def hang_up(self) -> None:
        """Ends a running call as cut, and its connection; the next call makes a new connection."""
        with self._lock:
            self._hung_up = True
            sock = self._connection.sock if self._connection else None
            if sock is not None:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it is closed already

    def send(self, method: str, target: str, headers: Optional[Dict[str, str]] = None, body: Body = None, *, repeatable: bool = False,
             patience: float = PATIENCE, total: Optional[float] = None, sink: Optional[Sink] = None) -> Response:
        """Any status is an answer. A sink gets a 2xx body. A repeatable request is sent once more when a kept-alive connection turns
        out to be closed."""
        repeatable = repeatable or method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS")
        fresh = self._connection is None
        try:
            return self._exchange(method, target, headers or {}, body, patience, total, sink)
        except Failure as failure:
            if fresh or not repeatable or failure.kind != "cut" or getattr(failure, "answered", False):
                raise
        return self._exchange(method, target, headers or {}, body, patience, total, sink)

    def _exchange(self, method: str, target: str, headers: Dict[str, str], body: Body, patience: float, total: Optional[float],
                  sink: Optional[Sink]) -> Response:
        with self._lock:
            self._hung_up = False
            if self._cancelled:
                raise Failure("cancelled", "cancelled")
        answered = False
        try:
            connection = self._connection or self._connect()
            if connection.sock is not None:
                connection.sock.settimeout(patience)
            self._send_request(connection, method, target, headers, body)
            answer = connection.getresponse()
            answered = True
            if answer.status == 407:
                raise Failure("unreachable", _wants_password(proxy_for(self.server)))
            response = self._read(answer, sink, None if total is None else time.monotonic() + total)
            if answer.will_close:
                self._close()
            return response
        except Failure:
            self._close()
            raise
        except Exception as error:  # noqa: BLE001  http.client raises many kinds
            self._close()
            failure = self._failure_of(error)
            failure.answered = answered  # type: ignore[attr-defined]
            raise failure from None

    def _send_request(self, connection: http.client.HTTPConnection, method: str, target: str, headers: Dict[str, str], body: Body) -> None:
        path = self.server.path + target
        fields = {"User-Agent": self._agent, "Accept": "*/*", **headers}
        proxy = getattr(connection, "restante_proxy", None)
        if proxy is not None and self.server.scheme == "http":
            path = str(self.server) + target
            fields.update(_proxy_authorization(proxy))
        if body is None and method == "POST":
            body = b""
        try:
            connection.request(method, path, body() if callable(body) else body, fields)
        except (BrokenPipeError, ConnectionResetError):
            # A server that refuses an upload answers before it has read all of it.
            if connection.sock is None or not callable(body):
                raise

    def _connect(self) -> http.client.HTTPConnection:
        proxy = proxy_for(self.server)
        host, port = (proxy.hostname or "", proxy.port or 80) if proxy else (self.server.host, self.server.port)
        if self.server.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=CONNECT_PATIENCE, context=ssl.create_default_context())
            if proxy:
                connection.set_tunnel(self.server.host, self.server.port, _proxy_authorization(proxy))
        else:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_PATIENCE)
        connection.restante_proxy = proxy  # type: ignore[attr-defined]
        connection.connect()
        if connection.sock is not None:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._connection = connection
            if self._cancelled:
                raise Failure("cancelled", "cancelled")
        return connection

    def _read(self, answer: http.client.HTTPResponse, sink: Optional[Sink], until: Optional[float]) -> Response:
        kept = bytearray()
        taken = 200 <= answer.status < 300 and sink is not None
        announced = answer.length
        got = 0
        while True:
            piece = answer.read1(PIECE)
            if not piece:
                break
            got += len(piece)
            if taken and sink is not None:
                if not sink(answer, piece):
                    raise Failure("stopped", "stopped")
            else:
                kept += piece
                if len(kept) > MOST_BODY:
                    raise Failure("too_large", "the server's answer is too large")
            if until is not None and time.monotonic() > until:
                raise Failure("timeout", f"{self.server} sends its answer too slowly")
        if announced is not None and got < announced:
            raise http.client.IncompleteRead(b"")
        answer.close()  # the connection can be used again
        return Response(answer.status, answer.headers, bytes(kept))

    def _close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
        if connection:
            connection.close()

    def _failure_of(self, error: Exception) -> Failure:
        with self._lock:
            if self._cancelled and isinstance(error, _CLOSED):
                return Failure("cancelled", "cancelled")
            if self._hung_up and isinstance(error, _CLOSED):
                return Failure("cut", f"the connection to {self.server} was ended")
        if isinstance(error, ssl.SSLCertVerificationError):
            return Failure("tls", f"the certificate of {self.server} is not trusted: {error.verify_message}; SSL_CERT_FILE names a file "
                                  "with the certificate of its authority")
        if isinstance(error, (socket.timeout, TimeoutError)):
            return Failure("timeout", f"{self.server} does not answer")
        if isinstance(error, socket.gaierror):
            return Failure("unreachable", f"{self.server} cannot be reached: there is no host {self.server.host}")
        if isinstance(error, (ConnectionResetError, BrokenPipeError, ConnectionAbortedError, http.client.IncompleteRead,
                              http.client.RemoteDisconnected, ssl.SSLEOFError, ssl.SSLZeroReturnError)):
            return Failure("cut", f"{self.server} ended the connection")
        if isinstance(error, ssl.SSLError):
            return Failure("tls", f"no secure connection to {self.server}: {error.reason or error}")
        if isinstance(error, OSError) and "407" in str(error) and "unnel" in str(error):
            return Failure("unreachable", _wants_password(proxy_for(self.server)))
        if isinstance(error, OSError):
            return Failure("unreachable", f"{self.server} cannot be reached: {error.strerror or error}")
        if isinstance(error, http.client.HTTPException):
            return Failure("protocol", f"{self.server} does not answer with HTTP")
        raise error


def _wants_password(proxy: Optional[urllib.parse.SplitResult]) -> str:
    if proxy is None:
        return "something on the way wants a user name and a password for a proxy"
    where = f"{proxy.hostname}:{proxy.port or 80}"
    what = "does not take this user name and password" if proxy.username else "wants a user name and a password"
    return f"the proxy {where} {what}; the environment names it as http://name:password@{where}"


def _proxy_authorization(proxy: urllib.parse.SplitResult) -> Dict[str, str]:
    if not proxy.username:
        return {}
    words = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(words.encode()).decode()}


def expect_success(response: Response) -> Response:
    """The response if it is 2xx; else raises Failure with the server's own sentence if it sent one."""
    if 200 <= response.status < 300:
        return response
    sentence, code = "", ""
    try:
        found = json.loads(response.body)
        if isinstance(found, dict):
            sentence, code = str(found.get("error") or ""), str(found.get("code") or "")
    except (ValueError, RecursionError):
        pass
    after = response.headers.get("Retry-After", "")
    raise Failure("status", sentence or f"the server answered {response.status}", response.status, code,
                  float(after) if after.isdigit() else None)
