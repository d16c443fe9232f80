"""PostgreSQL as the database: the same behaviour as with SQLite, several servers at once, and a database that is stopped."""
import os
import signal
import subprocess
import tempfile
import threading

import pytest

from support.workspace import Workspace
from support.events import EventStream
from support.postgres import DURABLE, Postgres
from support.server import Server, StartFailed, binary
from support.server_group import SETTINGS, ServerGroup
from support.wall_clock import WallClock
from support.waiting import wait_until


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


def restante(*arguments):
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env={key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")})


def test_a_file_is_uploaded_polled_fetched_and_acked(group):
    server = group.add()
    workspace = Workspace(server)
    for content in (b"small", b"large" * 100_000):
        (file_id, item), = workspace.upload(("report.pdf", content))
        row = workspace.activity()[-1]
        assert (row["method"], row["request_body"]["file_id"]) == ("chat_upload_receive", file_id)
        fetched = server.get(workspace.content(file_id), token=workspace.token)
        assert (fetched.status, fetched.body) == (200, content)
        acked = server.request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), token=workspace.token)
        assert acked.json() == {"acked": True}
        assert server.get(workspace.content(file_id), token=workspace.token).status == 404
        assert workspace.activity()[-1]["method"] == "chat_upload_acked"


def test_everything_is_still_there_after_a_restart_of_the_server(group):
    server = group.add()
    workspace = Workspace(server)
    (file_id, _), = workspace.upload(("a.txt", b"bytes"))
    workspace.notify("hello")
    rows = workspace.activity()
    server.stop()
    again = workspace.on(group.add())
    assert again.activity() == rows
    assert again.server.get(again.content(file_id), token=again.token).body == b"bytes"


def test_a_message_at_one_server_wakes_a_poll_that_another_holds(group):
    one, other = group.add(), group.add()
    workspace = Workspace(one)
    wire, = workspace.on(other).park()
    (file_id, _), = workspace.upload(("a.txt", b"bytes"))
    row, = wire.read().json()
    assert row["request_body"]["file_id"] == file_id
    assert other.get(workspace.content(file_id), token=workspace.token).body == b"bytes"


def test_a_token_revoked_on_one_server_ends_its_polls_on_another(group):
    one, other = group.add(), group.add()
    workspace = Workspace(one)
    revoked = workspace.new_token()
    wire, = workspace.on(other).park(token=revoked)
    tokens = one.get(workspace.path("tokens"), token=workspace.token).json()
    mine, = [token["id"] for token in tokens if revoked.startswith(token["prefix"])]
    assert one.request("DELETE", workspace.path(f"tokens/{mine}"), token=workspace.token).status == 200
    assert wire.read().status == 401


def test_a_token_revoked_on_one_server_is_refused_by_another_that_knew_it(group):
    one, other = group.add(), group.add()
    workspace = Workspace(one)
    revoked = workspace.new_token()
    assert other.get(workspace.path("activity"), token=revoked).status == 200
    tokens = one.get(workspace.path("tokens"), token=workspace.token).json()
    mine, = [token["id"] for token in tokens if revoked.startswith(token["prefix"])]
    assert one.request("DELETE", workspace.path(f"tokens/{mine}"), token=workspace.token).status == 200
    assert one.get(workspace.path("activity"), token=revoked).status == 401
    wait_until(lambda: other.get(workspace.path("activity"), token=revoked).status == 401, "the other server knows of it")


def test_a_stream_on_one_server_has_the_events_of_another(group):
    one, other = group.add(), group.add()
    workspace = Workspace(one)
    with EventStream(other, workspace.path("events/stream"), token=workspace.token) as stream:
        stream.until("RESYNC")
        workspace.notify("hello")
        stream.until("AGENT_MESSAGE")
        (file_id, _), = workspace.upload(("a.txt", b"bytes"))
        stream.until("UPLOAD_STAGED")
        # Events without a row are sent to another server only once it has announced its interest: fetch until the event arrives.
        received = threading.Event()

        def fetch():
            while not received.wait(0.1):
                one.get(workspace.content(file_id), token=workspace.token)

        fetching = threading.Thread(target=fetch)
        fetching.start()
        try:
            stream.until("UPLOAD_FETCHED")
        finally:
            received.set()
            fetching.join()


def test_two_servers_that_start_at_once_migrate_once(postgres, url):
    with tempfile.TemporaryDirectory() as folder:
        running = [subprocess.Popen([binary(), "migrate", "up", "--data", folder, "--database", url], stdout=subprocess.PIPE, text=True)
                   for _ in range(4)]
        outputs = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert sum(text.startswith("Applied") for text in outputs) == 1, outputs


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL], ids=["fast", "immediate", "kill"])
def test_a_database_that_is_restarted_is_missed_and_found_again(postgres, group, how):
    server = group.add()
    workspace = Workspace(server)
    workspace.notify("before")
    wire, = workspace.park()
    postgres.stop(how)
    try:
        # Held polls are answered; new requests get a 503 with Retry-After.
        assert wire.read().status in (200, 503)
        refused = server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": "meanwhile"})
        assert refused.status == 503 and refused.json()["code"] == "platform_unavailable" and refused.header("Retry-After")
        assert server.get("/ready").status == 503
        assert server.get("/health").status == 200
    finally:
        postgres.start()
    wait_until(lambda: server.get("/ready").status == 200, "the server is ready again")
    # A 503 does not mean that nothing was done, so the repetition has the same key.
    again = lambda: server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": "after"},
                                   headers={"Idempotency-Key": "after"})
    wait_until(lambda: again().status == 200, "the server writes again")
    messages = workspace.messages()
    assert messages[0] == "before" and messages.count("meanwhile") == 0 and messages.count("after") == 1


def test_a_database_that_is_not_there_refuses_the_start(postgres):
    with pytest.raises(StartFailed) as failed:
        Server(SETTINGS, arguments=("--database", f"postgres://nobody:hunter2@127.0.0.1:{postgres.port}/no_such_database"))
    assert failed.value.code == 69
    assert "cannot be opened" in str(failed.value) and "hunter2" not in str(failed.value)


def test_a_foreign_database_is_not_changed(postgres, url):
    postgres.sql("CREATE TABLE customers (id int)", database=url.rpartition("/")[2])
    refused = restante("migrate", "up", "--database", url)
    assert refused.returncode != 0 and "not Restante's" in refused.stderr
    assert postgres.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", database=url.rpartition("/")[2]) == "1\n"


def test_a_start_is_compared_with_the_clock_of_the_database(url, tmp_path):
    clock = WallClock(tmp_path)
    clock.set(days=3)
    with Server(arguments=("--database", url), environment=clock.environment) as server:
        assert server.get("/ready").json()["checks"]["clock"] == "doubted"
        doubt = server.get("/admin/health", token=server.admin_token).json()["clock_doubt"]
        assert "that of the database differ by 3 days" in doubt, doubt
