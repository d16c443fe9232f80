"""Root: a root file system in which the agent's executable runs. make_bare() makes one with glibc's own files only: the smallest
machine that the executable promises to run on. Others (for example a debootstrap of Debian 12) are named by the environment."""
import os
import re
import shutil
import subprocess
from pathlib import Path

# The libraries of glibc itself; everything else must be inside the executable.
GLIBC = re.compile(r"(linux-vdso|libc|libm|libdl|libpthread|librt|libresolv|ld-linux[a-z0-9-]*)\.so")

# Sanitizers need /proc; the released executable does not.
WITH_PROC = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'


class Root:
    """`way`: how a program is run in this root: by chroot, as root or in a user namespace; where neither is possible, by the root's own
    loader with only the root's own libraries."""

    def __init__(self, path):
        self.path = Path(path)
        self.work = self.path / "tmp" / "restante-work"
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.way = None

    def take(self, program):
        """Copies the program into the root and finds the way that works on this machine."""
        shutil.copy(program, self.work / "restante")
        mine = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        mounted = ["unshare", *mine, "--mount", "sh", "-c", WITH_PROC, str(self.path)]
        plain = ["chroot", str(self.path)] if not mine else ["unshare", *mine, "chroot", str(self.path)]
        tried = []
        for way in (plain, mounted, None):
            self.way = way
            done = self.run("--version")
            if done.returncode == 0 and done.stdout.startswith("restante "):
                return
            tried.append(done.stderr)
        raise AssertionError(f"it does not run in {self.path}: {tried}")

    def inside(self, path):
        """The name that a path of ours has inside the root."""
        return "/" + str(path.relative_to(self.path)) if self.way else str(path)

    def command(self, *words):
        program = self.inside(self.work / "restante")
        if self.way:
            return [*self.way, program, *words]
        loader = next(self.path.glob("lib*/ld-linux-*.so.*"))
        libraries = ":".join(sorted({str(file.parent) for file in self.path.glob("**/libc.so.6")}))
        return [str(loader), "--inhibit-cache", "--library-path", libraries, program, *words]

    def environment(self):
        # The host's shell and mount need a PATH; the program gets it too, and finds nothing there unless the root has it.
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.inside(self.work)}

    def run(self, *words):
        return subprocess.run(self.command(*words), env=self.environment(), cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300, check=False)

    def start(self, *words):
        return subprocess.Popen(self.command(*words), env=self.environment(), cwd=self.work, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def clean(self):
        shutil.rmtree(self.work, ignore_errors=True)


def make_bare(folder, program):
    """A root with the files that the program's own `ldd` names, and nothing else."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for path in re.findall(r"(/\S+) \(0x", listed):
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    (folder / "proc").mkdir()
    return folder
