"""ForwardProxy: an HTTP proxy as in a company's network. It forwards requests in absolute form and opens tunnels for CONNECT. Every
host name leads to its one server, so that a test needs no name service. With `password` (name:password) it refuses clients that do
not send it."""
import base64
import select
import socket
import threading


class ForwardProxy:
    def __init__(self, port, password=None):
        self.target, self.wanted = port, None
        if password:
            self.wanted = b"Basic " + base64.b64encode(password.encode())
        self.asked = []  # (method, target) of every request that was forwarded
        self.tunnelled = bytearray()  # what clients sent through tunnels
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client, client.makefile("rb") as reader, socket.create_connection(("127.0.0.1", self.target)) as server:
                while self._pass_one(client, reader, server):
                    pass
        except OSError:
            pass  # the client or the server has closed

    def _pass_one(self, client, reader, server):
        """One request and its answer; False when there is no next one."""
        first = reader.readline()
        if not first:
            return False
        method, target, version = first.split()
        fields = {}
        for line in iter(reader.readline, b"\r\n"):
            name, value = line.split(b":", 1)
            fields[name.strip().lower()] = (name, value.strip())
        if self.wanted and fields.get(b"proxy-authorization", (None, None))[1] != self.wanted:
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n"
                           b"Connection: close\r\n\r\n")
            return False
        self.asked.append((method.decode(), target.decode()))
        if method == b"CONNECT":
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return self._tunnel(client, server)
        assert target.startswith(b"http://"), target
        path = b"/" + target.split(b"/", 3)[3]
        fields.pop(b"proxy-authorization", None)
        body = reader.read(int(fields.get(b"content-length", (None, b"0"))[1]))
        # One answer for each connection: so this proxy needs no parser. The client has to handle it.
        fields[b"connection"] = (b"Connection", b"close")
        head = b"".join(name + b": " + value + b"\r\n" for name, value in fields.values())
        server.sendall(method + b" " + path + b" " + version + b"\r\n" + head + b"\r\n" + body)
        while data := server.recv(65536):
            client.sendall(data)
        return False

    def _tunnel(self, client, server):
        while True:
            for ready in select.select([client, server], [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return False
                if ready is client:
                    self.tunnelled += data
                (server if ready is client else client).sendall(data)

    def close(self):
        self.listener.close()
