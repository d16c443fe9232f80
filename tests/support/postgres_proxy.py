"""PostgresProxy: a proxy between a server and PostgreSQL. It knows enough of the protocol to recognise a COMMIT.

    proxy = PostgresProxy(postgres.port)
    server = start(arguments=("--database", proxy.through(url)))
    fault = proxy.arm(AFTER, b"hello")      # the COMMIT of the transaction in which these bytes were sent
    …
    assert fault.struck.is_set()

BEFORE    the COMMIT never arrives; both sides see their connection end
HALF_OPEN the same, but PostgreSQL's connection is not closed: the transaction stays open there
BLACK_HOLE the same, but both connections stay open and nothing passes. fault.release() then passes on what was held back
AFTER     the COMMIT is done; its answer never arrives, and the connection ends
SILENT    the same, but the connection stays open
LATE      the connection is stalled with the COMMIT in it, which arrives after go_on()
"""
import socket
import struct
import threading
from urllib.parse import urlsplit, urlunsplit

BEFORE, HALF_OPEN, BLACK_HOLE, AFTER, SILENT, LATE = "before", "half-open", "black-hole", "after", "silent", "late"
# Packets without a type, before a session begins: a request for encryption, or to cancel a statement.
SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102


class Fault:
    def __init__(self, how, needle):
        self.how, self.needle, self.struck = how, needle, threading.Event()
        self.then = lambda: None  # called when the fault happens, before either side can notice it
        self.released, self.arrived = threading.Event(), threading.Event()

    def release(self):
        """Sends what was held back to PostgreSQL, if its connection is still open."""
        self.released.set()
        assert self.arrived.wait(60)


class PostgresProxy:
    def __init__(self, target):
        self.target, self.faults, self.sessions, self.lock = target, [], set(), threading.Lock()
        self.connections = 0  # how many were opened, refused ones included
        self.flowing, self.refusing = threading.Event(), False
        self.flowing.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, url):
        """The url of the same database through this proxy."""
        parts = urlsplit(url)
        return urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{self.port}"))

    # -- what can go wrong

    def arm(self, how, needle):
        fault = Fault(how, needle)
        with self.lock:
            self.faults.append(fault)
        return fault

    def stall(self):
        """Connections are accepted and stay open; nothing passes any more."""
        self.flowing.clear()

    def go_on(self):
        self.flowing.set()

    def refuse(self):
        """Closes all connections, and every new one at once."""
        self.refusing = True
        self.cut()

    def accept(self):
        self.refusing = False

    def cut(self):
        with self.lock:
            sessions = list(self.sessions)
        for session in sessions:
            session.end()

    def close(self):
        self.refusing = True
        self.listener.close()
        self.go_on()
        self.cut()

    # -- how it works

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            session = Session(self, client, server)
            with self.lock:
                self.sessions.add(session)
            # refuse() may have been called since the check above, and cut() before this connection was in the list.
            if self.refusing:
                session.end()
                continue
            session.start()

    def take(self, sent):
        """The fault for a transaction in which these bytes were sent. Each fault is returned once."""
        with self.lock:
            for fault in self.faults:
                if fault.needle in sent:
                    self.faults.remove(fault)
                    return fault
        return None


class Session:
    """One connection: a thread for each direction."""

    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server = proxy, client, server
        self.begun, self.commits, self.sent = False, set(), bytearray()
        self.fault = None  # happens when PostgreSQL has answered
        self.half_open, self.over = False, threading.Event()
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self):
        threading.Thread(target=self._run, args=(self._outward,), daemon=True).start()
        threading.Thread(target=self._run, args=(self._inward,), daemon=True).start()

    def _run(self, direction):
        try:
            direction()
        except OSError:
            pass
        self.end()

    def end(self):
        with self.proxy.lock:
            self.proxy.sessions.discard(self)
        self._shut(self.client)
        self._shut(self.server)
        self.over.set()

    @staticmethod
    def _shut(connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _strike(self, fault, held=b""):
        self.half_open = fault.how in (HALF_OPEN, BLACK_HOLE)
        fault.then()
        fault.struck.set()
        if fault.how == BLACK_HOLE:
            fault.released.wait()
            try:
                self.server.sendall(held)
            except OSError:
                pass  # PostgreSQL has closed
            fault.arrived.set()
            self.over.wait()
        elif fault.how == SILENT:
            self.over.wait()  # until one side closes
        elif fault.how == HALF_OPEN:
            self._shut(self.client)
            self.over.wait()  # until PostgreSQL closes
        else:
            self.end()

    def _outward(self):
        pending = bytearray()
        while data := self.client.recv(65536):
            pending += data
            passed = bytearray()
            while (message := self._next_message(pending)) is not None:
                if self._is_commit(message):
                    fault = self.proxy.take(self.sent)
                    self.sent.clear()
                    if fault and fault.how in (BEFORE, HALF_OPEN, BLACK_HOLE):
                        self._pass_on(passed, self.server)
                        return self._strike(fault, message + pending)
                    if fault and fault.how == LATE:
                        self.proxy.stall()
                        fault.struck.set()
                        fault = None
                    self.fault = fault
                passed += message
            self._pass_on(passed, self.server)

    def _inward(self):
        held = bytearray()
        while data := self.server.recv(65536):
            if self.half_open:
                continue
            if not self.fault:
                self._pass_on(data, self.client)
                continue
            held += data
            if b"COMMIT\0" in held:
                return self._strike(self.fault)

    def _pass_on(self, data, target):
        self.proxy.flowing.wait()
        target.sendall(data)

    def _next_message(self, pending):
        header = 5 if self.begun else 4
        if len(pending) < header:
            return None
        length = struct.unpack_from("!i", pending, header - 4)[0] + header - 4
        if len(pending) < length:
            return None
        message = bytes(pending[:length])
        del pending[:length]
        if not self.begun and struct.unpack_from("!i", message, 4)[0] not in (SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST):
            self.begun = True
        return message

    def _is_commit(self, message):
        kind, body = message[:1], message[5:]
        if kind == b"P":
            name, sql = body.split(b"\0", 2)[:2]
            if sql == b"COMMIT":
                self.commits.add(name)
        if kind != b"B":
            return False
        if body.split(b"\0", 2)[1] in self.commits:
            return True
        self.sent += body
        return False
