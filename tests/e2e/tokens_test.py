"""Tokens that are revoked in the middle of a poll, an upload or a download; no access to another workspace's files and rows; public
answers without private data."""
import re
import threading
import uuid

import pytest

from support.checks import check_error
from support.workspace import Workspace, files_of, multipart
from support.waiting import wait_until
from support.wire import BrokenResponse, request

MIB = 1024 * 1024


def make_token(workspace):
    """(id, secret) of one more token."""
    made = workspace.server.request("POST", workspace.path("tokens"), token=workspace.server.admin_token, json_body={"label": "spare"})
    assert made.status == 201, made
    return made.json()["token_id"], made.json()["auth_token"]


def revoke(workspace, token_id):
    done = workspace.server.request("DELETE", workspace.path(f"tokens/{token_id}"), token=workspace.server.admin_token)
    assert done.status == 200, done


def sender(workspace):
    """(id, secret) of a sender's token for that workspace."""
    made = workspace.server.request("POST", "/admin/invites", token=workspace.server.admin_token,
                                    json_body={"kind": "sender", "workspace_id": workspace.id, "label": "Ada"})
    assert made.status == 201, made
    listed = workspace.server.get(workspace.path("tokens"), token=workspace.server.admin_token).json()
    token_id, = [token["id"] for token in listed if made.json()["token"].startswith(token["prefix"])]
    return token_id, made.json()["token"]


# -- revoked in the middle

def test_every_poll_of_a_revoked_token_ends_with_401_and_no_other_does(server, workspace):
    token_id, secret = make_token(workspace)
    revoked, others = workspace.park(4, token=secret), workspace.park(4)
    revoke(workspace, token_id)
    for wire in revoked:
        check_error(wire.read(), 401, code="invalid_token")
        wire.close()
    assert not any(wire.has_input() for wire in others)
    workspace.notify("for valid tokens")
    for wire in others:
        assert wire.read().status == 200
        wire.close()


def test_removing_a_workspace_ends_its_polls(server, workspace):
    wires = workspace.park(3)
    assert server.request("DELETE", f"/workspaces/{workspace.id}", token=server.admin_token).status == 200
    for wire in wires:
        check_error(wire.read(), 401, 410)
        wire.close()


def test_a_new_admin_token_ends_the_polls_of_the_old_one(start):
    server = start()
    workspace = Workspace(server)
    old = server.admin_token
    wire, = workspace.park(token=old)
    assert server.request("POST", "/admin/token/rotate", token=old).status == 200
    check_error(wire.read(), 401)
    wire.close()
    check_error(server.get("/workspaces", token=old), 401)
    assert server.get("/workspaces", token=server.admin_token).status == 200


