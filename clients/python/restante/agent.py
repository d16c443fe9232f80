"""Agent: the library.

    from restante import Agent

    agent = Agent.connect("https://post.example.org", enrol=TOKEN)

    @agent.on_message
    def answer(message):
        return f"{len(message.files)} files, thank you"

    agent.run()

A function is called for one delivery at a time, in the order of the inbox. What it returns is the answer: a text, an Answer with files, or
None. A function that raises is called again, up to `attempts` times; then the sender is notified. After a kill the delivery comes again,
with `again` set. Functions may be coroutines: `await agent.run_async()` runs them on the caller's event loop.
"""
from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar, Union

from .api import ApiClient, Json, text_of
from .choose import NO_PERMISSION, TRY_AGAIN, UNAVAILABLE, AgentError, Choice, choose_state, landing_directory
from .commands import forget_other_runs
from .delivery import DeliveredFile, Delivery
from .disk import DiskTrouble
from .failure import Failure, Stop
from .handlers import Handler, HandlerHandover, Result
from .loop import DeliveryOptions
from .names import parse_id
from .session import NOT_PERMITTED, STOPPED, Session, Settings
from .state import StateDirectory

Paths = Sequence[Union[str, Path]]
Registered = TypeVar("Registered", bound=Handler)

_log = logging.getLogger("restante")


class Agent:
    """See the module. Make one with Agent.connect(). Its methods may be called from any thread."""

    def __init__(self, session: Session, state: StateDirectory, handover: HandlerHandover, stop: Stop) -> None:
        self._session, self._state, self._handover, self._stop = session, state, handover, stop
        self._api = session.connect()
        self._lock = threading.Lock()
        self._running = False
        handover.api = session.connect()

    @classmethod
    def connect(cls, server: str = "", *, enrol: str = "", token: str = "", workspace: str = "", directory: Union[str, Path] = "",
                state: Union[str, Path] = "", name: str = "", reply_to_agents: bool = False, file_wait: float = 20.0,
                attempts: int = 5) -> "Agent":
        """Registers this machine as the agent of a workspace. The first time takes `server` and `enrol`, both shown with a new workspace;
        the token that it gets is kept in the workspace's own state directory, so that the same call works again. Waits while the server
        cannot be reached. Raises AgentError with a sentence when it makes no sense to continue.

        directory: where files land, in .molecule/chat-uploads; default: /workspace if writable, else the current one.
        reply_to_agents: send answers to plain messages of other agents, too; at most 8 in a row."""
        stop = Stop()
        lines: List[str] = []

        def print_line(line: str) -> None:
            lines[:] = [line]
            _log.info("%s", line)

        chosen = choose_state(Choice(server, enrol, token, workspace, str(state)), stop, print_line)
        try:
            opened = StateDirectory(chosen.state, print_line)
        except DiskTrouble as error:
            raise AgentError(str(error), TRY_AGAIN if error.in_use else 1) from None
        runs = opened.path / "runs"
        forget_other_runs(runs, [], opened.ledger.unsent_folders())
        handover = HandlerHandover(runs, stop, print_line)
        settings = Settings(chosen.server, landing_directory(str(directory)), token, enrol, parse_id(workspace) or "", name,
                            DeliveryOptions(file_wait, attempts=attempts, reply_to_agents=reply_to_agents))
        session = Session(settings, opened, handover, stop, print_line)
        end = session.register()
        if end:
            opened.close()
            raise AgentError(lines[0] if lines else "not connected", NO_PERMISSION if end == NOT_PERMITTED else UNAVAILABLE)
        return cls(session, opened, handover, stop)

    @property
    def workspace(self) -> str:
        """The id of the agent's workspace."""
        return self._api.workspace

    # -- what the program does for a delivery

    def on_message(self, handler: Registered) -> Registered:
        """The function for messages, for files that came alone and, without on_task, for tasks. It gets a Message."""
        self._handover.on_message = handler
        return handler

    def on_task(self, handler: Registered) -> Registered:
        """The function for tasks of other agents. It gets a Task; what it returns is the result."""
        self._handover.on_task = handler
        return handler

    def on_result(self, handler: Registered) -> Registered:
        """The function for results of tasks for which nobody waits with Delegation.result(). It gets a Result."""
        self._handover.on_result = handler
        return handler

    # -- running

    def run(self) -> None:
        """Works until stop(), SIGINT or SIGTERM. Raises AgentError when the token was revoked or the workspace removed."""
        if threading.current_thread() is not threading.main_thread():
            return self._run()
        before = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda *_: self._stop.request())
        try:
            return self._run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def run_async(self) -> None:
        """As run(), for a program with an event loop: functions that are coroutines run on it, and a cancelled task cancels them. Cancelling
        this call stops the agent. Signals are the program's own matter."""
        loop = asyncio.get_running_loop()
        self._handover.loop = loop
        running = loop.run_in_executor(None, self._run)
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            self._stop.request()
            await running
            raise

    def stop(self) -> None:
        """run() returns soon. A delivery in progress comes again at the next start."""
        self._stop.request()

    def close(self) -> None:
        """For a program that does not call run(): releases the state directory."""
        self._stop.request()
        self._state.close()

    def _run(self) -> None:
        if not self._handover.on_message and not self._handover.on_task:
            raise AgentError("nothing to run: give a function with @agent.on_message")
        self._running = True
        try:
            end = self._session.run_beside()
        finally:
            self._running = False
            self._state.close()
        if end != STOPPED:
            raise AgentError("the server does not take this agent's token any more" if end == NOT_PERMITTED else
                             "the agent cannot go on: its workspace was removed", NO_PERMISSION if end == NOT_PERMITTED else UNAVAILABLE)

    # -- what the program sends by itself

    def send(self, text: str, files: Paths = (), to: str = "", key: str = "") -> None:
        """A message to the person, or with `to` to another agent (id or name). The same key twice is one message. Raises Failure."""
        with self._lock:
            key = key or str(uuid.uuid4())
            staged = self._api.stage([Path(one) for one in files], f"{key}-files")
            if to:
                self._api.message(self._find(to), text, staged, key)
            else:
                self._api.notify(text or "Here you are.", staged, key)

    def delegate(self, to: str, task: str, files: Paths = (), deadline: str = "", task_id: str = "") -> "Delegation":
        """A task for another agent (id or name). The same task_id twice is one task. `deadline` is RFC 3339. Raises Failure."""
        with self._lock:
            task_id = task_id or str(uuid.uuid4())
            staged = self._api.stage([Path(one) for one in files], f"{task_id}-files")
            self._api.delegate(self._find(to), task, task_id, staged, deadline)
        return Delegation(self, task_id)

    def peers(self) -> List[Json]:
        """The other agents: id, name, role, status."""
        with self._lock:
            return self._api.peers()

    def _find(self, to: str) -> str:
        """The caller has the lock."""
        found = parse_id(to)
        if found:
            return found
        named = [one for one in self._api.peers() if text_of(one, "name") == to]
        if len(named) != 1:
            known = ", ".join(f"{text_of(one, 'name')} ({text_of(one, 'id')})" for one in named)
            raise Failure("stopped", f"several agents are called {to!r}, give an id: {known}" if named else f"there is no agent {to!r}")
        return text_of(named[0], "id")


