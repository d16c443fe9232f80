"""PostgreSQL fails in every way it knows: nothing acknowledged is lost, nothing is done twice, the answer tells the truth, and
everything heals without a restart. A COMMIT whose answer was lost is asked about before anybody is answered."""
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.checks import check_error
from support.workspace import Workspace, files_of, multipart
from support.postgres import DURABLE, Postgres
from support.postgres_proxy import AFTER, BEFORE, BLACK_HOLE, HALF_OPEN, LATE, SILENT, PostgresProxy
from support.server import Server, StartFailed
from support.server_group import ServerGroup, database_of, ordinary_role
from support.waiting import wait_until

QUICK_TO_GIVE_UP = {"postgres.connect_timeout": "6s", "postgres.statement_timeout": "6s"}
UNANSWERED = {"postgres.statement_timeout": "6s"}  # so long does everybody wait for an answer that does not come
LARGE = b"0123456789abcdef" * 20_000  # beyond what goes into a row


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


def say(workspace, text, key=None):
    headers = {"Idempotency-Key": key} if key else {}
    return workspace.server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": text}, headers=headers)


def send(workspace, name, content, key=None):
    headers, body = multipart((name, content))
    if key:
        headers["Idempotency-Key"] = key
    return workspace.server.request("POST", workspace.path("chat/uploads"), token=workspace.server.admin_token, headers=headers, body=body)


def check_unavailable(response):
    check_error(response, 503, code="platform_unavailable")
    assert int(response.header("Retry-After")) >= 1
    assert "try again" in response.json()["error"]


def check_not_ready(server):
    ready = server.get("/ready")
    assert ready.status == 503 and ready.header("Retry-After"), ready
    assert ready.json()["checks"]["database"] == "failed" and ready.json()["checks"]["blobs"] == "ok", ready
    assert server.get("/health").status == 200


def wait_ready(server):
    wait_until(lambda: server.get("/ready").status == 200, "the server is ready again")


def check_log(workspace, expected):
    """These messages, each once, in this order, and no number is left out."""
    assert workspace.messages() == expected
    seqs = [row["seq"] for row in workspace.activity()]
    assert seqs == list(range(1, len(seqs) + 1))


# -- the connection is cut around a COMMIT


@pytest.mark.parametrize("how", [BEFORE, HALF_OPEN, BLACK_HOLE, AFTER, SILENT])
def test_a_message_whose_commit_was_cut_is_there_once_and_acknowledged(group, proxy, how):
    workspace = Workspace(group.add(UNANSWERED, url=proxy.through(group.url)))
    assert say(workspace, "first").status == 200
    fault = proxy.arm(how, b"the second")
    answer = say(workspace, "the second")
    assert fault.struck.is_set()
    # Until an open transaction whose client is gone has been ended, everybody's patience may be over: then nothing was done.
    assert answer.status == 200 or (how in (HALF_OPEN, BLACK_HOLE) and answer.status == 503), answer
    assert say(workspace, "third").status == 200
    check_log(workspace, ["first", *["the second"] * (answer.status == 200), "third"])


@pytest.mark.parametrize("how", [BEFORE, HALF_OPEN, BLACK_HOLE, AFTER, SILENT])
@pytest.mark.parametrize("content", [b"small", LARGE], ids=["row", "blob"])
def test_a_file_whose_commit_was_cut_is_there_once_with_its_bytes(group, proxy, how, content):
    server = group.add(UNANSWERED, url=proxy.through(group.url))
    workspace = Workspace(server)
    fault = proxy.arm(how, b"cut.bin")
    answer = send(workspace, "cut.bin", content)
    assert fault.struck.is_set()
    if how in (HALF_OPEN, BLACK_HOLE) and answer.status == 503:
        answer = send(workspace, "cut.bin", content)  # nothing was done: see above
    (file_id, _), = files_of(answer)
    waiting = server.get(workspace.path("pending-uploads"), token=workspace.token).json()
    assert [item["file_id"] for item in waiting] == [file_id]
    assert server.get(workspace.content(file_id), token=workspace.token).body == content
    assert server.request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), token=workspace.token).status == 200
    methods = [row["method"] for row in workspace.activity()]
    assert methods == ["chat_upload_receive", "chat_upload_acked"]


@pytest.mark.parametrize("how", [BEFORE, AFTER])
def test_a_whole_group_whose_commit_was_cut_is_there_once(group, proxy, how):
    """Every writer is told the truth, whoever shared the transaction."""
    workspace = Workspace(group.add({"postgres.lanes": "1"}, url=proxy.through(group.url)))
    texts = [f"text {n:02}" for n in range(40)]
    faults = [proxy.arm(how, texts[n].encode()) for n in (5, 20, 35)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda text: say(workspace, text).status, texts))
    assert answers == [200] * 40
    assert all(fault.struck.is_set() for fault in faults[:1])
    assert sorted(workspace.messages()) == texts
    check_log(workspace, workspace.messages())


