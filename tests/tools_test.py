"""tools/lint, tools/fuzz, tools/coverage and tools/run_tests find faults, and print how to reproduce them."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("RESTANTE_SOURCE") or Path(__file__).resolve().parents[1])
HOST = "registry.npm" + "js.org"  # in two pieces, because lint checks this file too
HOME = "/ho" + "me/someone/project"


class Tree:
    """A separate repository with a copy of one tool."""

    def __init__(self, root, tool):
        self.root, self.tool = root, f"tools/{tool}"
        (root / "tools").mkdir()
        shutil.copy(ROOT / self.tool, root / self.tool)
        subprocess.run(["git", "init", "-q", root], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *arguments, **variables):
        """(exit code, all output)"""
        done = subprocess.run([self.root / self.tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=os.environ | variables)
        return done.returncode, done.stdout


@pytest.fixture
def lint(tmp_path):
    return Tree(tmp_path, "lint")


@pytest.fixture
def fuzz(tmp_path):
    return Tree(tmp_path, "fuzz")


@pytest.fixture
def coverage(tmp_path):
    return Tree(tmp_path, "coverage")


@pytest.fixture
def run_tests_tree(tmp_path):
    return Tree(tmp_path, "run_tests")


@pytest.mark.parametrize("text", [
    '"resolved' + '": "https://example.org/vite-5.tgz"', f"npm config set registry https://{HOST}/", f'root = "{HOME}/src"',
], ids=["lock file", "registry", "home"])
def test_lint_names_the_line_with_a_host_or_a_path_of_one_machine(lint, text):
    lint.write("docs/notes.md", f"one\n{text}\n")
    code, output = lint.run("paths")
    assert code == 1 and "docs/notes.md:2: " in output and output.endswith("1 findings\n"), output


def test_lint_names_its_own_folder(lint):
    lint.write("notes.txt", f"see {lint.root}/src\n")
    code, output = lint.run("paths")
    assert code == 1 and "notes.txt:1: " in output, output


def test_lint_accepts_ordinary_paths_and_addresses(lint):
    lint.write("notes.txt", "/usr/bin/python3 /etc/ssl/certs https://example.org/home/x $HOME/x /workspaces/1/notify\n")
    assert lint.run("paths", "python")[0] == 0


def test_lint_does_not_check_files_that_git_ignores(lint):
    lint.write(".gitignore", "/data/\n")
    lint.write("data/notes.txt", f"{HOME}/src\n")
    assert lint.run("paths")[0] == 0


@pytest.mark.parametrize("name, text", [
    ("a.py", "def f(:\n"), ("b.py", 'x = "\\d"\n'), ("tools/c", "#!/usr/bin/env python3\nreturn\n"),
], ids=["syntax", "warning", "by its first line"])
def test_lint_finds_python_that_does_not_compile(lint, name, text):
    lint.write(name, text)
    code, output = lint.run("python")
    assert code == 1 and f"  {name}:" in output, output


def test_lint_refuses_a_step_it_does_not_know(lint):
    code, output = lint.run("polish")
    assert code == 2 and "no such step: polish" in output, output


def build_target(tree, name, body):
    """Builds a libFuzzer executable where make fuzz would put it."""
    folder = tree.root / "build/fuzz/fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    source = f'extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {{ {body} }}\n'
    subprocess.run(["clang++-19", "-fsanitize=fuzzer", "-x", "c++", "-", "-o", folder / f"{name}_fuzz"], input=source.encode(), check=True)


def test_fuzz_keeps_an_input_that_crashes_and_prints_the_command_that_reproduces_it(fuzz):
    build_target(fuzz, "fragile", "if (size == 3 && data[0] == 'c') __builtin_trap(); return 0;")
    fuzz.write("fuzz/corpus/fragile/seed", "cat")
    code, output = fuzz.run("30")
    assert code == 1 and "1 of 1 targets failed" in output, output
    again = next(line.split(":", 1)[1].split() for line in output.splitlines() if line.startswith("  again:"))
    assert again[1].startswith("build/fuzz/crashes/fragile/crash-"), again
    assert subprocess.run(again, cwd=fuzz.root, stderr=subprocess.DEVNULL).returncode != 0
    assert (fuzz.root / again[1]).read_bytes() == b"cat"


def test_fuzz_tries_an_old_crash_before_anything_else(fuzz):
    build_target(fuzz, "fragile", "if (size == 3 && data[0] == 'c' && data[1] == 'a' && data[2] == 't') __builtin_trap(); return 0;")
    fuzz.write("build/fuzz/crashes/fragile/crash-1", "cat")
    fuzz.write("fuzz/corpus/fragile/seed", "dog")
    assert fuzz.run("30")[0] == 1


def test_fuzz_reports_a_sound_target_and_does_not_change_the_tree(fuzz):
    build_target(fuzz, "sound", "int n = 0; for (unsigned long i = 0; i < size; ++i) n += data[i] == 'x'; return n < 0;")
    fuzz.write("fuzz/corpus/sound/seed", "xyz")
    code, output = fuzz.run("1", "sound")
    assert code == 0 and "0 of 1 targets failed" in output and "edges" in output, output
    assert [path.name for path in (fuzz.root / "fuzz").rglob("*") if path.is_file()] == ["seed"]


def test_fuzz_without_targets_is_not_a_success(fuzz):
    assert fuzz.run("1")[0] == 2


HALF_TESTED = """\
enum class Side { left, right };
int half(int n, Side side) {
  if (n > 0 && n < 9) return 1;
  switch (side) {
    case Side::left:
      return 2;
    case Side::right:
      break;
  }
  if (n < -99) {
    return 3;
  }
  return 4;
}
"""
GAPS = ["src/http/ranges.cpp | if (n > 0 && n < 9) return 1; | never false: n < 9",
        "src/http/ranges.cpp | if (n < -99) { | never true: n < -99",
        "src/http/ranges.cpp | return 3; | not reached"]


def run_half(tree):
    """Makes the files that make coverage would make for a program that executes a part of half()."""
    main = "#include \"ranges.cpp\"\nint main() { return half(1, Side::left) + half(0, Side::left) + half(0, Side::right) == 7 ? 0 : 1; }\n"
    tree.write("src/http/ranges.cpp", HALF_TESTED)
    tree.write("build/coverage/build.ninja", "")
    build = tree.root / "build/coverage"
    subprocess.run(["clang++-19", "-fprofile-instr-generate", "-fcoverage-mapping", f"-I{tree.root}/src/http", "-x", "c++", "-", "-o",
                    build / "half"], input=main.encode(), check=True)
    subprocess.run([build / "half"], env={**os.environ, "LLVM_PROFILE_FILE": str(build / "half.profraw")}, check=True)
    subprocess.run(["llvm-profdata-19", "merge", build / "half.profraw", "-o", build / "merged.profdata"], check=True)


def test_coverage_names_every_line_and_outcome_that_was_not_reached(coverage):
    run_half(coverage)
    code, output = coverage.run("--check")
    assert code == 1 and "3 NOT REACHED and not listed" in output, output
    for gap in GAPS:
        path, text, what = gap.split(" | ")
        assert f": {text}\n    {what}\n" in output and path in output, (gap, output)


def test_coverage_accepts_gaps_that_are_listed_with_a_reason_and_prints_them(coverage):
    run_half(coverage)
    coverage.write("tools/coverage_unreachable", "# why\n\n" + "".join(f"{gap} | it is not called\n" for gap in GAPS))
    code, output = coverage.run("--check")
    assert code == 0 and "NOT REACHED" not in output and output.count("; it is not called\n") == 3, output


def test_coverage_reports_a_listed_line_that_is_reached(coverage):
    run_half(coverage)
    stale = "src/http/ranges.cpp | return 4; | not reached"
    coverage.write("tools/coverage_unreachable", "".join(f"{gap} | it is not called\n" for gap in [*GAPS, stale]))
    code, output = coverage.run("--check")
    assert code == 1 and output.endswith(f"1 LISTED, but reached or no longer in the source\n{stale}\n"), output


def test_coverage_accepts_no_listed_line_without_a_reason(coverage):
    run_half(coverage)
    coverage.write("tools/coverage_unreachable", f"{GAPS[0]} | unused\n{GAPS[1]} | \n")
    code, output = coverage.run("--check")
    assert code == 2 and "tools/coverage_unreachable:2: " in output, output


def test_coverage_without_a_run_is_not_a_success(coverage):
    assert coverage.run("--check")[0] == 2


# -- run_tests

SUITE = """
import pytest

