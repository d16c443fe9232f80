"""Delegations end to end, on real servers with SQLite and PostgreSQL: given, picked up, answered, cancelled, overdue,
stuck, late, sent to a callback, and with kill -9."""
import json
import os
import random
import threading
import uuid
from datetime import datetime, timedelta, timezone

import pytest

from support.backend import ROWS
from support.checks import MARKER, check_error
from support.workspace import Workspace, files_of, multipart, sweep
from support.events import EventStream
from support.postgres import Postgres
from support.push import Callback, PushWorkspace, allowing
from support.server import Server
from support.waiting import wait_until

QUICK = {"delegations.sweep_every": "100ms", "log.requests": "none", "limits.invalid_tokens_per_minute": 1_000_000}


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as running:
        yield running


# Both databases, unless RESTANTE_TEST_BACKEND chooses one.
@pytest.fixture(params=[ROWS] if "RESTANTE_TEST_BACKEND" in os.environ else ["sqlite", "postgres"])
def database(request):
    """The settings of the database."""
    if request.param == ROWS:
        yield {}
        return
    with request.getfixturevalue("postgres").database() as url:
        yield {"database": url}


@pytest.fixture
def delegation_server(database, start):
    return start({**QUICK, **database})


@pytest.fixture
def two(delegation_server):
    return Workspace(delegation_server, "caller"), Workspace(delegation_server, "callee")


def delegate(caller, callee, task="count to ten", status=202, **more):
    answer = caller.server.request("POST", caller.path("delegate"), token=caller.token,
                                   json_body={"target_id": callee.id, "task": task, **more})
    assert answer.status == status, answer
    return answer.json()


def call(workspace, did, verb, body=None):
    return workspace.server.request("POST", workspace.path(f"delegations/{did}/{verb}"), token=workspace.token, json_body=body)


def look(workspace, did):
    answer = workspace.server.get(workspace.path(f"delegations/{did}"), token=workspace.token)
    assert answer.status == 200, answer
    return answer.json()


def results(workspace, did=None):
    return [row for row in workspace.activity() if row["method"] == "delegate_result" and did in (None, row["request_body"]["delegation_id"])]


def soon(seconds):
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).isoformat()


def outgoing(workspace, name, content):
    """The uri of a file that the agent itself has staged."""
    headers, body = multipart((name, content))
    sent = workspace.server.request("POST", workspace.path("chat/uploads?direction=out"), token=workspace.token, headers=headers, body=body)
    return files_of(sent)[0][1]["uri"]


# -- the normal way of a task


def test_a_task_is_queued_picked_up_worked_on_and_its_result_is_in_the_callers_inbox(two):
    caller, callee = two
    given = delegate(caller, callee)
    did = given["delegation_id"]
    assert given == {"delegation_id": did, "status": "delegated", "target_id": callee.id}
    # Before the receiving agent reads its inbox: a task counts as picked up some seconds after the agent has read past it.
    assert look(caller, did)["status"] == "queued", "never completed because it was queued"
    task, = [row for row in callee.activity() if row["activity_type"] == "a2a_receive"]
    message = task["request_body"]["params"]["message"]
    assert (task["method"], task["source_id"]) == ("message/send", caller.id)
    assert message["parts"] == [{"kind": "text", "text": "count to ten"}] and message["metadata"]["delegation_id"] == did
    acked = callee.server.request("POST", callee.path("activity/ack"), token=callee.token, json_body={"acked_seq": task["seq"]})
    assert acked.status == 200
    wait_until(lambda: look(caller, did)["status"] == "dispatched", "the ack counts as picking up")
    beaten = call(callee, did, "heartbeat", {"progress": "seven"})
    assert beaten.json() == {"status": "dispatched", "cancel": False}
    assert call(callee, did, "update", {"status": "in_progress"}).json() == {"delegation_id": did, "status": "in_progress"}
    seen = look(caller, did)
    assert (seen["progress"], seen["direction"]) == ("seven", "sent") and seen["last_heartbeat"] and "seven" in seen["why"]
    assert call(callee, did, "update", {"status": "completed", "result": "ten"}).json()["status"] == "completed"
    row, = results(caller)
    assert (row["activity_type"], row["source_id"], row["status"]) == ("a2a_receive", callee.id, "ok")
    assert row["response_body"] == {"text": "ten", "delegation_id": did}
    assert {"kind": "text", "text": "ten"} in row["request_body"]["params"]["message"]["parts"]
    done = look(callee, did)
    assert (done["status"], done["result"], done["why"], done["direction"]) == ("completed", "ten", None, "received")
    assert [step["status"] for step in done["history"]] == ["queued", "dispatched", "in_progress", "completed"]


