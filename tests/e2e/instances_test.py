"""Three servers on one PostgreSQL database and one shared directory are one installation: every server gives the same answers, also
when one is killed, gets no notifications, or has the wrong time."""
import datetime
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from support.backend import MARK
from support.workspace import Workspace, sweep
from support.events import EventStream
from support.postgres import DURABLE, Postgres
from support.recorder import Recorder
from support.server_group import ServerGroup, database_of, ordinary_role
from support.waiting import CEILING, wait_until
from support.wall_clock import WallClock

EACH = 30


@pytest.fixture(scope="module")
def postgres():
    with Postgres(DURABLE) as running:
        yield running


@pytest.fixture
def url(postgres):
    with postgres.database() as fresh:
        yield fresh


@pytest.fixture
def group(url):
    made = ServerGroup(url)
    yield made
    made.finish()


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


# -- load through all of them


def writers(server, inbox, name, most):
    """Five doers through one server."""
    admin = server.admin_token
    doers = [{"do": "message", "name": f"{name}.message{n}", "token": admin} for n in range(2)]
    doers += [{"do": "notify", "name": f"{name}.notify", "token": inbox.token},
              {"do": "upload", "name": f"{name}.upload", "token": admin, "agent": inbox.token},
              {"do": "ack", "name": f"{name}.ack", "token": inbox.token}]
    return [{**doer, "workspace": inbox.id, "most": most} for doer in doers]


def check_files(inbox, lines):
    """An acked file is deleted; a file that was not acked has its content."""
    acked = {line["file_id"] for line in lines if line["do"] == "ack_upload"}
    waiting = {item["file_id"] for item in inbox.server.get(inbox.path("pending-uploads?limit=500"), token=inbox.token).json()}
    for line in lines:
        if line["do"] != "upload":
            continue
        fetched = inbox.server.get(inbox.content(line["file_id"]), token=inbox.token)
        if line["file_id"] in acked:
            assert fetched.status == 404 and line["file_id"] not in waiting
        elif line["file_id"] in waiting:
            assert hashlib.sha256(fetched.body).hexdigest() == line["sha256"]
        else:
            # It was acked too, but the answer was lost.
            assert line["by"].startswith("killed"), line


def test_load_through_three_servers_of_which_one_is_killed_loses_and_doubles_nothing(group):
    one, two, killed = group.add(), group.add(), group.add()
    inbox = Workspace(one, "inbox")
    followers = [(one, {"wait": 2}), (two, {"wait": 2}), (two, {"pause": 0.01})]
    with ExitStack() as stack:
        reading = [stack.enter_context(Recorder(server.port, [{"do": "follow", "name": f"follower{n}", "workspace": inbox.id,
                                                               "token": inbox.token, **how}]))
                   for n, (server, how) in enumerate(followers)]
        writing = [stack.enter_context(Recorder(server.port, writers(server, inbox, name, EACH))) for server, name in ((one, "one"), (two, "two"))]
        dying = stack.enter_context(Recorder(killed.port, writers(killed, inbox, "killed", None)))
        dying.wait_lines(60, 4 * CEILING)
        killed.kill()
        recorded = dying.wait_end(4 * CEILING)
        lines = recorded + [line for writer in writing for line in writer.wait_end(4 * CEILING)]
        acknowledged = {line["text"] for line in lines if "text" in line}
        # The notification about another server's commit may arrive a moment later.
        wait_until(lambda: acknowledged <= {text_of(row) for row in inbox.activity()}, "nothing is lost")
        head = inbox.head()
        seen = [reader.stop(head) for reader in reading]
    assert not [line for part in (lines, *seen) for line in part if line["do"] == "trouble"]
    for rows in seen:
        assert [row["seq"] for row in rows] == list(range(1, head + 1)), "every number once and in order"
        times = [row["created_at"] for row in rows]
        assert times == sorted(times)
        assert rows_of(rows) == rows_of(seen[0])
    texts = [row["text"] for row in seen[0] if row["method"] != "chat_upload_acked"]
    assert len(texts) == len(set(texts)), "nothing twice"
    assert acknowledged <= set(texts), "nothing lost"
    unasked = set(texts) - acknowledged
    assert {text.split(".")[0] for text in unasked} <= {"killed"} and len(unasked) <= 4, f"one at most of each that was cut off: {unasked}"
    by_text = {row["text"]: row for row in seen[0]}
    for line in lines:
        if line["do"] == "message":
            assert (by_text[line["text"]]["seq"], by_text[line["text"]]["id"]) == (line["seq"], line["id"])
    check_files(inbox, lines)
    # A server that replaces it has everything.
    assert [row["seq"] for row in inbox.on(group.add()).activity()] == list(range(1, head + 1))


