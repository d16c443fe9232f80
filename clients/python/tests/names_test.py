"""Names of landed files, also those that Windows would not take; ids and uris."""
import pytest

from restante.names import human_size, is_delegation_id, landed_name, parse_id, pending_file, safe_name, shown

ID = "01999a3c-0000-7000-8000-0123456789ab"
HEX = ID.replace("-", "")


@pytest.mark.parametrize("raw, safe", [
    ("../../etc/passwd", "passwd"), ("hello world.pdf", "hello_world.pdf"), ("weird;chars!?.txt", "weird_chars__.txt"),
    ("中文.docx", "__.docx"), ("file (1).pdf", "file__1_.pdf"), ("report-2026.05.04_v2.pdf", "report-2026.05.04_v2.pdf"),
    ("b" * 200 + ".pdf", "b" * 96 + ".pdf"), ("中文中文", "____"), ("", "file"), (".", "file"), ("..", "file"), ("a\\b:c", "b_c"),
    ("c" * 90 + ".thisisaverylongextensionnotpreserved", ("c" * 90 + ".thisisaverylongextensionnotpreserved")[:100]),
])
def test_a_name_is_made_safe_as_the_server_does(raw, safe):
    assert safe_name(raw) == safe
    assert safe_name(safe) == safe


@pytest.mark.parametrize("raw, landed", [
    ("CON", f"{HEX}-CON"), ("nul.txt", f"{HEX}-nul.txt"), ("a:b", f"{HEX}-a_b"), ("name...", f"{HEX}-name___"), ("dot.", f"{HEX}-dot_"),
    ("space ", f"{HEX}-space_"), ("ok.txt", f"{HEX}-ok.txt")])
def test_on_windows_a_file_lands_under_a_name_that_windows_keeps(raw, landed):
    assert landed_name(ID, raw, windows=True) == landed


def test_elsewhere_dots_at_the_end_stay_and_a_second_file_of_a_name_gets_a_number():
    assert landed_name(ID, "dot.") == f"{HEX}-dot."
    assert landed_name(ID.upper(), "a.txt", 2) == f"{HEX}-2-a.txt"


def test_a_uri_names_a_file_in_any_letter_case_and_other_uris_name_none():
    assert pending_file(f"platform-pending:{ID}/{ID}") == ID
    assert pending_file(f"PLATFORM-PENDING:{ID.upper()}/{ID.upper()}") == ID
    for other in ("workspace:/a", f"platform-pending:{ID}", f"platform-pending:{ID}/x", f"https://example.org/{ID}", ""):
        assert pending_file(other) is None
    assert parse_id(HEX) is None and parse_id(None) is None


def test_ids_of_tasks_are_of_a_few_characters_only():
    assert is_delegation_id("a.b_c:d-1") and is_delegation_id("x" * 128)
    assert not any(map(is_delegation_id, ("", "x" * 129, "a/b", "a\n", 5)))


def test_text_of_others_controls_no_terminal():
    assert shown("a\x1b[2J\nb\tc\u009b") == "a?[2J\n    b\tc?"


def test_sizes_are_written_for_people():
    assert [human_size(size) for size in (0, 1, 1023, 1024, 1536 * 1024)] == ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "1.5 MiB"]
