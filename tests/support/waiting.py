"""Waits for an event, up to a ceiling that only a broken server reaches. Nothing here asserts how long something took."""
import os
import threading
import time

# Far above what a loaded two-core machine with sanitizers needs, and below the 50 s that a held poll may last.
CEILING = float(os.environ.get("RESTANTE_TEST_CEILING", "45"))


class Stalled(AssertionError):
    """The awaited event did not happen."""


class Deadline:
    """One ceiling for several waits in a row."""

    def __init__(self, ceiling=None):
        self._end = time.monotonic() + (CEILING if ceiling is None else ceiling)

    def left(self):
        return max(0.0, self._end - time.monotonic())


def wait_until(condition, what, ceiling=None, every=0.01):
    """Returns the first true value of condition(). For states that the kernel or /metrics shows but that cause no event. every: seconds
    between two checks, for a check so expensive that it would slow down what it waits for."""
    deadline, pause = Deadline(ceiling), threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if deadline.left() == 0:
            raise Stalled(f"never happened: {what}")
        pause.wait(every)
