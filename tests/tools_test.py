"""tools/lint and tools/fuzz find what they are there to find, and say how to see it again."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("RESTANTE_SOURCE") or Path(__file__).resolve().parents[1])
HOST = "registry.npm" + "js.org"  # in two pieces: this file is looked at as well
HOME = "/ho" + "me/someone/project"


class Tree:
    """A repository of its own with a copy of one tool."""

    def __init__(self, root, tool):
        self.root, self.tool = root, f"tools/{tool}"
        (root / "tools").mkdir()
        shutil.copy(ROOT / self.tool, root / self.tool)
        subprocess.run(["git", "init", "-q", root], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *arguments):
        """(exit code, everything it said)"""
        done = subprocess.run([self.root / self.tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout


@pytest.fixture
def lint(tmp_path):
    return Tree(tmp_path, "lint")


@pytest.fixture
def fuzz(tmp_path):
    return Tree(tmp_path, "fuzz")


@pytest.mark.parametrize("text", [
    '"resolved' + '": "https://example.org/vite-5.tgz"', f"npm config set registry https://{HOST}/", f'root = "{HOME}/src"',
], ids=["lock file", "registry", "home"])
def test_lint_names_the_line_with_a_host_or_a_path_of_one_machine(lint, text):
    lint.write("docs/notes.md", f"one\n{text}\n")
    code, said = lint.run("paths")
    assert code == 1 and "docs/notes.md:2: " in said and said.endswith("1 findings\n"), said


def test_lint_names_its_own_folder(lint):
    lint.write("notes.txt", f"see {lint.root}/src\n")
    code, said = lint.run("paths")
    assert code == 1 and "notes.txt:1: " in said, said


def test_lint_takes_ordinary_paths_and_addresses(lint):
    lint.write("notes.txt", "/usr/bin/python3 /etc/ssl/certs https://example.org/home/x $HOME/x /workspaces/1/notify\n")
    assert lint.run("paths", "python")[0] == 0


def test_lint_leaves_alone_what_git_ignores(lint):
    lint.write(".gitignore", "/data/\n")
    lint.write("data/notes.txt", f"{HOME}/src\n")
    assert lint.run("paths")[0] == 0


@pytest.mark.parametrize("name, text", [
    ("a.py", "def f(:\n"), ("b.py", 'x = "\\d"\n'), ("tools/c", "#!/usr/bin/env python3\nreturn\n"),
], ids=["syntax", "warning", "by its first line"])
def test_lint_finds_python_that_does_not_compile(lint, name, text):
    lint.write(name, text)
    code, said = lint.run("python")
    assert code == 1 and f"  {name}:" in said, said


def test_lint_refuses_a_step_it_does_not_know(lint):
    code, said = lint.run("polish")
    assert code == 2 and "no such step: polish" in said, said


def build_target(tree, name, body):
    """A libFuzzer executable where make fuzz would leave it."""
    folder = tree.root / "build/fuzz/fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    source = f'extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {{ {body} }}\n'
    subprocess.run(["clang++-19", "-fsanitize=fuzzer", "-x", "c++", "-", "-o", folder / f"{name}_fuzz"], input=source.encode(), check=True)


def test_fuzz_keeps_what_crashes_and_prints_the_command_that_shows_it_again(fuzz):
    build_target(fuzz, "fragile", "if (size == 3 && data[0] == 'c') __builtin_trap(); return 0;")
    fuzz.write("fuzz/corpus/fragile/seed", "cat")
    code, said = fuzz.run("30")
    assert code == 1 and "1 of 1 targets failed" in said, said
    again = next(line.split(":", 1)[1].split() for line in said.splitlines() if line.startswith("  again:"))
    assert again[1].startswith("build/fuzz/crashes/fragile/crash-"), again
    assert subprocess.run(again, cwd=fuzz.root, stderr=subprocess.DEVNULL).returncode != 0
    assert (fuzz.root / again[1]).read_bytes() == b"cat"


def test_fuzz_tries_an_old_crash_before_anything_else(fuzz):
    build_target(fuzz, "fragile", "if (size == 3 && data[0] == 'c' && data[1] == 'a' && data[2] == 't') __builtin_trap(); return 0;")
    fuzz.write("build/fuzz/crashes/fragile/crash-1", "cat")
    fuzz.write("fuzz/corpus/fragile/seed", "dog")
    assert fuzz.run("30")[0] == 1


def test_fuzz_reports_a_sound_target_and_leaves_the_tree_alone(fuzz):
    build_target(fuzz, "sound", "int n = 0; for (unsigned long i = 0; i < size; ++i) n += data[i] == 'x'; return n < 0;")
    fuzz.write("fuzz/corpus/sound/seed", "xyz")
    code, said = fuzz.run("1", "sound")
    assert code == 0 and "0 of 1 targets failed" in said and "edges" in said, said
    assert [path.name for path in (fuzz.root / "fuzz").rglob("*") if path.is_file()] == ["seed"]


def test_fuzz_without_targets_is_not_a_success(fuzz):
    assert fuzz.run("1")[0] == 2
