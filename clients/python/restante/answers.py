"""Answer lines: how a program that gets deliveries as JSON lines answers them: one JSON object a line on our stdin,
{"reply_to":"<id of the delivery>","text":"…","files":["path",…]}. Without reply_to it is a message to the person; with "failed":true the task
that it answers has failed. A line that was read is sent, also after a kill, and once."""
from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, List

from .commands import Run
from .handlers import copy_into
from .records import MOST_HOPS, Reply
from .session import Session

LONGEST_LINE = 4 << 20


class BadAnswer(Exception):
    """A line that cannot be sent: a sentence."""


@dataclass
class AnswerLine:
    reply_to: str = ""
    text: str = ""
    files: List[str] = field(default_factory=list)
    failed: bool = False


def parse_answer_line(line: bytes) -> AnswerLine:
    """A member that is not known is an error: it may be a typo."""
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadAnswer('an answer is one JSON object on one line: {"reply_to":"…","text":"…","files":["…"]}')
    for name, value in found.items():
        if name not in ("reply_to", "text", "files", "failed"):
            raise BadAnswer(f'an answer has no member "{name}"; it has reply_to, text, files and failed')
        if name in ("reply_to", "text") and not isinstance(value, str) and value is not None:
            raise BadAnswer(f"{name} must be a text")
        if name == "files" and value is not None and (not isinstance(value, list) or not all(isinstance(one, str) and one for one in value)):
            raise BadAnswer("files must be a list of paths")
        if name == "failed" and not isinstance(value, bool):
            raise BadAnswer("failed must be true or false")
    answer = AnswerLine(found.get("reply_to") or "", found.get("text") or "", found.get("files") or [], found.get("failed", False))
    if not answer.text and not answer.files:
        raise BadAnswer("an answer needs a text or files")
    return answer


class AnswerReader:
    """Reads stdin until it ends. What cannot be sent is printed."""

    def __init__(self, session: Session, runs: Path, print_line: Callable[[str], None]) -> None:
        self._session, self._runs, self._print_line = session, runs, print_line

    def run(self) -> None:
        kept, skipping = b"", False  # skipping: the rest of a line that was too long
        while True:
            try:
                piece = os.read(0, 65536)
            except OSError:
                return
            *lines, rest = (kept + piece).split(b"\n")
            for line in lines:
                if not skipping:
                    self.take(line)
                skipping = False
            if not piece:
                if not skipping:
                    self.take(rest)
                return
            kept = b"" if skipping else rest
            if len(kept) > LONGEST_LINE:
                self._print_line("an answer is longer than 4 MiB; it is not sent")
                kept, skipping = b"", True

    def take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            answer = parse_answer_line(line)
            reply, created_at = self._reply_for(answer)
            if answer.files:
                folder = Run(self._runs, reply.key).result_folder
                copy_into(folder, [Path(one) for one in answer.files])
                reply.folder = str(folder)
            self._session.add_reply(reply, created_at)
        except (BadAnswer, OSError) as error:
            self._print_line(f"an answer is not sent: {error}")

    def _reply_for(self, answer: AnswerLine) -> "tuple[Reply, str]":
        reply = Reply(f"answer-{uuid.uuid4()}", answer.text)
        if not answer.reply_to:
            return reply, ""
        if not self._session.ledger.is_known(answer.reply_to):
            raise BadAnswer(f"no delivery {answer.reply_to} is known")
        origin = self._session.ledger.origin_of(answer.reply_to)
        if not origin:
            reply.row = answer.reply_to
            return reply, ""
        if origin.delegation_id:
            reply.to, reply.target, reply.failed = "task", origin.delegation_id, answer.failed
            return reply, origin.created_at
        hops = self._session.ledger.next_hop(origin.source_id, origin.hops, origin.created_at)
        if hops is None:
            raise BadAnswer(f"agent {origin.source_id} is not answered any more: {MOST_HOPS} automatic answers in a row are enough")
        reply.to, reply.target, reply.hops = "agent", origin.source_id, hops
        return reply, origin.created_at
