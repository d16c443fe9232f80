"""Addresses, proxies, state directories of each system, and what a failure means."""
import json

import pytest

from restante import wire
from restante.choose import AgentError, Choice, choose_state
from restante.failure import Failure, Stop
from restante.session import hash_of
from restante.state import folder_of_states
from restante.wire import parse_url, proxy_for

WORKSPACES = ["01999a3c-0000-7000-8000-00000000000a", "01999a3c-0000-7000-8000-00000000000b"]


@pytest.mark.parametrize("text, shown", [("https://a.example", "https://a.example"), ("http://a:8080/", "http://a:8080"),
                                         ("https://a:443/base/", "https://a/base"), ("http://[::1]:9", "http://[::1]:9")])
def test_an_address_is_read(text, shown):
    assert str(parse_url(text)) == shown


@pytest.mark.parametrize("text", ["", "a.example", "ftp://a", "https://", "https://u:p@a", "https://a?x", "https://a:x", "https://a#b"])
def test_what_is_no_address_of_a_server_is_refused_with_a_sentence(text):
    with pytest.raises(Failure) as failure:
        parse_url(text)
    assert failure.value.kind == "bad_url" and " " in str(failure.value)


def test_proxies_come_from_the_environment_and_never_for_loopback(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert proxy_for(parse_url("https://a.example")) is None
    monkeypatch.setenv("https_proxy", "http://me:p%20w@proxy:3128")
    found = proxy_for(parse_url("https://a.example"))
    assert (found.hostname, found.port) == ("proxy", 3128)
    assert wire._proxy_authorization(found) == {"Proxy-Authorization": "Basic bWU6cCB3"}
    for loopback in ("https://127.0.0.1:1", "https://[::1]:1", "https://localhost:1"):
        assert proxy_for(parse_url(loopback)) is None
    monkeypatch.setenv("no_proxy", "a.example")
    assert proxy_for(parse_url("https://a.example")) is None


def test_which_failures_may_pass():
    assert all(Failure(kind, "").passes() for kind in ("unreachable", "timeout", "cut", "tls", "protocol"))
    assert [Failure("status", "", status).passes() for status in (408, 429, 500, 501, 503, 404, 302)] == [True, True, True, False, True, False, False]
    assert Failure("status", "", 302).may_yet_succeed() and not Failure("status", "", 404).may_yet_succeed()


def test_every_system_has_its_own_place_for_states():
    def place(environment, windows):
        return str(folder_of_states(environment, windows)).replace("\\", "/")

    assert place({"HOME": "/linux/me"}, False) == "/linux/me/.local/state/restante/python"
    assert place({"HOME": "/mac/me", "XDG_STATE_HOME": "/s"}, False) == "/s/restante/python"
    assert place({"LOCALAPPDATA": "D:/me/AppData/Local"}, True) == "D:/me/AppData/Local/restante/python"
    assert place({"USERPROFILE": "D:/me"}, True) == "D:/me/AppData/Local/restante/python"
    assert place({}, False) == ".restante"


@pytest.fixture
def known(tmp_path):
    for number, workspace in enumerate(WORKSPACES):
        (tmp_path / workspace).mkdir()
        facts = {"server": f"https://server{number}.example", "workspace": workspace, "enrolled": hash_of(f"token{number}")}
        (tmp_path / workspace / "identity.json").write_text(json.dumps(facts))
    return tmp_path


def choose(folder, **given):
    return choose_state(Choice(**given), Stop(), print, folder)


def test_a_state_is_chosen_by_the_workspace_or_the_enrolment_token_without_asking_the_server(known):
    assert choose(known, workspace=WORKSPACES[1].upper()).state == known / WORKSPACES[1]
    again = choose(known, enrol="token0")
    assert again.state == known / WORKSPACES[0] and str(again.server) == "https://server0.example"


def test_without_a_choice_the_only_state_is_taken_and_several_are_listed(known):
    with pytest.raises(AgentError) as several:
        choose(known)
    assert several.value.code == 64 and all(workspace in str(several.value) for workspace in WORKSPACES)
    (known / WORKSPACES[1] / "identity.json").unlink()
    assert choose(known).state == known / WORKSPACES[0]


def test_a_first_start_without_a_token_or_a_server_says_what_to_give(tmp_path):
    with pytest.raises(AgentError, match="--enrol") as nothing:
        choose(tmp_path, server="https://a.example")
    assert nothing.value.code == 77
    with pytest.raises(AgentError, match="which server"):
        choose(tmp_path, enrol="x")
    with pytest.raises(AgentError, match="of the form") as wrong:
        choose(tmp_path, workspace="laptop")
    assert wrong.value.code == 64
