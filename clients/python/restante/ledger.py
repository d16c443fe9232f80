"""Ledger: the state while the agent runs, in memory and in the file ledger.sqlite of the state directory.

Several threads change it; each change is on the disk before the call returns. When the disk fails, delivery continues: the change
counts in memory, one line is printed, and the whole state is written as soon as the disk works again. Thread-safe.
"""
from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict, deque
from pathlib import Path
from typing import Callable, Deque, Dict, Iterable, List, Optional, Set, Tuple

from .api import Row, compact
from .disk import DiskTrouble
from .records import DeliveryEnd, FileRecord, Origin, Position, Reply, next_hop, remember_answer

MOST_FILES = 10_000  # messages that name older files are rare
MOST_RECENT = 2_000  # four pages at the server's largest
MOST_ANSWERED = 4_096  # eight for each of some hundred peers
SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS replies (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS begun (id TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS recent (number INTEGER PRIMARY KEY, id TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS origins (id TEXT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answered (number INTEGER PRIMARY KEY, peer TEXT NOT NULL, created_at TEXT NOT NULL);
"""

Statement = Tuple[str, Tuple[object, ...]]


class Ledger:
    """See the module. The caller has the lock of the state directory."""

    def __init__(self, folder: Path, print_line: Callable[[str], None]) -> None:
        self._path = folder / "ledger.sqlite"
        self._print_line = print_line
        self._lock = threading.RLock()
        self._failing = False
        self._closed = False
        self._facts: Dict[str, str] = {}
        self._files: "OrderedDict[str, FileRecord]" = OrderedDict()
        self._replies: "OrderedDict[str, Reply]" = OrderedDict()
        self._begun: Set[str] = set()
        self._recent: Deque[Tuple[str, str]] = deque()
        self._recent_ids: Set[str] = set()
        self._answered: Deque[Tuple[str, str]] = deque()
        self._origins: Dict[str, Origin] = {}  # of the deliveries in _begun and _recent that came from agents
        self._database: Optional[sqlite3.Connection] = None
        try:
            self._database = self._open()
            self._load(self._database)
        except (sqlite3.Error, ValueError, TypeError) as error:
            self.close()
            raise DiskTrouble(f"the state in {self._path} cannot be read ({error}); move it away to begin with an empty state") from None

    def _open(self) -> sqlite3.Connection:
        if not self._path.exists():
            self._path.touch(0o600)
        database = sqlite3.connect(str(self._path), isolation_level=None, check_same_thread=False, timeout=5)
        # Only this process uses it, so the log needs no shared memory. FULL: a transaction that has ended survives a power cut.
        for setting in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "fullfsync=1", "wal_autocheckpoint=20"):
            database.execute(f"PRAGMA {setting}").fetchall()
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise ValueError("it is of a newer version")
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        return database

    def _load(self, database: sqlite3.Connection) -> None:
        self._facts = dict(database.execute("SELECT name, value FROM facts"))
        for (text,) in database.execute("SELECT record FROM files ORDER BY number"):
            record = FileRecord.from_json(json.loads(text))
            self._files[record.id] = record
        for (text,) in database.execute("SELECT record FROM replies ORDER BY number"):
            reply = Reply.from_json(json.loads(text))
            self._replies[reply.key] = reply
        self._begun = {one for (one,) in database.execute("SELECT id FROM begun")}
        self._recent = deque(database.execute("SELECT id, created_at FROM recent ORDER BY number"))
        self._recent_ids = {one for one, _ in self._recent}
        self._answered = deque(database.execute("SELECT peer, created_at FROM answered ORDER BY number"))
        for (text,) in database.execute("SELECT record FROM origins"):
            origin = Origin.from_json(json.loads(text))
            self._origins[origin.id] = origin

    def close(self) -> None:
        """Later changes are lost, as after a kill."""
        with self._lock:
            self._closed = True
            if self._database:
                self._database.close()
                self._database = None

    # -- reading

    def fact(self, name: str) -> str:
        """server, workspace, enrolled (hash of the enrolment token that was used); empty when it is not known."""
        with self._lock:
            return self._facts.get(name, "")

    def started(self) -> bool:
        with self._lock:
            return "cursor" in self._facts

    def position(self) -> Position:
        with self._lock:
            return Position(int(self._facts.get("cursor", "0")), self._facts.get("cursor_row", ""))

    def file(self, file_id: str) -> Optional[FileRecord]:
        """A copy."""
        with self._lock:
            found = self._files.get(file_id)
            return FileRecord(**vars(found)) if found else None

    def unfinished_files(self) -> List[FileRecord]:
        with self._lock:
            return [FileRecord(**vars(one)) for one in self._files.values() if one.is_unfinished()]

    def next_reply(self) -> Optional[Reply]:
        with self._lock:
            return next(iter(self._replies.values()), None)

    def unsent_folders(self) -> List[str]:
        with self._lock:
            return [reply.folder for reply in self._replies.values() if reply.folder]

    def begun_deliveries(self) -> List[str]:
        with self._lock:
            return sorted(self._begun)

    def has_begun(self, delivery: str) -> bool:
        with self._lock:
            return delivery in self._begun

    def has_seen(self, row: Row) -> bool:
        """True when the row was handled: it is among the recent ones, or older than all of them."""
        with self._lock:
            if len(self._recent) >= MOST_RECENT and row.created_at < self._recent[0][1]:
                return True
            return row.id in self._recent_ids

    def is_known(self, delivery: str) -> bool:
        """True when it was begun, and not so long ago that it is forgotten."""
        with self._lock:
            return delivery in self._begun or delivery in self._recent_ids

    def origin_of(self, delivery: str) -> Optional[Origin]:
        """None for one of a person."""
        with self._lock:
            return self._origins.get(delivery)

    def next_hop(self, peer: str, hops: int, created_at: str) -> Optional[int]:
        with self._lock:
            return next_hop(self._answered, peer, hops, created_at)

    def counts(self) -> Dict[str, int]:
        with self._lock:
            waiting = sum(1 for one in self._files.values() if one.where == "waiting")
            return {"waiting_files": waiting, "unsent_replies": len(self._replies)}

    # -- changing

    def set_facts(self, **facts: str) -> None:
        with self._lock:
            self._facts.update(facts)
            self._write([self._fact_statement(name) for name in facts])

    def take_rows(self, announced: Iterable[FileRecord]) -> List[str]:
        """Files that the inbox announced; returns the ids of those that were not known."""
        with self._lock:
            new: List[str] = []
            statements: List[Statement] = []
            for record in announced:
                if record.id in self._files:
                    continue
                self._files[record.id] = record
                new.append(record.id)
                statements.append(("INSERT OR REPLACE INTO files (id, record) VALUES (?, ?)", (record.id, compact(record.as_json()))))
            statements += self._trim_files()
            if statements:
                self._write(statements)
            return new

    def set_cursor(self, position: Position) -> None:
        self.set_facts(cursor=str(position.seq), cursor_row=position.row)

    def file_updated(self, record: FileRecord) -> None:
        """What a download changes: where, path, trouble, reason, acked and reported."""
        with self._lock:
            known = self._files.get(record.id)
            if not known:
                return
            for name in ("where", "path", "trouble", "reason", "acked", "reported"):
                setattr(known, name, getattr(record, name))
            self._write([self._file_statement(known)])

    def begin(self, delivery: str, origin: Optional[Origin] = None) -> bool:
        """True when it was begun before: then it is unknown whether the agent got it."""
        with self._lock:
            if delivery in self._begun:
                return True
            self._begun.add(delivery)
            statements: List[Statement] = [("INSERT OR REPLACE INTO begun (id) VALUES (?)", (delivery,))]
            if origin:
                self._origins[delivery] = origin
                statements.append(("INSERT OR REPLACE INTO origins (id, record) VALUES (?, ?)", (delivery, compact(origin.as_json()))))
            self._write(statements)
            return False

    def end_delivery(self, end: DeliveryEnd) -> None:
        with self._lock:
            self._begun.discard(end.id)
            self._recent.append((end.id, end.created_at))
            self._recent_ids.add(end.id)
            statements: List[Statement] = [("DELETE FROM begun WHERE id = ?", (end.id,)),
                                           ("INSERT INTO recent (id, created_at) VALUES (?, ?)", (end.id, end.created_at))]
            while len(self._recent) > MOST_RECENT:
                oldest = self._recent.popleft()[0]
                self._recent_ids.discard(oldest)
                self._origins.pop(oldest, None)
                statements.append(("DELETE FROM origins WHERE id = ?", (oldest,)))
                statements.append(("DELETE FROM recent WHERE number = (SELECT min(number) FROM recent)", ()))
            for ids, flag in ((end.files, "handed_over"), (end.notified, "notified")):
                for record in (self._files[one] for one in ids if one in self._files):
                    setattr(record, flag, True)
                    statements.append(self._file_statement(record))
            if end.reply:
                statements += self._add_reply(end.reply, end.created_at)
            self._write(statements)

    def add_reply(self, reply: Reply, created_at: str) -> None:
        """An answer that comes after its delivery, or to none."""
        with self._lock:
            self._write(self._add_reply(reply, created_at))

    def sent(self, key: str) -> None:
        with self._lock:
            if self._replies.pop(key, None):
                self._write([("DELETE FROM replies WHERE key = ?", (key,))])

    def _add_reply(self, reply: Reply, created_at: str) -> List[Statement]:
        self._replies[reply.key] = reply
        statements: List[Statement] = [("INSERT OR REPLACE INTO replies (key, record) VALUES (?, ?)", (reply.key, compact(reply.as_json())))]
        if reply.to == "agent" and reply.hops == 1:
            remember_answer(self._answered, reply.target, created_at)
            while len(self._answered) > MOST_ANSWERED:
                self._answered.popleft()
            statements.append(("DELETE FROM answered", ()))
            statements += [("INSERT INTO answered (peer, created_at) VALUES (?, ?)", one) for one in self._answered]
        return statements

    def _trim_files(self) -> List[Statement]:
        """Drops the oldest finished files above MOST_FILES."""
        dropped = []
        if len(self._files) > MOST_FILES:
            finished = [one.id for one in self._files.values() if one.is_finished()]
            dropped = finished[:len(self._files) - MOST_FILES]
        for file_id in dropped:
            del self._files[file_id]
        return [("DELETE FROM files WHERE id = ?", (file_id,)) for file_id in dropped]

    # -- the disk

    def _fact_statement(self, name: str) -> Statement:
        return "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", (name, self._facts[name])

    @staticmethod
    def _file_statement(record: FileRecord) -> Statement:
        return "UPDATE files SET record = ? WHERE id = ?", (compact(record.as_json()), record.id)

    def _everything(self) -> List[Statement]:
        """The statements that write the whole state, for a database that lacks a change."""
        statements: List[Statement] = [(f"DELETE FROM {table}", ()) for table in ("facts", "files", "replies", "begun", "recent", "answered", "origins")]
        statements += [self._fact_statement(name) for name in self._facts]
        statements += [("INSERT INTO files (id, record) VALUES (?, ?)", (one.id, compact(one.as_json()))) for one in self._files.values()]
        statements += [("INSERT INTO replies (key, record) VALUES (?, ?)", (one.key, compact(one.as_json()))) for one in self._replies.values()]
        statements += [("INSERT INTO begun (id) VALUES (?)", (one,)) for one in self._begun]
        statements += [("INSERT INTO recent (id, created_at) VALUES (?, ?)", one) for one in self._recent]
        statements += [("INSERT INTO answered (peer, created_at) VALUES (?, ?)", one) for one in self._answered]
        statements += [("INSERT INTO origins (id, record) VALUES (?, ?)", (one.id, compact(one.as_json()))) for one in self._origins.values()]
        return statements

    def _write(self, statements: List[Statement]) -> None:
        """One transaction. The caller has the lock and has changed the memory."""
        if self._closed:
            return
        try:
            if self._failing:
                self._reopen()
                statements = self._everything()
            if not self._database:
                raise sqlite3.OperationalError("the database is closed")
            self._database.execute("BEGIN IMMEDIATE")
            try:
                for text, values in statements:
                    self._database.execute(text, values)
                self._database.execute("COMMIT")
            except sqlite3.Error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            if not self._failing:
                self._print_line(f"the state cannot be kept: {error}")
            self._failing = True
            return
        if self._failing:
            self._failing = False
            self._print_line("the state can be kept again")

    def _reopen(self) -> None:
        """A new connection: the old one may have half a transaction in its log."""
        if self._database:
            self._database.close()
            self._database = None
        self._database = self._open()
