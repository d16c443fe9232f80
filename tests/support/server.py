"""Server: the real binary in a separate process, on a free port, with a data directory that is deleted at the end.

All its output is collected: stdout must be the one ready line, stderr is JSON lines. The end of every server is checked:
exit code 0 after SIGTERM, no sanitizer report, no second line on stdout.
"""
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from support import backend
from support.waiting import Deadline, Stalled, wait_until
from support.wire import Wire, request

READY = re.compile(r"restante ready on (https?)://(\S+?):([0-9]+)\b")
SANITIZER_REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "WARNING: ThreadSanitizer")
START_CEILING = 90  # a sanitized binary on a busy machine, its first migration included


class StartFailed(AssertionError):
    """The process ended, or printed something else, before it was ready. `code` is its exit code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def binary():
    path = os.environ.get("RESTANTE_BINARY")
    if not path or not os.access(path, os.X_OK):
        raise AssertionError("RESTANTE_BINARY must name the executable under test")
    return os.path.abspath(path)


def sanitizer():
    """"address", "thread" or None: what the binary under test was built with."""
    with open(binary(), "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        if image.find(b"__tsan_init") >= 0:
            return "thread"
        return "address" if image.find(b"__asan_init") >= 0 else None


class Lines:
    """The lines of one pipe. A thread reads them until the other side closes it."""

    def __init__(self, pipe, *, one=False):
        self._pipe, self._lines, self._changed = pipe, [], threading.Condition()
        self._one = one
        self._open = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        for line in iter(self._pipe.readline, b""):
            with self._changed:
                self._lines.append(line.rstrip(b"\n"))
                self._changed.notify_all()
            if self._one:
                self._pipe.close()
                break
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def __call__(self):
        with self._changed:
            return list(self._lines)

    def wait(self, wanted, what, ceiling=None, start=0):
        """The first line from `start` on for which wanted(line) is true."""
        deadline, at = Deadline(ceiling), start
        with self._changed:
            while True:
                for at in range(at, len(self._lines)):
                    if wanted(self._lines[at]):
                        return self._lines[at]
                at = len(self._lines)
                if not self._open or not self._changed.wait(deadline.left()) and deadline.left() == 0:
                    raise Stalled(f"never printed: {what}; last lines {self._lines[-5:]}")

    def wait_count(self, count, ceiling=None):
        """Waits until there are that many, or the other side has closed."""
        deadline = Deadline(ceiling)
        with self._changed:
            while len(self._lines) < count and self._open:
                if not self._changed.wait(deadline.left()) and deadline.left() == 0:
                    raise Stalled(f"{len(self._lines)} lines of {count}; last {self._lines[-3:]}")

    def join(self):
        self._thread.join(Deadline().left())


class Server:
    """Started by the constructor, which returns once the server is ready. Use as a context manager.

    support.backend chooses its database and its blob place, unless the test passes --database itself.
    settings: {"timeouts.header": "300ms"} becomes --set timeouts.header=300ms. data: keep a directory across two servers.
    stderr: a file or descriptor to use instead of collecting lines. tls: the ssl.SSLContext that connect() uses.
    stdout_closes: close our end of stdout after the ready line. user: the uid to run as, when we may choose.
    """

    def __init__(self, settings=None, *, listen=("127.0.0.1:0",), data=None, arguments=(), environment=None, stderr=None,
                 tls=None, stdout_closes=False, user=None):
        self.tls = tls
        executable = binary()
        self._own_data = data is None
        self.data = Path(data or tempfile.mkdtemp(prefix="restante-test-"))
        self.home = None if "--database" in arguments else backend.home_of(self.data)
        command = [executable, "serve", "--data", str(self.data), *(self.home.arguments if self.home else ())]
        for address in listen:
            command += ["--listen", address]
        for key, value in {**(self.home.settings if self.home else {}), **(settings or {})}.items():
            command += ["--set", f"{key}={value}"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}
        env.update({**(self.home.environment if self.home else {}), **(environment or {})})
        self._environment, self.exit_code = env, None
        self.expected_exit = (0,)  # a test that causes another exit code sets it here; None = any
        self._killed = False
        self.process = subprocess.Popen([*command, *arguments], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE if stderr is None else stderr, cwd=self.data, user=user)
        self.stdout = Lines(self.process.stdout, one=stdout_closes)
        self.stderr = Lines(self.process.stderr) if stderr is None else None
        try:
            self._wait_ready()
        except BaseException:
            self.discard()
            raise

    def _wait_ready(self):
        try:
            line = self.stdout.wait(lambda _: True, "the ready line", START_CEILING).decode()
        except Stalled:
            code = self.process.poll() if self.process.poll() is not None else self._wait_exit()
            if self.stderr:
                self.stderr.join()  # the reason may not have been read yet
            tail = b"\n".join(self.stderr()[-30:]).decode("utf-8", "replace") if self.stderr else ""
            raise StartFailed(f"exit code {code} before the ready line:\n{tail}", code) from None
        match = READY.match(line)
        if not match:
            raise StartFailed(f"not the ready line: {line!r}", None)
        self.ready_line, self.scheme, self.host, self.port = line, match[1], match[2].strip("[]"), int(match[3])

    # -- requests

    @property
    def admin_token(self):
        """The token that the test set, or the one that the server made."""
        return self._environment.get("RESTANTE_ADMIN_TOKEN") or (self.data / "admin.token").read_text().strip()

    def connect(self, **options):
        """A connection. tls=None makes it a plain one, even if the server uses TLS."""
        return Wire(self.port, self.host, **{"tls": self.tls, **options})

    def request(self, method, target, *, token=None, json_body=None, body=None, headers=None, **options):
        """Sends one request on a new connection and returns the response. json_body is sent as JSON."""
        fields = dict(headers or {})
        fields.setdefault("Connection", "close")
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if json_body is not None:
            fields.setdefault("Content-Type", "application/json")
            body = json.dumps(json_body).encode()
        with self.connect(**options) as wire:
            wire.send(request(method, target, fields, body))
            response = wire.read(method)
        assert response is not None, f"{method} {target}: closed without an answer"
        return response

    def get(self, target, **options):
        return self.request("GET", target, **options)

    def metric(self, name, labels=""):
        """The value of the series of /metrics with exactly these labels; None if it is not there."""
        series = re.escape(name + labels)
        answer = self.get("/metrics")
        if answer.status == 401:  # the test has set public_url or trusted_proxies
            answer = self.get("/metrics", token=self.admin_token)
        found = re.search(rf"^{series} (\S+)$", answer.body.decode(), re.MULTILINE)
        return float(found[1]) if found else None

    def wait_metric(self, name, value, labels=""):
        wait_until(lambda: self.metric(name, labels) == value, f"{name}{labels} = {value}")

    def check_alive(self, **options):
        assert self.process.poll() is None, f"the server died with {self.process.poll()}: {self.log_tail()}"
        response = self.get("/health", **options)
        assert (response.status, response.body) == (200, b'{"status":"ok"}'), response

    # -- its log

    def log(self):
        """Every line of stderr so far, parsed. A line that is not one JSON object fails the test."""
        return [parse_log_line(line) for line in self.stderr()]

    def log_tail(self):
        return b"\n".join(self.stderr()[-15:]).decode("utf-8", "replace") if self.stderr else "(not collected)"

    def wait_log(self, text, start=0):
        """The first log line from number `start` on that has `text` in it, parsed."""
        return parse_log_line(self.stderr.wait(lambda line: text.encode() in line, f"a log line with {text}", start=start))

    # -- what the kernel shows of it

    def rss(self):
        """Resident bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self):
        """The targets of its open descriptors."""
        folder, targets = f"/proc/{self.process.pid}/fd", []
        for name in os.listdir(folder):
            try:
                targets.append(os.readlink(f"{folder}/{name}"))
            except FileNotFoundError:
                pass  # closed meanwhile
        return targets

    def sockets(self):
        return sum(target.startswith("socket:") for target in self.descriptors())

    def unfinished_files(self):
        """Open files without a name below the data directory: uploads in progress."""
        return [target for target in self.descriptors() if target.startswith(str(self.data.resolve())) and target.endswith("(deleted)")]

    # -- its blobs

    def blobs(self):
        """The stored blobs, each once, in whichever place they are."""
        return self.home.bytes.blobs(self)

    def blob_keys(self):
        return sorted(blob.key for blob in self.blobs())

    def unfinished(self):
        """The incomplete blobs of uploads in progress."""
        return self.home.bytes.unfinished(self)

    # -- ending it

    def signal(self, number):
        self.process.send_signal(number)

    def wait_exit(self, ceiling=60):
        """Waits until the process ends by itself; returns its exit code."""
        return self._wait_exit(ceiling)

    def stop(self):
        """Sends SIGTERM, waits and returns the exit code."""
        if self.exit_code is None:
            self.signal(signal.SIGTERM)
            self._wait_exit()
        return self.exit_code

    def kill(self):
        """SIGKILL: the process ends at once, as in a power failure."""
        self._killed = True
        if self.process.poll() is None:
            self.process.kill()
        return self._wait_exit()

    def _wait_exit(self, ceiling=60):
        try:
            self.exit_code = self.process.wait(ceiling)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self._killed = True
            raise Stalled(f"the server did not end within {ceiling} s: {self.log_tail()}") from None
        for lines in (self.stdout, self.stderr):
            if lines:
                lines.join()
        return self.exit_code

    def finish(self):
        """Stops the server if it runs, and checks how it ended."""
        try:
            code = self.stop()
            self.check_reports()
            expected = self._killed or self.expected_exit is None or code in self.expected_exit
            assert expected, f"exit code {code}: {self.log_tail()}"
            assert len(self.stdout()) <= 1, f"more than the ready line on stdout: {self.stdout()}"
        finally:
            self._clean()

    def check_reports(self):
        """Fails if a sanitizer has reported something."""
        text = b"\n".join(self.stderr() if self.stderr else []).decode("utf-8", "replace")
        for report in SANITIZER_REPORTS:
            assert report not in text, text[max(0, text.find(report) - 200):][:6000]

    def discard(self):
        """Ends the server without any check, for a server that a test has already reported as broken."""
        self.kill()
        self._clean()

    def _clean(self):
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()
        if self._own_data:
            backend.forget(self.data)
            shutil.rmtree(self.data, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.finish()
        else:
            self.discard()


def parse_log_line(line):
    """The object of a log line: valid UTF-8, one JSON object, no raw control byte."""
    assert not re.search(rb"[\x00-\x1f\x7f]", line), f"a control byte in a log line: {line!r}"
    value = json.loads(line.decode("utf-8"))
    assert isinstance(value, dict), f"not an object: {line!r}"
    return value
