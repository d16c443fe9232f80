"""Person: a person who uses the command line, with a token and a few files."""
import os
import subprocess

from support.server import binary


def environment(**extra):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and "proxy" not in key.lower()}
    return {**clean, "TERM": "xterm", **extra}


class Person:
    """A person who uses the command line, with a token and a few files."""

    def __init__(self, server, folder, token=None, port=None):
        self.folder = folder
        self.token_file = folder / "token"
        self.token_file.write_text((token or server.admin_token) + "\n")
        self.where = ["--url", f"http://127.0.0.1:{port or server.port}", "--token-file", str(self.token_file)]

    def file(self, name, content):
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)

    def command(self, *args):
        return [binary(), *map(str, args), *self.where]

    def run(self, *args):
        return subprocess.run(self.command(*args), env=environment(), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)

    def start(self, *args):
        return subprocess.Popen(self.command(*args), env=environment(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
