"""Every row of docs/differences.md is true: each has a test, here or where its subject is tested."""
import os
import re
import uuid
from pathlib import Path

from support.checks import check_error
from support.push import Callback, PushWorkspace, allowing
from support.workspace import Workspace

ROOT = Path(os.environ.get("RESTANTE_SOURCE", Path(__file__).parents[2]))
MESSAGE = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "hello"}]}}}


def send(workspace, body):
    return workspace.server.request("POST", workspace.path("a2a"), token=workspace.server.admin_token, json_body=body)


def test_nothing_is_read_or_sent_without_a_token(server, workspace):
    other = Workspace(server)
    for method, target, body in [
        ("POST", workspace.path("a2a"), MESSAGE), ("POST", workspace.path("notify"), {"message": "x"}),
        ("POST", "/registry/check-access", {"caller_id": other.id, "target_id": workspace.id}),
        ("GET", f"/registry/{workspace.id}/peers", None), ("GET", f"/registry/discover/{workspace.id}", None),
        ("GET", f"/workspaces/{workspace.id}", None), ("GET", "/workspaces", None), ("GET", workspace.path("activity"), None),
        ("GET", workspace.path("chat-history"), None), ("GET", workspace.path("pending-uploads"), None),
        ("POST", "/registry/register", {"id": workspace.id, "agent_card": {}, "delivery_mode": "poll"}),
    ]:
        check_error(server.request(method, target, json_body=body, headers={"X-Workspace-ID": other.id}), 401)
    assert workspace.activity() == []


def test_a_new_workspace_gets_an_enrolment_that_works_once(server):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "new"}).json()
    assert "auth_token" not in made["connection"] and "auth_token" not in made
    register = lambda: server.request("POST", "/registry/register", token=made["connection"]["enrolment_token"],
                                      json_body={"id": made["id"], "agent_card": {}, "delivery_mode": "poll"})
    assert register().json()["auth_token"]
    check_error(register(), 401)


def test_discover_and_peers_give_no_url(start):
    with Callback() as callback:
        server = start(allowing(callback.port))
        target, asking = PushWorkspace(server, callback.url()), Workspace(server)
        found = server.get(f"/registry/discover/{target.id}", token=asking.token, headers={"X-Workspace-ID": asking.id})
        assert found.status == 200 and found.json()["id"] == target.id, found
        peers = server.get(f"/registry/{asking.id}/peers", token=asking.token)
        assert target.id in peers.body.decode(), peers
        for answer in (found, peers):
            assert callback.url() not in answer.body.decode() and '"url"' not in answer.body.decode(), answer


def test_a_message_to_an_agent_that_never_came_is_queued(workspace):
    assert workspace.server.get(f"/workspaces/{workspace.id}", token=workspace.token).json()["status"] != "online"
    sent = send(workspace, MESSAGE)
    assert (sent.status, sent.json()["status"]) == (200, "queued"), sent
    assert len(workspace.activity()) == 1


def test_a_part_is_stored_with_its_kind(workspace):
    for message in ({"parts": [{"type": "text", "text": "a"}]}, {"content": [{"type": "text", "text": "a"}]}):
        assert send(workspace, {"method": "message/send", "params": {"message": message}}).status == 200
    for row in workspace.activity():
        assert row["request_body"]["params"]["message"]["parts"] == [{"kind": "text", "text": "a"}], row


def test_the_activity_of_a_workspace_that_does_not_exist_is_404(server):
    check_error(server.get(f"/workspaces/{uuid.uuid4()}/activity", token=server.admin_token), 404, code="workspace_not_found")


# The first column of the table, and the test.
TESTED = {
    "calls without a token": "tests/e2e/differences_test.py::test_nothing_is_read_or_sent_without_a_token",
    "a new workspace": "tests/e2e/differences_test.py::test_a_new_workspace_gets_an_enrolment_that_works_once",
    "`discover`": "tests/e2e/differences_test.py::test_discover_and_peers_give_no_url",
    "a message to an agent that is offline": "tests/e2e/differences_test.py::test_a_message_to_an_agent_that_never_came_is_queued",
    "a message that a callback took": "tests/e2e/push_test.py::test_a_message_goes_to_the_callback_and_its_answer_to_the_sender",
    "a part's `type`": "tests/e2e/differences_test.py::test_a_part_is_stored_with_its_kind",
    "activity of a workspace that does not exist":
        "tests/e2e/differences_test.py::test_the_activity_of_a_workspace_that_does_not_exist_is_404",
    "a part named `files` without a readable filename":
        "tests/e2e/uploads_test.py::test_a_file_part_that_cannot_be_taken_refuses_all_files_of_the_request",
    "an upload's row in the inbox":
        "tests/e2e/uploads_test.py::test_a_file_goes_from_the_page_to_the_agent_and_its_states_are_kept",
    "where files are stored": "tests/e2e/uploads_test.py::test_blobs_of_a_request_that_ended_with_a_killed_server_are_collected",
    "the sweep": "tests/e2e/sweep_test.py::test_fetches_all_through_a_sweep_are_whole_or_404",
    "file names": "src/model/upload_names_test.cpp::IsTheLastComponentOnly",
    "after the ack": "tests/e2e/uploads_test.py::test_a_file_goes_from_the_page_to_the_agent_and_its_states_are_kept",
    "delegation and inbox row": "tests/conformance/delegation_kill_test.cpp::GivingATaskIsWholeOrNothing",
    "result of a task":
        "tests/e2e/delegations_test.py::test_a_task_is_queued_picked_up_worked_on_and_its_result_is_in_the_callers_inbox",
    "an answer after the end": "tests/e2e/delegations_test.py::test_a_cancelled_task_fails_at_once_and_a_late_answer_still_arrives",
    "the `state` of a removed workspace, asked by its agent":
        "src/api/registry_test.cpp::TheStateOfARemovedWorkspaceIsKnownToItsAgentAsLongAsItsTokenIsKept",
    "an empty file": "tests/e2e/uploads_test.py::test_the_error_for_an_empty_file_from_a_browser_names_the_file",
}


def test_every_row_of_the_table_has_a_test():
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs/differences.md").read_text(), re.MULTILINE)
    assert rows[0] == "what" and sorted(rows[1:]) == sorted(TESTED)
    for place in TESTED.values():
        file, name = place.split("::")
        assert re.search(rf"(def |, ){name}\(?\b", (ROOT / file).read_text()), place
