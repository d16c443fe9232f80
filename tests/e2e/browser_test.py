"""Attacks by other pages in a user's browser: requests with the user's session, DNS rebinding, frames. A browser never adds a bearer
token by itself, so a request with one is accepted from any page. It does add the session's cookie, so such requests are checked."""
import json
import re

import pytest

from support.checks import check_error
from support.workspace import multipart
from support.wire import request

OWN = {"Sec-Fetch-Site": "same-origin"}
FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
    {"Origin": "http://127.0.0.1.evil.example"}, {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"}, {}]
foreign = pytest.mark.parametrize("page", FOREIGN, ids=lambda page: ",".join(page.values()) or "says_nothing")


def sign_in(server, token, headers=OWN, host="127.0.0.1", cookie=None):
    fields = {**headers, "Content-Type": "application/json", **({"Cookie": cookie} if cookie else {})}
    with server.connect() as wire:
        wire.send(request("POST", "/session", fields, json.dumps({"token": token}).encode(), host=host))
        return wire.read()


@pytest.fixture
def cookie(server):
    """A signed-in admin's cookie, as the browser sends it back."""
    answer = sign_in(server, server.admin_token)
    assert answer.status == 200, answer
    return answer.header("Set-Cookie").split(";")[0]


def ask(server, method, target, cookie, headers, body=None, host="127.0.0.1"):
    with server.connect() as wire:
        wire.send(request(method, target, {"Cookie": cookie, **headers}, body, host=host))
        return wire.read(method)


def names(server):
    return [workspace["name"] for workspace in server.get("/workspaces", token=server.admin_token).json()]


# -- requests that another page makes with our cookie

def test_our_own_page_may_write_with_its_session(server, cookie):
    made = ask(server, "POST", "/workspaces", cookie, {**OWN, "Content-Type": "application/json"}, b'{"name":"ours"}')
    assert made.status == 201 and "ours" in names(server), made


@foreign
def test_a_form_of_another_page_uploads_nothing(server, workspace, cookie, page):
    headers, body = multipart(("evil.txt", b"evil"))
    check_error(ask(server, "POST", workspace.path("chat/uploads"), cookie, {**headers, **page}, body), 403, code="foreign_origin")
    assert workspace.activity() == []


@foreign
def test_another_page_changes_nothing_with_our_session(server, cookie, page):
    before = names(server)
    for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded"):
        check_error(ask(server, "POST", "/workspaces", cookie, {**page, "Content-Type": kind}, b'{"name":"evil"}'), 403, code="foreign_origin")
    check_error(ask(server, "DELETE", "/session", cookie, page), 403, code="foreign_origin")
    assert names(server) == before
    assert ask(server, "GET", "/session", cookie, OWN).status == 200, "still signed in"


def test_another_page_reads_nothing_with_our_session(server, cookie):
    for page in FOREIGN[:-1]:
        check_error(ask(server, "GET", "/workspaces", cookie, page), 403, code="foreign_origin")


@foreign
def test_another_page_cannot_sign_a_user_in(server, page):
    answer = sign_in(server, server.admin_token, page)
    check_error(answer, 403, code="foreign_origin")
    assert not answer.all("Set-Cookie")


def test_a_bearer_token_is_accepted_with_any_host_or_origin(server, workspace):
    answer = server.request("POST", workspace.path("notify"), token=workspace.token, json_body={"message": "x"},
                            headers={"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site", "Host": "other.example"})
    assert answer.status == 200, answer


# -- names that are not ours (rebinding)

@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "0.0.0.0", "0.0.0.0:8080", "127.0.0.1.evil.example", "localhost.evil.example",
                                  "[::]", "169.254.169.254"])
def test_under_a_foreign_name_there_is_neither_page_nor_session(server, cookie, host):
    with server.connect() as wire:
        wire.send(request("GET", "/", host=host))
        answer = wire.read()
    assert answer.status in (403, 421) and b"<html" not in answer.body, answer
    for headers in (OWN, {"Sec-Fetch-Site": "none"}, {}):
        refused = ask(server, "GET", "/workspaces", cookie, headers, host=host)
        check_error(refused, 403, 421)
    refused = sign_in(server, server.admin_token, host=host)
    check_error(refused, 403, 421)
    assert not refused.all("Set-Cookie")


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:8080", "[::1]:8080"])
def test_under_its_own_names_the_page_is_there(server, host):
    with server.connect() as wire:
        wire.send(request("GET", "/", host=host))
        assert wire.read().status == 200


def test_the_public_name_and_allowed_hosts_are_own_names(start):
    server = start({"public_url": "https://post.example", "allowed_hosts": "post.lan"})
    for host, status in (("post.example", 200), ("post.lan", 200), ("evil.example", 421)):
        with server.connect() as wire:
            wire.send(request("GET", "/", host=host))
            assert wire.read().status == status, host


# -- sessions

def test_signing_in_always_makes_a_new_session(server, cookie):
    """A session that an attacker set is not used, and the earlier session remains a separate one."""
    planted = "__Host-restante=" + "p" * 43
    answers = [sign_in(server, server.admin_token, cookie=planted), sign_in(server, server.admin_token, cookie=cookie)]
    given = [answer.header("Set-Cookie").split(";")[0] for answer in answers]
    assert len({planted, cookie, *given}) == 4
    check_error(ask(server, "GET", "/workspaces", planted, OWN), 401)


def test_the_cookie_is_for_this_host_only_and_not_readable_by_scripts(server):
    name, *attributes = re.split(r";\s*", sign_in(server, server.admin_token).header("Set-Cookie"))
    assert re.fullmatch(r"__Host-restante=[A-Za-z0-9_-]{43}", name)
    assert {"Path=/", "HttpOnly", "Secure", "SameSite=Strict"} <= set(attributes) and not [a for a in attributes if a.lower().startswith("domain")]


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(server, cookie):
    assert ask(server, "GET", "/workspaces", cookie, OWN).status == 200
    assert ask(server, "DELETE", "/session", cookie, OWN).status == 200
    check_error(ask(server, "GET", "/workspaces", cookie, OWN), 401)


def test_sessions_and_their_end_survive_a_restart(start, tmp_path):
    first = start(data=tmp_path)
    kept, ended = (sign_in(first, first.admin_token).header("Set-Cookie").split(";")[0] for _ in range(2))
    assert ask(first, "DELETE", "/session", ended, OWN).status == 200
    first.kill()
    second = start(data=tmp_path)
    assert ask(second, "GET", "/workspaces", kept, OWN).status == 200
    check_error(ask(second, "GET", "/workspaces", ended, OWN), 401)


# -- frames and preflights

def test_no_page_may_put_ours_in_a_frame(server):
    for target in ("/", "/health", "/no-such-thing"):
        assert "frame-ancestors 'none'" in server.get(target).header("Content-Security-Policy"), target


@pytest.mark.parametrize("target", ["/workspaces", "/session", "/health", "/"])
@pytest.mark.parametrize("private_network", [False, True])
def test_a_preflight_gets_no_permission(server, target, private_network):
    fields = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    if private_network:
        fields["Access-Control-Request-Private-Network"] = "true"
    answer = server.request("OPTIONS", target, headers=fields)
    assert answer.status in (403, 404, 405), answer
    plain = server.get(target, headers={"Origin": "https://evil.example"})
    for response in (answer, plain):
        assert not [name for name, _ in response.headers if name.lower().startswith("access-control-")], response
