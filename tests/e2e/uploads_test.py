"""Uploads from any client to an agent: complete or not at all, fetched, acked, also with crashes and full disks."""
import hashlib
import os
import re
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import backend
from support.checks import check_error
from support.workspace import Workspace, files_of, multipart, sweep
from support.small_disk import SmallDisk
from support.waiting import wait_until
from support.wire import request

pytestmark = pytest.mark.bytes
GOLDEN = Path(os.environ.get("RESTANTE_SOURCE", Path(__file__).parents[2])) / "tests/golden/multipart"
MIB = 1 << 20
MOST = 26_214_400
CHUNK = b"\x00\r\n--\xff\xfe\r\n"


def upload(workspace, *files, token=None, headers=(), query=""):
    fields, body = multipart(*files)
    return workspace.server.request("POST", workspace.path("chat/uploads") + query, token=token or workspace.server.admin_token,
                                    headers={**fields, **dict(headers)}, body=body)


def content(workspace, file_id, **options):
    return workspace.server.get(workspace.content(file_id), token=workspace.token, **options)


def step(workspace, file_id, verb, **options):
    return workspace.server.request("POST", workspace.path(f"pending-uploads/{file_id}/{verb}"), token=workspace.token, **options)


def state(workspace, file_id):
    answer = workspace.server.get(workspace.path(f"pending-uploads/{file_id}"), token=workspace.token)
    assert answer.status == 200, answer
    return answer.json()


def expect_no_blobs(server):
    """With `dir` one sweep is enough, because a reader keeps its file open; in other places blobs stay for as long as a request may last."""
    if backend.BYTES != "dir":
        wait_until(lambda: sweep(server) and not server.blobs(), "the blobs are deleted")
    assert server.blob_keys() == [] and server.unfinished() == []


# -- requests of real clients


def replay(workspace, name):
    """The answer to a captured request, with its request line and its token replaced."""
    head, body = (GOLDEN / f"{name}.http").read_bytes().split(b"\r\n\r\n", 1)
    lines = [line for line in head.split(b"\r\n")[1:] if not re.match(rb"(?i)(host|connection):", line)]
    lines += [b"Host: 127.0.0.1", b"Authorization: Bearer " + workspace.server.admin_token.encode()]
    start = f"POST {workspace.path('chat/uploads')} HTTP/1.1".encode()
    with workspace.server.connect() as wire:
        wire.send(b"\r\n".join([start, *lines]) + b"\r\n\r\n")
        if b"100-continue" in head:
            assert wire.read_informational().status == 100
        wire.send(body)
        return wire.read()


@pytest.mark.parametrize("client, files", [
    ("curl", [("c___.txt", b"hello", "text/plain"), ("two.bin", CHUNK, "application/octet-stream")]),
    ("curl-chunked-expect", [("plain.txt", b"hello", "text/plain")]),
    ("undici", [("c___.txt", b"hello", "text/plain"), ("two.bin", CHUNK, "application/octet-stream")]),
    ("requests", [("c___.txt", b"hello", "text/plain"), ("two.bin", CHUNK, "")]),
    ("httpx", [("c___.txt", b"hello", "text/plain"), ("two.bin", CHUNK, "application/octet-stream")]),
    ("aiohttp", [("a_b_5Cc_3B_C3_A9_E6_BC_A2.txt", b"hello", "text/plain"), ("two.bin", CHUNK, "application/octet-stream")]),
    ("uppy-xhr", [("c___.txt", b"hello", "text/plain")]),
    ("go", [("c___.txt", b"hello", "application/octet-stream"), ("two.bin", CHUNK, "application/octet-stream")]),
    ("ruby", [("c___.txt", b"hello", "text/plain"), ("two.bin", CHUNK, "application/octet-stream")]),
])
def test_files_from_a_real_client_arrive_unchanged(workspace, client, files):
    staged = files_of(replay(workspace, client))
    assert [(item["name"], item["mimeType"]) for _, item in staged] == [(name, kind) for name, _, kind in files]
    assert [content(workspace, file_id).body for file_id, _ in staged] == [data for _, data, _ in files]


