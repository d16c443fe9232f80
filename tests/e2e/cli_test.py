"""The command line, used by a script and by a person at a terminal."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

BINARY = os.environ["RESTANTE_BINARY"]
COMMANDS = ["serve", "dev", "connect", "mcp", "status", "doctor", "send", "chat", "workspace", "token", "invite", "uploads", "delegate", "tasks", "task", "sweep", "clock", "blobs", "restored", "migrate", "move", "config", "completion"]
GROUPS = {"workspace": ["create", "list", "show", "remove", "set"], "token": ["list", "create", "revoke", "admin"],
          "migrate": ["up", "down", "status"], "task": ["show", "cancel", "retry"]}
EVERY_COMMAND = [*COMMANDS, *(f"{group} {word}" for group, words in GROUPS.items() for word in words)]
ESCAPE = "\x1b"


def environment(**extra):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RESTANTE_") and k != "NO_COLOR"}
    return {**clean, "TERM": "xterm", **extra}


def restante(*args, **extra):
    return subprocess.run([BINARY, *args], env=environment(**extra), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def refused(code, *args, **extra):
    """Runs a command that must be refused; returns its one sentence."""
    done = restante(*args, **extra)
    assert done.returncode == code, done
    assert done.stdout == ""
    assert re.fullmatch(r"restante: [^\n]+\n", done.stderr), done.stderr
    return done.stderr


def write(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def on_a_terminal(argv, typed="", until=None, **extra):
    """The output of argv on a pseudo-terminal: until it ends, or until the given text has appeared."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(argv[0], argv, environment(**extra))
    shown = b""
    deadline = time.monotonic() + 60
    os.write(terminal, typed.encode())
    try:
        while time.monotonic() < deadline and not (until and until.encode() in shown):
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                chunk = os.read(terminal, 4096)
            except OSError:  # Linux reports in this way that the other side has closed
                break
            if not chunk:
                break
            shown += chunk
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return shown.decode(errors="replace")


