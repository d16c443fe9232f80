#!/usr/bin/env python3
"""Writes the C++ file that puts the built page into the binary: one .incbin per file and a table of them.

Usage: tools/embed_page.py OUT.cpp DIST_DIR
docs/openapi.yaml goes with them, as /openapi.yaml.
The files themselves are read by the assembler, so the generated file stays small.
"""
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
    ".yaml": "application/yaml",
}
DESCRIPTION = pathlib.Path(__file__).resolve().parents[1] / "docs/openapi.yaml"


def main():
    out, dist = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = sorted(path for path in dist.rglob("*") if path.is_file())
    if not (dist / "index.html").is_file():
        sys.exit(f"{dist} has no index.html: build the page first (make page)")
    lines = ['#include "api/context.h"', '#include "server/platform/embedded.h"', "", "// Generated from the built page; see tools/embed_page.py.", ""]
    rows = []
    for number, path in enumerate([*files, DESCRIPTION]):
        kind = TYPES.get(path.suffix)
        if kind is None:
            sys.exit(f"{path}: no media type is known for {path.suffix}; add it to tools/embed_page.py")
        name = f"restante_page_{number}"
        lines.append(f'asm(".section .rodata\\n.balign 16\\n{name}_begin:\\n.incbin \\"{path.resolve()}\\"\\n{name}_end:\\n'
                     f'.byte 0\\n.previous\\n");')
        lines.append(f"extern const char {name}_begin[] asm(\"{name}_begin\");")
        lines.append(f"extern const char {name}_end[] asm(\"{name}_end\");")
        where = "/" + path.relative_to(DESCRIPTION.parent if path == DESCRIPTION else dist).as_posix()
        where = "/" if where == "/index.html" else where
        rows.append(f'      {{"{where}", "{kind}", {{{name}_begin, static_cast<std::size_t>({name}_end - {name}_begin)}}}},')
    lines += ["", "namespace restante {", "", "std::vector<api::PageFile> page_files() {", "  return {", *rows, "  };", "}", "",
              "}  // namespace restante", ""]
    out.write_text("\n".join(lines))


main()
