"""Tasks between two agents that both run `restante mcp`: given, done, failed, not waited for; each result reaches its caller once."""
import os
import re
import threading
from pathlib import Path

import pytest

from support.agent import send, url_of
from support.workspace import Workspace
from support.waiting import wait_until


@pytest.fixture
def caller(workspace, mcp, tmp_path):
    return mcp(url_of(workspace.server), token=workspace.token, arguments=("--allow", str(tmp_path)))


@pytest.fixture
def worker(workspace, mcp, tmp_path):
    name = "worker-" + os.urandom(4).hex()
    own = Workspace(workspace.server, name)
    session = mcp(url_of(workspace.server), token=own.token, arguments=("--allow", str(tmp_path)))
    session.workspace, session.name = own, name
    return session


def take_task(worker):
    message = worker.call("wait_for_message", timeout_seconds=60)["message"]
    assert message["type"] == "message" and message["from"] == "agent" and message["delegation_id"], message
    return message


@pytest.mark.bytes
def test_a_task_with_files_is_done_and_its_result_comes_back_once(workspace, caller, worker, tmp_path):
    question, answer = os.urandom(50_000), os.urandom(70_000)
    (tmp_path / "question.bin").write_bytes(question)
    (tmp_path / "answer.bin").write_bytes(answer)
    asking = caller.start_call("delegate_task", {"target": worker.name, "task": "turn it around", "timeout_seconds": 300,
                                                 "attachments": [str(tmp_path / "question.bin")]})
    task = take_task(worker)
    assert task["text"] == "turn it around" and task["source_id"] == workspace.id
    assert Path(task["files"][0]["path"]).read_bytes() == question
    done = worker.call("complete_task", delegation_id=task["delegation_id"], result="turned", attachments=[str(tmp_path / "answer.bin")])
    assert done["status"] == "completed"
    result = caller.result(asking)
    assert (result["delegation_id"], result["status"], result["result"]) == (task["delegation_id"], "completed", "turned")
    assert Path(result["files"][0]["path"]).read_bytes() == answer
    # Once: neither the result nor its file is also in the inbox.
    send(workspace, "next")
    assert caller.call("wait_for_message", timeout_seconds=60)["message"]["text"] == "next"
    assert caller.pop()["message"] is None
    status = caller.call("check_task_status", delegation_id=task["delegation_id"])
    assert (status["status"], status["result"], status["files"][0]["path"]) == ("completed", "turned", result["files"][0]["path"])


def test_a_message_of_an_agent_is_answered_to_that_agent_whose_name_the_model_sees(workspace, caller, worker):
    caller.call("send_message_to_agent", target=worker.name, message="are you there?")
    name = workspace.server.get(f"/workspaces/{workspace.id}", token=workspace.token).json()["name"]
    answer = worker.answer(worker.start_call("wait_for_message", {"timeout_secs": 60}))["result"]
    message = answer["structuredContent"]["message"]
    assert (message["from"], message["source_id"], message["source_name"], message["text"]) == ("agent", workspace.id, name, "are you there?")
    assert f"agent {name} ({workspace.id})" in answer["content"][0]["text"] and "send_message_to_agent" in answer["content"][0]["text"]
    worker.call("send_message_to_agent", workspace_id=message["source_id"], message="yes")
    assert caller.call("wait_for_message", timeout_seconds=60)["message"]["text"] == "yes"
    assert "no peer" in worker.trouble("send_message_to_agent", target="nobody at all", message="x")


def test_a_repeated_complete_task_says_that_it_changed_nothing(caller, worker):
    asking = caller.start_call("delegate_task", {"workspace_id": worker.workspace.id, "task": "once", "timeout_secs": 300})
    task = take_task(worker)
    worker.call("complete_task", delegation_id=task["delegation_id"], result="the first")
    assert caller.result(asking)["result"] == "the first"
    again = worker.answer(worker.start_call("complete_task", {"delegation_id": task["delegation_id"], "result": "the second"}))["result"]
    assert not again["isError"] and "changed nothing" in again["content"][0]["text"] and "the first" in again["content"][0]["text"]
    assert caller.call("check_task_status", delegation_id=task["delegation_id"])["result"] == "the first"


def test_a_task_that_takes_longer_tells_how_to_go_on(caller, worker):
    answer = caller.answer(caller.start_call("delegate_task", {"target": worker.name, "task": "slow", "timeout_seconds": 1}))["result"]
    assert "wait_for_message" in answer["content"][0]["text"] and "Do not give the task again" in answer["content"][0]["text"]


def test_a_result_is_returned_before_unread_messages(workspace, caller, worker):
    send(workspace, "unread")
    wait_until(lambda: caller.call("inbox_peek")["waiting"] == 1, "the message is there")
    asking = caller.start_call("delegate_task", {"target": worker.workspace.id, "task": "quick", "timeout_seconds": 300})
    worker.call("complete_task", delegation_id=take_task(worker)["delegation_id"], result="done")
    assert caller.result(asking)["result"] == "done"
    assert caller.pop()["message"]["text"] == "unread"
    assert caller.pop()["message"] is None


