"""The documents agree with the code: errors, links and make targets are compared with their list in the source."""
import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ.get("RESTANTE_SOURCE", pathlib.Path(__file__).parents[1]))
STATUS = {"bad_request": 400, "unauthenticated": 401, "forbidden": 403, "not_found": 404, "conflict": 409, "gone": 410,
          "too_large": 413, "unsupported_media": 415, "misdirected": 421, "unprocessable": 422, "too_many": 429,
          "broken": 500,
          "bad_gateway": 502, "unavailable": 503, "storage_full": 507}


def errors_in_source():
    """{code: status} of every error that a client can get."""
    found = {}
    kinds = (SOURCE / "src/model/errors.h").read_text()
    for code, kind in re.findall(r'ErrorKind \w+\{\s*"(\w+)",.*?ErrorClass::(\w+)\}', kinds, re.DOTALL):
        found[code] = STATUS[kind]
    faults = (SOURCE / "src/http/fault.h").read_text()
    for status, code in re.findall(r'Fault \w+\{(\d+),\s*"(\w+)"', faults):
        found[code] = int(status)
    for path in (SOURCE / "src").rglob("*.cpp"):
        if path.name.endswith("_test.cpp"):
            continue
        for status, code in re.findall(r'json\(\s*(\d{3}),\s*R"\(\{.*?"code":"(\w+)"', path.read_text()):
            found[code] = int(status)
    return found


def errors_in_docs():
    rows = re.findall(r"^\| `(\w+)` \| (\d{3}) \| .+ \|$", (SOURCE / "docs/errors.md").read_text(), re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a code is twice in docs/errors.md"
    return {code: int(status) for code, status in rows}


def test_every_error_is_documented_with_its_status_and_none_is_made_up():
    assert errors_in_source(), "the list was found"
    assert errors_in_docs() == errors_in_source()


def test_the_readme_opens_with_the_two_commands_and_a_picture_that_is_there():
    readme = (SOURCE / "README.md").read_text()
    for command in ("make run", "make test"):
        assert command in readme
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", readme)
    assert pictures and all((SOURCE / picture).is_file() for picture in pictures)


def test_links_between_the_documents_lead_to_files_that_exist():
    for page in [*SOURCE.glob("*.md"), *(SOURCE / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_make_target_named_in_the_documents_exists():
    targets = set(re.findall(r"^([a-z-]+):", (SOURCE / "Makefile").read_text(), re.MULTILINE))
    for page in [*SOURCE.glob("*.md"), *(SOURCE / "docs").rglob("*.md")]:
        for target in re.findall(r"`make ([a-z-]+)", page.read_text()):
            assert target in targets, f"{page.name} names make {target}"


def paths_in_architecture():
    """{path: its files}, as the three paths are drawn. A file is the first word of a step."""
    drawn = (SOURCE / "ARCHITECTURE.md").read_text().split("## The three paths")[1].split("```")[1]
    paths = {}
    for line in drawn.splitlines():
        if step := re.match(r"(upload|poll|delegation) +(\S+)", line):
            paths[step[1]] = [step[2]]
        elif step := re.match(r"[ │]+[└├]► (\S+)", line):
            list(paths.values())[-1].append(step[1])
    return paths


def test_the_three_paths_are_drawn_with_at_most_eight_files_that_exist():
    paths = paths_in_architecture()
    assert list(paths) == ["upload", "poll", "delegation"]
    for name, files in paths.items():
        assert 5 <= len(files) <= 8, (name, files)
        missing = [file for file in files if not any((SOURCE / f"src/{file}{end}").exists() for end in (".cpp", ".h"))]
        assert not missing, (name, missing)
