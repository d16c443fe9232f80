"""How the page looks, to axe and to people, and how large it is.

Pictures of every view, on desktop and phone, in light and dark, are saved in RESTANTE_SCREENSHOTS.
"""

import gzip
import os
import pathlib

from support.page import SOURCE, dev, walk

PAGE_BYTES = 200_000


def test_every_view_is_accessible_and_fits_in_light_and_dark_on_desktop_and_phone(tmp_path):
    pictures = pathlib.Path(os.environ.get("RESTANTE_SCREENSHOTS") or tmp_path / "pictures")
    with dev(tmp_path / "dev") as address:
        walk("looks", address, RESTANTE_SCREENSHOTS=str(pictures))
    boards = ("workspaces", "uploads", "tasks", "dashboard", "health")
    for view in ("sign-in", "chat-delivered", "chat-endings", "share", *boards, "new-agent-line", "sender"):
        for how in ("desktop-light", "desktop-dark", "phone-light", "phone-dark"):
            assert (pictures / f"{view}-{how}.png").read_bytes().startswith(b"\x89PNG"), f"{view}-{how}"


def test_ten_thousand_messages_and_five_hundred_waiting_files_stay_light(tmp_path):
    with dev(tmp_path) as address:
        walk("long", address)


def test_the_whole_page_is_small():
    built = SOURCE / "web" / "dist"
    files = [file for file in built.rglob("*") if file.is_file()]
    sizes = {file.relative_to(built).as_posix(): len(gzip.compress(file.read_bytes())) for file in files}
    assert "index.html" in sizes, "build the page first (make page)"
    assert sum(sizes.values()) < PAGE_BYTES, sizes


def test_the_page_loads_nothing_from_another_server():
    """Nothing is inline, nothing comes from another server: the page contains nothing that its policy would block."""
    html = (SOURCE / "web" / "dist" / "index.html").read_text()
    assert "<script>" not in html and "style=" not in html and " on" not in html.split("<body>")[1].split("<noscript>")[0]
    assert "http://" not in html and "https://" not in html and "data:" not in html
