"""Presence of agents in the API, what the server records of polls, invalid tokens, sessions that end with their token, and the
server's background loops."""
import re
import secrets

import pytest

from support.checks import check_error
from support.workspace import Workspace
from support.events import EventStream
from support.server import Server, StartFailed
from support.waiting import wait_until
from support.wire import request


def seen(workspace):
    return workspace.server.get(f"/workspaces/{workspace.id}", token=workspace.server.admin_token).json()


def send(workspace, text):
    body = {"method": "message/send", "params": {"message": {"content": text}}}
    sent = workspace.server.request("POST", workspace.path("a2a"), token=workspace.server.admin_token, json_body=body)
    assert sent.status == 200, sent


# -- listening


def test_an_agent_listens_as_long_as_it_holds_a_poll_and_is_online_at_once(server, workspace):
    assert (seen(workspace)["silence"], seen(workspace)["listening"]) == ("never polled", False)
    wire, = workspace.park()
    now = seen(workspace)
    assert (now["listening"], now["silence"], now["silent_for_seconds"], now["status"]) == (True, None, None, "online")
    assert now["last_poll_at"]
    wire.close()
    wait_until(lambda: not seen(workspace)["listening"], "the cut poll has ended")
    assert seen(workspace)["usual_poll_gap_seconds"] is not None
    wait_until(lambda: workspace.id in [line.get("workspace_id") for line in server.log() if line["event"] == "workspace_online"], "it is logged")


def test_an_agent_that_sends_heartbeats_but_does_not_poll_is_reported_and_shown_as_silent(start):
    server = start({"presence.silence": "1s"})
    workspace = Workspace(server)
    with EventStream(server, "/events/stream", token=server.admin_token, presence=True) as stream:
        stream.until("RESYNC")  # the stream is open before the silence begins, because that event is sent only once
        assert workspace.activity() == []
        event = stream.until("WORKSPACE_SILENT")[-1].data
        assert event["workspace_id"] == workspace.id and event["silent_for_seconds"] >= 1, event
    beat = server.request("POST", "/registry/heartbeat", token=workspace.token, json_body={"workspace_id": workspace.id})
    assert beat.status == 200
    now = seen(workspace)
    assert now["status"] == "online" and now["silent_for_seconds"] >= 1, now
    assert re.fullmatch(r"silent for \d+ (s|min)", now["silence"]), now
    server.wait_metric("restante_silent_workspaces", 1)
    wire, = workspace.park()
    assert seen(workspace)["silence"] is None
    server.wait_metric("restante_silent_workspaces", 0)
    wire.close()


def test_a_read_by_a_person_does_not_count_as_a_poll_of_the_agent(server, workspace):
    assert server.get(workspace.path("activity?since_seq=0"), token=server.admin_token).status == 200
    assert seen(workspace)["silence"] == "never polled"


def test_recorded_polls_are_there_after_a_restart(tmp_path):
    with Server(data=tmp_path) as server:
        workspace = Workspace(server)
        for text in ("one", "two", "three"):
            send(workspace, text)
        assert len(workspace.activity()) == 3
        before = seen(workspace)
    with Server(data=tmp_path) as server:
        workspace = workspace.on(server)
        after = seen(workspace)
        assert after["last_poll_at"] >= before["last_poll_at"]
        assert after["usual_poll_gap_seconds"] is not None and after["silence"] is None
        # An ack of 0 changes nothing: the answer is the number that the cursors had acked.
        acked = server.request("POST", workspace.path("activity/ack"), token=workspace.token, json_body={"acked_seq": 0})
        assert acked.json() == {"last_acked_seq": 3}
        used, = [token["last_used_at"] for token in server.get(workspace.path("tokens"), token=workspace.token).json()
                 if workspace.token.startswith(token["prefix"])]
        assert used


# -- invalid tokens


def test_guessing_is_slowed_down_and_valid_tokens_are_not(start):
    server = start({"limits.invalid_tokens_per_minute": 5})
    workspace = Workspace(server)
    for _ in range(5):
        check_error(server.get(workspace.path("activity"), token=secrets.token_urlsafe(32)), 401, code="invalid_token")
    refused = server.get(workspace.path("activity"), token=secrets.token_urlsafe(32))
    check_error(refused, 429, code="too_many_invalid_tokens")
    assert 1 <= int(refused.header("Retry-After")) <= 60 and refused.json()["retry_after"] == int(refused.header("Retry-After"))
    check_error(sign_in(server, secrets.token_urlsafe(32)), 429, code="too_many_invalid_tokens")
    check_error(server.get("/workspaces", token=workspace.token), 401, code="admin_required")
    for _ in range(10):
        assert server.get(workspace.path("activity"), token=workspace.token).status == 200
    assert sign_in(server, server.admin_token).status == 200
    assert server.metric("restante_invalid_tokens_total") == 7


def test_behind_a_trusted_proxy_the_clients_address_counts(start):
    server = start({"limits.invalid_tokens_per_minute": 2, "trusted_proxies": "127.0.0.1"})

    def guess(address):
        return server.get("/session", token=secrets.token_urlsafe(32), headers={"X-Forwarded-For": address}).status

    assert [guess("198.51.100.7") for _ in range(3)] == [401, 401, 429]
    assert [guess(f"2001:db8:0:7::{i}") for i in range(3)] == [401, 401, 429], "one /64 is one address"
    assert guess("198.51.100.8") == 401