def text_of(row):
    text = row["response_body"]["result"] if row["method"] == "notify" else row["summary"]
    return text.removeprefix("chat_upload_receive: ")


def rows_of(lines):
    return [(line["seq"], line["id"], line["text"]) for line in lines]


def test_a_task_given_at_one_server_is_picked_up_at_another_and_answered_at_a_third(group):
    one, two, three = group.add(), group.add(), group.add()
    caller, callee = Workspace(one, "caller"), Workspace(one, "callee")
    with ThreadPoolExecutor(1) as held:
        def waits_at_the_second(workspace):
            polled = held.submit(two.get, workspace.path(f"activity?since_seq={workspace.head()}&wait=50"), token=workspace.token)
            two.wait_metric("restante_held_polls", 1)
            return polled

        work = waits_at_the_second(callee)
        given = one.request("POST", caller.path("delegate"), token=caller.token, json_body={"target_id": callee.id, "task": "count"})
        assert given.status == 202, given
        did = given.json()["delegation_id"]
        assert [row["method"] for row in work.result().json()] == ["message/send"]
        answer = waits_at_the_second(caller)
        done = three.request("POST", callee.path(f"delegations/{did}/update"), token=callee.token, json_body={"status": "completed", "result": "ten"})
        assert done.status == 200, done
        row, = answer.result().json()
        assert (row["method"], row["response_body"]["text"]) == ("delegate_result", "ten")
    assert [server.get(caller.path(f"delegations/{did}"), token=caller.token).json()["status"] for server in group.servers] == ["completed"] * 3


def test_a_server_that_is_killed_while_it_commits_leaves_everything_or_nothing(group):
    """The request is repeated with the same key at another server, which does it if it was not done, and else answers as before."""
    one = group.add()
    inbox = Workspace(one, "inbox")
    keys = iter(range(10_000))
    lock, sent = threading.Lock(), set()

    def send(server, key):
        return server.request("POST", inbox.path("notify"), token=inbox.token, json_body={"message": key}, headers={"Idempotency-Key": key})

    def write(server, stop):
        while not stop.is_set():
            with lock:
                key = f"key-{next(keys)}"
                sent.add(key)
            try:
                send(server, key)
            except (OSError, AssertionError):
                return  # cut off: the result is unknown

    for _ in range(3):
        killed, stop = group.add(), threading.Event()
        with ThreadPoolExecutor(8) as pool:
            for _ in range(8):
                pool.submit(write, killed, stop)
            aim = len(sent) + 60
            wait_until(lambda: len(sent) >= aim, "it works", 4 * CEILING)
            killed.kill()
            stop.set()
    with ThreadPoolExecutor(8) as pool:
        assert {answer.status for answer in pool.map(lambda key: send(one, key), sorted(sent))} == {200}
    wait_until(lambda: len(inbox.messages()) >= len(sent), "everything is there")
    assert sorted(inbox.messages()) == sorted(sent)
    assert [row["seq"] for row in inbox.activity()] == list(range(1, len(sent) + 1))


# -- changes by one server reach the others


