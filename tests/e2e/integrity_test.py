"""A disk changes stored content while the server runs. The reader notices it by the digest and reports it, or the server's background
check finds it. From then on the content is not served, and the sender gets a receipt."""
import base64
import hashlib
import os
import subprocess

import pytest

from support import backend
from support.backend import cut, flip
from support.checks import check_error
from support.workspace import Workspace, files_of, multipart, sweep
from support.server import binary
from support.waiting import CEILING, wait_until

pytestmark = pytest.mark.bytes
NO_WALK = {"uploads.check_every": "0s"}
WALK = {"uploads.check_every": "50ms", "uploads.check_rate": 1 << 30, "uploads.sweep_every": "50ms", **backend.SOON}
SEND_AGAIN = "it has to be sent again"


def content(workspace, file_id, token=None, **options):
    return workspace.server.get(workspace.content(file_id), token=token or workspace.token, **options)


def step(workspace, file_id, verb, **options):
    return workspace.server.request("POST", workspace.path(f"pending-uploads/{file_id}/{verb}"), token=workspace.token, **options)


def state(workspace, file_id):
    answer = workspace.server.get(workspace.path(f"pending-uploads/{file_id}"), token=workspace.token)
    assert answer.status == 200, answer
    return answer.json()


def receipts(workspace):
    return [(row["method"], row["request_body"].get("reason")) for row in workspace.activity() if row["activity_type"] == "upload_receipt"]


def damaged(server, damage="changed"):
    return server.metric("restante_uploads_damaged_total", f'{{damage="{damage}"}}')


def checked(server, outcome):
    return server.metric("restante_uploads_checked_total", f'{{outcome="{outcome}"}}')


