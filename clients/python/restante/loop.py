"""DeliveryLoop: the thread that hands over to the agent, one delivery after the other. The poll does not wait for it.

Messages go in the order of the inbox. A message waits a short while for the files it names and is then handed over with their present
state. A file that no message names is handed over alone. The end of a delivery is in the ledger before the next begins: an ended delivery
is never handed over again; one that was begun and has no recorded end is handed over again and marked so (`again`). Thread-safe.
"""
from __future__ import annotations

import shutil
import threading
import time
from dataclasses import dataclass
from typing import Callable, Dict, List, NamedTuple, Optional, Set

from .api import ApiClient, Row, text_of
from .delivery import Delivery, deliver_file, deliver_message, named_files, result_of
from .failure import Backoff, Failure, Stop
from .handover import Handover, HandoverResult
from .ledger import Ledger
from .names import parse_id
from .records import MOST_HOPS, Origin, Reply, parse_time

STOP_CHECK_INTERVAL = 0.2  # seconds


@dataclass
class DeliveryOptions:
    """file_wait: how long a message waits for files that are not here yet. file_grace: how long a file waits for a message that names it
    before it is handed over alone."""

    file_wait: float = 20.0
    file_grace: float = 0.9
    attempts: int = 5
    reply_to_agents: bool = False


class TaskView(NamedTuple):
    """interest: wanted; unwanted (cancelled, overdue or ended); late (given up as silent, a late result is accepted); not_a_task (the
    message names a task that the server did not give to us with it)."""

    interest: str = "wanted"
    status: str = ""
    why: str = ""
    left: Optional[float] = None  # seconds until its deadline at most, by the server's clock


def is_from_server(record: Dict[str, object], workspace: str, delivery: Delivery) -> bool:
    """Whether the server itself wrote the message: it gave us this task, from the message's sender and in these words. Of a recorded task
    the caller sends the words, and the server vouches for none of them."""
    return (record.get("target_id") == workspace and record.get("source_id") == delivery.source_id and
            record.get("task", delivery.text) == delivery.text and record.get("recorded") is not True)


def view_of(record: Dict[str, object]) -> TaskView:
    status = text_of(record, "status")
    why = text_of(record, "error_detail") or status
    if status == "stuck":
        return TaskView("late", status, why)
    if status in ("failed", "completed"):
        return TaskView("unwanted", status, why)
    # Deadlines are in the server's time, so "now" must be too: our last sign of life, by that clock, has passed for certain. A laptop's
    # clock may be hours off.
    deadline, seen = parse_time(text_of(record, "deadline")), parse_time(text_of(record, "agent_seen_at"))
    if not deadline or not seen:
        return TaskView("wanted", status, why)
    left = (deadline - seen).total_seconds()
    if left <= 0:  # the server ends it at its next sweep; no caller waits for work that begins now
        return TaskView("unwanted", status, "its deadline has passed")
    return TaskView("wanted", status, why, left)


def view_task(api: ApiClient, delivery: Delivery) -> TaskView:
    """Reads the task that the message names; changes nothing."""
    record = api.task(delivery.delegation_id)
    return view_of(record) if is_from_server(record, api.workspace, delivery) else TaskView("not_a_task")


def begin_task(api: ApiClient, delivery: Delivery) -> TaskView:
    """Reads the task and, if it is wanted, reports that we work on it. Calling it twice is the same as once."""
    seen = view_task(api, delivery)
    if seen.interest != "wanted":
        return seen
    try:
        api.begin_task(delivery.delegation_id)
    except Failure as failure:
        if not failure.is_status(409):
            raise
        return view_task(api, delivery)  # it has ended between the two requests
    return seen


