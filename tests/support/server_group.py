"""Several: servers on one PostgreSQL database and one shared directory, and a role that is not a superuser."""
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
        """Another one; `url` for a way of its own to the database."""
        server = Server({**SETTINGS, **(settings or {})}, data=self.data, arguments=("--database", url or self.url), **options)
        self.servers.append(server)
        return server

    def finish(self):
        with ExitStack() as stack:  # all of them, whatever one of them complains about
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
        """From now on at most so many; none of those that there are ends by it. -1: any number."""
        self.postgres.sql(f"ALTER ROLE {self.name} CONNECTION LIMIT {connections}")

    def end_sessions(self):
        """Those that there are now; they have ended when this returns."""
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

    def dispossess():
        try:
            postgres.sql(f"REASSIGN OWNED BY {name} TO {postgres.user}", f"DROP OWNED BY {name}", database=database)
            return True
        except RuntimeError as error:  # with a server that is still there and comes as somebody else
            if "deadlock detected" not in str(error):
                raise
            return False

    wait_until(dispossess, "nothing is the role's any more")
    postgres.sql(f"DROP ROLE {name}")
