"""What every agent promises when something fails: kills at many moments, a server that restarts, connections that break, a full disk. The
same scenarios for each kind of support/agent_kinds.py."""
import os
import random
import shutil
import signal
import threading

import pytest

from support.agent import pending, send, url_of
from support.ports import free_port
from support.small_disk import unshare
from support.waiting import wait_until
from support.workspace import Workspace


KILLS = int(os.environ.get("RESTANTE_AGENT_KILLS", "8"))


def names_of(deliveries):
    """What each delivery was about: a text, or the name of a file."""
    return [delivery["text"] or delivery["files"][0]["name"] for delivery in deliveries]


MOMENTS = {"it registers": b"POST /registry/register", "it asks for the inbox": b"/activity?type=a2a_receive",
           "it fetches a file": b"/content HTTP/1.1", "it acknowledges a file": b"/ack HTTP/1.1", "it answers": b"/notify HTTP/1.1",
           "it answers the second": b"/notify HTTP/1.1"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_when(workspace, any_agent, proxy, moment):
    """The request of that moment is held back, and the agent is killed. The next one loses nothing and hands everything over once."""
    at_moment, seen = threading.Event(), []

    def hold(data):
        is_file_ack = b"/activity/ack" not in data.split(b"\r\n", 1)[0]
        if MOMENTS[moment] in data and is_file_ack and not at_moment.is_set():
            seen.append(data)
            if len(seen) == (2 if "second" in moment else 1):
                at_moment.set()
        return not at_moment.is_set()

    content = os.urandom(80_000)
    workspace.upload(("a.bin", content))
    send(workspace, "hello")
    between = proxy(workspace.server.port, gate=hold)
    agent = any_agent(between.url, token=workspace.token)
    assert at_moment.wait(60)
    agent.kill()
    again = any_agent(url_of(workspace.server), token=workspace.token, keep=agent)
    wait_until(lambda: len(workspace.messages()) == 2, "both replies")
    send(workspace, "and now?")
    wait_until(lambda: len(workspace.messages()) == 3, "the third reply")
    assert sorted(names_of(again.deliveries())) == ["a.bin", "and now?", "hello"]
    assert [path.read_bytes() for path in again.landed()] == [content]
    assert pending(workspace) == [] and workspace.messages() == ["got it"] * 3
    assert again.stop() == 0


def test_kills_after_any_number_of_requests_lose_and_repeat_nothing(workspace, any_agent, proxy):
    """Eight kills; RESTANTE_AGENT_KILLS=100 in make test-long. Each agent is killed when it has sent so many requests, or has nothing to do."""
    chance, agent, expected = random.Random(5), None, []
    for number in range(KILLS):
        counted, enough = {"left": chance.randrange(2, 22)}, threading.Event()

        def count(data, counted=counted, enough=enough):
            counted["left"] -= data.startswith((b"GET ", b"POST "))
            if counted["left"] <= 0:
                enough.set()
            return not enough.is_set()

        workspace.upload((f"{number}.bin", os.urandom(chance.randrange(1, 200_000))))
        send(workspace, f"message {number}")
        expected += [f"{number}.bin", f"message {number}"]
        between = proxy(workspace.server.port, gate=count)
        agent = any_agent(between.url, token=workspace.token, keep=agent)
        wait_until(lambda: enough.is_set() or len(workspace.messages()) == len(expected), "so many requests, or all replies")
        agent.kill()
    last = any_agent(url_of(workspace.server), token=workspace.token, keep=agent)
    wait_until(lambda: len(workspace.messages()) >= len(expected), "every reply", ceiling=120)
    wait_until(lambda: pending(workspace) == [], "every ack")
    send(workspace, "the end")
    wait_until(lambda: "the end" in names_of(last.deliveries()), "the last message")
    assert sorted(names_of(last.deliveries())) == sorted([*expected, "the end"])
    wait_until(lambda: workspace.messages() == ["got it"] * (len(expected) + 1), "one reply each")
    assert last.stop() == 0


def test_a_command_outlives_a_kill_of_the_agent_and_runs_only_once(workspace, any_agent, tmp_path):
    go = tmp_path / "go"
    command = f"cat > /dev/null; echo ran >> '{tmp_path}/log'; while [ ! -e '{go}' ]; do sleep 0.05; done; echo answer"
    agent = any_agent(url_of(workspace.server), token=workspace.token, exec_command=command)
    send(workspace, "work")
    wait_until(lambda: (tmp_path / "log").exists(), "the command runs")
    agent.kill()
    again = any_agent(url_of(workspace.server), token=workspace.token, keep=agent, exec_command=command)
    again.wait_printed("connected to")
    go.touch()
    wait_until(lambda: workspace.messages() == ["answer"], "the answer of the command that outlived its agent")
    assert (tmp_path / "log").read_text() == "ran\n"
    assert again.stop() == 0


def test_a_delivery_that_had_begun_when_everything_was_killed_comes_again_marked_as_such(workspace, any_agent):
    agent = any_agent(url_of(workspace.server), token=workspace.token, exec_command="cat > /dev/null; echo $PPID >&2; sleep 600")
    send(workspace, "work")
    runner = int(agent.stderr.wait(lambda line: line.isdigit(), "the command runs"))
    agent.kill()
    os.killpg(runner, signal.SIGKILL)
    again = any_agent(url_of(workspace.server), token=workspace.token, keep=agent)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    delivery, = again.deliveries()
    assert (delivery["text"], delivery["again"]) == ("work", True)
    assert again.stop() == 0


def test_stopping_ends_a_running_command_and_its_message_comes_again(workspace, any_agent):
    first = any_agent(url_of(workspace.server), token=workspace.token, exec_command="cat > /dev/null; echo busy >&2; sleep 600")
    send(workspace, "long work")
    first.wait_printed("busy")
    assert first.stop() == 0
    again = any_agent(url_of(workspace.server), token=workspace.token, keep=first)
    wait_until(lambda: workspace.messages() == ["got it"], "the reply")
    assert names_of(again.deliveries()) == ["long work"]
    assert again.stop() == 0


def test_a_server_that_is_killed_and_started_again_is_reached_again_and_nothing_is_lost(start, any_agent):
    address = f"127.0.0.1:{free_port()}"
    first = start(listen=(address,))
    workspace = Workspace(first)
    agent = any_agent(url_of(first), token=workspace.token)
    workspace.upload(("a.txt", b"before"))
    wait_until(lambda: len(workspace.messages()) == 1, "the first reply")
    first.kill()
    agent.wait_printed("trying again until it works")
    second = start(data=first.data, listen=(address,))
    workspace = workspace.on(second)
    workspace.upload(("b.txt", b"after" * 9000))
    wait_until(lambda: len(workspace.messages()) == 2, "the reply after the restart")
    assert names_of(agent.deliveries()) == ["a.txt", "b.txt"]
    assert sum(b"trying again" in line for line in agent.stderr()) == 1
    assert agent.stop() == 0


def test_a_cut_download_is_resumed_and_every_byte_is_right(workspace, any_agent, proxy):
    content = os.urandom(8_000_000)
    seen = {"ranges": 0, "bytes": 0, "cuts": 0}

    def count_ranges(data):
        seen["ranges"] += b"\r\nrange: bytes=" in data.lower()
        return True

    def cut_twice(data):
        seen["bytes"] += len(data)
        if seen["cuts"] < 2 and seen["bytes"] > 2_000_000:
            seen.update(bytes=0, cuts=seen["cuts"] + 1)
            return len(data) // 2
        return len(data)

    between = proxy(workspace.server.port, gate=count_ranges, tap=cut_twice)
    agent = any_agent(between.url, token=workspace.token)
    workspace.upload(("big.bin", content))
    wait_until(lambda: pending(workspace) == [], "the ack")
    path, = agent.landed()
    assert path.read_bytes() == content
    assert seen["cuts"] == 2 and seen["ranges"] == 2
    assert agent.stop() == 0


def test_on_a_line_that_breaks_again_and_again_everything_arrives_once(workspace, any_agent, proxy):
    """Cuts connections after a random number of bytes, in both directions, 60 times; then the line is good."""
    chance, lock = random.Random(17), threading.Lock()
    left = {"cuts": 60, "bytes": 3_000}

    def may_pass(size):
        with lock:
            left["bytes"] -= size
            if left["cuts"] == 0 or left["bytes"] > 0:
                return True
            left.update(cuts=left["cuts"] - 1, bytes=chance.randrange(500, 40_000))
            return False

    between = proxy(workspace.server.port, gate=lambda data: may_pass(len(data)) or between.cut() is not None,
                    tap=lambda data: len(data) if may_pass(len(data)) else chance.randrange(len(data)))
    contents = {f"{number}.bin": os.urandom(chance.randrange(1, 60_000)) for number in range(12)}
    workspace.upload(*contents.items())
    texts = [f"message {number}" for number in range(12)]
    for text in texts:
        send(workspace, text)
    agent = any_agent(between.url, token=workspace.token)
    wait_until(lambda: len(workspace.messages()) >= 24, "every reply", ceiling=400)
    wait_until(lambda: pending(workspace) == [], "every ack", ceiling=120)
    assert sorted(names_of(agent.deliveries())) == sorted([*contents, *texts])
    assert [name for name in names_of(agent.deliveries()) if name in texts] == texts, "messages in order"
    assert {path.name.partition("-")[2]: path.read_bytes() for path in agent.landed()} == contents
    assert workspace.messages() == ["got it"] * 24
    assert agent.stop() == 0


def test_after_a_restore_of_an_older_copy_no_new_message_is_skipped_and_none_comes_twice(start, any_agent, tmp_path):
    address = f"127.0.0.1:{free_port()}"
    first = start(listen=(address,))
    workspace = Workspace(first)
    agent = any_agent(url_of(first), token=workspace.token)
    send(workspace, "in the backup")
    wait_until(lambda: len(workspace.messages()) == 1, "the first reply")
    first.stop()
    shutil.copytree(first.data, tmp_path / "backup")
    second = start(data=first.data, listen=(address,))
    for number in range(3):
        send(workspace.on(second), f"lost {number}")
    wait_until(lambda: len(agent.deliveries()) == 4, "the messages that will be lost")
    second.stop()
    # The agent has read numbers that the copy does not have. New rows get the same ones before it asks again.
    third = start(data=tmp_path / "backup")
    for number in range(8):
        send(workspace.on(third), f"new {number}")
    third.stop()
    start(data=tmp_path / "backup", listen=(address,))
    wait_until(lambda: len(agent.deliveries()) >= 12, "the new messages")
    assert names_of(agent.deliveries()) == [
        "in the backup", *(f"lost {number}" for number in range(3)), *(f"new {number}" for number in range(8))]
    assert agent.stop() == 0


ON_A_SMALL_DISK = """
for word in "$@"; do
  [ "$before" = --dir ] && dir=$word
  before=$word
done
mkdir -p "$dir" && mount -t tmpfs -o size=4m tmpfs "$dir" && exec "$@"
"""


def test_a_full_disk_is_reported_to_the_sender_and_the_file_arrives_when_there_is_room(workspace, any_agent):
    agent = any_agent(url_of(workspace.server), token=workspace.token, around=[*unshare(), "sh", "-c", ON_A_SMALL_DISK, "sh"])
    agent.wait_printed("connected to")
    inside = f"/proc/{agent.process.pid}/root{agent.dir}"
    with open(f"{inside}/filler", "wb") as filler:
        filler.write(bytes(3_000_000))
    content = os.urandom(2_000_000)
    (file_id, item), = workspace.upload(("big.bin", content))
    send(workspace, "see the file", item["uri"])
    message = wait_until(lambda: [d for d in agent.deliveries() if d["type"] == "message"], "the message")[0]
    assert [(file["state"], "path" in file) for file in message["files"]] == [("failed", False)]
    state = lambda: workspace.server.get(workspace.path(f"pending-uploads/{file_id}"), token=workspace.server.admin_token).json()
    assert (state()["state"], state()["reason"]) == ("failed", message["files"][0]["reason"])
    assert "space" in state()["reason"].lower()
    os.unlink(f"{inside}/filler")
    landed = lambda: [file for d in agent.deliveries() if d["type"] == "file" for file in d["files"] if file["state"] == "landed"]
    # The pause between two attempts grows to about the time that the trouble has lasted.
    path = wait_until(landed, "the file", ceiling=240)[0]["path"]
    with open(f"/proc/{agent.process.pid}/root{path}", "rb") as file:
        assert file.read() == content
    assert agent.stop() == 0
