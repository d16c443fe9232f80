#!/usr/bin/env python3
"""Writes the C++ file that puts the agent's executable into the server: one .incbin, its name and its sha256.

Usage: tools/embed_program.py OUT.cpp PROGRAM NAME
The assembler reads the executable itself, so the generated file stays small.
"""
import hashlib
import pathlib
import sys


def main():
    out, program, name = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    out.write_text(f"""#include "server/platform/embedded.h"

// Generated from the agent's executable; see tools/embed_program.py.

asm(".section .rodata\\n.balign 16\\nrestante_program_begin:\\n.incbin \\"{program}\\"\\nrestante_program_end:\\n.byte 0\\n"
    ".previous\\n");
extern const char restante_program_begin[] asm("restante_program_begin");
extern const char restante_program_end[] asm("restante_program_end");

namespace restante {{

EmbeddedProgram embedded_program() {{
  return {{"{name}",
          "{digest}",
          {{restante_program_begin, static_cast<std::size_t>(restante_program_end - restante_program_begin)}}}};
}}

}}  // namespace restante
""")


main()