def test_version_names_version_commit_and_compiler():
    done = restante("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"restante \d+\.\d+\.\d+ \([^,()]+, (clang|g\+\+) [\d.]+\)\n", done.stdout)


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_help_of_a_command_explains_it_with_examples_and_exit_codes(command):
    done = restante(*command.split(), "--help")
    assert done.returncode == 0 and done.stderr == ""
    for heading in ["Examples:", "Exit codes:"]:
        assert f"\n{heading}\n" in done.stdout
    assert f"restante {command}" in done.stdout
    assert ESCAPE not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 122


def test_help_lists_every_command_and_every_exit_code():
    text = restante("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S", text, re.M)
    for code in [0, 1, 64, 69, 75, 77, 78]:
        assert re.search(rf"^  {code} +\S", text, re.M)


def test_serve_help_lists_its_flags():
    text = restante("serve", "--help").stdout
    for flag in ["--config", "--listen", "--data", "--database", "--blobs", "--open-registration", "--public-url", "--set"]:
        assert re.search(rf"^  {flag}\b", text, re.M)


@pytest.mark.parametrize("args, expected", [
    ([], "name a command"),
    (["sevre"], "did you mean restante serve?"),
    (["serve", "--lisen", "x"], "did you mean --listen?"),
    (["serve", "stray"], "stray"),
    (["serve", "--config"], "--config needs a value"),
    (["serve", "--set", "log.level"], "KEY=VALUE"),
    (["dev", "--port", "65536"], "from 0 to 65535"),
    (["completion", "fish"], "bash or zsh"),
    (["workspace"], "create, list, show, remove, set"),
    (["token", "rovoke"], "did you mean restante token revoke?"),
    (["workspace", "create", "--rol", "x"], "did you mean --role?"),
    (["migrate", "status", "--data"], "--data needs a value"),
    (["token", "admin"], "--rotate"),
    (["workspace", "list", "--url", "ftp://x"], "--url ftp://x"),
    (["a\nb\x1b[31m"], "unknown command"),
])
def test_a_wrong_command_line_is_one_sentence_and_64(args, expected):
    assert expected in refused(64, *args)


@pytest.mark.parametrize("text, expected", [
    ("data = 'a'\ndata = 'b'\n", ["data", ":2"]),
    ("[timeouts]\nheadr = '1s'\n", ["timeouts.headr", ":2", "did you mean timeouts.header?"]),
    ("[timeouts]\nheader = 10\n", ["timeouts.header", ":2", "10s"]),
    ("[tls]\nkey = 'k.pem'\n", ["tls.key", ":2", "tls.certificate"]),
    ("[uploads]\nack_retention = '25h'\n", ["uploads.ack_retention", ":2", "uploads.ttl"]),
    ("[limits]\njson_body = 0\n", ["limits.json_body", ":2"]),
    ("open_registration = true\nlisten = '0.0.0.0:1'\n", ["open_registration", ":1", "127.0.0.1"]),
    ("database = 'mysql://u:hunter2@h/d'\n", ["database", ":1", "postgres://"]),
    ("this is not toml", [":1", "TOML"]),
])
@pytest.mark.parametrize("command", ["serve", "config"])
def test_a_bad_file_is_refused_with_78_before_anything_starts(tmp_path, command, text, expected):
    file = write(tmp_path / "bad.toml", text)
    data = tmp_path / "data"
    sentence = refused(78, command, "--config", file, *([] if "data" in text else ["--data", str(data)]))
    for part in expected:
        assert part in sentence
    assert "hunter2" not in sentence
    assert not data.exists()


def test_secrets_that_all_users_can_read_are_refused_with_78(tmp_path):
    certificate = write(tmp_path / "cert.pem", "-----BEGIN CERTIFICATE-----\n", 0o644)
    key = write(tmp_path / "key.pem", "-----BEGIN PRIVATE KEY-----\n", 0o644)
    token = write(tmp_path / "metrics", "x" * 43, 0o644)
    assert "all users" in refused(78, "config", "--set", f"tls.certificate={certificate}", "--set", f"tls.key={key}")
    assert "all users" in refused(78, "serve", "--set", f"metrics.token_file={token}")
    os.chmod(key, 0o600)
    assert restante("config", "--set", f"tls.certificate={certificate}", "--set", f"tls.key={key}").returncode == 0


@pytest.mark.parametrize("token", ["", "admin", "x" * 43, "changeme" + "aB3-dE6_gH9jK2mN5pQ8sT1vW4yZ7bC0eF3"])
def test_an_empty_or_sample_admin_token_refuses_to_start(token):
    sentence = refused(78, "serve", RESTANTE_ADMIN_TOKEN=token)
    assert "RESTANTE_ADMIN_TOKEN" in sentence
    assert not token or token not in sentence


def test_a_mistyped_variable_is_refused_with_the_nearest_one():
    assert "did you mean RESTANTE_LOG_LEVEL?" in refused(78, "config", RESTANTE_LOGLEVEL="warn")
    assert restante("config", RESTANTE_URL="x", RESTANTE_TOKEN="x").returncode == 0


def test_a_variable_of_a_poller_is_refused_with_what_it_is():
    sentence = refused(78, "serve", RESTANTE_DIR="/x")
    assert "poller" in sentence and "env -u RESTANTE_DIR" in sentence


def test_a_data_directory_that_cannot_be_used_is_69_and_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    sentence = refused(69, "serve", "--port", "0", "--data", str(tmp_path / "file" / "data"))
    assert "cannot be used: Not a directory" in sentence and "--data" in sentence


def test_a_database_that_is_away_is_69(tmp_path):
    assert "cannot be opened" in refused(69, "serve", "--port", "0", "--data", str(tmp_path), "--database", "postgres://x@127.0.0.1:1/x")


def test_flags_win_over_variables_and_variables_over_the_file(tmp_path):
    file = write(tmp_path / "c.toml", "data = 'file'\n[log]\nlevel = 'warn'\n[threads]\npool = 3\n")
    text = restante("config", "--data", "flag", RESTANTE_CONFIG=file, RESTANTE_DATA="variable", RESTANTE_LOG_LEVEL="error").stdout
    assert 'data = "flag"  # --data\n' in text
    assert 'level = "error"  # RESTANTE_LOG_LEVEL\n' in text
    assert f"pool = 3  # {file}:5\n" in text


def test_the_printed_configuration_masks_the_token_and_loads_again(tmp_path):
    token = "q3vX0b-9ZsT7uLm2JkRcW8yHnEoPaGd4fI6x_1VwQtU"
    done = restante("config", RESTANTE_ADMIN_TOKEN=token)
    assert done.returncode == 0
    assert token not in done.stdout + done.stderr
    assert "RESTANTE_ADMIN_TOKEN" in done.stdout
    assert restante("config", "--config", write(tmp_path / "again.toml", done.stdout)).returncode == 0


def test_the_example_loads_and_does_not_need_a_sound_configuration(tmp_path):
    done = restante("config", "--example", RESTANTE_NONSENSE="1")
    assert done.returncode == 0
    assert restante("config", "--config", write(tmp_path / "example.toml", done.stdout)).returncode == 0
    active = re.sub(r"^#(\w+ = )", r"\1", done.stdout, flags=re.M)
    assert active != done.stdout
    assert restante("config", "--config", write(tmp_path / "active.toml", active)).returncode == 0


def test_a_public_bind_without_tls_and_public_url_warns_on_stderr():
    done = restante("config", "--listen", "0.0.0.0:80")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and all(line.startswith("restante: warning: ") for line in lines)
    assert "TLS" in lines[0] and "public_url" in lines[1]


def test_a_full_disk_behind_stdout_is_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, "config"], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith("restante: ")


