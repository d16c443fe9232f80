"""`restante doctor`, `restante status` and `restante connect --install-service`, as a person with a problem uses them."""
import json
import os
import pwd
import re
import shlex
import socket
import subprocess
from pathlib import Path

from support.agent import pending, send, url_of
from support.workspace import Workspace
from support.ports import free_port
from support.server import binary
from support.waiting import wait_until


def run(*arguments, cwd=None, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RESTANTE_") and "proxy" not in k.lower()}
    return subprocess.run([binary(), *arguments], env={**clean, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, cwd=cwd, check=False)


def doctor(tmp_path, *arguments, token=None, **environment):
    """(exit code, {step: result}) of `restante doctor` with a new state directory."""
    words = ["doctor", "--json", "--state", str(tmp_path / "state"), *arguments]
    if "--dir" not in arguments:
        words += ["--dir", str(tmp_path / "dir")]
    if token:
        (tmp_path / "token").write_text(token)
        words += ["--token-file", str(tmp_path / "token")]
    done = run(*words, **environment)
    assert done.stderr == "", done
    return done.returncode, {finding["step"]: finding for finding in map(json.loads, done.stdout.splitlines())}


def test_a_healthy_server_passes_every_step_to_the_ack(workspace, tmp_path):
    (tmp_path / "person").write_text(workspace.server.admin_token)
    code, found = doctor(tmp_path, "--url", url_of(workspace.server), "--sender-file", str(tmp_path / "person"), token=workspace.token)
    assert code == 0, found
    assert found["ack"]["found"] == "the server knows that it was taken"
    assert list(found) == ["address", "name", "connection", "server", "token", "disk", "upload", "poll", "fetch", "ack"]
    assert all(finding["passed"] for finding in found.values())
    assert pending(workspace) == []
    assert list((tmp_path / "dir" / ".molecule" / "chat-uploads").iterdir()) == []


def test_with_only_the_agents_own_token_a_file_passes_every_step_too(workspace, tmp_path):
    code, found = doctor(tmp_path, "--url", url_of(workspace.server), token=workspace.token)
    assert code == 0 and all(finding["passed"] for finding in found.values()), found
    assert found["ack"]["found"] == "the server knows that it was taken"
    assert pending(workspace) == []
    # It was a real upload: acked, with its receipt.
    methods = [row["method"] for row in workspace.server.get(workspace.path("activity"), token=workspace.server.admin_token).json()]
    assert methods == ["chat_upload_acked", "message/send", "chat_upload_receive"]


def test_for_a_person_it_ends_with_one_clear_sentence(workspace, tmp_path):
    (tmp_path / "token").write_text(workspace.token)
    done = run("doctor", "--url", url_of(workspace.server), "--token-file", "token", "--state", "state", "--dir", "dir", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.endswith("\nEverything works.\n"), done
    assert "untried" not in done.stdout


def test_an_agent_hands_over_nothing_of_a_self_test(workspace, connect):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    for _ in range(2):
        done = run("doctor", "--state", str(agent.state), "--dir", str(agent.dir), "--url", url_of(workspace.server), "--token-file",
                   str(agent.root / "given.token"))
        assert done.returncode == 0, done
    send(workspace, "hello")
    wait_until(lambda: workspace.messages() == ["got it"], "the reply to the message")
    assert [delivery["text"] for delivery in agent.deliveries()] == ["hello"]
    assert agent.stop() == 0


def test_each_failing_step_is_named_with_a_remedy(workspace, tmp_path):
    dead = free_port()
    with socket.create_server(("127.0.0.1", 0)) as mute:
        cases = [
            (["--url", "http://no-such-host.invalid"], None, 69, "name"),
            (["--url", f"http://127.0.0.1:{dead}"], None, 69, "connection"),
            (["--url", f"https://127.0.0.1:{workspace.server.port}"], None, 69, "tls"),
            (["--url", url_of(workspace.server) + "/elsewhere"], None, 69, "server"),
            (["--url", url_of(workspace.server)], None, 77, "token"),
            (["--url", url_of(workspace.server)], "A" * 43, 77, "token"),
            (["--url", url_of(workspace.server)], workspace.server.admin_token, 77, "token"),
            (["--url", url_of(workspace.server), "--dir", "/proc/nowhere"], workspace.token, 1, "disk"),
        ]
        for arguments, token, expected, step in cases:
            code, found = doctor(tmp_path, *arguments, token=token)
            assert (code, list(found)[-1]) == (expected, step), (arguments, found)
            assert not found[step]["passed"] and found[step]["found"] and found[step]["remedy"]
            assert not any("AAAA" in str(finding) for finding in found.values())
        del mute


def test_it_works_while_an_agent_runs_and_the_agent_is_not_disturbed(workspace, connect, tmp_path):
    agent = connect(url_of(workspace.server), token=workspace.token)
    agent.wait_printed("connected to")
    done = run("doctor", "--state", str(agent.state), "--dir", str(agent.dir), "--url", url_of(workspace.server), "--token-file",
               str(agent.root / "given.token"), "--sender-file", str(workspace.server.data / "admin.token"))
    assert done.returncode == 0, done
    send(workspace, "hello")
    wait_until(lambda: agent.deliveries(), "a message after the self-test")
    assert [delivery["text"] for delivery in agent.deliveries()] == ["hello"]
    assert agent.stop() == 0


def test_the_exit_code_of_status_is_the_state_of_the_agent(start, connect, tmp_path):
    server = start()
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}).json()
    never = run("status", "--state", str(tmp_path / "none"))
    assert never.returncode == 77 and "restante connect --url" in never.stdout, never
    agent = connect(url_of(server), arguments=["--enrol", made["connection"]["enrolment_token"]])

    def status():
        done = run("status", "--json", "--state", str(agent.state))
        return done.returncode, json.loads(done.stdout)

    wait_until(lambda: status()[0] == 0, "connected")
    code, found = status()
    assert (found["status"], found["workspace_id"], found["server"]) == ("connected", made["id"], url_of(server))
    assert f"process {agent.process.pid}" in found["holder"]
    server.stop()
    wait_until(lambda: status()[0] == 69, "unreachable")
    assert status()[1]["trouble"]
    assert agent.stop() == 0
    assert status()[0] == 1
    text = run("status", "--state", str(agent.state)).stdout
    assert "stopped" in text and "Start it with: restante connect" in text


def test_status_tells_revoked_from_stopped_and_shows_what_is_under_way(workspace, connect, tmp_path):
    server, gate = workspace.server, tmp_path / "go"
    agent = connect(url_of(server), token=workspace.token, exec_command=f"while [ ! -e '{gate}' ]; do sleep 0.05; done; echo done")
    text = lambda: run("status", "--state", str(agent.state))
    for word in ("one", "two"):
        send(workspace, word)
    wait_until(lambda: "message from the person, begun" in text().stdout, "what it works on")
    wait_until(lambda: re.search(r"messages behind it +1\n", text().stdout), "what waits for it")
    gate.touch()
    wait_until(lambda: len(workspace.messages()) == 2, "both are answered")
    wait_until(lambda: "begun" not in text().stdout, "nothing is under way")
    tokens = server.get(workspace.path("tokens"), token=server.admin_token).json()
    for one in tokens:
        server.request("DELETE", workspace.path(f"tokens/{one['id']}"), token=server.admin_token)
    assert agent.wait_exit() == 77
    done = text()
    assert done.returncode == 77 and "revoked" in done.stdout and "Get a new line" in done.stdout, done


def test_status_without_a_name_shows_every_agent_of_this_machine(server, connect, tmp_path):
    for name in ("one of two", "two of two"):
        made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": name}).json()
        agent = connect(url_of(server), home=tmp_path, arguments=["--enrol", made["connection"]["enrolment_token"]])
        agent.wait_printed("connected to")
    assert agent.stop() == 0
    done = run("status", "--json", HOME=str(tmp_path), XDG_STATE_HOME="")
    found = sorted(json.loads(line)["status"] for line in done.stdout.splitlines())
    assert (done.returncode, found) == (1, ["connected", "stopped"]), done
    only = run("status", "--json", "--workspace", made["id"], HOME=str(tmp_path), XDG_STATE_HOME="")
    assert (only.returncode, json.loads(only.stdout)["workspace_id"]) == (1, made["id"])


def install(server, home, *arguments, path="/nowhere", **environment):
    """(done, the unit's path) of `connect --install-service` for a new workspace."""
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}).json()
    enrolment = made["connection"]["enrolment_token"]
    done = run("connect", "--url", url_of(server), "--enrol", enrolment, *arguments, "--install-service", cwd=home, HOME=str(home),
               XDG_CONFIG_HOME="", XDG_STATE_HOME="", PATH=path, **environment)
    unit = home / ".config/systemd/user/restante-connect.service"
    assert enrolment not in unit.read_text() and "--enrol" not in unit.read_text()
    return done, unit, made["id"]


