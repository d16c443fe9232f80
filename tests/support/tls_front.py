"""TlsFront: terminates TLS in front of a server without TLS and forwards every byte, until a fault is set:

    front = TlsFront(swift.endpoint, certificate)     # front.endpoint: https://127.0.0.1:PORT
    cut = front.cut_handshake(times=1)                # after the client's hello
    cut = front.cut("up", after=100_000)              # after so many more bytes to the server; "down": to the client
    front.drop_open()                                 # ends the connections that clients keep open
    …
    assert cut.struck == 1

`passed` has the decrypted bytes that went to the server: none if no client trusted its certificate. Without a certificate it is a
server that does not know TLS. Every connection has its own thread.
"""
import contextlib
import select
import socket
import ssl
import threading
from urllib.parse import urlsplit

from support.s3_proxy import reset

PIECE = 1 << 16


class Cut:
    def __init__(self, where, after, times):
        self.where, self.after, self.left, self.struck = where, after, times, 0
        self._until = after

    def strikes(self, count):
        """Whether the cut happens within these bytes."""
        self._until -= count
        if self.left == 0 or self._until > 0:
            return False
        self.left, self._until, self.struck = self.left - 1, self.after, self.struck + 1
        return True


class TlsFront:
    def __init__(self, endpoint, certificate, name="127.0.0.1"):
        parts = urlsplit(endpoint)
        self._target, self._lock, self._cuts = (parts.hostname, parts.port), threading.Lock(), []
        self.passed, self.connections, self._open = bytearray(), 0, set()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
        if certificate:
            self.show(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.endpoint = f"https://{name}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def show(self, certificate):
        """New connections get this certificate from now on."""
        self._context.load_cert_chain(certificate)

    def cut_handshake(self, times):
        return self._add(Cut("handshake", 1, times))

    def cut(self, where, after, times=1):
        return self._add(Cut(where, after, times))

    def drop_open(self):
        """Ends the open connections: clients need a new handshake."""
        with self._lock:
            for client in self._open:
                with contextlib.suppress(OSError):  # it has just been closed
                    client.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()

    def _add(self, cut):
        with self._lock:
            self._cuts.append(cut)
        return cut

    def _strikes(self, where, count):
        with self._lock:
            return any([cut.strikes(count) for cut in self._cuts if cut.where == where])

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection:
                if self._strikes("handshake", 1):
                    connection.recv(PIECE)
                    reset(connection)
                    return
                if not self._context:
                    connection.recv(PIECE)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                    return
                with self._context.wrap_socket(connection, server_side=True) as client, socket.create_connection(self._target) as real:
                    with self._lock:
                        self._open.add(client)
                    try:
                        self._pass_on(client, real)
                    finally:
                        with self._lock:
                            self._open.discard(client)
        except OSError:
            pass  # one side has closed, or does not trust the certificate

    def _pass_on(self, client, real):
        while True:
            # Bytes that were decrypted with the last piece do not make the socket readable.
            ready = [client] if client.pending() else select.select([client, real], [], [])[0]
            for side in ready:
                data = side.recv(PIECE)
                if not data:
                    return
                is_up = side is client
                if self._strikes("up" if is_up else "down", len(data)):
                    # Half of the piece, and then no close_notify of TLS.
                    (real if is_up else client).sendall(data[:len(data) // 2])
                    reset(client)
                    return
                if is_up:
                    with self._lock:
                        self.passed += data
                (real if is_up else client).sendall(data)
