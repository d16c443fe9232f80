"""PostgreSQL fails in every possible way: nothing acknowledged is lost, nothing is done twice, the answer is true, and the server
recovers without a restart. If the answer of a COMMIT was lost, the server asks for its outcome before it answers any client."""
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from support.checks import check_error
from support.workspace import Workspace, files_of, multipart
from support.postgres import DURABLE, Postgres, clients, primary_and_standby
from support.postgres_proxy import AFTER, BEFORE, BLACK_HOLE, HALF_OPEN, LATE, SILENT, PostgresProxy
from support.server import Server, StartFailed
from support.server_group import ServerGroup, database_of, ordinary_role
from support.waiting import wait_until

QUICK_TO_GIVE_UP = {"postgres.connect_timeout": "6s", "postgres.statement_timeout": "6s"}
UNANSWERED = {"postgres.statement_timeout": "6s"}  # how long the server waits for an answer that does not arrive
LARGE = b"0123456789abcdef" * 20_000  # too large to be stored in the row


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


@pytest.fixture
def proxy(postgres):
    made = PostgresProxy(postgres.port)
    yield made
    made.close()


def send_message(workspace, text, key=None):
    headers = {"Idempotency-Key": key} if key else {}
    return workspace.server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": text}, headers=headers)


def upload_file(workspace, name, content, key=None):
    headers, body = multipart((name, content))
    if key:
        headers["Idempotency-Key"] = key
    return workspace.server.request("POST", workspace.path("chat/uploads"), token=workspace.server.admin_token, headers=headers, body=body)


def check_unavailable(response):
    check_error(response, 503, code="platform_unavailable")
    assert int(response.header("Retry-After")) >= 1
    assert "try again" in response.json()["error"]


def check_outcome_unknown(response):
    check_error(response, 503, code="outcome_unknown")
    assert int(response.header("Retry-After")) >= 1
    assert "Idempotency-Key" in response.json()["error"]


def check_not_ready(server):
    wait_until(lambda: server.get("/ready").status == 503, "the kept answer is replaced")
    ready = server.get("/ready")
    assert ready.status == 503 and ready.header("Retry-After"), ready
    assert ready.json()["checks"]["database"] == "failed" and ready.json()["checks"]["blobs"] == "ok", ready
    assert server.get("/health").status == 200


def wait_ready(server):
    wait_until(lambda: server.get("/ready").status == 200, "the server is ready again")


def check_inbox(workspace, expected):
    """The inbox has these messages, each once, in this order, and no number is missing."""
    assert workspace.messages() == expected
    seqs = [row["seq"] for row in workspace.activity()]
    assert seqs == list(range(1, len(seqs) + 1))


# -- the connection is cut around a COMMIT


@pytest.mark.parametrize("how", [BEFORE, HALF_OPEN, BLACK_HOLE, AFTER, SILENT])
def test_a_message_whose_commit_was_cut_is_there_once_and_acknowledged(group, proxy, how):
    workspace = Workspace(group.add(UNANSWERED, url=proxy.through(group.url)))
    assert send_message(workspace, "first").status == 200
    fault = proxy.arm(how, b"the second")
    answer = send_message(workspace, "the second")
    assert fault.struck.is_set()
    # The server's time may be up before PostgreSQL ends an open transaction without a client; in that case nothing was done.
    assert answer.status == 200 or (how in (HALF_OPEN, BLACK_HOLE) and answer.status == 503), answer
    assert send_message(workspace, "third").status == 200
    check_inbox(workspace, ["first", *["the second"] * (answer.status == 200), "third"])


@pytest.mark.parametrize("how", [BEFORE, HALF_OPEN, BLACK_HOLE, AFTER, SILENT])
@pytest.mark.parametrize("content", [b"small", LARGE], ids=["row", "blob"])
def test_a_file_whose_commit_was_cut_is_there_once_with_its_content(group, proxy, how, content):
    server = group.add(UNANSWERED, url=proxy.through(group.url))
    workspace = Workspace(server)
    fault = proxy.arm(how, b"cut.bin")
    answer = upload_file(workspace, "cut.bin", content)
    assert fault.struck.is_set()
    if how in (HALF_OPEN, BLACK_HOLE) and answer.status == 503:
        answer = upload_file(workspace, "cut.bin", content)  # nothing was done: see above
    (file_id, _), = files_of(answer)
    waiting = server.get(workspace.path("pending-uploads"), token=workspace.token).json()
    assert [item["file_id"] for item in waiting] == [file_id]
    assert server.get(workspace.content(file_id), token=workspace.token).body == content
    assert server.request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), token=workspace.token).status == 200
    methods = [row["method"] for row in workspace.activity()]
    assert methods == ["chat_upload_receive", "chat_upload_acked"]