def test_one_row_wakes_every_poll_on_every_server_and_costs_one_read_each(group):
    servers = [group.add({"uploads.sweep_every": "1h", "uploads.check_every": "0s"}) for _ in range(3)]
    workspace = Workspace(servers[0])
    held = 8
    parked = [wire for server in servers for wire in workspace.on(server).park(held, token=workspace.new_token())]
    for server in servers:
        server.wait_metric("restante_sweep_duration_seconds_count", 1)  # the sweep at the start, which reads a lot
    before = [server.metric("restante_store_reads_total") for server in servers]
    (file_id, _), = workspace.upload(("a.txt", b"bytes"))
    for wire in parked:
        row, = wire.read().json()  # before its time was up; at that time the answer would be empty
        assert row["request_body"]["file_id"] == file_id
        wire.close()
    # Each poll reads the inbox and its token, and there is some background work; held polls do not read.
    for server, reads in zip(servers, before):
        assert server.metric("restante_store_reads_total") - reads <= 4 * held + 20


def test_a_revoked_token_ends_on_every_server_with_its_polls_and_streams(group):
    servers = [group.add() for _ in range(3)]
    workspace = Workspace(servers[0])
    revoked = workspace.new_token()
    polls = [workspace.on(server).park(token=revoked)[0] for server in servers]
    with ExitStack() as stack:
        streams = [stack.enter_context(EventStream(server, workspace.path("events/stream"), token=revoked)) for server in servers]
        for stream in streams:
            stream.until("RESYNC")
        tokens = servers[0].get(workspace.path("tokens"), token=workspace.token).json()
        mine, = [token["id"] for token in tokens if revoked.startswith(token["prefix"])]
        assert servers[0].request("DELETE", workspace.path(f"tokens/{mine}"), token=workspace.token).status == 200
        for server in servers:
            wait_until(lambda: server.get(workspace.path("activity"), token=revoked).status == 401, "it is refused")
        for wire in polls:
            assert wire.read().status == 401
        for stream in streams:
            stream.to_end()


def test_when_one_server_replaces_the_operators_token_every_server_accepts_only_the_new_one(group):
    servers = [group.add() for _ in range(3)]
    old = servers[0].admin_token
    workspace = Workspace(servers[0])
    with ExitStack() as stack:
        streams = [stack.enter_context(EventStream(server, workspace.path("events/stream"), token=old)) for server in servers]
        for stream in streams:
            stream.until("RESYNC")
        rotated = servers[1].request("POST", "/admin/token/rotate", token=old)
        assert rotated.status == 200, rotated
        new = servers[0].admin_token
        assert new != old and new in rotated.body.decode()
        for server in servers:
            assert server.get("/admin/uploads/stats", token=new).status == 200
            assert server.get("/admin/uploads/stats", token=old).status == 401
        for stream in streams:
            stream.to_end()
    with ThreadPoolExecutor(3) as pool:
        # Each request uses the token of the one before; in the end all servers have the same token.
        list(pool.map(lambda server: server.request("POST", "/admin/token/rotate", token=new), servers))
    last = servers[0].admin_token
    assert [server.get("/admin/uploads/stats", token=last).status for server in servers] == [200] * 3


def test_servers_that_start_at_once_on_an_empty_database_use_the_same_secrets(group):
    with ThreadPoolExecutor(3) as pool:
        servers = list(pool.map(lambda _: group.add(), range(3)))
    token = servers[0].admin_token
    assert [server.get("/admin/uploads/stats", token=token).status for server in servers] == [200] * 3
    for server in servers:
        server.wait_log('"configuration"')  # logged after both secrets are made
    assert sum("server_key_made" in line for server in servers for line in map(str, server.log())) == 1
    assert sum("admin_token_made" in line for server in servers for line in map(str, server.log())) == 1
    assert not list(group.data.glob("*.new"))


# -- sweeps


def swept(server, outcome):
    return server.metric("restante_pending_uploads_swept_total", f'{{outcome="{outcome}"}}')


