"""Mcp: a real `restante mcp` and a client that sends it raw JSON-RPC, line by line."""
import json
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from support.server import SANITIZER_REPORTS, Lines, binary
from support.waiting import wait_until

NEWEST = "2025-11-25"


class Mcp:
    """The directories remain when the process ends, so that it can be started again with keep=. With a version it does the handshake."""

    def __init__(self, url, *, token=None, keep=None, version=NEWEST, arguments=(), program=None):
        self.root = keep.root if keep else Path(tempfile.mkdtemp(prefix="restante-mcp-")).resolve()
        self.dir, self.state = self.root / "dir", self.root / "state"
        self.command = [program or binary(), "mcp", "--dir", str(self.dir), "--state", str(self.state)]
        self.url, self.token = url or (keep and keep.url), token or (keep and keep.token)
        if self.url:
            self.command += ["--url", self.url]
        if self.token:
            token_file = self.root / "given.token"
            token_file.write_text(self.token + "\n")
            self.command += ["--token-file", str(token_file)]
        self.command += arguments
        env = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
        self.process = subprocess.Popen(self.command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.stdout, self.stderr = Lines(self.process.stdout), Lines(self.process.stderr)
        self._next, self._lock = 0, threading.Lock()
        if version:
            answer = self.initialize(version)
            assert answer["protocolVersion"] == version, answer
            self.notify("notifications/initialized")

    # -- the wire

    def write(self, line):
        """One line, as text, bytes or something for json.dumps."""
        if not isinstance(line, (str, bytes)):
            line = json.dumps(line)
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        self.process.stdin.flush()

    def messages(self):
        return [json.loads(line) for line in self.stdout()]

    def wait_message(self, wanted, what):
        return json.loads(self.stdout.wait(lambda line: wanted(json.loads(line)), what))

    def start_request(self, method, params=None, id=None):
        """Sends the request and returns its id."""
        if id is None:
            with self._lock:
                self._next += 1
                id = self._next
        self.write({"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params is not None else {})})
        return id

    def answer(self, id):
        """The whole answer to the request of that id."""
        return self.wait_message(lambda message: isinstance(message, dict) and message.get("id") == id and "method" not in message, f"the answer to {id}")

    def answered(self, id):
        return any(isinstance(message, dict) and message.get("id") == id for message in self.messages())

    def request(self, method, params=None):
        return self.answer(self.start_request(method, params))

    def notify(self, method, params=None):
        self.write({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    # -- MCP

    def initialize(self, version):
        return self.request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}})["result"]

    def start_call(self, tool, arguments=None, token=None):
        params = {"name": tool, "arguments": arguments or {}}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.start_request("tools/call", params)

    def result(self, id):
        """The structured content of a call that must have worked."""
        answer = self.answer(id)
        assert "result" in answer and not answer["result"]["isError"], answer
        return answer["result"].get("structuredContent")

    def call(self, tool, **arguments):
        return self.result(self.start_call(tool, arguments))

    def pop(self, **arguments):
        """The result of inbox_pop. Repeats the call while the waiting delivery is not ready yet."""
        def taken():
            popped = self.call("inbox_pop", **arguments)
            return popped if popped["message"] or popped["waiting"] == 0 else None
        return wait_until(taken, "the waiting delivery can be taken")

    def trouble(self, tool, **arguments):
        """The error sentence of a tool call that must fail."""
        answer = self.answer(self.start_call(tool, arguments))
        assert answer["result"]["isError"], answer
        return answer["result"]["content"][0]["text"]

    def progress(self, token):
        return [message["params"] for message in self.messages()
                if message.get("method") == "notifications/progress" and message["params"]["progressToken"] == token]

    # -- ends

    def kill(self):
        self.process.kill()
        self.process.wait(60)

    def stop(self):
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def close(self):
        """The end of stdin; the exit code."""
        self.process.stdin.close()
        return self.wait_exit()

    def wait_exit(self):
        code = self.process.wait(60)
        self.stdout.join()  # its last output may not have been read yet
        self.stderr.join()
        text = b"\n".join(self.stderr()).decode("utf-8", "replace")
        assert not any(report in text for report in SANITIZER_REPORTS), text
        return code

    def clean(self):
        if self.process.poll() is None:
            self.kill()
        for lines, pipe in ((self.stdout, self.process.stdout), (self.stderr, self.process.stderr)):
            lines.join()
            pipe.close()
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it did not read the rest of its input
