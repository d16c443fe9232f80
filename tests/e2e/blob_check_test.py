"""`restante blobs check` reads every stored file and reports faults. With --fix it repairs them where possible; without --fix it
changes nothing. On every database and in every blob place."""
import contextlib
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support import backend
from support.backend import cut, flip
from support.checks import check_error
from support.workspace import Workspace, multipart
from support.server import binary
from support.waiting import wait_until
from support.wire import request

pytestmark = pytest.mark.bytes

# No background check finds the faults first.
ALONE = {"uploads.check_every": "0s", "uploads.sweep_every": "24h"}
MIB = 1 << 20


def restante(server, *arguments, code):
    return run(server.port, server.admin_token, *arguments, code=code).stdout


def run(port, token, *arguments, code):
    environment = {**os.environ, "RESTANTE_URL": f"http://127.0.0.1:{port}", "RESTANTE_TOKEN": token}
    done = subprocess.run([binary(), "blobs", "check", *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == code, done
    return done


def check(server, *arguments, code):
    return json.loads(restante(server, "--json", *arguments, code=code))


def state(workspace, file_id):
    return workspace.server.get(workspace.path(f"pending-uploads/{file_id}"), token=workspace.token).json()


def upload_alone(workspace, name, data):
    """(file_id, blob) of a file whose content is not in its row."""
    known = set(workspace.server.blob_keys())
    (file_id, _), = workspace.upload((name, data))
    blob, = [blob for blob in workspace.server.blobs() if blob.key not in known]
    return file_id, blob


def test_without_faults_it_prints_that_all_is_well(start):
    server = start(ALONE)
    workspace = Workspace(server)
    workspace.upload(("small.txt", b"small"), ("large.bin", os.urandom(3 * MIB)))
    assert "All is well." in restante(server, code=0)
    report = check(server, code=0)
    assert (report["state"], report["files"], report["all_files"], report["bytes"], report["wrong"]) == ("done", 2, 2, 3 * MIB + 5, 0)
    assert report["findings"] == [] and set(report["found"].values()) == {0}


def test_every_fault_is_reported_and_repaired_only_with_fix(start):
    server = start(ALONE)
    workspace = Workspace(server, "Research laptop")
    lost, lost_blob = upload_alone(workspace, "lost.bin", os.urandom(100_000))
    flipped, flipped_blob = upload_alone(workspace, "flipped.bin", os.urandom(2 * MIB))
    short, short_blob = upload_alone(workspace, "short.bin", os.urandom(100_000))
    sound, _ = upload_alone(workspace, "sound.bin", b"s" * 100_000)
    (row, _), = workspace.upload(("row.txt", b"kept in the row"))
    lost_blob.remove()
    flip(flipped_blob)
    cut(short_blob, 50_000)
    server.home.rows.query(f"UPDATE upload_contents SET content = {server.home.rows.literal(b'kept in the rov')}")
    expected = {lost: "missing", flipped: "changed", short: "changed", row: "changed"}

    report = check(server, code=1)
    assert {finding["file_id"]: finding["fault"] for finding in report["findings"]} == expected
    assert {finding["remedy"] for finding in report["findings"]} == {"none"} and report["wrong"] == 4
    assert {finding["workspace_name"] for finding in report["findings"]} == {"Research laptop"}
    assert {finding["place"] for finding in report["findings"]} == {backend.BYTES, None}
    for file_id in expected:
        assert state(workspace, file_id)["damage"] is None, "it changes nothing"
    shown = restante(server, code=1)
    assert all(word in shown for word in ("lost.bin", "flipped.bin", "short.bin", "row.txt", "Research laptop", "--fix"))
    assert "sound.bin" not in shown

    report = check(server, "--fix", code=0)
    assert {finding["remedy"] for finding in report["findings"]} == {"told"} and (report["wrong"], report["mended"]) == (0, 4)
    for file_id, damage in expected.items():
        assert (state(workspace, file_id)["state"], state(workspace, file_id)["damage"]) == ("failed", damage)
    error = check_error(server.get(workspace.content(lost), token=workspace.token), 410, code="content_missing")
    assert error["damage"] == "missing" and "sent again" in error["error"]
    check_error(server.get(workspace.content(flipped), token=workspace.token), 500, code="integrity_error")
    receipts = [row["request_body"] for row in workspace.activity() if row["method"] == "chat_upload_failed"]
    assert sorted(receipt["file_id"] for receipt in receipts) == sorted(expected), "every sender gets one receipt"
    assert server.metric("restante_uploads_damaged_total", '{damage="missing"}') == 1
    assert server.get(workspace.content(sound), token=workspace.token).body == b"s" * 100_000
    assert check(server, code=0)["found"]["missing"] == 1, "it stays in the report and is no fault any more"


def test_blobs_left_by_a_killed_server_are_found_and_dropped(start, tmp_path):
    server = start({"uploads.sweep_every": "24h"}, data=tmp_path)
    workspace = Workspace(server)
    kept, _ = upload_alone(workspace, "kept.bin", b"k" * MIB)
    # When the server is killed, one file is complete and one is not. The second is large enough for S3 to have a part of it.
    fields, body = multipart(("whole.bin", b"w" * MIB), ("half.bin", b"h" * 12 * MIB))
    wire = server.connect()
    wire.send(request("POST", workspace.path("chat/uploads"),
                      {**fields, "Authorization": f"Bearer {server.admin_token}", "Content-Length": len(body)}))
    wire.send(body[:-MIB])
    wait_until(lambda: len(server.blobs()) == 2, "the first file is complete")
    wait_until(server.unfinished, "and the second has begun")
    server.kill()
    wire.close()

    workspace = workspace.on(start({**ALONE, "timeouts.request": "1s"}, data=tmp_path))
    server = workspace.server
    wait_until(lambda: server.metric("restante_sweep_duration_seconds_count"), "the sweep at start is over")
    # A file without a name is deleted with its process. The sweep may already have dropped the parts in S3.
    left = 1 if server.unfinished() else 0
    report = wait_until(lambda: found(server, "unfinished", left), "they are old enough", 300)
    assert report["found"]["orphan"] == 1 and report["wrong"] == 1 + left
    orphan, = report["findings"]
    assert (orphan["fault"], orphan["place"]) == ("orphan", backend.BYTES) and "file_id" not in orphan
    assert len(server.blobs()) == 2, "it changes nothing"
    report = check(server, "--fix", code=0)
    assert (report["mended"], report["wrong"]) == (1 + left, 0)
    assert len(server.blobs()) == 1 and server.unfinished() == []
    assert server.get(workspace.content(kept), token=workspace.token).body == b"k" * MIB
    assert set(check(server, code=0)["found"].values()) == {0}


def found(server, fault, count):
    """The report of a check that has found one orphan and `count` of this fault."""
    started = server.request("POST", "/admin/blobs/check", token=server.admin_token)
    assert started.status == 202, started
    report = wait_until(lambda: ended(server), "the check is done", 300)
    return report if report["found"]["orphan"] and report["found"][fault] == count else None


def ended(server):
    report = server.get("/admin/blobs/check", token=server.admin_token).json()
    return report if report["state"] != "running" else None


def test_only_one_check_runs_at_a_time_only_the_operator_may_start_it_and_a_stop_does_not_wait_for_it(start):
    server = start(ALONE)
    workspace = Workspace(server)
    assert server.get("/admin/blobs/check", token=server.admin_token).json()["state"] == "none"
    check_error(server.request("POST", "/admin/blobs/check", token=workspace.token), 401, code="admin_required")
    check_error(server.request("POST", "/admin/blobs/check", token=server.admin_token, json_body={"fix": "yes"}), 400, code="bad_field")
    for n in range(8):
        workspace.upload((f"{n}.bin", os.urandom(4 * MIB)))
    assert server.request("POST", "/admin/blobs/check", token=server.admin_token, json_body={}).status == 202
    # A check may end before the next request arrives; a request that arrives during a check is refused.
    again = lambda: server.request("POST", "/admin/blobs/check", token=server.admin_token)
    refused = wait_until(lambda: (answer := again()).status != 202 and answer, "one is still running")
    check_error(refused, 409, code="blob_check_running")
    wait_until(lambda: server.get("/admin/blobs/check", token=server.admin_token).json()["bytes"] > 0, "it reads")
    assert server.stop() == 0


@contextlib.contextmanager
def answering(*reports):
    """A fake server that answers with these reports, one for each request: (port, the checks that it was asked to start)."""
    left, started = list(reports), []

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status):
            report_fields = left.pop(0) if len(left) > 1 else left[0]
            report = {"fix": False, "files": 1, "all_files": 2, "bytes": 1, "found": {}, "mended": 0, "wrong": 0, "reason": None,
                      "findings": [], **report_fields}
            body = json.dumps(report).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.answer(200)

        def do_POST(self):
            started.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer(202)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], started
        finally:
            server.shutdown()
            thread.join()


def test_a_running_check_is_shown_and_no_second_one_is_started():
    running, done = {"state": "running"}, {"state": "done", "files": 2}
    with answering(running, running, done) as (port, started):
        shown = run(port, "any", code=0)
        assert "All is well." in shown.stdout and "already running" in shown.stderr and started == []
    fixing = {**running, "fix": True}
    with answering(fixing, {**done, "fix": True}) as (port, started):
        run(port, "any", "--fix", code=0)
        assert started == [], "the running check already repairs"
    with answering(running, done, fixing, {**done, "fix": True, "wrong": 1}) as (port, started):
        run(port, "any", "--fix", code=1)
        assert started == [{"fix": True}], "after the check that repairs nothing"


def test_a_check_that_did_not_finish_is_not_a_success():
    for state, code in (("failed", 69), ("stopped", 75), ("interrupted", 75)):
        with answering({"state": "none"}, {"state": state, "reason": "no answer"}) as (port, started):
            shown = run(port, "any", code=code)
            assert "All is well" not in shown.stdout and "not all" in shown.stdout and started == [{"fix": False}]
