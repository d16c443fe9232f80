"""The server's log and metrics: every log line is one JSON object whatever a client sends, and hostile requests add no series."""
import re
import secrets
import sqlite3
import subprocess
from contextlib import closing

import pytest

from support.waiting import CEILING, wait_until
from support.wire import request

SETTINGS = {"log.requests": "all", "log.level": "info"}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def strings(value):
    """Every string within a log line."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def line_of(server, response):
    """The log line of a response."""
    return server.wait_log(response.header("X-Request-Id"))


def series_of(server):
    """Every series of /metrics, without its value."""
    text = server.get("/metrics").body.decode()
    return {line.rsplit(" ", 1)[0] for line in text.splitlines() if line and not line.startswith("#")}


# -- log lines

def test_the_request_id_of_a_response_is_in_its_log_line(server, workspace):
    responses = [server.get("/health"), server.get("/no-such-thing"), server.get(workspace.path("activity")), server.request("PUT", "/health")]
    with server.connect() as wire:
        wire.send(b"GET /health HTTP/1.1\r\nX : y\r\n\r\n")
        responses += wire.read_until_closed()
    for response in responses:
        line = line_of(server, response)
        assert response.header("X-Request-Id") in strings(line)
        assert response.status in line.values(), f"the status is not in {line}"


def test_the_request_id_of_a_client_is_used_only_if_it_is_harmless(server):
    given = "abcDEF-0123_4.5"
    response = server.get("/health", headers={"X-Request-Id": given})
    assert response.header("X-Request-Id") == given
    line_of(server, response)
    for hostile in ("", "a b", '"', "a\\n", "x" * 65, "é", "<b>", "a,b"):
        response = server.get("/health", headers={"X-Request-Id": hostile})
        assert re.fullmatch(r"[A-Za-z0-9._-]{8,64}", response.header("X-Request-Id")), response
        assert not hostile or hostile not in response.header("X-Request-Id")
        line_of(server, response)


def test_a_request_has_one_line(server):
    before = len(server.stderr())
    ids = [server.get("/health").header("X-Request-Id") for _ in range(20)]
    for request_id in ids:
        server.wait_log(request_id, start=before)
    log = b"\n".join(server.stderr()).decode()
    assert [log.count(request_id) for request_id in ids] == [1] * 20


def test_the_traceparent_of_a_client_is_logged(server):
    response = server.get("/uploads/limits", headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
    assert any(TRACE in text for text in strings(line_of(server, response)))


@pytest.mark.parametrize("value", [
    "", "00", "x" * 5000, f"00-{'0' * 32}-00f067aa0ba902b7-01", f"00-{TRACE}-00f067aa0ba902b7-01\"}}", f"ff-{TRACE}-00f067aa0ba902b7-01",
    f"00-{TRACE.upper()}-00f067aa0ba902b7-01", "00-é-漢-01"],
    ids=["empty", "short", "long", "all_zero", "tail", "version_ff", "upper_case", "not_ascii"])
def test_an_invalid_traceparent_is_ignored(server, value):
    response = server.get("/health", headers={"traceparent": value.encode()})
    assert response.status == 200
    line = line_of(server, response)
    assert not [text for text in strings(line) if TRACE in text.lower() or len(text) > 1000 or "漢" in text], line


HOSTILE = [
    "/%0a%7B%22level%22:%22forged%22%7D", "/%0d%0aforged", '/"},{"level":"forged', "/%22%7D%0A", "/\\", "/\\u0000\\", "/%00",
    "/%1b[31mred", "/%ff%fe%80", "/%c0%af", "/%ed%a0%80", "/%e2%80%a8", "/%7f", "/a?b=%0a%22&c=\"'", "/<script>alert(1)</script>",
    "/{{7*7}}", "/%25n%25s%25x", "/{}{0}", "/" + "%0a" * 2000,
]


@pytest.mark.parametrize("target", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_target_stays_within_its_log_line(server, target):
    response = server.get(target, headers={"User-Agent": b'"}\\ \xff\xfe {"level":"forged"}', "Referer": '"\\'})
    assert response.status in (400, 404), response
    line_of(server, response)
    # log() parses every line strictly, so no line can have been split or joined.
    assert not [line for line in server.log() if line.get("level") == "forged"]


def test_a_token_is_never_logged_whatever_the_outcome(server, workspace):
    secret = "S3cr3tS3cr3tS3cr3tS3cr3tS3cr3tS3cr3tS3cr3t0"
    server.get(workspace.path("activity"), token=workspace.token)
    server.get(workspace.path("activity"), token=secret)
    server.get("/no-such-thing", token=secret)
    last = server.get("/health", headers={"Authorization": f"Basic {secret}", "Cookie": f"session={secret}"})
    line_of(server, last)
    everything = b"\n".join(server.stderr()).decode()
    for token in (secret, workspace.token, server.admin_token, "Bearer "):
        assert token not in everything
    metrics = server.get("/metrics").body.decode()
    assert secret not in metrics and workspace.token not in metrics and workspace.id not in metrics


@pytest.mark.parametrize("setting, logged", [("none", []), ("errors", [404]), ("all", [200, 404])])
def test_which_requests_are_logged_is_configuration(start, setting, logged):
    server = start({"log.requests": setting})
    responses = [server.get("/health"), server.get("/no-such-thing")]
    server.stop()
    log = b"\n".join(server.stderr()).decode()
    assert [r.status for r in responses if r.header("X-Request-Id") in log] == logged
    server.log()


def test_secrets_are_masked_in_the_log_of_the_start(start):
    secret = secrets.token_urlsafe(32)
    server = start(environment={"RESTANTE_ADMIN_TOKEN": secret})
    assert server.request("POST", "/workspaces", token=secret, json_body={"name": "x"}).status == 201
    server.stop()
    assert secret not in b"\n".join(server.stderr()).decode()


# -- health and metrics

def test_the_answers_of_health_and_ready_are_short(server):
    assert server.get("/health").body == b'{"status":"ok"}'
    ready = server.get("/ready")
    assert ready.status == 200 and len(ready.body) < 2000


def test_a_server_that_is_not_ready_logs_why_once_and_no_line_for_each_request(start):
    server = start({"blobs": "dir"})
    (server.data / "blobs").rename(server.data / "moved")
    answers = [server.get("/ready") for _ in range(20)]
    assert {answer.status for answer in answers} == {503}
    # Another reason, with which all checks have run again. SQLite waits for a lock for some seconds.
    with closing(sqlite3.connect(server.data / "restante.db", isolation_level=None, timeout=CEILING)) as other:
        other.execute("BEGIN IMMEDIATE")
        wait_until(lambda: server.get("/ready").json()["checks"]["database"] == "failed", "the checks have run again")
    (server.data / "moved").rename(server.data / "blobs")
    wait_until(lambda: server.get("/ready").status == 200, "it is ready again")
    server.wait_log("ready_again")
    lines = server.log()
    assert [line["check"] for line in lines if line["event"] == "not_ready"] == ["blobs", "database"], lines
    assert "request" not in [line["event"] for line in lines], lines


def test_promtool_finds_no_fault_in_the_metrics(server, workspace):
    workspace.upload(("a.txt", b"x"))
    workspace.notify("x")
    server.get("/no-such-thing")
    response = server.get("/metrics")
    assert response.header("Content-Type", "").startswith("text/plain")
    checked = subprocess.run(["promtool", "check", "metrics"], input=response.body, capture_output=True)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_requests_are_timed_by_route_template_and_method(server, workspace):
    workspace.activity()
    server.get("/health")
    found = {series for series in series_of(server) if series.startswith("restante_http_request_duration_seconds_count")}
    assert any('method="GET"' in series and '"/health"' in series for series in found), found
    assert any('method="GET"' in series and "/workspaces/" in series and "activity" in series for series in found), found


def test_build_and_process_figures_are_there(server):
    found = series_of(server)
    assert any(series.startswith("restante_build_info{") for series in found)
    assert "process_resident_memory_bytes" in found and "process_open_fds" in found
    assert server.metric("process_resident_memory_bytes") > 1_000_000
    assert server.metric("restante_held_polls") == 0


def test_hostile_requests_make_no_new_series(server):
    def abuse(start):
        for i in range(start, start + 60):
            server.get(f"/made-up-{i}?q={i}")
            server.get(f"/workspaces/{i:08x}-0000-4000-8000-000000000000/activity")
            server.request(f"METHOD{i}", "/health")
            server.get("/health", headers={"User-Agent": f"agent-{i}", "X-Forwarded-For": f"10.0.0.{i}", "Host": f"host-{i}"})
            with server.connect() as wire:
                wire.send(request("GET", f"/health#{i}"))
                wire.read_until_closed()
        server.get("/metrics")
    abuse(0)
    before = series_of(server)
    abuse(1000)
    assert series_of(server) == before
    for series in before:
        assert not re.search(r"made-up|METHOD\d|agent-\d|host-\d|[0-9a-f]{8}-0000", series), series


def test_metrics_are_answered_among_a_thousand_connections(server, workspace):
    count = 1000
    wires = []
    try:
        for _ in range(count):
            wire = server.connect()
            wire.send(request("GET", "/health"))
            wires.append(wire)
        for wire in wires:
            assert wire.read().status == 200
        assert server.sockets() >= count
        assert server.get("/metrics").status == 200
    finally:
        for wire in wires:
            wire.close()


def test_metrics_name_no_path_of_the_machine(server):
    assert str(server.data) not in server.get("/metrics").body.decode()
