"""Waiting: for an event up to a ceiling that only a broken server reaches. Nothing here asserts how long a thing took."""
import os
import threading
import time

# Far above what a loaded two-core machine with sanitizers needs, and below the 50 s that a held poll may last.
CEILING = float(os.environ.get("RESTANTE_TEST_CEILING", "45"))


class Stalled(AssertionError):
    """What was waited for did not happen."""


class Deadline:
    """One ceiling for several waits in a row."""

    def __init__(self, ceiling=None):
        self._end = time.monotonic() + (CEILING if ceiling is None else ceiling)

    def left(self):
        return max(0.0, self._end - time.monotonic())


def wait_until(condition, what, ceiling=None, every=0.01):
    """Returns the first true value of condition(). For what the kernel or /metrics shows but nobody announces. every: seconds from
    look to look, where one is so dear that it would hold up what it waits for."""
    deadline, pause = Deadline(ceiling), threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if deadline.left() == 0:
            raise Stalled(f"never happened: {what}")
        pause.wait(every)
