"""Session: the agent while it runs. It registers, holds one long poll, downloads files, hands deliveries over, acknowledges and answers.

A kill at any moment loses nothing, and a delivery whose end is recorded is not handed over again. run() blocks until stop is requested
or until it makes no sense to continue. Works with every server that keeps the wire contract.
"""
from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Deque, Iterable, List, Optional

from .api import ApiClient, Json, Row, text_of, whole_of
from .delivery import deliver_file, is_self_test
from .disk import DiskTrouble
from .downloads import DownloadQueue
from .failure import Backoff, Failure, Stop
from .handover import Handover
from .landing import LandingFolder
from .ledger import Ledger
from .loop import DeliveryLoop, DeliveryOptions, begin_task, view_task
from .names import parse_id, safe_name
from .records import FileRecord, Position, Reply
from .reports import BackgroundReports
from .state import StateDirectory
from .wire import Url

POLL_WAIT = 25  # seconds
BUSY_POLL_INTERVAL = 5.0  # how often to poll while deliveries wait
MOST_WAITING = 100  # messages that are read ahead of the hand-over; the rest stays on the server
JOIN_PATIENCE = 20.0  # a thread that hangs in the system longer is left behind

NEW_LINE = ("Get a new line, by `Connect…` at this workspace on the page or by `restante invite --workspace …` on the server, and run it "
            "here: restante connect --enrol TOKEN")

# How a session ends.
STOPPED = "stopped"
NOT_PERMITTED = "not_permitted"  # the token is missing, wrong or revoked
REFUSED = "refused"  # not a Restante server, or the workspace was removed
READER_GONE = "reader_gone"  # our output cannot be written: its reader has closed it


@dataclass
class Settings:
    server: Url
    directory: Path  # where files land, below .molecule/chat-uploads
    token: str = ""  # empty: the one in the state directory
    enrol: str = ""  # empty: none
    workspace: str = ""
    name: str = ""  # for a workspace that enrolling creates; empty: the host's name
    delivery: DeliveryOptions = field(default_factory=DeliveryOptions)


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def record_of(found: Json, row: Optional[Row] = None) -> Optional[FileRecord]:
    """The file that a row announces, or an entry of the list of waiting files. None when it lacks what is needed to fetch it."""
    file_id, size = parse_id(text_of(found, "file_id")), found.get("size")
    if not file_id or not isinstance(size, int) or isinstance(size, bool) or size < 0:
        return None
    return FileRecord(file_id, safe_name(text_of(found, "name")), size, text_of(found, "sha256"), text_of(found, "uri"),
                      row.id if row else file_id, row.seq if row else 0, row.created_at if row else text_of(found, "created_at"))


