"""The data of the operator's views: the server's figures of the last day, and its health report. Only the operator may read them,
and no secret is in them."""
import secrets
import shutil

import pytest

from support.checks import check_error
from support.workspace import Workspace
from support.postgres import Postgres
from support.server_group import ServerGroup
from support.waiting import wait_until

OFTEN = {"metrics.sample_every": "50ms", "uploads.sweep_every": "50ms"}


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as running:
        yield running


def series(server, since=None):
    answer = server.get("/admin/series" + (f"?since={since}" if since is not None else ""), token=server.admin_token)
    assert answer.status == 200, answer
    return answer.json()


def total(server, column):
    """The sum since the start, including the unfinished row."""
    answer = series(server)
    return sum(value or 0 for value in answer["columns"][column]) + (answer["running"][column] or 0)


def known(server, column):
    return [value for value in series(server)["columns"][column] if value is not None]


def health(server):
    answer = server.get("/admin/health", token=server.admin_token)
    assert answer.status == 200, answer
    return answer.json()


def store(server, name):
    return next(one for one in health(server)["stores"] if one["name"] == name)


# -- the figures


def test_the_events_of_files_are_in_the_rows(start):
    server = start(OFTEN)
    workspace = Workspace(server)
    (first, _), (second, _) = workspace.upload(("a.txt", b"1234"), ("b.txt", b"12345"))
    assert server.get(workspace.content(first), token=workspace.token).status == 200
    assert server.request("POST", workspace.path(f"pending-uploads/{first}/ack"), token=workspace.token).status == 200
    recalled = server.request("DELETE", workspace.path(f"pending-uploads/{second}"), token=server.admin_token)
    assert recalled.status in (200, 204), recalled
    wait_until(lambda: known(server, "delivery_p99"), "the row of the ack is finished")
    assert [total(server, column) for column in ("staged", "fetched", "acked", "recalled", "expired")] == [2, 1, 1, 1, 0]
    assert total(server, "staged_bytes") == 9
    p50, p99 = known(server, "delivery_p50")[0], known(server, "delivery_p99")[0]
    assert 0 < p50 <= p99 < 3600
    assert total(server, "requests") > 4


def test_columns_are_equally_long_times_ascend_and_since_gives_the_rest(start):
    server = start(OFTEN)
    wait_until(lambda: len(series(server)["time"]) >= 5, "some rows")
    answer = series(server)
    assert answer["period_seconds"] == 0.05 and answer["kept"] == 1440
    assert answer["time"] == sorted(set(answer["time"]))
    assert {len(column) for column in answer["columns"].values()} == {len(answer["time"])}
    assert set(answer["running"]) == set(answer["columns"])
    later = series(server, answer["time"][2])
    assert later["time"][:2] == answer["time"][3:5]
    assert series(server, answer["now"] + 3_600_000)["time"] == []


def test_refusals_are_counted_by_class_and_waiting_files_are_measured(start):
    server = start(OFTEN)
    workspace = Workspace(server)
    workspace.upload(("a.txt", b"x" * 1000))
    assert server.get("/nowhere").status == 404
    wait_until(lambda: total(server, "errors_4xx") >= 1, "the refusal is counted")
    assert total(server, "errors_5xx") == 0
    wait_until(lambda: 1000 in known(server, "waiting_bytes"), "waiting files are measured")
    assert 1 in known(server, "waiting_files")


def test_a_restart_begins_with_empty_figures(start, tmp_path):
    first = start(OFTEN, data=tmp_path)
    Workspace(first).upload(("a.txt", b"1"))
    wait_until(lambda: total(first, "staged") == 1, "it is counted")
    first.stop()
    again = start(OFTEN, data=tmp_path)
    assert total(again, "staged") == 0


def test_each_of_two_servers_on_one_database_has_its_own_counts(postgres):
    with postgres.database() as url:
        group = ServerGroup(url)
        try:
            one, other = group.add(OFTEN), group.add(OFTEN)
            Workspace(one).upload(("a.txt", b"12"))
            wait_until(lambda: 2 in known(other, "waiting_bytes"), "waiting files are the same for both")
            assert total(one, "staged") == 1 and total(other, "staged") == 0
            assert health(one)["shared"] is True
        finally:
            group.finish()


@pytest.mark.parametrize("path", ["/admin/series", "/admin/health"])
def test_only_the_operator_may_read_them(start, path):
    server = start()
    check_error(server.get(path), 401, code="admin_required")
    check_error(server.get(path, token=Workspace(server).token), 401, code="admin_required")


# -- the report


def test_the_report_names_stores_versions_loops_and_settings(start):
    report = health(start({"log.level": "warn"}))
    database, blobs = report["stores"]
    assert (database["ok"], database["kind"], blobs["ok"], blobs["kind"]) == (True, "SQLite", True, "files")
    assert database["detail"].startswith("SQLite 3.") and "schema" in database["detail"]
    assert {"presence", "sweep", "series", "delegations"} <= {loop["name"] for loop in report["loops"]}
    assert all(loop["ok"] for loop in report["loops"])
    given = {one["key"]: one for one in report["settings"]}
    assert (given["log.level"]["value"], given["log.level"]["origin"]) == ('"warn"', "--set")
    assert given["uploads.max_files"]["origin"] is None
    assert report["version"] and report["started_at"] <= report["now"] and report["shared"] is False


def test_a_failed_store_is_reported_with_its_reason(start):
    server = start()
    shutil.move(server.data / "blobs", server.data / "moved")
    blobs = store(server, "blobs")
    assert blobs["ok"] is False and blobs["error"]
    assert store(server, "database")["ok"] is True
    assert server.get("/ready").status == 503
    shutil.move(server.data / "moved", server.data / "blobs")


def test_no_secret_is_in_the_report_whatever_fails(start):
    token, password = secrets.token_urlsafe(32), "hunter2-" + secrets.token_hex(8)
    with Postgres() as postgres, postgres.database() as url:
        scheme, _, rest = url.partition("://")
        user, _, place = rest.partition("@")
        with_password = f"{scheme}://{user.partition(':')[0]}:{password}@{place}"
        server = start(arguments=("--database", with_password), environment={"RESTANTE_ADMIN_TOKEN": token})
        ask = lambda: server.get("/admin/health", token=token)  # noqa: E731: the token is not in a file
        well = ask()
        assert well.status == 200 and well.json()["stores"][0]["kind"] == "PostgreSQL"
        assert "PostgreSQL" in well.json()["stores"][0]["detail"] and well.json()["stores"][0]["place"]
        postgres.stop()
        wait_until(lambda: not ask().json()["stores"][0]["ok"], "its database is not reachable")
        ill = ask()
        assert ill.json()["stores"][0]["error"] and ill.json()["stores"][0]["kind"] == "PostgreSQL"
        for answer in (well, ill):
            text = answer.body.decode()
            assert token not in text and password not in text
            assert {one["key"]: one["value"] for one in answer.json()["settings"]}["admin_token"] == "********"
        postgres.start()
