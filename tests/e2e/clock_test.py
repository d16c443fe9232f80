"""The wall clock of a running server jumps, while its steady clock goes on: order, ids and tokens stay right. Time zones and the dates
that clients send have no effect."""
import datetime
import json
import os
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

from support.server import binary

from support.workspace import Workspace, sweep
from support.waiting import wait_until
from support.wall_clock import WallClock
from support.wire import request

@pytest.fixture
def clock(tmp_path):
    return WallClock(tmp_path)


def times(workspace):
    return [row["created_at"] for row in workspace.activity()]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def test_the_server_uses_the_clock_that_a_test_sets(start, clock):
    server = start(environment=clock.environment)
    workspace = Workspace(server)
    clock.set(days=3)
    workspace.notify("from the future")
    assert moment(times(workspace)[0]) - now() > datetime.timedelta(days=2)


def test_a_clock_that_is_set_back_an_hour_does_not_change_the_order(start, clock):
    server = start(environment=clock.environment)
    workspace = Workspace(server)
    workspace.notify("before")
    held, = workspace.park()
    clock.set(hours=-1)
    workspace.notify("after 0")
    assert [row["response_body"]["result"] for row in held.read().json()] == ["after 0"], "a held poll is woken as usual"
    held.close()
    for n in range(1, 5):
        workspace.notify(f"after {n}")
    rows = workspace.activity()
    assert [row["seq"] for row in rows] == list(range(1, 7))
    assert [row["created_at"] for row in rows] == sorted(row["created_at"] for row in rows), "time never goes back along seq"
    assert len({row["id"] for row in rows}) == 6
    # By id as by number: the row that was written last comes after the row before it.
    page = server.get(workspace.path(f"activity?since_id={rows[4]['id']}"), token=workspace.token).json()
    assert [row["id"] for row in page] == [rows[5]["id"]]
    clock.set()
    workspace.notify("again")
    assert times(workspace) == sorted(times(workspace))


def test_order_holds_across_a_restart_with_an_earlier_clock(start, clock, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    clock.set(days=1)
    first = start(environment=clock.environment, data=data)
    workspace = Workspace(first)
    workspace.notify("tomorrow")
    first.kill()
    clock.set()
    again = workspace.on(start(environment=clock.environment, data=data))
    again.notify("today")
    assert again.messages() == ["tomorrow", "today"] and times(again) == sorted(times(again))


@pytest.mark.parametrize("hours", [-1, 1, -24])
def test_tokens_stay_valid_when_the_clock_jumps(start, clock, hours):
    server = start(environment=clock.environment)
    workspace = Workspace(server)
    invited = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "sender", "workspace_id": workspace.id})
    enrolment = server.request("POST", "/admin/invites", token=server.admin_token, json_body={"kind": "enrolment", "workspace_id": workspace.id})
    clock.set(hours=hours)
    for token in (workspace.token, invited.json()["token"], server.admin_token):
        assert server.get(workspace.path("activity"), token=token).status == 200
    registered = server.request("POST", "/registry/register", token=enrolment.json()["token"],
                                json_body={"id": workspace.id, "agent_card": {}, "delivery_mode": "poll"})
    assert registered.status == 200, registered
    fresh = workspace.new_token()
    clock.set()
    for token in (workspace.token, fresh, registered.json()["auth_token"]):
        assert server.get(workspace.path("activity"), token=token).status == 200


def test_a_clock_that_jumps_a_day_forward_and_back_loses_no_waiting_file(start, clock):
    """A day is longer than the time until a file expires, and shorter than the time until the sweep trusts such a clock."""
    server = start(environment=clock.environment)
    workspace = Workspace(server)
    (file_id, _), = workspace.upload(("kept.txt", b"kept"))
    clock.set(days=2)
    sweep(server)
    clock.set()
    assert server.get(workspace.content(file_id), token=workspace.token).body == b"kept"
    assert server.request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), token=workspace.token).status == 200


