"""Blob moves from one place to another: the operator's commands and their answers, several servers, and copies that are lost or
damaged during the move. With kills: blob_moves_kill_test.py."""
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
def test_a_copy_that_is_lost_in_the_new_place_is_read_from_the_old_one_and_copied_again(rows, request):
    with blob_move_servers(rows, request, with_s3=True, settings={"blobs": "dir"}) as move:
        move.start({"uploads.check_every": "0s"})
        load = Load(move, Workspace(move.server, "inbox"))
        data = os.urandom(200_000)
        file_id = load.send("one", data)
        assert move.migrate("s3").status == 200
        move.wait_copied()
        name, = move.bucket.objects()
        move.bucket.remove(name)
        fetched = load.ask("GET", f"pending-uploads/{file_id}/content", token=load.inbox.token)
        assert fetched.body == data
        assert move.server.metric("restante_blob_fallbacks_total") == 1
        move.server.wait_log("blob_fallback")
        wait_until(lambda: name not in move.bucket.objects() and len(move.bucket.objects()) == 1, "it is copied again", LONG)
        move.wait_copied()
        load.check()


def test_two_servers_follow_within_seconds_and_one_of_them_copies(postgres, request):
    with blob_move_servers("postgres", request) as move:
        one, two = move.start(), move.start()
        inbox = Workspace(one, "inbox")
        load = Load(move, inbox)
        for n in range(6):
            load.send(f"f-{n}", os.urandom(50_000))
        move.server = one
        assert move.migrate("inline").status == 200
        wait_until(lambda: move.status(two)["writes_to"] == "inline", "the other server knows of the move")
        move.server = two
        load.send("late", os.urandom(50_000))
        move.wait_copied()
        # The server that copied counts the last copy a moment after the rows show that nothing is left.
        copied = lambda: sorted(move.status(server)["migration"]["copied_files"] for server in (one, two))
        wait_until(lambda: sum(copied()) >= 6, "every copy is counted")
        assert copied() == [0, 6], "one of them did it"
        assert move.finish_move().status == 200
        for server in (one, two):
            wait_until(lambda: move.status(server)["also_to"] is None, "it writes only to the new place")
            move.server = server
            load.check()
        wait_until(lambda: move.migration()["phase"] == "finished", "it is finished", LONG)
        wait_until(lambda: move.count("dir") == 0, "files are deleted at once", LONG)


def copying(move, before):
    return next((server for server, files in before.items() if move.migration(server)["copied_files"] > files), None)


def test_when_the_server_that_copies_is_killed_another_goes_on_and_ends_it(request):
    with blob_move_servers("postgres", request, with_s3=True, settings={"blobs": "dir"}) as move:
        servers = [move.start() for _ in range(3)]
        load = Load(move, Workspace(move.server, "inbox"))
        for n in range(16):
            load.send(f"early-{n}", os.urandom(6_000_000 if n == 12 else 60_000))
        assert move.migrate("s3", 1).status == 200
        # The rate allows one file a day for each server, so the server with the lease is always in the middle of the move.
        wait_until(lambda: move.migration()["left_files"] < 16, "one is copied", LONG)
        before = {one: move.migration(one)["copied_files"] for one in servers}
        assert move.migration()["left_files"] >= 13
        with ThreadPoolExecutor(2) as pool:
            working = [pool.submit(load.work, worker, 6, (20_000, 400_000)) for worker in range(2)]
            assert move.migrate("s3").status == 200
            holder = wait_until(lambda: copying(move, before), "the next server copies", LONG)
            servers.remove(holder)
            move.server = servers[0]
            holder.kill()
            for done in working:
                done.result()
        move.wait_copied()
        move.server = servers[1]
        assert move.finish_move().status == 200
        wait_until(lambda: move.migration()["phase"] == "finished", "another server finishes it", LONG)
        for server in servers:
            move.server = server
            wait_until(lambda: move.status()["also_to"] is None, "it writes only to the new place")
        load.check()
        servers[0].stop()
        move.wait_empty("dir", "s3", load.kept())
        load.check()
        checked = move.run("check")
        assert checked.returncode == 0 and move.count("s3") == load.kept(), checked


@pytest.mark.parametrize("why", ["not_set_up", "not_ours", "no_room"])
def test_a_server_that_cannot_copy_leaves_it_to_one_that_can(why, request, tmp_path):
    """The server that cannot copy runs alone until the other one is started again."""
    with blob_move_servers("postgres", request, settings={"blobs": "inline", "uploads.check_every": "0s"}) as move:
        (move.data / "blobs").mkdir()
        able = move.start()
        load = Load(move, Workspace(able, "inbox"))
        for n in range(5):
            load.send(f"f-{n}", os.urandom(60_000))
        wait_until((move.data / "blobs" / MARK).exists, "the directory belongs to this installation")
        if why == "not_ours":
            (tmp_path / "blobs").mkdir()
        unable = move.start({"storage.reserve": 1 << 50} if why == "no_room" else None, data=None if why == "no_room" else tmp_path)
        move.server = able
        assert move.migrate("dir", 1).status == 200
        able.stop()
        reason = {"not_set_up": "not set up for files", "not_ours": "restante-owner", "no_room": "storage.reserve"}
        wait_until(lambda: reason[why] in str(move.migration(unable)), "it reports why it cannot copy", LONG)
        move.start()
        assert move.migrate("dir").status == 200
        move.wait_copied()
        assert move.migration(unable)["copied_files"] == 0
        assert (move.migration(unable)["held_up"] is None) == (why == "no_room")
        assert move.finish_move().status == 200
        wait_until(lambda: move.migration()["phase"] == "finished", "it is finished", LONG)
        load.check()
        held_up = [line for line in unable.log() if line.get("event") == "blob_move_held_up"]
        assert len(held_up) == (0 if why == "no_room" else 1), "once"


