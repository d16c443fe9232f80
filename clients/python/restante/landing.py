"""LandingFolder: stores downloaded files in the workspace as `<dir>/.molecule/chat-uploads/<32 hex of its id>-<name>`.

The content is collected under a temporary name; after a broken connection or a kill the download resumes there. A file gets its final
name only when it is complete, verified and durable; 0600. Nothing is replaced, and no symbolic link is followed. Raises DiskTrouble.
"""
from __future__ import annotations

import hashlib
import os
import sys
import uuid
from pathlib import Path
from typing import BinaryIO, Optional

from .disk import (WINDOWS, DiskTrouble, make_folder, make_root, open_existing, open_new, remove, rename_without_replacing, sync_file,
                   sync_folder, trouble, write_all)
from .names import landed_name
from .records import FileRecord

MOST_SAME_NAMES = 9
_PIECE = 256 * 1024


class Partial:
    """An unfinished download: the content on disk so far, and its hash."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file, self.size = path, file, 0
        self.hash = hashlib.sha256()

    def append(self, content: bytes) -> None:
        try:
            write_all(self.file, content)
        except OSError as error:
            raise trouble("cannot write", error) from None
        self.hash.update(content)
        self.size += len(content)

    def restart(self) -> None:
        """Discards the content so far."""
        try:
            self.file.seek(0)
            self.file.truncate()
        except OSError as error:
            raise trouble("cannot start a file again", error) from None
        self.hash, self.size = hashlib.sha256(), 0

    def close(self) -> None:
        self.file.close()


class LandingFolder:
    """See the module. `directory` is created when missing."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self) -> Path:
        """The folder, made again each time: it may have been moved or removed since the last file."""
        return make_folder(make_folder(make_root(self._directory).resolve(), ".molecule"), "chat-uploads")

    def find(self, record: FileRecord) -> Optional[str]:
        """The absolute path of the file if it is there, complete and with the announced content. Then it is durable: the process that
        gave it its name may have been killed before it was."""
        folder = self.open()
        for number in range(MOST_SAME_NAMES + 1):
            path = _nth_path(folder, record, number)
            if not os.path.lexists(path):
                return None
            if _holds(path, record):
                self._sync_found(path, record)
                _discard(_temporary(folder, record))  # a kill may have left it after the rename
                return str(path)
        return None

    def begin(self, record: FileRecord) -> Partial:
        """Continues where an earlier attempt ended; `size` is that offset, never more than the announced size."""
        path = _temporary(self.open(), record)
        try:
            partial = Partial(path, open_existing(path, write=True))
            if _is_ours(partial.file):
                while True:
                    piece = partial.file.read(_PIECE)
                    if not piece:
                        break
                    partial.hash.update(piece)
                    partial.size += len(piece)
                if partial.size > record.size:
                    partial.restart()
                return partial
            partial.close()
        except OSError:
            pass  # no file, or one that we did not create: begin with a new one
        try:
            remove(path)
            return Partial(path, open_new(path, read=True))
        except OSError as error:
            raise trouble("cannot begin a file", error) from None

    def discard(self, record: FileRecord) -> None:
        """Deletes the unfinished download."""
        try:
            _discard(_temporary(self.open(), record))
        except DiskTrouble:
            pass

    def finish(self, partial: Partial, record: FileRecord) -> Optional[str]:
        """Verifies the file and gives it its final name; both are durable then. None when size or hash differ from the announced ones:
        the content is deleted. If another file has the name, the new one gets `<32 hex>-<n>-<name>`."""
        if partial.size != record.size or (record.sha256 and partial.hash.hexdigest() != record.sha256.lower()):
            partial.close()
            _discard(partial.path)
            return None
        try:
            sync_file(partial.file.fileno())
        except OSError as error:
            partial.close()
            _discard(partial.path)  # after a failed sync the content on disk is unknown: begin again from nothing
            raise trouble("cannot write through to the disk", error) from None
        partial.close()  # Windows renames no open file
        for number in range(MOST_SAME_NAMES + 1):
            path = _nth_path(partial.path.parent, record, number)
            try:
                renamed = rename_without_replacing(partial.path, path)
            except OSError as error:
                raise trouble("cannot give a file its name", error) from None
            if not renamed and not _holds(path, record):
                continue
            if renamed:
                self._sync_name(path, record)
            else:
                self._sync_found(path, record)
                _discard(partial.path)
            return str(path)
        raise DiskTrouble("too many other files have the name of this one")

    def _sync_found(self, path: Path, record: FileRecord) -> None:
        try:
            # Windows syncs only what is open for writing.
            with open_existing(path, write=WINDOWS) as file:
                sync_file(file.fileno())
        except OSError as error:
            _discard(path)  # what is on the disk is unknown: begin again from nothing
            raise trouble("cannot write through to the disk", error) from None
        self._sync_name(path, record)

    def _sync_name(self, path: Path, record: FileRecord) -> None:
        try:
            # Also the names of our two folders: the process that made them may have been killed before it synced them.
            for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
                sync_folder(folder)
        except OSError as error:
            try:
                # The next sync may succeed without having written this name: it has to be written again.
                os.replace(path, _temporary(path.parent, record))
            except OSError:
                pass
            raise trouble("cannot write the names in a folder through to the disk", error) from None


def _nth_path(folder: Path, record: FileRecord, number: int) -> Path:
    return folder / landed_name(record.id, record.name, number, windows=WINDOWS)


def _temporary(folder: Path, record: FileRecord) -> Path:
    return folder / f".part-{uuid.UUID(record.id).hex}"


def _discard(path: Path) -> None:
    try:
        remove(path)
    except OSError:
        pass


def _is_ours(file: BinaryIO) -> bool:
    if sys.platform == "win32":
        return True
    there = os.fstat(file.fileno())
    return there.st_nlink == 1 and there.st_uid == os.geteuid()


def _holds(path: Path, record: FileRecord) -> bool:
    """True when it is a regular file with exactly the announced content."""
    try:
        with open_existing(path) as file:
            if os.fstat(file.fileno()).st_size != record.size:
                return False
            digest = hashlib.sha256()
            while record.sha256:
                piece = file.read(_PIECE)
                if not piece:
                    break
                digest.update(piece)
            return not record.sha256 or digest.hexdigest() == record.sha256.lower()
    except OSError:
        return False