def test_sweeps_on_all_servers_delete_each_row_once(group):
    sweeping = {"uploads.ack_retention": "0s", "uploads.sweep_every": "20ms"}
    lasting, brief, third = group.add({**sweeping, "uploads.ttl": "1h"}), group.add({**sweeping, "uploads.ttl": "1s"}), group.add(sweeping)
    servers = [lasting, brief, third]
    workspace = Workspace(lasting)
    stop = threading.Event()

    def keep_sweeping(server):
        while not stop.is_set():
            assert server.request("POST", "/admin/sweep", token=server.admin_token).status in (200, 409)

    with ThreadPoolExecutor(6) as pool:
        sweeps = [pool.submit(keep_sweeping, server) for server in servers]
        expiring, acked = [], []
        for n in range(20):
            content = b"x" * (100_000 if n % 2 else 10)
            expiring += workspace.on(brief).upload((f"brief {n}", content), (f"brief {n} too", content))
            acked += workspace.upload((f"acked {n}", content))
            answer = third.request("POST", workspace.path(f"pending-uploads/{acked[-1][0]}/ack"), token=workspace.token)
            assert answer.status == 200
        total = lambda outcome: sum(swept(server, outcome) or 0 for server in servers)
        wait_until(lambda: total("expired") >= 40 and total("acked") >= 20, "everything is deleted", ceiling=120)
        stop.set()
        for one in sweeps:
            one.result()
    assert (total("expired"), total("acked"), total("error")) == (40, 20, 0)
    receipts = [row["request_body"]["file_id"] for row in workspace.activity() if row["method"] == "chat_upload_expired"]
    assert sorted(receipts) == sorted(file_id for file_id, _ in expiring)
    wait_until(lambda: not [path for path in (group.data / "blobs").rglob("*") if path.is_file() and path.name != MARK], "their blobs are deleted")


# -- a server without notifications


def notification_sessions(postgres, url):
    return postgres.sql(f"SELECT pid FROM pg_stat_activity WHERE datname = '{database_of(url)}' AND application_name = 'restante listener'").split()


def test_a_server_that_gets_no_notifications_answers_its_polls_and_heals(postgres, group):
    one, other = group.add(), group.add()
    workspace = Workspace(one)
    held, = workspace.on(other).park()
    assert len(notification_sessions(postgres, group.url)) == 2
    postgres.sql(*(f"SELECT pg_terminate_backend({pid})" for pid in notification_sessions(postgres, group.url)))
    answer = held.read()
    assert (answer.status, answer.body) == (200, b"[]"), "it does not wait for a notification that cannot arrive"
    other.wait_log("announcements_lost")
    workspace.notify("meanwhile")
    wait_until(lambda: workspace.on(other).messages() == ["meanwhile"], "it is delivered")
    other.wait_log("announcements_healed")
    held, = workspace.on(other).park()
    workspace.notify("again")
    assert [row["method"] for row in held.read().json()] == ["notify"]


@pytest.fixture
def role(postgres, url):
    with ordinary_role(postgres, url) as made:
        yield made


