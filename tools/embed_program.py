#!/usr/bin/env python3
"""Writes the C++ file that puts a program for download into the server: one .incbin, its name and its sha256.

Usage: tools/embed_program.py OUT.cpp PROGRAM NAME [FUNCTION]
FUNCTION returns it; default: embedded_program, for the agent's executable. The assembler reads the program itself, so the generated file
stays small.
"""
import hashlib
import pathlib
import sys


def main():
    out, program, name = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    function = sys.argv[4] if len(sys.argv) > 4 else "embedded_program"
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    out.write_text(f"""#include "server/platform/embedded.h"

// Generated from {name}; see tools/embed_program.py.

asm(".section .rodata\\n.balign 16\\nrestante_{function}_begin:\\n.incbin \\"{program}\\"\\nrestante_{function}_end:\\n.byte 0\\n"
    ".previous\\n");
extern const char restante_{function}_begin[] asm("restante_{function}_begin");
extern const char restante_{function}_end[] asm("restante_{function}_end");

namespace restante {{

EmbeddedProgram {function}() {{
  return {{"{name}",
          "{digest}",
          {{restante_{function}_begin, static_cast<std::size_t>(restante_{function}_end - restante_{function}_begin)}}}};
}}

}}  // namespace restante
""")


main()
