"""POST /workspaces/:id/a2a on a real server: size limits, log lines, and queries."""
import json

import pytest

from support.checks import check_error
from support.workspace import Workspace

MIB = 1 << 20


def message(text, message_id=None):
    body = {"parts": [{"kind": "text", "text": text}], **({"messageId": message_id} if message_id else {})}
    return {"method": "message/send", "params": {"message": body}}


def of_size(size):
    """The bytes of a message of exactly that size."""
    frame = len(json.dumps(message("")))
    return json.dumps(message("x" * (size - frame))).encode()


def send(workspace, body, token=None):
    return workspace.server.request("POST", workspace.path("a2a"), token=token or workspace.server.admin_token, body=body,
                                    headers={"Content-Type": "application/json"})


def test_a_message_may_have_one_mebibyte_and_not_a_byte_more(workspace):
    assert send(workspace, of_size(MIB)).status == 200
    error = check_error(send(workspace, of_size(MIB + 1)), 413)
    assert error["max"] == MIB
    rows = workspace.activity()
    assert len(rows) == 1 and len(rows[0]["request_body"]["params"]["message"]["parts"][0]["text"]) == MIB - len(json.dumps(message("")))


def test_a_nul_is_refused_and_nothing_is_queued(workspace):
    check_error(send(workspace, json.dumps(message("a\0b")).encode()), 400, code="nul_not_allowed")
    assert workspace.activity() == []


def test_a_message_is_logged_once_and_only_when_it_is_there(start):
    server = start()
    workspace, removed = Workspace(server), Workspace(server)
    assert server.request("DELETE", f"/workspaces/{removed.id}", token=server.admin_token).status == 200
    for body, status in ((message("a", "m1"), 200), (message("a", "m1"), 200), (message("b", "m1"), 200)):
        assert send(workspace, json.dumps(body).encode()).status == status
    assert send(removed, json.dumps(message("a")).encode()).status == 410
    server.stop()
    queued = [line for line in server.log() if line["event"] == "message_queued"]
    assert [line["workspace_id"] for line in queued] == [workspace.id] * 2, "one line for each of the two rows"


@pytest.mark.parametrize("query", ["limit=%", "type=%zz", "wait=%4", "since_seq=%00", "source=%ff", "unheard=%"])
def test_a_query_with_a_broken_escape_is_refused(server, workspace, query):
    check_error(server.get(workspace.path(f"activity?{query}"), token=workspace.token), 400, code="bad_parameter")


def test_a_number_larger_than_64_bits_counts_as_a_large_number(server, workspace):
    for number in range(3):
        workspace.notify(f"{number}")
    nines = "9" * 20
    for query in (f"limit={nines}", f"limit=-{nines}", f"since_secs={nines}", f"since_seq=0&wait=-{nines}"):
        got = server.get(workspace.path(f"activity?{query}"), token=workspace.token)
        assert (got.status, len(got.json())) == (200, 3), f"{query}: {got}"
    check_error(server.get(workspace.path(f"activity?since_secs=-{nines}"), token=workspace.token), 400, code="bad_parameter")
    check_error(server.get(workspace.path(f"activity?since_seq={nines}"), token=workspace.token), 410, code="cursor_gone")
