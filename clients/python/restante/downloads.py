"""DownloadQueue: the threads that fetch, verify, store and acknowledge announced files, several at once.

A failure is reported to the server; a file is tried again after a pause as long as that makes sense. Every result goes into the
ledger; then `done` is called on the download thread. Thread-safe.
"""
from __future__ import annotations

import http.client
import threading
import time
from pathlib import Path
from typing import Callable, Dict, List, Optional, Set

from .api import ApiClient, text_of
from .disk import DiskTrouble
from .failure import Backoff, Failure, Stop
from .landing import LandingFolder, Partial
from .ledger import Ledger
from .records import FileRecord

AT_ONCE = 4
FETCH_ATTEMPTS = 4  # in a row, each from where the last one broke off; then the file is queued again
WRONG_ATTEMPTS = 3  # how often the content may be wrong before the file is refused for good


class Downloader:
    """Downloads one announced file to the disk: finds it there already, or fetches it, resumes by Range after a broken connection,
    verifies it and gives it its final name. Blocking; one thread. Changes only the given record."""

    def __init__(self, api: ApiClient, directory: Path, largest: int) -> None:
        self._api, self._landing, self._largest = api, LandingFolder(directory), largest

    def download(self, record: FileRecord) -> str:
        """Sets where, path, trouble and reason of the record. Returns landed; gone: the server no longer has it; later: a network
        failure; trouble: a local failure, such as a full disk; wrong: the content is not what was announced."""
        result, why = self._attempt(record)
        record.reason = "" if result == "landed" else why
        if result in ("gone", "wrong"):
            self._landing.discard(record)
        if result == "landed":
            record.where, record.trouble = "landed", ""
        elif result == "gone":
            try:
                state = text_of(self._api.file_state(record.id), "state")
            except Failure as failure:
                if failure.may_yet_succeed() or failure.kind == "cancelled":
                    record.trouble = "missing"
                    return "later"
                state = ""
            record.where, record.trouble = "gone", state if state in ("expired", "recalled") else "gone"
        else:
            record.trouble = "missing" if result == "later" else "failed"
        return result

    def _attempt(self, record: FileRecord) -> "tuple[str, str]":
        try:
            found = self._landing.find(record)
            if found:
                record.path = found
                return "landed", ""
            if 0 < self._largest < record.size:
                return "wrong", f"the file is larger than the server's own limit of {self._largest} bytes"
            return self._fetch_whole(record)
        except DiskTrouble as error:
            return "trouble", str(error)

    def _fetch_whole(self, record: FileRecord) -> "tuple[str, str]":
        mismatched, why = False, ""
        for _ in range(FETCH_ATTEMPTS):
            partial = self._landing.begin(record)
            try:
                result, why = ("whole", "") if partial.size == record.size else self._fetch(record, partial)
                if result == "again":
                    continue
                if result != "whole":
                    return result, why
                path = self._landing.finish(partial, record)
            finally:
                partial.close()
            if path:
                record.path = path
                return "landed", ""
            why = "the content is not what was announced (size or sha256)"
            if mismatched:
                return "wrong", why
            mismatched = True  # the first mismatch may be a rest of an earlier attempt
        return ("wrong" if mismatched else "later"), why

    def _fetch(self, record: FileRecord, partial: Partial) -> "tuple[str, str]":
        """whole, again (from where it broke off), gone, later, wrong; and why."""
        offset, begun, refused = partial.size, False, ""

        def sink(head: http.client.HTTPResponse, content: bytes) -> bool:
            nonlocal begun, refused
            if not begun and offset:
                if head.status != 206:
                    partial.restart()
                elif not (head.getheader("Content-Range") or "").startswith(f"bytes {offset}-"):
                    refused = "the server sent another range"
                    return False
            begun = True
            if partial.size + len(content) > record.size:
                refused = "the file is larger than announced"
                return False
            partial.append(content)
            return True

        try:
            self._api.fetch(record.id, offset, sink)
            return "whole", ""
        except Failure as failure:
            if refused:
                return "wrong", refused
            if failure.is_status(404):
                return "gone", failure.sentence
            if failure.is_status(416):
                partial.restart()
                return "again", failure.sentence
            if failure.code in ("integrity_error", "content_missing"):
                return "wrong", failure.sentence
            return ("again" if failure.kind == "cut" and partial.size > offset else "later"), failure.sentence


class _Job:
    """A file in the queue."""

    def __init__(self) -> None:
        self.due, self.running, self.wrong = time.monotonic(), False, 0
        self.network = Backoff(0.5, 10.0)
        self.trouble = Backoff(2.0, 60.0)  # a full disk takes longer to repair