def test_bold_and_colour_are_for_terminals_without_no_color():
    assert ESCAPE in on_a_terminal([BINARY, "--help"])
    assert ESCAPE not in on_a_terminal([BINARY, "--help"], NO_COLOR="1")
    assert ESCAPE not in on_a_terminal([BINARY, "--help"], TERM="dumb")
    assert ESCAPE in on_a_terminal([BINARY, "config", "--listen", "0.0.0.0:1"])
    assert ESCAPE not in on_a_terminal([BINARY, "config", "--listen", "0.0.0.0:1"], NO_COLOR="1")


COMPLETE = """
set -u
source <("$RESTANTE" completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_restante
printf '%s\\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}"
"""


def completed(*words, cwd=None):
    done = subprocess.run(["bash", "--norc", "-c", COMPLETE, "bash", *words], env=environment(RESTANTE=BINARY), cwd=cwd,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.split()


def test_bash_completes_commands_flags_values_and_settings(tmp_path):
    assert completed("restante", "") == [*COMMANDS, "--help", "--version"]
    assert completed("restante", "co") == ["connect", "config", "completion"]
    assert completed("restante", "serve", "--p") == ["--public-url", "--port"]
    assert completed("restante", "dev", "--no") == ["--no-agent"]
    assert completed("restante", "completion", "b") == ["bash"]
    assert completed("restante", "serve", "--set", "log.") == ["log.level=", "log.requests="]
    assert completed("restante", "serve", "--listen", "") == []
    write(tmp_path / "one.toml", "")
    (tmp_path / "over").mkdir()
    assert sorted(completed("restante", "serve", "--config", "o", cwd=tmp_path)) == ["one.toml", "over"]
    assert completed("restante", "serve", "--data", "o", cwd=tmp_path) == ["over"]


def test_bash_offers_every_long_flag_that_help_shows():
    for command in EVERY_COMMAND:
        shown = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", restante(*command.split(), "--help").stdout, re.M))
        assert set(completed("restante", *command.split(), "--")) == shown


def test_bash_completes_the_commands_of_a_group_and_their_values(tmp_path):
    for group, words in GROUPS.items():
        assert completed("restante", group, "") == [*words, "--help"]
    assert completed("restante", "workspace", "s") == ["show", "set"]
    assert completed("restante", "workspace", "create", "name", "--pu") == ["--push-url"]
    assert completed("restante", "token", "admin", "--r") == ["--rotate"]
    (tmp_path / "secret").write_text("")
    assert completed("restante", "invite", "--token-file", "s", cwd=tmp_path) == ["secret"]
    assert completed("restante", "token", "list", "--workspace", "") == []


def test_the_tab_key_completes_in_an_interactive_bash():
    folder = os.path.dirname(os.path.abspath(BINARY))
    typed = f"PATH='{folder}':$PATH; source <(restante completion bash)\nrestante serve --publ\t"
    shown = on_a_terminal(["bash", "--norc", "--noprofile", "-i"], typed, until="--public-url ")
    assert "restante serve --public-url " in shown


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_can_parse_its_script(tmp_path):
    script = write(tmp_path / "_restante", restante("completion", "zsh").stdout)
    subprocess.run(["zsh", "-n", script], check=True, timeout=60)


def test_the_zsh_script_describes_every_command_and_quotes_special_characters():
    text = restante("completion", "zsh").stdout
    assert text.startswith("#compdef restante\n")
    for command in COMMANDS:
        assert re.search(rf"^ +'{command}:", text, re.M) and re.search(rf"^ +{command}\)$", text, re.M)
    for group, words in GROUPS.items():
        assert f"'1:command:({' '.join(words)})'" in text
    assert "'--config[" in text and ":file:_files'" in text
    # Bash reads zsh's quotes in the same way: it would reject an unbalanced quote in a help sentence.
    subprocess.run(["bash", "-n"], input=text, text=True, check=True, timeout=60)
