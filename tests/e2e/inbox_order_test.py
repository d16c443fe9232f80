"""The inbox's promise under load: sixteen writers of every kind, one agent that polls every two milliseconds and one with a
long poll. Nothing is lost, nothing is doubled, and no row comes before an older one.

RESTANTE_ORDER_SECONDS sets how long the writers write; without it each writes a fixed number of times.
"""
import os
import threading
from contextlib import ExitStack

from support.workspace import Workspace
from support.recorder import Recorder
from support.waiting import CEILING

SETTINGS = {"log.requests": "none"}
SECONDS = float(os.environ.get("RESTANTE_ORDER_SECONDS", "0"))
EACH = 60           # of every writer, when no time is given
MOST_UPLOADS = 900  # of each of three, so that a long run stays below the quota of staged files


def sixteen_writers(server, inbox):
    """In four processes of four threads, so that they do not wait for one interpreter's lock."""
    callers = [Workspace(server, f"caller {n}") for n in range(3)]
    admin = server.admin_token
    doers = [{"do": "message", "name": f"caller{n}.{line}", "token": caller.token} for n, caller in enumerate(callers) for line in range(2)]
    doers += [{"do": "message", "name": f"operator{n}", "token": admin} for n in range(2)]
    doers += [{"do": "notify", "name": f"notify{n}", "token": inbox.token} for n in range(3)]
    doers += [{"do": "activity", "name": f"log{n}", "token": inbox.token} for n in range(2)]
    doers += [{"do": "upload", "name": f"upload{n}", "token": admin} for n in range(3)]
    for doer in doers:
        doer["workspace"] = inbox.id
        doer["most"] = EACH if not SECONDS else MOST_UPLOADS if doer["do"] == "upload" else None
    assert len(doers) == 16
    return [doers[start::4] for start in range(4)]


def check_order(rows, head):
    """The rows that one reader saw, in this order: every number once, ascending, and no time before an earlier one."""
    assert [row["seq"] for row in rows] == list(range(1, head + 1))
    assert len({row["id"] for row in rows}) == head
    times = [row["created_at"] for row in rows]
    assert times == sorted(times)


def test_sixteen_writers_lose_and_repeat_nothing_for_readers_that_follow(server):
    inbox = Workspace(server, "inbox")
    readers = [{"do": "follow", "name": "every 2 ms", "workspace": inbox.id, "token": inbox.token, "pause": 0.002},
               {"do": "follow", "name": "held", "workspace": inbox.id, "token": inbox.new_token(), "wait": 2}]
    with ExitStack() as stack:
        reading = [stack.enter_context(Recorder(server.port, [reader])) for reader in readers]
        writing = [stack.enter_context(Recorder(server.port, doers)) for doers in sixteen_writers(server, inbox)]
        if SECONDS:
            threading.Event().wait(SECONDS)  # the length of the test, not a wait for an event
            written = [line for writer in writing for line in writer.stop()]
        else:
            written = [line for writer in writing for line in writer.wait_end(4 * CEILING)]
        head = inbox.head()
        seen = [reader.stop(head) for reader in reading]

    assert not [line for lines in (written, *seen) for line in lines if line["do"] == "trouble"]
    assert len({line["by"] for line in written}) == 16
    assert head == len(written), "every row was acknowledged, and nothing was stored twice"
    for rows in seen:
        check_order(rows, head)
        found = {row["text"]: row for row in rows}
        assert found.keys() == {line["text"] for line in written}
        for line in written:
            if line["do"] == "message":
                row = found[line["text"]]
                assert (row["seq"], row["id"]) == (line["seq"], line["id"]), "the agent sees the number and id that the sender got"
    polls = {line["by"]: line["n"] + 1 for rows in seen for line in rows}
    print(f"{head} rows from 16 writers, seen by {len(seen)} readers in {polls} polls")
