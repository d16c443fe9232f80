"""What a program gets when it uses the library: Message, Task, Result, File; and the hand-over that calls its functions."""
from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import shutil
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, List, Optional, Sequence, Union

from .api import ApiClient, Json
from .commands import Run
from .delivery import DeliveredFile, Delivery
from .failure import Failure, Stop
from .handover import Handover, HandoverResult

MOST_RESULTS = 1_000  # that nobody has asked for yet


@dataclass(frozen=True)
class File:
    """A file of a message. `path` is set when it is on this machine, complete and verified; otherwise `state` says why not: missing
    (not downloaded yet; it is handed over by itself when it has landed), failed, expired, recalled, gone, unknown, external."""

    name: str
    path: Optional[Path]
    size: Optional[int]
    sha256: str
    state: str
    reason: str
    uri: str


@dataclass
class Answer:
    """An answer with files. They are copied as soon as the function has returned."""

    text: str = ""
    files: Sequence[Union[str, Path]] = field(default_factory=tuple)


Answered = Union[None, str, Answer]
Handler = Callable[[Any], Union[Answered, Awaitable[Answered]]]


class Message:
    """A message of a person or of another agent, or a file that came without one (then `text` is empty)."""

    def __init__(self, delivery: Delivery) -> None:
        self.id: str = delivery.id
        self.text: str = delivery.text
        self.files: List[File] = [_file(one) for one in delivery.files]
        self.sender: Optional[str] = delivery.source_id  # the workspace of the sending agent; None: a person
        self.created_at: str = delivery.created_at
        self.again: bool = delivery.again  # begun before with an unknown end: compare `id` if it must not be handled twice
        self.body: Json = delivery.body or {}  # the A2A call, with the uris of files rewritten to local paths


class Task(Message):
    """A task of another agent. What the function returns is its result."""

    def __init__(self, delivery: Delivery, api: ApiClient, folder: Path) -> None:
        super().__init__(delivery)
        self.task_id: str = delivery.delegation_id
        self._api, self._folder, self._given_up = api, folder, Stop()

    @property
    def cancelled(self) -> bool:
        """True when the caller has cancelled it or its deadline has passed: stop working."""
        return self._given_up.requested

    def wait_cancelled(self, seconds: float) -> bool:
        """Sleeps; returns early, and True, when the task is cancelled."""
        return self._given_up.wait(seconds)

    def progress(self, text: str) -> None:
        """Shows the caller how far the work is. A failure of the network is ignored: the next report replaces this one."""
        try:
            if self._api.beat_task(self.task_id, text) == "unwanted":
                self._given_up.request()
        except Failure:
            pass

    def attach(self, *paths: Union[str, Path]) -> None:
        """Files of the result, beside those of an Answer. They are copied at once, so they may be temporary. Raises OSError."""
        copy_into(self._folder, [Path(one) for one in paths])


class Result:
    """The result of a task that this agent gave to another one."""

    def __init__(self, delivery: Delivery) -> None:
        self.task_id: str = delivery.delegation_id
        self.ok: bool = delivery.status == "ok"
        self.text: str = delivery.text
        self.files: List[File] = [_file(one) for one in delivery.files]
        self.again: bool = delivery.again


def copy_into(folder: Path, paths: Sequence[Path]) -> None:
    """A second file of a name gets a number. Raises OSError."""
    for path in paths:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target, number = folder / path.name, 1
        while target.exists():
            number += 1
            target = folder / f"{path.stem}-{number}{path.suffix}"
        shutil.copyfile(path, target)


def _file(one: DeliveredFile) -> File:
    return File(one.name, Path(one.path) if one.path else None, one.size, one.sha256, one.state, one.reason, one.uri)


