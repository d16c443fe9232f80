"""Types, for each system, and the syntax of the oldest Python that the package promises. mypy knows which functions a system lacks: what only
POSIX has must be behind a check of the system."""
import ast
import subprocess
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "restante"


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_the_types_are_right_on(system, tmp_path):
    done = subprocess.run(["mypy", "--strict", "--python-version", "3.9", "--platform", system, "--cache-dir", str(tmp_path), "restante"],
                          cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_python_3_9_can_read(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    assert path.stem in ("__init__", "__main__") or "from __future__ import annotations" in path.read_text(encoding="utf-8")


def test_a_module_is_short_enough_to_read():
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.glob("*.py")) <= 400


def test_the_version_is_that_of_the_project():
    version = {}
    exec((PACKAGE / "version.py").read_text(encoding="utf-8"), version)
    assert version["VERSION"] == (PACKAGE.parents[2] / "VERSION").read_text(encoding="utf-8").strip()
