"""Bytes change over from one place to another: what an operator asks for and is told, what several servers make of it, and copies
that are lost or go bad on the way. Under kills: blob_moves_kill_test.py."""
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.backend import MARK, FileBlob, InlineBlob, SqliteRows, flip
from support.blob_move_servers import LONG, Load, blob_move_servers
from support.checks import check_error
from support.workspace import Workspace
from support.waiting import wait_until


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_a_copy_that_is_lost_in_the_new_place_is_read_from_the_old_one_and_made_anew(rows, request):
    with blob_move_servers(rows, request, with_s3=True, settings={"blobs": "dir"}) as over:
        over.start({"uploads.check_every": "0s"})
        load = Load(over, Workspace(over.server, "inbox"))
        data = os.urandom(200_000)
        file_id = load.send("one", data)
        assert over.migrate("s3").status == 200
        over.wait_copied()
        name, = over.bucket.objects()
        over.bucket.remove(name)
        fetched = load.ask("GET", f"pending-uploads/{file_id}/content", token=load.inbox.token)
        assert fetched.body == data
        assert over.server.metric("restante_blob_fallbacks_total") == 1
        over.server.wait_log("blob_fallback")
        wait_until(lambda: name not in over.bucket.objects() and len(over.bucket.objects()) == 1, "it is copied anew", LONG)
        over.wait_copied()
        load.check()


def test_two_servers_follow_within_seconds_and_one_of_them_copies(postgres, request):
    with blob_move_servers("postgres", request) as over:
        one, two = over.start(), over.start()
        inbox = Workspace(one, "inbox")
        load = Load(over, inbox)
        for n in range(6):
            load.send(f"f-{n}", os.urandom(50_000))
        over.server = one
        assert over.migrate("inline").status == 200
        wait_until(lambda: over.status(two)["writes_to"] == "inline", "the other one has heard of it")
        over.server = two
        load.send("late", os.urandom(50_000))
        over.wait_copied()
        # Counted by whoever copied a moment after the rows tell that nothing is left.
        copied = lambda: sorted(over.status(server)["migration"]["copied_files"] for server in (one, two))
        wait_until(lambda: sum(copied()) >= 6, "every copy is counted")
        assert copied() == [0, 6], "one of them did it"
        assert over.finish_move().status == 200
        for server in (one, two):
            wait_until(lambda: over.status(server)["also_to"] is None, "it writes to the new place alone")
            over.server = server
            load.check()
        wait_until(lambda: over.migration()["phase"] == "finished", "it is finished", LONG)
        wait_until(lambda: over.count("dir") == 0, "files leave at once", LONG)


def copying(over, before):
    return next((server for server, files in before.items() if over.migration(server)["copied_files"] > files), None)


def test_when_the_server_that_copies_is_killed_another_goes_on_and_ends_it(request):
    with blob_move_servers("postgres", request, with_s3=True, settings={"blobs": "dir"}) as over:
        servers = [over.start() for _ in range(3)]
        load = Load(over, Workspace(over.server, "inbox"))
        for n in range(16):
            load.send(f"early-{n}", os.urandom(6_000_000 if n == 12 else 60_000))
        assert over.migrate("s3", 1).status == 200
        # One file is as much as each may read in a day: whoever has the lease is in the middle of it.
        wait_until(lambda: over.migration()["left_files"] < 16, "one is copied", LONG)
        before = {one: over.migration(one)["copied_files"] for one in servers}
        assert over.migration()["left_files"] >= 13
        with ThreadPoolExecutor(2) as pool:
            working = [pool.submit(load.work, worker, 6, (20_000, 400_000)) for worker in range(2)]
            assert over.migrate("s3").status == 200
            holder = wait_until(lambda: copying(over, before), "it goes on, as fast as it goes", LONG)
            servers.remove(holder)
            over.server = servers[0]
            holder.kill()
            for done in working:
                done.result()
        over.wait_copied()
        over.server = servers[1]
        assert over.finish_move().status == 200
        wait_until(lambda: over.migration()["phase"] == "finished", "somebody else ends it", LONG)
        for server in servers:
            over.server = server
            wait_until(lambda: over.status()["also_to"] is None, "it writes to the new place alone")
        load.check()
        servers[0].stop()
        over.wait_empty("dir", "s3", load.kept())
        load.check()
        checked = over.run("check")
        assert checked.returncode == 0 and over.count("s3") == load.kept(), checked