def test_a_poll_with_a_cursor_counts_as_picking_up(two):
    caller, callee = two
    did = delegate(caller, callee)["delegation_id"]
    seq = callee.head()
    assert callee.server.get(callee.path(f"activity?since_seq={seq}"), token=callee.token).status == 200
    wait_until(lambda: look(caller, did)["status"] == "dispatched", "the cursor has passed the task", ceiling=120)


@pytest.mark.bytes
def test_files_go_with_the_task_and_come_back_with_the_result(two):
    caller, callee = two
    server = caller.server
    did = delegate(caller, callee, attachments=[{"uri": outgoing(caller, "in.txt", b"question" * 9000), "name": "in.txt"}])["delegation_id"]
    upload, task = [row for row in callee.activity() if row["activity_type"] == "a2a_receive"]
    assert upload["method"] == "chat_upload_receive"
    uri = task["request_body"]["params"]["message"]["parts"][1]["file"]["uri"]
    assert uri == upload["request_body"]["uri"] == f"platform-pending:{callee.id}/{upload['request_body']['file_id']}"
    assert server.get(callee.content(upload["request_body"]["file_id"]), token=callee.token).body == b"question" * 9000
    assert call(callee, did, "heartbeat").status == 200
    why = "waiting for a file: the receiving agent has not taken in.txt"
    assert look(caller, did)["why"].startswith(why)
    listed, = server.get(caller.path("delegations"), token=caller.token).json()
    everybodys, = server.get("/admin/delegations", token=server.admin_token).json()["delegations"]
    alone = server.get(f"/admin/delegations/{did}", token=server.admin_token).json()
    assert listed["why"].startswith(why) and everybodys["why"].startswith(why) and alone["why"].startswith(why)
    assert alone["task"] == "count to ten" and [step["status"] for step in alone["history"]] == ["queued", "dispatched"]
    done = call(callee, did, "update", {"status": "completed", "result": "see file",
                                        "attachments": [{"uri": outgoing(callee, "out.txt", b"answer" * 9000), "name": "out.txt"}]})
    assert done.status == 200, done
    uri = results(caller)[0]["request_body"]["params"]["message"]["parts"][1]["file"]["uri"]
    file_id = uri.split("/")[1]
    assert server.get(caller.content(file_id), token=caller.token).body == b"answer" * 9000
    assert look(caller, did)["result_attachments"][0]["uri"] == uri


def test_a_cancelled_task_fails_at_once_and_a_late_answer_still_arrives(two):
    caller, callee = two
    did = delegate(caller, callee)["delegation_id"]
    assert call(callee, did, "cancel").status == 404, "only its caller may cancel it"
    assert call(caller, did, "cancel").json() == {"delegation_id": did, "status": "failed"}
    assert call(caller, did, "cancel").status == 200, "once more is fine"
    assert call(callee, did, "heartbeat").json() == {"status": "failed", "cancel": True}
    late = call(callee, did, "update", {"status": "completed", "result": "ten after all"})
    check_error(late, 409, code="delegation_ended")
    assert late.json()["status"] == "failed" and "late" in late.json()["error"]
    check_error(call(callee, did, "update", {"status": "completed", "result": "again"}), 409, code="delegation_ended")
    first, second = results(caller, did)
    assert first["response_body"]["text"] == "cancelled by caller" and "late" not in first["request_body"]
    assert second["request_body"]["late"] is True and second["response_body"] == {"text": "ten after all", "delegation_id": did, "late": True}
    assert look(caller, did)["late_answer"] == "ten after all"
    assert caller.server.metric("restante_delegation_late_answers_total") == 1, "the second one is not counted"