def test_that_prints_much():
    found = 2
    print("\\n".join(f"line {n} of the log" for n in range(500)))
    assert found == 3, "one file is missing"
"""


def project_of(tree, *commands):
    """Makes a CTest project with a test for each name and shell command."""
    tree.write("build/CTestTestfile.cmake", "".join(f'add_test({name} "/bin/sh" "-c" [=[{command}]=])\n' for name, command in commands))
    return tree


def run_tests(tree, *arguments):
    """(exit code, CTest's output, the output after it)"""
    code, output = tree.run("--test-dir", str(tree.root / "build"), *arguments)
    head, _, end = output.partition("The following tests FAILED:")
    return code, head, end


def test_run_tests_ends_with_what_each_failed_test_printed_and_why(run_tests_tree):
    run_tests_tree.write("files_test.py", SUITE)
    pytest_run = f"cd {run_tests_tree.root} && exec /usr/bin/python3 -m pytest -q -p no:cacheprovider files_test.py"
    project_of(run_tests_tree, ("files", pytest_run), ("quiet", "exit 3"), ("good", "echo all is well"), ("cut", "kill -SEGV $$"))
    code, head, end = run_tests(run_tests_tree)
    assert code == 8 and "line 0 of the log" in head, "CTest prints all of it where the test fails"
    assert "===== files (Failed)" in end and "AssertionError: one file is missing" in end
    assert "line 0 of the log" not in end and "line 499 of the log" in end, "its end"
    assert "good" not in end and "all is well" not in end
    last = end.split("===== 3 failed:")[1].strip().splitlines()
    assert [line.split()[:2] for line in last] == [["files", "(Failed):"], ["quiet", "(Failed):"], ["cut", "(SEGFAULT):"]]
    assert "one file is missing" in last[0]
    kept = (run_tests_tree.root / "build/Testing/failed/files").read_text()
    assert "line 0 of the log" in kept and "line 499 of the log" in kept


def test_run_tests_keeps_the_end_of_a_test_that_printed_more_than_ctest_would_keep(run_tests_tree):
    project_of(run_tests_tree, ("loud", "yes talk | head -c 2000000; echo the last line; exit 1"))
    code, _, end = run_tests(run_tests_tree)
    assert code == 8 and "the last line" in end


def test_run_tests_prints_less_of_each_test_when_many_fail(run_tests_tree):
    project_of(run_tests_tree, *((f"bad{n}", "seq 1000; exit 1") for n in range(50)))
    _, _, end = run_tests(run_tests_tree)
    assert end.count("=====") == 51 and len(end.splitlines()) < 900


def fails_once(tree, name, output="", code=1):
    """A command that fails the first time it runs and passes from then on."""
    mark = tree.root / f"{name}_ran"
    return name, f"test -e {mark} && exit 0; touch {mark}; echo '{output}'; exit {code}"


def test_run_tests_runs_a_failed_test_once_more_alone_and_ends_with_a_loud_list_of_flaky_ones(run_tests_tree):
    project_of(run_tests_tree, fails_once(run_tests_tree, "shaky", "E   assert 1 == 2"), ("good", "exit 0"))
    code, _, end = run_tests(run_tests_tree)
    assert code == 0 and "once more, alone: shaky" in end and "1 FLAKY" in end, end
    assert "shaky: E   assert 1 == 2" in end.split("1 FLAKY")[1]
    assert "shaky" in (run_tests_tree.root / "build/Testing/flaky").read_text()
    code, output, end = run_tests(run_tests_tree)
    assert code == 0 and "FLAKY" not in output + end and not (run_tests_tree.root / "build/Testing/flaky").exists()


def test_run_tests_ends_a_test_that_hangs_and_prints_where(run_tests_tree):
    project_of(run_tests_tree, ("good", "exit 0"), ("hangs", "exec sleep infinity"))
    code, output = run_tests_tree.run("--test-dir", str(run_tests_tree.root / "build"), RESTANTE_SECONDS_FOR_ONE_TEST="8")
    assert code == 8 and "after 4 s this test still runs: sleep infinity" in output and "pause" in output, output
    assert "===== 1 failed:\n  hangs (Timeout)" in output, output


def test_run_tests_recognises_a_test_with_a_long_parameter(run_tests_tree):
    long_one, command = fails_once(run_tests_tree, "shaky")
    project_of(run_tests_tree, ("before", "exit 0"), (f"[=[All/Suite.Name/{long_one}  # GetParam() = <{'00-11 ' * 100}>]=]", command))
    code, _, end = run_tests(run_tests_tree)
    assert code == 0 and "  All/Suite.Name/shaky: " in end, end
    assert "Start 2" in end and "Start 1" not in end, "alone"


def test_run_tests_also_repeats_the_fixtures_of_a_test(run_tests_tree):
    needs = "set_tests_properties(start PROPERTIES FIXTURES_SETUP server)\nset_tests_properties(shaky PROPERTIES FIXTURES_REQUIRED server)\n"
    project_of(run_tests_tree, ("start", "exit 0"), fails_once(run_tests_tree, "shaky"))
    path = run_tests_tree.root / "build/CTestTestfile.cmake"
    path.write_text(path.read_text() + needs)
    code, _, end = run_tests(run_tests_tree)
    assert code == 0 and "start" in end.split("once more")[1], end


def test_run_tests_fails_when_a_test_fails_twice_whatever_else_was_flaky(run_tests_tree):
    project_of(run_tests_tree, fails_once(run_tests_tree, "shaky"), ("broken", "exit 1"))
    code, _, end = run_tests(run_tests_tree)
    assert code == 8 and "===== 1 failed:\n  broken (Failed)" in end and "1 FLAKY" in end, end


@pytest.mark.parametrize("name, output, code", [
    ("asan", "==1==ERROR: AddressSanitizer: heap-use-after-free", 1),
    ("tsan", "WARNING: ThreadSanitizer: data race", 66),
    ("ubsan", "a.cpp:1:2: runtime error: signed integer overflow", 1),
    ("crash", "E  AssertionError: exit code -11: the end of the log", 1),
    ("e2e.kill", "", 1),
    ("e2e.inbox_order", "", 1),
    ("conformance.Backends/StormTest.OneEnd/Sqlite", "", 1),
    ("store.LedgerTest.NothingIsLostInBetween", "", 1),
    ("uploads_on.sqlite_inline", "FAILED tests/e2e/kill_test.py::test_a_kill_takes_nothing_back[3] - AssertionError", 1),
    ("e2e.faults", "FAILED tests/e2e/faults_test.py::test_cut_connections_lose_and_double_nothing - AssertionError", 1),
], ids=["asan", "tsan", "ubsan", "crash", "kill", "order", "storm", "lost", "kill in a file", "lose in a file"])
def test_run_tests_gives_no_second_chance_where_luck_would_hide_a_real_fault(run_tests_tree, name, output, code):
    project_of(run_tests_tree, fails_once(run_tests_tree, "x", output, code))
    path = run_tests_tree.root / "build/CTestTestfile.cmake"
    path.write_text(path.read_text().replace("add_test(x ", f"add_test([=[{name}]=] "))
    code, _, end = run_tests(run_tests_tree)
    assert code == 8 and "once more" not in end and "not run again" in end and "FLAKY" not in end, end


@pytest.mark.parametrize("name", ["e2e.http_slow_clients", "net.BorderTest.IsClosedInTime", "e2e.recorder"])
def test_run_tests_gives_other_names_a_second_chance(run_tests_tree, name):
    project_of(run_tests_tree, fails_once(run_tests_tree, name, "FAILED a_test.py::test_a_closed_border_is_closed - x"))
    assert run_tests(run_tests_tree)[0] == 0


def test_run_tests_retries_nothing_where_many_fail(run_tests_tree):
    project_of(run_tests_tree, *(fails_once(run_tests_tree, f"shaky{n}") for n in range(11)))
    code, _, end = run_tests(run_tests_tree)
    assert code == 8 and "once more" not in end


def test_run_tests_passes_its_arguments_to_ctest_and_returns_its_exit_code(run_tests_tree):
    project_of(run_tests_tree, ("good", "exit 0"), ("bad", "exit 1"))
    code, output, end = run_tests(run_tests_tree, "-R", "good")
    assert code == 0 and "1/1" in output and end == ""
    code, output, _ = run_tests(run_tests_tree, "-R", "unknown")
    assert code != 0 and "No tests were found" in output
    assert run_tests_tree.run("--parallel")[0] == 2, "the folder is missing"