@pytest.mark.parametrize("why", ["not_set_up", "not_ours", "no_room"])
def test_a_server_that_cannot_do_it_leaves_it_to_one_that_can_whoever_was_first(why, request, tmp_path):
    """The one that cannot has the whole field for itself, until the other one comes back."""
    with blob_move_servers("postgres", request, settings={"blobs": "inline", "uploads.check_every": "0s"}) as over:
        (over.data / "blobs").mkdir()
        able = over.start()
        load = Load(over, Workspace(able, "inbox"))
        for n in range(5):
            load.send(f"f-{n}", os.urandom(60_000))
        wait_until((over.data / "blobs" / MARK).exists, "the directory is this post office's")
        if why == "not_ours":
            (tmp_path / "blobs").mkdir()
        unable = over.start({"storage.reserve": 1 << 50} if why == "no_room" else None, data=None if why == "no_room" else tmp_path)
        over.server = able
        assert over.migrate("dir", 1).status == 200
        able.stop()
        said = {"not_set_up": "not set up for bytes", "not_ours": "restante-owner", "no_room": "storage.reserve"}
        wait_until(lambda: said[why] in str(over.migration(unable)), "it says why it cannot", LONG)
        over.start()
        assert over.migrate("dir").status == 200
        over.wait_copied()
        assert over.migration(unable)["copied_files"] == 0
        assert (over.migration(unable)["held_up"] is None) == (why == "no_room")
        assert over.finish_move().status == 200
        wait_until(lambda: over.migration()["phase"] == "finished", "it is finished", LONG)
        load.check()
        held_up = [line for line in unable.log() if line.get("event") == "blob_move_held_up"]
        assert len(held_up) == (0 if why == "no_room" else 1), "once"


@pytest.mark.parametrize("old, new", [("inline", "dir"), ("dir", "inline")])
def test_a_copy_that_has_gone_bad_since_it_was_made_is_made_anew_before_the_old_one_leaves(old, new, request):
    with blob_move_servers("sqlite", request, settings={"blobs": old, "uploads.check_every": "0s", "timeouts.request": "1s"}) as over:
        load = Load(over, Workspace(over.start(), "inbox"))
        for n in range(4):
            load.send(f"f-{n}", os.urandom(1_200_000))
        assert over.migrate(new).status == 200
        over.wait_copied()
        copies = [FileBlob(path) for path in over.files()]
        if new == "inline":
            copies = [InlineBlob(SqliteRows(over.data), key) for key, in over.query("SELECT blob_key FROM inline_blobs")]
        assert len(copies) == 4
        flip(copies[2])
        assert over.finish_move().status == 200
        wait_until(lambda: over.migration()["phase"] == "finished", "it is finished", LONG)
        assert over.migration()["failures"] == 1
        assert over.migration()["last_failure"] == f'its copy in "{new}" is not what it was, and is made anew'
        load.check()
        wait_until(lambda: (over.count(old), over.count(new)) == (0, 4), "the old ones have left, and the bad one", LONG)
        load.check()