def test_systemd_accepts_the_unit_and_its_command_runs_the_agent(server, tmp_path):
    """A user's systemd does not run everywhere. systemd's check of units does, and the test runs the unit's command itself."""
    home, runtime = tmp_path / "my 50% home", tmp_path / "run"
    for folder in (home, runtime):
        folder.mkdir(mode=0o700)
    (home / "answer.sh").write_text("#!/bin/sh\ncat > /dev/null\necho \"$1 of \\$1\"\n")
    (home / "answer.sh").chmod(0o755)
    done, unit, workspace_id = install(server, home, "--dir", "my files", "--exec", "./answer.sh '100%'",
                                       https_proxy="http://me:5%$x\"y\\@proxy.example:3128")
    assert done.returncode == 75, done
    checked = subprocess.run(["systemd-analyze", "verify", "--user", "--man=no", unit], env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
                             capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), checked
    settings = dict(line.split("=", 1) for line in unit.read_text().splitlines() if "=" in line)
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(settings["ExecStart"])]
    where = settings["WorkingDirectory"].replace("%%", "%")
    agent = subprocess.Popen(words, cwd=where, env={"PATH": os.environ["PATH"], "HOME": str(home)}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        workspace = Workspace(server, known=(workspace_id, None))
        workspace.token = (home / ".local/state/restante/agents" / workspace_id / "token").read_text().strip()
        send(workspace, "hello")
        wait_until(lambda: workspace.messages() == ["100% of $1"], "the answer of the command beside it")
    finally:
        agent.terminate()
        assert agent.wait(60) == 0


def with_systemctl(tmp_path):
    """A PATH with a systemctl that only records its arguments."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(f"#!/bin/sh\necho \"$@\" >> '{tmp_path}/asked'\n")
    (programs / "systemctl").chmod(0o755)
    return f"{programs}:/usr/bin:/bin"


def test_where_systemd_runs_the_service_is_started_and_lingering_is_checked(server, tmp_path):
    done, _, _ = install(server, tmp_path, path=with_systemctl(tmp_path))
    assert done.returncode == 0 and "Started it" in done.stdout, done
    assert (tmp_path / "asked").read_text().splitlines() == [
        "--user daemon-reload", "--user enable restante-connect.service", "--user restart restante-connect.service"]
    user = pwd.getpwuid(os.getuid()).pw_name
    lingers = Path("/var/lib/systemd/linger", user).exists()
    assert ("keeps running when" if lingers else f"loginctl enable-linger {user}") in done.stdout


def test_uninstalling_undoes_the_service_and_keeps_the_agents_state(server, tmp_path):
    path = with_systemctl(tmp_path)
    _, unit, workspace_id = install(server, tmp_path, path=path)
    (tmp_path / "asked").unlink()
    done = run("connect", "--uninstall-service", HOME=str(tmp_path), PATH=path)
    assert done.returncode == 0 and f"Deleted {unit}" in done.stdout, done
    assert not unit.exists()
    assert (tmp_path / "asked").read_text().splitlines() == ["--user disable --now restante-connect.service", "--user daemon-reload"]
    assert (tmp_path / ".local/state/restante/agents" / workspace_id / "token").exists()
    (tmp_path / "asked").unlink()
    _, first, _ = install(server, tmp_path, path=path)  # another agent, whose service has the plain name now
    _, _, second = install(server, tmp_path, path=path)
    assert first.exists() and (first.parent / f"restante-connect-{second[-8:]}.service").exists(), "each agent has its own service"
    again = run("connect", "--uninstall-service", "--workspace", workspace_id, HOME=str(tmp_path), PATH=path)
    assert again.returncode == 0 and "There is no service" in again.stdout, again


def test_a_service_is_written_with_these_flags_and_no_secret(server, tmp_path):
    done, path, workspace_id = install(server, tmp_path, "--dir", "my files", "--exec", "/bin/cat > 'a b' && echo \"50%\"")
    assert done.returncode == 75, done  # there is no systemctl in this PATH
    assert "systemctl --user enable --now restante-connect.service" in done.stdout and "loginctl enable-linger" in done.stdout
    unit = path.read_text()
    assert f'"--dir" "{tmp_path}/my files"' in unit
    assert '"--exec" "/bin/cat > \'a b\' && echo \\"50%%\\""' in unit
    assert (tmp_path / ".local/state/restante/agents" / workspace_id / "token").stat().st_mode & 0o777 == 0o600


def test_a_service_keeps_the_environment_that_it_needs_readable_only_for_its_owner(server, tmp_path):
    settings = {"https_proxy": "http://me:50%@proxy.example:3128", "NO_PROXY": "127.0.0.1", "SSL_CERT_FILE": "/my certs/ca.pem",
                "SSL_CERT_DIR": ""}
    unit_folder = tmp_path / ".config/systemd/user"
    unit_folder.mkdir(parents=True)
    (unit_folder / "restante-connect.service").write_text("of an earlier one\n")
    (unit_folder / "restante-connect.service").chmod(0o644)
    _, path, _ = install(server, tmp_path, "--exec", "/bin/cat", **settings)
    kept = [line for line in path.read_text().splitlines() if line.startswith("Environment=")]
    assert kept == ['Environment="https_proxy=http://me:50%%@proxy.example:3128"', 'Environment="NO_PROXY=127.0.0.1"',
                    'Environment="SSL_CERT_FILE=/my certs/ca.pem"', 'Environment="PATH=/nowhere"']
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_service_is_installed_again_with_other_flags_while_its_agent_runs(server, tmp_path, connect):
    made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "laptop"}).json()
    line = ["--enrol", made["connection"]["enrolment_token"]]
    agent = connect(url_of(server), arguments=line)
    agent.wait_printed("connected to")
    path = with_systemctl(tmp_path)
    again = lambda *arguments: run("connect", "--state", str(agent.state), *arguments, "--install-service", cwd=tmp_path, HOME=str(tmp_path),
                                   XDG_CONFIG_HOME="", PATH=path)
    unit = tmp_path / ".config/systemd/user/restante-connect.service"
    for arguments in (["--exec", "echo one"], ["--exec", "echo two", *line]):
        done = again(*arguments)
        assert done.returncode == 0 and "An agent runs already" in done.stdout and "Started it" in done.stdout, done
        assert f'"--exec" "{arguments[1]}"' in unit.read_text() and "--enrol" not in unit.read_text()
    # Another enrolment token has to be exchanged, and for that the running agent must end.
    other = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "other"}).json()
    done = again("--url", url_of(server), "--exec", "echo three", "--enrol", other["connection"]["enrolment_token"])
    assert done.returncode == 75 and "three" not in unit.read_text(), done
    assert agent.stop() == 0
