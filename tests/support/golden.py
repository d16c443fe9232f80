"""Golden files: texts in tests/golden that must not change by accident. A difference is shown line by line. For an intended change
set RESTANTE_WRITE_GOLDEN=1 in the environment: it writes the file instead."""
import difflib
import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "golden"


def check_golden(name, text):
    path = FOLDER / name
    if os.environ.get("RESTANTE_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = "".join(difflib.unified_diff(kept.splitlines(True), text.splitlines(True), f"tests/golden/{name}", "now", n=2))
    assert not difference, f"it has changed; if that is intended, run this test with RESTANTE_WRITE_GOLDEN=1 and commit the file\n{difference}"
