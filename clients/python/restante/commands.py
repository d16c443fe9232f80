"""Runs a shell command for one delivery: the delivery on its stdin, its stdout is the answer.

A second process, the runner, starts the command and records its exit code, so that a kill of the agent neither stops the command nor
makes it run twice: the next agent process finds it running and waits, or finds the recorded end. One case is left: when the runner is
killed too (the machine, or all processes at once) between the command's last effect and the record of its end, the command runs again.
The runner leads a process group, so that the command's children end with it. Files that the command leaves in the folder
RESTANTE_RESULT_DIR are sent with its answer; the folder is empty when the command begins. One call at a time for each folder.

The files of a run, <base> and an ending: .in, .out, .err, .begun (the command was started), .code, .lock, and the folder .files.
"""
from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterable, List, NamedTuple, Optional, Tuple

from .disk import WINDOWS, FileLock, is_locked, remove
from .failure import Stop
from .names import cut_utf8, without_controls

MOST_OUTPUT = 256 * 1024
MOST_WRITTEN = 64 << 20  # a command that writes more than this is killed
MOST_RESULT_FILES = 64
CHECK_INTERVAL = 0.1  # seconds
KILL_DELAY = 5.0  # between asking the command to end and killing it
ENDINGS = (".code", ".code.new", ".begun", ".out", ".err", ".in", ".lock")


