"""ServerGroup: several servers on one PostgreSQL database and one shared directory. Role: one that is not a superuser."""
import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.server import Server
from support.waiting import wait_until

SETTINGS = {"postgres.connect_timeout": "10s"}


class ServerGroup:
    def __init__(self, url):
        self.url, self.data, self.servers = url, Path(tempfile.mkdtemp(prefix="restante-test-")), []

    def add(self, settings=None, *, url=None, **options):
        """Starts one more server. `url`: another way to the same database."""
        server = Server({**SETTINGS, **(settings or {})}, data=self.data, arguments=("--database", url or self.url), **options)
        self.servers.append(server)
        return server

    def finish(self):
        with ExitStack() as stack:  # finishes all of them, even if one fails its check
            stack.callback(shutil.rmtree, self.data, ignore_errors=True)
            for server in self.servers:
                stack.callback(server.finish)


def database_of(url):
    return url.rpartition("/")[2]


class Role:
    """An ordinary role that owns the database: limits do not hold for a superuser."""

    def __init__(self, postgres, name, url):
        self.postgres, self.name = postgres, name
        self.url = f"postgres://{name}@{url.partition('@')[2]}"

    def limit(self, connections):
        """At most so many connections from now on; open ones stay open. -1: any number."""
        self.postgres.sql(f"ALTER ROLE {self.name} CONNECTION LIMIT {connections}")

    def end_sessions(self):
        """Ends the open sessions; they have ended when this returns."""
        self.postgres.sql(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = '{self.name}'")


@contextmanager
def ordinary_role(postgres, url):
    name, database = "role_" + os.urandom(6).hex(), database_of(url)
    postgres.sql(f"CREATE ROLE {name} LOGIN", f"ALTER DATABASE {database} OWNER TO {name}")
    postgres.sql(f"ALTER SCHEMA public OWNER TO {name}", database=database)
    role = Role(postgres, name, url)
    yield role
    role.limit(0)
    role.end_sessions()
    postgres.sql(f"ALTER DATABASE {database} OWNER TO {postgres.user}")

    def drop_owned():
        try:
            postgres.sql(f"REASSIGN OWNED BY {name} TO {postgres.user}", f"DROP OWNED BY {name}", database=database)
            return True
        except RuntimeError as error:  # a server still runs and connects with another role
            if "deadlock detected" not in str(error):
                raise
            return False

    wait_until(drop_owned, "the role owns nothing any more")
    postgres.sql(f"DROP ROLE {name}")