class DownloadQueue:
    """See the module. `connect` creates the client of one download thread."""

    def __init__(self, ledger: Ledger, directory: Path, connect: Callable[[], ApiClient], done: Callable[[str], None],
                 print_line: Callable[[str], None], stop: Stop) -> None:
        self._ledger, self._directory, self._connect, self._done, self._print_line = ledger, directory, connect, done, print_line
        self._stop = stop
        self._changed = threading.Condition()
        self._jobs: Dict[str, _Job] = {}
        self._clients: Set[ApiClient] = set()
        self._threads: List[threading.Thread] = []
        self._stopping = False
        self._largest = 0

    def start(self, largest: int) -> None:
        self._largest = largest
        for _ in range(AT_ONCE):
            thread = threading.Thread(target=self._stop.guard(self._work), name="restante download", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self, patience: float) -> None:
        """Ends running downloads. A thread that hangs in the system is left behind: a kill at any moment is safe."""
        with self._changed:
            self._stopping = True
            clients = list(self._clients)
            self._changed.notify_all()
        for client in clients:
            client.cancel()
        for thread in self._threads:
            thread.join(patience)

    def enqueue(self, file_id: str) -> None:
        with self._changed:
            self._jobs.setdefault(file_id, _Job())
            self._changed.notify()

    def retry_now(self) -> None:
        """Tries all files in a pause now: the network is back."""
        with self._changed:
            for job in self._jobs.values():
                job.due = min(job.due, time.monotonic())
            self._changed.notify_all()

    def hang_up(self) -> None:
        with self._changed:
            for client in self._clients:
                client.hang_up()

    def _next(self) -> Optional[str]:
        """The id of a job that is due, marked as running; None: the queue ends. The caller has the lock."""
        while not self._stopping:
            waiting = [(job.due, file_id) for file_id, job in self._jobs.items() if not job.running]
            if not waiting:
                self._changed.wait()
                continue
            due, file_id = min(waiting)
            if due > time.monotonic():
                self._changed.wait(due - time.monotonic())
                continue
            self._jobs[file_id].running = True
            return file_id
        return None

    def _work(self) -> None:
        api = self._connect()
        downloader = Downloader(api, self._directory, self._largest)
        with self._changed:
            self._clients.add(api)
        while True:
            with self._changed:
                file_id = self._next()
                if file_id is None:
                    return
                job = self._jobs[file_id]
            pause = self._attempt(api, downloader, file_id, job)
            with self._changed:
                if pause is None:
                    del self._jobs[file_id]
                else:
                    job.running, job.due = False, time.monotonic() + pause
                if self._stopping:
                    return
            self._done(file_id)

    def _attempt(self, api: ApiClient, downloader: Downloader, file_id: str, job: _Job) -> Optional[float]:
        """The pause before the next attempt; None: nothing more to do for this file."""
        record = self._ledger.file(file_id)
        if not record:
            return None
        finished = True
        if record.where == "waiting":
            finished = self._download(api, downloader, record, job)
        if record.where == "refused" and not record.reported:
            finished = record.reported = _report(api, record)
        if record.where == "landed" and not record.acked:
            finished = record.acked = _acknowledge(api, record)
        self._ledger.file_updated(record)
        if finished:
            return None
        return job.trouble.next() if record.trouble == "failed" else job.network.next()

    def _download(self, api: ApiClient, downloader: Downloader, record: FileRecord, job: _Job) -> bool:
        """False: try again."""
        result = downloader.download(record)
        if result == "landed":
            self._ledger.file_updated(record)  # before the ack, after which the server may delete its copy
        if result in ("landed", "gone"):
            return True
        if result == "later":
            return False
        if not record.reported:
            self._print_line(f"the file {record.name} cannot be taken: {record.reason}")
            record.reported = _report(api, record)
        if result == "wrong":
            job.wrong += 1
            if job.wrong >= WRONG_ATTEMPTS or 0 < self._largest < record.size:
                record.where = "refused"
                return True
        return False


def _acknowledge(api: ApiClient, record: FileRecord) -> bool:
    try:
        api.ack(record.id)
    except Failure as failure:
        return failure.is_status(404)  # acked before and swept, or expired meanwhile; the file has landed either way
    return True


def _report(api: ApiClient, record: FileRecord) -> bool:
    """False: the report should be repeated."""
    try:
        api.fail(record.id, record.reason)
    except Failure as failure:
        return not failure.may_yet_succeed() and failure.kind != "cancelled"
    return True
