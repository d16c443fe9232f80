#!/usr/bin/env python3
"""One PostgreSQL server for all tests of a run, kept in a folder that they know: FOLDER/url says where it is.

    shared_postgres.py start FOLDER      by the first test of a run
    shared_postgres.py stop FOLDER       by the last one, also when others have failed

Whoever runs the tests (the parent of this) is a user; the server ends when there is none left, so also when a run is killed
before it could stop anything. Several runs at a time share one server.
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

# How often its users are counted: a server that nobody needs any more may live so long.
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
        """Whether the process does whose id the file holds."""
        try:
            return is_alive(int(file.read_text()))
        except (FileNotFoundError, ValueError):
            return False

    def start(self, user):
        with self.lock():
            (self.users / str(user)).touch()
            if not self.lives(self.keeper):
                self.url.unlink(missing_ok=True)
                with open(self.folder / "log", "wb") as log:
                    keeper = subprocess.Popen([sys.executable, __file__, "keep", self.folder], stdin=subprocess.DEVNULL, stdout=log,
                                              stderr=log, start_new_session=True)
                self.keeper.write_text(str(keeper.pid))
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
                        # Nobody comes any more: whoever starts next starts another one.
                        self.url.unlink(missing_ok=True)
                        self.keeper.rename(self.ending)
                        return


def is_alive(process):
    """Running, and not only waiting for its parent to look at how it ended."""
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
