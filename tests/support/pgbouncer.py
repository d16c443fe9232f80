"""Pgbouncer: a real one in front of a private PostgreSQL. It does not run as root. Use as a context manager."""
import shutil
import signal
import socket
import subprocess
from urllib.parse import urlsplit, urlunsplit

from support.ports import free_port
from support.postgres import FOLLOWING, account, make_folder
from support.waiting import wait_until

CONFIG = """
[databases]
* = host=127.0.0.1 port={target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
max_client_conn = 500
default_pool_size = {size}
logfile =
pidfile =
"""


class Pgbouncer:
    """mode: "session" or "transaction"; size: how many sessions it makes for one user and database."""

    def __init__(self, postgres, mode, size=100):
        self.folder, self.port = make_folder(None), free_port()
        (self.folder / "users").write_text(f'"{postgres.user}" ""\n')
        (self.folder / "config").write_text(CONFIG.format(target=postgres.port, port=self.port, folder=self.folder, mode=mode, size=size))
        for name in ("users", "config"):
            (self.folder / name).chmod(0o644)
        self.process = None
        self.start()

    def start(self):
        with open(self.folder / "log", "ab") as log:
            program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
            self.process = subprocess.Popen([*FOLLOWING, program, self.folder / "config"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                            **account())
        wait_until(self._answers, "pgbouncer answers")

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def through(self, url):
        """The url of the same database through pgbouncer."""
        parts = urlsplit(url)
        return urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{self.port}"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
