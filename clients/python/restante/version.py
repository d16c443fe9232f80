"""The version, as in the file VERSION of the project."""
from __future__ import annotations

VERSION = "0.1.0"