def test_waiting_for_a_result_reports_progress_also_after_the_files(caller, worker, tmp_path):
    (tmp_path / "a.bin").write_bytes(os.urandom(100_000))
    asking = caller.start_call("delegate_task", {"target": worker.name, "task": "slow", "timeout_seconds": 300,
                                                 "attachments": [str(tmp_path / "a.bin")]}, token="t")
    wait_until(lambda: any(step["message"].startswith("the task is") for step in caller.progress("t")), "progress of the wait")
    steps = [step["progress"] for step in caller.progress("t")]
    assert steps == sorted(set(steps)) and steps[-1] > 100_000
    worker.call("complete_task", delegation_id=take_task(worker)["delegation_id"], result="done")
    assert caller.result(asking)["result"] == "done"


def test_a_task_that_was_cancelled_before_the_model_took_it_is_not_handed_to_it(workspace, worker):
    server, callee = workspace.server, worker.workspace
    for name in ("cancelled", "wanted"):
        task = {"target_id": callee.id, "task": f"the {name} one", "delegation_id": f"{name}-{callee.id}"}
        assert server.request("POST", workspace.path("delegate"), token=workspace.token, json_body=task).status == 202
    wait_until(lambda: worker.call("inbox_peek")["waiting"] == 2, "both are there")
    assert server.request("POST", workspace.path(f"delegations/cancelled-{callee.id}/cancel"), token=workspace.token).status == 200
    seen, = worker.call("inbox_peek")["messages"]
    assert seen["text"] == "the wanted one"
    taken = worker.pop(id=seen["id"])["message"]
    assert (taken["id"], taken["text"]) == (seen["id"], "the wanted one")
    assert worker.pop()["message"] is None
    worker.stderr.wait(lambda line: f"task cancelled-{callee.id} is over and is not begun: cancelled by caller".encode() in line, "it is logged")
    worker.call("complete_task", delegation_id=taken["delegation_id"], result="done")
    results = [(row["request_body"]["delegation_id"], row["status"]) for row in workspace.activity() if row["method"] == "delegate_result"]
    assert results == [(f"cancelled-{callee.id}", "error"), (f"wanted-{callee.id}", "ok")]


