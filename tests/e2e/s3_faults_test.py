"""S3 fails in every possible way: no upload is acknowledged before its object is there, no download of a part looks complete, nothing
is left behind, the operator gets the reason as a sentence, and the server recovers without a restart."""
import hashlib
import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.backend import Bucket
from support.checks import check_error
from support.workspace import Workspace, files_of, multipart
from support.s3_proxy import S3Proxy, access_denied, expired, failed_with_200, other_region, skewed, slow_down, accepted_but_not_stored
from support.server import Server
from support.swift import Swift
from support.waiting import wait_until
from support.wire import BrokenResponse

SMALL = bytes(range(256)) * 800  # one PUT
LARGE = hashlib.sha256(b"parts").digest() * 200_000  # a multipart upload
SECRET = Swift.secret_key
# By name, for the names of the tests.
FILES = {"whole": SMALL, "parts": LARGE}
# Long timeouts: a slow machine is no fault. The faults that must be given up are answered at once.
PATIENT = {"s3.patience": "60s", "s3.attempts": "4"}


@pytest.fixture(scope="module")
def bucket(swift):
    return Bucket(swift)


@pytest.fixture(scope="module")
def front(swift):
    made = S3Proxy(swift.endpoint)
    yield made
    made.close()


def settings_for(swift, bucket, endpoint, **more):
    """Every installation has its own prefix."""
    return {"blobs": "s3", "s3.endpoint": endpoint, "s3.bucket": bucket.name, "s3.region": swift.region, "s3.prefix": f"installation-{uuid.uuid4().hex}/",
            **PATIENT, **{key.replace("__", "."): value for key, value in more.items()}}


def keys_of(swift, secret=SECRET):
    return {"RESTANTE_S3_ACCESS_KEY": swift.access_key, "RESTANTE_S3_SECRET_KEY": secret}


@pytest.fixture(scope="module")
def through(swift, bucket, front):
    """A server that reaches S3 through the proxy."""
    with Server(settings_for(swift, bucket, front.endpoint), environment=keys_of(swift)) as running:
        yield running


@pytest.fixture(autouse=True)
def healed(front):
    yield
    front.heal()


@pytest.fixture
def agent(through, front):
    """After each test uploads and downloads work again, on the same server."""
    agent = Workspace(through)
    yield agent
    front.heal()
    check_works(agent)


def send(agent, content, name="file.bin"):
    headers, body = multipart((name, content))
    return agent.server.request("POST", agent.path("chat/uploads"), token=agent.server.admin_token, headers=headers, body=body, ceiling=300)


def fetch(agent, file_id, **options):
    return agent.server.get(agent.content(file_id), token=agent.token, ceiling=300, **options)


def stage(agent, content):
    (file_id, _), = files_of(send(agent, content))
    return file_id


def check_works(agent):
    for content in (SMALL, LARGE):
        answer = fetch(agent, stage(agent, content))
        assert answer.status == 200 and answer.body == content


def check_refused(agent, response):
    """The client gets an error with Retry-After, and the agent gets no file."""
    check_error(response, 503, code="platform_unavailable")
    assert int(response.header("Retry-After")) >= 1
    assert agent.activity() == [] and agent.server.get(agent.path("pending-uploads"), token=agent.token).json() == []


def blobs_state(server):
    state, = [store for store in server.get("/admin/health", token=server.admin_token).json()["stores"] if store["name"] == "blobs"]
    return state


@pytest.fixture
def nothing_left(bucket):
    """A failed upload leaves neither an object nor a part."""
    before = set(bucket.objects())
    yield
    wait_until(lambda: bucket.parts() == [], "no parts are left")
    wait_until(lambda: set(bucket.objects()) <= before, "no object is left")


# -- faults that the server retries


@pytest.mark.parametrize("size, operation", [("whole", "put"), ("whole", "head"), ("parts", "begin"), ("parts", "put_part"), ("parts", "complete")])
def test_a_busy_s3_is_waited_for(agent, through, front, size, operation):
    content = FILES[size]
    before = through.metric("restante_s3_retries_total")
    fault = front.fail(operation, slow_down, times=2)
    file_id = stage(agent, content)
    assert fault.struck == 2 and through.metric("restante_s3_retries_total") - before >= 2
    assert fetch(agent, file_id).body == content


