"""Postgres: the private PostgreSQL of a run, durable as Debian ships it, for the peer and for Restante. Use as a context manager,
which deletes the cluster at its end."""
import sys

from servers import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests"))
from support import postgres as private  # noqa: E402

SETTINGS = private.DURABLE + "shared_buffers = 1GB\ndynamic_shared_memory_type = posix\n"
OWN = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{}'"


class Postgres(private.Postgres):
    def __init__(self):
        # The peer's database; database() makes one for every other server.
        super().__init__(SETTINGS, parent=BUILD, environment={"LD_PRELOAD": str(BUILD / "one_session.so")})
        try:
            self.sql("CREATE DATABASE bench", database="postgres")
        except BaseException:
            self.__exit__()
            raise

    def sql(self, *statements, database="bench"):
        return super().sql(*statements, database=database)

    def transactions(self, url):
        """How many transactions have ended in that database. A single statement outside a transaction counts as one."""
        return int(self.sql(OWN.format(url.rpartition("/")[2])))
