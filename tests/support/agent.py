"""Connect: a real `restante connect`, or another kind of agent, for one test. Proxy: a TCP proxy between it and the server that makes connections fail."""
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from support.server import SANITIZER_REPORTS, Lines, binary


class Connect:
    """A `restante connect` for one test. Its directories remain when it ends, so that it can be started again. `program` is another
    executable, or the first words of another agent's command line (agent_kinds.py)."""

    def __init__(self, url, *, token=None, reply="got it", keep=None, arguments=(), mode="exec", exec_command=None,
                 preexec=None, program=None, environment=None, stdin=False, home=None):
        """home: a home directory in which it keeps its state by itself, instead of --state."""
        self.root = keep.root if keep else Path(tempfile.mkdtemp(prefix="restante-connect-")).resolve()
        self.dir, self.state, self.log = self.root / "dir", self.root / "state", self.root / "deliveries"
        words = program if isinstance(program, list) else [program or binary()]
        command = [*words, "connect", "--dir", str(self.dir), *([] if home else ["--state", str(self.state)])]
        if url:
            command += ["--url", url]
        if token:
            token_file = self.root / "given.token"
            token_file.write_text(token + "\n")
            command += ["--token-file", str(token_file)]
        if mode == "exec":
            command += ["--exec", exec_command or f"cat >> '{self.log}' && printf '%s\\n' '{reply}'"]
        elif mode == "json":
            command += ["--json"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
        env.update({**({"HOME": str(home)} if home else {}), **(environment or {})})
        self.process = subprocess.Popen([*command, *arguments], env=env, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=preexec, restore_signals=preexec is None)
        self.stdout, self.stderr = Lines(self.process.stdout), Lines(self.process.stderr)

    def type(self, answer):
        """Writes a JSON line to its stdin."""
        self.process.stdin.write(json.dumps(answer).encode() + b"\n")
        self.process.stdin.flush()

    def wait_printed(self, text, start=0):
        return self.stderr.wait(lambda line: text.encode() in line, f"the agent prints {text!r}", start=start)

    def deliveries(self):
        """The deliveries that the --exec command has got so far, in order. The last one is included once it is written completely."""
        text = self.log.read_text() if self.log.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def landed(self):
        folder = self.dir / ".molecule" / "chat-uploads"
        return sorted(folder.iterdir()) if folder.exists() else []

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def stop(self):
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def wait_exit(self):
        code = self.process.wait(60)
        self.stderr.join()
        text = b"\n".join(self.stderr()).decode("utf-8", "replace")
        assert not any(report in text for report in SANITIZER_REPORTS), text
        return code

    def clean(self):
        if self.process.poll() is None:
            self.kill()
        if self.process.stdin:
            self.process.stdin.close()
        for lines, pipe in ((self.stdout, self.process.stdout), (self.stderr, self.process.stderr)):
            lines.join()
            pipe.close()


class Proxy:
    """Passes TCP between the agent and the server. `gate(bytes)` gets what the agent sends and may hold it back; `tap(bytes)` gets what
    the server answers. If tap returns fewer bytes, the proxy cuts the connection after them. `rewrite(bytes)` returns what the agent gets
    instead of an answer, of the same length."""

    def __init__(self, port, gate=None, tap=None, rewrite=None):
        self.target, self.gate, self.tap = port, gate or (lambda data: True), tap or (lambda data: len(data))
        self.rewrite = rewrite or (lambda data: data)
        self.open, self.frozen, self.lock = set(), set(), threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def cut(self):
        """Ends every open connection."""
        with self.lock:
            for one in self.open:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def freeze(self):
        """Open connections stay open but transfer nothing any more, as behind a router that has forgotten them."""
        with self.lock:
            self.frozen |= self.open

    def _serve(self, client):
        with self.lock:
            self.open.add(client)
        try:
            self._pass_on(client)
        except OSError:
            pass  # the server does not run
        finally:
            with self.lock:
                self.open.discard(client)

    def _pass_on(self, client):
        with client, socket.create_connection(("127.0.0.1", self.target)) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    try:
                        data = ready.recv(65536)
                        if not data:
                            return
                        if client in self.frozen:
                            continue
                        if ready is client:
                            if self.gate(data):
                                server.sendall(data)
                        else:
                            allowed = self.tap(data)
                            client.sendall(self.rewrite(data)[:allowed])
                            if allowed < len(data):
                                return
                    except OSError:
                        return

    def close(self):
        self.listener.close()


def url_of(server):
    return f"http://127.0.0.1:{server.port}"


def pending(workspace):
    response = workspace.server.get(workspace.path("pending-uploads"), token=workspace.server.admin_token)
    assert response.status == 200, response
    return response.json()


def send(workspace, text, *uris):
    """A person's message that names files."""
    parts = [{"kind": "text", "text": text}] + [{"kind": "file", "file": {"uri": uri, "name": "x"}} for uri in uris]
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"messageId": os.urandom(8).hex(), "parts": parts}}}
    response = workspace.server.request("POST", workspace.path("a2a"), token=workspace.server.admin_token, json_body=body)
    assert (response.status, response.json()["status"]) == (200, "queued"), response
