"""Test parsing ripgrep's output in chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.base import FileAccess, ToolContext
from swecli.tools.guard import Guard
from swecli.tools.matches import Query, Search
from swecli.tools.path_rules import PathRule


def event(kind: str, path: str = "a", **data: Any) -> bytes:
    return json.dumps({"type": kind, "data": {"path": {"text": path}, **data}}).encode() + b"\n"


def match(path: str, line: int, text: str = "x") -> bytes:
    return event(
        "match",
        path,
        lines={"text": text + "\n"},
        line_number=line,
        submatches=[{"start": 0, "end": 1}],
    )


END = event("end", binary_offset=None)


def make_search(most: int = 10, *, denied: str = "") -> Search:
    root = Path("/nowhere")
    rules = [PathRule("deny", is_about_changes=False, pattern=denied, text="")] if denied else []
    guard = Guard(root, rules)
    return Search(ToolContext(root, FileAccess(guard=guard)), ".", Query("x", limit=most))


def rows(search: Search) -> list[str]:
    return [text for file in search.files for text, _ in file.rows()]


@given(st.integers(1, 40))
def test_the_output_of_ripgrep_can_be_split_anywhere(size: int) -> None:
    data = event("begin") + match("./a", 1, "é") + match("a", 5) + event("end", binary_offset=None)
    found = make_search()
    for at in range(0, len(data), size):
        assert not found.feed(data[at : at + size])
    assert rows(found) == ["a:1: é", "a:5: x"]


def test_matches_in_a_binary_file_are_dropped() -> None:
    found = make_search()
    found.feed(event("begin") + match("a", 1) + event("end", binary_offset=9) + event("summary"))
    assert found.files == []


def test_matches_in_files_that_may_not_be_read_do_not_count() -> None:
    found = make_search(2, denied="secret")
    assert not found.feed(match("secret", 1) * 5 + match("a", 1) + match("a", 2))
    assert found.feed(match("a", 3))
    assert (rows(found), found.has_more) == (["a:1: x", "a:2: x"], True)


def test_a_long_line_is_cut_around_the_match() -> None:
    found = make_search()
    line = "é" * 5000 + "needle" + "y" * 5000
    found.feed(
        event(
            "match",
            lines={"text": line},
            line_number=1,
            submatches=[{"start": 10_000, "end": 10_006}],
        )
        + END
    )
    text = rows(found)[0].removeprefix("a:1: ")
    assert "needle" in text
    assert len(text) <= 302
    assert text.startswith("…")
    assert text.endswith("…")


def test_file_names_that_are_not_utf_8_are_decoded() -> None:
    found = make_search()
    data = {"path": {"bytes": "YWL/"}, "lines": {"text": "x"}, "line_number": 1, "submatches": []}
    found.feed(json.dumps({"type": "match", "data": data}).encode() + b"\n" + END)
    assert found.files[0].path == "ab\udcff"