def test_nobody_is_answered_before_the_outcome_is_known(group, proxy):
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
    check_log(workspace, ["unsure"])


def test_a_commit_that_was_swallowed_on_its_way_is_settled_before_anybody_is_answered_and_comes_too_late(postgres, group, proxy):
    """No end of the connection is seen on either side. The open transaction is ended, so that its COMMIT can do nothing any more."""
    name = database_of(group.url)
    server = group.add(QUICK_TO_GIVE_UP, url=proxy.through(group.url))
    workspace = Workspace(server)
    assert say(workspace, "first").status == 200
    fault = proxy.arm(BLACK_HOLE, b"swallowed")
    unfinished = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND state = 'idle in transaction'"
    with server.connect() as wire:
        wire.send(workspace.notify_bytes("swallowed", headers={"Idempotency-Key": "swallowed"}))
        assert fault.struck.wait(30)
        answer = wire.read()
    assert postgres.sql(unfinished) == "0\n", "answered while the transaction could still be committed"
    fault.release()
    assert answer.status in (200, 503), answer
    assert workspace.messages() == ["first", *["swallowed"] * (answer.status == 200)]
    wait_until(lambda: say(workspace, "swallowed", key="swallowed").status == 200, "it is taken")
    check_log(workspace, ["first", "swallowed"])


@pytest.mark.parametrize("how, done", [(BEFORE, 0), (AFTER, 1)], ids=[BEFORE, AFTER])
def test_when_nobody_can_say_how_it_ended_the_answer_is_503_and_a_repetition_does_it_once(group, proxy, how, done):
    server = group.add(QUICK_TO_GIVE_UP, url=proxy.through(group.url))
    workspace = Workspace(server)
    for fault in (proxy.arm(how, b"unsure"), proxy.arm(how, b"unsure.bin")):
        fault.then = proxy.refuse
    check_unavailable(say(workspace, "unsure", key="message"))
    proxy.accept()
    wait_ready(server)
    assert workspace.messages() == ["unsure"] * done
    check_unavailable(send(workspace, "unsure.bin", LARGE, key="file"))
    proxy.accept()
    wait_ready(server)
    pending = lambda: server.get(workspace.path("pending-uploads"), token=workspace.token).json()
    assert len(pending()) == done
    wait_until(lambda: say(workspace, "unsure", key="message").status == 200, "the message is taken")
    wait_until(lambda: send(workspace, "unsure.bin", LARGE, key="file").status == 200, "the file is taken")
    assert len(pending()) == 1
    check_log(workspace, ["unsure"])
    # The bytes are kept while nobody knows whether their row is there.
    (file_id, _), = files_of(send(workspace, "unsure.bin", LARGE, key="file"))
    assert server.get(workspace.content(file_id), token=workspace.token).body == LARGE


def test_a_commit_that_arrives_late_is_waited_for(group, proxy):
    """The way is held up for longer than anybody waits; what was on it arrives all the same."""
    server = group.add({**QUICK_TO_GIVE_UP, "postgres.statement_timeout": "4s"}, url=proxy.through(group.url))
    workspace = Workspace(server)
    for n in range(3):
        fault = proxy.arm(LATE, f"late-{n}".encode())
        with server.connect() as wire:
            wire.send(workspace.notify_bytes(f"late-{n}", headers={"Idempotency-Key": f"late-{n}"}))
            assert fault.struck.wait(60)
            tried = proxy.connections
            wait_until(lambda: proxy.connections > tried, "the server gives up and asks anew")
            proxy.go_on()
            assert wire.read().status in (200, 503)
    wait_ready(server)
    for n in range(3):
        wait_until(lambda: say(workspace, f"late-{n}", key=f"late-{n}").status == 200, "it is taken")
    assert sorted(workspace.messages()) == [f"late-{n}" for n in range(3)], "a repetition may stand behind what came between"
    check_log(workspace, workspace.messages())


# -- the database goes away under load