@pytest.mark.parametrize("how", [BEFORE, AFTER])
def test_a_whole_group_whose_commit_was_cut_is_there_once(group, proxy, how):
    """Every writer of the shared transaction gets a true answer."""
    workspace = Workspace(group.add({"postgres.lanes": "1"}, url=proxy.through(group.url)))
    texts = [f"text {n:02}" for n in range(40)]
    faults = [proxy.arm(how, texts[n].encode()) for n in (5, 20, 35)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda text: send_message(workspace, text).status, texts))
    assert answers == [200] * 40
    assert all(fault.struck.is_set() for fault in faults[:1])
    assert sorted(workspace.messages()) == texts
    check_inbox(workspace, workspace.messages())


def test_no_request_is_answered_before_the_outcome_is_known(group, proxy):
    server = group.add({"postgres.statement_timeout": "20s"}, url=proxy.through(group.url))
    workspace = Workspace(server)
    fault = proxy.arm(AFTER, b"unsure")
    fault.then = proxy.refuse
    with server.connect() as wire:
        wire.send(workspace.notify_bytes("unsure"))
        assert fault.struck.wait(30)
        tried = proxy.connections
        wait_until(lambda: proxy.connections >= tried + 5, "the server asks again and again")
        wire.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            wire.sock.recv(1)
        proxy.accept()
        assert wire.read().status == 200
    wait_ready(server)
    check_inbox(workspace, ["unsure"])


def test_the_outcome_of_a_swallowed_commit_is_decided_before_the_answer_and_the_commit_then_comes_too_late(postgres, group, proxy):
    """Neither side sees the connection end. The server ends the open transaction, so that its COMMIT can do nothing any more."""
    name = database_of(group.url)
    server = group.add(QUICK_TO_GIVE_UP, url=proxy.through(group.url))
    workspace = Workspace(server)
    assert send_message(workspace, "first").status == 200
    fault = proxy.arm(BLACK_HOLE, b"swallowed")
    unfinished = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND state = 'idle in transaction'"
    with server.connect() as wire:
        wire.send(workspace.notify_bytes("swallowed", headers={"Idempotency-Key": "swallowed"}))
        assert fault.struck.wait(30)
        answer = wire.read()
    assert postgres.sql(unfinished) == "0\n", "the answer came while the transaction could still be committed"
    fault.release()
    assert answer.status in (200, 503), answer
    assert workspace.messages() == ["first", *["swallowed"] * (answer.status == 200)]
    wait_until(lambda: send_message(workspace, "swallowed", key="swallowed").status == 200, "it is accepted")
    check_inbox(workspace, ["first", "swallowed"])


@pytest.mark.parametrize("how, done", [(BEFORE, 0), (AFTER, 1)], ids=[BEFORE, AFTER])
def test_if_the_outcome_of_a_commit_stays_unknown_the_answer_is_503_and_a_repetition_does_it_once(group, proxy, how, done):
    server = group.add(QUICK_TO_GIVE_UP, url=proxy.through(group.url))
    workspace = Workspace(server)
    for fault in (proxy.arm(how, b"unsure"), proxy.arm(how, b"unsure.bin")):
        fault.then = proxy.refuse
    check_outcome_unknown(send_message(workspace, "unsure", key="message"))
    proxy.accept()
    wait_ready(server)
    assert workspace.messages() == ["unsure"] * done
    check_outcome_unknown(upload_file(workspace, "unsure.bin", LARGE, key="file"))
    proxy.accept()
    wait_ready(server)
    pending = lambda: server.get(workspace.path("pending-uploads"), token=workspace.token).json()
    assert len(pending()) == done
    wait_until(lambda: send_message(workspace, "unsure", key="message").status == 200, "the message is accepted")
    wait_until(lambda: upload_file(workspace, "unsure.bin", LARGE, key="file").status == 200, "the file is accepted")
    assert len(pending()) == 1
    check_inbox(workspace, ["unsure"])
    # The blob is kept while it is unknown whether its row is there.
    (file_id, _), = files_of(upload_file(workspace, "unsure.bin", LARGE, key="file"))
    assert server.get(workspace.content(file_id), token=workspace.token).body == LARGE


