"""Files land whole, durable and under their own name, or not at all."""
import hashlib
import os
import stat

import pytest

from restante import disk
from restante.disk import DiskTrouble, FileLock, is_locked, rename_without_replacing, replace_file
from restante.landing import LandingFolder
from restante.records import FileRecord

ID = "01999a3c-0000-7000-8000-0123456789ab"
CONTENT = os.urandom(5000)


@pytest.fixture
def landing(tmp_path):
    return LandingFolder(tmp_path / "dir")


def record(content=CONTENT, **more):
    return FileRecord(ID, "a.txt", len(content), hashlib.sha256(content).hexdigest(), "", "row", **more)


def land(landing, content=CONTENT):
    partial = landing.begin(record())
    partial.append(content[partial.size:])
    return landing.finish(partial, record())


def test_a_file_lands_with_its_name_and_is_found_again(landing, tmp_path):
    assert landing.find(record()) is None
    path = land(landing)
    assert path == str((tmp_path / "dir/.molecule/chat-uploads" / f"{ID.replace('-', '')}-a.txt").resolve())
    assert open(path, "rb").read() == CONTENT and stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert landing.find(record()) == path
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)], "nothing temporary is left"


def test_a_download_continues_where_it_was_broken_off(landing):
    partial = landing.begin(record())
    partial.append(CONTENT[:3000])
    partial.close()
    again = landing.begin(record())
    assert again.size == 3000
    again.append(CONTENT[3000:])
    assert open(landing.finish(again, record()), "rb").read() == CONTENT


def test_other_content_than_announced_does_not_land(landing):
    assert land(landing, os.urandom(5000)) is None
    assert land(landing, CONTENT[:-1]) is None
    assert os.listdir(landing.open()) == []


def test_a_rest_that_is_too_long_is_begun_anew(landing):
    partial = landing.begin(record())
    partial.append(CONTENT + b"more")
    partial.close()
    assert landing.begin(record()).size == 0


def test_nothing_is_replaced(landing):
    folder = landing.open()
    taken = folder / f"{ID.replace('-', '')}-a.txt"
    taken.write_bytes(b"of somebody else")
    path = land(landing)
    assert path.endswith("-1-a.txt") and taken.read_bytes() == b"of somebody else"
    assert landing.find(record()) == path


@pytest.mark.parametrize("name", [".molecule", ".molecule/chat-uploads"])
def test_no_symbolic_link_is_written_through(tmp_path, name):
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "dir" / name
    elsewhere.mkdir()
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises(DiskTrouble, match="symbolic link"):
        LandingFolder(tmp_path / "dir").begin(record())
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_place_of_the_unfinished_file_is_not_followed(landing, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (landing.open() / f".part-{ID.replace('-', '')}").symlink_to(secret)
    land(landing)
    assert secret.read_bytes() == b"secret"


def test_a_file_and_the_names_above_it_are_synced_before_it_counts_as_landed(landing, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")) or real(fd))
    path = land(landing)
    folder = os.path.dirname(path)
    assert [one for one in synced if ".part-" in one or one == path]
    assert synced[-3:] == [folder, os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))]


def test_a_name_that_cannot_be_synced_does_not_count_and_the_next_attempt_lands(landing, monkeypatch):
    real, failing = os.fsync, [True]
    landing.open()

    def fsync(fd):
        if failing and stat.S_ISDIR(os.fstat(fd).st_mode):
            failing.clear()
            raise OSError(5, "Input/output error")
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(DiskTrouble, match="Input/output"):
        land(landing)
    assert landing.find(record()) is None
    assert open(land(landing), "rb").read() == CONTENT


def test_replacing_a_file_leaves_the_old_or_the_new_one(tmp_path):
    replace_file(tmp_path / "token", b"one\n")
    replace_file(tmp_path / "token", b"two\n")
    assert (tmp_path / "token").read_bytes() == b"two\n" and stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["token"]


def test_on_windows_a_rename_replaces_nothing_either(tmp_path, monkeypatch):
    """os.rename() of Windows refuses an existing target; here a stand-in does, since only that branch is tested."""
    monkeypatch.setattr(disk, "WINDOWS", True)

    def rename(source, target):
        if os.path.exists(target):
            raise FileExistsError(target)
        os.replace(source, target)

    monkeypatch.setattr(disk.os, "rename", rename)
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    assert not rename_without_replacing(tmp_path / "a", tmp_path / "b") and (tmp_path / "b").read_text() == "b"
    assert rename_without_replacing(tmp_path / "a", tmp_path / "c") and (tmp_path / "c").read_text() == "a"


def test_a_lock_is_held_once(tmp_path):
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert not is_locked(tmp_path / "lock")
    assert first.take() and not second.take() and is_locked(tmp_path / "lock")
    first.release()
    assert second.take()
    second.release()
    (tmp_path / "link").symlink_to(tmp_path / "lock")
    with pytest.raises(OSError):
        FileLock(tmp_path / "link").take()
