"""Keys for S3 that are missing, or that all users can read: a server that needs them does not start and names where it looked. A
server that has the bucket only set up logs a warning and starts."""
import pytest

from support.ports import free_port
from support.server import StartFailed

FILE = "[default]\naws_access_key_id=AKnobody\naws_secret_access_key=hunter2horse\n"


@pytest.fixture
def bucket(tmp_path):
    """(settings, environment) without keys; no server has to listen at this endpoint."""
    environment = {"HOME": str(tmp_path), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SHARED_CREDENTIALS_FILE": ""}
    return {"s3.endpoint": f"http://127.0.0.1:{free_port()}", "s3.bucket": "mail", "s3.attempts": 1}, environment


def refusal(start, settings, environment):
    with pytest.raises(StartFailed) as refused:
        start(settings, environment=environment)
    assert refused.value.code == 78, refused.value
    assert "hunter2" not in str(refused.value)
    return str(refused.value)


def test_without_keys_a_server_that_stores_files_in_s3_does_not_start_and_names_where_it_looked(start, bucket, tmp_path):
    settings, environment = bucket
    sentence = refusal(start, {**settings, "blobs": "s3"}, environment)
    assert all(place in sentence for place in ("s3.access_key", "AWS_ACCESS_KEY_ID", f"{tmp_path}/.aws/credentials")), sentence


def test_a_bucket_without_keys_that_is_only_set_up_causes_a_warning(start, bucket):
    settings, environment = bucket
    server = start(settings, environment=environment)
    warned = server.wait_log("bucket mail is set up")
    assert warned["event"] == "configuration_warning" and "AWS_ACCESS_KEY_ID" in warned["sentence"], warned


def test_a_file_of_the_aws_tools_that_all_users_can_read_is_refused(start, bucket, tmp_path):
    settings, environment = bucket
    file = tmp_path / "keys"
    file.write_text(FILE)
    file.chmod(0o644)
    environment["AWS_SHARED_CREDENTIALS_FILE"] = str(file)
    for blobs in ("s3", "dir"):
        assert "all users of this machine can read" in refusal(start, {**settings, "blobs": blobs}, environment)
    file.chmod(0o600)
    assert start(settings, environment=environment).get("/health").status == 200
