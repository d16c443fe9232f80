"""A switchover of PostgreSQL: the standby is promoted, and the old primary stays alive but takes no more writes. All sessions of a
server follow to the new primary, those that read and the one that listens included: what was written is read, and what was
revoked is refused."""
import pytest

from support.checks import check_error
from support.postgres import primary_and_standby
from support.server_group import ServerGroup
from support.waiting import wait_until
from support.workspace import Workspace


@pytest.fixture
def pair():
    with primary_and_standby() as both:
        yield both


@pytest.fixture
def group(pair):
    primary, standby = pair
    primary.sql("CREATE DATABASE pair")
    made = ServerGroup(f"postgres://{primary.user}@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/pair")
    yield made
    made.finish()


def end_writes(primary):
    primary.sql("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    wait_until(lambda: primary.sql("SHOW default_transaction_read_only") == "on\n", "it takes no more writes")


def switch_over(pair):
    primary, standby = pair
    end_writes(primary)
    standby.sql("SELECT pg_promote()")


def make_token(workspace):
    """(id, secret) of one more token."""
    made = workspace.server.request("POST", workspace.path("tokens"), token=workspace.server.admin_token, json_body={"label": "spare"})
    assert made.status == 201, made
    return made.json()["token_id"], made.json()["auth_token"]


def revoke(workspace, token_id):
    done = workspace.server.request("DELETE", workspace.path(f"tokens/{token_id}"), token=workspace.server.admin_token)
    assert done.status == 200, done


def send_until_accepted(workspace, text):
    send = lambda: workspace.server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": text},
                                            headers={"Idempotency-Key": text})
    wait_until(lambda: send().status == 200, "the message is accepted")


def read(workspace, token=None):
    return workspace.server.get(workspace.path("activity?since_seq=0"), token=token or workspace.token)


def test_what_was_written_after_a_switchover_is_read_at_once_and_what_was_revoked_is_refused_at_once(pair, group):
    workspace = Workspace(group.add())
    token_id, secret = make_token(workspace)
    send_until_accepted(workspace, "before")
    assert workspace.messages() == ["before"] and read(workspace, secret).status == 200
    switch_over(pair)
    send_until_accepted(workspace, "after")
    assert workspace.messages() == ["before", "after"]
    revoke(workspace, token_id)
    assert read(workspace, secret).status == 401


def test_a_server_that_only_reads_follows_too(pair, group):
    """Nothing that it does itself is refused by the old primary."""
    writing, reading = group.add(), group.add(url=group.url + "?target_session_attrs=read-write")
    workspace = Workspace(writing)
    token_id, secret = make_token(workspace)
    send_until_accepted(workspace, "before")
    there = workspace.on(reading)
    assert there.messages() == ["before"] and read(there, secret).status == 200
    held, = there.park()
    switch_over(pair)
    send_until_accepted(workspace, "after")
    revoke(workspace, token_id)
    wait_until(lambda: read(there, secret).status == 401, "the revoked token is refused")
    wait_until(lambda: there.messages() == ["before", "after"], "the message is read")
    assert held.read().status == 200, "a held poll does not wait for notifications of the old primary"
    reading.wait_log("announcements_healed")
    held, = there.park()
    send_until_accepted(workspace, "last")
    assert [row["response_body"]["result"] for row in held.read().json()] == ["last"]


def test_while_none_of_several_hosts_takes_writes_nothing_is_read(pair, group):
    """The one that still answers may be the old primary, on which no token is revoked any more."""
    primary, standby = pair
    server = group.add()
    workspace = Workspace(server)
    send_until_accepted(workspace, "before")
    assert workspace.messages() == ["before"]
    end_writes(primary)
    refused = wait_until(lambda: (answer := read(workspace)).status != 200 and answer, "the read is refused")
    check_error(refused, 503, code="platform_unavailable")
    wait_until(lambda: server.get("/ready").status == 503, "the server reports it")
    assert "read-only" in server.wait_log("not_ready")["reason"]
    standby.sql("SELECT pg_promote()")
    wait_until(lambda: server.get("/ready").status == 200, "the server is ready again")
    wait_until(lambda: read(workspace).status == 200, "the new primary is read")
    assert workspace.messages() == ["before"]
