"""Failure: why a request got no usable answer; Stop: what ends the agent; Backoff: the pause before the next attempt."""
from __future__ import annotations

import random
import threading
from typing import Callable, Optional


class Failure(Exception):
    """`kind` is for programs, str() is a sentence for people; neither ever contains a token or a body.

    Kinds: bad_url, unreachable, tls, timeout, cut (the connection ended before the answer did), protocol (the answer is not
    understood), too_large, status (a complete answer that is not 2xx), stopped (our own side ended it), cancelled.
    """

    def __init__(self, kind: str, sentence: str, status: int = 0, code: str = "", retry_after: Optional[float] = None) -> None:
        super().__init__(sentence)
        self.kind, self.sentence, self.status, self.code, self.retry_after = kind, sentence, status, code, retry_after

    def is_status(self, status: int) -> bool:
        return self.kind == "status" and self.status == status

    def passes(self) -> bool:
        """Whether the same request may succeed later without a change on this side."""
        if self.kind == "status":
            return self.status in (408, 429) or (self.status >= 500 and self.status != 501)
        return self.kind in ("unreachable", "timeout", "cut", "tls", "protocol")

    def may_yet_succeed(self) -> bool:
        """As passes(), and after a redirect: the sign-in page of a network answers every request so."""
        return self.passes() or (self.kind == "status" and 300 <= self.status < 400)


class Stop:
    """The one signal that ends the agent. All its threads sleep by waiting on it. Thread-safe."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.error: Optional[BaseException] = None  # a bug of ours that ended a thread

    def request(self) -> None:
        self._event.set()

    def guard(self, work: Callable[[], None]) -> Callable[[], None]:
        """The same for a thread: an exception that nobody expected ends the whole agent instead of one thread, silently."""
        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001  raised again by Session.run()
                self.error = self.error or error
                self.request()

        return guarded

    @property
    def requested(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: Optional[float] = None) -> bool:
        """True when it was requested; at once when it is already so."""
        return self._event.wait(seconds)


class Backoff:
    """The pause before the next attempt, in seconds. It doubles up to a bound; each pause is random between half and all of that, so
    that a thousand agents do not come back to a restarted server in the same second."""

    def __init__(self, first: float, most: float) -> None:
        self._first, self._most, self._next = first, most, first

    def next(self) -> float:
        whole = self._next
        self._next = min(self._next * 2, self._most)
        return random.uniform(whole / 2, whole)

    def reset(self) -> None:
        self._next = self._first