class DeliveryLoop:
    """See the module. `progress` is called after every delivery that has ended; `closed` when the hand-over has no reader any more; `ask`
    before every attempt at a task; `working` with the task that is worked on and the seconds until its deadline, and with an empty id."""

    def __init__(self, options: DeliveryOptions, ledger: Ledger, handover: Handover, stop: Stop, *, progress: Callable[[], None],
                 closed: Callable[[], None], ask: Callable[[Delivery], TaskView], working: Callable[[str, Optional[float]], None],
                 print_line: Callable[[str], None]) -> None:
        self._options, self._ledger, self._handover, self._stop = options, ledger, handover, stop
        self._progress, self._closed, self._ask_server, self._working, self._print_line = progress, closed, ask, working, print_line
        self._changed = threading.Condition()
        self._messages: List[Row] = []
        self._files: Dict[str, float] = {}  # by file id: when to hand it over alone
        self._waiting_since: Optional[float] = None  # since when the first message waits for its files
        self._expected: Set[str] = set()  # tasks whose results a caller of take_result() takes
        self._thread = threading.Thread(target=stop.guard(self._work), name="restante deliveries", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, patience: float) -> None:
        with self._changed:
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(patience)

    def take(self, row: Row) -> None:
        with self._changed:
            self._messages.append(row)
            self._changed.notify_all()

    def take_file(self, file_id: str) -> None:
        """The state of this file has changed. If it is to be handed over alone, its time begins now."""
        record = self._ledger.file(file_id)
        with self._changed:
            if record and record.goes_alone():
                grace = 0.0 if self._ledger.has_begun(deliver_file(record).id) else self._options.file_grace
                self._files.setdefault(file_id, time.monotonic() + grace)
            self._changed.notify_all()

    def waiting_count(self) -> int:
        with self._changed:
            return len(self._messages)

    def first_waiting(self) -> Optional[str]:
        """The row id of the first message that is not yet handed over."""
        with self._changed:
            return self._messages[0].id if self._messages else None

    # -- results that a caller waits for

    def expect_result(self, task: str) -> None:
        """From now on the loop does not hand over the result of this task: the caller takes it with take_result()."""
        with self._changed:
            self._expected.add(task)

    def stop_expecting(self, task: str) -> None:
        with self._changed:
            self._expected.discard(task)
            self._changed.notify_all()

    def take_result(self, task: str, until: Optional[float]) -> Optional[Delivery]:
        """Waits until the result and its files have arrived. None when the time is up or stop was requested."""
        with self._changed:
            while not self._stop.requested:
                row = next((one for one in self._messages if result_of(one) == task), None)
                if row and not self._has_files_on_their_way(row):
                    break
                left = STOP_CHECK_INTERVAL if until is None else min(STOP_CHECK_INTERVAL, until - time.monotonic())
                if left <= 0:
                    return None
                self._changed.wait(left)
            else:
                return None
        delivery = deliver_message(row, self._ledger.file)
        delivery.again = self._ledger.begin(delivery.id)
        self._ledger.end_delivery(delivery.end())
        self._drop(row.id)
        self._progress()
        return delivery

    # -- the thread

    def _work(self) -> None:
        while not self._stop.requested:
            with self._changed:
                now = time.monotonic()
                file_id = self._next_file(now)
                row = next((one for one in self._messages if not self._is_expected(one)), None)
                ready = row is not None and self._is_ready(row, now)
                if file_id is None and not ready:
                    self._changed.wait(self._pause(now))
                    continue
                if file_id is not None and (not ready or row is None or self._comes_before(file_id, row)):
                    del self._files[file_id]
                    row = None
            if row is not None:
                outcome = self._hand_over_message(row)
                if outcome == "handed":
                    self._drop(row.id)
            else:
                outcome = self._hand_over_file(file_id or "")
            if outcome == "closed":
                self._closed()
                return
            if outcome == "handed":
                self._progress()

    def _pause(self, now: float) -> float:
        due = [moment - now for moment in self._files.values() if moment > now]
        return max(0.0, min([STOP_CHECK_INTERVAL, *due]))

    def _next_file(self, now: float) -> Optional[str]:
        """A file that is due and that no waiting message names. Never before a message that an earlier process has begun: its command may
        still run."""
        if self._messages and self._ledger.has_begun(self._messages[0].id):
            return None
        named = {one for row in self._messages for one in named_files(row)}
        due = [(moment, one) for one, moment in self._files.items() if moment <= now and one not in named]
        for _, one in sorted(due):
            record = self._ledger.file(one)
            if record and record.goes_alone():
                return one
            del self._files[one]  # a message has brought it
        return None

    def _comes_before(self, file_id: str, row: Row) -> bool:
        record = self._ledger.file(file_id)
        return record is not None and (self._ledger.has_begun(deliver_file(record).id) or record.seq < row.seq)

    def _is_expected(self, row: Row) -> bool:
        return bool(self._expected) and result_of(row) in self._expected

    def _is_ready(self, row: Row, now: float) -> bool:
        if self._waiting_since is None:
            self._waiting_since = now
        return now - self._waiting_since >= self._options.file_wait or not self._has_files_on_their_way(row)

    def _has_files_on_their_way(self, row: Row) -> bool:
        return any(record is not None and record.is_on_its_way() for record in map(self._ledger.file, named_files(row)))

    def _drop(self, row_id: str) -> None:
        with self._changed:
            self._messages = [one for one in self._messages if one.id != row_id]
            self._waiting_since = None

    def _hand_over_message(self, row: Row) -> str:
        task = self._ask(deliver_message(row, self._ledger.file))
        if task is None:
            return "stopped"
        # Composed after the answer, which may have taken hours: the files are shown as they are now.
        return self._hand_over(deliver_message(row, self._ledger.file), task)

    def _hand_over_file(self, file_id: str) -> str:
        record = self._ledger.file(file_id)
        return self._hand_over(deliver_file(record), TaskView()) if record and record.goes_alone() else "handed"

    def _ask(self, delivery: Delivery) -> Optional[TaskView]:
        """Asks the server whether the delivery is a task and is still wanted. Repeats until the server answers: a task that was cancelled
        meanwhile must not be begun. One that the server does not know is no task. None: stop was requested."""
        if not delivery.is_task():
            return TaskView()
        pause, printed = Backoff(0.5, 10.0), False
        while True:
            try:
                return self._ask_server(delivery)
            except Failure as failure:
                if not (failure.may_yet_succeed() or failure.kind == "cancelled" or failure.is_status(401)):
                    return TaskView("not_a_task")
                if self._stop.requested:
                    return None
                if not printed:
                    self._print_line(f"task {delivery.delegation_id} waits until the server answers whether it is still wanted: {failure}")
                    printed = True
            if self._stop.wait(pause.next()):
                return None

    def _hand_over(self, delivery: Delivery, task: TaskView) -> str:
        delivery.again = self._ledger.begin(delivery.id, _origin_of(delivery, task))
        end = delivery.end()
        pause, attempt, paused = Backoff(1.0, 10.0), 0, False
        while True:
            if task.interest == "not_a_task":
                self._print_line(f"the message {delivery.id} names task {delivery.delegation_id}, which the server did not give to this "
                                 "agent with it; it is handed over as a message")
                delivery.forget_task()
                task = TaskView()
            result = self._deliver(delivery, task)
            if result.what == "stopped":
                return "stopped"
            if result.what == "closed":
                self._print_line(f"the output cannot be written: {result.trouble}")
                return "closed"
            if result.what in ("handled", "dropped"):
                if result.what == "dropped":
                    self._print_line(result.trouble)
                    break
                if result.reply or result.folder:
                    end.reply = self._reply_to(delivery, result)
                if self._handover.returns_when_done:  # a line shows by itself that it was handed over
                    self._print_line(f"{describe(delivery)} was handed over" + (", and its answer is sent" if end.reply else ""))
                break
            if result.what == "paused":
                if not paused:
                    self._print_line(f"{result.trouble}; nothing is handed over until the command can be run")
                paused = True
            else:
                attempt += 1
                self._print_line(f"{result.trouble} (attempt {attempt} of {self._options.attempts})")
                if attempt >= self._options.attempts:
                    end.reply = _failure_reply(delivery, result.trouble)  # one that always fails must not block the others
                    break
            delivery.again = True
            if self._stop.wait(pause.next()):
                return "stopped"
            view = self._ask(delivery)
            if view is None:
                return "stopped"
            task = view
        self._ledger.end_delivery(end)
        self._handover.ended(delivery)
        return "handed"

    def _deliver(self, delivery: Delivery, task: TaskView) -> HandoverResult:
        # A task that was given up as silent is finished if it was begun, since a late result is accepted. Otherwise it is not begun.
        if task.interest == "unwanted" or (task.interest == "late" and not self._handover.has_begun(delivery)):
            ended = Delivery(**vars(delivery))
            ended.type, ended.status, ended.reason = "ended", task.status, task.why
            return self._handover.skip_ended(ended)
        if not delivery.is_task() or not self._handover.returns_when_done:
            return self._handover.deliver(delivery)
        self._working(delivery.delegation_id, task.left)
        try:
            return self._handover.deliver(delivery)
        finally:
            self._working("", None)

    def _reply_to(self, delivery: Delivery, result: HandoverResult) -> Optional[Reply]:
        reply = Reply(f"reply-{delivery.id}", result.reply, folder=result.folder, row=parse_id(delivery.id) or "")
        if delivery.delegation_id and delivery.type in ("message", "ended"):
            reply.to, reply.target = "task", delivery.delegation_id
        elif delivery.source_id:
            hops = self._ledger.next_hop(delivery.source_id, delivery.hops, delivery.created_at)
            if not self._options.reply_to_agents or delivery.type == "result":
                self._print_line("the answer to another agent is not sent; --reply-to-agents would")
            elif hops is None:
                self._print_line(f"agent {delivery.source_id} is not answered any more: {MOST_HOPS} automatic answers in a row are enough")
            else:
                reply.to, reply.target, reply.hops = "agent", delivery.source_id, hops
                return reply
            if result.folder:
                shutil.rmtree(result.folder, ignore_errors=True)
            return None
        return reply