def test_an_upload_whose_token_is_revoked_meanwhile_is_all_there_or_not_at_all(server, workspace):
    token_id, secret = sender(workspace)
    headers, body = multipart(("half.bin", b"h" * MIB))
    with server.connect() as wire:
        wire.send(request("POST", workspace.path("chat/uploads"), {
            "Authorization": f"Bearer {secret}", **headers, "Content-Length": len(body), "Expect": "100-continue"}))
        assert wire.read_informational().status == 100
        wire.send(body[:MIB // 2])
        wait_until(server.unfinished_files, "the upload is in progress")
        revoke(workspace, token_id)
        wire.send(body[MIB // 2:])
        answer = wire.read("POST")
    stored = [row["request_body"]["file_id"] for row in workspace.activity()]
    if answer.status == 200:
        assert stored == [file_id for file_id, _ in files_of(answer)]
    else:
        check_error(answer, 401)
        assert stored == []
    wait_until(lambda: not server.unfinished_files(), "nothing is left of it")
    check_error(server.request("POST", workspace.path("chat/uploads"), token=secret, headers=headers, body=body), 401)


def test_of_uploads_during_a_revocation_exactly_the_acknowledged_ones_are_there(server, workspace):
    token_id, secret = sender(workspace)
    headers, body = multipart(("a.txt", b"content"))
    accepted, refused, begun = [], [], threading.Event()

    def upload():
        while not refused:
            answer = server.request("POST", workspace.path("chat/uploads"), token=secret, headers=headers, body=body)
            (accepted if answer.status == 200 else refused).append(answer)
            if len(accepted) >= 8:
                begun.set()

    threads = [threading.Thread(target=upload) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait(60)
    revoke(workspace, token_id)
    for thread in threads:
        thread.join()
    for answer in refused:
        check_error(answer, 401, code="invalid_token")
    acknowledged = sorted(file_id for answer in accepted for file_id, _ in files_of(answer))
    assert acknowledged == sorted(row["request_body"]["file_id"] for row in workspace.activity())
    # The inbox has them in order: nothing of that sender after the answer to its revocation.
    assert server.wait_log("token_revoked")["token_id"]


def test_a_download_whose_token_is_revoked_is_cut(server, workspace):
    token_id, secret = make_token(workspace)
    content = bytes(range(256)) * (24 * MIB // 256)
    (file_id, _), = workspace.upload(("big.bin", content))
    with server.connect(receive_buffer=4096) as wire:
        wire.send(request("GET", workspace.content(file_id), {"Authorization": f"Bearer {secret}"}))
        wait_until(wire.has_input, "the download has begun")
        revoke(workspace, token_id)
        with pytest.raises(BrokenResponse):
            wire.read()
    check_error(server.get(workspace.content(file_id), token=secret), 401)


# -- another workspace's files and rows

def test_a_file_of_another_workspace_is_not_there_and_stays_untouched(server, workspace):
    other = Workspace(server, "other")
    (file_id, _), = other.upload(("theirs.txt", b"theirs"))
    absent = str(uuid.uuid4())

    def state():
        return server.get(other.path(f"pending-uploads/{file_id}"), token=server.admin_token).json()

    before = state()
    for method, rest in (("GET", "/content"), ("HEAD", "/content"), ("POST", "/ack"), ("GET", "")):
        answers = [server.request(method, workspace.path(f"pending-uploads/{id}{rest}"), token=workspace.token) for id in (file_id, absent)]
        assert [answer.status for answer in answers] == [404, 404] and answers[0].body == answers[1].body, (method, rest)
    assert state() == before
    assert server.get(other.content(file_id), token=other.token).body == b"theirs"
    wait_until(lambda: state() != before, "its own agent's fetch does show")


def test_a_cursor_of_another_workspace_is_answered_like_an_unknown_one(server, workspace):
    other = Workspace(server, "other")
    for place in (workspace, other):
        place.notify("x")
    theirs = other.activity()[0]["id"]
    answers = [server.get(workspace.path(f"activity?since_id={id}"), token=workspace.token)
               for id in (theirs, str(uuid.uuid4()), "00000000-0000-0000-0000-000000000000")]
    for answer in answers:
        assert "since_id" in check_error(answer, 410)["error"]
    assert answers[0].body == answers[1].body == answers[2].body


# -- public answers

@pytest.mark.parametrize("target", ["/health", "/ready", "/metrics", "/uploads/limits", "/no-such-thing"])
def test_public_answers_contain_no_names(server, target):
    workspace = Workspace(server, "Ophelia's very own agent")
    (file_id, _), = workspace.upload(("ophelia.txt", b"content"))
    workspace.park()[0].close()
    server.wait_metric("restante_held_polls", 0)  # the next test that parks a poll counts from here
    text = server.get(target).body.decode()
    for secret in (workspace.id, file_id, workspace.token, workspace.token[:8], server.admin_token[:8], "phelia", str(server.data)):
        assert secret not in text, secret
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", text)


def test_metrics_on_other_addresses_than_loopback_need_a_token(start):
    server = start(listen=("0.0.0.0:0",))
    server.host = "127.0.0.1"
    check_error(server.get("/metrics"), 401)
    assert server.get("/metrics", token=server.admin_token).status == 200
    assert server.get("/health").status == 200


@pytest.mark.parametrize("settings", [{"public_url": "https://post.example"}, {"trusted_proxies": "127.0.0.1"}], ids=["url", "proxy"])
def test_metrics_on_loopback_need_a_token_once_a_proxy_stands_before_the_server(start, settings):
    server = start(settings)
    check_error(server.get("/metrics"), 401)
    assert server.get("/metrics", token=server.admin_token).status == 200
