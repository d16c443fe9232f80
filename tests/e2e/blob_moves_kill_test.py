"""Blobs move from any place to any other and back, under load, while the server is killed again and again. Every acknowledged file
is there exactly once, with its content. In the end the old place is empty and there are no orphans.

RESTANTE_KILLS sets how often it is killed, and RESTANTE_SEED repeats a run.
"""
import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.blob_move_servers import LONG, SEED, Load, blob_move_servers
from support.workspace import Workspace
from support.waiting import wait_until

KILLS = int(os.environ.get("RESTANTE_KILLS", "5"))
WORKERS, EACH = 4, 10
SIZES = (3_000, 20_000, 90_000, 700_000, 2_300_000)  # the first stays in its row
FEWER = {"kills": 3, "each": 4, "sizes": (20_000, 60_000, 300_000, 6_500_000), "rate": 10_000_000}  # the last goes to S3 by parts


def move_under_kills(move, old, new, *, kills=KILLS, each=EACH, sizes=SIZES, rate=2_000_000):
    """Moves to the new place, back, to the new place again, and finishes; under load, with kills at random times."""
    print(f"RESTANTE_SEED={SEED}")
    chance = random.Random(SEED)
    move.start()
    load = Load(move, Workspace(move.server, "inbox"))
    for n in range(2 * len(sizes)):
        load.send(f"early-{n}", chance.randbytes(sizes[n % len(sizes)]))
    assert move.figures(old)["files"] == move.count(old) == load.kept() > 0
    assert move.migrate(new, rate).status == 200
    with ThreadPoolExecutor(WORKERS) as pool:
        working = [pool.submit(load.work, worker, each, sizes) for worker in range(WORKERS)]
        try:
            for kill in range(kills):
                target = len(load.sent) + chance.randrange(1, max(2, WORKERS * each // (kills + 1)))
                wait_until(lambda: len(load.sent) >= target or all(done.done() for done in working), "some more files are done", LONG)
                move.kill()
                if kill == kills // 2:
                    assert move.migrate(old).status == 200
                    assert move.status()["writes_to"] == old and move.status()["also_to"] == new
                elif kill == kills // 2 + 1:
                    assert move.migrate(new, 3 * rate).status == 200
        finally:
            for done in working:
                done.result()
    if move.migration()["to"] != new or move.migration()["rate"] > 0:
        assert move.migrate(new).status == 200
    move.wait_copied()
    load.check()
    assert move.finish_move().status == 200
    move.kill()
    wait_until(lambda: move.migration()["phase"] == "finished", "it is finished in spite of the kill", LONG)
    assert move.status()["writes_to"] == new
    load.check()
    move.wait_empty(old, new, load.kept())
    load.check()
    checked = move.run("check")
    assert checked.returncode == 0, checked


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_from_files_to_the_database_and_nothing_is_lost(rows, request):
    with blob_move_servers(rows, request) as move:
        move_under_kills(move, "dir", "inline")


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_from_the_database_to_a_bucket_and_nothing_is_lost(rows, request):
    with blob_move_servers(rows, request, with_s3=True, settings={"blobs": "inline"}) as move:
        move_under_kills(move, "inline", "s3")


@pytest.mark.parametrize("rows, old, new", [("sqlite", "dir", "s3"), ("sqlite", "s3", "dir"), ("postgres", "s3", "inline"),
                                            ("sqlite", "inline", "dir")])
def test_from_any_other_place_to_any_other_and_nothing_is_lost(rows, old, new, request):
    with blob_move_servers(rows, request, with_s3="s3" in (old, new), settings={"blobs": old}) as move:
        move_under_kills(move, old, new, **FEWER)