def test_the_same_key_or_id_is_one_task_and_a_retry_is_a_new_one(two):
    caller, callee = two
    first = delegate(caller, callee, idempotency_key="k", delegation_id="mine:1.a_b-c")
    assert first["delegation_id"] == "mine:1.a_b-c"
    again = delegate(caller, callee, status=200, idempotency_key="k")
    assert again == {"delegation_id": "mine:1.a_b-c", "status": "queued", "target_id": callee.id, "idempotent_hit": True}
    assert delegate(caller, callee, status=200, delegation_id="mine:1.a_b-c")["idempotent_hit"] is True
    taken = caller.server.request("POST", callee.path("delegate"), token=callee.token,
                                  json_body={"target_id": caller.id, "task": "x", "delegation_id": "mine:1.a_b-c"})
    check_error(taken, 409, code="delegation_id_taken")
    assert call(callee, "mine:1.a_b-c", "update", {"status": "failed", "error": "no"}).status == 200
    retried = caller.server.request("POST", caller.path("delegate"), token=caller.token,
                                    json_body={"retry_of": "mine:1.a_b-c", "idempotency_key": "k"})
    assert retried.status == 202, retried
    record = look(caller, retried.json()["delegation_id"])
    assert (record["retry_count"], record["retry_of"], record["task"]) == (1, "mine:1.a_b-c", "count to ten")
    assert len([row for row in callee.activity() if row["method"] == "message/send"]) == 2


@pytest.mark.bytes
@pytest.mark.parametrize("size", [5, 3_000_000], ids=["in the row", "as a file"])
def test_a_retry_brings_its_files_again_as_long_as_they_are_kept_and_has_as_much_time(database, start, size):
    server = start({**QUICK, **database, "uploads.ack_retention": "0s"})
    caller, callee, other = (Workspace(server, name) for name in ("caller", "callee", "other"))
    content = b"x" * size

    def waits(workspace):
        waiting = server.get(workspace.path("pending-uploads"), token=workspace.token).json()
        return [(file["name"], server.get(workspace.content(file["file_id"]), token=workspace.token).body) for file in waiting]

    def take_and_fail(workspace, did):
        """The receiving agent acks the file and reports the task as failed."""
        for file in server.get(workspace.path("pending-uploads"), token=workspace.token).json():
            assert server.request("POST", workspace.path(f"pending-uploads/{file['file_id']}/ack"), token=workspace.token).status == 200
        assert call(workspace, did, "update", {"status": "failed", "error": "no"}).status == 200
        sweep(server)
        assert waits(workspace) == []

    def again(did, status=202, **more):
        answer = server.request("POST", caller.path("delegate"), token=caller.token, json_body={"retry_of": did, **more})
        assert answer.status == status, answer
        return answer

    uri = outgoing(caller, "plan.txt", content)
    first = delegate(caller, callee, attachments=[{"uri": uri, "name": "the plan"}], deadline=soon(3 * 86_400))["delegation_id"]
    assert call(callee, first, "update", {"status": "failed", "error": "no"}).status == 200
    second = again(first, target_id=other.id).json()["delegation_id"]
    assert waits(other) == [("plan.txt", content)], "to another agent, from the first agent's copy"
    file, = look(other, second)["attachments"]
    assert file["name"] == "the plan" and file["uri"].startswith(f"platform-pending:{other.id}/")
    task = look(caller, second)
    length = datetime.fromisoformat(task["deadline"]) - datetime.fromisoformat(task["created_at"])
    assert abs(length - timedelta(days=3)) < timedelta(minutes=10), "the new deadline is as far away as the old one was"

    take_and_fail(other, second)
    take_and_fail(callee, again(second, target_id=callee.id).json()["delegation_id"])
    third = again(second).json()["delegation_id"]
    assert waits(other) == [("plan.txt", content)], "from the caller's upload"

    take_and_fail(other, third)
    assert server.request("DELETE", caller.path(f"pending-uploads/{uri.split('/')[-1]}"), token=server.admin_token).status == 200
    before = len(other.activity())
    refused = again(third, status=400)
    check_error(refused, 400, code="attachment_gone")
    assert "sent again" in refused.json()["error"]
    assert len(other.activity()) == before, "nothing was given"
    again(third, attachments=[])
    assert waits(other) == []
    again(third, attachments=[{"uri": outgoing(caller, "again.txt", b"again"), "name": "again.txt"}])
    assert waits(other) == [("again.txt", b"again")]


