"""Edge cases of the inbox: unusual limits, an agent that was offline for long, and a workspace that is removed while it is in use."""
import os
import shutil
import subprocess

import pytest

from support.checks import check_error
from support.events import EventStream
from support.server import binary
from support.workspace import Workspace
from support.recorder import Recorder
from support.waiting import CEILING, wait_until
from support.wall_clock import WallClock

PENDING = int(os.environ.get("RESTANTE_PENDING", "1600"))
SETTINGS = {"log.requests": "none"}


def page(workspace, query):
    return workspace.server.get(workspace.path(f"activity?{query}"), token=workspace.token)


@pytest.fixture(scope="module")
def busy(server_slot):
    """A workspace with 520 rows: more than any page."""
    workspace = Workspace(server_slot.get())
    with Recorder(workspace.server.port, [{"do": "notify", "name": f"n{n}", "workspace": workspace.id, "token": workspace.token, "most": 65}
                                          for n in range(8)]) as recorder:
        assert len(recorder.wait_end(4 * CEILING)) == 520
    return workspace


@pytest.mark.parametrize("limit, rows", [
    ("0", 100), ("-1", 100), ("-9223372036854775809", 100), ("", 100), ("x", 100), ("1e3", 100), ("0x10", 100), ("+5", 100), ("1", 1),
    ("500", 500), ("501", 500), ("1000000000", 500), ("9223372036854775807", 500), ("99999999999999999999999999", 500)])
def test_any_limit_is_a_page_of_one_to_five_hundred(busy, limit, rows):
    for cursor in ("", "&since_seq=0"):
        answer = page(busy, f"limit={limit}{cursor}")
        assert answer.status == 200
        seqs = [row["seq"] for row in answer.json()]
        assert seqs == (list(range(1, rows + 1)) if cursor else list(range(520, 520 - rows, -1)))


@pytest.mark.parametrize("cursor, status", [
    ("since_id=00000000-0000-0000-0000-000000000000", 410), ("since_id=ffffffff-ffff-ffff-ffff-ffffffffffff", 410), ("since_id=x", 400),
    ("since_id=", 400), ("since_seq=521", 410), ("since_seq=9223372036854775807", 410), ("since_seq=99999999999999999999999", 410),
    ("since_seq=-1", 400), ("since_seq=x", 400), ("since_seq=1.5", 400), ("since_seq=1&since_id=00000000-0000-0000-0000-000000000000", 400),
    ("since_secs=0", 400), ("since_secs=-5", 400), ("since_secs=x", 400), ("before_ts=yesterday", 400), ("source=robots", 400), ("peer_id=x", 400)])
def test_an_invalid_or_unknown_cursor_is_refused_at_once_also_in_a_poll(busy, cursor, status):
    for wait in ("", "&wait=50"):
        error = check_error(page(busy, cursor + wait), status)
        if status == 410:
            assert cursor.split("=")[0] in error["error"], error


def test_an_agent_that_was_offline_gets_everything_in_order(server):
    workspace = Workspace(server, "away")
    doers = [{"do": "message", "name": f"m{n}", "workspace": workspace.id, "token": server.admin_token, "most": PENDING // 8} for n in range(8)]
    with Recorder(server.port, doers[:4]) as first, Recorder(server.port, doers[4:]) as second:
        sent = first.wait_end(10 * CEILING) + second.wait_end(10 * CEILING)
    assert len(sent) == PENDING and {line["do"] for line in sent} == {"message"}
    rows, at = [], 0
    while True:
        answer = page(workspace, f"since_seq={at}&limit=500" if len(rows) % 1000 == 0 else f"since_id={rows[-1]['id']}&limit=500")
        assert answer.status == 200 and len(answer.body) < 2 * 1024 * 1024
        if not answer.json():
            break
        rows += answer.json()
        at = rows[-1]["seq"]
    assert [row["seq"] for row in rows] == list(range(1, PENDING + 1))
    by_seq = {line["seq"]: line["id"] for line in sent}
    assert {row["seq"]: row["id"] for row in rows} == by_seq


def test_big_messages_come_in_pages_of_about_a_mebibyte_and_none_is_left_out(server):
    workspace = Workspace(server, "big")
    for n in range(12):
        workspace.notify(f"{n:02}" + "x" * 300_000)
    seen, at = [], 0
    while rows := page(workspace, f"since_seq={at}&limit=500").json():
        assert sum(len(row["response_body"]["result"]) for row in rows) <= 1024 * 1024 + 300_002
        seen += [row["response_body"]["result"][:2] for row in rows]
        at = rows[-1]["seq"]
    assert seen == [f"{n:02}" for n in range(12)]


# -- a workspace that is removed

def remove(workspace):
    assert workspace.server.request("DELETE", f"/workspaces/{workspace.id}", token=workspace.server.admin_token).json() == {"status": "removed"}


def test_a_removed_workspace_is_410_for_valid_tokens_and_401_for_its_own(server, workspace):
    workspace.notify("before")
    remove(workspace)
    for target in (f"/workspaces/{workspace.id}", workspace.path("activity")):
        check_error(server.get(target, token=server.admin_token), 410)
        check_error(server.get(target, token=workspace.token), 401)
    message = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "x"}]}}}
    check_error(server.request("POST", workspace.path("a2a"), token=server.admin_token, json_body=message), 404, 410)
    check_error(server.request("POST", workspace.path("notify"), token=server.admin_token, json_body={"message": "x"}), 404, 410)


