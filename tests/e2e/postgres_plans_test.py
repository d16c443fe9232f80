"""Plans with a million rows: each frequent statement uses an index. PostgreSQL logs the plans (auto_explain) while the real server
runs the statements, so the test needs no copy of a statement."""
import json
import re

import pytest

from support.workspace import Workspace, sweep
from support.postgres import Postgres
from support.server import Server
from support.waiting import wait_until

ROWS, WORKSPACES = 1_000_000, 100
EACH = ROWS // WORKSPACES
DUE = 400  # of each kind: few among many, so that a scan of the others would be noticed
LARGE = ("pending_uploads", "activity_logs")
# A full scan of an index is as bad as one of the table.
MOST_ROWS_READ = 5_000
FILL = [
    f"INSERT INTO workspaces (id, name, delivery_mode) SELECT md5('w' || n)::uuid, 'w' || n, 'poll' FROM generate_series(1, {WORKSPACES}) n",
    f"""INSERT INTO inbox_heads (workspace_id, last_seq, last_created_at, staged_files, staged_bytes, acked_files, acked_bytes) SELECT
        id, {EACH}, now(), {EACH}, {EACH}, {EACH // 2}, {EACH // 2} FROM workspaces""",
    f"""INSERT INTO activity_logs (id, workspace_id, seq, activity_type, summary, created_at) SELECT
        ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, md5('w' || n % {WORKSPACES} + 1)::uuid, n / {WORKSPACES} + 1, 'a2a_receive', 'x',
        now() FROM generate_series(0, {ROWS - 1}) n""",
    # Half of the rows are acked. The first few of both halves are due, the rest is not.
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
    """Every plan of the server's statements during the requests of visit(), as {statement: [plan, …]}."""
    with Postgres() as postgres, postgres.database() as url:
        where = {"arguments": ("--database", url), "data": tmp_path_factory.mktemp("data")}
        with Server(**where):
            pass  # the start makes the tables and the mark of the directory
        name = url.rpartition("/")[2]
        fill(postgres, name)
        postgres.sql(*(f"ALTER DATABASE {name} SET {setting}" for setting in EXPLAINING))
        with Server({"uploads.check_every": "0s", "postgres.statement_timeout": "60s"}, **where) as server:
            visit(server, postgres.sql("SELECT md5('w1')::uuid").strip())
        return read_plans(postgres.log.read_text(encoding="utf-8"))


def fill(postgres, name):
    """Fills the tables. The indexes are made last, which takes a fraction of the time."""
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
        entry = json.loads("".join(line[1:] for line in found[1].splitlines(True)))
        plans.setdefault(entry["Query Text"], []).append(entry["Plan"])
    return plans


def nodes(plan):
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def plans_with(plans, *pieces):
    """The plans of the statements that contain all the pieces."""
    found = [plan for text, all_plans in plans.items() if all(piece in text for piece in pieces) for plan in all_plans]
    assert found, f"no statement contains {pieces}: it has changed, look for it in {sorted(plans)}"
    return found


@pytest.mark.parametrize("pieces, index", [
    (("FROM pending_uploads", "acked_at IS NULL", "ORDER BY created_at, position LIMIT"), "idx_pending_uploads_workspace_unacked"),
    (("FROM pending_uploads", "acked_at IS NOT NULL AND acked_at <=", "ORDER BY acked_at, position LIMIT"), "idx_pending_uploads_acked"),
    (("FROM pending_uploads", "acked_at IS NULL AND expires_at <=", "ORDER BY expires_at, position LIMIT"), "idx_pending_uploads_expires"),
    (("FROM activity_logs", "seq >", "ORDER BY"), "idx_activity_logs_workspace_seq"),
], ids=["list unacked", "sweep acked", "sweep expired", "inbox page"])
def test_a_frequent_statement_uses_its_index(plans, pieces, index):
    for plan in plans_with(plans, *pieces):
        used = {node["Index Name"] for node in nodes(plan) if "Index Name" in node}
        assert index in used, json.dumps(plan, indent=1)


def test_no_statement_of_the_visit_scans_a_large_table(plans):
    seen = set()
    for text, all_plans in plans.items():
        if text.lstrip().startswith(("ALTER", "SELECT count(*)")):
            continue
        for plan in all_plans:
            for node in nodes(plan):
                if node.get("Relation Name") not in LARGE:
                    continue
                seen.add(node["Relation Name"])
                rows_read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                assert node["Node Type"] != "Seq Scan" and rows_read <= MOST_ROWS_READ, f"{text}\n{json.dumps(plan, indent=1)}"
    assert seen == set(LARGE)
