"""Postgres: a PostgreSQL cluster of our own for the peer, durable as Debian ships it, on a free loopback port. Use as a
context manager; the cluster goes away with it."""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from servers import BUILD, CEILING, free_port, wait_until

SETTINGS = """
port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '{folder}'
shared_buffers = 1GB
fsync = on
synchronous_commit = on
full_page_writes = on
max_connections = 200
"""
ACCOUNT = "postgres"


def programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        raise RuntimeError("PostgreSQL is missing: run tools/setup bench")
    return found[-1].parent


def account():
    """How to start what refuses to run as root."""
    return {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}


def make_folder():
    """In the build folder, or where the other account can reach it."""
    for parent in (BUILD, None):
        folder = Path(tempfile.mkdtemp(prefix="running-postgres-", dir=parent))
        if not account():
            return folder
        shutil.chown(folder, ACCOUNT, ACCOUNT)
        if subprocess.run(["test", "-w", folder], **account(), cwd="/").returncode == 0:
            return folder
        folder.rmdir()
    raise RuntimeError(f"no folder that {ACCOUNT} can reach")


class Postgres:
    def __init__(self):
        self.folder, self.port, self.process = make_folder(), free_port(), None
        self.data = self.folder / "data"
        self.user = ACCOUNT if account() else pwd.getpwuid(os.geteuid()).pw_name
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": self.folder, **account()}
        try:
            subprocess.run([programs() / "initdb", "-D", self.data, "-A", "trust", "-U", self.user, "--no-instructions"],
                           check=True, **quiet)
            with open(self.data / "postgresql.conf", "a") as settings:
                settings.write(SETTINGS.format(port=self.port, folder=self.folder))
            with open(self.folder / "log", "wb") as log:
                self.process = subprocess.Popen([programs() / "postgres", "-D", self.data], stderr=log,
                                                env={**os.environ, "LD_PRELOAD": str(BUILD / "one_session.so")}, **quiet)
            wait_until(self._answers, "PostgreSQL answers")
            self.sql("CREATE DATABASE bench", database="postgres")
        except BaseException:
            self.__exit__()
            raise

    def _answers(self):
        if self.process.poll() is not None:
            raise RuntimeError("PostgreSQL did not start:\n" + (self.folder / "log").read_text()[-2000:])
        return subprocess.run([programs() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0

    def sql(self, *statements, database="bench"):
        """The rows as text, columns apart by a space. Each statement by itself, so that any kind is allowed."""
        command = [programs() / "psql", "-qAtX", "-F", " ", "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "-d", database,
                   "-v", "ON_ERROR_STOP=1"]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"psql: {done.stderr.strip()}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast: does not wait for clients
            try:
                self.process.wait(CEILING)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
