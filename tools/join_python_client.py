#!/usr/bin/env python3
"""Joins the package clients/python/restante into one file, which the server hands out as /download/restante.py.

Usage: tools/join_python_client.py OUT.py
The modules follow each other in the order of their imports; imports from one another are left out, and those of the standard library are
at the top once. The same package always gives the same file. Two modules that define the same name are an error. The second line has the
sha256 of everything after it: a file that was cut or altered says so and does not run.
"""
import ast
import hashlib
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "clients" / "python" / "restante"

HEAD = '''#!/usr/bin/env python3
# sha256 of the lines below: {digest}
'''
CHECK = '''"""Restante, the agent in Python, in one file. Made from clients/python by tools/join_python_client.py.

python3 restante.py connect --url https://post.example.org --enrol TOKEN
"""
from __future__ import annotations

import hashlib
import sys


def _check_this_file() -> None:
    """A download that was cut, or a file that somebody has changed, must not run as if it were whole."""
    try:
        with open(__file__, "rb") as file:
            contents = file.read()
    except OSError:
        return  # it was not started from a file
    head, rest = contents.split(b"\\n", 2)[1], contents.split(b"\\n", 2)[2]
    if head.split()[-1].decode("ascii", "replace") != hashlib.sha256(rest).hexdigest():
        sys.exit("restante.py: this file is cut or was changed; download it again")


if __name__ == "__main__":
    _check_this_file()

'''
TAIL = '''
if __name__ == "__main__":
    sys.exit(main())
'''


class Module:
    def __init__(self, path):
        self.name, self.text = path.stem, path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.needs, self.imports, self.left_out, self.renamed = [], [], set(), {}
        for node in self.tree.body:
            is_docstring = node is self.tree.body[0] and isinstance(node, ast.Expr)
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                self.needs.append(node.module)
                self.renamed.update({one.asname: one.name for one in node.names if one.asname})
            elif isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
                self.imports.append(ast.unparse(node))
            elif not is_docstring and not isinstance(node, ast.ImportFrom):
                continue
            self.left_out.update(range(node.lineno, node.end_lineno + 1))

    def defined(self):
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))

    def body(self):
        kept = [line for number, line in enumerate(self.text.splitlines(), 1) if number not in self.left_out]
        return "\n".join(kept).strip("\n")


def in_order(modules):
    done = []

    def visit(name):
        if name not in done:
            for other in modules[name].needs:
                visit(other)
            done.append(name)

    for name in sorted(modules):
        visit(name)
    return [modules[name] for name in done]


def join():
    modules = {path.stem: Module(path) for path in sorted(PACKAGE.glob("*.py")) if path.stem not in ("__init__", "__main__")}
    package = Module(PACKAGE / "__init__.py")
    ordered = in_order(modules)
    owner = {}
    for module in ordered:
        for name in set(module.defined()):
            if owner.setdefault(name, module.name) != module.name:
                sys.exit(f"{name} is defined in {owner[name]} and in {module.name}: one file cannot have both")
        if module.renamed:
            sys.exit(f"{module.name} imports {module.renamed} under another name: one file cannot have that")
    imports = sorted({line for module in ordered for line in module.imports}, key=lambda line: (line.startswith("from"), line))
    pieces = [CHECK + "\n".join(imports)]
    pieces += [f"# -- {module.name}: {(ast.get_docstring(module.tree) or '').splitlines()[0]}\n\n{module.body()}" for module in ordered]
    pieces.append("\n".join(f"{alias} = {name}" for alias, name in package.renamed.items()) + "\n\n" + package.body())
    rest = "\n\n\n".join(pieces) + "\n" + TAIL
    return HEAD.format(digest=hashlib.sha256(rest.encode()).hexdigest()) + rest


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(join(), encoding="utf-8")
