"""Idempotency-Key: the same key with the same request has one effect and one answer, across threads, cuts and kill -9."""
import json
import threading

from support.checks import check_error
from support.workspace import Workspace
from support.push import OK, Callback, PushWorkspace, allowing
from support.waiting import CEILING, wait_until
from support.wire import BrokenResponse, request


def message(text):
    """A message without an id: the same message again would be a second row, unless the key prevents it."""
    return {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": text}]}}}


def post(server, target, body, key, token=None):
    return server.request("POST", target, token=token or server.admin_token, json_body=body, headers={"Idempotency-Key": key})


def texts(workspace):
    return [row["summary"] for row in workspace.activity()]


def key_bytes(server, target, body, key):
    fields = {"Authorization": f"Bearer {server.admin_token}", "Content-Type": "application/json", "Idempotency-Key": key}
    return request("POST", target, fields, json.dumps(body).encode())


# -- one effect, one answer


def test_every_route_that_creates_something_answers_a_repeated_request_as_before_even_after_kill_9(start, tmp_path):
    first_server = start(data=tmp_path)
    workspace = Workspace(first_server)
    requests = {
        workspace.path("a2a"): message("hello"),
        workspace.path("notify"): {"message": "hello"},
        workspace.path("activity"): {"activity_type": "agent_log", "summary": "hello"},
    }
    answers = {target: post(first_server, target, body, "key-1") for target, body in requests.items()}
    made = post(first_server, "/workspaces", {"name": "new", "role": "x"}, "key-1")
    assert made.status == 201, made
    first_server.kill()
    server = start(data=tmp_path)
    workspace = workspace.on(server)
    for target, body in requests.items():
        assert answers[target].status == 200, answers[target]
        again = post(server, target, body, "key-1")
        assert (again.status, again.body) == (200, answers[target].body), target
        check_error(post(server, target, {**body, "more": 1}, "key-1"), 422, code="idempotency_mismatch")
    assert texts(workspace) == ["hello"] * 3

    again = post(server, "/workspaces", {"role": "x", "name": "new"}, "key-1")
    assert again.status == 201 and again.json()["id"] == made.json()["id"], again
    shown = made.json()["connection"]
    token = shown.pop("enrolment_token")
    for line in ("connect_command", "install_command", "python_command", "powershell_command"):
        assert token in shown.pop(line)
    assert again.json()["connection"] == {**shown, "auth_token_shown": True}
    assert token.encode() not in again.raw
    names = [each["name"] for each in server.get("/workspaces", token=server.admin_token).json()]
    assert names.count("new") == 1
    server.stop()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or token.encode() not in file.read_bytes(), f"the token is in {file.name}"


def test_of_fifty_requests_at_once_only_one_has_an_effect(server, workspace):
    target, answers, together = workspace.path("a2a"), [], threading.Barrier(50)

    def send():
        together.wait(CEILING)
        answers.append(post(server, target, message("once"), "at-once"))

    threads = [threading.Thread(target=send) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 50
    settled = post(server, target, message("once"), "at-once")
    assert settled.status == 200, settled
    for answer in answers:
        if answer.status == 409:
            check_error(answer, 409, code="idempotency_in_progress")
        else:
            assert (answer.status, answer.body) == (200, settled.body), answer
    assert texts(workspace) == ["once"]


def test_the_same_key_of_another_principal_or_route_is_another_key(server, workspace):
    other = Workspace(server)
    target = workspace.path("a2a")
    for token in (server.admin_token, workspace.token, other.token):
        assert post(server, target, message("hello"), "shared", token).status == 200
    assert post(server, target, message("hello"), "shared", workspace.new_token()).status == 200
    assert post(server, workspace.path("notify"), {"message": "hello"}, "shared", workspace.token).status == 200
    assert post(server, other.path("a2a"), message("hello"), "shared").status == 200
    assert len(texts(workspace)) == 4, "an agent is the same principal with each of its tokens"
    assert len(texts(other)) == 1


def test_an_invalid_key_is_refused(server, workspace):
    for key in ("", "x" * 256, "two words", "\u00e9"):
        headers = {"Idempotency-Key": key.encode()}
        sent = server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": "x"}, headers=headers)
        check_error(sent, 400)
    assert texts(workspace) == []
    assert post(server, workspace.path("notify"), {"message": "x"}, "x" * 255).status == 200


# -- cuts


def test_each_of_many_requests_has_one_effect_whenever_the_server_is_killed(start, tmp_path):
    server = start(data=tmp_path)
    workspace, answered, number, asked = Workspace(server), {}, 0, 0
    for round_number in range(4):
        enough, sender_error = threading.Event(), []

        def send(running=server, target=workspace.path("a2a"), admin=server.admin_token):
            nonlocal number, asked
            try:
                with running.connect() as wire:
                    while True:
                        asked = max(asked, number + 1)
                        fields = {"Authorization": f"Bearer {admin}", "Content-Type": "application/json", "Idempotency-Key": f"n{number}"}
                        wire.send(request("POST", target, fields, json.dumps(message(f"{number}")).encode()))
                        answer = wire.read("POST")
                        if answer is None:
                            return
                        assert answer.status == 200, answer
                        answered[number] = answer.body
                        number += 1
                        if number >= 25 * (round_number + 1):
                            enough.set()
            except (OSError, BrokenResponse):
                pass  # killed
            except AssertionError as error:
                sender_error.append(error)
            finally:
                enough.set()

        thread = threading.Thread(target=send)
        thread.start()
        assert enough.wait(CEILING)
        server.kill()
        thread.join()
        assert not sender_error, sender_error
        server = start(data=tmp_path)
        workspace = workspace.on(server)
    assert len(answered) >= 100
    for each in range(asked):
        again = post(server, workspace.path("a2a"), message(f"{each}"), f"n{each}")
        assert again.status == 200, again
        assert answered.setdefault(each, again.body) == again.body
    assert sorted(texts(workspace), key=int) == [f"{each}" for each in range(asked)], "each once"


# -- push


def test_a_callback_is_called_once_and_a_repeated_request_gets_its_answer(start, tmp_path):
    with Callback() as callback:
        server = start(allowing(callback.port), data=tmp_path)
        workspace = PushWorkspace(server, callback.url())
        target = f"/workspaces/{workspace.id}/a2a"
        first = post(server, target, message("hello"), "k")
        assert (first.status, first.body) == (200, b'{"result":"hi"}')
        server.kill()
        server = start(allowing(callback.port), data=tmp_path)
        again = post(server, target, message("hello"), "k")
        assert (again.status, again.body, again.header("Content-Type")) == (200, first.body, first.header("Content-Type"))
        assert len(callback.requests) == 1
        check_error(post(server, target, message("other"), "k"), 422, code="idempotency_mismatch")
        assert len(callback.requests) == 1


def test_while_a_callback_is_called_its_key_is_in_progress_also_when_the_client_disconnects(start):
    answer_now = threading.Event()

    def script(connection, _):
        answer_now.wait(CEILING)
        connection.sendall(OK)

    with Callback(script) as callback:
        server = start(allowing(callback.port))
        workspace = PushWorkspace(server, callback.url())
        target = f"/workspaces/{workspace.id}/a2a"
        wire = server.connect()
        wire.send(key_bytes(server, target, message("hello"), "k"))
        wait_until(lambda: len(callback.requests) == 1, "the callback is called")
        check_error(post(server, target, message("hello"), "k"), 409, code="idempotency_in_progress")
        wire.close()
        answer_now.set()
        sent = []
        wait_until(lambda: sent.append(post(server, target, message("hello"), "k")) or sent[-1].status != 409, "the key is free")
        assert (sent[-1].status, sent[-1].body) == (200, b'{"result":"hi"}'), sent[-1]
        assert len(callback.requests) == 1, "called again"
        assert len(workspace.rows()) == 1
