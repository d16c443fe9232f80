"""Ownership of a directory or a bucket: whatever the settings are, no server deletes blobs, or reports them as damaged, in a place
that may belong to another installation. Every refusal to start names the command that makes the place this installation's."""
import json
import os
import re
import secrets
import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest

from support.backend import MARK, Bucket, s3_settings
from support.checks import check_error
from support.workspace import Workspace
from support.server import Server, StartFailed, binary
from support.waiting import wait_until

BYTES, LATER = os.urandom(50_000), os.urandom(50_000)
# Orphans are deleted at once, and missing blobs are found at once.
EAGER = {"uploads.sweep_every": "100ms", "uploads.check_every": "100ms", "uploads.check_rate": 1 << 30, "timeouts.request": "1s"}


def refused(*arguments, **options):
    with pytest.raises(StartFailed) as failed:
        Server(*arguments, **options).discard()
    return str(failed.value)


def not_ready(server):
    answer = server.get("/ready")
    return answer.status == 503 and answer.json()["checks"]["blobs"] == "failed"


def sweeps_end(server, count=3):
    """Waits until so many more sweeps have ended, with or without success."""
    seen = lambda: (server.metric("restante_sweep_duration_seconds_count") or 0) + (server.metric("restante_pending_uploads_swept_total", '{outcome="error"}') or 0)
    before = seen()
    wait_until(lambda: seen() >= before + count, "a few sweeps", 120)


