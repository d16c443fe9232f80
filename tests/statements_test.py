"""The SQL statements of the stores are compared with golden files. A change shows up here as a reminder to check the statement's plan,
the other backend, and servers of two versions on one database."""
import re
from pathlib import Path

import pytest

from support.golden import check_golden

SOURCE = Path(__file__).resolve().parent.parent / "src/store"
COMMENT = re.compile(r"//[^\n]*")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
NEXT = re.compile(r'\s*"')
# A statement, or a part of one.
SQL = re.compile(r"\s*,?\s*(SELECT|INSERT|UPDATE|DELETE|WITH|PRAGMA|BEGIN|COMMIT|ROLLBACK|LISTEN|NOTIFY|LOCK|DECLARE|FETCH|CREATE|DROP|ALTER|ANALYZE|FROM|"
                 r"WHERE|AND|OR|ORDER BY|LIMIT|RETURNING|ON CONFLICT|SET|JOIN|UNION|VALUES)\b")


def literals(text):
    """Every string literal of a C++ source. Adjacent literals are joined."""
    lines = [line if '"' in line.split("//")[0] and line.split("//")[0].count('"') % 2 else COMMENT.sub("", line) for line in text.splitlines(True)]
    text, at = "".join(line for line in lines if not line.startswith("#include")), 0
    while found := LITERAL.search(text, at):
        joined = found[1]
        while NEXT.match(text, found.end()):
            found = LITERAL.search(text, found.end())
            joined += found[1]
        at = found.end()
        yield joined.replace('\\"', '"').replace("\\\\", "\\").replace("\\n", "\n")


def sources(backend):
    """The files of a backend; of `shared`: those that belong to no backend."""
    paths = (SOURCE / backend).rglob("*") if backend != "shared" else [*SOURCE.glob("*.*"), *(SOURCE / "sql").glob("*")]
    return sorted(path for path in paths if path.is_file() and not path.name.endswith("_test.cpp"))


def statements(backend):
    out = []
    for path in sources(backend):
        found = [" ".join(text.split()) for text in literals(path.read_text(encoding="utf-8")) if SQL.match(text)]
        if found:
            out.append(f"-- {path.relative_to(SOURCE if backend == 'shared' else SOURCE / backend)}\n" + "".join(f"{text}\n" for text in found))
    return "\n".join(out)


def test_strings_are_read_as_the_compiler_reads_them():
    source = '''#include "x.h"
    run("SELECT a "  // "not this"
        "FROM \\"b\\"");  // nor "DELETE"
    print("hello"); const auto both = kSelect + "WHERE x = '//'";
    '''
    assert list(literals(source)) == ['SELECT a FROM "b"', "hello", "WHERE x = '//'"]


@pytest.mark.parametrize("backend", ["sqlite", "postgres", "shared"])
def test_the_statements_are_those_of_the_golden_file(backend):
    text = statements(backend)
    assert text.count("\n") > (10 if backend == "shared" else 50)
    check_golden(f"statements/{backend}.txt", text)
