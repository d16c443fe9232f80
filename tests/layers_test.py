"""src/ follows the layer table of ARCHITECTURE.md, and the script that checks it finds violations."""
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("RESTANTE_SOURCE") or Path(__file__).resolve().parents[1])
SCRIPT = ROOT / "tools" / "check_layers"

TABLE = """# A title

| path | what |
|---|---|
| a | b |

| layer | may include | never |
|---|---|---|
| `base` | std, Boost.System and .JSON, fmt, prometheus-cpp, libcrypto | anything of ours |
| `model` | base | I/O, SQL, HTTP |
| `store` (headers) | model, base | a driver's header |
| `store/<backend>` | store, model, base, its driver (`s3`: client) | another backend, desk, api |
| `desk` | store, model, base | http, net, any backend |
| `http` | base | model, store, Asio |
| `api` | desk, http, model, base | net, Asio, any backend |
| `net` | http, base, Asio/Beast | model, store, desk, api |
| `client` | base, http, Asio/Beast without coroutines, OpenSSL | model, store, desk, api, net |
| `agent` | base, model, http, client | store, desk, api, net, server |
| `server`, `cli` | everything | – |
"""

CLEAN = {
    "base/json.h": "#include <boost/json.hpp>\n#include <fmt/format.h>\n#include <openssl/evp.h>\n",
    "base/json.cpp": '#include "base/json.h"\n// co_await is for net, like boost::asio\nconst char* s = "co_await #include \\"net/x.h\\"";\n',
    "model/errors.h": '#include "base/json.h"\n#include <string>\n',
    "store/store.h": '#include "model/errors.h"\n',
    "store/sqlite/inbox.cpp": '#include "store/store.h"\n#include <sqlite3.h>\n#include "store/sqlite/rows.h"\n',
    "store/sqlite/rows.h": '#include "base/json.h"\n',
    "store/sql/reader.h": '#include "store/store.h"\n#include "store/sql/row.h"\n',
    "store/sqlite/uploads/read.cpp": '#include "store/sql/reader.h"\n',
    "store/s3/blobs.cpp": '#include "client/client.h"\n#include "store/store.h"\n',
    "desk/inbox.cpp": '#include "store/store.h"\n',
    "desk/inbox_test.cpp": '#include <gtest/gtest.h>\n#include "store/sqlite/rows.h"\n#include "desk/inbox.h"\n',
    "desk/uploads/staging.h": '#include "store/store.h"\n',
    "desk/uploads/staging.cpp": '#include "desk/uploads/staging.h"\n#include "desk/inbox.h"\n',
    "store/sqlite/uploads/rows.h": '#include "store/sqlite/rows.h"\n#include <sqlite3.h>\n',
    "store/sqlite/uploads/uploads.cpp": '#include "store/sqlite/uploads/rows.h"\n#include "store/store.h"\n',
    "http/request.h": '#include "base/json.h"\n',
    "api/routes.cpp": '#include "desk/inbox.h"\n#include "http/request.h"\n#include "model/errors.h"\n',
    "asio/asio_pch.h": '#include "base/pch.h"\n#include <boost/asio.hpp>\n',
    "net/connection.cpp": '#include "asio/asio_pch.h"\n#include <boost/asio.hpp>\n#include "http/request.h"\n'
                          "void f() { co_await g(); boost::asio::io_context c; }\n",
    "client/client.h": '#include <boost/beast.hpp>\n#include <openssl/ssl.h>\n#include "http/request.h"\nnamespace asio = boost::asio;\n',
    "agent/loop.cpp": '#include "client/client.h"\n#include "model/errors.h"\n',
    "server/wiring.cpp": '#include "store/sqlite/rows.h"\n#include "net/connection.h"\n#include "api/routes.h"\n#include <toml++/toml.h>\n',
    "cli/main.cpp": '#include "server/wiring.h"\n#include <CLI/CLI.hpp>\n',
}

