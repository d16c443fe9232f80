"""BackgroundReports: the thread that sends heartbeats and replies, beside the long poll and on its own connection.

It beats for the agent and for the task in progress, sends the replies that wait in the ledger, and writes health.json for `status`. It
also compares the wall clock with the steady clock: when only the wall clock has jumped, the machine has slept, and all connections are
closed because they are probably dead. Thread-safe.
"""
from __future__ import annotations

import json
import os
import shutil
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from .api import ApiClient, Json
from .commands import find_result_files
from .failure import Backoff, Failure, Stop
from .ledger import Ledger
from .records import Reply

BEAT = 30.0  # seconds
TASK_BEAT = 10.0  # a cancelled task may run on for this long
SLEEP_GAP = 20.0  # a larger jump of the wall clock means: the machine slept
POLL_SILENCE = 180.0  # when no poll has completed or failed for so long, connections are closed and opened again
TICK = 1.0


def is_worth_another_try(failure: Failure) -> bool:
    """False when the server has refused the reply for good: it must not block the next ones."""
    return (failure.may_yet_succeed() or failure.kind == "cancelled" or failure.is_status(401) or
            failure.code == "idempotency_in_progress")


def now_text() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class BackgroundReports:
    """See the module. `reconnect` closes the connections of all other threads. `give_up` is called for a task that ended without us. Both
    run on this object's thread."""

    def __init__(self, ledger: Ledger, health_file: Path, *, reconnect: Callable[[], None],
                 give_up: Callable[[str], None], print_line: Callable[[str], None], stop: Stop) -> None:
        self._ledger, self._health_file = ledger, health_file
        self._facts: Dict[str, Any] = {}
        self._reconnect, self._give_up_task, self._print_line = reconnect, give_up, print_line
        self._api: Optional[ApiClient] = None
        self._changed = threading.Condition()
        self._stopping = self._woken = False
        self._trouble, self._task, self._last_poll = "", "", ""
        self._task_due: Optional[float] = None
        self._alive_at = self._last_steady = time.monotonic()
        self._last_wall = self._started = time.time()
        self._since = now_text()
        # Used only by its thread.
        self._next_beat = self._next_send = self._next_task_beat = 0.0
        self._watched, self._watch = "", "open"  # closed: no more heartbeats for it; given_up
        self._send_pause = Backoff(0.5, 10.0)
        self._thread = threading.Thread(target=stop.guard(self._work), name="restante reports", daemon=True)

    def start(self, api: ApiClient) -> None:
        self._api = api
        self._facts = {"server": str(api.http.server), "workspace_id": api.workspace}
        self._thread.start()

    def stop(self, patience: float) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._api:
            self._api.cancel()
        if self._thread.ident is not None:
            self._thread.join(patience)

    def poll_completed(self) -> None:
        """Nothing else proves that messages can reach us."""
        with self._changed:
            self._last_poll, self._trouble = now_text(), ""
            self._alive_at = time.monotonic()
        self._write_health()

    def set_trouble(self, sentence: str) -> None:
        with self._changed:
            self._trouble, self._alive_at = sentence, time.monotonic()  # a poll that failed is not silence
        self._write_health()

    def wake(self) -> None:
        """A reply waits in the ledger."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def set_current_task(self, task: str, left: Optional[float] = None) -> None:
        """The task in progress, of which the server knows that it was begun, and the seconds until its deadline; empty: none."""
        with self._changed:
            self._task, self._task_due = task, None if left is None else time.monotonic() + left

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._stopping:
                    return
                self._woken = False
            self._check_clocks()
            now = time.monotonic()
            if now >= self._next_send and not self._send_replies():
                self._next_send = time.monotonic() + self._send_pause.next()
            if now >= self._next_beat:
                self._beat()
            self._watch_task()
            with self._changed:
                if not self._stopping and not self._woken:
                    self._changed.wait(TICK)

    def _check_clocks(self) -> None:
        wall, steady = time.time(), time.monotonic()
        slept = (wall - self._last_wall) - (steady - self._last_steady)
        self._last_wall, self._last_steady = wall, steady
        with self._changed:
            silent = steady - self._alive_at > POLL_SILENCE
            if silent:
                self._alive_at = steady
        if slept > SLEEP_GAP:
            self._next_beat = self._next_send = steady
            self._print_line("this machine was asleep; connecting again")
            self._reconnect()
        elif silent:
            self._print_line("no poll has been answered for a while; connecting again")
            self._reconnect()

    def _beat(self) -> None:
        self._next_beat = time.monotonic() + BEAT
        try:
            if self._api:
                self._api.beat(int(time.time() - self._started))
        except Failure:
            pass  # the poll meets the same trouble and prints it

    # -- the task in progress

    def _watch_task(self) -> None:
        with self._changed:
            task, due = self._task, self._task_due
        now = time.monotonic()
        if task != self._watched:
            self._watched, self._watch, self._next_task_beat = task, "open", now + TASK_BEAT
        if not task:
            return
        if self._watch == "given_up":
            self._give_up_task(task)  # again: the first call may have come before its command was started
        elif due is not None and now >= due:
            self._give_up(task, "is overdue")  # the server ends it only at its next sweep
        elif self._watch == "open" and now >= self._next_task_beat:
            self._beat_task(task)

    def _beat_task(self, task: str) -> None:
        self._next_task_beat = time.monotonic() + TASK_BEAT
        try:
            interest = self._api.beat_task(task) if self._api else "wanted"
        except Failure as failure:
            if failure.is_status(404):  # the server does not know the task; after a network failure the next beat tries again
                self._watch = "closed"
            return
        if interest == "unwanted":
            self._give_up(task, "was cancelled, or is overdue")
        elif interest == "late":
            self._watch = "closed"
            self._print_line(f"task {task} was given up as silent; an answer to it is kept as a late one")

    def _give_up(self, task: str, why: str) -> None:
        self._watch = "given_up"
        self._print_line(f"task {task} {why}: its result is no longer wanted")
        self._give_up_task(task)

    # -- replies

    def _send_replies(self) -> bool:
        """False when the remaining replies have to wait."""
        while True:
            reply = self._ledger.next_reply()
            if not reply or not self._api:
                return True
            try:
                self._send(self._api, reply)
            except Failure as failure:
                if is_worth_another_try(failure):
                    return False
                self._print_line(f"the server refuses a reply: {failure}")
                try:
                    self._send_failure(self._api, reply, failure)
                except Failure as second:
                    if is_worth_another_try(second):
                        return False
            self._ledger.sent(reply.key)
            if reply.folder:
                shutil.rmtree(reply.folder, ignore_errors=True)
            self._send_pause.reset()

    def _send(self, api: ApiClient, reply: Reply) -> None:
        text, files = self._send_files(api, reply)
        if reply.to == "person":
            api.notify(text or "Here you are.", files, reply.key, reply.row)
        elif reply.to == "agent":
            api.message(reply.target, text, files, reply.key, reply.hops)
        else:
            api.end_task(reply.target, reply.failed, text, files, reply.key)

    def _send_failure(self, api: ApiClient, reply: Reply, refusal: Failure) -> None:
        """When the server refuses a result, reports the task as failed: otherwise its caller would wait for ever. Not when the task has
        ended or is not known: then no caller waits."""
        open_task = refusal.kind == "status" and 400 <= refusal.status < 500 and refusal.status not in (404, 409)
        if reply.to == "task" and not reply.failed and open_task:
            api.end_task(reply.target, True, f"The agent has a result that the server refuses: {refusal}", [], f"{reply.key}-refused")

    def _send_files(self, api: ApiClient, reply: Reply) -> "tuple[str, List[Json]]":
        """Stages the reply's files. A file that cannot be sent is named in the text."""
        files, refused = find_result_files(Path(reply.folder)) if reply.folder else ([], [])
        staged: List[Json] = []
        for number, path in enumerate(files):
            if number and reply.to == "task":
                self._keep_alive(api, reply.target)  # one file may take minutes, and the task must not seem silent
            try:
                staged += api.stage([path], f"{reply.key}-{number}-{path.stat().st_size}")
            except Failure as failure:
                # A full quota may stay full for a day: the text is sent without the file.
                if is_worth_another_try(failure) and failure.status != 507:
                    raise
                refused.append(f"{path.name}: {failure}")
        text = reply.text
        for why in refused:
            text += ("\n" if text else "") + f"[not attached: {why}]"
            self._print_line(f"not attached: {why}")
        return text, staged

    @staticmethod
    def _keep_alive(api: ApiClient, task: str) -> None:
        try:
            api.beat_task(task)
        except Failure:
            pass  # the result itself will meet the same trouble

    # -- the health file

    def _write_health(self) -> None:
        with self._changed:
            facts = {**self._facts, "process": os.getpid(), "since": self._since, "noted_at": now_text(),
                     "last_poll_at": self._last_poll or None, "trouble": self._trouble, **self._ledger.counts()}
        temporary = self._health_file.with_name(".health.new")
        try:
            temporary.write_text(json.dumps(facts, separators=(",", ":")) + "\n", encoding="utf-8")
            os.chmod(temporary, 0o600)
            os.replace(temporary, self._health_file)
        except OSError:
            pass  # for people only; not worth a line