def test_without_notifications_rows_are_still_delivered_and_revoked_tokens_refused(postgres, group, role):
    """The server's other sessions work; the session that listens cannot be opened again."""
    unnotified = group.add(url=role.url)
    workspace = Workspace(unnotified)
    revoked = workspace.new_token()
    assert unnotified.get(workspace.path("activity"), token=revoked).status == 200
    with ThreadPoolExecutor(8) as pool:  # the server opens the sessions that it will need
        list(pool.map(lambda _: unnotified.get(workspace.path("activity"), token=workspace.token), range(64)))
    role.limit(1)
    for pid in notification_sessions(postgres, group.url):
        postgres.sql(f"SELECT pg_terminate_backend({pid})")
    unnotified.wait_log("announcements_lost")
    one = group.add()
    with unnotified.connect() as wire:
        wire.send(workspace.poll_bytes(0))
        # All polls are answered every few seconds, so this one may have been answered before the test sees it held.
        wait_until(lambda: unnotified.metric("restante_held_polls") == 1 or wire.has_input(), "it is held, or was answered")
        workspace.on(one).notify("unheard")
        answer = wire.read()
        assert answer.status == 200, answer  # empty: the client polls again and then gets it
    assert workspace.messages() == ["unheard"]
    tokens = one.get(workspace.path("tokens"), token=workspace.token).json()
    mine, = [token["id"] for token in tokens if revoked.startswith(token["prefix"])]
    assert one.request("DELETE", workspace.path(f"tokens/{mine}"), token=workspace.token).status == 200
    assert unnotified.get(workspace.path("activity"), token=revoked).status == 401
    assert not any(line.get("event") == "announcements_healed" for line in unnotified.log())
    role.limit(-1)
    unnotified.wait_log("announcements_healed")
    held, = workspace.park()
    workspace.on(one).notify("notified")
    assert [row["method"] for row in held.read().json()] == ["notify"]


# -- clocks


@pytest.mark.parametrize("off", [datetime.timedelta(days=3), datetime.timedelta(minutes=-5)], ids=["3 days ahead", "5 minutes behind"])
def test_a_server_with_a_wrong_clock_uses_the_databases_clock(group, tmp_path, off):
    clock = WallClock(tmp_path)
    clock.set(seconds=off.total_seconds())
    right, wrong = group.add(), group.add(environment=clock.environment)
    workspace = Workspace(wrong)
    before = datetime.datetime.now(datetime.timezone.utc)
    (file_id, _), = workspace.upload(("kept.txt", b"kept"))
    workspace.on(right).notify("right")
    workspace.notify("wrong")
    clock.set(seconds=2 * off.total_seconds())  # while it runs, too
    workspace.notify("wrong again")
    after = datetime.datetime.now(datetime.timezone.utc)
    slack = datetime.timedelta(seconds=30)  # far below how wrong it is
    for row in workspace.activity():
        assert before - slack <= moment(row["created_at"]) <= after + slack
    token = workspace.new_token()
    assert right.get(workspace.path("activity"), token=token).status == 200
    for server in (wrong, right):
        assert sweep(server).get("expired", 0) == 0
        assert server.get(workspace.content(file_id), token=workspace.token).body == b"kept"


# -- presence


def presence_ticks(server, number):
    """Waits until the server's presence loop has run so often from now on."""
    def last():
        loops = server.get("/admin/liveness", token=server.admin_token).json()["loops"]
        return next(loop["last_tick_at"] for loop in loops if loop["name"] == "presence")
    for _ in range(number):
        before = last()
        wait_until(lambda: last() != before, "another look at the agents")


def test_a_server_does_not_call_an_agent_silent_that_polls_another_one(group):
    one = group.add({"presence.silence": "5s"})
    inbox = Workspace(one)
    over = threading.Event()

    def poll():
        while not over.is_set():
            assert one.get(inbox.path("activity?since_seq=0&wait=2"), token=inbox.token).json() == []
    agent = threading.Thread(target=poll, daemon=True)
    agent.start()
    presence_ticks(one, 1)  # the poll is in the database
    two = group.add({"presence.silence": "5s"})
    presence_ticks(two, 4)  # longer than the silence and what may be written late
    seen = two.get(f"/workspaces/{inbox.id}", token=two.admin_token).json()
    assert (seen["status"], seen["silence"], seen["silent_for_seconds"]) == ("online", None, None), seen
    assert two.metric("restante_silent_workspaces") == 0
    assert not [line for server in (one, two) for line in server.log() if line["event"] == "workspace_silent"]
    over.set()
    agent.join()
    for server in (one, two):
        server.wait_metric("restante_silent_workspaces", 1)
    reports = [line for server in (one, two) for line in server.log() if line["event"] == "workspace_silent"]
    assert [line["workspace_id"] for line in reports] == [inbox.id], "one of them reports it"