@pytest.mark.parametrize("size, operation", [("whole", "put"), ("parts", "put_part")])
def test_an_upload_that_is_cut_is_sent_again(agent, front, size, operation):
    content = FILES[size]
    fault = front.cut_request(operation, after=100_000, times=1)
    file_id = stage(agent, content)
    assert fault.struck == 1
    assert fetch(agent, file_id).body == content


@pytest.mark.parametrize("size, operation", [("whole", "put"), ("parts", "put_part"), ("parts", "complete")])
def test_the_outcome_of_a_request_whose_answer_is_lost_is_found_out(agent, front, size, operation):
    content = FILES[size]
    fault = front.lose_answer(operation, times=1)
    file_id = stage(agent, content)
    assert fault.struck == 1
    assert fetch(agent, file_id).body == content


def test_a_completion_that_fails_behind_a_200_is_tried_again(agent, front):
    fault = front.fail("complete", failed_with_200, times=1)
    file_id = stage(agent, LARGE)
    assert fault.struck == 1
    assert fetch(agent, file_id).body == LARGE


@pytest.mark.parametrize("size", FILES)
def test_a_download_that_is_cut_goes_on_where_it_was(agent, front, size):
    content = FILES[size]
    file_id = stage(agent, content)
    fault = front.cut_answer("get", after=70_000, times=2)
    answer = fetch(agent, file_id)
    assert fault.struck == 2
    assert answer.status == 200 and answer.body == content
    part = fetch(agent, file_id, headers={"Range": "bytes=100000-149999"})
    assert part.status == 206 and part.body == content[100_000:150_000]


# -- faults that last


@pytest.mark.parametrize("size, operation", [("whole", "put"), ("parts", "begin"), ("parts", "put_part"), ("parts", "complete")])
def test_an_s3_that_stays_busy_is_503_and_nothing_is_staged(agent, front, nothing_left, size, operation):
    content = FILES[size]
    front.fail(operation, slow_down)
    check_refused(agent, send(agent, content))
    front.heal()


@pytest.mark.parametrize("size, operation", [("whole", "put"), ("parts", "put_part")])
def test_uploads_that_are_always_cut_are_503(agent, front, nothing_left, size, operation):
    content = FILES[size]
    front.cut_request(operation, after=100_000)
    check_refused(agent, send(agent, content))
    front.heal()


def test_a_completion_that_always_fails_behind_a_200_is_503(agent, front, nothing_left):
    front.fail("complete", failed_with_200)
    check_refused(agent, send(agent, LARGE))
    assert front.count("abort") >= 1
    front.heal()


def test_an_object_that_is_not_there_after_its_put_is_not_staged(agent, front, nothing_left):
    front.fail("put", accepted_but_not_stored)
    check_refused(agent, send(agent, SMALL))
    front.heal()


def test_an_object_that_differs_from_the_upload_is_put_again_and_then_refused(agent, front, nothing_left):
    def etag(head):
        return re.search(rb"(?i)etag: [^\r]*", head)[0]
    fault = front.alter("put", etag, b'ETag: "0123456789abcdef0123456789abcdef"')
    check_refused(agent, send(agent, SMALL))
    assert fault.struck >= 2
    front.heal()


def test_a_download_that_is_always_cut_never_looks_complete(agent, front):
    file_id = stage(agent, LARGE)
    front.cut_answer("get", after=0)
    try:
        answer = fetch(agent, file_id)
    except BrokenResponse:
        return  # it ended before its length: the agent fetches it again
    assert answer.status == 503, answer