def test_the_header_key_makes_one_task_of_many_requests_at_once(two):
    caller, callee = two
    answers = []

    def ask():
        answers.append(caller.server.request("POST", caller.path("delegate"), token=caller.token, headers={"Idempotency-Key": "same"},
                                             json_body={"target_id": callee.id, "task": "once"}))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert {answer.status for answer in answers} <= {202, 409}
    assert len({answer.body for answer in answers if answer.status == 202}) == 1
    assert len([row for row in callee.activity() if row["method"] == "message/send"]) == 1
    other = caller.server.request("POST", caller.path("delegate"), token=caller.token, headers={"Idempotency-Key": "same"},
                                  json_body={"target_id": callee.id, "task": "twice"})
    check_error(other, 422, code="idempotency_mismatch")


def test_a_recorded_task_is_reported_on_by_its_caller(two):
    caller, callee = two
    recorded = caller.server.request("POST", caller.path("delegations/record"), token=caller.token,
                                     json_body={"target_id": callee.id, "task": "sent by hand", "delegation_id": "r1"})
    assert (recorded.status, recorded.json()["status"]) == (202, "recorded")
    assert [row for row in callee.activity() if row["activity_type"] == "a2a_receive"] == []
    assert call(caller, "r1", "update", {"status": "completed", "response_preview": "done"}).status == 200
    assert look(caller, "r1")["response_preview"] == "done"


def record(workspace, body):
    return workspace.server.request("POST", workspace.path("delegations/record"), token=workspace.token, json_body=body)


@pytest.mark.parametrize("field", ["target_id", "task", "delegation_id"])
@pytest.mark.parametrize("value", [None, "", 7])
def test_a_task_is_not_recorded_without_its_three_fields(two, field, value):
    caller, callee = two
    refused = record(caller, {"target_id": callee.id, "task": "sent by hand", "delegation_id": "r1", field: value})
    check_error(refused, 400)
    assert refused.json()["field"] == field
    assert caller.activity() == [] and callee.activity() == []


def test_a_record_is_made_once_and_no_other_task_can_have_its_id(two):
    caller, callee = two
    body = {"target_id": callee.id, "task": "sent by hand", "delegation_id": "r1"}
    assert record(caller, body).json() == {"delegation_id": "r1", "status": "recorded", "target_id": callee.id}
    again = record(caller, body)
    assert (again.status, again.json()) == (200, {"delegation_id": "r1", "status": "recorded", "target_id": callee.id, "idempotent_hit": True})
    check_error(record(callee, {**body, "target_id": caller.id}), 409, code="delegation_id_taken")
    check_error(record(caller, {**body, "delegation_id": "r2", "target_id": str(uuid.uuid4())}), 403, code="may_not_talk")
    assert [row["method"] for row in caller.activity()] == ["delegate"]


def test_live_events_report_every_step(two):
    caller, callee = two
    with EventStream(caller.server, caller.path("events/stream"), token=caller.token) as stream:
        did = delegate(caller, callee)["delegation_id"]
        assert stream.until("DELEGATION_SENT")[-1].data["delegation_id"] == did
        call(callee, did, "heartbeat", {"progress": "half"})
        assert stream.until("DELEGATION_STATUS")[-1].data["status"] == "dispatched"
        call(callee, did, "update", {"status": "completed", "result": "x"})
        assert stream.until("DELEGATION_COMPLETE")[-1].data["delegation_id"] == did
        taken_back = delegate(caller, callee)["delegation_id"]
        call(caller, taken_back, "cancel")
        failed = stream.until("DELEGATION_FAILED")[-1].data
        assert (failed["delegation_id"], failed["status"]) == (taken_back, "failed") and not failed.get("late")
        check_error(call(callee, taken_back, "update", {"status": "completed", "result": "y"}), 409, code="delegation_ended")
        late = stream.until("DELEGATION_STATUS", "DELEGATION_COMPLETE")[-1]
        assert (late.name, late.data["delegation_id"], late.data["late"]) == ("DELEGATION_STATUS", taken_back, True), "it ends once"


# -- time