def test_a_commit_that_arrives_late_is_waited_for(group, proxy):
    """The connection stalls for longer than the server waits; the COMMIT in it still arrives."""
    server = group.add({**QUICK_TO_GIVE_UP, "postgres.statement_timeout": "4s"}, url=proxy.through(group.url))
    workspace = Workspace(server)
    for n in range(3):
        fault = proxy.arm(LATE, f"late-{n}".encode())
        with server.connect() as wire:
            wire.send(workspace.notify_bytes(f"late-{n}", headers={"Idempotency-Key": f"late-{n}"}))
            assert fault.struck.wait(60)
            tried = proxy.connections
            wait_until(lambda: proxy.connections > tried, "the server gives up and opens a new connection")
            proxy.go_on()
            assert wire.read().status in (200, 503)
    wait_ready(server)
    for n in range(3):
        wait_until(lambda: send_message(workspace, f"late-{n}", key=f"late-{n}").status == 200, "it is accepted")
    assert sorted(workspace.messages()) == [f"late-{n}" for n in range(3)], "a repeated message may come after later ones"
    check_inbox(workspace, workspace.messages())


# -- the database fails under load


class Writers:
    """Threads that send one message after the other, each with a key, and repeat it until it is accepted. Use as a context manager."""

    def __init__(self, workspaces, count):
        self.workspaces, self.count, self.accepted, self.statuses = workspaces, count, [], set()
        self.stopping, self.lock = threading.Event(), threading.Lock()

    def _write(self, number):
        n = 0
        while not self.stopping.is_set():
            text = f"{number}.{n}"
            while True:
                answer = send_message(self.workspaces[number % len(self.workspaces)], text, key=text)
                with self.lock:
                    self.statuses.add(answer.status)
                if answer.status == 200:
                    break
            with self.lock:
                self.accepted.append(text)
            n += 1

    def progress(self, more=20):
        """Waits until so many more were accepted."""
        aim = len(self.accepted) + more
        wait_until(lambda: len(self.accepted) >= aim, "messages are accepted", ceiling=120)

    def __enter__(self):
        self.pool = ThreadPoolExecutor(self.count)
        self.running = [self.pool.submit(self._write, number) for number in range(self.count)]
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.pool.shutdown()
        for one in self.running:
            one.result()


def check_written(workspace, writers):
    messages = workspace.messages()
    assert sorted(messages) == sorted(writers.accepted), "lost or doubled"
    for number in range(writers.count):
        mine = [text for text in messages if text.startswith(f"{number}.")]
        assert mine == [f"{number}.{n}" for n in range(len(mine))], "the messages of one writer are in order"
    check_inbox(workspace, messages)
    assert writers.statuses <= {200, 503}, writers.statuses


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL], ids=["fast", "immediate", "kill"])
def test_a_database_that_is_restarted_under_load_loses_and_doubles_nothing(postgres, group, how):
    workspace = Workspace(group.add())
    with Writers([workspace], 6) as writers:
        for _ in range(2):
            writers.progress()
            postgres.restart(how)
        writers.progress()
    check_written(workspace, writers)


def test_connections_that_are_cut_under_load_lose_and_double_nothing(group, proxy):
    workspace = Workspace(group.add(url=proxy.through(group.url)))
    with Writers([workspace], 6) as writers:
        for _ in range(12):
            writers.progress(10)
            proxy.cut()
        writers.progress()
    check_written(workspace, writers)


