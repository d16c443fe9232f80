"""EventStream: a client of live events that is a little stricter than a browser."""
import json

from support.waiting import Deadline
from support.wire import request
from support.world import read_stream_head


class Event:
    def __init__(self, name, data, seq):
        self.name, self.data, self.id = name, data, seq

    def __repr__(self):
        return f"<{self.name} {self.id} {self.data}>"


class EventStream:
    """One connection. `last_id` is what a browser would send as Last-Event-ID when it reconnects. Presence events (WORKSPACE_…) may
    arrive at any time, so they are left out unless `presence` is set."""

    def __init__(self, place, target, *, token=None, headers=(), last_id=None, presence=False):
        fields = dict(headers)
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if last_id is not None:
            fields["Last-Event-ID"] = str(last_id)
        self.last_id, self._presence, self._text, self.over = last_id, presence, b"", False
        self.wire = place.connect()
        self.wire.send(request("GET", target, fields))
        self.head = read_stream_head(self.wire)
        assert (self.head.status, self.head.header("Content-Type")) == (200, "text/event-stream"), self.head

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.wire.close()

    def next(self):
        """The next event; None when the stream has ended properly. Skips comments."""
        while True:
            while b"\n\n" not in self._text:
                if not self._more():
                    assert not self._text, f"ended within an event: {self._text!r}"
                    return None
            block, self._text = self._text.split(b"\n\n", 1)
            fields = dict(line.split(": ", 1) for line in block.decode("utf-8").split("\n") if not line.startswith(":"))
            assert set(fields) <= {"id", "event", "data"}, block
            if fields and (self._presence or not fields["event"].startswith("WORKSPACE_")):
                self.last_id = int(fields["id"]) if "id" in fields else self.last_id
                return Event(fields["event"], json.loads(fields["data"]), int(fields["id"]) if "id" in fields else None)

    def until(self, *names):
        """The events up to and including the first one with one of these names."""
        seen = []
        while not seen or seen[-1].name not in names:
            event = self.next()
            assert event, f"ended before any of {names}: {seen}"
            seen.append(event)
        return seen

    def to_end(self):
        """Everything until the stream ends."""
        return list(iter(self.next, None))

    def _more(self):
        if self.over:
            return False
        deadline = Deadline()
        size = int(self.wire._line(deadline), 16)
        self._text += self.wire._exactly(size, deadline)
        assert self.wire._line(deadline) == b""
        self.over = size == 0
        return not self.over