def run_recorded(base: str, command: str) -> None:
    """The runner. Its source is run by a new interpreter, so it uses nothing of this package. It takes the lock before it starts the
    command: of two runners for one delivery, the second finds `.begun` and does nothing."""
    import os
    import signal
    import subprocess
    import sys
    import threading
    import time
    if sys.platform == "win32":
        import msvcrt
    else:
        import fcntl
        # After a signal to the group the runner still records how the command ended. The command does not inherit these.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    lock = os.open(base + ".lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0), 0o600)
    until = time.monotonic() + 20
    while True:
        try:
            if sys.platform == "win32":
                os.lseek(lock, 1 << 20, os.SEEK_SET)
                msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
                os.lseek(lock, 0, os.SEEK_SET)
            else:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            # Another runner, or an agent that looks whether one runs.
            if os.path.exists(base + ".begun") or time.monotonic() > until:
                return
            time.sleep(0.02)
    if not os.path.exists(base + ".in") or os.path.exists(base + ".code"):
        return
    try:
        os.close(os.open(base + ".begun", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())

    def follow(source) -> None:  # type: ignore[no-untyped-def]
        """Passes stderr on, and keeps its last lines for the failure that the sender reads."""
        last = b""
        while True:
            piece = os.read(source.fileno(), 65536)
            if not piece:
                return
            last = (last + piece)[-4096:]
            try:
                os.write(2, piece)
            except OSError:
                pass  # the agent has ended
            with open(base + ".err", "wb") as kept:
                kept.write(last)

    with open(base + ".in", "rb") as source, open(base + ".out", "wb") as target:
        # On Windows no new window may appear.
        more = {"creationflags": 0x08000000} if os.name == "nt" else {}
        process = subprocess.Popen(command, shell=True, stdin=source, stdout=target, stderr=subprocess.PIPE,
                                   env={**os.environ, "RESTANTE_RESULT_DIR": base + ".files"}, **more)  # type: ignore[call-overload]
        follower = threading.Thread(target=follow, args=(process.stderr,), daemon=True)
        follower.start()
        code = process.wait()
        follower.join(1)  # a child that the command left behind may have stderr open
    with open(base + ".code.new", "w", encoding="ascii") as ended:
        ended.write(str(128 - code if code < 0 else code) + "\n")
        ended.flush()
        os.fsync(ended.fileno())
    os.replace(base + ".code.new", base + ".code")
    os._exit(0)  # not held up by the thread


_RUNNER = inspect.getsource(run_recorded) + "\nimport sys\nrun_recorded(sys.argv[1], sys.argv[2])\n"


class CommandResult(NamedTuple):
    """how: exited, killed, not_started, stopped, given_up."""

    how: str
    code: int = 0  # as a shell returns it: 128 + the signal's number after a signal
    output: str = ""  # at most 256 KiB
    cut: bool = False  # its output was longer
    trouble: str = ""  # why it did not exit, or why it could not be ended early
    last_lines: str = ""  # of its stderr


class Run:
    """The run of one delivery's command. The same id is the same run, also in another agent process."""

    def __init__(self, folder: Path, delivery_id: str) -> None:
        self.folder = folder
        self.base = str(folder / hashlib.sha256(delivery_id.encode()).hexdigest()[:32])
        self._runner: Optional["subprocess.Popen[bytes]"] = None

    @property
    def result_folder(self) -> Path:
        return Path(self.base + ".files")

    def exists(self) -> bool:
        """True when it is in progress, or its end is kept."""
        return self.recorded_end() is not None or self._is_running()

    def _is_running(self) -> bool:
        return is_locked(Path(self.base + ".lock"))

    def recorded_end(self) -> Optional[CommandResult]:
        try:
            code = int(Path(self.base + ".code").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        try:
            with open(self.base + ".out", "rb") as file:
                output = file.read(MOST_OUTPUT + 1)
        except OSError:
            output = b""
        return CommandResult("exited", code, output[:MOST_OUTPUT].decode("utf-8", "replace"), len(output) > MOST_OUTPUT,
                             last_lines=self._last_lines())

    def finish(self, command: str, given: str, stop: Stop, give_up: Stop, timeout: Optional[float] = None) -> CommandResult:
        """Starts the command, or waits for the one that an earlier agent process has started. `stopped` or `given_up` when that was
        requested first: the command and all its children were ended; if it ended with exit code 0 in that time, that result counts. The
        end of a run is kept until it is forgotten. When `give_up` was requested before the call, nothing is started."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            while True:
                waited = self._wait_for_runner(stop, give_up, timeout)
                if waited:
                    return waited
                recorded = self.recorded_end()
                if recorded:
                    return recorded
                if give_up.requested or stop.requested:
                    self.forget()
                    return CommandResult("stopped" if stop.requested else "given_up")
                if self._runner and os.path.exists(self.base + ".begun"):
                    return CommandResult("killed", trouble="the command was killed", last_lines=self._last_lines())
                if self._runner:
                    return CommandResult("not_started", trouble="its runner ended at once")
                lock = FileLock(Path(self.base + ".lock"))
                if not lock.take():
                    continue  # a runner of an earlier agent process was slow to begin
                try:
                    self._prepare(given)
                finally:
                    lock.release()
                self._start(command)
        except OSError as error:
            return CommandResult("not_started", trouble=error.strerror or str(error))

    def _prepare(self, given: str) -> None:
        """The caller has the lock, so that no runner begins meanwhile."""
        for ending in ENDINGS:
            if ending != ".lock":
                remove(Path(self.base + ending))
        shutil.rmtree(self.result_folder, ignore_errors=True)
        os.mkdir(self.result_folder, 0o700)
        descriptor = os.open(self.base + ".in", os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(given.encode("utf-8", "replace"))

    def _start(self, command: str) -> None:
        # A process group of its own: Ctrl-C at the terminal is for the agent, which then ends the command itself.
        own_group = {"creationflags": 0x00000200 | 0x08000000} if WINDOWS else {"start_new_session": True}
        self._runner = subprocess.Popen([sys.executable, "-I", "-S", "-c", _RUNNER, self.base, command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, **own_group)  # type: ignore[call-overload]

    def _is_over(self, seconds: float) -> bool:
        if self._runner and self._runner.poll() is None:
            try:
                self._runner.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
        # Our runner may have found that another one had begun.
        if self._is_running():
            time.sleep(min(seconds, 0.05))
            return False
        return True

    def _wait_for_runner(self, stop: Stop, give_up: Stop, timeout: Optional[float]) -> Optional[CommandResult]:
        """Returns a result when the command was ended early, else None as soon as no runner runs."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._is_over(CHECK_INTERVAL):
            if stop.requested or give_up.requested:
                return self._end_early(CommandResult("stopped" if stop.requested else "given_up"))
            try:
                written = os.stat(self.base + ".out").st_size
            except OSError:
                written = 0
            if written > MOST_WRITTEN:
                return self._end_early(CommandResult("killed", trouble="the command wrote more than 64 MiB"))
            if until is not None and time.monotonic() > until:
                return self._end_early(CommandResult("killed", trouble=f"the command ran longer than {timeout:g} s"))
        return None

    def _end_early(self, result: CommandResult) -> CommandResult:
        """If the command still ends with exit code 0, that result counts."""
        until = time.monotonic() + KILL_DELAY
        group = self._group()
        # Without a process id the runner has only just begun and is about to write it; unless it cannot, on a full disk.
        while not group and time.monotonic() < until and not self._is_over(CHECK_INTERVAL / 4):
            group = self._group()
        if not group and self._is_over(0):
            self.forget()
            return result
        if not group:
            return result._replace(trouble=result.trouble or "it cannot be ended, since its process id is not known")
        end_group(group, force=False)
        over = False
        while not over and time.monotonic() < until:
            over = self._is_over(CHECK_INTERVAL / 4)
        end_group(group, force=True)
        if self._runner:
            self._runner.wait()
        recorded = self.recorded_end()
        if recorded and recorded.code == 0 and result.how != "killed":
            return recorded
        lines = self._last_lines()
        self.forget()
        return result._replace(last_lines=lines)

    def _group(self) -> int:
        try:
            return int(Path(self.base + ".lock").read_text(encoding="ascii").strip() or 0)
        except (OSError, ValueError):
            return 0

    def _last_lines(self) -> str:
        try:
            lines = Path(self.base + ".err").read_bytes().decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return "\n".join(without_controls(line) for line in lines[-5:])

    def _forget_files(self) -> None:
        for ending in ENDINGS:  # .code first: without it the other files mean nothing
            try:
                remove(Path(self.base + ending))
            except OSError:
                pass

    def forget(self) -> None:
        """The folder of result files is deleted only when it is empty."""
        self._forget_files()
        try:
            os.rmdir(self.result_folder)
        except OSError:
            pass

    def forget_everything(self) -> None:
        shutil.rmtree(self.result_folder, ignore_errors=True)
        self.forget()

    def attach_output(self) -> str:
        """Adds the whole output to the run's result files. Returns the file's name there; empty when that failed."""
        source = Path(self.base + ".out")
        for number in range(1, 101):
            target = self.result_folder / ("output.txt" if number == 1 else f"output-{number}.txt")
            try:
                if os.path.lexists(target):
                    if target.is_symlink() or not _same_content(source, target):
                        continue  # a file of the command
                    return target.name  # from before a kill
                shutil.copyfile(source, target)
                return target.name
            except OSError:
                return ""
        return ""


def _same_content(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    return hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest()


def end_group(group: int, *, force: bool) -> None:
    """Ends the runner's process group. Windows has no signal that a command without a window could handle: there it is ended by force at
    the second call only."""
    if sys.platform == "win32":
        if force:
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(group)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return
    try:
        os.killpg(group, signal.SIGKILL if force else signal.SIGTERM)
    except OSError:
        pass  # it has ended


def forget_other_runs(folder: Path, kept_ids: Iterable[str], kept_folders: Iterable[str]) -> None:
    """Forgets every run except these, those in progress and those of these result folders. For runs that a kill left."""
    kept = {Run(folder, one).base for one in kept_ids} | {str(Path(one).with_suffix("")) for one in kept_folders}
    try:
        bases = {str(entry).split(".files")[0] if entry.suffix == ".files" else str(entry.parent / entry.name.partition(".")[0])
                 for entry in folder.iterdir()}
    except OSError:
        return
    for base in sorted(bases - kept):
        run = Run(folder, "")
        run.base = base
        if not is_locked(Path(base + ".lock")):
            run.forget_everything()


def describe_code(code: int) -> str:
    """"exit code 4"; "exit code 143 (as after SIGTERM)": the code does not show whether there was a signal or the command chose it."""
    try:
        return f"exit code {code} (as after {signal.Signals(code - 128).name})" if code > 128 else f"exit code {code}"
    except ValueError:
        return f"exit code {code}"


def find_result_files(folder: Path) -> Tuple[List[Path], List[str]]:
    """The regular files directly in the folder, in the order of their names; and every other entry as "name: why"."""
    files: List[Path] = []
    refused: List[str] = []
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return files, refused
    for entry in entries:
        try:
            found = os.lstat(entry)
        except OSError:
            continue
        why = ("is a symbolic link" if stat.S_ISLNK(found.st_mode) else "is a folder" if stat.S_ISDIR(found.st_mode)
               else "is no regular file" if not stat.S_ISREG(found.st_mode) else "is empty" if found.st_size == 0
               else "is one more than can be sent" if len(files) == MOST_RESULT_FILES else "")
        if why:
            refused.append(f"{cut_utf8(without_controls(entry.name), 100)}: {why}")
        else:
            files.append(entry)
    return files, refused


def check_command(command: str) -> str:
    """Why the shell cannot run this command; empty when nothing is known to be wrong. Only the first word is checked, and only when it is
    a plain word: a shell may do more than can be known here."""
    word = command.split(None, 1)[0].strip("'\"") if command.strip() else ""
    if not word:
        return "--exec is empty"
    if WINDOWS or any(sign in word for sign in "$`*?[]{}()<>|&;=~#!\\") or word in _SHELL_WORDS:
        return ""
    if shutil.which(word):
        return ""
    if os.path.exists(word):
        return f"--exec: {word} is not executable; chmod +x {word}"
    return f"--exec: there is no command {word}"


_SHELL_WORDS = frozenset("if then else elif fi for while until do done case esac in { } ! [ [[ . : alias bg break cd command continue eval exec "
                         "exit export false fg getopts hash jobs kill printf pwd read readonly return set shift test times trap true type "
                         "ulimit umask unalias unset wait echo".split())
