"""What the glossary calls retired is used nowhere any more: names in code and texts, and the words that texts once used."""
import os
import re
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("RESTANTE_SOURCE") or Path(__file__).resolve().parents[1])
FOLDERS = ("src", "tests", "docs", "web", "clients", "tools", "bench", "fuzz", "examples", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
TEXT = {".h", ".cpp", ".c", ".py", ".md", ".ts", ".svelte", ".mjs", ".html", ".css", ".yaml", ".json", ".sh", ".txt", ".cmake", ".sql", ""}
# The two documents that list the old names, this test, and the comments of tables, which migrations have stored in databases.
EXCEPT = {"docs/glossary.md", "docs/adr/0012-plain-words.md", "tests/glossary_test.py", "tests/golden/schema/postgres.txt",
          "tests/golden/schema/sqlite.txt"}
GENERATED = {"node_modules", "dist", "__pycache__"}


def retired_part():
    return (SOURCE / "docs/glossary.md").read_text().partition("\n## Retired names\n")[2]


def retired_names():
    return set(re.findall(r"`(\w+)` →", retired_part()))


def retired_words():
    line = next(line for line in retired_part().splitlines() if line.startswith("Words that were retired"))
    return set(re.findall(r"\*\*(.+?)\*\*", line))


def files():
    for folder in FOLDERS:
        top = SOURCE / folder
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            name = path.relative_to(SOURCE)
            if path.is_file() and path.suffix in TEXT and not GENERATED & set(name.parts) and str(name) not in EXCEPT and "corpus" not in name.parts:
                yield str(name), path


def places_of(pattern):
    return [f"{name}:{number}: {found.group()}"
            for name, path in files() for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
            for found in pattern.finditer(line)]


def test_no_retired_name_is_used_as_a_whole_identifier():
    names = retired_names()
    assert len(names) > 200, "the list was found"
    assert places_of(re.compile(rf"\b(?:{'|'.join(sorted(names))})\b")) == []


def test_no_text_uses_a_retired_word():
    words = retired_words()
    assert words, "the list was found"
    assert places_of(re.compile(rf"\b(?:{'|'.join(sorted(words))})s?\b", re.IGNORECASE)) == []


@pytest.mark.parametrize("kind", ["src", "tests", "docs", "web"])
def test_every_folder_is_looked_through(kind):
    assert sum(1 for name, _ in files() if name.startswith(f"{kind}/")) > 10