@pytest.mark.parametrize("old, new", [("inline", "dir"), ("dir", "inline")])
def test_a_copy_that_was_damaged_later_is_copied_again_before_the_old_one_is_deleted(old, new, request):
    with blob_move_servers("sqlite", request, settings={"blobs": old, "uploads.check_every": "0s", "timeouts.request": "1s"}) as move:
        load = Load(move, Workspace(move.start(), "inbox"))
        for n in range(4):
            load.send(f"f-{n}", os.urandom(1_200_000))
        assert move.migrate(new).status == 200
        move.wait_copied()
        copies = [FileBlob(path) for path in move.files()]
        if new == "inline":
            copies = [InlineBlob(SqliteRows(move.data), key) for key, in move.query("SELECT blob_key FROM inline_blobs")]
        assert len(copies) == 4
        flip(copies[2])
        assert move.finish_move().status == 200
        wait_until(lambda: move.migration()["phase"] == "finished", "it is finished", LONG)
        assert move.migration()["failures"] == 1
        assert move.migration()["last_failure"] == f'its copy in "{new}" is damaged; it is copied again'
        load.check()
        wait_until(lambda: (move.count(old), move.count(new)) == (0, 4), "the old copies and the damaged one are deleted", LONG)
        load.check()


def test_a_move_that_is_not_possible_is_refused_with_what_to_do(request):
    with blob_move_servers("sqlite", request) as move:
        server = move.start({"uploads.check_every": "0s"})
        check_error(move.migrate("s3"), 409, code="blob_place_unusable")
        assert "s3.bucket" in move.migrate("s3").json()["error"]
        check_error(move.migrate("dir"), 409, code="blob_move_needless")
        check_error(move.migrate("disk"), 400, code="bad_field")
        check_error(move.migrate("inline", -1), 400, code="bad_field")
        check_error(move.finish_move(), 409, code="no_blob_move")
        load = Load(move, Workspace(server, "inbox"))
        for n in range(3):
            load.send(f"f-{n}", os.urandom(2_000_000))
        assert move.migrate("inline", 1).status == 200
        refused = move.finish_move()
        check_error(refused, 409, code="blob_move_unfinished")
        assert refused.json()["files"] >= 2 and refused.json()["bytes"] == 2_000_000 * refused.json()["files"]
        assert move.migrate("inline").status == 200, "faster"
        move.wait_copied()


def test_no_old_copy_is_deleted_before_the_new_one_was_checked(request):
    with blob_move_servers("sqlite", request, settings={"blobs": "inline", "uploads.check_every": "0s"}) as move:
        load = Load(move, Workspace(move.start(), "inbox"))
        for n in range(4):
            load.send(f"f-{n}", os.urandom(200_000))
        assert move.migrate("dir").status == 200
        move.wait_copied()
        blobs, away = move.data / "blobs", move.data / "away"
        blobs.rename(away)
        check_error(move.finish_move(), 409, code="blob_place_unusable")
        away.rename(blobs)
        move.files()[0].unlink()
        assert move.finish_move().status == 200
        wait_until(lambda: move.migration()["phase"] == "finished", "it is finished", LONG)
        assert move.migration()["failures"] == 1 and "copied again" in move.migration()["last_failure"]
        assert move.count("dir") == 4
        load.check()
        assert move.finish_move().status == 200, "again is fine"


def test_copying_also_keeps_the_storage_reserve(request):
    with blob_move_servers("sqlite", request) as move:
        load = Load(move, Workspace(move.start(), "inbox"))
        load.send("f", os.urandom(200_000))
        move.server.stop()
        move.start({"storage.reserve": 1 << 50})
        assert move.migrate("inline").status == 200
        wait_until(lambda: move.migration()["failures"] > 0, "it was tried")
        assert "reserve" in move.migration()["last_failure"]
        assert move.migration()["left_files"] == 1 and move.count("inline") == 0
        move.server.stop()
        move.start()
        move.wait_copied()
        load.check()


def test_an_operator_can_do_the_whole_move_with_the_commands(request):
    with blob_move_servers("sqlite", request) as move:
        move.start()
        load = Load(move, Workspace(move.server, "inbox"))
        for n in range(3):
            load.send(f"f-{n}", os.urandom(300_000))
        before = move.run("status")
        assert before.returncode == 0 and "dir" in before.stdout and "not set up" in before.stdout, before
        migrated = move.run("migrate", "--to", "inline", "--rate", "50MB", "--wait")
        assert migrated.returncode == 0, migrated
        assert "Everything is there" in migrated.stdout and "restante blobs finish" in migrated.stdout, migrated.stdout
        assert move.run("migrate", "--to", "s3").returncode != 0
        assert move.run("migrate", "--to", "inline", "--rate", "0.5").returncode == 64
        assert move.run("migrate", "--to", "inline").returncode == 0
        assert move.migration()["rate"] == 50_000_000, "the rate was not changed"
        finished = move.run("finish", "--wait")
        assert finished.returncode == 0 and "has finished" in finished.stdout, finished
        assert 'set it to "inline"' in finished.stdout
        again = move.run("finish")
        assert again.returncode == 0 and "has finished" in again.stdout, again
        status = json.loads(move.run("status", "--json").stdout)
        assert status["migration"]["phase"] == "finished" and status["writes_to"] == "inline"
        health = move.server.get("/admin/health", token=move.server.admin_token).json()
        assert [warning for warning in health["warnings"] if 'blobs = "inline"' in warning], health["warnings"]
        load.check()
        checked = move.run("check")
        assert checked.returncode == 0, checked
