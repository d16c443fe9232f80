"""Commands of --exec: run once, also across a kill of the agent; ended with their children; their files."""
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from restante.commands import MOST_OUTPUT, Run, check_command, describe_code, find_result_files, forget_other_runs
from restante.failure import Backoff, Stop


def finish(folder, command, given="in\n", delivery="d1", stop=None, give_up=None, timeout=None):
    return Run(folder, delivery).finish(command, given, stop or Stop(), give_up or Stop(), timeout)


def wait_for(condition):
    while not condition():
        threading.Event().wait(0.01)  # the test's own time limit ends a wait for what never happens


def test_a_command_gets_its_input_and_its_output_and_code_are_kept_until_they_are_forgotten(tmp_path):
    runs = tmp_path / "runs"
    result = finish(runs, f"cat; echo ran >> '{tmp_path}/log'; exit 3", "hello\n")
    assert (result.how, result.code, result.output, result.cut) == ("exited", 3, "hello\n", False)
    assert finish(runs, "echo other") == result, "the same delivery is the same run"
    assert (tmp_path / "log").read_text() == "ran\n"
    Run(runs, "d1").forget()
    assert list(runs.iterdir()) == []


def test_the_last_lines_of_stderr_are_kept_for_the_sender(tmp_path):
    result = finish(tmp_path / "runs", "for n in 1 2 3 4 5 6 7; do echo line $n >&2; done; exit 1")
    assert result.last_lines.splitlines() == [f"line {number}" for number in range(3, 8)]


def test_a_long_output_is_cut_and_can_be_attached_whole(tmp_path):
    result = finish(tmp_path / "runs", f"yes | head -c {MOST_OUTPUT + 2}")
    assert len(result.output) == MOST_OUTPUT and result.cut
    run = Run(tmp_path / "runs", "d1")
    assert run.attach_output() == run.attach_output() == "output.txt", "also after a kill in between"
    assert (run.result_folder / "output.txt").stat().st_size == MOST_OUTPUT + 2


def test_a_second_process_waits_for_the_command_of_the_first_and_does_not_run_it_again(tmp_path):
    """The first agent is a process that is killed."""
    runs, go = tmp_path / "runs", tmp_path / "go"
    command = f"echo ran >> '{tmp_path}/log'; while [ ! -e '{go}' ]; do sleep 0.02; done; echo answer"
    code = ("import sys; from pathlib import Path; from restante.commands import Run; from restante.failure import Stop\n"
            "Run(Path(sys.argv[1]), 'd1').finish(sys.argv[2], '', Stop(), Stop())")
    first = subprocess.Popen([sys.executable, "-c", code, str(runs), command], cwd=Path(__file__).parents[1])
    wait_for((tmp_path / "log").exists)
    first.kill()
    first.wait()
    assert Run(runs, "d1").exists()
    go.touch()
    assert finish(runs, command).output == "answer\n"
    assert (tmp_path / "log").read_text() == "ran\n"


def test_two_runners_of_one_delivery_run_its_command_once(tmp_path):
    runs, command = tmp_path / "runs", f"cat > /dev/null; echo ran >> '{tmp_path}/log'; sleep 0.3; echo answer"
    run = Run(runs, "d1")
    runs.mkdir()
    run._prepare("in\n")
    other = Run(runs, "d1")
    run._start(command)
    other._start(command)
    results = [one.finish(command, "in\n", Stop(), Stop()).output for one in (run, other)]
    assert results == ["answer\n"] * 2 and (tmp_path / "log").read_text() == "ran\n"


@pytest.mark.parametrize("how", ["stopped", "given_up"])
def test_a_command_is_ended_with_its_children(tmp_path, how):
    stop, give_up = Stop(), Stop()
    command = f"sleep 600 & echo $! > '{tmp_path}/child'; wait"
    results = []
    thread = threading.Thread(target=lambda: results.append(finish(tmp_path / "runs", command, stop=stop, give_up=give_up)))
    thread.start()
    wait_for(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().endswith("\n"))
    (stop if how == "stopped" else give_up).request()
    thread.join()
    assert results[0].how == how
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: not os.path.exists(f"/proc/{child}") or ") Z" in Path(f"/proc/{child}/stat").read_text())
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_command_that_ends_well_when_it_is_asked_to_end_has_an_answer(tmp_path):
    give_up, results = Stop(), []
    command = f"trap 'echo late; exit 0' TERM; touch '{tmp_path}/began'; while :; do sleep 0.02; done"
    thread = threading.Thread(target=lambda: results.append(finish(tmp_path / "runs", command, give_up=give_up)))
    thread.start()
    wait_for((tmp_path / "began").exists)
    give_up.request()
    thread.join()
    assert (results[0].how, results[0].code, results[0].output) == ("exited", 0, "late\n")


def test_nothing_is_started_when_it_is_given_up_before(tmp_path):
    give_up = Stop()
    give_up.request()
    assert finish(tmp_path / "runs", f"touch '{tmp_path}/ran'", give_up=give_up).how == "given_up"
    assert not (tmp_path / "ran").exists()


def test_a_command_that_runs_too_long_is_killed_and_says_so(tmp_path):
    result = finish(tmp_path / "runs", "exec sleep 600", timeout=0.2)
    assert (result.how, result.trouble) == ("killed", "the command ran longer than 0.2 s")


def test_a_command_that_was_killed_is_no_success(tmp_path):
    assert finish(tmp_path / "runs", "kill -9 $PPID; sleep 600").how == "killed"


def test_runs_that_a_kill_left_are_forgotten_except_those_that_are_needed(tmp_path):
    runs = tmp_path / "runs"
    for name in ("kept", "other", "unsent"):
        finish(runs, 'echo x > "$RESTANTE_RESULT_DIR/f"', delivery=name)
    forget_other_runs(runs, ["kept"], [str(Run(runs, "unsent").result_folder)])
    assert Run(runs, "kept").exists() and Run(runs, "unsent").result_folder.exists()
    assert not Run(runs, "other").exists() and not Run(runs, "other").result_folder.exists()


def test_only_regular_files_are_result_files(tmp_path):
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    files, refused = find_result_files(tmp_path)
    assert [file.name for file in files] == ["a.txt", "b.txt"]
    assert refused == ["empty: is empty", "folder: is a folder", "link: is a symbolic link"]
    assert find_result_files(tmp_path / "none") == ([], [])


def test_a_typo_in_the_command_is_found_at_start(tmp_path):
    script = tmp_path / "answer.sh"
    script.write_text("#!/bin/sh\n")
    assert "there is no command" in check_command("./no-such-script --x")
    assert "not executable" in check_command(str(script))
    script.chmod(0o755)
    for fine in (str(script), "cat > /dev/null; echo", "if true; then echo; fi", "A=1 run", "$HOME/run", "'/bin/sh' -c x", ": nothing"):
        assert check_command(fine) == "", fine
    assert check_command("  ") != ""


def test_exit_codes_are_described():
    assert describe_code(4) == "exit code 4" and describe_code(250) == "exit code 250"
    assert describe_code(128 + signal.SIGTERM) == "exit code 143 (as after SIGTERM)"


def test_the_pause_grows_up_to_a_bound_and_begins_again():
    pause = Backoff(0.5, 10)
    pauses = [pause.next() for _ in range(12)]
    assert 0.25 <= pauses[0] <= 0.5 and max(pauses) <= 10 and min(pauses[6:]) >= 5
    pause.reset()
    assert pause.next() <= 0.5