REASONS = {
    "denied": (access_denied, "the access key may not PUT in bucket"),
    "clock": (skewed, "this machine's clock is wrong"),
    "region": (other_region, "is in region eu-north-7, not in us-east-1"),
    "expired": (expired, "the S3 credentials have expired"),
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_refusal_is_explained_only_to_the_operator(agent, through, front, reason):
    answer, sentence = REASONS[reason]
    seen = len(through.stderr())
    front.fail("put", answer)
    refused = send(agent, SMALL)
    check_refused(agent, refused)
    assert "S3" not in refused.body.decode() and sentence not in refused.body.decode()
    assert sentence in through.wait_log("store_unavailable", seen)["reason"]
    state = blobs_state(through)
    assert state["kind"] == "S3" and sentence in state["error"], state
    front.heal()
    stage(agent, SMALL)
    assert not blobs_state(through)["error"]
    through.wait_log("s3_answers_again", seen)


def test_a_bucket_that_refuses_everything_makes_the_server_not_ready(agent, through, front):
    file_id = stage(agent, SMALL)
    front.fail("*", access_denied)
    ready = through.get("/ready")
    assert ready.status == 503 and ready.json()["checks"]["blobs"] == "failed", ready
    assert through.get("/health").status == 200
    assert "the access key may not" in blobs_state(through)["error"]
    check_error(fetch(agent, file_id), 503, code="platform_unavailable")
    agent.notify("messages need no S3")
    front.heal()
    wait_until(lambda: through.get("/ready").status == 200, "it is ready again")
    assert fetch(agent, file_id).body == SMALL


def test_secrets_are_in_no_log_line_and_no_url(agent, through, swift, front):
    front.fail("put", access_denied, times=1)
    send(agent, SMALL)
    front.heal()
    check_works(agent)
    log = b"\n".join(through.stderr()).decode()
    health = through.get("/admin/health", token=through.admin_token).body.decode()
    metrics = through.get("/metrics").body.decode()
    assert "s3_failed" in log and "********" in log
    for text in (log, health, metrics):
        assert SECRET not in text.replace("restante-test", "") and swift.access_key not in text and "Signature=" not in text
    for request in front.requests:
        assert SECRET not in request.target and swift.access_key not in request.target and "Signature" not in request.target
        assert SECRET not in request.head.decode("latin-1").replace("restante-test", "")


# -- tests with their own server


def test_a_stalled_s3_delays_no_request_that_does_not_need_it(swift, bucket, front, start):
    more = {"s3__patience": "10m", "s3__threads": "2", "threads__pool": "2"}
    server = start(settings_for(swift, bucket, front.endpoint, **more), environment=keys_of(swift))
    agent, other = Workspace(server), Workspace(server, "other")
    acked = stage(other, b"in a row")
    fault = front.stall("*")
    with ThreadPoolExecutor(4) as several:
        uploads = [several.submit(send, agent, SMALL) for _ in range(4)]
        try:
            for _ in range(2):
                assert fault.begun.acquire(timeout=60)
            wire, = other.park()
            other.notify("still here")
            assert wire.read().status == 200
            wire.close()
            assert fetch(other, acked).body == b"in a row"
            ack = server.request("POST", other.path(f"pending-uploads/{acked}/ack"), token=other.token)
            assert ack.json() == {"acked": True}
            assert not any(upload.done() for upload in uploads), "all of it happened while uploads were waiting"
        finally:
            front.heal()
        for upload in uploads:
            assert upload.result().status == 200, upload.result()


def test_a_stalled_s3_is_given_up_and_uploads_are_503(swift, bucket, front, start):
    server = start(settings_for(swift, bucket, front.endpoint, s3__patience="2s", s3__attempts="2"), environment=keys_of(swift))
    agent = Workspace(server)
    front.stall("*")
    check_refused(agent, send(agent, SMALL))
    front.heal()
    # On a slow machine S3 may be too slow for one more request.
    wait_until(lambda: send(agent, SMALL).status == 200, "uploads work again")


def test_a_stop_does_not_wait_for_a_stalled_s3(swift, bucket, front, start):
    server = start(settings_for(swift, bucket, front.endpoint, s3__patience="10m", timeouts__drain="200ms"), environment=keys_of(swift))
    agent = Workspace(server)
    fault = front.stall("*")
    wire = server.connect()
    head, body = agent.upload_bytes(("file.bin", SMALL))
    wire.send(head + body)
    assert fault.begun.acquire(timeout=60)
    assert server.stop() == 0
    wire.close()
    front.heal()


def test_blobs_left_by_a_killed_server_are_collected_by_the_next(swift, bucket, front, start, tmp_path):
    # Under a separate prefix: objects of other servers in this bucket would be orphans for this one.
    settings = settings_for(swift, bucket, front.endpoint, s3__prefix="killed/")
    server = start(settings, data=tmp_path, environment=keys_of(swift))
    agent = Workspace(server)
    kept = stage(agent, LARGE)
    fault = front.stall("complete")
    wire = server.connect()
    head, body = agent.upload_bytes(("file.bin", LARGE))
    wire.send(head + body)
    assert fault.begun.acquire(timeout=60)
    server.kill()
    wire.close()
    front.heal()
    assert bucket.parts() != []
    eager = {**settings, "timeouts.request": "1s", "uploads.sweep_every": "100ms"}
    again = start(eager, data=tmp_path, environment=keys_of(swift))
    wait_until(lambda: bucket.parts() == [], "the parts are deleted", 120)
    assert fetch(agent.on(again), kept).body == LARGE


def test_a_wrong_secret_is_refused_by_the_real_server(swift, bucket, start):
    server = start(settings_for(swift, bucket, swift.endpoint), environment=keys_of(swift, "not-" + SECRET))
    agent = Workspace(server)
    check_refused(agent, send(agent, SMALL))
    assert server.get("/ready").status == 503
    assert "the secret key is not the right one" in blobs_state(server)["error"]
    agent.notify("messages need no S3")


def test_a_mistyped_bucket_marks_no_file_as_damaged(swift, bucket, start, tmp_path):
    right = settings_for(swift, bucket, swift.endpoint)
    server = start(right, data=tmp_path, environment=keys_of(swift))
    agent = Workspace(server)
    file_id = stage(agent, SMALL)
    server.stop()
    wrong = start({**right, "s3.bucket": "no-such-bucket", "uploads.check_every": "10ms"}, data=tmp_path, environment=keys_of(swift))
    check_error(fetch(agent.on(wrong), file_id), 503, code="platform_unavailable")
    assert wrong.get("/ready").status == 503
    assert "there is no bucket no-such-bucket" in blobs_state(wrong)["error"]
    wrong.stop()
    again = start(right, data=tmp_path, environment=keys_of(swift))
    assert fetch(agent.on(again), file_id).body == SMALL
    assert not again.metric("restante_uploads_damaged_total", '{damage="missing"}')


def test_keys_that_are_rotated_in_their_file_are_used(swift, bucket, front, start, tmp_path):
    keys = tmp_path / "credentials"

    def write(access_key):
        keys.write_text(f"[test]\naws_access_key_id = {access_key}\naws_secret_access_key = {SECRET}\n")
        keys.chmod(0o600)

    write("test:old")
    more = {"s3__credentials_file": str(keys), "s3__profile": "test"}
    server = start(settings_for(swift, bucket, front.endpoint, **more), environment={"HOME": str(tmp_path)})
    agent = Workspace(server)
    # The answer of S3 to expired keys.
    front.fail("*", lambda request: expired(request) if "test:old" in request.headers["authorization"] else access_denied(request))
    check_refused(agent, send(agent, SMALL))
    write(swift.access_key)
    front.heal()  # the real S3 server does not know the old keys either
    assert fetch(agent, stage(agent, SMALL)).body == SMALL


def test_a_bucket_that_is_set_up_but_not_used_may_be_unreachable(swift, bucket, start):
    later = {**settings_for(swift, bucket, "http://127.0.0.1:1", s3__attempts="1"), "blobs": "dir", "uploads.sweep_every": "50ms"}
    server = start(later, environment=keys_of(swift))
    agent = Workspace(server)
    assert fetch(agent, stage(agent, SMALL)).body == SMALL
    wait_until(lambda: (server.metric("restante_sweep_duration_seconds_count") or 0) >= 3, "sweeps end")
    assert server.metric("restante_pending_uploads_swept_total", '{outcome="error"}') == 0
    assert server.get("/ready").status == 200
    state = blobs_state(server)
    assert state["kind"] == "files" and not state["error"], state