def test_the_error_for_an_empty_file_from_a_browser_names_the_file(workspace):
    error = check_error(replay(workspace, "chromium"), 400, code="empty_file")
    assert error["filename"] == "empty.bin" and workspace.activity() == []


def test_a_browser_form_without_a_choice_has_no_files(workspace):
    check_error(replay(workspace, "chromium-nothing-chosen"), 400, code="no_files")


@pytest.mark.parametrize("parameters", [
    "name=\"files\"; filename*=UTF-8''%zz", "name=\"files\"; filename*=latin1''a", 'name="files"; filename*0="b"; filename*1=".txt"',
    'name="files"',
])
def test_a_file_part_that_cannot_be_taken_refuses_all_files_of_the_request(workspace, parameters):
    good = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhello\r\n'
    bad = f"--b\r\nContent-Disposition: form-data; {parameters}\r\n\r\nlost\r\n".encode()
    for body in (good + bad, bad + good):
        answer = workspace.server.request("POST", workspace.path("chat/uploads"), token=workspace.server.admin_token,
                                          headers={"Content-Type": "multipart/form-data; boundary=b"}, body=body + b"--b--\r\n")
        check_error(answer, 400, code="malformed_multipart")
    assert workspace.activity() == []


def test_a_file_in_another_field_than_files_is_ignored(workspace):
    part = lambda name, filename: f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n\r\nhello\r\n'
    answer = workspace.server.request("POST", workspace.path("chat/uploads"), token=workspace.server.admin_token,
                                      headers={"Content-Type": "multipart/form-data; boundary=b"},
                                      body=(part("preview", "b.png") + part("files", "a.txt") + part("file", "c.txt") + "--b--\r\n").encode())
    assert answer.status == 200, answer
    assert [file["name"] for file in answer.json()["files"]] == ["a.txt"]


# -- all steps of a file


def test_a_file_goes_from_the_page_to_the_agent_and_its_states_are_kept(start):
    workspace = Workspace(start({"uploads.ack_retention": "0s", **backend.SOON}))
    server = workspace.server
    wait_until(lambda: server.metric("restante_sweep_duration_seconds_count"), "the sweep at start is over")
    (file_id, item), = files_of(upload(workspace, ("report.pdf", b"%PDF" * 9000, "application/pdf")))
    row, = workspace.activity()
    assert (row["activity_type"], row["method"], row["status"]) == ("a2a_receive", "chat_upload_receive", "ok")
    assert (row["source_id"], row["target_id"], row["summary"]) == (None, workspace.id, "chat_upload_receive: report.pdf")
    assert row["request_body"] == {"file_id": file_id, "name": "report.pdf", "filename": "report.pdf", "mimeType": "application/pdf",
                                   "size": 36_000, "uri": item["uri"], "sha256": item["sha256"]}
    fetched = content(workspace, file_id)
    assert fetched.body == b"%PDF" * 9000 and hashlib.sha256(fetched.body).hexdigest() == item["sha256"]
    wait_until(lambda: state(workspace, file_id)["state"] == "fetched", "the fetch is stored")
    assert step(workspace, file_id, "ack").json() == {"acked": True}
    check_error(content(workspace, file_id), 404, code="upload_gone")
    assert server.get(workspace.content(file_id), token=server.admin_token).status == 200, "people can still read it"
    assert sweep(server)["acked"] == 1
    check_error(server.get(workspace.content(file_id), token=server.admin_token), 404, code="upload_gone")
    expect_no_blobs(server)
    after = state(workspace, file_id)
    assert (after["state"], after["name"]) == ("acked", "report.pdf") and after["fetched_at"] and after["acked_at"] and after["ended_at"]
    assert [row["method"] for row in workspace.activity()] == ["chat_upload_receive", "chat_upload_acked"]
    for event in ("upload_staged", "upload_fetched", "upload_acked"):
        line = server.wait_log(f'"{event}"')
        assert (line["workspace_id"], line["file_id"], line["size"], line["name"]) == (workspace.id, file_id, 36_000, "report.pdf")