class Writers:
    """Threads that say one thing after the other, each under a key, again and again until it is taken. Use as a context."""

    def __init__(self, workspaces, count):
        self.workspaces, self.count, self.taken, self.statuses = workspaces, count, [], set()
        self.stopping, self.lock = threading.Event(), threading.Lock()

    def _write(self, number):
        n = 0
        while not self.stopping.is_set():
            text = f"{number}.{n}"
            while True:
                answer = say(self.workspaces[number % len(self.workspaces)], text, key=text)
                with self.lock:
                    self.statuses.add(answer.status)
                if answer.status == 200:
                    break
            with self.lock:
                self.taken.append(text)
            n += 1

    def progress(self, more=20):
        """Waits until so many more were taken."""
        aim = len(self.taken) + more
        wait_until(lambda: len(self.taken) >= aim, "messages are taken", ceiling=120)

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
    said = workspace.messages()
    assert sorted(said) == sorted(writers.taken), "lost or doubled"
    for number in range(writers.count):
        mine = [text for text in said if text.startswith(f"{number}.")]
        assert mine == [f"{number}.{n}" for n in range(len(mine))], "one that came after another stands after it"
    check_log(workspace, said)
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


# -- it is there, and of no use


def test_a_database_that_stalls_is_given_up_in_time_and_found_again(postgres, group):
    server = group.add(QUICK_TO_GIVE_UP)
    workspace = Workspace(server)
    workspace.notify("before")
    held, = workspace.park()
    with postgres.stalled():
        check_unavailable(say(workspace, "meanwhile", key="meanwhile"))
        check_not_ready(server)
        answer = held.read()
        assert (answer.status, answer.body) == (200, b"[]"), "a held poll is answered empty"
    wait_ready(server)
    wait_until(lambda: say(workspace, "meanwhile", key="meanwhile").status == 200, "the server writes again")
    check_log(workspace, ["before", "meanwhile"])


@pytest.fixture
def role(postgres, url):
    with ordinary_role(postgres, url) as made:
        yield made


@pytest.fixture
def role_house(role):
    """Its servers come as that role, and have ended before the role is taken away: that waits for everybody's locks."""
    made = ServerGroup(role.url)
    yield made
    made.finish()


def test_a_database_that_is_out_of_connections_is_missed_and_found_again(role_house, role):
    server = role_house.add()
    workspace = Workspace(server)
    workspace.notify("before")
    role.limit(0)
    role.end_sessions()
    check_unavailable(say(workspace, "meanwhile"))
    check_not_ready(server)
    assert "too many connections" in server.wait_log("not_ready")["reason"]
    role.limit(-1)
    wait_ready(server)
    wait_until(lambda: say(workspace, "after", key="after").status == 200, "the server writes again")
    check_log(workspace, ["before", "after"])


def test_a_server_that_gets_fewer_connections_than_it_would_like_works_with_those(role_house, role):
    """One to listen, one to write, one for chores: of those that read there is one, and everybody takes turns."""
    server = role_house.add({"postgres.lanes": "1", "postgres.readers": "8"})
    workspace = Workspace(server)
    workspace.notify("before")
    swept = lambda: server.request("POST", "/admin/sweep", token=server.admin_token).status == 200
    wait_until(swept, "the chores have their session")
    role.limit(4)
    role.end_sessions()
    with ThreadPoolExecutor(8) as pool:  # those who read come first, and take what there is
        list(pool.map(lambda _: server.get(workspace.path("activity"), token=workspace.token), range(40)))
    wait_until(lambda: say(workspace, "after", key="after").status == 200, "the server writes again")
    wait_until(swept, "the chores have their session")
    wait_until(lambda: server.get("/ready").status == 200, "somebody listens")
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: server.get(workspace.path("activity"), token=workspace.token).status, range(100)))
    assert answers == [200] * 100


def test_a_server_that_gets_no_connection_does_not_start_and_says_why(role):
    role.limit(0)
    with pytest.raises(StartFailed) as failed:
        Server(arguments=("--database", role.url))
    assert "too many connections" in str(failed.value) and "?" not in str(failed.value)


def test_a_database_that_can_only_be_read_is_read_and_told(postgres, group):
    server = group.add()
    workspace = Workspace(server)
    workspace.notify("before")
    name = database_of(group.url)
    postgres.sql("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    try:
        wait_until(lambda: postgres.sql("SHOW default_transaction_read_only", database=name) == "on\n", "it has taken effect")
        check_unavailable(say(workspace, "meanwhile"))
        check_not_ready(server)
        assert "can only be read" in server.wait_log("not_ready")["reason"]
        assert workspace.messages() == ["before"]
    finally:
        postgres.sql("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
    wait_ready(server)
    wait_until(lambda: say(workspace, "after", key="after").status == 200, "the server writes again")
    check_log(workspace, ["before", "after"])


# -- another one takes over


@pytest.fixture
def pair():
    """A primary that acknowledges nothing before its standby has it, and the standby."""
    with Postgres(DURABLE) as primary, Postgres(DURABLE, standby_of=primary) as standby:
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        wait_until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync\n", "the standby follows")
        yield primary, standby


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
