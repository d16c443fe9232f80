"""Delivery: a message with the files it names, or a file that came alone, as it is handed over to the agent.

It is made from an inbox row and the ledger's files: a file part with a uri `platform-pending:…` gets the uri
`workspace:<absolute path>` when the file has landed; otherwise it keeps its uri and has the reason in `state`. Pure functions.
"""
from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional

from .api import HOPS_MEMBER, Json, Row, compact, text_of, whole_of
from .names import PENDING_SCHEME, human_size, is_delegation_id, pending_file, shown
from .records import DeliveryEnd, FileRecord

RESULT_METHOD = "delegate_result"
SELF_TEST_NAME = "restante-doctor-"
SELF_TEST_MEMBER = "restante_doctor"

FindFile = Callable[[str], Optional[FileRecord]]


@dataclass
class DeliveredFile:
    """state: landed, missing, expired, recalled, failed, gone, unknown, or external for a uri of another scheme."""

    name: str
    uri: str  # workspace:<path>, or as the sender named it
    state: str
    size: Optional[int] = None
    sha256: str = ""
    path: str = ""  # empty unless it has landed
    reason: str = ""  # why it has not landed, when known
    id: str = ""

    def as_json(self) -> Json:
        made: Json = {"name": self.name}
        made.update({} if self.size is None else {"size": self.size})
        made.update({name: value for name, value in (("sha256", self.sha256), ("path", self.path)) if value})
        made.update({"uri": self.uri, "state": self.state})
        return {**made, "reason": self.reason} if self.reason else made


@dataclass
class Delivery:
    """type: message, result or file; ended: a task that had ended before it was begun."""

    type: str
    id: str
    seq: int = 0
    method: str = ""
    source_id: Optional[str] = None
    created_at: str = ""
    text: str = ""
    files: List[DeliveredFile] = field(default_factory=list)
    # Of the task whose result this is, or that another agent gave us. That a message is a task is what the message says, until the
    # server has confirmed it.
    delegation_id: str = ""
    status: str = ""  # of a result: ok or error; of a task that has ended: how
    reason: str = ""  # of a task that has ended: why
    hops: int = 0  # how many automatic answers led to this message
    again: bool = False  # begun before with an unknown end: the receiver may have it already
    body: Optional[Json] = None  # of a message: the row's request_body with rewritten uris

    def is_task(self) -> bool:
        """True when it is a task that another agent gave to this one."""
        return bool(self.delegation_id) and self.type in ("message", "ended")

    def json(self) -> str:
        """One JSON object on one line."""
        made: Json = {"type": self.type, "id": self.id, "seq": self.seq, "method": self.method, "source_id": self.source_id,
                      "created_at": self.created_at, "text": self.text}
        optional = (("delegation_id", self.delegation_id), ("status", self.status), ("reason", self.reason), ("again", self.again))
        made.update({name: value for name, value in optional if value})
        made["files"] = [file.as_json() for file in self.files]
        if self.body is not None:
            made["body"] = self.body
        return compact(made)

    def forget_task(self) -> None:
        """The message is no task: it names one that the server has not confirmed."""
        self.delegation_id = ""
        metadata = message_member(self.body, "metadata")
        if isinstance(metadata, dict):
            for name in ("delegation_id", "parent_delegation_id"):
                metadata.pop(name, None)

    def end(self) -> DeliveryEnd:
        landed = [file.id for file in self.files if file.id and file.state == "landed"]
        notified = [file.id for file in self.files if file.id and file.state not in ("landed", "missing")]
        return DeliveryEnd(self.id, self.created_at, landed, notified)


def each_part(node: Any) -> Iterator[Dict[str, Any]]:
    """Every part of every list of A2A parts, at any depth: in the message itself, its history, a task's artifacts."""
    waiting = [node]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting[:0] = one
        elif isinstance(one, dict):
            found = []
            for name, value in one.items():
                if name == "parts" and isinstance(value, list):
                    yield from (part for part in value if isinstance(part, dict))
                else:
                    found.append(value)
            waiting[:0] = found


def message_member(body: Optional[Json], name: str) -> Any:
    """A member of the A2A message in the body; None when there is none."""
    found: Any = body
    for step in ("params", "message", name):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _file_of(part: Json) -> Optional[Json]:
    file = part.get("file")
    return file if isinstance(file, dict) and isinstance(file.get("uri"), str) else None


