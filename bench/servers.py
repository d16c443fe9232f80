"""Servers: Restante and nginx, each in its own processes on a free loopback port, with a folder that is deleted at the end.
Use as context managers. `threads` is the number of our I/O threads and of nginx's workers; `cores` is where the processes may run.
"""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("RESTANTE_BENCH_BUILD", ROOT / "build" / "bench"))
READY = re.compile(r"restante ready on http://127\.0\.0\.1:([0-9]+)")
HEALTH = '{"status":"ok"}'
CEILING = 30


def on_cores(cores):
    return lambda: os.sched_setaffinity(0, cores)


def wait_until(condition, what, ceiling=CEILING):
    end = time.monotonic() + ceiling
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"never happened: {what}")
        time.sleep(0.02)


class Server:
    def __init__(self):
        # Not in the folder for temporary files, which may be in memory: the measured writes must be durable.
        self.folder = Path(tempfile.mkdtemp(prefix="running-", dir=BUILD))
        self.process = None
        self.port = 0

    def request(self, method, target, token=None, body=None, timeout=CEILING):
        """The answer's body as text; any status except 2xx raises."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, target, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status // 100 != 2:
            raise RuntimeError(f"{method} {target}: {answer.status} {text[:200]}")
        return text

    def head_size(self, target="/health"):
        """Bytes of an answer's head on the wire."""
        with socket.create_connection(("127.0.0.1", self.port), CEILING) as wire:
            wire.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: loadgen\r\nAccept: */*\r\n\r\n".encode())
            text = b""
            while b"\r\n\r\n" not in text:
                text += wire.recv(4096)
        return text.index(b"\r\n\r\n") + 4

    def roots(self):
        """The processes that do the work; their children count as well."""
        return [self.process.pid]

    def pids(self):
        return [self.process.pid, *machine.children(self.process.pid)]

    def cpu_seconds(self):
        return machine.cpu_seconds(self.pids())

    def user_memory(self):
        return machine.user_memory(self.pids())

    def __enter__(self):
        return self

    def stop(self):
        if not self.process:
            return
        self.process.terminate()
        try:
            self.process.wait(CEILING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.process = None

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Restante(Server):
    name = "restante"

    def __init__(self, threads, cores, settings=None, beside=()):
        """`beside`: other processes whose CPU and memory count as this server's."""
        super().__init__()
        self.cores, self.beside = cores, list(beside)
        self.command = [BUILD / "restante", "serve", "--listen", "127.0.0.1:0", "--data", self.folder / "data"]
        for key, value in {"threads.io": threads, **(settings or {})}.items():
            self.command += ["--set", f"{key}={value}"]
        self.start()

    def start(self):
        """Starts it, also again after stop(): on the same data, on another port."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                            preexec_fn=on_cores(self.cores))
        ready = READY.match(self.process.stdout.readline().decode())
        if not ready:
            printed = (self.folder / "log").read_text()[-2000:]
            self.__exit__()
            raise RuntimeError(f"restante did not start:\n{printed}")
        self.port = int(ready[1])

    def roots(self):
        return [self.process.pid, *self.beside]

    @property
    def admin_token(self):
        return (self.folder / "data" / "admin.token").read_text().strip()

    def metrics(self, name):
        """{labels: value} of one family."""
        text = self.request("GET", "/metrics", self.admin_token)
        found = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)
        return {labels: float(value) for labels, value in found}


NGINX = """
daemon off;
{user}
worker_processes {threads};
worker_rlimit_nofile 32768;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 75s;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  sendfile on;
  client_max_body_size 64m;
  client_body_buffer_size 256k;
  server {{
    listen 127.0.0.1:{port} reuseport backlog=4096;
    default_type application/json;
    location = /health {{ {headers} return 200 '{body}'; }}
    location /files/ {{ root {folder}; dav_methods PUT; }}
  }}
}}
"""

# The headers of every answer of Restante, so that both servers send the same.
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Request-Id": "$request_id",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx(Server):
    """`reuseport` distributes connections over the workers, as our listener does: without it one worker can get most of them."""

    def __init__(self, threads, cores, headers=None):
        super().__init__()
        self.name = "nginx, our headers" if headers else "nginx"
        self.port = free_port()
        lines = " ".join(f'add_header {name} "{value}";' for name, value in (headers or {}).items())
        # If nginx runs as root, its workers change to another user, which has no access to our folder.
        user = "user root;" if os.geteuid() == 0 else ""
        (self.folder / "files").mkdir()
        config = self.folder / "nginx.conf"
        config.write_text(NGINX.format(user=user, threads=threads, folder=self.folder, port=self.port, headers=lines, body=HEALTH))
        binary = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([binary, "-c", config, "-e", self.folder / "error.log", "-p", self.folder],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=on_cores(cores))
        try:
            wait_until(lambda: self._answers(threads), "nginx answers")
        except BaseException:
            self.__exit__()
            raise

    def _answers(self, threads):
        if self.process.poll() is not None:
            raise RuntimeError("nginx did not start:\n" + (self.folder / "error.log").read_text()[-2000:])
        try:
            return len(self.pids()) == threads + 1 and self.request("GET", "/health") == HEALTH
        except OSError:
            return False
