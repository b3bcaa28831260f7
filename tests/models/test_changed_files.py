"""Test the line on the files that a turn has changed."""

from __future__ import annotations

from swecli.models.changed_files import ChangedFile, describe_changes


def test_a_file_that_one_call_of_a_tool_changed_has_no_line_since_its_result_says_it() -> None:
    assert describe_changes([ChangedFile("a.py", "changed", ("tool",))]) == ""


def test_files_are_named_by_who_changed_them_and_what_is_ignored_is_counted() -> None:
    files = [
        ChangedFile("a.py", "changed", ("tool",)),
        ChangedFile("b.py", "created", ("command",)),
        ChangedFile("c.py", "removed", ("command",)),
        ChangedFile("d.py", "changed", ("tool", "command")),
        ChangedFile("log", "changed", ("background command",)),
        ChangedFile("dist", "changed", ("command",), is_ignored=True),
    ]
    assert describe_changes(files) == (
        "6 files changed · by tools: a.py · by commands: b.py (new), c.py (removed)"
        " · by tools and commands: d.py · by background commands: log · ignored: 1"
    )


def test_of_many_files_the_first_are_named_and_all_are_counted() -> None:
    files = [ChangedFile(f"f{number}", "created", ("command",)) for number in range(1_200)]
    line = describe_changes(files)
    assert line.startswith("1,200 files changed · by commands: f0 (new), ")
    assert line.endswith("f5 (new) and 1,194 more")
