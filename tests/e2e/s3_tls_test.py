"""S3 by https: a certificate is trusted if the authority in s3.ca_file issued it (or, without that, one of the system's) to the
name in s3.endpoint. Otherwise nothing is sent, the operator reads what to set, and the server recovers once it is right."""
import hashlib
import re
import uuid

import pytest

from support.authority import Authority
from support.backend import Bucket
from support.checks import check_error
from support.workspace import Workspace, files_of, multipart
from support.server import StartFailed
from support.tls_front import TlsFront
from support.waiting import wait_until

SMALL = bytes(range(256)) * 800  # one PUT
LARGE = hashlib.sha256(b"parts").digest() * 200_000  # a multipart upload
HERE = "DNS:localhost,IP:127.0.0.1"
# A slow machine is no fault. Sweeps run often, so that acked files are deleted soon.
SETTINGS_HERE = {"blobs": "s3", "s3.patience": "60s", "s3.attempts": "4", "uploads.sweep_every": "100ms", "uploads.ack_retention": "0s"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.issue(HERE)


@pytest.fixture(scope="module")
def other_authority(tmp_path_factory):
    """Another authority with the same name, which has issued nothing."""
    return Authority(tmp_path_factory.mktemp("other_authority"))


@pytest.fixture(scope="module")
def bucket(swift):
    return Bucket(swift)


@pytest.fixture
def front_of():
    """front_of(endpoint, certificate, …): a TlsFront that is closed at the end of the test."""
    made = []

    def maker(*arguments, **options):
        made.append(TlsFront(*arguments, **options))
        return made[-1]

    yield maker
    for one in made:
        one.close()


@pytest.fixture
def start_s3_server(swift, bucket, start):
    """start_s3_server(front, …): a server that stores its files in S3 through that front, under its own prefix."""
    def maker(front, *, data=None, environment=None, prefix=None, **settings):
        own = {"s3.endpoint": front.endpoint, "s3.bucket": bucket.name, "s3.region": swift.region, "s3.prefix": prefix or f"{uuid.uuid4().hex}/"}
        keys = {"RESTANTE_S3_ACCESS_KEY": swift.access_key, "RESTANTE_S3_SECRET_KEY": swift.secret_key}
        return start({**SETTINGS_HERE, **own, **{key.replace("__", "."): str(value) for key, value in settings.items()}}, data=data,
                     environment={**keys, **(environment or {})})
    return maker


def send(agent, content):
    headers, body = multipart(("file.bin", content))
    return agent.server.request("POST", agent.path("chat/uploads"), token=agent.server.admin_token, headers=headers, body=body, ceiling=300)


def stage(agent, content):
    (file_id, _), = files_of(send(agent, content))
    return file_id


def fetch(agent, file_id, **options):
    return agent.server.get(agent.content(file_id), token=agent.token, ceiling=300, **options)


def check_whole(agent, content):
    """Uploads and downloads a file; returns its id."""
    file_id = stage(agent, content)
    answer = fetch(agent, file_id)
    assert answer.status == 200 and answer.body == content
    return file_id


def trouble(server):
    """The error of the blob store in the operator's report."""
    state, = [store for store in server.get("/admin/health", token=server.admin_token).json()["stores"] if store["name"] == "blobs"]
    return state["error"]


def check_refused(server, front, *sentences):
    """Uploads are refused, nothing was sent to S3, the operator reads what to set, and messages still work."""
    agent = Workspace(server)
    refused = send(agent, SMALL)
    check_error(refused, 503, code="platform_unavailable")
    assert int(refused.header("Retry-After")) >= 1
    assert agent.server.get(agent.path("pending-uploads"), token=agent.token).json() == []
    ready = server.get("/ready")
    assert ready.status == 503 and ready.json()["checks"]["blobs"] == "failed", ready
    for text in (trouble(server), server.wait_log("s3_failed")["reason"]):
        for sentence in (f"no secure connection to {front.endpoint.removeprefix('https://')}", "s3.endpoint ", front.endpoint, *sentences):
            assert sentence in text, (sentence, text)
    assert not front.passed and front.connections >= 1
    agent.notify("messages need no S3")
    return agent


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_files_are_stored_read_and_deleted_by_https(swift, bucket, certificate, authority, front_of, start_s3_server, tmp_path, name):
    front = front_of(swift.endpoint, certificate, name=name)
    prefix = f"{uuid.uuid4().hex}/"
    server = start_s3_server(front, data=tmp_path, prefix=prefix, s3__ca_file=authority.file)
    agent = Workspace(server)
    assert server.get("/ready").status == 200

    staged = {check_whole(agent, content): content for content in (SMALL, LARGE)}
    for file_id, content in staged.items():
        part = fetch(agent, file_id, headers={"Range": "bytes=100000-149999"})
        assert part.status == 206 and part.body == content[100_000:150_000]
    mine = [bucket.read(object_name) for object_name in bucket.objects() if object_name.startswith(prefix)]
    assert sorted(mine) == sorted(staged.values())

    for file_id in staged:
        assert server.request("POST", agent.path(f"pending-uploads/{file_id}/ack"), token=agent.token).json() == {"acked": True}
    server.stop()
    # Objects stay for as long as a request may last. This server has a short limit; the first one had a long limit.
    start_s3_server(front, data=tmp_path, prefix=prefix, s3__ca_file=authority.file, timeouts__request="1s")
    left = lambda: [object_name for object_name in bucket.objects() if object_name.startswith(prefix)]
    wait_until(lambda: not left(), "acked files are swept", 120)
    # The signature contains Host, and Swift verifies it: with the port, which is not the usual one.
    hosts = set(re.findall(rb"\r\nHost: ([^\r]*)\r\n", bytes(front.passed)))
    assert hosts == {front.endpoint.removeprefix("https://").encode()}
    assert f"PUT /{bucket.name}/{prefix}".encode() in front.passed


def test_without_a_ca_file_the_systems_authorities_are_trusted(swift, certificate, authority, front_of, start_s3_server):
    front = front_of(swift.endpoint, certificate)
    server = start_s3_server(front, environment={"SSL_CERT_FILE": str(authority.file)})
    check_whole(Workspace(server), LARGE)


def test_an_authority_that_the_system_does_not_know_is_refused_and_the_sentence_names_s3_ca_file(swift, certificate, authority, front_of, start_s3_server, tmp_path):
    front = front_of(swift.endpoint, certificate)
    server = start_s3_server(front, data=tmp_path)
    agent = check_refused(server, front, "issued by none of the system's authorities: set s3.ca_file")
    server.stop()
    check_whole(agent.on(start_s3_server(front, data=tmp_path, s3__ca_file=authority.file)), SMALL)


def test_another_authority_of_the_same_name_is_refused(swift, certificate, other_authority, front_of, start_s3_server):
    front = front_of(swift.endpoint, certificate)
    server = start_s3_server(front, s3__ca_file=other_authority.file)
    check_refused(server, front, f"issued by none in s3.ca_file {other_authority.file}: put its own there")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_certificate_for_another_host_is_refused_until_there_is_the_right_one(swift, certificate, authority, front_of, start_s3_server, name):
    front = front_of(swift.endpoint, authority.issue("DNS:s3.example.org,IP:127.0.0.2"), name=name)
    server = start_s3_server(front, s3__ca_file=authority.file)
    agent = check_refused(server, front, "the certificate was not issued to this name", "set s3.endpoint to a name that is in it")
    front.show(certificate)
    wait_until(lambda: server.get("/ready").status == 200, "it is ready without a restart")
    check_whole(agent, SMALL)


def test_a_server_that_does_not_know_tls_is_refused_and_reported_as_such(swift, authority, front_of, start_s3_server):
    front = front_of(swift.endpoint, None)
    server = start_s3_server(front, s3__ca_file=authority.file)
    check_refused(server, front, "the server does not speak TLS on this port")


@pytest.mark.parametrize("content", [b"", b"-----BEGIN NONSENSE-----\n"], ids=["empty", "nonsense"])
def test_a_ca_file_without_an_authority_is_named(swift, certificate, front_of, start_s3_server, tmp_path, content):
    front = front_of(swift.endpoint, certificate)
    file = tmp_path / "ca.pem"
    file.write_bytes(content)
    with pytest.raises(StartFailed, match=r"s3\.ca_file") as refused:
        start_s3_server(front, s3__ca_file=file)
    assert str(file) in str(refused.value) and not front.passed


# -- cut connections are tried again


@pytest.fixture(scope="module")
def steady(swift, bucket, certificate, authority):
    """A front for the tests below."""
    front = TlsFront(swift.endpoint, certificate)
    yield front
    front.close()


@pytest.fixture
def agent(steady, start_s3_server, authority):
    return Workspace(start_s3_server(steady, s3__ca_file=authority.file, uploads__sweep_every="1h"))


def test_a_handshake_that_is_cut_is_tried_again(agent, steady):
    before = agent.server.metric("restante_s3_retries_total")
    cut = steady.cut_handshake(times=2)
    steady.drop_open()
    check_whole(agent, LARGE)
    assert cut.struck == 2
    assert agent.server.metric("restante_s3_retries_total") - before >= 2


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["whole", "parts"])
def test_an_upload_that_is_cut_within_tls_is_sent_again(agent, steady, size):
    cut = steady.cut("up", after=len(size) // 2)
    check_whole(agent, size)
    assert cut.struck == 1


def test_a_download_that_is_cut_within_tls_goes_on_where_it_was(agent, steady):
    file_id = stage(agent, LARGE)
    cut = steady.cut("down", after=1_500_000, times=2)
    answer = fetch(agent, file_id)
    assert answer.status == 200 and answer.body == LARGE
    assert cut.struck == 2


def test_handshakes_that_never_succeed_are_503_and_heal(agent, steady):
    file_id = stage(agent, SMALL)
    cut = steady.cut_handshake(times=1000)
    steady.drop_open()
    check_error(fetch(agent, file_id), 503, code="platform_unavailable")
    assert cut.struck >= 3
    assert "broke off during the TLS handshake" in trouble(agent.server)
    cut.left = 0
    assert fetch(agent, file_id).body == SMALL