@pytest.mark.bytes
def test_an_upload_to_a_workspace_that_is_removed_meanwhile_leaves_nothing(server, workspace):
    wire, rest = workspace.begin_upload(("late.bin", b"l" * 300_000))
    remove(workspace)
    wire.send(rest)
    check_error(wire.read("POST"), 404, 410)
    wire.close()
    wait_until(lambda: not server.unfinished(), "its content is deleted")


@pytest.mark.bytes
def test_the_files_and_rows_of_a_removed_workspace_stay_as_evidence(start, tmp_path):
    server = start(data=tmp_path)
    workspace = Workspace(server)
    files = workspace.upload(("a.txt", b"a" * 70_000), ("b.txt", b"b" * 90_000))
    remove(workspace)
    server.stop()
    again = start(data=tmp_path)
    for file_id, item in files:
        answer = again.get(workspace.content(file_id), token=again.admin_token)
        # They are kept, but only the operator can read them.
        assert answer.status in (200, 410) and (answer.status != 200 or len(answer.body) == item["size"])
        check_error(again.get(workspace.content(file_id), token=workspace.token), 401)
    assert sorted(len(blob.read()) for blob in again.blobs()) == sorted(item["size"] for _, item in files)


def test_after_restored_no_number_of_a_lost_row_is_given_again(start, tmp_path):
    backup = tmp_path / "backup"
    restored = lambda **more: subprocess.run([binary(), "restored", "--data", str(backup)], capture_output=True, text=True, timeout=120,
                                             check=False, env={**os.environ, **more})
    first = start()
    workspace = Workspace(first)
    workspace.notify("kept")
    first.stop()
    shutil.copytree(first.data, backup)
    second = start(data=first.data)
    for number in range(3):
        workspace.on(second).notify(f"lost {number}")
    lost = workspace.on(second).head()
    second.stop()
    done = restored()
    assert done.returncode == 0 and "inboxes give new numbers" in done.stdout and "clock" not in done.stdout, done
    third = start(data=backup)
    again = workspace.on(third)
    check_error(page(again, f"since_seq={lost}"), 410, code="cursor_gone")
    for number in range(8):
        again.notify(f"new {number}")
    check_error(page(again, f"since_seq={lost}"), 410, code="cursor_gone")
    assert again.messages() == ["kept", *(f"new {number}" for number in range(8))]
    assert len(page(again, "since_seq=1").json()) == 8, "a cursor whose row is still there stays valid"
    with EventStream(third, again.path("events/stream"), token=again.token, headers={"Last-Event-ID": str(lost)}) as stream:
        assert "replayed_from" not in stream.next().data, "it reads everything again"
    assert restored().returncode != 0, "not while a server runs"
    highest = again.head()
    third.stop()
    clock = WallClock(tmp_path)
    clock.set(days=-2)
    behind = restored(**clock.environment)
    assert behind.returncode == 0 and "Check the clock" in behind.stdout, behind
    fourth = again.on(start(data=backup))
    fourth.notify("after a restore with a wrong clock")
    assert fourth.head() > highest + 2 ** 30, "above all numbers, also those that may have been lost"