def test_deadlines_and_silence_end_tasks_after_the_grace_and_the_caller_gets_one_result(database, start):
    server = start({**QUICK, **database, "delegations.stuck_after": "1s"})
    caller, callee = Workspace(server, "caller"), Workspace(server, "callee")
    overdue = delegate(caller, callee, deadline=soon(5))["delegation_id"]
    silent = delegate(caller, callee)["delegation_id"]
    waiting = delegate(caller, callee)["delegation_id"]
    assert call(callee, silent, "heartbeat").status == 200
    wait_until(lambda: look(caller, overdue)["status"] == "failed", "the deadline has passed")
    wait_until(lambda: look(caller, silent)["status"] == "stuck", "it gets no heartbeats")
    assert look(caller, overdue)["error_detail"] == "deadline exceeded"
    assert look(caller, waiting)["status"] == "queued", "an offline receiving agent is normal"
    assert "never connected" in look(caller, waiting)["why"]
    assert len(results(caller, overdue)) == len(results(caller, silent)) == 1
    listed = server.get("/admin/delegations?status=stuck", token=server.admin_token).json()
    assert (listed["count"], listed["status"], listed["delegations"][0]["delegation_id"]) == (1, "stuck", silent)
    stats = server.get("/admin/delegations/stats", token=server.admin_token).json()
    assert stats == {"queued": 1, "dispatched": 0, "in_progress": 0, "completed": 0, "failed": 1, "stuck": 1}
    server.wait_metric("restante_delegations_total", 1, '{status="stuck"}')
    server.wait_metric("restante_delegation_age_seconds_count", 2)


def test_a_server_that_has_just_started_keeps_deadlines_and_reports_no_task_as_stuck(database, tmp_path):
    settings = {**QUICK, **database, "delegations.stuck_after": "1h"}
    with Server(settings, data=tmp_path) as server:
        caller, callee = Workspace(server, "caller"), Workspace(server, "callee")
        overdue = delegate(caller, callee, deadline=soon(5))["delegation_id"]
        silent = delegate(caller, callee)["delegation_id"]
        assert call(callee, silent, "heartbeat").status == 200
    with Server({**settings, "delegations.stuck_after": "10m"}, data=tmp_path) as server:
        caller = caller.on(server)
        wait_until(lambda: look(caller, overdue)["status"] == "failed", "a deadline is a deadline")
        assert look(caller, overdue)["error_detail"] == "deadline exceeded" and len(results(caller, overdue)) == 1
        assert look(caller, silent)["status"] == "dispatched"


# -- callbacks


def reply(body):
    text = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text


MESSAGE = {"jsonrpc": "2.0", "id": 1, "result": {"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": "ten"}]}}


@pytest.mark.parametrize("body, status, text", [
    (MESSAGE, "completed", "ten"),
    ({"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": "t", "status": {"state": "completed"},
                                            "artifacts": [{"parts": [{"kind": "text", "text": "made"}]}]}}, "completed", "made"),
    ({"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": "t", "status": {"state": "working"}}}, "in_progress", None),
    ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "cannot"}}, "failed", "cannot"),
    ({"status": "accepted"}, "dispatched", None),
])
def test_a_callback_may_answer_at_once_or_later(database, start, body, status, text):
    with Callback(lambda connection, _: connection.sendall(reply(body))) as callback:
        server = start({**QUICK, **database, **allowing(callback.port)})
        callee, caller = PushWorkspace(server, callback.url()), Workspace(server, "caller")
        did = delegate(caller, callee)["delegation_id"]
        wait_until(lambda: look(caller, did)["status"] == status, "the callback's answer is stored")
        sent = json.loads(callback.requests[0].split(b"\r\n\r\n", 1)[1])
        assert sent["params"]["message"]["metadata"]["delegation_id"] == did
        assert [row for row in callee.rows() if row["activity_type"] == "a2a_receive"] == [], "a polling agent would get it twice"
        if text:
            assert results(caller)[0]["response_body"]["text"] == text
            return
        done = server.request("POST", f"/workspaces/{callee.id}/delegations/{did}/update", token=callee.token,
                              json_body={"status": "completed", "result": "later"})
        assert done.status == 200 and results(caller)[0]["response_body"]["text"] == "later"


def test_the_caller_of_a_slow_callback_is_answered_at_once_and_sees_that_the_task_waits_for_it(database, start):
    gate = threading.Event()

    def slowly(connection, _):
        gate.wait(120)
        connection.sendall(reply(MESSAGE))

    with Callback(slowly) as callback:
        server = start({**QUICK, **database, **allowing(callback.port)})
        callee, caller = PushWorkspace(server, callback.url()), Workspace(server, "caller")
        did = delegate(caller, callee)["delegation_id"]
        wait_until(lambda: callback.requests, "the callback is called")
        seen = look(caller, did)
        assert (seen["status"], seen["why"]) == ("queued", "the receiving agent's callback is being called")
        gate.set()
        wait_until(lambda: look(caller, did)["status"] == "completed", "and answers")
        assert len(results(caller, did)) == 1 and len(callback.requests) == 1


