"""TLS in the server itself: the same server behind a handshake, with certificates that change while it runs."""
import signal
import ssl
import subprocess

import pytest

from support.checks import check_error
from support.workspace import Workspace
from support.server import StartFailed
from support.waiting import wait_until
from support.wire import request


def make_certificate(folder, name):
    """Writes <folder>/cert.pem and key.pem, self-signed for 127.0.0.1, with `name` as the subject. Returns cert.pem's text."""
    new_key, new_cert = folder / "new-key.pem", folder / "new-cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", new_key, "-out", new_cert],
                   check=True, capture_output=True)
    new_key.replace(folder / "key.pem")
    new_cert.replace(folder / "cert.pem")
    return (folder / "cert.pem").read_text()


def trusting(certificate):
    return ssl.create_default_context(cadata=certificate)


def subject(server, context):
    with server.connect(tls=context) as wire:
        return dict(pair[0] for pair in wire.sock.getpeercert()["subject"])["commonName"]


def start_secure(start, folder, **settings):
    """A server with the certificate "first", and connections that trust it."""
    tls = trusting(make_certificate(folder, "first"))
    return start({"tls.certificate": folder / "cert.pem", "tls.key": folder / "key.pem", **settings}, tls=tls)


@pytest.fixture
def secure(start, tmp_path):
    return start_secure(start, tmp_path)


def test_the_ready_line_has_https_and_requests_are_served(secure):
    assert secure.scheme == "https"
    with secure.connect() as wire:
        for _ in range(3):
            wire.send(request("GET", "/health"))
            assert wire.read().body == b'{"status":"ok"}'
        wire.send(request("GET", "/health") * 20 + request("GET", "/uploads/limits", {"Connection": "close"}))
        assert [r.status for r in wire.read_until_closed()] == [200] * 21


def test_the_end_of_a_connection_is_announced(secure):
    with secure.connect() as wire:
        wire.send(request("GET", "/health", {"Connection": "close"}))
        assert wire.read().status == 200
        # Without close_notify this would be a reset: no client could distinguish a truncation from the end.
        assert wire.wait_closed() == "eof"


def test_a_file_goes_up_and_comes_down_unchanged(secure):
    workspace = Workspace(secure)
    content = bytes(range(256)) * 4 * 1024 * 3
    (file_id, _), = workspace.upload(("a.bin", content))
    whole = secure.get(workspace.content(file_id), token=workspace.token)
    part = secure.get(workspace.content(file_id), token=workspace.token, headers={"Range": "bytes=1000000-1000999"})
    assert whole.body == content and part.body == content[1_000_000:1_001_000]


def test_a_held_poll_is_woken_and_a_client_that_disconnects_is_noticed(secure):
    workspace = Workspace(secure)
    wire, = workspace.park()
    workspace.notify("hello")
    assert len(wire.read().json()) == 1
    wire.close()
    leaving = workspace.park(3)
    leaving[0].close()
    leaving[1].reset()
    leaving[2].sock.setblocking(True)
    leaving[2].sock.settimeout(5)
    try:
        leaving[2].sock.unwrap()  # a proper end: close_notify, then FIN
    except OSError:
        pass
    leaving[2].close()
    secure.wait_metric("restante_held_polls", 0)


def test_a_stop_answers_held_polls_and_sends_close_notify(secure):
    wires = Workspace(secure).park(3)
    secure.signal(signal.SIGTERM)
    for wire in wires:
        response, = wire.read_until_closed()
        assert (response.body, wire.ended) == (b"[]", "eof")
        wire.close()
    assert secure.wait_exit() == 0


def test_sighup_brings_the_new_certificate_to_new_connections(secure, tmp_path):
    first = (tmp_path / "cert.pem").read_text()
    with secure.connect() as old:
        assert subject(secure, secure.tls) == "first"
        both = trusting(first + make_certificate(tmp_path, "second"))
        assert subject(secure, both) == "first", "not before the signal"
        secure.signal(signal.SIGHUP)
        wait_until(lambda: subject(secure, both) == "second", "the new certificate is served")
        old.send(request("GET", "/health", {"Connection": "close"}))
        assert [r.status for r in old.read_until_closed()] == [200], "an old connection stays open"
    secure.tls = both


@pytest.mark.parametrize("damage", ["garbage", "absent", "foreign_key"])
def test_a_broken_certificate_at_sighup_leaves_the_old_one_in_service(secure, tmp_path, damage):
    if damage == "garbage":
        (tmp_path / "cert.pem").write_text("not a certificate\n")
    elif damage == "absent":
        (tmp_path / "cert.pem").unlink()
    else:
        certificate = (tmp_path / "cert.pem").read_text()
        make_certificate(tmp_path, "other")
        (tmp_path / "cert.pem").write_text(certificate)
    secure.signal(signal.SIGHUP)
    # The server logs it: the operator who sent the signal has to learn that nothing changed.
    assert secure.wait_log("tls_reload_failed")["reason"]
    assert subject(secure, secure.tls) == "first"


def test_a_server_without_a_usable_certificate_does_not_start(start, tmp_path):
    with pytest.raises(StartFailed) as failed:
        start({"tls.certificate": tmp_path / "cert.pem", "tls.key": tmp_path / "key.pem"})
    assert failed.value.code not in (0, None) and failed.value.code > 0
    assert "cert.pem" in str(failed.value)


def test_plain_http_on_the_tls_port_is_refused(secure):
    with secure.connect(tls=None) as wire:
        wire.send(request("GET", "/health", {"Connection": "close"}))
        wire.wait_closed()
        # A TLS alert, an HTTP 400 in the clear, or nothing.
        assert wire.buffer[:1] in (b"", b"\x15") or wire.buffer.startswith(b"HTTP/1.1 400 ")
    secure.check_alive()


@pytest.mark.parametrize("data", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"\x16\x03\x01" + b"\xff" * 20_000, bytes(range(256))],
                         ids=["silence", "byte", "half_hello", "long_record", "garbage"])
def test_a_handshake_that_never_ends_is_cut_off(start, tmp_path, data):
    secure = start_secure(start, tmp_path, **{"timeouts.header": "3s", "timeouts.idle": "3s"})
    before = secure.sockets()
    wires = [secure.connect(tls=None) for _ in range(20)]
    for wire in wires:
        wire.send(data)
    secure.check_alive()
    for wire in wires:
        wire.wait_closed()
        wire.close()
    wait_until(lambda: secure.sockets() <= before, "the sockets of dead handshakes are closed")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_current_versions_of_tls_are_accepted(secure, version):
    secure.tls.minimum_version = secure.tls.maximum_version = version
    secure.check_alive()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_versions_of_tls_are_refused(secure, tmp_path):
    old = trusting((tmp_path / "cert.pem").read_text())
    old.set_ciphers("DEFAULT:@SECLEVEL=0")
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secure.connect(tls=old)


def test_the_server_chooses_http_1_1_when_the_client_offers_more(secure):
    secure.tls.set_alpn_protocols(["h2", "http/1.1"])
    with secure.connect() as wire:
        assert wire.sock.selected_alpn_protocol() in (None, "http/1.1")
        wire.send(request("GET", "/health", {"Connection": "close"}))
        assert [r.status for r in wire.read_until_closed()] == [200]


def test_framing_errors_look_the_same_behind_tls(secure):
    with secure.connect() as wire:
        wire.send(request("GET", "/health") + b"GET /health HTTP/1.1\r\nX : y\r\n\r\n" + request("GET", "/health"))
        first, second = wire.read_until_closed()
    assert first.status == 200
    check_error(second, 400)