class HandlerHandover(Handover):
    """Calls the functions of a program. `api` makes a client for the thread that reports progress."""

    returns_when_done = True

    def __init__(self, runs: Path, stop: Stop, print_line: Callable[[str], None]) -> None:
        self._runs, self._stop, self._print_line = runs, stop, print_line
        self.api: Optional[ApiClient] = None
        self.on_message: Optional[Handler] = None
        self.on_task: Optional[Handler] = None
        self.on_result: Optional[Handler] = None
        self.loop: Optional[asyncio.AbstractEventLoop] = None
        self._lock = threading.Lock()
        self._task: Optional[Task] = None
        self._future: "Optional[concurrent.futures.Future[Any]]" = None
        self._results: "OrderedDict[str, Result]" = OrderedDict()

    def deliver(self, delivery: Delivery) -> HandoverResult:
        folder = Run(self._runs, delivery.id).result_folder
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier attempt
        handler, given = self._choose(delivery, folder)
        task = given if isinstance(given, Task) else None
        try:
            answer = self._call(handler, given) if handler else None
            if self._stop.requested and answer is _STOPPED:
                return HandoverResult("stopped")
            if answer is _GIVEN_UP:
                return HandoverResult("dropped", trouble=f"the work on task {delivery.delegation_id} was ended")
            return _result_of(delivery, answer, folder)
        except Exception as error:  # noqa: BLE001  whatever the program's function raises
            if task and task.cancelled:
                return HandoverResult("dropped", trouble=f"the work on task {delivery.delegation_id} was ended")
            return HandoverResult("failed", trouble=f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        finally:
            with self._lock:
                self._task = None

    def _choose(self, delivery: Delivery, folder: Path) -> "tuple[Optional[Handler], Union[Message, Result]]":
        if delivery.type == "result":
            result = Result(delivery)
            with self._lock:
                self._results[result.task_id] = result
                while len(self._results) > MOST_RESULTS:
                    self._results.popitem(last=False)
            return self.on_result, result
        if not delivery.is_task():
            return self.on_message, Message(delivery)
        assert self.api is not None
        task = Task(delivery, self.api, folder)
        with self._lock:
            self._task = task
        return self.on_task or self.on_message, task

    def _call(self, handler: Handler, given: Union[Message, Result]) -> Any:
        made: Any = handler(given)
        if not inspect.isawaitable(made):
            return made

        async def wait() -> Any:
            return await made

        if self.loop is None:
            return asyncio.run(wait())
        future = asyncio.run_coroutine_threadsafe(wait(), self.loop)
        with self._lock:
            self._future = future
            if isinstance(given, Task) and given.cancelled:
                future.cancel()
        try:
            while True:
                try:
                    return future.result(0.2)
                except concurrent.futures.TimeoutError:
                    if future.done():
                        raise  # the function's own
                    if self._stop.requested:
                        future.cancel()
                        return _STOPPED
        except concurrent.futures.CancelledError:
            return _STOPPED if self._stop.requested else _GIVEN_UP
        finally:
            with self._lock:
                self._future = None

    def ended(self, delivery: Delivery) -> None:
        Run(self._runs, delivery.id).forget()

    def give_up(self, task: str) -> None:
        with self._lock:
            if self._task and self._task.task_id == task:
                self._task._given_up.request()
                if self._future:
                    self._future.cancel()

    def take_result(self, task: str) -> Optional[Result]:
        """A result that was handed over before somebody asked for it."""
        with self._lock:
            return self._results.pop(task, None)


def _result_of(delivery: Delivery, answer: Any, folder: Path) -> HandoverResult:
    if answer is not None and not isinstance(answer, (str, Answer)):
        raise TypeError(f"a handler returns None, a text or an Answer, not {type(answer).__name__}")
    if delivery.type == "result":
        return HandoverResult()
    made = answer if isinstance(answer, Answer) else Answer(answer or "")
    copy_into(folder, [Path(one) for one in made.files])
    has_files = folder.exists()
    text = made.text.replace("\0", "")
    if delivery.is_task() and not text and not has_files:
        text = "Done; the agent gave no text."  # its caller waits for a result
    return HandoverResult(reply=text, folder=str(folder) if has_files else "")


_STOPPED, _GIVEN_UP = object(), object()