def restante(server, *arguments):
    """The output of the command for the operator."""
    environment = {**os.environ, "RESTANTE_URL": f"http://127.0.0.1:{server.port}", "RESTANTE_TOKEN": server.admin_token}
    done = subprocess.run([binary(), *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def test_a_flipped_bit_is_reported_by_its_reader_verified_by_the_server_and_reported_to_the_sender(start, tmp_path):
    server = start(NO_WALK, data=tmp_path)
    workspace = Workspace(server)
    data = os.urandom(3_000_000)
    (file_id, item), (sound, _) = workspace.upload(("a.bin", data), ("small.txt", b"sound"))
    blob, = server.blobs()
    flip(blob)
    got = content(workspace, file_id)
    digest = base64.b64encode(hashlib.sha256(got.body).digest()).decode()
    assert got.status == 200 and got.header("Repr-Digest") != f"sha-256=:{digest}:", "the reader can notice it"

    assert step(workspace, file_id, "fail", json_body={"reason": "sha256 differs"}).json() == {"failed": True}
    wait_until(lambda: content(workspace, file_id).status == 500, "the server has verified it")
    for token in (workspace.token, server.admin_token):
        error = check_error(content(workspace, file_id, token), 500, code="integrity_error")
        assert error["damage"] == "changed" and SEND_AGAIN in error["error"]
    assert server.request("HEAD", workspace.content(file_id), token=workspace.token).status == 500
    check_error(content(workspace, file_id, headers={"Range": "bytes=0-9"}), 500, code="integrity_error")
    assert content(workspace, sound).body == b"sound"

    status = state(workspace, file_id)
    assert (status["state"], status["damage"], status["sha256"]) == ("failed", "changed", item["sha256"]) and SEND_AGAIN in status["reason"]
    assert [method for method, _ in receipts(workspace)] == ["chat_upload_failed"] * 2
    assert receipts(workspace)[0][1] == "sha256 differs" and SEND_AGAIN in receipts(workspace)[1][1]
    wait_until(lambda: damaged(server), "it is counted after it is stored")
    assert damaged(server) == 1 and checked(server, "damaged") == 1
    line = server.wait_log("upload_damaged")
    assert (line["level"], line["workspace_id"], line["file_id"], line["name"], line["size"], line["damage"]) == (
        "error", workspace.id, file_id, "a.bin", 3_000_000, "changed")
    listed = server.get("/admin/uploads?state=damaged", token=server.admin_token).json()
    assert [(row["file_id"], row["damage"], row["state"]) for row in listed["uploads"]] == [(file_id, "changed", "failed")]
    assert server.blob_keys() == [blob.key], "the blob stays until its row expires"

    server.kill()
    workspace = workspace.on(start(NO_WALK, data=tmp_path))
    check_error(content(workspace, file_id), 500, code="integrity_error")
    workspace.server.wait_metric("restante_damaged_uploads", 1)
    assert step(workspace, file_id, "ack").json() == {"acked": True}, "an agent that got it before may still ack it"
    assert state(workspace, file_id)["state"] == "acked"
    check_error(content(workspace, file_id), 404, code="upload_gone")
    check_error(content(workspace, file_id, workspace.server.admin_token), 500, code="integrity_error")


def test_the_agent_reports_it_and_lands_nothing(start, tmp_path):
    server = start(NO_WALK)
    workspace = Workspace(server)
    (file_id, _), (sound, _) = workspace.upload(("a.bin", os.urandom(200_000)), ("b.txt", b"sound"))
    flip(*server.blobs())
    (tmp_path / "token").write_text(workspace.token)
    folder = tmp_path / ".molecule" / "chat-uploads"
    command = [binary(), "connect", "--url", f"http://127.0.0.1:{server.port}", "--token-file", tmp_path / "token", "--dir", tmp_path, "--state", tmp_path / "state", "--json"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}
    agent = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: state(workspace, file_id)["damage"] == "changed", "the agent has reported it, the server has verified it")
        wait_until(lambda: state(workspace, sound)["state"] == "acked", "the other file is acked")
        assert [path.name.partition("-")[2] for path in folder.iterdir() if not path.name.startswith(".")] == ["b.txt"]
    finally:
        agent.terminate()
        agent.wait(60)


def test_a_failure_of_the_agent_itself_does_not_change_the_file(start):
    server = start(NO_WALK)
    workspace = Workspace(server)
    (file_id, _), = workspace.upload(("a.bin", b"x" * 100_000))
    assert step(workspace, file_id, "fail", json_body={"reason": "no room"}).status == 200
    wait_until(lambda: checked(server, "sound") == 1, "the server has verified it")
    assert content(workspace, file_id).body == b"x" * 100_000
    assert (state(workspace, file_id)["reason"], state(workspace, file_id)["damage"]) == ("no room", None)


def test_the_background_check_finds_damage_that_no_reader_has_reported(start):
    server = start(WALK)
    workspace = Workspace(server)
    (sound, _), = workspace.upload(("sound.bin", os.urandom(50_000)))
    known = set(server.blob_keys())
    files = {}
    for name in ("flipped", "cut", "lost"):
        (files[name], _), = workspace.upload((name, os.urandom(200_000)))
        blob, = [blob for blob in server.blobs() if blob.key not in known]
        known.add(blob.key)
        {"flipped": flip, "cut": lambda it: cut(it, 100_000), "lost": lambda it: it.remove()}[name](blob)
    (files["row"], _), = workspace.upload(("row", b"kept in the row"))
    server.home.rows.query(f"UPDATE upload_contents SET content = {server.home.rows.literal(b'kept in the rov')}")
    expected = {"flipped": "changed", "cut": "changed", "lost": "missing", "row": "changed"}
    for name, file_id in files.items():
        wait_until(lambda: state(workspace, file_id)["damage"] == expected[name], f"{name} is found", 4 * CEILING)
        status, code = (410, "content_missing") if name == "lost" else (500, "integrity_error")
        assert check_error(content(workspace, file_id), status, code=code)["damage"] == expected[name]
    server.wait_metric("restante_damaged_uploads", 4)
    wait_until(lambda: damaged(server, "changed") + damaged(server, "missing") >= 4, "they are counted after they are stored")
    assert (damaged(server, "changed"), damaged(server, "missing")) == (3, 1)
    assert content(workspace, sound).status == 200 and state(workspace, sound)["damage"] is None
    assert [method for method, _ in receipts(workspace)] == ["chat_upload_failed"] * 4
    total = server.get("/admin/uploads/stats", token=server.admin_token).json()["total"]
    assert total["damaged"]["files"] == 4 and total["waiting"]["files"] == 5
    shown = restante(server, "uploads", "--state", "damaged")
    assert all(f"{name} " in shown for name in files) and "sound.bin" not in shown and shown.count(SEND_AGAIN) == 4
    assert "DAMAGED" in restante(server, "uploads", "--stats")


def test_the_first_read_of_a_missing_file_reports_it_as_missing(start):
    server = start({**NO_WALK, **backend.SOON, "uploads.sweep_every": "24h"})
    workspace = Workspace(server)
    (file_id, _), (short, _) = workspace.upload(("a.bin", b"x" * 100_000), ("b.bin", b"y" * 100_000))
    for blob in server.blobs():
        blob.remove() if blob.read()[:1] == b"x" else cut(blob, 50_000)
    error = check_error(content(workspace, file_id), 410, code="content_missing")
    assert error["damage"] == "missing" and "missing" in error["error"]
    assert check_error(content(workspace, short), 500, code="integrity_error")["damage"] == "changed", "and never with a part of the content"
    wait_until(lambda: damaged(server, "missing") == 1 and damaged(server, "changed") == 1, "both are stored")
    assert state(workspace, file_id)["fetched_at"] is None
    server.wait_metric("restante_sweep_duration_seconds_count", 1)  # the sweep at the start would drop it too, and the test would not see it
    recalled = server.request("DELETE", workspace.path(f"pending-uploads/{file_id}"), token=server.admin_token)
    assert recalled.json() == {"recalled": True}
    wait_until(lambda: sweep(server)["blobs_deleted"] == 1, "dropping a missing blob is no error")
    assert (state(workspace, file_id)["state"], state(workspace, file_id)["damage"]) == ("recalled", "missing")


def test_an_outgoing_file_that_is_damaged_cannot_be_sent_on(start):
    server = start(WALK)
    sender, target = Workspace(server, "sender"), Workspace(server, "target")
    headers, body = multipart(("result.bin", os.urandom(100_000)))
    (_, item), = files_of(server.request("POST", sender.path("chat/uploads?direction=out"), token=sender.token, headers=headers, body=body))
    flip(*server.blobs())
    wait_until(lambda: damaged(server) == 1, "it is found")
    message = {"method": "message/send", "params": {"message": {"parts": [{"kind": "file", "file": {"uri": item["uri"], "name": "result.bin"}}]}}}
    sent = server.request("POST", target.path("a2a"), token=sender.token, json_body=message)
    assert SEND_AGAIN in check_error(sent, 400, code="attachment_gone")["error"]
    assert target.activity() == []


def test_sound_files_arrive_and_are_deleted_when_due_even_if_the_check_runs_all_the_time(start):
    server = start({**WALK, "uploads.ack_retention": "0s"})
    workspace = Workspace(server)
    workspace.upload(("stays.txt", b"in the row"))
    for round_number in range(5):
        contents = [bytes([round_number, number]) * 20_000 for number in range(20)]
        # A few at a time: with backend.SOON a request may not take long.
        staged = [one for at in range(0, 20, 5) for one in workspace.upload(*[("f", data) for data in contents[at:at + 5]])]
        for (file_id, _), data in zip(staged, contents):
            assert content(workspace, file_id).body == data
            assert step(workspace, file_id, "ack").status == 200
    wait_until(lambda: not server.blobs(), "all are deleted")
    wait_until(lambda: checked(server, "sound") > 0, "it has checked something")
    assert damaged(server, "changed") == damaged(server, "missing") == checked(server, "damaged") == 0
    loops = {loop["name"]: loop for loop in server.get("/admin/liveness", token=server.admin_token).json()["loops"]}
    assert loops["integrity"]["ok"] and loops["integrity"]["failures"] == 0, loops