def test_a_kill_after_every_step_takes_nothing_back(start, tmp_path):
    settings = {"uploads.ack_retention": "0s", "uploads.sweep_every": "24h"}

    def restarted(workspace=None):
        if workspace:
            workspace.server.kill()
        server = start(settings, data=tmp_path)
        return workspace.on(server) if workspace else Workspace(server)

    workspace = restarted()
    sent = {"small.txt": b"s", "big.bin": os.urandom(3 * MIB)}
    staged = upload(workspace, *sent.items())
    workspace = restarted(workspace)
    ids = {item["name"]: file_id for file_id, item in files_of(staged)}
    assert [row["request_body"]["file_id"] for row in workspace.activity()] == list(ids.values())
    workspace = restarted(workspace)
    for name, file_id in ids.items():
        assert content(workspace, file_id).body == sent[name]
    workspace = restarted(workspace)
    assert {content(workspace, file_id).status for file_id in ids.values()} == {200}, "readable until acked"
    for file_id in ids.values():
        assert step(workspace, file_id, "ack").status == 200
        workspace = restarted(workspace)
        check_error(content(workspace, file_id), 404, code="upload_gone")
        assert state(workspace, file_id)["state"] == "acked"
    first = {file_id: state(workspace, file_id)["acked_at"] for file_id in ids.values()}
    assert [step(workspace, file_id, "ack").status for file_id in ids.values()] == [200, 200]
    # The sweep at the start may have come first; in both cases each row is deleted once.
    sweep(workspace.server)
    settings.update(backend.SOON)
    workspace = restarted(workspace)
    expect_no_blobs(workspace.server)
    for file_id in ids.values():
        status = state(workspace, file_id)
        assert (status["state"], status["acked_at"]) == ("acked", first[file_id])
    receipts = [row["request_body"]["file_id"] for row in workspace.activity() if row["method"] == "chat_upload_acked"]
    assert sorted(receipts) == sorted(ids.values())


def test_a_repeat_after_a_kill_in_the_middle_is_the_same_upload(start, tmp_path):
    workspace = Workspace(start(data=tmp_path))
    answers = {}
    for round_number in range(3):
        stop = threading.Event()
        doing = []

        def keep_uploading(place=workspace, round_number=round_number, doing=doing, stop=stop):
            for number in range(10_000):
                key = f"{round_number}-{number}"
                doing.append(key)
                if stop.is_set():
                    return
                answers[key] = upload(place, (f"{key}.bin", key.encode() * 5000), headers={"Idempotency-Key": key}).body

        def run():
            try:
                keep_uploading()
            except (AssertionError, OSError):
                pass  # the server was killed during the request

        thread = threading.Thread(target=run)
        thread.start()
        wait_until(lambda doing=doing: len(doing) > 5 + 3 * round_number, "some uploads are done")
        workspace.server.kill()
        stop.set()
        thread.join()
        workspace = workspace.on(start(data=tmp_path))
        for key in doing:
            again = upload(workspace, (f"{key}.bin", key.encode() * 5000), headers={"Idempotency-Key": key})
            assert again.status == 200 and answers.setdefault(key, again.body) == again.body, "the answer is the same as before"
    rows = [row["request_body"] for row in workspace.activity()]
    assert sorted(row["name"] for row in rows) == sorted(f"{key}.bin" for key in answers), "each exactly once"
    for row in rows[:5] + rows[-5:]:
        assert content(workspace, row["file_id"]).body == row["name"][:-4].encode() * 5000


