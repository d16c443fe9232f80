"""Plans on a million rows: the hot questions have an index each. PostgreSQL itself says what it does (auto_explain), while the real
server asks them, so that no copy of a statement can drift from what is run."""
import json
import re

import pytest

from support.workspace import Workspace, sweep
from support.postgres import Postgres
from support.server import Server
from support.waiting import wait_until

ROWS, WORKSPACES = 1_000_000, 100
EACH = ROWS // WORKSPACES
DUE = 400  # of each kind: few among many, so that walking through the others would show
LARGE = ("pending_uploads", "activity_logs")
# A walk along an index is none the better for being one.
MOST_LOOKED_AT = 5_000
FILL = [
    f"INSERT INTO workspaces (id, name, delivery_mode) SELECT md5('w' || n)::uuid, 'w' || n, 'poll' FROM generate_series(1, {WORKSPACES}) n",
    f"""INSERT INTO inbox_heads (workspace_id, last_seq, last_created_at, staged_files, staged_bytes, acked_files, acked_bytes) SELECT
        id, {EACH}, now(), {EACH}, {EACH}, {EACH // 2}, {EACH // 2} FROM workspaces""",
    f"""INSERT INTO activity_logs (id, workspace_id, seq, activity_type, summary, created_at) SELECT
        ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, md5('w' || n % {WORKSPACES} + 1)::uuid, n / {WORKSPACES} + 1, 'a2a_receive', 'x',
        now() FROM generate_series(0, {ROWS - 1}) n""",
    # Half are acked. The first few of both halves are due, and the rest is not.
    f"""INSERT INTO pending_uploads (file_id, workspace_id, blob_key, size_bytes, filename, sha256, created_at, acked_at, expires_at) SELECT
        ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, md5('w' || n / 2 % {WORKSPACES} + 1)::uuid, lpad(to_hex(n), 32, '0'), 1, 'f',
        sha256('x'), now() - interval '1 hour' + n * interval '1 ms', CASE WHEN n % 2 = 0 THEN now() - CASE WHEN n < {2 * DUE} THEN interval '2 days'
        ELSE interval '1 minute' END END, now() + CASE WHEN n < {2 * DUE} THEN interval '-1 minute' ELSE interval '20 hours' END
        FROM generate_series(0, {ROWS - 1}) n""",
]
EXPLAINING = ["session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0", "auto_explain.log_analyze = on",
              "auto_explain.log_timing = off", "auto_explain.log_format = 'json'"]


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """Every plan the server's questions had, as {statement: [plan, …]}, in the course of a short visit."""
    with Postgres() as postgres, postgres.database() as url:
        where = {"arguments": ("--database", url), "data": tmp_path_factory.mktemp("data")}
        with Server(**where):
            pass  # the tables are made, and the folder is known to be its
        name = url.rpartition("/")[2]
        fill(postgres, name)
        postgres.sql(*(f"ALTER DATABASE {name} SET {setting}" for setting in EXPLAINING))
        with Server({"uploads.check_every": "0s", "postgres.statement_timeout": "60s"}, **where) as server:
            visit(server, postgres.sql("SELECT md5('w1')::uuid").strip())
        return read_plans(postgres.log.read_text(encoding="utf-8"))


def fill(postgres, name):
    """The indexes come last: so it takes a fraction of the time."""
    of_large = f"FROM pg_indexes WHERE tablename IN {LARGE} AND starts_with(indexname, 'idx_')"
    drops, makes = (postgres.sql(f"SELECT {what} {of_large}", database=name).splitlines() for what in ("'DROP INDEX ' || indexname", "indexdef"))
    assert drops
    unlogged = [f"ALTER TABLE {table} SET UNLOGGED" for table in LARGE]
    postgres.sql(*drops, *unlogged, *FILL, *makes, "ANALYZE", database=name)


def visit(server, workspace):
    agent = Workspace(server, known=(workspace, None))
    agent.token = agent.new_token()
    waiting = server.get(agent.path("pending-uploads?limit=100"), token=agent.token).json()
    assert len(waiting) == 100
    more = server.get(agent.path(f"pending-uploads?limit=100&after={waiting[-1]['file_id']}"), token=agent.token).json()
    assert len(more) == 100 and not {item["file_id"] for item in more} & {item["file_id"] for item in waiting}
    for page in (f"since_seq={EACH // 2}&limit=100", "limit=100", f"since_seq={EACH - 1}", f"since_seq={EACH // 2}&limit=100&type=a2a_receive"):
        assert server.get(agent.path(f"activity?{page}"), token=agent.token).json()
    (file_id, _), = agent.upload(("a.txt", b"new"))
    assert server.get(agent.content(file_id), token=agent.token).body == b"new"
    assert server.request("POST", agent.path(f"pending-uploads/{file_id}/ack"), token=agent.token).status == 200
    agent.notify("hello")
    sweep(server)
    swept = lambda outcome: server.metric("restante_pending_uploads_swept_total", f'{{outcome="{outcome}"}}') or 0
    wait_until(lambda: swept("acked") >= DUE and swept("expired") >= DUE, "both arms of the sweep have done their work", 120)
    assert (swept("acked"), swept("expired")) == (DUE, DUE)


def read_plans(log):
    plans = {}
    for found in re.finditer(r"^[^\t\n].*  plan:\n((?:\t.*\n)+)", log, re.MULTILINE):
        said = json.loads("".join(line[1:] for line in found[1].splitlines(True)))
        plans.setdefault(said["Query Text"], []).append(said["Plan"])
    return plans


def nodes(plan):
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def asked(plans, *pieces):
    """The plans of those statements that have all the pieces in them."""
    found = [plan for text, all_plans in plans.items() if all(piece in text for piece in pieces) for plan in all_plans]
    assert found, f"nobody asked {pieces}: the statement has changed, look for it in {sorted(plans)}"
    return found


@pytest.mark.parametrize("pieces, index", [
    (("FROM pending_uploads", "acked_at IS NULL", "ORDER BY created_at, position LIMIT"), "idx_pending_uploads_workspace_unacked"),
    (("FROM pending_uploads", "acked_at IS NOT NULL AND acked_at <=", "ORDER BY acked_at, position LIMIT"), "idx_pending_uploads_acked"),
    (("FROM pending_uploads", "acked_at IS NULL AND expires_at <=", "ORDER BY expires_at, position LIMIT"), "idx_pending_uploads_expires"),
    (("FROM activity_logs", "seq >", "ORDER BY"), "idx_activity_logs_workspace_seq"),
], ids=["list unacked", "sweep acked", "sweep expired", "inbox page"])
def test_a_hot_question_has_its_index(plans, pieces, index):
    for plan in asked(plans, *pieces):
        used = {node["Index Name"] for node in nodes(plan) if "Index Name" in node}
        assert index in used, json.dumps(plan, indent=1)


def test_no_statement_of_the_visit_walks_through_a_large_table(plans):
    seen = set()
    for text, all_plans in plans.items():
        if text.lstrip().startswith(("ALTER", "SELECT count(*)")):
            continue
        for plan in all_plans:
            for node in nodes(plan):
                if node.get("Relation Name") not in LARGE:
                    continue
                seen.add(node["Relation Name"])
                looked_at = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                assert node["Node Type"] != "Seq Scan" and looked_at <= MOST_LOOKED_AT, f"{text}\n{json.dumps(plan, indent=1)}"
    assert seen == set(LARGE)
