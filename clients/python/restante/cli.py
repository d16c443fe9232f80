"""The command line: connect, send, status. Exit codes as of the agent in C++."""
from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from .answers import AnswerReader
from .api import ApiClient, Json, compact, text_of
from .choose import NO_PERMISSION, TRY_AGAIN, UNAVAILABLE, USAGE, AgentError, Choice, choose_state, landing_directory
from .commands import check_command, forget_other_runs
from .disk import DiskTrouble
from .failure import Failure, Stop
from .handover import CommandHandover, Handover, LineHandover
from .loop import DeliveryOptions
from .names import parse_id, pending_file, shown, without_controls
from .records import parse_time
from .session import NOT_PERMITTED, READER_GONE, REFUSED, STOPPED, Session, Settings
from .state import KnownState, StateDirectory, folder_of_states, known_states
from .update import say_if_newer, update
from .version import VERSION
from .wire import parse_url

FRESH = 80.0  # seconds: a poll is held for 25 s and given up 15 s later; twice that is more than a short interruption
FINAL_STATES = ("acked", "failed", "expired", "recalled")

TOP = """Restante, the agent in Python: messages and files for AI agents that accept no incoming connections.

Start here:
  python3 restante.py connect --url … --enrol …  the values that a new workspace shows
  python3 restante.py connect                    from then on
  python3 restante.py status                     the agent's state
  python3 restante.py send --to … TEXT           a message to an agent
  python3 restante.py update                     the restante.py that the server hands out
  python3 restante.py COMMAND --help             more about one of them

As a library: from restante import Agent"""

CONNECT = """Connects an agent on this machine to its workspace. Needs no open port: it asks the server and waits.

Files land below --dir, are checked and acknowledged; messages are handed over, with file addresses rewritten to local paths: as lines
to read, with --json as JSON lines (a line {"reply_to":ID,"text":"…","files":["…"]} on stdin answers one), or to the command of --exec, which gets the JSON on its stdin; its exit code 0 means handled, its
stdout is the answer, and the files it leaves in the folder $RESTANTE_RESULT_DIR are sent with it. The first time takes --url and --enrol,
both shown with a new workspace; the token it gets is kept in the state directory of that workspace, so that afterwards "connect" is enough.

Examples:
  python3 restante.py connect --url https://post.example.org --enrol TOKEN
  python3 restante.py connect --exec './answer.sh'
  python3 restante.py connect --json | jq .

Environment:
  RESTANTE_URL    the server, when --url is not given
  RESTANTE_TOKEN  the workspace's token, when --token-file is not given; never a flag, because flags show in ps"""

SEND = """Sends a message and files to an agent, wherever it is. The server keeps both until the agent fetches them.

With the token of a person (restante invite --sender) --to is not needed; with the operator's token it is the workspace's id or name.
With --wait you see each file being acknowledged: only then the exit code is 0.

Examples:
  python3 restante.py send --url https://post.example.org --token-file my.token 'Please summarise these.' --file a.pdf --file b.png
  python3 restante.py send --to 'Research laptop' --file build.log --wait --timeout 600

Environment:
  RESTANTE_URL    the server, when --url is not given
  RESTANTE_TOKEN  the token, when --token-file is not given"""

STATUS = """Shows how the agents of this user on this machine are doing. Reads what they wrote to their state directories and asks no server.

Exit code 0 means that it runs and its last poll was answered; 69 that it runs and does not reach the server; 1 that it does not run; 77
that it was never connected."""

UPDATE = """Takes the restante.py that the server hands out, in place of this file.

It is verified by the sha256 that the server names, and replaces this file as a whole. An agent that runs goes on with the old one until it is
started again."""

_printing = threading.Lock()


def print_error(line: str) -> None:
    """A line for a person, on stderr. Called from several threads."""
    with _printing:
        try:
            sys.stderr.write(shown(line) + "\n")
            sys.stderr.flush()
        except OSError:
            pass  # its reader has gone; what is printed is not worth an end


def read_first_line(path: str, flag: str) -> str:
    try:
        line = Path(path).read_text(encoding="utf-8").splitlines()[0].strip()
    except (OSError, UnicodeDecodeError, IndexError):
        line = ""
    if not line:
        raise AgentError(f"no token can be read from {flag} {path}", NO_PERMISSION)
    return line