def test_blobs_of_a_request_that_ended_with_a_killed_server_are_collected(start, tmp_path):
    settings = {"timeouts.request": "400ms", "timeouts.body_grace": "300ms"}
    server = start(data=tmp_path)
    workspace = Workspace(server)
    fields, body = multipart(("whole.bin", b"w" * MIB), ("half.bin", b"h" * MIB))
    wire = server.connect()
    wire.send(request("POST", workspace.path("chat/uploads"),
                      {**fields, "Authorization": f"Bearer {server.admin_token}", "Content-Length": len(body)}))
    wire.send(body[:MIB + 200_000])
    wait_until(lambda: server.blob_keys(), "the first file is complete")
    server.kill()
    wire.close()
    workspace = workspace.on(start(settings, data=tmp_path))
    assert workspace.activity() == [] and len(workspace.server.blob_keys()) == 1
    # The count of a sweep is no proof: it includes parts of the second file, which are deleted sooner.
    wait_until(lambda: sweep(workspace.server) and not workspace.server.blob_keys(), "the orphan is collected")
    assert workspace.server.metric("restante_orphan_blobs_collected_total") == 1


# -- all or nothing


@pytest.mark.parametrize("bad, status, code", [
    (("third.bin", b"x" * (MOST + 1)), 413, "file_too_large"),
    (("third.bin", b""), 400, "empty_file"),
])
def test_if_the_third_file_is_refused_none_of_the_three_is_kept(server, workspace, bad, status, code):
    before = server.blob_keys()
    error = check_error(upload(workspace, ("one", b"1"), ("two", b"2" * MIB), bad), status, code=code)
    assert error["filename"] == "third.bin"
    assert workspace.activity() == [] and server.blob_keys() == before and server.unfinished() == []


def test_exactly_25_mib_passes_and_comes_back(workspace):
    data = os.urandom(MOST)
    (file_id, item), = files_of(upload(workspace, ("most.bin", data)))
    assert item["sha256"] == hashlib.sha256(data).hexdigest() and content(workspace, file_id).body == data


def test_a_body_with_a_content_encoding_is_415(workspace):
    check_error(upload(workspace, ("a", b"x"), headers={"Content-Encoding": "gzip"}), 415, code="content_encoding_unsupported")


def test_many_large_uploads_at_once_are_all_whole(server, workspace):
    contents = [os.urandom(8 * MIB) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda data: upload(workspace, ("big.bin", data)), contents))
    for data, answer in zip(contents, answers):
        (file_id, _), = files_of(answer)
        assert content(workspace, file_id).body == data
    assert len(workspace.activity()) == 8


# -- quota and disk space


def test_of_two_uploads_at_once_only_one_fits_the_quota(start):
    server = start({"uploads.quota_bytes": 1_500_000})
    workspace = Workspace(server)
    halves = [workspace.begin_upload((f"{n}.bin", b"x" * 1_000_000)) for n in range(2)]
    for wire, rest in halves:
        wire.send(rest)
    answers = [wire.read() for wire, _ in halves]
    for wire, _ in halves:
        wire.close()
    assert sorted(answer.status for answer in answers) == [200, 507], answers
    refused = check_error(next(answer for answer in answers if answer.status == 507), 507, code="quota_exceeded")
    assert refused["max_bytes"] == 1_500_000
    assert len(workspace.activity()) == 1
    wait_until(lambda: len(server.blob_keys()) == 1, "the blob of the refused one is deleted")


def test_the_number_of_files_is_limited_too(start):
    workspace = Workspace(start({"uploads.quota_files": 3}))
    assert upload(workspace, ("1", b"1"), ("2", b"2")).status == 200
    check_error(upload(workspace, ("3", b"3"), ("4", b"4")), 507, code="quota_exceeded")
    assert upload(workspace, ("3", b"3")).status == 200
    assert [row["request_body"]["name"] for row in workspace.activity()] == ["1", "2", "3"]
    assert upload(Workspace(workspace.server), ("1", b"1")).status == 200, "each workspace has its own quota"


