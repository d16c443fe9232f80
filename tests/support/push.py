"""Push workspaces and the callbacks of their agents, for tests of what the server sends to callbacks."""
import re
import socket
import threading

from support.ports import free_port
from support.waiting import CEILING

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"result\":\"hi\"}"


class Callback:
    """The agent's own HTTP server. The script handles every connection, each on its own thread.

    script(connection, request bytes) sends any answer; the connection closes when it returns. `requests` has the received requests.
    After close() the port stays unused: calls are then refused.
    """

    def __init__(self, script=None, tls=None):
        self.script = script or (lambda connection, _: connection.sendall(OK))
        self.requests, self._tls, self._changed = [], tls, threading.Condition()
        self.over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", free_port()), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def url(self, path="/a2a", scheme="http", host="127.0.0.1"):
        return f"{scheme}://{host}:{self.port}{path}"

    def _run(self):
        while not self.over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection:
                connection.settimeout(CEILING)
                if self._tls:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                request = self.receive(connection)
                if not request:
                    return
                with self._changed:
                    self.requests.append(request)
                    self._changed.notify_all()
                self.script(connection, request)
        except OSError:
            pass  # the server has closed, as some tests want it to

    def receive(self, connection):
        """The part of a request that is read before the script gets it."""
        return read_request(connection)

    def close(self):
        if self.over.is_set():
            return
        self.over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    length = int(re.search(rb"(?i)\r\ncontent-length: *([0-9]+)", data)[1])
    while len(data) < data.index(b"\r\n\r\n") + 4 + length:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    return data


def allowing(*ports, **more):
    """Settings of a server that may call this machine on these ports."""
    return {"push.allow_networks": "127.0.0.0/8", "push.allow_ports": ",".join(str(port) for port in ports), **more}


class PushWorkspace:
    """A workspace whose agent has registered `url`."""

    def __init__(self, server, url, name="push"):
        self.server = server
        made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": name})
        assert made.status == 201, made
        self.id = made.json()["id"]
        registered = self.register(url, token=made.json()["connection"]["enrolment_token"])
        assert registered.status == 200, registered
        self.registered = registered.json()
        self.token, self.secret = self.registered["auth_token"], self.registered["platform_inbound_secret"]

    def register(self, url, token=None, **more):
        body = {"id": self.id, "agent_card": {"name": "x"}, "url": url, "delivery_mode": "push", **more}
        return self.server.request("POST", "/registry/register", token=token or self.token, json_body=body)

    def send(self, text="hello", message_id=None, token=None):
        message = {"parts": [{"kind": "text", "text": text}], **({"messageId": message_id} if message_id else {})}
        return self.server.request("POST", f"/workspaces/{self.id}/a2a", token=token or self.server.admin_token,
                                   json_body={"method": "message/send", "params": {"message": message}})

    def rows(self, type=""):
        got = self.server.get(f"/workspaces/{self.id}/activity?since_seq=0&limit=500&type={type}", token=self.token)
        assert got.status == 200, got
        return got.json()

    def check_fell_back(self, sent, text="hello", outcome=None):
        """The answer contains the message's position in the inbox, and the message is there."""
        assert sent.status == 200, sent
        answer = sent.json()
        assert (answer["delivery_mode"], answer["method"], answer["status"]) == ("push-fallback", "message/send", "queued")
        row = self.rows("a2a_receive")[-1]
        assert (row["id"], row["seq"]) == (answer["activity_id"], answer["seq"])
        assert row["request_body"]["params"]["message"]["parts"] == [{"kind": "text", "text": text}]
        if outcome:
            assert outcome in row["error_detail"], row
        return row
