"""The TypeScript client as an agent of tests/e2e/agents_test.py. `make typescript-client` builds it."""
import os
import shutil
from pathlib import Path

SOURCE = Path(os.environ.get("RESTANTE_SOURCE") or Path(__file__).resolve().parents[2])
CLIENT = SOURCE / "clients" / "typescript"


def typescript():
    """The first words of its command line."""
    program = CLIENT / "bin" / "restante-agent.mjs"
    assert (CLIENT / "dist" / "main.js").is_file(), "the TypeScript client is not built: make typescript-client"
    return [shutil.which("node"), str(program)]