def test_an_ack_frees_quota_at_once_although_the_blob_stays_for_a_while(start):
    workspace = Workspace(start({"uploads.quota_files": 2, "uploads.quota_bytes": 250_000}))
    for round_number in range(5):
        (first, _), (second, _) = files_of(upload(workspace, ("1", b"x" * 100_000), ("2", b"y" * 100_000)))
        error = check_error(upload(workspace, ("3", b"3")), 507, code="quota_exceeded")
        assert (error["staged_files"], error["staged_bytes"]) == (2, 200_000)
        assert step(workspace, first, "ack").status == step(workspace, second, "ack").status == 200
        assert len(workspace.server.blob_keys()) == 2 * (round_number + 1)


def test_a_full_disk_is_507_nothing_is_staged_and_staged_files_are_still_delivered(tmp_path):
    with SmallDisk(tmp_path, "24m", {"storage.reserve": 0}) as server:
        workspace = Workspace(server)
        (file_id, _), = files_of(upload(workspace, ("kept.bin", b"k" * 8 * MIB)))
        check_error(upload(workspace, ("second.bin", b"2" * 20 * MIB)), 507, code="storage_full")
        check_error(upload(workspace, ("one.bin", b"1" * MIB), ("two.bin", b"2" * 20 * MIB)), 507, code="storage_full")
        assert len(workspace.activity()) == 1
        assert content(workspace, file_id).body == b"k" * 8 * MIB
        if backend.BYTES == "inline":
            return  # without any free space rows cannot be deleted or acked either: the reserve is for that
        assert len(server.blob_keys()) == 1 and server.unfinished() == []
        assert step(workspace, file_id, "ack").status == 200
        (small, _), = files_of(upload(workspace, ("small.txt", b"s")))
        assert content(workspace, small).body == b"s"


def test_below_the_reserve_uploads_are_refused_first_and_acks_still_have_room(tmp_path):
    # The database and its log need some megabytes; the exact number is unknown.
    with SmallDisk(tmp_path, "24m", {"storage.reserve": 12 * MIB}) as server:
        workspace = Workspace(server)
        (file_id, _), = files_of(upload(workspace, ("kept.bin", b"k" * 5 * MIB)))
        check_error(upload(workspace, ("grows.bin", b"g" * 12 * MIB)), 507, code="insufficient_storage")
        assert len(server.blob_keys()) == 1 and server.unfinished() == []
        workspace.notify("messages still pass")
        assert content(workspace, file_id).status == 200 and step(workspace, file_id, "ack").status == 200


def test_one_client_cannot_fill_the_disk_with_messages_and_what_frees_or_protects_still_works(tmp_path):
    with SmallDisk(tmp_path, "48m", {"storage.reserve": 24 * MIB}) as server:
        workspace, doomed = Workspace(server), Workspace(server, "doomed")
        (acked, _), (failed, _), (recalled, _) = files_of(upload(workspace, ("a", b"a"), ("b", b"b"), ("c", b"c")))
        spare = server.request("POST", workspace.path("tokens"), token=server.admin_token, json_body={"label": "spare"}).json()
        leaked = spare["auth_token"]
        long = {"message": "x" * 700_000}
        answer = wait_until(lambda: (one := server.request("POST", workspace.path("notify"), token=leaked, json_body=long)).status != 200 and one,
                            "a message is refused")
        check_error(answer, 507, code="insufficient_storage")
        check_error(upload(workspace, ("no.txt", b"no")), 507, code="insufficient_storage")
        ready = wait_until(lambda: (one := server.get("/ready")).json()["checks"]["room_for_messages"] == "none" and one, "/ready says so")
        assert ready.status == 200 and ready.json()["checks"]["room_for_files"] == "none" and ready.json()["status"] == "ready", ready
        assert step(workspace, acked, "ack").status == 200
        for number in range(60):
            assert step(workspace, failed, "fail", json_body={"reason": f"reason {number}"}).status == 200
        receipts = server.get(workspace.path("activity?type=upload_receipt"), token=workspace.token).json()
        assert [row["method"] for row in receipts].count("chat_upload_failed") < 30, "ever new reasons do not fill the disk"
        assert server.request("DELETE", workspace.path(f"pending-uploads/{recalled}"), token=server.admin_token).status == 200
        assert server.request("POST", "/registry/heartbeat", token=workspace.token, json_body={"workspace_id": workspace.id}).status == 200
        assert server.request("DELETE", workspace.path(f"tokens/{spare['token_id']}"), token=server.admin_token).status == 200
        assert server.get(workspace.path("activity"), token=leaked).status == 401
        assert server.request("DELETE", f"/workspaces/{doomed.id}", token=server.admin_token).status == 200
        sweep(server)