def describe(delivery: Delivery) -> str:
    """For the line of a delivery: what it is and from whom, never its text."""
    files = f" with {len(delivery.files)} {'file' if len(delivery.files) == 1 else 'files'}" if delivery.files else ""
    if delivery.type == "file":
        return f"the file {delivery.files[0].name}"
    if delivery.type == "result":
        return f"the result of task {delivery.delegation_id}{files}"
    if delivery.is_task():
        return f"task {delivery.delegation_id}{files}"
    return f"a message from {f'agent {delivery.source_id}' if delivery.source_id else 'the person'}{files}"


def _origin_of(delivery: Delivery, task: TaskView) -> Optional[Origin]:
    if not delivery.source_id:
        return None
    is_task = delivery.is_task() and task.interest != "not_a_task"
    return Origin(delivery.id, delivery.source_id, delivery.created_at, delivery.delegation_id if is_task else "", delivery.hops)


def _failure_reply(delivery: Delivery, trouble: str) -> Optional[Reply]:
    reply = Reply(f"failed-{delivery.id}", f"The agent could not handle this: {trouble}.", row=parse_id(delivery.id) or "")
    if delivery.is_task():
        reply.to, reply.target, reply.failed = "task", delivery.delegation_id, True
    elif delivery.source_id:
        return None
    return reply
