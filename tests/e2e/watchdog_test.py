"""The watchdog: a writer that does not move is reported, and then the server ends itself.

Another process has the write lock of the database, so that the server's next write waits for it inside of SQLite.
"""
import sqlite3
import threading

from support.waiting import wait_until


class LockedDatabase:
    """While this is entered, no write of the server can go on."""

    def __init__(self, server):
        self._server, self._writes = server, []
        self._connection = sqlite3.connect(server.data / "restante.db", isolation_level=None, timeout=60)

    def __enter__(self):
        self._connection.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, *_):
        self._connection.execute("ROLLBACK")
        self._connection.close()
        for write in self._writes:
            write.join()

    def keep_a_write_waiting(self):
        """SQLite waits for a lock for five seconds only; then the next write has to wait."""
        if not self._writes or not self._writes[-1].is_alive():
            self._writes.append(threading.Thread(target=self._write, daemon=True))
            self._writes[-1].start()

    def _write(self):
        try:
            self._server.request("POST", "/workspaces", token=self._server.admin_token, json_body={"name": "late"})
        except (OSError, AssertionError):
            pass  # the server has ended


def writer_check(server):
    return server.get("/ready").json()["checks"]["writer"]


def test_a_writer_that_does_not_move_makes_the_server_not_ready_until_it_moves(start):
    server = start({"watchdog.stalled_after": "500ms", "watchdog.end_after": "0s"})
    wait_until(lambda: writer_check(server) == "ok", "it moves")
    with LockedDatabase(server) as locked:
        def is_reported():
            locked.keep_a_write_waiting()
            return writer_check(server) == "failed"
        wait_until(is_reported, "the writer is reported")
        server.check_alive()
        server.wait_log("writer_stalled")
    wait_until(lambda: writer_check(server) == "ok", "it moves again")
    server.wait_log("writer_moves_again")


def test_a_server_whose_writer_does_not_move_ends_itself(start):
    server = start({"watchdog.stalled_after": "1s", "watchdog.end_after": "2s"})
    server.expected_exit = (75,)
    with LockedDatabase(server) as locked:
        def has_ended():
            locked.keep_a_write_waiting()
            return server.process.poll() is not None
        wait_until(has_ended, "the server ends itself")
        assert server.wait_exit() == 75
    assert any(line["event"] == "writer_stalled_end" for line in server.log())