def test_a_task_whose_callback_was_being_called_when_the_server_was_killed_is_in_the_inbox_afterwards(database, tmp_path):
    over = threading.Event()
    with Callback(lambda connection, _: over.wait(120)) as callback:
        # With a shared database the sweep waits until no other server can still be calling the callback.
        settings = {**QUICK, **database, **allowing(callback.port), "push.timeout": "100ms" if database else "30s"}
        server = Server({**settings, "push.timeout": "30s"}, data=tmp_path)
        callee, caller = PushWorkspace(server, callback.url()), Workspace(server, "caller")
        did = delegate(caller, callee)["delegation_id"]
        wait_until(lambda: callback.requests, "the callback is called")
        server.kill()
        server.finish()
        over.set()
        with Server(settings, data=tmp_path) as server:
            callee.server, caller = server, caller.on(server)
            wait_until(lambda: callee.rows("a2a_receive"), "the task is in the inbox", ceiling=180)
            row, = callee.rows("a2a_receive")
            assert row["request_body"]["params"]["message"]["metadata"]["delegation_id"] == did
            assert look(caller, did)["status"] == "queued" and results(caller) == []


def test_a_task_whose_callback_is_down_waits_in_the_inbox(database, start):
    with Callback() as callback:
        server = start({**QUICK, **database, **allowing(callback.port)})
        callee, caller = PushWorkspace(server, callback.url()), Workspace(server, "caller")
        callback.close()
        did = delegate(caller, callee)["delegation_id"]
        wait_until(lambda: callee.rows("a2a_receive"), "the task is in the inbox")
        row, = callee.rows("a2a_receive")
        assert row["request_body"]["params"]["message"]["metadata"]["delegation_id"] == did
        seen = look(caller, did)
        assert seen["status"] == "queued" and results(caller) == [], "never completed because it was queued"


# -- refused requests


def test_an_invalid_task_is_refused_and_leaves_nothing(two):
    caller, callee = two
    server = caller.server

    def refused(body, *statuses, code=None, token=None):
        answer = server.request("POST", caller.path("delegate"), token=token or caller.token, json_body=body)
        check_error(answer, *statuses, code=code)
        return answer.json()

    good = {"target_id": callee.id, "task": "x"}
    assert refused({"task": "x"}, 400, code="bad_field")["field"] == "target_id"
    assert refused({"target_id": callee.id}, 400, code="bad_field")["field"] == "task"
    refused({**good, "task": ""}, 400, code="bad_field")
    refused({**good, "task": 7}, 400, code="bad_field")
    refused({**good, "task": "a\0b"}, 400, code="nul_not_allowed")
    refused({**good, "target_id": "nobody"}, 400, code="bad_id")
    refused({**good, "target_id": caller.id}, 400, code="bad_field")
    refused({**good, "target_id": str(uuid.uuid4())}, 403, code="may_not_talk")
    refused({**good, "delegation_id": "a b"}, 400, code="bad_field")
    refused({**good, "delegation_id": "x" * 129}, 400, code="bad_field")
    refused({**good, "deadline": soon(-1)}, 400, code="bad_field")
    refused({**good, "deadline": "tomorrow"}, 400, code="bad_field")
    refused({**good, "deadline": soon(365 * 86400)}, 400, code="bad_field")
    refused({**good, "attachments": [{"uri": f"platform-pending:{caller.id}/{uuid.uuid4()}", "name": "a"}]}, 400, code="attachment_gone")
    refused({**good, "attachments": [{"name": "a"}]}, 400, code="bad_field")
    refused({**good, "retry_of": "none"}, 404, code="delegation_not_found")
    refused({**good, "parent_delegation_id": "none"}, 404, code="delegation_not_found")
    refused(good, 401, code="invalid_token", token=callee.token)
    assert callee.activity() == [] and caller.activity() == []
    big = delegate(caller, callee, task="x" * ((1 << 20) - 200))["delegation_id"]
    assert len(look(callee, big)["task"]) == (1 << 20) - 200
    assert len(look(callee, big)["summary"]) == 4096
    check_error(server.request("POST", caller.path("delegate"), token=caller.token, json_body={**good, "task": "x" * (1 << 20)}), 413)