VIOLATIONS = {
    "base includes ours": ("base/json.h", '#include "model/errors.h"'),
    "model includes http": ("model/errors.h", '#include "http/request.h"'),
    "model does I/O": ("model/errors.h", "#include <fstream>"),
    "store header with a driver": ("store/store.h", "#include <sqlite3.h>"),
    "store header with a backend": ("store/store.h", '#include "store/sqlite/rows.h"'),
    "shared SQL with a driver": ("store/sql/reader.h", "#include <sqlite3.h>"),
    "shared SQL with a backend": ("store/sql/reader.h", '#include "store/sqlite/rows.h"'),
    "one backend includes another": ("store/sqlite/inbox.cpp", '#include "store/s3/blobs.h"'),
    "backend includes desk": ("store/sqlite/inbox.cpp", '#include "desk/inbox.h"'),
    "backend includes client": ("store/sqlite/inbox.cpp", '#include "client/client.h"'),
    "backend with a foreign driver": ("store/sqlite/inbox.cpp", "#include <libpq-fe.h>"),
    "desk includes http": ("desk/inbox.cpp", '#include "http/request.h"'),
    "desk includes net": ("desk/inbox.cpp", '  #  include "net/connection.h"'),
    "desk names a backend": ("desk/inbox.cpp", '#include "store/sqlite/rows.h"'),
    "a folder of desk includes http": ("desk/uploads/staging.cpp", '#include "http/request.h"'),
    "a folder of desk names a folder of a backend": ("desk/uploads/staging.cpp", '#include "store/sqlite/uploads/rows.h"'),
    "a folder of a backend includes another backend": ("store/sqlite/uploads/uploads.cpp", '#include "store/s3/blobs.h"'),
    "a folder of a backend includes desk": ("store/sqlite/uploads/rows.h", '#include "desk/uploads/staging.h"'),
    "a folder of a backend with a foreign driver": ("store/sqlite/uploads/uploads.cpp", "#include <libpq-fe.h>"),
    "http includes model": ("http/request.h", '#include "model/errors.h"'),
    "http includes Asio": ("http/request.h", "#include <boost/asio/buffer.hpp>"),
    "http names Asio": ("http/request.h", "using boost::asio::buffer;"),
    "http opens sockets": ("http/request.h", "#include <sys/socket.h>"),
    "http test includes store": ("http/request_test.cpp", '#include "store/sqlite/rows.h"'),
    "api includes net": ("api/routes.cpp", '#include "net/connection.h"'),
    "api includes the Asio header": ("api/routes.cpp", '#include "asio/asio_pch.h"'),
    "api names a backend": ("api/routes.cpp", '#include "store/sqlite/rows.h"'),
    "api awaits": ("api/routes.cpp", "void f() { co_await g(); }"),
    "net includes api": ("net/connection.cpp", '#include "api/routes.h"'),
    "net includes store": ("net/connection.cpp", '#include "store/store.h"'),
    "client returns a coroutine": ("client/client.h", "inline T f() { co_return 1; }"),
    "client includes net": ("client/client.h", '#include "net/connection.h"'),
    "agent includes server": ("agent/loop.cpp", '#include "server/wiring.h"'),
    "server awaits": ("server/wiring.cpp", "void f() { co_await g(); }"),
    "server includes Asio": ("server/wiring.cpp", "#include <boost/asio.hpp>"),
    "test framework outside a test": ("desk/inbox.cpp", "#include <gtest/gtest.h>"),
    "command line outside cli": ("desk/inbox.cpp", "#include <CLI/CLI.hpp>"),
    "a folder that is not in the table": ("misc/helper.h", "int x;"),
    "a way around by dots": ("desk/inbox.cpp", '#include "../net/connection.h"'),
}


def check(root):
    done = subprocess.run([SCRIPT, root], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "ARCHITECTURE.md").write_text(TABLE)
    for name, text in CLEAN.items():
        write(tmp_path, name, text)
    return tmp_path


def write(root, name, text):
    path = root / "src" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_our_tree_keeps_to_its_layers():
    assert check(ROOT) == (0, "", "")


def test_a_clean_tree_is_clean(tree):
    assert check(tree) == (0, "", "")


@pytest.mark.parametrize("name, line", VIOLATIONS.values(), ids=[key.replace(" ", "_") for key in VIOLATIONS])
def test_a_violation_is_found_and_its_line_is_named(tree, name, line):
    before = CLEAN.get(name, "")
    write(tree, name, before + line + "\n")
    code, out, _ = check(tree)
    number = 1 if name == "misc/helper.h" else before.count("\n") + 1
    assert code == 1
    direct = [line for line in out.splitlines() if " reaches " not in line]
    assert len(direct) == 1 and direct[0].startswith(f"src/{name}:{number}: "), out


def test_what_a_file_reaches_through_allowed_files_is_compared_with_never(tree):
    write(tree, "desk/inbox.h", '#include "store/store.h"\n')
    assert check(tree) == (0, "", "")
    (tree / "ARCHITECTURE.md").write_text(TABLE.replace("| net, Asio, any backend |", "| net, Asio, store, any backend |"))
    assert check(tree) == (1, 'src/api/routes.cpp:1: api reaches store through desk/inbox.h: "store/store.h"\n', "")


def test_a_driver_that_is_reached_through_a_header_is_found_at_whoever_includes_it(tree):
    write(tree, "store/store.h", "#include <sqlite3.h>\n")
    _, out, _ = check(tree)
    assert "src/desk/inbox.cpp:1: desk reaches <sqlite3.h> through store/store.h\n" in out


def test_a_changed_table_changes_the_result(tree):
    write(tree, "desk/inbox.cpp", '#include "http/request.h"\n')
    assert check(tree)[0] == 1
    (tree / "ARCHITECTURE.md").write_text(TABLE.replace("| `desk` | store, model, base | http, net", "| `desk` | store, http, model, base | net"))
    assert check(tree)[0] == 0


@pytest.mark.parametrize("table", ["", "| layer | may include |\n|---|---|\n", TABLE.replace("`net`", "`nit`"),
                                   TABLE.replace("| `desk` | store, model, base | http", "| `desk` | store, http | http")],
                         ids=["none", "two_columns", "row_missing", "contradiction"])
def test_a_missing_or_wrong_table_is_an_error(tree, table):
    (tree / "ARCHITECTURE.md").write_text(table)
    code, out, error = check(tree)
    assert (code, out) == (2, "") and error


def test_an_empty_tree_is_an_error(tmp_path):
    (tmp_path / "ARCHITECTURE.md").write_text(TABLE)
    (tmp_path / "src").mkdir()
    assert check(tmp_path)[0] == 2