# -- staging switched off, or tables missing


def test_with_staging_switched_off_a_poll_workspace_is_answered_as_before(start, tmp_path):
    server = start(data=tmp_path)
    workspace = Workspace(server)
    (file_id, _), = workspace.upload(("before.txt", b"before"))
    server.stop()
    workspace = workspace.on(start({"uploads.staging": "false"}, data=tmp_path))
    error = check_error(upload(workspace, ("a", b"x")), 422, code="no_callback")
    assert error["error"].startswith("workspace has no callback URL")
    assert workspace.server.get("/ready").status == 200
    assert content(workspace, file_id).body == b"before", "files that were staged before are still delivered"


def test_without_its_tables_the_server_starts_and_reports_what_is_missing(start, tmp_path):
    server = start(data=tmp_path)
    workspace = Workspace(server)
    server.stop()
    server.home.rows.drop_table("pending_uploads")
    workspace = workspace.on(start({"migrate": "false"}, data=tmp_path))
    server = workspace.server
    check_error(upload(workspace, ("a", b"x")), 422, code="no_callback")
    ready = server.get("/ready")
    assert ready.status == 503 and ready.json()["checks"]["uploads"] == "failed", ready
    assert server.get(workspace.path("pending-uploads"), token=workspace.token).json() == []
    check_error(content(workspace, uuid.uuid4()), 404, code="upload_gone")
    workspace.notify("the rest works")
    assert sweep(server)["acked"] == 0


@pytest.mark.skipif(backend.BYTES != "dir", reason="the test moves the directory away")
def test_a_server_whose_blob_directory_was_moved_away_is_not_ready(start, tmp_path):
    server = start(data=tmp_path)
    (tmp_path / "blobs").rename(tmp_path / "moved")
    ready = server.get("/ready")
    assert ready.status == 503 and ready.json()["checks"]["blobs"] == "failed", ready


# -- files from an agent


def test_an_agent_sends_another_one_a_file_with_its_message(server):
    one, two = Workspace(server, "one"), Workspace(server, "two")
    data = os.urandom(MIB)
    (file_id, item), = files_of(upload(one, ("result.bin", data), token=one.token, query="?direction=out"))
    assert one.activity() == [] and server.get(one.path("pending-uploads"), token=one.token).json() == []
    sent = server.request("POST", two.path("a2a"), token=one.token, json_body={"method": "message/send", "params": {"message": {
        "parts": [{"kind": "text", "text": "here"}, {"kind": "file", "file": {"uri": item["uri"], "name": "result.bin"}}]}}})
    assert sent.status == 200, sent
    arrival, message = two.activity()
    assert (arrival["method"], message["method"], message["source_id"]) == ("chat_upload_receive", "message/send", one.id)
    uri = message["request_body"]["params"]["message"]["parts"][1]["file"]["uri"]
    assert uri == arrival["request_body"]["uri"] and uri.startswith(f"platform-pending:{two.id}/")
    assert content(two, arrival["request_body"]["file_id"]).body == data
    assert len(server.blob_keys()) >= 1 and content(one, file_id).body == data
    refused = server.request("POST", two.path("a2a"), token=one.token, json_body={"method": "message/send", "params": {"message": {
        "parts": [{"kind": "file", "file": {"uri": f"platform-pending:{one.id}/{uuid.uuid4()}"}}]}}})
    check_error(refused, 400, code="attachment_gone")
    shown = server.request("POST", one.path("notify"), token=one.token, json_body={"message": "look", "attachments": [{"uri": item["uri"], "name": "r"}]})
    assert shown.status == 200, shown
    assert server.get(one.content(file_id), token=server.admin_token).body == data, "people read it in its owner's workspace"