def test_a_message_that_names_a_task_is_a_message_and_the_task_stays_its_callers(workspace, caller, worker):
    server, callee = workspace.server, worker.workspace
    third = Workspace(server, "third-" + os.urandom(4).hex())
    asking = caller.start_call("delegate_task", {"target": worker.name, "task": "count", "timeout_seconds": 300})
    task = take_task(worker)["delegation_id"]
    for words, token in (("a person's", server.admin_token), ("a third agent's", third.token), ("its caller's", workspace.token)):
        message = {"messageId": os.urandom(8).hex(), "parts": [{"kind": "text", "text": words}],
                   "metadata": {"delegation_id": task, "parent_delegation_id": task}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
        assert server.request("POST", callee.path("a2a"), token=token, json_body=body).status == 200
        wait_until(lambda: worker.call("inbox_peek")["waiting"] == 1, "it is there")
        shown, = worker.call("inbox_peek")["messages"]
        taken = worker.call("wait_for_message", timeout_seconds=60)["message"]
        for seen in (shown, taken):
            assert seen["text"] == words and "delegation_id" not in seen, seen
    worker.call("complete_task", delegation_id=task, result="ten")
    assert caller.result(asking)["result"] == "ten"


class CutOffWorker:
    """A worker with tasks in its inbox, behind a proxy that passes nothing on while `cut_off` is set."""

    def __init__(self, workspace, mcp, proxy):
        self.cut_off, self.asked, self.answered = threading.Event(), set(), set()
        self.caller, self.callee = workspace, Workspace(workspace.server, "cut-off-" + os.urandom(4).hex())
        self.line = proxy(workspace.server.port, gate=self.gate, tap=self.tap)
        self.session = mcp(self.line.url, token=self.callee.token)
        for task in self.tasks:
            order = {"target_id": self.callee.id, "task": task, "delegation_id": f"{task}-{self.callee.id}"}
            assert workspace.server.request("POST", workspace.path("delegate"), token=workspace.token, json_body=order).status == 202
        wait_until(lambda: self.session.call("inbox_peek")["waiting"] == len(self.tasks), "all are there")
        self.cut_off.set()
        # An answer to an earlier request, such as the agent's poll, may still be on its way.
        with self.line.lock:
            before = set(self.line.open)
        self.line.cut()
        wait_until(lambda: not before & self.line.open, "all earlier requests have ended")
        self.answered.clear()

    tasks = ("one", "two", "three")

    def gate(self, data):
        if self.cut_off.is_set():
            self.asked |= set(re.findall(rb"GET /workspaces/[^/]+/delegations/(\w+)-", data))
            self.line.cut()
        return not self.cut_off.is_set()

    def tap(self, data):
        self.answered |= set(re.findall(rb'"delegation_id":"(\w+)-', data))
        return len(data)

    def pop(self):
        answer = self.session.answer(self.session.start_call("inbox_pop"))["result"]
        return answer["structuredContent"]["message"], answer["content"][0]["text"]


def test_while_the_server_does_not_answer_peek_asks_once_and_pop_reports_it(workspace, mcp, proxy):
    worker = CutOffWorker(workspace, mcp, proxy)
    assert worker.session.call("inbox_peek")["waiting"] == 3
    assert worker.asked <= {b"one"}, "it asks no more after the first failure"

    def reports_the_server():
        message, text = worker.pop()
        assert message is None and "files" not in text
        return "The server is not reached at the moment" in text

    wait_until(reports_the_server, "the model reads that the server cannot be reached")


def test_a_task_that_was_cancelled_after_a_pop_had_given_up_is_not_handed_to_the_next_pop(workspace, mcp, proxy):
    worker = CutOffWorker(workspace, mcp, proxy)
    wait_until(lambda: worker.pop() and b"one" in worker.asked, "a pop has asked the server without an answer")
    assert worker.answered == set()
    worker.cut_off.clear()
    wait_until(lambda: b"one" in worker.answered, "the server answers that the task is wanted after the pop has given up")
    path = workspace.path(f"delegations/one-{worker.callee.id}/cancel")
    assert workspace.server.request("POST", path, token=workspace.token).status == 200
    taken = wait_until(lambda: worker.pop()[0], "the next one is taken")
    assert taken["text"] == "two" and not taken.get("again")
    worker.session.stderr.wait(lambda line: f"task one-{worker.callee.id} is over and is not begun".encode() in line, "it is logged")


def test_a_task_that_cannot_be_done_ends_with_the_reason(caller, worker):
    asking = caller.start_call("delegate_task", {"target": worker.name, "task": "the impossible", "timeout_seconds": 300})
    worker.call("complete_task", delegation_id=take_task(worker)["delegation_id"], error="no such thing")
    result = caller.result(asking)
    assert (result["status"], result["error"]) == ("failed", "no such thing")


def test_the_result_of_a_task_without_a_waiting_call_comes_as_a_message(caller, worker):
    given = caller.call("delegate_task_async", target=worker.name, task="later")
    assert given["status"] == "delegated"
    assert caller.call("check_task_status", delegation_id=given["delegation_id"])["status"] in ("queued", "dispatched")
    task = take_task(worker)
    assert task["delegation_id"] == given["delegation_id"]
    worker.call("complete_task", delegation_id=task["delegation_id"], result="here")
    message = caller.call("wait_for_message", timeout_seconds=60)["message"]
    assert (message["type"], message["delegation_id"], message["text"], message["status"]) == ("result", task["delegation_id"], "here", "ok")
    assert caller.pop()["message"] is None


@pytest.mark.parametrize("how", ["cancelled", "timed out"])
def test_a_result_after_the_wait_was_given_up_comes_as_a_message(caller, worker, how):
    asking = caller.start_call("delegate_task", {"target": worker.name, "task": "slow", "timeout_seconds": 1 if how == "timed out" else 300})
    task = take_task(worker)
    if how == "cancelled":
        caller.notify("notifications/cancelled", {"requestId": asking})
        assert caller.request("ping")["result"] == {}, "so the cancellation has been read"
    else:
        assert caller.result(asking)["status"] in ("queued", "dispatched", "in_progress")
    worker.call("complete_task", delegation_id=task["delegation_id"], result="at last")
    message = caller.call("wait_for_message", timeout_seconds=60)["message"]
    assert (message["type"], message["text"]) == ("result", "at last")
    assert caller.pop()["message"] is None


def test_a_caller_that_is_killed_finds_the_result_in_its_inbox(caller, worker, mcp):
    caller.start_call("delegate_task", {"target": worker.name, "task": "slow", "timeout_seconds": 300})
    task = take_task(worker)
    caller.kill()
    worker.call("complete_task", delegation_id=task["delegation_id"], result="for the caller")
    again = mcp(None, keep=caller)
    message = again.call("wait_for_message", timeout_seconds=60)["message"]
    assert (message["type"], message["text"]) == ("result", "for the caller") and "again" not in message
    assert again.close() == 0


def test_an_impossible_task_is_refused_with_a_sentence(workspace, caller, worker):
    Workspace(workspace.server, worker.name)
    assert "several peers" in caller.trouble("delegate_task", target=worker.name, task="x")
    assert "list_peers" in caller.trouble("delegate_task", target="nobody", task="x")
    assert caller.trouble("delegate_task_async", target=workspace.id, task="x")
    assert "No task" in caller.trouble("check_task_status", delegation_id="no-such")
    assert "No task" in caller.trouble("complete_task", delegation_id="no-such", result="x")
    assert "either" in caller.trouble("complete_task", delegation_id="x")
    given = caller.call("delegate_task_async", target=worker.workspace.id, task="mine")
    assert "No task" in worker.trouble("check_task_status", delegation_id=given["delegation_id"] + "x")