def test_a_task_of_other_workspaces_is_answered_like_an_unknown_one(two):
    caller, callee = two
    outsider = Workspace(caller.server, "outsider")
    did = delegate(caller, callee)["delegation_id"]
    for name in (did, "absent", "not%20an%20id"):
        answers = [outsider.server.get(outsider.path(f"delegations/{name}"), token=outsider.token),
                   call(outsider, name, "heartbeat"), call(outsider, name, "cancel"), call(outsider, name, "update", {"status": "completed"})]
        for answer in answers:
            check_error(answer, 404, code="delegation_not_found")
            assert answer.json() == {"error": "delegation not found", "code": "delegation_not_found"}
    check_error(call(caller, did, "heartbeat"), 404)
    check_error(call(caller, did, "update", {"status": "completed"}), 404)
    assert look(caller, did)["status"] == "queued"


def test_reports_that_make_no_sense_are_refused(two):
    caller, callee = two
    did = delegate(caller, callee)["delegation_id"]
    for body in ({}, {"status": "queued"}, {"status": "stuck"}, {"status": 1}, {"status": "completed", "error": 1}, {"status": "completed", "attachments": 1}):
        check_error(call(callee, did, "update", body), 400, code="bad_field")
    check_error(call(callee, did, "update", {"status": "completed", "result": "a\0"}), 400, code="nul_not_allowed")
    too_large = call(callee, did, "update", {"status": "completed", "result": "x" * (1 << 20)})
    check_error(too_large, 413, code="result_too_large")
    assert "file" in too_large.json()["error"]
    check_error(caller.server.get(caller.path("delegations?status=odd"), token=caller.token), 400, code="bad_parameter")
    check_error(caller.server.get("/admin/delegations?status=queued", token=caller.server.admin_token), 400, code="bad_parameter")
    assert look(caller, did)["status"] == "queued"
    assert call(callee, did, "update", {"status": "completed", "result": {"a": [1, 2.50]}}).status == 200
    assert look(caller, did)["result"] == '{"a":[1,2.5]}' or look(caller, did)["result"] == '{"a":[1,2.50]}'


def test_limits_answer_429_and_422(database, start):
    server = start({**QUICK, **database, "delegations.max_per_pair": 2, "delegations.max_depth": 1})
    caller, callee, third = Workspace(server, "a"), Workspace(server, "b"), Workspace(server, "c")
    first = delegate(caller, callee)["delegation_id"]
    delegate(caller, callee)
    full = server.request("POST", caller.path("delegate"), token=caller.token, json_body={"target_id": callee.id, "task": "x"})
    check_error(full, 429, code="too_many_delegations")
    assert (full.json()["scope"], full.json()["max"]) == ("pair", 2) and full.header("Retry-After")
    deep = server.request("POST", callee.path("delegate"), token=callee.token, json_body={"target_id": third.id, "task": "x", "parent_delegation_id": first})
    check_error(deep, 422, code="delegation_too_deep")


@pytest.mark.parametrize("scope", ["caller", "callee"])
def test_each_limit_is_the_one_of_its_setting(database, start, scope):
    server = start({**QUICK, **database, f"delegations.max_per_{scope}": 1})
    one, other, third = (Workspace(server, name) for name in "abc")
    delegate(one, other)
    caller, callee = (one, third) if scope == "caller" else (third, other)
    full = server.request("POST", caller.path("delegate"), token=caller.token, json_body={"target_id": callee.id, "task": "x"})
    check_error(full, 429, code="too_many_delegations")
    assert (full.json()["scope"], full.json()["max"]) == (scope, 1)
    delegate(third, one), delegate(other, third)


def test_a_circle_is_refused(two):
    caller, callee = two
    first = delegate(caller, callee)["delegation_id"]
    back = callee.server.request("POST", callee.path("delegate"), token=callee.token,
                                 json_body={"target_id": caller.id, "task": "x", "parent_delegation_id": first})
    check_error(back, 422, code="delegation_cycle")