def _parser() -> argparse.ArgumentParser:
    def command(name: str, text: str) -> argparse.ArgumentParser:
        summary, _, rest = text.partition("\n\n")
        return commands.add_parser(name, help=summary.splitlines()[0], description=text, epilog="" if rest else None,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)

    def server_flags(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--url", "--server", metavar="URL", default="", help="The server. Remembered after the first time.")
        parser.add_argument("--token-file", metavar="FILE", default="", help="File with the token.")

    top = argparse.ArgumentParser(prog="restante.py", description=TOP, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"restante.py {VERSION}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    connect = command("connect", CONNECT)
    server_flags(connect)
    add = connect.add_argument
    add("--enrol", metavar="TOKEN", default="", help="Enrolment token shown with a new workspace; works once.")
    add("--enrol-file", metavar="FILE", default="", help="File with the enrolment token, so that it is not shown in ps.")
    add("--workspace", metavar="ID", default="", help="Workspace id; default: the token's own, or the only one known here.")
    add("--dir", metavar="DIR", default="", help="Where files land, in .molecule/chat-uploads; default: /workspace if writable, else here.")
    add("--state", metavar="DIR", default="", help="Where token and ledger are kept between runs; default: a folder for each workspace.")
    add("--exec", metavar="COMMAND", default="", help="Shell command run once per message.")
    add("--exec-timeout", metavar="SECONDS", type=_positive, default=None, help="End a command that runs longer. Default: never.")
    add("--attempts", metavar="N", type=_positive, default=5, help="How often a failing command is run before its sender is notified. Default: 5.")
    add("--json", action="store_true", help="One JSON object a line on stdout for everything that arrives; answers are read as JSON lines from stdin.")
    add("--reply-to-agents", action="store_true",
        help="Send the output of --exec for other agents' messages back to them; at most 8 times in a row.")
    add("--file-wait", metavar="SECONDS", type=_up_to_an_hour, default=20, help="How long a message waits for its files. Default: 20.")
    send = command("send", SEND)
    server_flags(send)
    add = send.add_argument
    add("text", metavar="TEXT", nargs="?", default="", help="The text. May be left out when there are files.")
    add("--to", metavar="ID", default="", help="The workspace: id or name. Not needed with a sender's token.")
    add("--file", metavar="FILE", action="append", default=[], help="A file to send along. May be repeated.")
    add("--wait", action="store_true", help="Wait until each file was acknowledged, or is known to have failed.")
    add("--timeout", metavar="SECONDS", type=_positive, default=None, help="With --wait: give up after so many seconds (exit code 75).")
    add("--json", action="store_true", help="One JSON object, for scripts.")
    update_command = command("update", UPDATE)
    update_command.add_argument("--url", "--server", metavar="URL", default="", help="The server; default: that of the agents known here.")
    status = command("status", STATUS)
    status.add_argument("--state", metavar="DIR", default="", help="One state directory; default: all of this user.")
    status.add_argument("--json", action="store_true", help="One JSON object a line, for scripts.")
    return top


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError("is not a number above 0")
    return int(text)


def _up_to_an_hour(text: str) -> int:
    if not text.isdigit() or int(text) > 3600:
        raise argparse.ArgumentTypeError("is not a number from 0 to 3600")
    return int(text)


# -- connect


def stop_on_signals() -> Stop:
    """From now on SIGTERM, SIGINT and SIGHUP request the stop. nohup has set SIGHUP to be ignored on purpose."""
    stop = Stop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: stop.request())
    return stop


def _connect(asked: argparse.Namespace) -> int:
    enrol = asked.enrol or (read_first_line(asked.enrol_file, "--enrol-file") if asked.enrol_file else "")
    if enrol and asked.token_file:
        raise AgentError("give either --enrol or --token-file, not both", USAGE)
    if asked.exec and asked.json:
        raise AgentError("give either --exec or --json: a command gets JSON on its stdin anyway", USAGE)
    if asked.reply_to_agents and not asked.exec:
        raise AgentError("--reply-to-agents needs --exec: only a command has an answer to send", USAGE)
    wrong = check_command(asked.exec) if asked.exec else ""
    if wrong:  # before the enrolment token is spent
        raise AgentError(wrong, USAGE)
    token = read_first_line(asked.token_file, "--token-file") if asked.token_file else "" if enrol else os.environ.get("RESTANTE_TOKEN", "")
    given = Choice(asked.url or os.environ.get("RESTANTE_URL", ""), enrol, token, asked.workspace, asked.state)
    stop = stop_on_signals()
    chosen = choose_state(given, stop, print_error)
    state = StateDirectory(chosen.state, print_error)
    try:
        runs = state.path / "runs"
        forget_other_runs(runs, state.ledger.begun_deliveries(), state.ledger.unsent_folders())
        handover: Handover = (CommandHandover(asked.exec, runs, stop, asked.exec_timeout) if asked.exec else LineHandover(asked.json))
        settings = Settings(chosen.server, landing_directory(asked.dir), token, enrol, parse_id(asked.workspace) or "",
                            delivery=DeliveryOptions(asked.file_wait, attempts=asked.attempts, reply_to_agents=asked.reply_to_agents))
        session = Session(settings, state, handover, stop, print_error)
        session.on_connected = lambda: say_if_newer(session.connect(), print_error)
        if asked.json:
            threading.Thread(target=AnswerReader(session, runs, print_error).run, name="restante answers", daemon=True).start()
        end = session.run_beside()
    finally:
        state.close()
    return {STOPPED: 0, NOT_PERMITTED: NO_PERMISSION, REFUSED: UNAVAILABLE, READER_GONE: 1}[end]


# -- send


def _send(asked: argparse.Namespace) -> int:
    url, token = asked.url or os.environ.get("RESTANTE_URL", ""), os.environ.get("RESTANTE_TOKEN", "")
    if not url:
        raise AgentError("which server? Give --url https://…, or set RESTANTE_URL", USAGE)
    if not asked.text and not asked.file:
        raise AgentError("there is nothing to send: give a text, or --file", USAGE)
    if asked.token_file:
        token = read_first_line(asked.token_file, "--token-file")
    if not token:
        raise AgentError("whose message is it? Give --token-file, or set RESTANTE_TOKEN", NO_PERMISSION)
    api = ApiClient(parse_url(url), token)
    who = api.session()
    target = _target(api, who, asked.to)
    key = str(uuid.uuid4())
    if text_of(who, "role") == "workspace":
        api.workspace = text_of(who, "workspace_id")
        files = api.stage([Path(one) for one in asked.file], key)
        answer = api.message(target, asked.text, files, key)
    else:
        files = api.upload(f"/workspaces/{target}/chat/uploads", [Path(one) for one in asked.file], key)
        answer = api.message(target, asked.text, files, key, role="user")
    api.workspace = target
    code = _wait(api, files, asked) if asked.wait and text_of(who, "role") != "workspace" else 0
    if asked.json:
        print(compact({"workspace_id": target, "files": files, "message": answer}))
    elif not asked.wait:
        print("The message is kept for the agent and will be there when it asks." if not files else
              f"{len(files)} {'file is' if len(files) == 1 else 'files are'} kept for the agent until it asks.")
    return code


def _target(api: ApiClient, who: Json, to: str) -> str:
    role, own = text_of(who, "role"), text_of(who, "workspace_id")
    if not to:
        if role == "sender":
            return own
        raise AgentError("to whom? Give --to with the workspace's id or name", USAGE)
    found = parse_id(to)
    if found:
        return found
    api.workspace = own
    known = api.peers() if role == "workspace" else api.get("/workspaces") if role == "admin" else []
    named = [one for one in known if text_of(one, "name") == to and text_of(one, "status") != "removed"]
    if len(named) == 1:
        return text_of(named[0], "id")
    if named:
        listed = "\n".join(f"  {text_of(one, 'id')}  last seen {text_of(one, 'last_heartbeat_at') or 'never'}" for one in named)
        raise AgentError(f"several workspaces are called {to!r}; give the id:\n{listed}", USAGE)
    raise AgentError(f"there is no workspace {to!r}")


def _wait(api: ApiClient, files: List[Json], asked: argparse.Namespace) -> int:
    """Follows the files until each has a final state."""
    until = None if asked.timeout is None else time.monotonic() + asked.timeout
    states: Dict[str, str] = {}
    ids = [one for one in (pending_file(text_of(file, "uri")) for file in files) if one]
    while any(states.get(one) not in FINAL_STATES for one in ids):
        for one in (one for one in ids if states.get(one) not in FINAL_STATES):
            try:
                now = api.file_state(one)
            except Failure as failure:
                if not failure.passes():
                    raise
                continue
            if text_of(now, "state") != states.get(one) and not asked.json:
                print(f"{text_of(now, 'name')}: {text_of(now, 'state')} {text_of(now, 'reason')}".rstrip(), flush=True)
            states[one] = text_of(now, "state")
        if until is not None and time.monotonic() > until:
            raise AgentError(f"not everything was fetched within {asked.timeout} s; it stays there and can be fetched until it expires", TRY_AGAIN)
        if any(states.get(one) not in FINAL_STATES for one in ids):
            time.sleep(0.5)
    for file, one in zip(files, ids):
        file["state"] = states[one]
    return 0 if all(states[one] == "acked" for one in ids) else 1


# -- status


def condition_of(state: KnownState, now: float) -> "tuple[int, str]":
    if not state.workspace and not state.in_use:
        return NO_PERMISSION, "not set up"
    if not state.in_use:
        return 1, "stopped"
    polled = parse_time(text_of(state.health, "last_poll_at"))
    if polled and now - polled.timestamp() < FRESH and not state.health.get("trouble"):
        return 0, "connected"
    return UNAVAILABLE, "unreachable"


def _status(asked: argparse.Namespace) -> int:
    states = [KnownState(Path(asked.state))] if asked.state else known_states(folder_of_states())
    if not states:
        print("no agent was connected here; connect one first: python3 restante.py connect --url https://… --enrol TOKEN")
        return NO_PERMISSION
    codes = []
    for state in states:
        code, word = condition_of(state, time.time())
        codes.append(code)
        facts: Dict[str, Any] = {**state.health, "status": word, "running": state.in_use, "holder": state.holder, "server": state.server,
                                 "workspace_id": state.workspace, "state": str(state.path)}
        if asked.json:
            print(compact(facts))
            continue
        shown_facts = (("agent", word), ("server", state.server), ("workspace", state.workspace),
                       ("runs as" if state.in_use else "ran as", state.holder), ("last answer", facts.get("last_poll_at")),
                       ("trouble", facts.get("trouble") if state.in_use else ""), ("files to download", facts.get("waiting_files")),
                       ("replies to send", facts.get("unsent_replies")), ("state", facts["state"]))
        print("\n".join(f"{name:<18}{without_controls(str(value))}" for name, value in shown_facts if value) + "\n")
    return max(codes) if len(codes) == 1 else (0 if 0 in codes else max(codes))


def _update(asked: argparse.Namespace) -> int:
    servers = sorted({state.server for state in known_states(folder_of_states())})
    url = asked.url or os.environ.get("RESTANTE_URL", "") or (servers[0] if len(servers) == 1 else "")
    if not url:
        raise AgentError("which server? Give --url https://…", USAGE)
    print(update(ApiClient(parse_url(url))))
    return 0


def main(words: Optional[Sequence[str]] = None) -> int:
    """Returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console may lack a character of a name
    try:
        asked = _parser().parse_args(words)
    except SystemExit as end:
        return USAGE if end.code == 2 else int(end.code or 0)
    try:
        return {"connect": _connect, "send": _send, "status": _status, "update": _update}[asked.command](asked)
    except AgentError as error:
        if error.code:
            print_error(f"restante.py: {error}")
        return error.code
    except DiskTrouble as error:
        print_error(f"restante.py: {error}")
        return TRY_AGAIN if error.in_use else 1
    except Failure as failure:
        print_error(f"restante.py: {failure}")
        return (NO_PERMISSION if failure.status in (401, 403) else UNAVAILABLE if failure.passes() else
                USAGE if failure.kind == "bad_url" else 1)
    except KeyboardInterrupt:
        return 130
