"""Root: a root file system in which the handed-out executable is run. One is made here of nothing but glibc's own files, as
the smallest machine it promises to run on; others (a debootstrap of Debian 12, say) are named from outside."""
import os
import re
import shutil
import subprocess
from pathlib import Path

# What glibc itself consists of; everything else must be inside the executable.
GLIBC = re.compile(r"(linux-vdso|libc|libm|libdl|libpthread|librt|libresolv|ld-linux[a-z0-9-]*)\.so")

# /proc is for sanitizers, which cannot do without; what is released can.
WITH_PROC = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'


class Root:
    """`way`: how a program is run with this root as its world: chroot, with the rights of root or those of a user namespace, or, where
    neither is to be had, by the root's own loader with the root's own libraries alone."""

    def __init__(self, path):
        self.path = Path(path)
        self.work = self.path / "tmp" / "restante-work"
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.way = None

    def take(self, program):
        """Brings the program in and finds the way that works here."""
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
        """How a path of ours is called in there."""
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