def test_the_text_of_a_task_is_never_logged(database, start):
    server = start({**QUICK, **database})
    caller, callee = Workspace(server, "caller"), Workspace(server, "callee")
    did = delegate(caller, callee, task=f"secret {MARKER}")["delegation_id"]
    call(callee, did, "heartbeat", {"progress": MARKER})
    call(callee, did, "update", {"status": "completed", "result": MARKER})
    server.wait_log("delegation_completed")
    assert MARKER not in server.log_tail()


# -- kill -9


def delegate_nearly_due(caller, callee, **more):
    """With the nearest deadline that is not already past, and so refused, when the server checks it."""
    for seconds in (0.5, 5, 30):
        answer = caller.server.request("POST", caller.path("delegate"), token=caller.token,
                                       json_body={"target_id": callee.id, "task": "count", "deadline": soon(seconds), **more})
        if answer.status != 400:
            break
    assert answer.status == 202, answer


@pytest.mark.parametrize("seed", [random.randrange(1 << 32) for _ in range(2)])
def test_after_kills_around_the_end_every_task_has_one_end_and_one_row(database, tmp_path, seed):
    """Receiving agents, callers and the sweep end tasks while the server is killed; answered ends remain, and nothing ends twice."""
    rng, settings = random.Random(seed), {**QUICK, **database, "delegations.stuck_after": "200ms"}
    answered, made, wrong, known = {}, [], [], None
    for _ in range(4):
        server = Server(settings, data=tmp_path)
        if not known:
            known = Workspace(server, "caller"), Workspace(server, "callee")
        caller, callee = (one.on(server) for one in known)
        for _ in range(12):
            made.append(f"d{len(made)}")
            (delegate_nearly_due if rng.random() < 0.3 else delegate)(caller, callee, delegation_id=made[-1])
        stop_after, count, lock = rng.randrange(3, 25), [0], threading.Lock()
        over = threading.Event()

        def work(mine):
            own = random.Random(mine)
            while not over.is_set():
                did = own.choice(made)
                verb, who, body = own.choice([("heartbeat", callee, None), ("cancel", caller, None),
                                              ("update", callee, {"status": own.choice(["completed", "failed"]), "result": did})])
                try:
                    answer = call(who, did, verb, body)
                except (OSError, AssertionError):
                    return  # it was killed
                if answer is None:
                    return
                with lock:
                    if answer.status == 200 and verb != "heartbeat":
                        if answered.setdefault(did, answer.json()["status"]) != answer.json()["status"]:
                            wrong.append((did, answered[did], answer.json()))
                    count[0] += 1

        threads = [threading.Thread(target=work, args=(rng.random(),)) for _ in range(4)]
        [thread.start() for thread in threads]
        wait_until(lambda: count[0] >= stop_after, "some work was done")
        server.kill()
        over.set()
        [thread.join() for thread in threads]
        server.finish()
        assert not wrong, f"two ends of one task: {wrong}, seed {seed}"
    with Server({**settings, "delegations.stuck_after": "1h"}, data=tmp_path) as server:
        caller, callee = (one.on(server) for one in known)
        under_way = lambda: server.get("/admin/delegations?limit=1000", token=server.admin_token).json()["delegations"]
        wait_until(lambda: not any(task["deadline"] < soon(60) for task in under_way()), "overdue tasks have ended", ceiling=180)
        rows = caller.activity()
        for did in made:
            record = look(caller, did)
            ends = [row for row in rows if row["method"] == "delegate_result" and row["request_body"]["delegation_id"] == did]
            late = [row for row in ends if row["request_body"].get("late")]
            final = record["status"] in ("completed", "failed", "stuck")
            assert len(ends) - len(late) == (1 if final else 0), (did, seed)
            assert len(late) == (1 if record["late_at"] else 0)
            steps = [step["status"] for step in record["history"] if not step["late"]]
            assert steps[0] == "queued" and steps[-1] == record["status"]
            assert sum(step in ("completed", "failed", "stuck") for step in steps) == (1 if final else 0)
            if did in answered:
                assert record["status"] == answered[did], "an answered end remains"
        # Last, because tasks that the receiving agent has read count as picked up, and the checks above must not see changes.
        tasks = [row["request_body"]["params"]["message"]["metadata"]["delegation_id"] for row in callee.activity() if row["method"] == "message/send"]
        assert sorted(tasks) == sorted(made), "every task is there once"
