"""Peer: the design to beat as a process, in one of its configurations, on the PostgreSQL of the run."""
import os
import shutil
import subprocess

from servers import BUILD, ROOT, Server, free_port, on_cores, wait_until

SOURCE = ROOT / "bench" / "peer" / "server"
BINARY = BUILD / "peer-server"
LEAN = ["-max-idle", "25", "-access-log=false"]
CONFIGURATIONS = {  # flags of the server, more for its connection string
    "as-run": ([], ""),
    "tuned": (LEAN, " binary_parameters=yes"),
    "pool25": (LEAN, ""),
}
WORKSPACES = 64


def build():
    """Builds it with Debian's packages. A second call takes no time."""
    if not shutil.which("go"):
        raise RuntimeError("Go is missing: run tools/setup bench")
    env = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(BUILD / "gocache"), "GOFLAGS": ""}
    subprocess.run(["go", "build", "-o", BINARY, "."], cwd=SOURCE, env=env, check=True)


def make_schema(postgres, count=WORKSPACES):
    """Tables, and workspaces with a token each. Returns the file of lines "id token"."""
    postgres.sql((SOURCE / "schema.sql").read_text())
    path = postgres.folder.parent / f"{postgres.folder.name}.workspaces"
    made = postgres.sql(
        f"""CREATE TABLE made AS SELECT gen_random_uuid() AS id,
              replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '') AS token FROM generate_series(1, {count})""",
        "INSERT INTO workspaces (id, name) SELECT id, 'bench' FROM made",
        """INSERT INTO workspace_auth_tokens (workspace_id, token_hash, prefix)
              SELECT id, sha256(token::bytea), left(token, 8) FROM made""",
        "SELECT id, token FROM made", "DROP TABLE made", "VACUUM ANALYZE workspaces", "VACUUM ANALYZE workspace_auth_tokens")
    path.write_text(made)
    return path


class Peer(Server):
    def __init__(self, configuration, postgres, workspaces, cores):
        super().__init__()
        self.name, self.postgres, self.workspaces, self.port = f"peer, {configuration}", postgres, workspaces, free_port()
        flags, more = CONFIGURATIONS[configuration]
        source = f"host=127.0.0.1 port={postgres.port} user={postgres.user} dbname=bench sslmode=disable{more}"
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen([BINARY, "-addr", f"127.0.0.1:{self.port}", "-dsn", source, *flags],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=on_cores(cores))
        try:
            wait_until(self._answers, "the peer answers")
        except BaseException:
            self.__exit__()
            raise

    def _answers(self):
        if self.process.poll() is not None:
            raise RuntimeError("the peer did not start:\n" + (self.folder / "log").read_text()[-2000:])
        try:
            return bool(self.request("GET", "/health"))
        except OSError:
            return False

    def roots(self):
        return [self.process.pid, self.postgres.process.pid]