def test_what_cannot_be_is_refused_with_what_to_do(request):
    with blob_move_servers("sqlite", request) as over:
        server = over.start({"uploads.check_every": "0s"})
        check_error(over.migrate("s3"), 409, code="blob_place_unusable")
        assert "s3.bucket" in over.migrate("s3").json()["error"]
        check_error(over.migrate("dir"), 409, code="blob_move_needless")
        check_error(over.migrate("disk"), 400, code="bad_field")
        check_error(over.migrate("inline", -1), 400, code="bad_field")
        check_error(over.finish_move(), 409, code="no_blob_move")
        load = Load(over, Workspace(server, "inbox"))
        for n in range(3):
            load.send(f"f-{n}", os.urandom(2_000_000))
        assert over.migrate("inline", 1).status == 200
        refused = over.finish_move()
        check_error(refused, 409, code="blob_move_unfinished")
        assert refused.json()["files"] >= 2 and refused.json()["bytes"] == 2_000_000 * refused.json()["files"]
        assert over.migrate("inline").status == 200, "faster"
        over.wait_copied()


def test_no_old_copy_leaves_before_the_new_one_is_seen(request):
    with blob_move_servers("sqlite", request, settings={"blobs": "inline", "uploads.check_every": "0s"}) as over:
        load = Load(over, Workspace(over.start(), "inbox"))
        for n in range(4):
            load.send(f"f-{n}", os.urandom(200_000))
        assert over.migrate("dir").status == 200
        over.wait_copied()
        blobs, away = over.data / "blobs", over.data / "away"
        blobs.rename(away)
        check_error(over.finish_move(), 409, code="blob_place_unusable")
        away.rename(blobs)
        over.files()[0].unlink()
        assert over.finish_move().status == 200
        wait_until(lambda: over.migration()["phase"] == "finished", "it is finished", LONG)
        assert over.migration()["failures"] == 1 and "made anew" in over.migration()["last_failure"]
        assert over.count("dir") == 4
        load.check()
        assert over.finish_move().status == 200, "again is fine"


def test_the_reserve_is_kept_by_what_is_copied_too(request):
    with blob_move_servers("sqlite", request) as over:
        load = Load(over, Workspace(over.start(), "inbox"))
        load.send("f", os.urandom(200_000))
        over.server.stop()
        over.start({"storage.reserve": 1 << 50})
        assert over.migrate("inline").status == 200
        wait_until(lambda: over.migration()["failures"] > 0, "it was tried")
        assert "reserve" in over.migration()["last_failure"]
        assert over.migration()["left_files"] == 1 and over.count("inline") == 0
        over.server.stop()
        over.start()
        over.wait_copied()
        load.check()


def test_the_commands_take_an_operator_through_it(request):
    with blob_move_servers("sqlite", request) as over:
        over.start()
        load = Load(over, Workspace(over.server, "inbox"))
        for n in range(3):
            load.send(f"f-{n}", os.urandom(300_000))
        before = over.run("status")
        assert before.returncode == 0 and "dir" in before.stdout and "not set up" in before.stdout, before
        migrated = over.run("migrate", "--to", "inline", "--rate", "50MB", "--wait")
        assert migrated.returncode == 0, migrated
        assert "Everything is there" in migrated.stdout and "restante blobs finish" in migrated.stdout, migrated.stdout
        assert over.run("migrate", "--to", "s3").returncode != 0
        assert over.run("migrate", "--to", "inline", "--rate", "0.5").returncode == 64
        assert over.run("migrate", "--to", "inline").returncode == 0
        assert over.migration()["rate"] == 50_000_000, "nothing was said of it"
        finished = over.run("finish", "--wait")
        assert finished.returncode == 0 and "is done" in finished.stdout, finished
        assert 'set it to "inline"' in finished.stdout
        again = over.run("finish")
        assert again.returncode == 0 and "is done" in again.stdout, again
        told = json.loads(over.run("status", "--json").stdout)
        assert told["migration"]["phase"] == "finished" and told["writes_to"] == "inline"
        health = over.server.get("/admin/health", token=over.server.admin_token).json()
        assert [warning for warning in health["warnings"] if 'blobs = "inline"' in warning], health["warnings"]
        load.check()
        checked = over.run("check")
        assert checked.returncode == 0, checked
