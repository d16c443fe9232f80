"""Handover: how a delivery reaches the agent: as a line, by a command, or by the functions of a program that uses the library.

deliver() returns the result; only after `handled` or `dropped` does the cursor move on. One thread, except give_up().
"""
from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from .commands import CommandResult, Run, describe_code, find_result_files
from .delivery import Delivery, readable
from .failure import Stop


@dataclass
class HandoverResult:
    """what: handled; failed (try again; the reason is in `trouble`); paused (the same, and it does not count as an attempt); stopped (stop
    was requested meanwhile); closed (our output has no reader any more); dropped (given up and not repeated)."""

    what: str = "handled"
    reply: str = ""  # to the sender; empty: none
    trouble: str = ""
    folder: str = ""  # of the reply's files, deleted after they were sent; empty: none


class Handover:
    """What all ways have in common. returns_when_done: deliver() returns only after the work is done, so that a task is in progress until
    then; with lines the receiver only gets the delivery."""

    returns_when_done = False

    def deliver(self, delivery: Delivery) -> HandoverResult:
        raise NotImplementedError

    def skip_ended(self, delivery: Delivery) -> HandoverResult:
        """Instead of deliver(), for a task that ended before it was begun (type `ended`): no work is started for it."""
        return HandoverResult("dropped", trouble=f"task {delivery.delegation_id} is over and is not begun: {delivery.reason}")

    def has_begun(self, delivery: Delivery) -> bool:  # pylint: disable=unused-argument
        """True when an earlier agent process has begun work for it that is not lost."""
        return False

    def ended(self, delivery: Delivery) -> None:
        """Its end is recorded: whatever was kept for another delivery can be deleted."""

    def give_up(self, task: str) -> None:
        """From any thread: the task was cancelled or is overdue, so the work for it is not wanted any more."""


class LineHandover(Handover):
    """Writes lines to stdout: readable ones, or one JSON object each. A task that is skipped is a line, too."""

    def __init__(self, json: bool) -> None:
        self._json = json

    def deliver(self, delivery: Delivery) -> HandoverResult:
        try:
            sys.stdout.buffer.write((delivery.json() if self._json else readable(delivery)).encode("utf-8", "replace") + b"\n")
            sys.stdout.buffer.flush()
        except OSError as error:
            return HandoverResult("closed", trouble=error.strerror or str(error))
        return HandoverResult()

    skip_ended = deliver


class CommandHandover(Handover):
    """Runs the command with the delivery as JSON on its stdin. Exit code 0 means handled, and its stdout is the reply. When a task is given
    up, its command is ended. When a task is skipped, the command that an earlier agent process began for it is ended, unless it has exited
    with 0: then its output is the late reply."""

    returns_when_done = True

    def __init__(self, command: str, runs: Path, stop: Stop, timeout: Optional[float] = None) -> None:
        self._command, self._runs, self._stop, self._timeout = command, runs, stop, timeout
        self._lock = threading.Lock()
        self._task = ""
        self._given_up = Stop()

    def deliver(self, delivery: Delivery) -> HandoverResult:
        with self._lock:
            self._task = delivery.delegation_id if delivery.type == "message" else ""
            self._given_up = given_up = Stop()
        # A failed run is forgotten before the next attempt. Only a run whose end was not yet used is continued.
        run = Run(self._runs, delivery.id)
        result = run.finish(self._command, delivery.json() + "\n", self._stop, given_up, self._timeout)
        if result.how == "stopped":
            return HandoverResult("stopped", trouble=result.trouble)
        if result.how == "not_started":
            return HandoverResult("failed", trouble=f"the command could not be started: {result.trouble}")
        if result.how == "exited" and result.code == 0:
            return self._answer_of(delivery, run, result)
        run.forget_everything()
        if result.how == "given_up":
            return HandoverResult("dropped", trouble=_end_of(delivery, result))
        last = f"; its last lines were:\n{result.last_lines}" if result.last_lines else ""
        if result.how == "killed":
            return HandoverResult("failed", trouble=result.trouble + last)
        # 126 and 127 are the shell's own: no such command, or not executable. Another try does not help, and the message is not to blame.
        what = "paused" if result.code in (126, 127) else "failed"
        return HandoverResult(what, trouble=f"the command ended with {describe_code(result.code)}{last}")

    def skip_ended(self, delivery: Delivery) -> HandoverResult:
        run, give_up = Run(self._runs, delivery.id), Stop()
        begun = run.exists()
        give_up.request()
        result = run.finish(self._command, delivery.json() + "\n", self._stop, give_up)
        if result.how == "stopped":
            return HandoverResult("stopped")
        if result.how == "exited" and result.code == 0:
            return self._answer_of(delivery, run, result)
        run.forget_everything()
        return HandoverResult("dropped", trouble=_end_of(delivery, result)) if begun else super().skip_ended(delivery)

    def has_begun(self, delivery: Delivery) -> bool:
        return Run(self._runs, delivery.id).exists()

    def ended(self, delivery: Delivery) -> None:
        Run(self._runs, delivery.id).forget()

    def give_up(self, task: str) -> None:
        with self._lock:
            if task == self._task:
                self._given_up.request()

    @staticmethod
    def _answer_of(delivery: Delivery, run: Run, result: CommandResult) -> HandoverResult:
        reply = result.output.replace("\0", "").rstrip("\r\n ")
        if result.cut:
            whole = run.attach_output()
            reply += f"\n[cut; all of it is in {whole}]" if whole else "\n[cut]"
        files, refused = find_result_files(run.result_folder)
        # A task whose command wrote nothing is done too, and its caller waits for a result.
        if delivery.is_task() and not reply and not files:
            reply = "Done; the command wrote no output."
        return HandoverResult(reply=reply, folder=str(run.result_folder) if files or refused else "")


def _end_of(delivery: Delivery, result: CommandResult) -> str:
    return f"the command of task {delivery.delegation_id}" + (f": {result.trouble}" if result.trouble else " was ended")
