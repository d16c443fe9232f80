"""What the agent must know after a kill at any moment, as plain records, and the rules that need nothing else."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Deque, Dict, Iterable, List, NamedTuple, Optional, Tuple, Type, TypeVar

MOST_HOPS = 8  # automatic answers between agents in a row
HOP_WINDOW = timedelta(hours=1)

Record = TypeVar("Record", bound="Kept")


class Kept:
    """A record that is stored as JSON. Members that an older version did not write have their default."""

    def as_json(self) -> Dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls: Type[Record], found: Dict[str, Any]) -> Record:
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in found.items() if name in known})


@dataclass
class FileRecord(Kept):
    """A file that the inbox announced.

    where: waiting (not downloaded yet; tried again), landed (at `path`, verified), gone (the server no longer has it), refused
    (given up: larger than allowed, or its content was wrong several times).
    """

    id: str
    name: str
    size: int
    sha256: str  # empty: not announced
    uri: str
    row_id: str
    seq: int = 0
    created_at: str = ""
    where: str = "waiting"
    path: str = ""
    trouble: str = ""  # why it has not landed: missing, failed, expired, recalled, gone
    reason: str = ""  # the same as a sentence
    acked: bool = False  # the server has our ack
    reported: bool = False  # the server has our report of the trouble
    handed_over: bool = False  # alone, or with a message that names it
    notified: bool = False  # the agent was notified of the trouble

    def is_finished(self) -> bool:
        return self.where != "waiting" and (self.where != "landed" or (self.handed_over and self.acked))

    def is_unfinished(self) -> bool:
        """Something is left to do: fetch, acknowledge, hand over, or notify the agent that it did not arrive."""
        if self.where == "waiting":
            return True
        return not self.acked or not self.handed_over if self.where == "landed" else not self.notified

    def is_on_its_way(self) -> bool:
        return self.where == "waiting" and self.trouble != "failed"

    def goes_alone(self) -> bool:
        """To be handed over by itself. A file that another process of this workspace has taken is not reported."""
        if self.where == "landed":
            return not self.handed_over
        return not self.notified and self.trouble in ("failed", "expired", "recalled")

    def state(self) -> str:
        if self.where == "landed":
            return "landed"
        return self.trouble or {"waiting": "missing", "refused": "failed"}.get(self.where, "gone")


@dataclass
class Reply(Kept):
    """An answer of the agent that is to be sent. `to`: person, agent (then `target` is its workspace), task (its id)."""

    key: str  # the same for every attempt
    text: str
    to: str = "person"
    target: str = ""
    hops: int = 0  # to an agent: how many automatic answers led to this one, itself included
    failed: bool = False  # of a task
    folder: str = ""  # of the files to send with it, deleted afterwards; empty: none
    row: str = ""  # to a person: the inbox row that it answers; empty: none


@dataclass
class DeliveryEnd:
    """The end of a delivery: the files handed over with it, those whose trouble the agent was notified of, and the answer."""

    id: str
    created_at: str
    files: List[str] = field(default_factory=list)
    notified: List[str] = field(default_factory=list)
    reply: Optional[Reply] = None


@dataclass
class Origin(Kept):
    """Where a delivery came from, if not from a person: what is needed to answer it later."""

    id: str  # of the delivery
    source_id: str
    created_at: str = ""
    delegation_id: str = ""  # of a task; empty: a message
    hops: int = 0


class Position(NamedTuple):
    """After this row of the inbox. The number alone is not enough: when an older copy of the server's database is restored, numbers are
    given to other rows, and the messages in between would be skipped."""

    seq: int
    row: str


def parse_time(text: str) -> Optional[datetime]:
    """RFC 3339 with any number of decimals; None when it is not."""
    head, dot, rest = text.partition(".")
    zone = text[-1:] if text.endswith(("Z", "z")) else text[-6:] if text[-6:-5] in ("+", "-") else ""
    if not zone:
        return None
    digits = rest[:len(rest) - len(zone)] if dot else ""
    head = head if dot else head[:len(head) - len(zone)]
    try:
        return datetime.fromisoformat(f"{head}.{(digits + '000000')[:6]}{'+00:00' if zone in 'Zz' else zone}")
    except ValueError:
        return None


def _is_recent(created_at: str, now: Optional[datetime]) -> bool:
    at = parse_time(created_at)
    return now is None or at is None or now - at < HOP_WINDOW  # without a readable time: recent


def next_hop(answered: Iterable[Tuple[str, str]], peer: str, hops: int, created_at: str) -> Optional[int]:
    """The number of hops of the answer to a message with `hops`; None when there must be no answer. Some peers send no such number: they
    get at most eight answers to messages that they wrote within an hour."""
    if hops >= MOST_HOPS:
        return None
    if hops > 0:
        return hops + 1
    now = parse_time(created_at)
    recent = sum(1 for one, at in answered if one == peer and _is_recent(at, now))
    return None if recent >= MOST_HOPS else 1


def remember_answer(answered: Deque[Tuple[str, str]], peer: str, created_at: str) -> None:
    """Adds an answer, and drops those that no longer count."""
    now = parse_time(created_at)
    for old in [one for one in answered if not _is_recent(one[1], now)]:
        answered.remove(old)
    answered.append((peer, created_at))
