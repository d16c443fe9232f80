"""The ledger: what was changed is there after a kill, and a disk that fails stops nothing."""
import sqlite3

import pytest

from restante.api import Row
from restante.disk import DiskTrouble
from restante.ledger import MOST_RECENT, Ledger
from restante.records import DeliveryEnd, FileRecord, Position, Reply, next_hop, parse_time


def file(number, **more):
    return FileRecord(f"{number:08d}-0000-7000-8000-000000000000", "a.txt", 5, "", f"platform-pending:w/{number}", f"row-{number}", **more)


def row(name, created_at="2026-01-01T00:00:00.000000Z"):
    return Row(name, 1, "message/send", None, created_at, "ok", {})


@pytest.fixture
def printed():
    return []


@pytest.fixture
def opened(tmp_path, printed):
    ledgers = []

    def opener():
        # No close() before: a process that was killed closed nothing. SQLite's lock is of the process, so it is closed here.
        for one in ledgers:
            one._database.close()
        ledgers.append(Ledger(tmp_path, printed.append))
        return ledgers[-1]

    yield opener
    for one in ledgers:
        one.close()


def test_everything_is_there_after_a_kill(opened):
    ledger = opened()
    assert not ledger.started()
    ledger.set_facts(server="https://a", workspace="w", enrolled="h")
    assert ledger.take_rows([file(1), file(2)]) == [file(1).id, file(2).id]
    assert ledger.take_rows([file(2), file(3)]) == [file(3).id], "a known file is not announced again"
    ledger.set_cursor(Position(7, "row-7"))
    landed = file(1, where="landed", path="/x", acked=True)
    ledger.file_updated(landed)
    assert not ledger.begin("d1") and ledger.begin("d1")
    assert not ledger.begin("d2")
    ledger.end_delivery(DeliveryEnd("d2", "2026-01-01T00:00:00Z", files=[file(1).id], reply=Reply("reply-d2", "hello", folder="/f")))
    again = opened()
    assert [again.fact(name) for name in ("server", "workspace", "enrolled")] == ["https://a", "w", "h"]
    assert again.started() and again.position() == Position(7, "row-7")
    assert again.file(file(1).id) == file(1, where="landed", path="/x", acked=True, handed_over=True)
    assert [one.id for one in again.unfinished_files()] == [file(2).id, file(3).id]
    assert again.has_begun("d1") and not again.has_begun("d2")
    assert again.has_seen(row("d2")) and not again.has_seen(row("d3"))
    assert again.next_reply() == Reply("reply-d2", "hello", folder="/f") and again.unsent_folders() == ["/f"]
    again.sent("reply-d2")
    assert opened().next_reply() is None


def test_replies_are_sent_in_order_and_counted(opened):
    ledger = opened()
    for name in ("a", "b"):
        ledger.end_delivery(DeliveryEnd(name, "", reply=Reply(f"reply-{name}", name)))
    assert ledger.counts() == {"waiting_files": 0, "unsent_replies": 2}
    ledger.sent("reply-a")
    assert opened().next_reply().key == "reply-b"


def test_a_row_older_than_all_that_are_remembered_counts_as_seen(opened):
    ledger = opened()
    for number in range(MOST_RECENT + 1):
        ledger._recent.append((f"d{number}", f"2026-01-02T00:00:{number % 60:02d}Z"))
    assert ledger.has_seen(row("unknown", "2026-01-01T00:00:00Z")) and not ledger.has_seen(row("unknown", "2026-01-03T00:00:00Z"))


def test_while_the_disk_fails_the_memory_counts_and_everything_is_written_later(opened, printed):
    ledger = opened()
    ledger.set_facts(workspace="w")
    database, ledger._database = ledger._database, None
    database.close()

    def broken():
        raise sqlite3.OperationalError("disk I/O error")

    reopen, ledger._reopen = ledger._reopen, broken
    ledger.set_cursor(Position(3, "r3"))
    ledger.take_rows([file(1)])
    assert ledger.position() == Position(3, "r3") and ledger.file(file(1).id)
    assert len(printed) == 1 and "cannot be kept" in printed[0], "one line, however often it fails"
    ledger._reopen = reopen
    ledger.begin("d1")
    assert printed[1:] == ["the state can be kept again"]
    again = opened()
    assert again.position() == Position(3, "r3") and again.file(file(1).id) == file(1) and again.has_begun("d1")


def test_a_file_that_is_no_ledger_is_refused_with_a_sentence_and_not_replaced(tmp_path):
    (tmp_path / "ledger.sqlite").write_bytes(b"something else entirely, and long enough to be read as a header" * 20)
    with pytest.raises(DiskTrouble, match="move it away"):
        Ledger(tmp_path, print)
    assert (tmp_path / "ledger.sqlite").read_bytes().startswith(b"something else")


def test_a_ledger_of_a_newer_version_is_refused(opened, tmp_path):
    opened()._database.execute("PRAGMA user_version=99")
    with pytest.raises(DiskTrouble, match="newer version"):
        opened()


def test_automatic_answers_between_agents_end_after_eight():
    at = "2026-01-01T10:00:00.000000Z"
    assert next_hop([], "p", 0, at) == 1 and next_hop([], "p", 7, at) == 8 and next_hop([], "p", 8, at) is None
    answered = [("p", at)] * 8
    assert next_hop(answered, "p", 0, "2026-01-01T10:59:00Z") is None
    assert next_hop(answered, "q", 0, at) == 1 and next_hop(answered, "p", 0, "2026-01-01T11:00:01Z") == 1


def test_times_are_read_with_any_number_of_decimals():
    assert parse_time("2026-01-01T10:00:00.5Z") == parse_time("2026-01-01T10:00:00.500000+00:00")
    assert parse_time("2026-01-01T10:00:00Z").isoformat() == "2026-01-01T10:00:00+00:00"
    assert parse_time("2026-01-01T10:00:00") is None and parse_time("yesterday") is None and parse_time("") is None
