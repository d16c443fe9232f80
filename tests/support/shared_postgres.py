#!/usr/bin/env python3
"""One PostgreSQL server for all tests of a run. FOLDER/url contains its url.

    shared_postgres.py start FOLDER      by the first test of a run
    shared_postgres.py stop FOLDER       by the last one, also when others have failed

The process that runs the tests (the parent of this one) is a user. The server ends when no user is left, so it also ends when
a run is killed before it can stop anything. Several runs at a time share one server.
"""
import fcntl
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support.postgres import QUICK, START_CEILING, Postgres  # noqa: E402: runs as a program
from support.waiting import wait_until  # noqa: E402

# How often the keeper counts the users: an unused server runs on for up to this long.
COUNT_EVERY = 0.2


class Shared:
    def __init__(self, folder):
        self.folder, self.users = Path(folder), Path(folder) / "users"
        self.users.mkdir(parents=True, exist_ok=True)
        self.url, self.keeper, self.ending = self.folder / "url", self.folder / "keeper", self.folder / "ending"

    @contextmanager
    def lock(self):
        with open(self.folder / "lock", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def has_users(self):
        for user in self.users.iterdir():
            if not is_alive(int(user.name)):
                user.unlink(missing_ok=True)
        return any(self.users.iterdir())

    @staticmethod
    def lives(file):
        """Whether the process that holds the file's lock is alive. The lock ends with the process, in whatever way it ended."""
        try:
            with open(file, "rb") as held:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True

    def start(self, user):
        with self.lock():
            (self.users / str(user)).touch()
            if not self.lives(self.keeper):
                self.url.unlink(missing_ok=True)
                # A lock belongs to the open file. The keeper process gets the open file from this one and never closes it.
                with open(self.folder / "log", "wb") as log, open(self.keeper, "wb") as held:
                    fcntl.flock(held, fcntl.LOCK_EX)
                    subprocess.Popen([sys.executable, __file__, "keep", self.folder], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     start_new_session=True, pass_fds=[held.fileno()])
        wait_until(lambda: self.url.exists() or not self.lives(self.keeper), "the server is ready", START_CEILING)
        if not self.url.exists():
            raise SystemExit("PostgreSQL did not start:\n" + (self.folder / "log").read_text())

    def stop(self, user):
        (self.users / str(user)).unlink(missing_ok=True)
        wait_until(lambda: self.has_users() or not (self.lives(self.keeper) or self.lives(self.ending)), "the server has ended",
                   START_CEILING)

    def keep(self):
        connections = max(200, 50 * (os.cpu_count() or 1))
        with Postgres(f"{QUICK}max_connections = {connections}\n") as postgres:
            draft = self.folder / "url.new"
            draft.write_text(postgres.url("postgres") + "\n")
            draft.rename(self.url)
            while True:
                time.sleep(COUNT_EVERY)
                with self.lock():
                    if not self.has_users():
                        # No user can come to this server any more: the next run starts another one.
                        self.url.unlink(missing_ok=True)
                        self.keeper.rename(self.ending)  # and its lock with it
                        return


def is_alive(process):
    """True if the process runs; False if it has ended, also if its parent has not read its exit code yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


if __name__ == "__main__":
    shared = Shared(sys.argv[2])
    if sys.argv[1] == "keep":
        shared.keep()
    else:
        getattr(shared, {"start": "start", "stop": "stop"}[sys.argv[1]])(os.getppid())