# -- sessions


def sign_in(server, token):
    return server.request("POST", "/session", json_body={"token": token}, headers={"Sec-Fetch-Site": "same-origin"})


def park(workspace, cookie):
    """A poll held by the page's session."""
    wire = workspace.server.connect()
    held = workspace.server.metric("restante_held_polls") or 0
    wire.send(request("GET", workspace.path(f"activity?since_seq={workspace.head()}&wait=50"),
                      {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}))
    wait_until(lambda: workspace.server.metric("restante_held_polls") == held + 1, "the poll is held")
    return wire


def cookie_of(answer):
    assert answer.status == 200, answer
    return re.match(r"[^;]+", answer.header("Set-Cookie"))[0]


def test_a_session_and_its_held_polls_end_with_the_token_that_opened_it(server, workspace):
    made = server.request("POST", "/admin/invites", token=server.admin_token,
                          json_body={"kind": "sender", "workspace_id": workspace.id}).json()
    cookie = cookie_of(sign_in(server, made["token"]))
    wire = park(workspace, cookie)
    assert server.request("DELETE", workspace.path(f"tokens/{made['token_id']}"), token=server.admin_token).status == 200
    check_error(wire.read(), 401, code="invalid_token")
    wire.close()
    check_error(server.get("/session", headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}), 401)


def test_a_new_admin_token_and_signing_out_end_the_held_polls_of_sessions(start):
    server = start()
    workspace = Workspace(server)
    stays, goes = (cookie_of(sign_in(server, server.admin_token)) for _ in range(2))
    first, second = park(workspace, stays), park(workspace, goes)
    assert server.request("DELETE", "/session", headers={"Cookie": goes, "Sec-Fetch-Site": "same-origin"}).status == 200
    check_error(second.read(), 401, code="invalid_token")
    assert not first.has_input()
    assert server.request("POST", "/admin/token/rotate", token=server.admin_token).status == 200
    check_error(first.read(), 401, code="invalid_token")
    first.close(), second.close()


def invited(workspace):
    """A link for a person."""
    made = workspace.server.request("POST", "/admin/invites", token=workspace.server.admin_token,
                                    json_body={"kind": "sender", "workspace_id": workspace.id})
    return made.json()["token"]


def test_all_sessions_of_one_link_share_the_links_limit_of_held_polls(start):
    server = start({"limits.polls_per_token": 2})
    workspace = Workspace(server)
    link = invited(workspace)
    first, second = (park(workspace, cookie_of(sign_in(server, link))) for _ in range(2))
    other = park(workspace, cookie_of(sign_in(server, invited(workspace))))
    third = server.connect()
    third.send(request("GET", workspace.path(f"activity?since_seq={workspace.head()}&wait=50"),
                       {"Cookie": cookie_of(sign_in(server, link)), "Sec-Fetch-Site": "same-origin"}))
    assert first.read().body == b"[]", "the oldest of the link"
    workspace.notify("hello")
    for wire in (second, third, other):
        assert len(wire.read().json()) == 1
        wire.close()
    first.close()


def test_one_session_more_than_a_link_may_have_ends_the_oldest_and_its_poll(server, workspace):
    link = invited(workspace)
    oldest = cookie_of(sign_in(server, link))
    wire = park(workspace, oldest)
    cookies = [cookie_of(sign_in(server, link)) for _ in range(20)]
    check_error(wire.read(), 401, code="invalid_token")
    wire.close()
    alive = lambda cookie: server.get("/session", headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}).status
    assert [alive(oldest), *map(alive, cookies)] == [401] + [200] * 20


# -- loops


def test_the_loops_report_that_they_run(server):
    loops = {loop["name"]: loop for loop in server.get("/admin/liveness", token=server.admin_token).json()["loops"]}
    assert {"presence", "retention"} <= set(loops)
    assert all(loop["ok"] and loop["failures"] == 0 and loop["period_seconds"] > 0 for loop in loops.values()), loops

    def ticked():
        now = server.get("/admin/liveness", token=server.admin_token).json()["loops"]
        return next(loop["last_tick_at"] for loop in now if loop["name"] == "retention")

    wait_until(ticked, "retention has run")


def test_the_sweep_loop_reports_the_last_sweep_and_its_interval_not_the_last_check_for_one(start):
    server = start({"uploads.sweep_every": "7m", "delegations.sweep_every": "9m"})
    look = lambda: {loop["name"]: loop for loop in server.get("/admin/health", token=server.admin_token).json()["loops"]}
    ran = wait_until(lambda: (lambda seen: seen["sweep"]["last_tick_at"] and seen["delegations"]["last_tick_at"] and seen)(look()), "both ran")
    assert (ran["sweep"]["period_seconds"], ran["delegations"]["period_seconds"]) == (420, 540)
    # The loop of the checks runs every second, like that of the sweeps: after two more checks the sweep loop has found nothing due.
    for _ in range(2):
        before = look()["integrity"]["last_tick_at"]
        wait_until(lambda: look()["integrity"]["last_tick_at"] != before, "another second")
    now = look()
    for name in ("sweep", "delegations"):
        assert now[name]["last_tick_at"] == ran[name]["last_tick_at"] and now[name]["ok"], now[name]


def test_a_ceiling_below_the_retention_is_refused(start):
    with pytest.raises(StartFailed, match="activity.ceiling"):
        start({"activity.retention": "48h", "activity.ceiling": "24h"})
