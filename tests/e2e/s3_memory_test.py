"""Sixteen files of 25 MiB at once, to S3 and back: memory stays far below what passes through."""
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.backend import Bucket, s3_settings
from support.desk import Workspace, files_of, multipart
from support.server import sanitizer
from support.swift import Swift
from support.waiting import wait_until

MIB = 1 << 20
CLIENTS, SIZE = 16, 25 * MIB
# An upload gathers a part of 5 MiB, a download reads windows of up to 4 MiB. Half of what passes through would be no bound.
MOST = 192 * MIB
# Freed memory is to be given back at once, as without a sanitizer.
FRUGAL = {"ASAN_OPTIONS": ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1", "thread_local_quarantine_size_kb=64"]))}


class Peak:
    """How far resident memory rose above what it was."""

    def __init__(self, server):
        self._folder = Path(f"/proc/{server.process.pid}")
        (self._folder / "clear_refs").write_text("5")
        self._before = self._high()

    def _high(self):
        line, = [line for line in (self._folder / "status").read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024

    def growth(self):
        return self._high() - self._before


@pytest.fixture
def bucket():
    with Swift() as swift:
        wait_until(lambda: made(swift), "Swift's parts have found each other", 120)
        yield swift, Bucket(swift)


def made(swift):
    try:
        return Bucket(swift)
    except (AssertionError, OSError):
        return None


@pytest.mark.skipif(sanitizer() == "thread", reason="its shadow memory says nothing about the server's")
def test_memory_stays_flat_while_large_files_go_to_s3_and_come_back(bucket, start):
    settings, environment = s3_settings(bucket[0], bucket[1].name)
    server = start({**settings, "s3.patience": "5m", "uploads.per_request_bytes": str(64 * MIB)}, environment={**environment, **FRUGAL})
    agent = Workspace(server)
    content = hashlib.sha256(b"large").digest() * (SIZE // 32)
    headers, body = multipart(("large.bin", content))
    digest = hashlib.sha256(content).hexdigest()

    def upload(_):
        answer = server.request("POST", agent.path("chat/uploads"), token=server.admin_token, headers=headers, body=body, ceiling=300)
        (file_id, _item), = files_of(answer)
        return file_id

    def fetch(file_id):
        answer = server.get(agent.content(file_id), token=agent.token, ceiling=300)
        return answer.status, hashlib.sha256(answer.body).hexdigest()

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(fetch, list(clients.map(upload, range(2)))))  # everything was used once
        sending = Peak(server)
        ids = list(clients.map(upload, range(CLIENTS)))
        grown = sending.growth()
        assert grown < MOST, f"{grown / MIB:.0f} MiB more while {CLIENTS} files were sent"
        fetching = Peak(server)
        assert set(clients.map(fetch, ids)) == {(200, digest)}
        grown = fetching.growth()
        assert grown < MOST, f"{grown / MIB:.0f} MiB more while {CLIENTS} files were fetched"
