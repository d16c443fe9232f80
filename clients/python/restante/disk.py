"""File functions that survive a kill and a power cut, on Linux, macOS and Windows.

Every failure is a DiskTrouble with a sentence for a person. Files are readable only for their owner where the system has such a
mode; on Windows the folder of the user's own profile has that effect.
"""
from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO, Optional

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

WINDOWS = sys.platform == "win32"

_LOCKED_BYTE = 1 << 20  # on Windows a locked byte cannot be read by others, so it is not one of the text in the file


class DiskTrouble(Exception):
    """A failed disk operation. str() is a sentence; `in_use` when another process has the lock."""

    def __init__(self, sentence: str, in_use: bool = False) -> None:
        super().__init__(sentence)
        self.in_use = in_use


def trouble(what: str, error: OSError) -> DiskTrouble:
    return DiskTrouble(f"{what}: {error.strerror or error}")


def sync_file(descriptor: int) -> None:
    """Writes through the device's cache where the system supports that. Raises OSError."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:
            pass  # a file system without it
    os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Makes the names in the folder durable. Windows has no such call: NTFS writes names to its own journal. Raises OSError."""
    if WINDOWS:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise
    finally:
        os.close(descriptor)


def is_link(path: Path) -> bool:
    """A symbolic link, or on Windows anything else that leads elsewhere (a junction)."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    reparse = getattr(there, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
    return stat.S_ISLNK(there.st_mode) or bool(reparse)


def make_folder(parent: Path, name: str) -> Path:
    """The folder `name` in `parent`, created when missing, and then durable. A link in its place is refused."""
    path = parent / name
    try:
        os.mkdir(path, 0o700)
        try:
            sync_folder(parent)
        except OSError:
            os.rmdir(path)  # else the next attempt would find it, and not sync
            raise
    except FileExistsError:
        pass
    except OSError as error:
        raise trouble(f"cannot make the folder {name}", error) from None
    if is_link(path) or not path.is_dir():
        raise DiskTrouble(f"{name} is a symbolic link or no folder; nothing is written through it")
    return path


def make_root(path: Path, *, private: bool = False) -> Path:
    """The folder of this path, created with its parents when missing, and then durable. Links on the way are allowed: they are the
    owner's choice."""
    try:
        missing = [path, *path.parents]
        for folder in reversed([one for one in missing if not one.exists()]):
            os.mkdir(folder, 0o700 if private else 0o777)
            sync_folder(folder.parent)
    except FileExistsError:
        pass
    except OSError as error:
        raise trouble(f"cannot make the folder {path}", error) from None
    if not path.is_dir():
        raise DiskTrouble(f"{path} is no folder")
    return path


def open_new(path: Path, *, read: bool = False) -> BinaryIO:
    """A new file, 0600, never through a link. Raises OSError."""
    flags = (os.O_RDWR if read else os.O_WRONLY) | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    return os.fdopen(os.open(path, flags, 0o600), "r+b" if read else "wb", buffering=0)


def open_existing(path: Path, *, write: bool = False) -> BinaryIO:
    """An existing regular file, never through a link, and without waiting if it is a pipe. Raises OSError."""
    if is_link(path):
        raise OSError(errno.ELOOP, "it is a symbolic link")
    flags = os.O_RDWR if write else os.O_RDONLY
    for more in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):
        flags |= getattr(os, more, 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return os.fdopen(descriptor, "r+b" if write else "rb", buffering=0)


def rename_without_replacing(source: Path, target: Path) -> bool:
    """Gives `source` the name `target` in the same folder. False when something has that name already. Raises OSError."""
    if WINDOWS:
        try:
            os.rename(source, target)  # replaces nothing on Windows
        except FileExistsError:
            return False
        return True
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        return False
    except (OSError, NotImplementedError):
        # A file system without links: checking first is not atomic, but the name contains an id that only we use.
        if os.path.lexists(target):
            return False
        os.rename(source, target)
        return True
    os.unlink(source)
    return True


def replace_file(path: Path, contents: bytes) -> None:
    """Replaces the file as a whole: after a crash there is the new file or the old one; 0600. Durable when it returns."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        remove(temporary)
        with open_new(temporary) as file:
            write_all(file, contents)
            sync_file(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise trouble(f"cannot write {path.name}", error) from None


def write_all(file: BinaryIO, contents: bytes) -> None:
    view = memoryview(contents)
    while view:
        view = view[file.write(view) or 0:]


def read_text(path: Path, most: int = 1 << 20) -> Optional[str]:
    """None when there is no such file. Raises DiskTrouble when it is a link, no regular file, or larger than `most`."""
    try:
        with open_existing(path) as file:
            contents = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise trouble(f"cannot read {path.name}", error) from None
    if len(contents) > most:
        raise DiskTrouble(f"{path.name} is too large")
    return contents.decode("utf-8", "replace")


def remove(path: Path) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


class FileLock:
    """A lock on a file that ends with the process. Held from take() to release()."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Optional[BinaryIO] = None

    def take(self) -> bool:
        """False when another process, or another FileLock, has it. Raises OSError."""
        if is_link(self._path):
            raise OSError(errno.ELOOP, "the lock is a symbolic link")
        flags = os.O_RDWR | os.O_CREAT
        for more in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NOINHERIT"):
            flags |= getattr(os, more, 0)
        file = os.fdopen(os.open(self._path, flags, 0o600), "r+b", buffering=0)
        try:
            if sys.platform == "win32":
                file.seek(_LOCKED_BYTE)
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                file.seek(0)
            else:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
                return False
            raise
        self._file = file
        return True

    def write(self, text: str) -> None:
        """For people; the lock works without it."""
        if self._file:
            self._file.seek(0)
            self._file.truncate()
            self._file.write(text.encode())

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


def is_locked(path: Path) -> bool:
    lock = FileLock(path)
    try:
        if not path.exists():
            return False
        if not lock.take():
            return True
    except OSError:
        return False  # a file system without locks: assume that nobody has it
    lock.release()
    return False
