"""Recorder: a second process that sends requests to a server and records every request that succeeded.

    python3 -m support.recorder '{"port": …, "doers": [{"do": "message", "name": "a", …}, …]}'

Each doer is a thread with one keep-alive connection that repeats one kind of request. Every request that was answered with
2xx is one JSON line on stdout, {"do", "by", "n", …facts}: the server has acknowledged it, even if it was killed afterwards.
A doer ends after `most` times, when its connection breaks, or when a number comes on stdin; one that follows an inbox first
reads up to that number. An unexpected error is a line of "trouble". class Recorder is the test's side of it.
"""
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from support.workspace import files_of, multipart
from support.server import Lines
from support.waiting import Deadline, Stalled
from support.wire import BrokenResponse, Wire, request


class Refused(Exception):
    """An answer other than 2xx."""


class Stop:
    """Whether doers are to end, and up to which seq followers read before they do."""

    def __init__(self):
        self.seq = None
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        word = b""
        while not word.endswith(b"\n"):
            more = os.read(0, 32)
            if not more:
                return
            word += more
        self.seq = int(word)


class Doer:
    """One doer. Its name and the number of the request make every text unique."""

    def __init__(self, port, stop, emit, *, do, name, token, workspace=None, most=None, **extra):
        self.wire, self.stop, self.emit = Wire(port), stop, emit
        self.do, self.name, self.token, self.workspace, self.n, self.most = do, name, token, workspace, 0, most
        self.extra = extra

    def run(self):
        step = getattr(self, self.do)
        while self.n != self.most and not self.is_over():
            step()
            self.n += 1

    def is_over(self):
        seq = self.stop.seq
        return seq is not None and (self.do != "follow" or self.extra.get("at", 0) >= seq)

    @property
    def text(self):
        return f"{self.name}-{self.n}"

    def record(self, do, **facts):
        self.emit({"do": do, "by": self.name, "n": self.n, **facts})

    def ask(self, method, target, *, token=None, json_body=None, headers=None, body=None):
        fields = {"Authorization": f"Bearer {token or self.token}", **(headers or {})}
        if json_body is not None:
            fields["Content-Type"], body = "application/json", json.dumps(json_body).encode()
        self.wire.send(request(method, target, fields, body))
        answer = self.wire.read(method)
        if answer is None:
            raise BrokenResponse("closed")
        if answer.status // 100 != 2:
            raise Refused(f"{method} {target}: {answer.status} {answer.body.decode()}")
        return answer

    def post(self, rest, json_body=None, **options):
        return self.ask("POST", f"/workspaces/{self.workspace}/{rest}", json_body=json_body, **options)

    # -- the kinds of requests

    def message(self):
        sent = self.post("a2a", {"method": "message/send", "params": {"message": {
            "messageId": self.text, "parts": [{"kind": "text", "text": self.text}]}}}).json()
        self.record("message", text=self.text, seq=sent["seq"], id=sent["activity_id"])

    def notify(self):
        self.post("notify", {"message": self.text})
        self.record("notify", text=self.text)

    def activity(self):
        self.post("activity", {"activity_type": "agent_log", "summary": self.text})
        self.record("activity", text=self.text)

    def upload(self):
        """Uploads one file. If `agent` is the agent's token, every second file is acked."""
        content = self.text.encode() * (1 + self.n % 97)
        headers, body = multipart((self.text, content))
        (file_id, _), = files_of(self.post("chat/uploads", headers=headers, body=body))
        self.record("upload", text=self.text, file_id=file_id, sha256=hashlib.sha256(content).hexdigest())
        if self.extra.get("agent") and self.n % 2:
            self.post(f"pending-uploads/{file_id}/ack", token=self.extra["agent"])
            self.record("ack_upload", file_id=file_id)

    def ack(self):
        rows = self.ask("GET", f"/workspaces/{self.workspace}/activity?limit=1").json()
        if rows:
            acked_seq = self.post("activity/ack", {"acked_seq": rows[0]["seq"]}).json()["last_acked_seq"]
            self.record("ack", seq=acked_seq)

    def create(self):
        made = self.ask("POST", "/workspaces", json_body={"name": self.text}).json()
        self.record("create", id=made["id"], text=self.text, enrolment=made["connection"]["enrolment_token"])

    def tokens(self):
        """Makes a token and revokes the one before it."""
        made = self.post("tokens", {"label": self.text}).json()
        self.record("token", id=made["token_id"], secret=made["auth_token"])
        before, self.extra["before"] = self.extra.get("before"), made["token_id"]
        if before:
            self.ask("DELETE", f"/workspaces/{self.workspace}/tokens/{before}")
            self.record("revoke", id=before)

    def follow(self):
        """Reads on from the last row seen, alternately by number and by id; with `wait` as a long poll, else every `pause`."""
        at, last = self.extra.get("at", 0), self.extra.get("last")
        cursor = f"since_id={last}" if last and self.n % 2 else f"since_seq={at}"
        wait = f"&wait={self.extra['wait']}" if "wait" in self.extra else ""
        rows = self.ask("GET", f"/workspaces/{self.workspace}/activity?limit=500&{cursor}{wait}").json()
        for row in rows:
            text = row["response_body"]["result"] if row["method"] == "notify" else row["summary"]
            self.record("row", seq=row["seq"], id=row["id"], text=text.removeprefix("chat_upload_receive: "), created_at=row["created_at"],
                      method=row["method"])
        if rows:
            self.extra["at"], self.extra["last"] = rows[-1]["seq"], rows[-1]["id"]
        if "pause" in self.extra:
            time.sleep(self.extra["pause"])  # how often it polls: this makes the load, the test does not wait for it


def drive(port, doers):
    stop, lock = Stop(), threading.Lock()

    def emit(line):
        text = json.dumps(line, separators=(",", ":")) + "\n"
        with lock:
            sys.stdout.write(text)
            sys.stdout.flush()

    def work(plan):
        doer = None
        try:
            doer = Doer(port, stop, emit, **plan)
            doer.run()
        except (OSError, BrokenResponse):
            pass  # the server was killed; a request without an answer was not acknowledged
        except Exception as trouble:  # pylint: disable=broad-except
            emit({"do": "trouble", "by": plan["name"], "n": doer.n if doer else -1, "what": f"{type(trouble).__name__}: {trouble}"})
        finally:
            if doer:
                doer.wire.close()

    threads = [threading.Thread(target=work, args=(plan,)) for plan in doers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Recorder:
    """The process. lines() returns what it has recorded so far. Use as a context manager."""

    def __init__(self, port, doers):
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen([sys.executable, "-m", "support.recorder", json.dumps({"port": port, "doers": doers})],
                                        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lines = Lines(self.process.stdout)

    def wait_lines(self, count, ceiling=None):
        """Waits until so many lines are recorded, or until every doer has ended."""
        self._lines.wait_count(count, ceiling)

    def wait_end(self, ceiling=None):
        """Waits until every doer has ended; returns what was recorded."""
        deadline = Deadline(ceiling)
        try:
            self.process.wait(deadline.left())
        except subprocess.TimeoutExpired:
            raise Stalled(f"doers did not end; last lines {self._lines()[-3:]}") from None
        self._lines.join()
        return self.lines()

    def lines(self):
        return [json.loads(line) for line in self._lines()]

    def stop(self, seq=0):
        """Every doer ends after its current request, followers when they have read `seq`; returns what was recorded."""
        try:
            self.process.stdin.write(b"%d\n" % seq)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # all have ended already
        return self.wait_end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._lines.join()
        self.process.stdin.close()
        self.process.stdout.close()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    drive(given["port"], given["doers"])