def file_uris(body: Json) -> List[str]:
    """The uris of all file parts, in order, as sent."""
    return [file["uri"] for file in map(_file_of, each_part(body)) if file]


def named_files(row: Row) -> List[str]:
    """The ids of the files that a row's message names."""
    return [one for one in map(pending_file, file_uris(row.body)) if one]


def result_of(row: Row) -> str:
    """The id of the delegation whose result the row is; empty when it is no result."""
    if row.method != RESULT_METHOD:
        return ""
    return text_of(row.body, "delegation_id") or text_of(message_member(row.body, "metadata"), "delegation_id")


def is_self_test(row: Row, workspace: str) -> bool:
    """A row of `restante doctor`, which the agent does not hand over."""
    if row.source_id and row.source_id != workspace:
        return False
    if row.method == "chat_upload_receive":
        return text_of(row.body, "name").startswith(SELF_TEST_NAME)
    metadata = message_member(row.body, "metadata")
    return bool(row.source_id) and isinstance(metadata, dict) and metadata.get(SELF_TEST_MEMBER) is True


def delivered(record: FileRecord) -> DeliveredFile:
    landed = record.where == "landed"
    return DeliveredFile(record.name, f"workspace:{record.path}" if landed else record.uri, record.state(), record.size, record.sha256,
                         record.path if landed else "", "" if landed else record.reason, record.id)


def deliver_file(record: FileRecord) -> Delivery:
    # The report that a file did not arrive and the file itself are two deliveries.
    made = record.row_id if record.where == "landed" else f"{record.row_id}-{record.state()}"
    return Delivery("file", made, record.seq, "chat_upload_receive", None, record.created_at, files=[delivered(record)])


def _rewrite(file: Json, find: FindFile) -> DeliveredFile:
    uri = file["uri"]
    file_id = pending_file(uri)
    record = find(file_id) if file_id else None
    if not record:
        ours = uri.startswith(PENDING_SCHEME)
        if ours:
            file["state"] = "unknown"
        return DeliveredFile(text_of(file, "name"), uri, "unknown" if ours else "external")
    known = delivered(record)
    file["uri"] = known.uri
    if known.state != "landed":
        file["state"] = known.state
    return known


def deliver_message(row: Row, find: FindFile) -> Delivery:
    made = Delivery("result" if row.method == RESULT_METHOD else "message", row.id, row.seq, row.method, row.source_id, row.created_at)
    made.body = copy.deepcopy(row.body)
    texts = []
    for part in each_part(made.body):
        file = _file_of(part)
        if file:
            made.files.append(_rewrite(file, find))
        if text_of(part, "text"):
            texts.append(part["text"])
    made.text = "\n".join(texts)
    metadata = message_member(made.body, "metadata")
    made.hops = max(0, whole_of(metadata, HOPS_MEMBER))
    if made.type == "result":
        made.delegation_id, made.status = result_of(row), row.status
        return made
    task = text_of(metadata, "delegation_id")
    if made.source_id and is_delegation_id(task):  # a task comes from an agent; the server sets the source
        made.delegation_id = task
    else:
        made.forget_task()
    return made


def readable(delivery: Delivery) -> str:
    """A line for a person: time, sender, text; a file with its size and path. Control characters are replaced."""
    line = delivery.created_at + " "
    if delivery.type == "file":
        line += "file"
    elif delivery.type == "ended":
        line += (f"task {shown(delivery.delegation_id)} from agent {shown(delivery.source_id or '')} is over before it was begun "
                 f"({shown(delivery.reason)}): {shown(delivery.text)}")
    else:
        sender = f"agent {shown(delivery.source_id)}" if delivery.source_id else "the person"
        line += f"{delivery.type} from {sender}: {shown(delivery.text)}"
    for file in delivery.files:
        line += (" " if delivery.type == "file" else "\n    ") + shown(file.name)
        line += f" ({human_size(file.size)})" if file.size is not None else ""
        line += f" {shown(file.path)}" if file.path else f" [{file.state}{': ' + shown(file.reason) if file.reason else ''}]"
    return line