# -- details that clients depend on


def test_an_agent_that_has_just_registered_uploads_to_itself(server):
    """As clients of the earlier server do, with the token that they got at registration."""
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "alone"}).json()
    registered = server.request("POST", "/registry/register", token=made["connection"]["enrolment_token"],
                                json_body={"id": made["id"], "agent_card": {"name": "alone"}, "delivery_mode": "poll"})
    assert registered.status == 200, registered
    agent = Workspace(server, known=(made["id"], registered.json()["auth_token"]))
    key = {"Idempotency-Key": "mine"}
    first = upload(agent, ("a.txt", b"to myself", "text/plain"), token=agent.token, headers=key)
    (file_id, item), = files_of(first)
    assert (item["name"], item["mimeType"], item["size"]) == ("a.txt", "text/plain", 9)
    assert upload(agent, ("a.txt", b"to myself", "text/plain"), token=agent.token, headers=key).body == first.body
    row, = agent.activity()
    assert (row["activity_type"], row["method"], row["source_id"], row["target_id"]) == ("a2a_receive", "chat_upload_receive", None, agent.id)
    assert content(agent, file_id).body == b"to myself" and step(agent, file_id, "ack").json() == {"acked": True}
    (again, _), = files_of(upload(agent, ("b.txt", b"b"), token=agent.token, query="?direction=in"))
    recalled = server.request("DELETE", agent.path(f"pending-uploads/{again}"), token=agent.token)
    assert recalled.json() == {"recalled": True} and state(agent, again)["state"] == "recalled"
    other = Workspace(server, "other")
    check_error(upload(agent, ("c.txt", b"c"), token=other.token), 401, code="invalid_token")


def test_a_failure_without_a_reason_keeps_the_earlier_reason(server, workspace):
    (file_id, _), = workspace.upload(("a.txt", b"a"))
    for body, reason in (({}, None), ({"reason": "disk full"}, "disk full"), (None, "disk full"), ({"reason": "no rights"}, "no rights")):
        assert step(workspace, file_id, "fail", json_body=body).json() == {"failed": True}
        assert state(workspace, file_id)["reason"] == reason
    receipts = [row["method"] for row in workspace.activity()].count("chat_upload_failed")
    assert 1 <= receipts <= 3, "another reason within a second gets no receipt of its own"


def test_curl_acks_and_fails_with_neither_body_nor_type(server, workspace):
    (first, _), (second, _) = workspace.upload(("1", b"1"), ("2", b"2"))
    for file_id, verb, answer in ((first, "ack", {"acked": True}), (second, "fail", {"failed": True})):
        with server.connect() as wire:
            wire.send(request("POST", workspace.path(f"pending-uploads/{file_id}/{verb}"), workspace.auth()))
            assert wire.read().json() == answer
    assert state(workspace, second)["state"] == "failed"


def test_several_acks_at_once_count_as_one(workspace):
    (file_id, _), = workspace.upload(("1", b"1"))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: step(workspace, file_id, "ack"), range(8)))
    assert {(answer.status, answer.body) for answer in answers} == {(200, b'{"acked":true}')}
    assert [row["method"] for row in workspace.activity()] == ["chat_upload_receive", "chat_upload_acked"]


def test_the_same_key_many_times_at_once_has_one_effect(workspace):
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: upload(workspace, ("a.bin", b"x" * 100_000), headers={"Idempotency-Key": "k"}), range(32)))
    assert {answer.status for answer in answers} <= {200, 409}, answers
    assert len({answer.body for answer in answers if answer.status == 200}) == 1
    assert len(workspace.activity()) == 1
