"""An agent in a network in which connections to the outside must go through an HTTP proxy, which the environment names."""
import json
import os
import ssl
import subprocess

import pytest

from support.agent import pending, send, url_of
from support.agent_kinds import KINDS
from support.workspace import Workspace
from support.forward_proxy import ForwardProxy
from support.server import binary
from support.waiting import wait_until

HOST = "post.example.invalid"  # no name service knows it: a request that reaches the server went through the proxy


@pytest.fixture(params=["cpp", "python"])
def connect(request, connect):
    """The agents that know proxies."""
    return lambda url, **options: connect(url, program=KINDS[request.param](), **options)


@pytest.fixture
def forward():
    made = []

    def maker(*arguments, **options):
        made.append(ForwardProxy(*arguments, **options))
        return made[-1]

    yield maker
    for one in made:
        one.close()


def secure(start, folder):
    """(server, path of its certificate): a server with a certificate for HOST."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=post", "-addext", f"subjectAltName=DNS:{HOST},IP:127.0.0.1", "-keyout", folder / "key.pem", "-out",
                    folder / "cert.pem"], check=True, capture_output=True)
    certificate = folder / "cert.pem"
    tls = ssl.create_default_context(cadata=certificate.read_text())
    return start({"tls.certificate": certificate, "tls.key": folder / "key.pem"}, tls=tls), certificate


def deliver(workspace, agent):
    """A file and a message that names it arrive, are acked and answered."""
    agent.wait_printed("connected to")
    content = os.urandom(200_000)
    (_, item), = workspace.upload(("a.bin", content))
    send(workspace, "through the wall", item["uri"])
    wait_until(lambda: any(delivery["text"] == "through the wall" for delivery in agent.deliveries()), "the message")
    wait_until(lambda: "got it" in workspace.messages(), "the reply")
    assert [path.read_bytes() for path in agent.landed()] == [content]
    wait_until(lambda: pending(workspace) == [], "the file is acked")
    assert agent.stop() == 0


def doctor(tmp_path, url, token, **environment):
    (tmp_path / "token").write_text(token)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RESTANTE_") and "proxy" not in k.lower()}
    done = subprocess.run([binary(), "doctor", "--json", "--url", url, "--token-file", tmp_path / "token", "--state", tmp_path / "state",
                           "--dir", tmp_path / "dir"], env={**clean, **environment}, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, {finding["step"]: finding for finding in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_requests_go_through_the_proxy_with_its_password(server, workspace, connect, forward, variable):
    proxy = forward(server.port, password="me:a b@c")
    agent = connect(f"http://{HOST}", token=workspace.token, environment={variable: f"http://me:a%20b%40c@{proxy.address}"})
    deliver(workspace, agent)
    targets = {target for _, target in proxy.asked}
    assert all(target.startswith(f"http://{HOST}/") for target in targets), targets
    assert any("/activity?" in target for target in targets) and any(target.endswith("/ack") for target in targets)


def test_https_is_tunnelled_and_the_proxy_reads_nothing(start, tmp_path, connect, forward):
    server, certificate = secure(start, tmp_path)
    workspace = Workspace(server)
    proxy = forward(server.port, password="me:secret")
    environment = {"https_proxy": f"me:secret@{proxy.address}", "http_proxy": "http://127.0.0.1:1", "SSL_CERT_FILE": str(certificate)}
    agent = connect(f"https://{HOST}", token=workspace.token, environment=environment)
    deliver(workspace, agent)
    assert {asked for asked in proxy.asked} == {("CONNECT", f"{HOST}:443")}
    assert len(proxy.tunnelled) > 1000
    assert workspace.token.encode() not in proxy.tunnelled and b"HTTP/1.1" not in proxy.tunnelled
    code, found = doctor(tmp_path, f"https://{HOST}", workspace.token, **environment)
    assert code == 0 and found["proxy"]["passed"] and found["ack"]["passed"], found


def test_a_proxy_that_requires_a_password_is_reported_with_what_to_do(server, workspace, connect, forward, tmp_path):
    proxy = forward(server.port, password="me:secret")
    for given, reason in (("", "wants a user name and a password"), ("me:wrong@", "does not take this user name and password")):
        environment = {"all_proxy": f"http://{given}{proxy.address}"}
        for scheme in ("http", "https"):
            agent = connect(f"{scheme}://{HOST}", token=workspace.token, environment=environment)
            line = agent.wait_printed("trying again until it works").decode()
            assert reason in line and "http://name:password@" in line and "wrong" not in line
            assert agent.stop() == 0
            code, found = doctor(tmp_path, f"{scheme}://{HOST}", workspace.token, **environment)
            assert (code, list(found)[-1]) == (69, "server") and reason in found["server"]["found"], found
    assert proxy.asked == []


def test_hosts_in_no_proxy_and_loopback_are_called_directly(server, workspace, connect, forward, tmp_path):
    proxy = forward(server.port)
    environment = {"http_proxy": f"http://{proxy.address}", "no_proxy": "localhost,.example.invalid"}
    code, found = doctor(tmp_path, f"http://{HOST}", workspace.token, **environment)
    assert (code, list(found)[-1]) == (69, "name"), found  # there is no such host name
    agent = connect(url_of(server), token=workspace.token, environment={"http_proxy": f"http://{proxy.address}"})
    deliver(workspace, agent)
    assert proxy.asked == []


def test_an_unsupported_proxy_is_reported_and_not_bypassed(workspace, tmp_path):
    code, found = doctor(tmp_path, f"http://{HOST}", workspace.token, all_proxy="socks5://127.0.0.1:1080")
    assert (code, list(found)[-1]) == (69, "proxy"), found
    assert "http://" in found["proxy"]["found"] and found["proxy"]["remedy"]
