"""Backend: the database and the blob place of a server under test. RESTANTE_TEST_BACKEND chooses them for a whole run:

    sqlite+dir (the default)   sqlite+inline   postgres+dir   postgres+inline   postgres+s3

Every data directory has its own Home: a database and, for S3, a bucket. A server that is started again on the same data gets
the same Home. PostgreSQL and S3 are started when they are first needed, and end with the process. `server.blobs()` lists the
blobs in any place; a test can read, change, cut and remove each of them without the server.
"""
import atexit
import http.client
import json
import os
import re
import shutil
import sqlite3
import subprocess
import urllib.parse
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

from support.postgres import Postgres, clients
from support.swift import Swift
from support.waiting import wait_until

CHUNK = 1 << 20
MARK = "restante-owner"  # names the installation that owns a directory or a bucket; it is not a blob
ROWS, _, BYTES = os.environ.get("RESTANTE_TEST_BACKEND", "sqlite+dir").partition("+")
# A blob without a file descriptor is deleted only when no request can still read it: after the longest request.
SOON = {} if BYTES == "dir" else {"timeouts.request": "3s"}

_started = {}
_homes = {}


def _shared(kind):
    """The instance that this process shares."""
    if kind not in _started:
        _started[kind] = kind()
        atexit.register(_started[kind].__exit__)
    return _started[kind]


def home_of(data):
    """The Home of a data directory. The first call for a directory makes it."""
    key = os.path.realpath(data)
    if key not in _homes:
        _homes[key] = Home(Path(key))
    return _homes[key]


def forget(data):
    """Removes the Home together with its directory."""
    home = _homes.pop(os.path.realpath(data), None)
    if home:
        home.remove()