def adopt(*arguments, environment=None):
    return subprocess.run([binary(), "blobs", "adopt", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL)


def adopt_as_told(sentence, *settings, environment=None):
    """Runs the command that a refusal names, with the settings of the server."""
    assert "Only if " in sentence, "it says when the command must not be used"
    command, = set(re.findall(r"restante blobs adopt((?: --place \w+)(?: --force)?)", sentence))
    done = adopt(*command.split(), *settings, environment=environment)
    assert done.returncode == 0 and "belongs to this installation now" in done.stdout, done
    return command.split()


def set_options(settings):
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def folders(parent, *names):
    for name in names:
        (parent / name).mkdir()
    return [parent / name for name in names]


def files_in(data):
    return {path.name for path in (data / "blobs").rglob("*") if path.is_file() and path.name != MARK}


def forget_marks(data):
    """Makes the data directory like one that was restored from a backup without marks."""
    (data / "blobs" / MARK).unlink()
    with closing(sqlite3.connect(data / "restante.db")) as database, database:
        for table in ("post_offices", "place_marks"):
            database.execute(f"DELETE FROM {table}")


def test_a_directory_of_another_installation_is_refused_and_loses_nothing(tmp_path):
    first, second = folders(tmp_path, "first", "second")
    with Server(EAGER, data=first) as server:
        workspace = Workspace(server)
        (file_id, _), = workspace.upload(("a.bin", BYTES))
        assert json.loads((first / "blobs" / MARK).read_text())["restante_post_office"]
        (second / "blobs").symlink_to(first / "blobs")
        sentence = refused(EAGER, data=second)
        assert "belongs to another installation" in sentence
        assert server.get(workspace.content(file_id), token=workspace.token).body == BYTES
        assert server.get("/ready").status == 200
    done = adopt("--data", second)
    assert done.returncode == 69 and "belongs to another installation" in done.stderr, done
    assert adopt_as_told(sentence, "--data", second) == ["--place", "dir", "--force"]
    with Server(data=second) as server:
        assert server.get("/ready").status == 200
    assert "belongs to another installation" in refused(data=first)


def test_an_emptied_directory_marks_no_file_as_damaged_and_heals(tmp_path):
    with Server(EAGER, data=tmp_path) as server:
        workspace = Workspace(server)
        (file_id, _), = workspace.upload(("a.bin", BYTES))
        # The mark is removed first and restored last: without it no file is marked as damaged.
        names = sorted((path for path in (tmp_path / "blobs").iterdir() if path.name != "tmp"), key=lambda path: path.name != MARK)
        aside = tmp_path / "aside"
        aside.mkdir()
        for path in names:
            path.rename(aside / path.name)
        wait_until(lambda: not_ready(server), "it is noticed", 120)
        assert check_error(server.get(workspace.content(file_id), token=workspace.token), 503)
        stores = [store for store in server.get("/admin/health", token=server.admin_token).json()["stores"] if store["name"] == "blobs"]
        assert "has no mark (restante-owner)" in stores[0]["error"], stores
        server.wait_metric("restante_place_not_ours", 1, '{place="dir"}')
        sweeps_end(server)
        for path in reversed(names):
            (aside / path.name).rename(path)
        wait_until(lambda: server.get("/ready").status == 200, "it is ready again", 120)
        assert server.get(workspace.content(file_id), token=workspace.token).body == BYTES
        assert not server.metric("restante_uploads_damaged_total", '{damage="missing"}')
        assert not server.metric("restante_orphan_blobs_collected_total")
        wait_until(lambda: server.metric("restante_place_not_ours", '{place="dir"}') == 0, "the gauge falls", 120)


def test_a_server_does_not_start_on_a_directory_that_is_not_mounted(tmp_path):
    with Server(data=tmp_path) as server:
        workspace = Workspace(server)
        (file_id, _), = workspace.upload(("a.bin", BYTES))
        server.stop()
    (tmp_path / "blobs").rename(tmp_path / "aside")
    sentence = refused(data=tmp_path)
    assert "it was emptied, is not mounted, or is not the one that was used" in sentence
    shutil.rmtree(tmp_path / "blobs")
    (tmp_path / "aside").rename(tmp_path / "blobs")
    with Server(data=tmp_path) as server:
        assert server.get(workspace.on(server).content(file_id), token=workspace.token).body == BYTES
        server.stop()
    # The disk is lost: the operator uses the empty directory.
    shutil.rmtree(tmp_path / "blobs")
    assert adopt_as_told(refused(data=tmp_path), "--data", tmp_path) == ["--place", "dir"]
    with Server(EAGER, data=tmp_path) as server:
        check_error(server.get(workspace.on(server).content(file_id), token=workspace.token), 410)
        server.wait_metric("restante_uploads_damaged_total", 1, '{damage="missing"}')
        (file_id, _), = workspace.on(server).upload(("again.bin", LATER))
        assert server.get(workspace.on(server).content(file_id), token=workspace.token).body == LATER


def test_files_without_a_mark_are_refused_although_the_database_knows_them(tmp_path):
    with Server(data=tmp_path) as server:
        workspace = Workspace(server)
        (file_id, _), = workspace.upload(("a.bin", BYTES))
        server.stop()
    forget_marks(tmp_path)
    sentence = refused(EAGER, data=tmp_path)
    assert "has no mark (restante-owner) although this installation has used its place before" in sentence
    assert len(files_in(tmp_path)) == 1 and not (tmp_path / "blobs" / MARK).exists()
    assert adopt_as_told(sentence, "--data", tmp_path) == ["--place", "dir"]
    with Server(EAGER, data=tmp_path) as server:
        holds(server, workspace, {file_id: BYTES})


def test_files_without_a_mark_that_the_database_does_not_know_are_refused(tmp_path):
    old = "0000000000017" + "0" * 19
    (tmp_path / "blobs" / "00").mkdir(parents=True)
    (tmp_path / "blobs" / "00" / old).write_bytes(b"unknown")
    sentence = refused(EAGER, data=tmp_path)
    assert "has files but no mark (restante-owner): they may belong to another installation" in sentence
    assert files_in(tmp_path) == {old} and not (tmp_path / "blobs" / MARK).exists()
    assert adopt_as_told(sentence, "--data", tmp_path) == ["--place", "dir"]
    with Server(EAGER, data=tmp_path) as server:
        assert server.get("/ready").status == 200
        wait_until(lambda: not files_in(tmp_path), "no row names it, so it is deleted", 120)


def test_a_mark_that_cannot_be_read_is_refused(tmp_path):
    with Server(data=tmp_path) as server:
        workspace = Workspace(server)
        (file_id, _), = workspace.upload(("a.bin", BYTES))
        server.stop()
    (tmp_path / "blobs" / MARK).write_text("of a later version\n")
    sentence = refused(EAGER, data=tmp_path)
    assert "has a mark (restante-owner) that this version cannot read" in sentence
    assert adopt("--data", tmp_path).returncode == 69
    assert (tmp_path / "blobs" / MARK).read_text() == "of a later version\n"
    assert adopt_as_told(sentence, "--data", tmp_path) == ["--place", "dir", "--force"]
    with Server(EAGER, data=tmp_path) as server:
        holds(server, workspace, {file_id: BYTES})


def test_two_installations_on_one_bucket_and_prefix(swift, tmp_path):
    bucket = Bucket(swift)
    settings, environment = s3_settings(swift, bucket.name)
    settings |= {**EAGER, "s3.prefix": "post/"}
    with Server(settings, environment=environment) as first:
        workspace = Workspace(first)
        (file_id, _), = workspace.upload(("a.bin", BYTES))
        assert bucket.marks() == ["post/" + MARK] and len(bucket.objects()) == 1
        assert "belongs to another installation" in refused(settings, environment=environment)
        # A server that has the bucket only as a second place reads from it and deletes nothing.
        with Server({**settings, "blobs": "dir"}, environment=environment, data=tmp_path) as second:
            answer = second.request("POST", "/admin/blobs/migration", token=second.admin_token, json_body={"to": "s3"})
            assert "belongs to another installation" in check_error(answer, 409, code="blob_place_unusable")["error"]
            sweeps_end(second)
            done = second.request("POST", "/admin/blobs/check", token=second.admin_token, json_body={"fix": True})
            assert done.status in (200, 202), done
            report = lambda: second.get("/admin/blobs/check", token=second.admin_token).json()
            wait_until(lambda: report()["state"] not in ("running", "none"), "the check ends", 120)
            assert ("out_of_reach", "s3") in [(one["fault"], one.get("place")) for one in report()["findings"]], report()
            with Server({**settings, "s3.prefix": "another/"}, environment=environment) as third:
                assert third.get("/ready").status == 200, "another prefix is another place"
        assert len(bucket.objects()) == 1
        assert first.get(workspace.content(file_id), token=workspace.token).body == BYTES
        # The bucket is emptied by another program: no file is marked as damaged.
        kept = {name: bucket.read(name) for name in bucket.marks() + bucket.objects() if name.startswith("post/")}
        for name in kept:
            bucket.remove(name)
        wait_until(lambda: not_ready(first), "it is noticed", 120)
        check_error(first.get(workspace.content(file_id), token=workspace.token), 503)
        sweeps_end(first)
        for name, data in reversed(kept.items()):
            bucket.write(name, data)
        wait_until(lambda: first.get("/ready").status == 200, "it is ready again", 120)
        assert first.get(workspace.content(file_id), token=workspace.token).body == BYTES


def test_a_bucket_of_another_installation_can_be_adopted(swift, tmp_path):
    bucket = Bucket(swift)
    settings, environment = s3_settings(swift, bucket.name)
    first, second = folders(tmp_path, "first", "second")
    with Server(settings, data=first, environment=environment) as server:
        server.stop()
    sentence = refused(settings, data=second, environment=environment)
    assert "belongs to another installation" in sentence and "s3.bucket and s3.prefix" in sentence
    told = adopt_as_told(sentence, "--data", second, *set_options(settings), environment=environment)
    assert told == ["--place", "s3", "--force"]
    with Server(settings, data=second, environment=environment) as server:
        workspace = Workspace(server)
        (file_id, _), = workspace.upload(("a.bin", BYTES))
        assert server.get(workspace.content(file_id), token=workspace.token).body == BYTES
    assert "belongs to another installation" in refused(settings, data=first, environment=environment)


def test_servers_on_one_database_must_have_one_directory(postgres, tmp_path):
    one, two, three = folders(tmp_path, "one", "two", "three")
    with postgres.database() as url:
        options = {"arguments": ("--database", url), "environment": {"RESTANTE_ADMIN_TOKEN": secrets.token_urlsafe(32), "RESTANTE_SERVER_KEY": secrets.token_urlsafe(32)}}
        with Server(EAGER, data=one, **options) as first:
            workspace = Workspace(first)
            (file_id, _), = workspace.upload(("a.bin", BYTES))
            sentence = refused(EAGER, data=two, **options)
            assert "is not the one that was used" in sentence
            with Server(EAGER, data=one, **options) as second:
                assert second.get(workspace.content(file_id), token=workspace.token).body == BYTES
            # Another setting of `blobs` is logged by both servers.
            with Server({**EAGER, "blobs": "inline"}, data=three, **options) as third:
                third.wait_log("blobs_set_otherwise")
                first.wait_log("blobs_set_otherwise")
            assert first.get(workspace.content(file_id), token=workspace.token).body == BYTES
            assert not first.metric("restante_uploads_damaged_total", '{damage="missing"}')
            first.stop()
        # The operator decides for another directory, and then against it.
        on = lambda data: ("--data", data, "--database", url)
        assert adopt_as_told(sentence, *on(two), environment=options["environment"]) == ["--place", "dir"]
        with Server({"uploads.check_every": "0s"}, data=two, **options) as server:
            assert server.get("/ready").status == 200
            sentence = refused(EAGER, data=one, **options)
            assert "has a mark of this installation but is not the one that it uses" in sentence
            server.stop()
        assert adopt_as_told(sentence, *on(one), environment=options["environment"]) == ["--place", "dir"]
        with Server(EAGER, data=one, **options) as server:
            holds(server, workspace, {file_id: BYTES})


def file_in(folder):
    return f"sqlite://{folder}/restante.db"


def move(source, target, *arguments):
    done = subprocess.run([binary(), "move", "--from", source, "--to", target, *map(str, arguments)], capture_output=True, text=True, timeout=240,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    return done.stdout


def holds(server, workspace, contents):
    """All contents are there after a few sweeps, and the sweeps found no orphan."""
    sweeps_end(server)
    for file_id, content in contents.items():
        answer = server.get(workspace.on(server).content(file_id), token=workspace.token)
        assert (answer.status, answer.body) == (200, content)
    assert not server.metric("restante_orphan_blobs_collected_total")


def test_after_a_move_only_the_new_database_has_the_files(tmp_path):
    data, = folders(tmp_path, "old")
    on = lambda name: {"data": data, "arguments": ("--database", file_in(tmp_path / name))}
    with Server(EAGER, **on("old")) as server:
        workspace = Workspace(server)
        (before, _), = workspace.upload(("before.bin", BYTES))
        server.stop()
    mark = (data / "blobs" / MARK).read_text()
    move(file_in(tmp_path / "old"), file_in(tmp_path / "new"))
    assert "belongs to another installation" in refused(EAGER, **on("old")), "also before a server has started on the new one"
    with Server(EAGER, **on("new")) as server:
        (after, _), = workspace.on(server).upload(("after.bin", LATER))
        server.stop()
    assert (data / "blobs" / MARK).read_text() == mark, "it is still the same installation"
    sentence = refused(EAGER, **on("old"))
    assert "belongs to another installation" in sentence
    with Server(EAGER, **on("new")) as server:
        holds(server, workspace, {before: BYTES, after: LATER})
        server.stop()
    # Unless the operator goes back.
    told = adopt_as_told(sentence, "--data", data, "--database", file_in(tmp_path / "old"))
    assert told == ["--place", "dir", "--force"]
    with Server(**on("old")) as server:
        assert server.get(workspace.on(server).content(before), token=workspace.token).body == BYTES
        server.stop()
    assert "belongs to another installation" in refused(EAGER, **on("new"))


def test_files_that_a_move_has_copied_belong_to_the_new_database(tmp_path):
    old, = folders(tmp_path, "old")
    with Server(EAGER, data=old) as server:
        workspace = Workspace(server)
        (before, _), = workspace.upload(("before.bin", BYTES))
        server.stop()
    printed = move(file_in(old), file_in(tmp_path / "new"), "--data-to", tmp_path / "new")
    with Server(EAGER, data=tmp_path / "new") as server:
        holds(server, workspace, {before: BYTES})
        assert "belongs to another installation" in refused(EAGER, data=old)
    # The last lines of the move have the command to go back.
    command, = re.findall(r"To go back, .*: restante blobs adopt(.*)$", printed, re.MULTILINE)
    assert adopt(*command.split(), "--data", old).returncode == 0
    for data in (old, tmp_path / "new"):
        with Server(EAGER, data=data) as server:
            holds(server, workspace, {before: BYTES})


def test_after_a_move_only_the_new_database_has_the_bucket(swift, tmp_path):
    old, beside = folders(tmp_path, "old", "beside")
    bucket = Bucket(swift)
    settings, environment = s3_settings(swift, bucket.name)
    settings |= EAGER
    with Server(settings, data=old, environment=environment) as server:
        workspace = Workspace(server)
        (before, _), = workspace.upload(("before.bin", BYTES))
        server.stop()
    move(file_in(old), file_in(tmp_path / "new"))
    with Server(settings, data=beside, environment=environment, arguments=("--database", file_in(tmp_path / "new"))) as server:
        (after, _), = workspace.on(server).upload(("after.bin", LATER))
        assert "belongs to another installation" in refused(settings, data=old, environment=environment)
        holds(server, workspace, {before: BYTES, after: LATER})
        assert server.get("/ready").status == 200 and len(bucket.objects()) == 2


def test_a_copy_of_a_database_gets_a_new_id(tmp_path):
    original, copy = *folders(tmp_path, "original"), tmp_path / "copy"
    with Server(data=original) as server:
        Workspace(server).upload(("a.bin", BYTES))
        server.stop()
    shutil.copytree(original, copy)
    assert adopt("--new-id", "--data", copy).returncode == 0
    sentence = refused(data=copy)
    assert "belongs to another installation" in sentence, "the mark is the original's"
    assert adopt_as_told(sentence, "--data", copy) == ["--place", "dir", "--force"]
    for data in (original, copy):
        with Server(data=data) as server:
            assert server.get("/ready").status == 200


def test_a_server_that_was_killed_between_the_mark_and_the_first_file_starts_again(tmp_path):
    for _ in range(3):
        server = Server(data=tmp_path)
        server.kill()
    with Server(data=tmp_path) as server:
        workspace = Workspace(server)
        workspace.upload(("a.bin", BYTES))
        assert server.get("/ready").status == 200
