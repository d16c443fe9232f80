"""Names and ids: the safe name of a file that landed, the file that a uri names, texts for a terminal. Pure functions."""
from __future__ import annotations

import re
import uuid
from typing import Optional

PENDING_SCHEME = "platform-pending:"
LONGEST_NAME = 100
LONGEST_EXTENSION = 16  # dot included; a longer one is part of the name

_NOT_KEPT = re.compile(r"[^A-Za-z0-9._-]")
_DELEGATION_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z")


def safe_name(raw: str) -> str:
    """1 to 100 of [A-Za-z0-9._-], never `.` or `..`: the last component after `/` or `\\`, every other character one `_`."""
    name = _NOT_KEPT.sub("_", re.split(r"[/\\]", raw)[-1])
    if len(name) > LONGEST_NAME:
        dot = name.rfind(".")
        extension = name[dot:] if dot >= 0 else ""
        if len(extension) > LONGEST_EXTENSION:
            extension = ""
        name = name[:LONGEST_NAME - len(extension)] + extension
    return "file" if name in ("", ".", "..") else name


def landed_name(file_id: str, name: str, number: int = 0, *, windows: bool = False) -> str:
    """The name of a landed file: 32 hex digits, a dash, the safe name. `number` is for when another file has that name.

    The digits in front make a name such as CON or NUL harmless. Windows drops dots at the end of a name, so that two names
    would be one file: there the last dots become `_`.
    """
    safe = safe_name(name)
    if windows:
        kept = safe.rstrip(".")
        safe = kept + "_" * (len(safe) - len(kept))
    middle = f"{number}-" if number else ""
    return f"{uuid.UUID(file_id).hex}-{middle}{safe}"


def parse_id(text: object) -> Optional[str]:
    """The id in lower case with dashes; None when the text is no UUID in that form."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", text):
        return None
    return text.lower()


def pending_file(uri: str) -> Optional[str]:
    """The id of the file that platform-pending:<workspace>/<file> names, in any letter case; None for any other uri."""
    if not uri.lower().startswith(PENDING_SCHEME) or "/" not in uri:
        return None
    return parse_id(uri.rpartition("/")[2])


def is_delegation_id(text: object) -> bool:
    return isinstance(text, str) and bool(_DELEGATION_ID.match(text))


def without_controls(text: str) -> str:
    """For one line of a terminal: control characters become `?`."""
    return "".join("?" if ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c in "\u2028\u2029" else c for c in text)


def shown(text: str) -> str:
    """Text for a terminal: further lines are indented, other control characters become `?`."""
    return "\n    ".join("\t".join(without_controls(piece) for piece in line.split("\t")) for line in text.split("\n"))


def human_size(size: int) -> str:
    """1.5 MiB, 12 bytes."""
    if size < 1024:
        return "1 byte" if size == 1 else f"{size} bytes"
    amount, unit = float(size), ""
    for following in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, following
    return f"{amount:.1f} {unit}"


def cut_utf8(text: str, most: int) -> str:
    """The beginning of the text, at most `most` bytes of UTF-8, never half a character."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