class SqliteRows:
    def __init__(self, data):
        self.arguments, self.data = (), data

    def query(self, *statements):
        """All or none; the rows of the last one."""
        with TemporaryDirectory() as folder:
            database = sqlite3.connect(self._file(folder), timeout=30)
            try:
                with database:
                    return [database.execute(statement) for statement in statements][-1].fetchall()
            finally:
                database.close()

    def _file(self, folder):
        """The database file. Of a file system that only the server sees it is a copy: SQLite opens no path through /proc."""
        if self.data.parts[1] != "proc":
            return self.data / "restante.db"
        for file in self.data.glob("restante.db*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, folder)
        return Path(folder) / "restante.db"

    @staticmethod
    def literal(data):
        return f"X'{data.hex()}'"

    def read(self, key, number):
        found = self.query(f"SELECT bytes FROM blob_chunks WHERE blob_key = '{key}' AND number = {number}")
        return found[0][0] if found else b""

    def drop_table(self, name):
        self.query(f"DROP TABLE {name}")

    def remove(self):
        pass


class PostgresRows:
    def __init__(self, _):
        self._postgres, self._name = _shared(Postgres), "test_" + uuid.uuid4().hex
        self._postgres.sql(f"CREATE DATABASE {self._name}")
        self.arguments = ("--database", self._postgres.url(self._name))

    def query(self, *statements):
        """All or none; the rows of the last one, of texts without spaces."""
        command = [clients() / "psql", "-qAtX", "-1", "-F", " ", "-v", "ON_ERROR_STOP=1", "-f", "-", self._postgres.url(self._name)]
        done = subprocess.run(command, input=";\n".join(statements), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [tuple(line.split(" ")) for line in done.stdout.splitlines()]

    @staticmethod
    def literal(data):
        return f"'\\x{data.hex()}'::bytea"

    def read(self, key, number):
        found = self.query(f"SELECT encode(bytes, 'hex') FROM blob_chunks WHERE blob_key = '{key}' AND number = {number}")
        return bytes.fromhex(found[0][0]) if found else b""

    def drop_table(self, name):
        self.query(f"DROP TABLE {name} CASCADE")

    def remove(self):
        self._postgres.sql(f"DROP DATABASE {self._name} WITH (FORCE)")


class FileBlob:
    def __init__(self, path):
        self.key, self._path = path.name, path

    def read(self):
        return self._path.read_bytes()

    def write(self, data):
        """Writes in place and keeps the file's age."""
        before = self._path.stat()
        with open(self._path, "r+b") as file:
            file.write(data)
            file.truncate()
        os.utime(self._path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def remove(self):
        self._path.unlink()


class DirBytes:
    settings, environment = {}, {}

    def __init__(self, data, _):
        self._data = data

    def blobs(self, server):
        return [FileBlob(path) for path in (server.data / "blobs").rglob("*") if path.is_file() and path.name != MARK]

    def unfinished(self, server):
        return server.unfinished_files()

    def remove(self):
        pass


class InlineBlob:
    def __init__(self, rows, key):
        self.key, self._rows = key, rows

    def read(self):
        data, number = b"", 0
        while chunk := self._rows.read(self.key, number):
            data, number = data + chunk, number + 1
        return data

    def write(self, data):
        parts = [self._rows.literal(data[at:at + CHUNK]) for at in range(0, len(data), CHUNK)]
        self._rows.query(f"DELETE FROM blob_chunks WHERE blob_key = '{self.key}' AND number >= {len(parts)}",
                         *[f"UPDATE blob_chunks SET bytes = {part} WHERE blob_key = '{self.key}' AND number = {number}"
                           for number, part in enumerate(parts)])

    def remove(self):
        self._rows.query(*[f"DELETE FROM {table} WHERE blob_key = '{self.key}'" for table in ("inline_blobs", "blob_chunks")])


class InlineBytes:
    settings, environment = {"blobs": "inline"}, {}

    def __init__(self, _, rows):
        self._rows = rows

    def _keys(self, finished):
        wanted = ("finished" if finished else "NOT finished")
        return [row[0] for row in self._rows.query(f"SELECT blob_key FROM inline_blobs WHERE {wanted}")]

    def blobs(self, _):
        return [InlineBlob(self._rows, key) for key in self._keys(True)]

    def unfinished(self, _):
        chunks = {row[0] for row in self._rows.query("SELECT DISTINCT blob_key FROM blob_chunks")}
        return sorted(chunks - set(self._keys(True)))

    def remove(self):
        pass


class Bucket:
    """A bucket of Swift. It uses Swift's own API instead of S3's, so that it shows what Swift has really stored."""

    def __init__(self, swift):
        self._address = urllib.parse.urlsplit(swift.endpoint).netloc
        self.name = "test-" + uuid.uuid4().hex
        wait_until(lambda: self._sign_in(swift) and self._is_made(), "Swift's parts have found each other", 120)

    def _sign_in(self, swift):
        answer = self._ask("GET", "/auth/v1.0", {"X-Auth-User": swift.access_key, "X-Auth-Key": swift.secret_key})
        if answer.status != 200:
            return False
        self._token = {"X-Auth-Token": answer.getheader("X-Auth-Token")}
        self._root = urllib.parse.urlsplit(answer.getheader("X-Storage-Url")).path
        return self._ask("HEAD", self._root, self._token).status in (200, 204)

    def _is_made(self):
        try:
            self.make()
            return True
        except AssertionError:
            return False

    def make(self):
        self._do("PUT", f"/{self.name}")
        # Multipart uploads store their parts there.
        self._do("PUT", f"/{self.name}+segments")

    def remove_all(self):
        """Removes the bucket. It must be empty except for the owner's mark."""
        for mark in self.marks():
            self.remove(mark)
        self._do("DELETE", f"/{self.name}")

    def _ask(self, method, target, headers, body=None):
        connection = http.client.HTTPConnection(self._address, timeout=120)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            answer.content = answer.read()
            return answer
        finally:
            connection.close()

    def _do(self, method, path, body=None):
        answer = self._ask(method, self._root + path, self._token, body)
        assert answer.status in (200, 201, 202, 204), (method, path, answer.status, answer.content[:200])
        return answer.content

    def _names(self, container):
        names = []
        while True:
            marker = urllib.parse.quote(names[-1], safe="") if names else ""
            page = [item["name"] for item in json.loads(self._do("GET", f"/{container}?format=json&marker={marker}"))]
            if not page:
                return names
            names += page

    def objects(self):
        return [name for name in self._names(self.name) if not name.endswith(MARK)]

    def marks(self):
        return [name for name in self._names(self.name) if name.endswith(MARK)]

    def parts(self):
        """Parts of multipart uploads that were neither completed nor aborted. A completed upload has an object that contains its parts."""
        objects = set(self.objects())
        return [name for name in self._names(f"{self.name}+segments") if re.sub(r"/[^/]+(/[0-9]+)?$", "", name) not in objects]

    def read(self, name):
        return self._do("GET", f"/{self.name}/{urllib.parse.quote(name)}")

    def write(self, name, data):
        self._do("PUT", f"/{self.name}/{urllib.parse.quote(name)}", data)

    def remove(self, name):
        self._do("DELETE", f"/{self.name}/{urllib.parse.quote(name)}")


class ObjectBlob:
    def __init__(self, bucket, name):
        self.key, self._bucket, self._name = name.rpartition("/")[2], bucket, name

    def read(self):
        return self._bucket.read(self._name)

    def write(self, data):
        self._bucket.write(self._name, data)

    def remove(self):
        self._bucket.remove(self._name)


class S3Bytes:
    def __init__(self, *_):
        swift = _shared(Swift)
        self.bucket = Bucket(swift)
        self.settings, self.environment = s3_settings(swift, self.bucket.name)

    def blobs(self, _):
        return [ObjectBlob(self.bucket, name) for name in self.bucket.objects()]

    def unfinished(self, _):
        return self.bucket.parts()

    def remove(self):
        pass  # removed with all of Swift, a moment later


def s3_settings(swift, bucket):
    """(settings, environment) of a server that stores its files in this bucket."""
    settings = {"blobs": "s3", "s3.endpoint": swift.endpoint, "s3.bucket": bucket, "s3.region": swift.region}
    return settings, {"AWS_ACCESS_KEY_ID": swift.access_key, "AWS_SECRET_ACCESS_KEY": swift.secret_key}


class Home:
    def __init__(self, data):
        self.rows = {"sqlite": SqliteRows, "postgres": PostgresRows}[ROWS](data)
        self.bytes = {"dir": DirBytes, "inline": InlineBytes, "s3": S3Bytes}[BYTES](data, self.rows)
        self.arguments, self.settings, self.environment = self.rows.arguments, self.bytes.settings, self.bytes.environment

    def remove(self):
        self.bytes.remove()
        self.rows.remove()


def flip(blob):
    """Flips one bit in the middle; the size does not change."""
    data = bytearray(blob.read())
    data[len(data) // 2] ^= 1
    blob.write(bytes(data))


def cut(blob, size):
    blob.write(blob.read()[:size])