class Delegation:
    """A task that this agent gave to another one."""

    def __init__(self, agent: Agent, task_id: str) -> None:
        self._agent, self.id = agent, task_id

    def record(self) -> Json:
        """The server's record: status, progress, deadline, … Raises Failure."""
        with self._agent._lock:
            return self._agent._api.task(self.id)

    def cancel(self) -> None:
        """Raises Failure."""
        with self._agent._lock:
            self._agent._api.post(self._agent._api.task_path(self.id, "/cancel"), {})

    def result(self, timeout: Optional[float] = None) -> Result:
        """Waits for the result and its files. Raises TimeoutError. May be called in a function of the agent, too. Without run() the files
        stay on the server."""
        until = None if timeout is None else time.monotonic() + timeout
        loop, handover = self._agent._session.loop, self._agent._handover
        while not self._agent._stop.requested and (until is None or time.monotonic() < until):
            kept = handover.take_result(self.id)
            if kept:
                return kept
            if not self._agent._running:
                record = self.record()
                if record.get("status") in ("completed", "failed", "stuck"):
                    return Result(_delivery_of(record))
                self._agent._stop.wait(1.0)
                continue
            loop.expect_result(self.id)
            try:
                delivery = loop.take_result(self.id, min(time.monotonic() + 1.0, until or float("inf")))
            finally:
                loop.stop_expecting(self.id)
            if delivery:
                return Result(delivery)
        raise TimeoutError(f"no result of task {self.id}")


def _delivery_of(record: Dict[str, Any]) -> Delivery:
    made = Delivery("result", text_of(record, "delegation_id"))
    made.delegation_id = made.id
    made.status = "ok" if record.get("status") == "completed" else "error"
    made.text = text_of(record, "result") or text_of(record, "response_preview") or text_of(record, "error_detail")
    files = record.get("files") or record.get("attachments") or []
    made.files = [DeliveredFile(text_of(one, "name"), text_of(one, "uri"), "missing") for one in files if isinstance(one, dict)]
    return made