def accept_clock(server):
    where = ["--url", f"http://127.0.0.1:{server.port}", "--data", server.data, "--json"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}
    ran = subprocess.run([binary(), "clock", "accept", *where], env=clean, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_server_that_starts_forty_days_ahead_deletes_nothing_until_the_operator_accepts_the_clock(start, clock, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    first = start({"uploads.sweep_every": "1s"}, environment=clock.environment, data=data)
    assert first.get("/ready").json()["checks"]["clock"] == "ok"
    workspace = Workspace(first)
    (file_id, _), = workspace.upload(("kept.txt", b"kept"))
    first.kill()
    clock.set(days=40)
    server = start({"uploads.sweep_every": "1s"}, environment=clock.environment, data=data)
    workspace = workspace.on(server)
    ready = server.get("/ready")
    assert ready.status == 200 and ready.json()["checks"]["clock"] == "doubted", ready
    server.wait_log("clock_doubted")
    assert server.metric("restante_clock_trusted") == 0
    assert "restante clock accept" in server.get("/admin/health", token=server.admin_token).json()["clock_doubt"]
    assert sweep(server)["expired"] == 0
    assert [row["file_id"] for row in server.get(workspace.path("pending-uploads"), token=workspace.token).json()] == [file_id]
    assert server.get(workspace.content(file_id), token=workspace.token).body == b"kept"
    assert "40 days" in accept_clock(server)["was"]
    wait_until(lambda: server.metric("restante_pending_uploads_swept_total", '{outcome="expired"}') == 1, "the file has expired")
    assert server.metric("restante_clock_trusted") == 1
    assert accept_clock(server)["was"] is None


def test_a_clock_that_is_consistent_for_long_enough_is_trusted_again(start, clock, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    first = start(environment=clock.environment, data=data)
    first.kill()
    clock.set(days=3)
    server = start({"clock.confirm": "1s"}, environment=clock.environment, data=data)
    server.wait_log("clock_doubted")
    clock.set()  # the file system keeps the true time: with another one the doubt does not end
    server.wait_log("clock_trusted")
    wait_until(lambda: server.get("/ready").json()["checks"]["clock"] == "ok", "the clock is trusted")


def doubt_of(server):
    return server.get("/admin/health", token=server.admin_token).json()["clock_doubt"]


def test_new_data_is_compared_with_the_time_of_the_file_system(start, clock):
    clock.set(days=3)
    server = start(environment=clock.environment)
    assert server.get("/ready").json()["checks"]["clock"] == "doubted"
    assert "file system" in doubt_of(server) and "3 days" in doubt_of(server)


def test_data_without_a_recorded_time_is_compared_with_the_times_of_its_files(start, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    start(data=data).stop()
    with closing(sqlite3.connect(data / "restante.db")) as database, database:
        database.execute("DELETE FROM server_clock")
    long_ago = time.time() - 40 * 86400
    for file in data.glob("restante.db*"):
        os.utime(file, (long_ago, long_ago))
    assert "40 days ahead of the newest time" in doubt_of(start(data=data))


def test_held_polls_end_by_the_steady_clock_whatever_the_wall_clock_does(start, clock):
    server = start(environment=clock.environment)
    workspace = Workspace(server)
    with server.connect() as wire:
        wire.send(workspace.poll_bytes(wait=8))
        # On a very slow machine the test may not see the poll held; then it has already ended by the steady clock.
        wait_until(lambda: server.metric("restante_held_polls") == 1 or wire.has_input(), "it is held")
        clock.set(hours=8)
        answer = wire.read()
        assert (answer.status, answer.body) == (200, b"[]")
    with server.connect() as wire:
        clock.set(hours=-8)
        wire.send(workspace.poll_bytes(wait=2))
        answer = wire.read()
        assert (answer.status, answer.body) == (200, b"[]")


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/St_Johns", "Nonsense/Nowhere", ":/etc/passwd"])
def test_a_time_zone_has_no_effect(start, zone):
    server = start(environment={"TZ": zone})
    workspace = Workspace(server)
    before = now()
    workspace.notify("x")
    created = times(workspace)[0]
    assert created.endswith("Z") and before - datetime.timedelta(seconds=1) <= moment(created) <= now() + datetime.timedelta(seconds=1)
    asked = before.astimezone(datetime.timezone(datetime.timedelta(hours=9))).isoformat(timespec="microseconds").replace("+", "%2B")
    assert server.get(workspace.path(f"activity?before_ts={asked}"), token=workspace.token).json() == []
    stamp = server.get("/health").header("Date")
    assert stamp.endswith(" GMT") and abs(datetime.datetime.strptime(stamp, "%a, %d %b %Y %H:%M:%S GMT").replace(
        tzinfo=datetime.timezone.utc) - now()) < datetime.timedelta(minutes=30)
    wait_until(lambda: server.log() and all(line["ts"].endswith("Z") for line in server.log()), "log lines in UTC")


@pytest.mark.parametrize("value", ["", "yesterday", "Thu, 99 Foo 1970 99:99:99 GMT", "Sun, 06 Nov 2094 08:49:37 GMT", "-1", "9" * 5000],
                         ids=["empty", "word", "nonsense", "future", "number", "long"])
@pytest.mark.parametrize("name", ["Date", "If-Modified-Since", "If-Unmodified-Since"])
def test_a_clients_dates_are_ignored(server, workspace, name, value):
    (file_id, _), = workspace.upload(("a.txt", b"content"))
    for target in ("/health", workspace.path("activity"), workspace.content(file_id)):
        with server.connect() as wire:
            wire.send(request("GET", target, {**workspace.auth(), name: value}))
            answer = wire.read()
        assert answer.status == 200 and answer.body, answer
