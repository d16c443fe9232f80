"""Several: servers on one PostgreSQL database and one shared directory, and a role that is not a superuser."""
import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.server import Server

SETTINGS = {"postgres.connect_timeout": "10s"}


class Several:
    def __init__(self, url):
        self.url, self.data, self.servers = url, Path(tempfile.mkdtemp(prefix="restante-test-")), []

    def add(self, settings=None, *, url=None, **options):
        """Another one; `url` for a way of its own to the database."""
        self.servers.append(Server({**SETTINGS, **(settings or {})}, data=self.data, arguments=("--database", url or self.url), **options))
        return self.servers[-1]

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
        self.postgres.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{self.name}'")


@contextmanager
def ordinary_role(postgres, url):
    name, database = "role_" + os.urandom(6).hex(), database_of(url)
    postgres.sql(f"CREATE ROLE {name} LOGIN", f"ALTER DATABASE {database} OWNER TO {name}")
    postgres.sql(f"ALTER SCHEMA public OWNER TO {name}", database=database)
    yield Role(postgres, name, url)
    postgres.sql(f"ALTER DATABASE {database} OWNER TO {postgres.user}")
    postgres.sql(f"REASSIGN OWNED BY {name} TO {postgres.user}", f"DROP OWNED BY {name}", database=database)
    postgres.sql(f"DROP ROLE {name}")