@contextmanager
def locked(url, table):
    """Nobody else can use the table."""
    with subprocess.Popen([clients() / "psql", "-qAtX", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        holder.stdin.write(f"BEGIN; LOCK TABLE {table}; SELECT 'locked';\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "locked\n"
        yield


def test_a_write_waits_for_a_lost_database_as_long_as_a_new_session_may_take(postgres, group, proxy):
    server = group.add({"postgres.connect_timeout": "30m", "postgres.lanes": "1"}, url=proxy.through(group.url))
    workspace = Workspace(server)
    waiting = (f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database_of(group.url)}' AND wait_event_type = 'Lock' AND "
               "query LIKE '%FROM inbox_heads%FOR UPDATE%'")
    with server.connect() as wire:
        with locked(group.url, "inbox_heads"):
            wire.send(workspace.notify_bytes("waits"))
            wait_until(lambda: postgres.sql(waiting) != "0\n", "the write has begun and not committed")
            proxy.refuse()
        tried = proxy.connections
        wait_until(lambda: proxy.connections >= tried + 150, "the server tries again and again, for longer than a fixed 3 s", ceiling=120)
        proxy.accept()
        assert wire.read().status == 200
    wait_ready(server)
    check_inbox(workspace, ["waits"])


# -- the database is reachable but does not work


def test_a_database_that_stalls_is_given_up_in_time_and_found_again(postgres, group):
    server = group.add(QUICK_TO_GIVE_UP)
    workspace = Workspace(server)
    workspace.notify("before")
    held, = workspace.park()
    with postgres.stalled():
        check_unavailable(send_message(workspace, "meanwhile", key="meanwhile"))
        check_not_ready(server)
        answer = held.read()
        assert (answer.status, answer.body) == (200, b"[]"), "a held poll is answered empty"
    wait_ready(server)
    wait_until(lambda: send_message(workspace, "meanwhile", key="meanwhile").status == 200, "the server writes again")
    check_inbox(workspace, ["before", "meanwhile"])


@pytest.fixture
def role(postgres, url):
    with ordinary_role(postgres, url) as made:
        yield made


@pytest.fixture
def role_group(role):
    """Servers that connect as that role. They end before the role is dropped, because DROP waits for all locks."""
    made = ServerGroup(role.url)
    yield made
    made.finish()


def test_a_database_that_is_out_of_connections_is_missed_and_found_again(role_group, role):
    server = role_group.add()
    workspace = Workspace(server)
    workspace.notify("before")
    role.limit(0)
    role.end_sessions()
    check_unavailable(send_message(workspace, "meanwhile"))
    check_not_ready(server)
    assert "too many connections" in server.wait_log("not_ready")["reason"]
    role.limit(-1)
    wait_ready(server)
    wait_until(lambda: send_message(workspace, "after", key="after").status == 200, "the server writes again")
    check_inbox(workspace, ["before", "after"])


def test_a_server_that_gets_fewer_connections_than_configured_works_with_those(role_group, role):
    """One session to listen, one to write, one for background work. One is left for reads, and all readers share it."""
    server = role_group.add({"postgres.lanes": "1", "postgres.readers": "8"})
    workspace = Workspace(server)
    workspace.notify("before")
    swept = lambda: server.request("POST", "/admin/sweep", token=server.admin_token).status == 200
    wait_until(swept, "the background work has its session")
    role.limit(4)
    role.end_sessions()
    with ThreadPoolExecutor(8) as pool:  # the readers come first and take the free sessions
        list(pool.map(lambda _: server.get(workspace.path("activity"), token=workspace.token), range(40)))
    wait_until(lambda: send_message(workspace, "after", key="after").status == 200, "the server writes again")
    wait_until(swept, "the background work has its session")
    wait_until(lambda: server.get("/ready").status == 200, "the server gets notifications again")
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: server.get(workspace.path("activity"), token=workspace.token).status, range(100)))
    assert answers == [200] * 100


def test_a_server_that_gets_no_connection_does_not_start_and_reports_why(role):
    role.limit(0)
    with pytest.raises(StartFailed) as failed:
        Server(arguments=("--database", role.url))
    assert "too many connections" in str(failed.value) and "?" not in str(failed.value)


def test_a_database_that_can_only_be_read_is_read_and_reported(postgres, group):
    server = group.add()
    workspace = Workspace(server)
    workspace.notify("before")
    name = database_of(group.url)
    postgres.sql("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    try:
        wait_until(lambda: postgres.sql("SHOW default_transaction_read_only", database=name) == "on\n", "it has taken effect")
        check_unavailable(send_message(workspace, "meanwhile"))
        check_not_ready(server)
        assert "can only be read" in server.wait_log("not_ready")["reason"]
        assert workspace.messages() == ["before"]
    finally:
        postgres.sql("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
    wait_ready(server)
    wait_until(lambda: send_message(workspace, "after", key="after").status == 200, "the server writes again")
    check_inbox(workspace, ["before", "after"])


# -- failover


@pytest.fixture
def pair():
    with primary_and_standby() as both:
        yield both


def test_after_a_failover_the_new_primary_is_found_and_nothing_acknowledged_is_lost(pair):
    primary, standby = pair
    primary.sql("CREATE DATABASE pair")
    made = ServerGroup(f"postgres://{primary.user}@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/pair?target_session_attrs=read-write")
    try:
        server = made.add()
        workspace = Workspace(server)
        with Writers([workspace], 4) as writers:
            writers.progress()
            primary.stop(signal.SIGKILL)
            standby.sql("SELECT pg_promote()")
            writers.progress()
        wait_ready(server)
        check_written(workspace, writers)
    finally:
        made.finish()


def test_a_standby_refuses_the_start_with_its_reason(pair):
    primary, standby = pair
    primary.sql("CREATE DATABASE pair")
    made = ServerGroup(primary.url("pair"))
    try:
        made.add()
        wait_until(lambda: standby.sql("SELECT count(*) FROM pg_database WHERE datname = 'pair'") == "1\n", "the standby has it")
        wait_until(lambda: standby.sql("SELECT to_regclass('commit_marks') IS NOT NULL", database="pair") == "t\n", "and the tables")
        with pytest.raises(StartFailed) as failed:
            made.add(url=standby.url("pair"))
        assert "recovery" in str(failed.value) or "read-only" in str(failed.value), failed.value
    finally:
        made.finish()
