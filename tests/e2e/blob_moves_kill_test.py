"""Bytes change over from any place to any other under load, and back, while the server is killed again and again: what was
acknowledged is there, once, with its bytes; in the end the old place is empty and nothing lies around.

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


def change(over, old, new, *, kills=KILLS, each=EACH, sizes=SIZES, rate=2_000_000):
    """Forth, back, forth again and finished, under load and killed whenever it pleases."""
    print(f"RESTANTE_SEED={SEED}")
    chance = random.Random(SEED)
    over.start()
    load = Load(over, Workspace(over.server, "inbox"))
    for n in range(2 * len(sizes)):
        load.send(f"early-{n}", chance.randbytes(sizes[n % len(sizes)]))
    assert over.figures(old)["files"] == over.count(old) == load.kept() > 0
    assert over.migrate(new, rate).status == 200
    with ThreadPoolExecutor(WORKERS) as pool:
        working = [pool.submit(load.work, worker, each, sizes) for worker in range(WORKERS)]
        try:
            for kill in range(kills):
                target = len(load.sent) + chance.randrange(1, max(2, WORKERS * each // (kills + 1)))
                wait_until(lambda: len(load.sent) >= target or all(done.done() for done in working), "some more are through", LONG)
                over.kill()
                if kill == kills // 2:
                    assert over.migrate(old).status == 200
                    assert over.status()["writes_to"] == old and over.status()["also_to"] == new
                elif kill == kills // 2 + 1:
                    assert over.migrate(new, 3 * rate).status == 200
        finally:
            for done in working:
                done.result()
    if over.migration()["to"] != new or over.migration()["rate"] > 0:
        assert over.migrate(new).status == 200
    over.wait_copied()
    load.check()
    assert over.finish_move().status == 200
    over.kill()
    wait_until(lambda: over.migration()["phase"] == "finished", "it is finished, whoever was killed", LONG)
    assert over.status()["writes_to"] == new
    load.check()
    over.wait_empty(old, new, load.kept())
    load.check()
    checked = over.run("check")
    assert checked.returncode == 0, checked


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_from_files_to_the_database_and_nothing_is_lost(rows, request):
    with blob_move_servers(rows, request) as over:
        change(over, "dir", "inline")


@pytest.mark.parametrize("rows", ["sqlite", "postgres"])
def test_from_the_database_to_a_bucket_and_nothing_is_lost(rows, request):
    with blob_move_servers(rows, request, with_s3=True, settings={"blobs": "inline"}) as over:
        change(over, "inline", "s3")


@pytest.mark.parametrize("rows, old, new", [("sqlite", "dir", "s3"), ("sqlite", "s3", "dir"), ("postgres", "s3", "inline"),
                                            ("sqlite", "inline", "dir")])
def test_from_any_other_place_to_any_other_and_nothing_is_lost(rows, old, new, request):
    with blob_move_servers(rows, request, with_s3="s3" in (old, new), settings={"blobs": old}) as over:
        change(over, old, new, **FEWER)
