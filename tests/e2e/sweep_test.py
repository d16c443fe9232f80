"""The sweep deletes due rows by timer or on request, each row once, and does not disturb readers."""
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import backend
from support.checks import check_error
from support.workspace import Workspace
from support.server import StartFailed
from support.waiting import wait_until
from support.wire import request

pytestmark = pytest.mark.bytes
MIB = 1 << 20
QUICK = {"uploads.ttl": "1s", "uploads.ack_retention": "0s", "uploads.sweep_every": "50ms", **backend.SOON}


def sweep(server):
    return server.request("POST", "/admin/sweep", token=server.admin_token)


def swept(server, outcome):
    return server.metric("restante_pending_uploads_swept_total", f'{{outcome="{outcome}"}}')


def ack(workspace, file_id):
    return workspace.server.request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), token=workspace.token)


def test_due_files_are_deleted_by_timer_with_a_receipt(start):
    server = start(QUICK)
    workspace = Workspace(server)
    workspace.upload(("late.bin", b"x" * 100_000), ("late.txt", b"x"))
    wait_until(lambda: swept(server, "expired") == 2, "both have expired")
    wait_until(lambda: not server.blobs(), "and their blobs are deleted")
    rows = [row for row in workspace.activity() if row["activity_type"] == "upload_receipt"]
    assert [row["method"] for row in rows] == ["chat_upload_expired"] * 2
    assert server.get(workspace.path("pending-uploads"), token=workspace.token).json() == []
    server.wait_metric("restante_pending_uploads", 0)
    assert server.metric("restante_sweep_duration_seconds_count") > 0
    assert swept(server, "error") == 0


def test_the_figures_of_waiting_files_can_be_read(start):
    server = start({"uploads.sweep_every": "50ms"})
    workspace = Workspace(server)
    workspace.upload(("a", b"1234"), ("b", b"12345"))
    server.wait_metric("restante_pending_uploads", 2)
    server.wait_metric("restante_pending_uploads_bytes", 9)
    wait_until(lambda: server.metric("restante_pending_uploads_oldest_age_seconds") > 0, "they age")
    stats = server.get("/admin/uploads/stats", token=server.admin_token).json()
    assert stats["total"]["never_fetched"] == {"files": 2, "bytes": 9}
    listed = server.get("/admin/uploads?state=never_fetched", token=server.admin_token).json()
    assert [(row["name"], row["workspace_id"], row["workspace_name"]) for row in listed["uploads"]] == [("a", workspace.id, "test"), ("b", workspace.id, "test")]


def test_a_server_sweeps_at_its_start(start, tmp_path):
    server = start({"uploads.ack_retention": "0s", "uploads.sweep_every": "24h"}, data=tmp_path)
    workspace = Workspace(server)
    (file_id, _), = workspace.upload(("a.bin", b"x" * 100_000))
    wait_until(lambda: server.metric("restante_sweep_duration_seconds_count"), "the sweep at start is over")
    assert ack(workspace, file_id).status == 200
    server.kill()
    again = start({"uploads.ack_retention": "0s", "uploads.sweep_every": "24h"}, data=tmp_path)
    wait_until(lambda: swept(again, "acked") == 1, "swept at start")
    if backend.BYTES == "dir":
        wait_until(lambda: not again.blobs(), "and its blob is deleted")


def test_the_results_of_sweeps_requested_at_once_add_up(start):
    server = start({"uploads.ack_retention": "0s", "uploads.sweep_every": "24h"})
    workspace = Workspace(server)
    wait_until(lambda: server.metric("restante_sweep_duration_seconds_count"), "the sweep at start is over")
    for file_id, _ in workspace.upload(*[(f"{n}", b"x") for n in range(50)]):
        assert ack(workspace, file_id).status == 200
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: sweep(server), range(6)))
    for answer in answers:
        if answer.status != 200:
            check_error(answer, 409, code="sweep_running")
    assert sum(answer.json()["acked"] for answer in answers if answer.status == 200) == 50
    assert swept(server, "acked") == 50


def test_a_fetch_during_the_sweep_gets_the_whole_body_or_none(start):
    server = start({"uploads.ack_retention": "0s", "uploads.sweep_every": "24h"})
    workspace = Workspace(server)
    wait_until(lambda: server.metric("restante_sweep_duration_seconds_count"), "the sweep at start is over")
    data = os.urandom(20 * MIB)
    (file_id, _), = workspace.upload(("big.bin", data))
    wire = server.connect(receive_buffer=4096)
    wire.send(request("GET", workspace.content(file_id), workspace.auth()))
    wait_until(wire.has_input, "the download has begun")
    assert ack(workspace, file_id).status == 200
    # A reader keeps its file open; a blob without a file descriptor is not dropped while a request may be reading it.
    assert sweep(server).json()["blobs_deleted"] == (1 if backend.BYTES == "dir" else 0)
    assert len(server.blobs()) == (0 if backend.BYTES == "dir" else 1)
    assert wire.read().body == data
    wire.close()
    check_error(server.get(workspace.content(file_id), token=server.admin_token), 404, code="upload_gone")


def test_fetches_all_through_a_sweep_are_whole_or_404(start):
    server = start({"uploads.ttl": "4s", "uploads.ack_retention": "0s", "uploads.sweep_every": "20ms"})
    workspace = Workspace(server)
    contents = {}
    for size in (100, 16_384, 16_385, 300_000):
        data = os.urandom(size)
        (file_id, _), = workspace.upload(("f", data))
        contents[file_id] = data
    seen = set()

    def fetch(file_id):
        while True:
            answer = server.get(workspace.content(file_id), token=workspace.token)
            seen.add(answer.status)
            if answer.status == 404:
                return
            assert (answer.status, answer.body) == (200, contents[file_id])

    threads = [threading.Thread(target=fetch, args=(file_id,)) for file_id in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {200, 404}
    wait_until(lambda: swept(server, "expired") == 4, "all are deleted")


def test_a_retention_above_the_ttl_refuses_to_start_and_a_negative_one_is_at_once(start):
    with pytest.raises(StartFailed) as refused:
        start({"uploads.ttl": "1h", "uploads.ack_retention": "2h"})
    assert refused.value.code == 78 and "ack_retention" in str(refused.value)
    server = start({"uploads.ack_retention": "-1s", "uploads.sweep_every": "24h"})
    workspace = Workspace(server)
    (file_id, _), = workspace.upload(("a", b"x"))
    assert ack(workspace, file_id).status == 200
    wait_until(lambda: sweep(server).json().get("acked", 0) + swept(server, "acked") > 0, "it was deleted at once")


def test_only_the_operator_sweeps(server, workspace):
    check_error(server.request("POST", "/admin/sweep", token=workspace.token), 401, code="admin_required")
    check_error(server.request("POST", "/admin/sweep"), 401, code="admin_required")