class Session:
    """See the module. `state` is open and locked."""

    def __init__(self, settings: Settings, state: StateDirectory, handover: Handover, stop: Stop, print_line: Callable[[str], None]) -> None:
        self.settings, self._state, self._stop, self._print_line = settings, state, stop, print_line
        self.on_connected: Callable[[], None] = lambda: None
        self.ledger: Ledger = state.ledger
        self._api = ApiClient(settings.server, stop=stop)
        self._task_client = ApiClient(settings.server, stop=stop)
        self._downloads = DownloadQueue(self.ledger, settings.directory, self.connect, self._file_done, print_line, stop)
        # An agent that only hands a task on does not work on it: if it reported in_progress, the task would become stuck.
        ask = begin_task if handover.returns_when_done else view_task
        self.loop = DeliveryLoop(settings.delivery, self.ledger, handover, stop, progress=self._progress, closed=self._reader_gone,
                                 ask=lambda delivery: ask(self._task_client, delivery), working=self._working, print_line=print_line)
        self._reports = BackgroundReports(self.ledger, state.path / "health.json", reconnect=self._reconnect,
                                          give_up=handover.give_up, print_line=print_line, stop=stop)
        self._backoff = Backoff(0.5, 10.0)
        # Rows that were read and that the cursor has not passed, in the order in which they were read.
        self._ahead: Deque[Position] = deque()
        self._largest = 0
        self._begun = self._caught_up = self._unreachable = self._connected_before = False
        self._progressed = threading.Condition()
        self._requested_end = ""

    def run(self) -> str:
        """Returns one of the four ends."""
        watcher = threading.Thread(target=self._watch_stop, name="restante stop", daemon=True)
        watcher.start()
        end = ""
        try:
            end = self.register()
            if not end and not self._stop.requested:
                self._begin()
            while not end and not self._stop.requested:
                end = self._poll_once()
        finally:
            self._stop.request()
            watcher.join()
            if self._begun:
                self._downloads.stop(JOIN_PATIENCE)
                self.loop.join(JOIN_PATIENCE)
                self._reports.stop(JOIN_PATIENCE)
                self._move_cursor()
        if self._stop.error:
            raise self._stop.error
        return self._requested_end or end or STOPPED

    def run_beside(self) -> str:
        """As run(), in a thread of its own, so that the caller's thread gets signals: on Windows none interrupts a request."""
        ends: List[str] = []
        raised: List[BaseException] = []

        def work() -> None:
            try:
                ends.append(self.run())
            except BaseException as error:  # noqa: BLE001  raised again below
                raised.append(error)

        thread = threading.Thread(target=work, name="restante session", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.5)
        if raised:
            raise raised[0]
        return ends[0]

    def connect(self) -> ApiClient:
        """A new client for the caller's thread."""
        return ApiClient(self.settings.server, self._api.token, self._api.workspace, self._stop)

    def _watch_stop(self) -> None:
        self._stop.wait()
        self._api.cancel()
        self._task_client.cancel()
        self._progress()

    # -- registering

    def _choose_token(self) -> str:
        """An enrolment token works once. The same command line can be run again: the token that it gave is used."""
        if self.settings.token:
            return self.settings.token
        kept = self._state.token()
        if kept and (not self.settings.enrol or hash_of(self.settings.enrol) == self.ledger.fact("enrolled")):
            return kept
        return self.settings.enrol

    def register(self) -> str:
        """Registers, unless it is registered. An end when that makes no sense."""
        if self._api.workspace:
            return ""
        token = self._choose_token()
        if not token:
            self._print_line("no token yet: give --enrol with the token that `New agent` on the page shows, or --token-file")
            return NOT_PERMITTED
        self._api.token = token
        enrols = token == self.settings.enrol
        known = self.ledger.fact("workspace")
        self._connected_before = bool(known)
        if enrols:
            try:
                LandingFolder(self.settings.directory).open()
            except DiskTrouble as error:
                self._print_line(f"files cannot be stored below {self.settings.directory}: {error}. The enrolment token was not used: the same "
                                 "line works once this is solved")
                return REFUSED
        while not self._stop.requested:
            try:
                made = self._api.register(self.settings.workspace if enrols else self.settings.workspace or known,
                                          self.settings.name or socket.gethostname() or "agent")
            except Failure as failure:
                if enrols and failure.is_status(401) and self._is_refusal(failure):
                    self._print_line("the server does not take this enrolment token: it was used, has expired, or is another server's. " + NEW_LINE)
                    return NOT_PERMITTED
                end = self._handle_failure(failure)
                if end:
                    return end
                continue
            return self._set_identity(made, token) or self._find_start_position()
        return STOPPED

    def _set_identity(self, made: Json, token: str) -> str:
        known = self.ledger.fact("workspace")
        if known and known != made["workspace_id"]:
            self._print_line(f"this state belongs to workspace {known}, the token to {made['workspace_id']}; give another --state")
            return REFUSED
        enrolled = self.ledger.fact("enrolled")
        if made["auth_token"]:
            trouble = self._state.keep_token(made["auth_token"])
            if trouble:
                self._print_line(f"the token cannot be kept: {trouble}")
                return REFUSED
            token = made["auth_token"]
            if self.settings.enrol:
                enrolled = hash_of(self.settings.enrol)
        for client in (self._api, self._task_client):
            client.token, client.workspace = token, made["workspace_id"]
        self.ledger.set_facts(server=str(self.settings.server), workspace=made["workspace_id"], enrolled=enrolled)
        self._state.write_identity()
        self._connected_before = True
        return ""

    def _find_start_position(self) -> str:
        """An agent without state begins after the last row that the server knows to be acked, and with the files that wait there."""
        while not self._stop.requested:
            try:
                self._largest = max(0, whole_of(self._api.limits(), "per_file_bytes"))
                if self.ledger.started():
                    return ""
                try:
                    start = self._api.last_acked()
                    waiting = self._api.waiting_files() if start > 0 else []
                    row = self._api.row_at(start) if start > 0 else ""
                except Failure as failure:
                    if failure.may_yet_succeed() or failure.kind == "cancelled":
                        raise
                    start, waiting, row = 0, [], ""  # a server that does not know these requests
                self.ledger.take_rows(record for record in map(record_of, waiting) if record)
                self.ledger.set_cursor(Position(start, row))
                return ""
            except Failure as failure:
                end = self._handle_failure(failure)
                if end:
                    return end
        return STOPPED

    def _begin(self) -> None:
        self._begun = True
        self._downloads.start(self._largest)
        for record in self.ledger.unfinished_files():
            self._downloads.enqueue(record.id)
        self.loop.start()
        self._reports.start(self.connect())
        self._print_line(f"connected to {self.settings.server} as {self._name()} (workspace {self._api.workspace})")
        self._print_line(f"files land in {self.settings.directory.resolve() / '.molecule' / 'chat-uploads'}; to stop: Ctrl-C, or end process "
                         f"{os.getpid()}. The next start goes on from there")
        self.on_connected()

    def _name(self) -> str:
        """For people; without it the id is enough."""
        try:
            return text_of(self._api.get(self._api.path("")), "name") or "an agent"
        except Failure:
            return "an agent"

    # -- failures

    def _is_refusal(self, failure: Failure) -> bool:
        """A 401 without an error code of the server comes from something in between, such as a hotel's sign-in page."""
        return failure.kind == "status" and failure.status in (401, 403) and (bool(failure.code) or not self._connected_before)

    def _handle_failure(self, failure: Failure) -> str:
        """An end when the failure is final; otherwise pauses."""
        if failure.kind == "cancelled":
            return STOPPED
        if self._is_refusal(failure):
            self._print_line(f"the server does not take this token ({failure}); it was revoked, or is another server's. {NEW_LINE}")
            return NOT_PERMITTED
        if failure.code == "workspace_removed":
            self._print_line("this workspace was removed from the server")
            return REFUSED
        if not failure.passes() and not self._connected_before:
            self._print_line(f"{self.settings.server} does not work as a Restante server: {failure}")
            return REFUSED
        if not self._unreachable:
            self._print_line(f"{failure}; trying again until it works")
        self._unreachable = True
        if self._begun:
            self._reports.set_trouble(failure.sentence)
        self._stop.wait(max(self._backoff.next(), min(failure.retry_after or 0.0, 10.0)))
        return ""

    # -- the poll

    def _poll_once(self) -> str:
        self._move_cursor()
        if self.loop.waiting_count() > 0:
            self._wait_for_progress()
        if self._stop.requested:
            return ""
        self._move_cursor()
        # While a delivery waits, the cursor stays before it, and the server would answer a held poll at once. The first poll is not held,
        # so that an empty inbox is known soon.
        wait = POLL_WAIT if self._caught_up and self.loop.waiting_count() == 0 else 0
        polled_at, cursor = time.monotonic(), self.ledger.position()
        try:
            rows = self._api.poll(cursor.seq, cursor.row, wait)
        except Failure as failure:
            if not failure.is_status(410) or failure.code == "workspace_removed" or cursor.seq == 0:
                return self._handle_failure(failure)
            if self.loop.waiting_count() == 0:  # a delivery in progress has a number from before the reread
                self._reread()
            return ""
        self._backoff.reset()
        self._reports.poll_completed()
        if self._unreachable:
            self._unreachable = False
            self._print_line(f"reached {self.settings.server} again")
            self._downloads.retry_now()
        if not self._caught_up:
            self._take_unfinished(begun=True)  # what an earlier process has begun goes first
        self._take(rows)
        if not self._caught_up:
            self._caught_up = True
            self._take_unfinished(begun=False)  # only now: a message that names such a file may have been in this answer
        # A server that shuts down, or does not know `wait`, answers at once: do not ask a thousand times a second.
        if not rows and wait and time.monotonic() - polled_at < 0.2:
            self._stop.wait(1.0)
        return ""

    def _take_unfinished(self, begun: bool) -> None:
        for record in self.ledger.unfinished_files():
            if not begun or self.ledger.has_begun(deliver_file(record).id):
                self.loop.take_file(record.id)

    def _take(self, rows: Iterable[Row]) -> None:
        announced: List[FileRecord] = []
        messages: List[Row] = []
        read = {(one.seq, one.row) for one in self._ahead}
        waiting = self.loop.waiting_count()
        for row in rows:
            if (row.seq, row.id) in read:
                continue
            if waiting + len(messages) >= MOST_WAITING:
                break
            self._ahead.append(Position(row.seq, row.id))
            if row.method == "chat_upload_receive":
                record = record_of(row.body, row)
                if not record:
                    self._print_line("a file was announced without a valid id or size; it is skipped")
                    continue
                record.handed_over = record.notified = is_self_test(row, self._api.workspace)
                announced.append(record)
            elif row.method != "notify" and not is_self_test(row, self._api.workspace) and not self.ledger.has_seen(row):
                messages.append(row)  # a notify row is our own message
        for file_id in self.ledger.take_rows(announced):
            self._downloads.enqueue(file_id)
        for row in messages:
            self.loop.take(row)

    def _reread(self) -> None:
        self._print_line("the server no longer knows our position in the inbox; reading it again, without what was already handed over")
        self._ahead.clear()
        self.ledger.set_cursor(Position(0, ""))

    def _move_cursor(self) -> None:
        """The cursor covers the messages that are handed over. Files do not hold it back: the ledger has them. It is always a row that was
        read, so that its id is known. If it is a row that a restore has lost, the next poll is answered 410."""
        first, passed = self.loop.first_waiting(), None
        while self._ahead and self._ahead[0].row != first:
            passed = self._ahead.popleft()
        if passed:
            self.ledger.set_cursor(passed)

    def _wait_for_progress(self) -> None:
        """Until all messages that were read are handed over, but not for long: files that arrive meanwhile should not wait."""
        until = time.monotonic() + BUSY_POLL_INTERVAL
        with self._progressed:
            while not self._stop.requested and self.loop.waiting_count() > 0 and time.monotonic() < until:
                self._progressed.wait(max(0.0, until - time.monotonic()))

    # -- called by the other threads

    def _progress(self) -> None:
        with self._progressed:
            self._progressed.notify_all()
        self._reports.wake()

    def add_reply(self, reply: Reply, created_at: str) -> None:
        """An answer that the hand-over has not returned. Durable when the call returns; sent as soon as possible."""
        self.ledger.add_reply(reply, created_at)
        self._reports.wake()

    def _reader_gone(self) -> None:
        self._requested_end = READER_GONE
        self._stop.request()

    def _working(self, task: str, left: Optional[float]) -> None:
        self._reports.set_current_task(task, left)

    def _file_done(self, file_id: str) -> None:
        if self._caught_up:
            self.loop.take_file(file_id)

    def _reconnect(self) -> None:
        self._api.hang_up()
        self._task_client.hang_up()
        self._downloads.hang_up()
        self._downloads.retry_now()
