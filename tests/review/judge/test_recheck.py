"""The ledger against the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.models.finding import CHANGED, Finding, ReviewRecord
from swecli.review.judge.grounding import ground
from swecli.review.judge.recheck import recheck, rechecked, states_of, told
from swecli.review.judge.sources import Sources
from swecli.store.reviews import ReviewStore
from swecli.store.sqlite.database import open_database


@pytest.fixture
def store() -> Iterator[ReviewStore]:
    database = open_database(":memory:")
    store = ReviewStore(database, "/p")
    Path("a.py").write_text("x = 1\ny = 37\n")
    found = [Finding("a.py", n, "MAGIC_NUMBERS", "m", loop=1) for n in (1, 2)]
    store.note(store.begin(ReviewRecord("/p", (), "x")), ground(found, Sources(Path.cwd())))
    yield store
    database.close()


def test_only_what_changed_is_told_and_kept(store: ReviewStore) -> None:
    assert recheck(store, Path.cwd()) == []
    Path("a.py").write_text("# new\nx = 1\n")
    assert sorted(told(*pair) for pair in recheck(store, Path.cwd())) == [
        "F-1 a.py: line 1 → 2",
        "F-2 a.py:2: open → fixed (the code it spoke of is gone)",
    ]
    assert [(f.line, f.state) for f in store.findings()] == [(2, "open"), (2, "fixed")]
    Path("a.py").write_text("y = 37\n")
    assert "F-2 a.py:1: fixed → regressed" in [told(*pair) for pair in recheck(store, Path.cwd(), ["F-2"])]


def test_states_are_named_or_refused() -> None:
    assert states_of([]) == ["open", "regressed"]
    assert states_of(["all"]) == []
    with pytest.raises(BadInput, match="no state 'odd'"):
        states_of(["odd"])


CODE = """import os


def rate(kind):
    if kind == "food":
        return 7
    return 19


def other(kind):
    return kind
"""


def seen(finding: Finding, text: str = CODE) -> Finding:
    """The finding as a review stores it that has read this text."""
    Path("r.py").write_text(text)
    return ground([finding], Sources(Path.cwd()))[0]


def again(finding: Finding, text: str) -> Finding:
    Path("r.py").write_text(text)
    return rechecked(finding, Sources(Path.cwd()))


def magic(line: int = 7, end: int | None = None) -> Finding:
    return Finding("r.py", line, "MAGIC_NUMBERS", "m", end_line=end)


@pytest.mark.parametrize(
    ("old", "new", "state", "line", "doubt"),
    [
        ("import os", "import os\nimport re", "open", 8, ""),
        ("    return 19", "    return   19", "open", 7, ""),
        ("    return 19", "        return 19", "open", 7, ""),
        ("    return 19", "    return 20", "open", 7, CHANGED),
        ("    return 19", "    return (19)", "open", 7, CHANGED),
        ("    return 19\n", "", "open", 6, CHANGED),  # `return 7` may be what has become of it
        (CODE, "x = 1\n", "fixed", 7, ""),
    ],
)
def test_only_code_without_a_trace_is_fixed(old: str, new: str, state: str, line: int, doubt: str) -> None:
    after = again(seen(magic()), CODE.replace(old, new))
    assert (after.state, after.line, after.doubt) == (state, line, doubt)


@pytest.mark.parametrize(
    ("old", "new", "state", "end", "doubt"),
    [
        ('    if kind == "food":\n', '    if (kind\n        == "food"):\n', "open", None, CHANGED),
        ('if kind == "food":', 'if kind \\\n   == "food":', "open", None, CHANGED),
        ("return 7", "return  7", "open", 7, ""),
        ("(kind):\n    if", "(kind):\n\n    if", "open", 8, ""),
        ("return 7", "return FOOD", "open", None, CHANGED),
        ("def rate(kind):\n    if", "    if", "open", None, CHANGED),
        (CODE[11 : CODE.index("def other")], "", "fixed", 7, ""),
    ],
)
def test_a_range_is_compared_as_a_whole(old: str, new: str, state: str, end: int | None, doubt: str) -> None:
    found = seen(magic(4, 7))
    after = again(found, CODE.replace(old, new))
    assert (after.state, after.doubt, after.end_line) == (state, doubt, end)


def test_what_was_fixed_by_itself_regresses_and_what_the_user_settled_stays() -> None:
    found = seen(magic())
    fixed = again(found, "x = 1\n")
    assert fixed.reason == "the code it spoke of is gone"
    assert again(fixed, CODE + "\n").state == "regressed"
    assert again(replace(found, state="fixed", reason="by hand"), CODE + "\n").state == "fixed"
    dismissed = again(replace(found, state="dismissed", reason="meant so"), "\n" + CODE)
    assert (dismissed.state, dismissed.reason, dismissed.line) == ("dismissed", "meant so", 8)
    Path("r.py").unlink()
    assert rechecked(found, Sources(Path.cwd())).reason == "the file is gone"


def test_code_that_changed_and_changes_back_is_as_it_was() -> None:
    changed = again(seen(magic()), CODE.replace("19", "20"))
    assert changed.standing == "open, changed"
    back = again(changed, CODE)
    assert (back.verified, back.doubt, back.line) == (True, "", 7)


def long(lines: int) -> str:
    return "def work(a):\n" + "    print(a)\n" * (lines - 1)


@pytest.mark.parametrize(
    ("before", "after", "state", "doubt"),
    [
        (80, 70, "open", ""),
        (80, 60, "fixed", ""),
        (50, 40, "open", CHANGED),  # it was no matter of length by the rule: only a reader can tell
    ],
)
def test_a_long_method_is_measured_again(before: int, after: int, state: str, doubt: str) -> None:
    found = seen(Finding("r.py", 1, "LONG_METHOD", "m"), long(before))
    now = again(found, "import os\n" + long(after))
    assert (now.state, now.doubt) == (state, doubt)
    if state == "fixed":
        assert now.reason == "`work` has 60 lines now, at most 60 are meant"
        assert again(now, long(before)).state == "regressed"


def test_parameters_are_counted_again_though_the_line_has_changed() -> None:
    found = seen(Finding("r.py", 1, "LONG_PARAMETER_LIST", "m"), "def f(a, b, c, d, e, g, h, i):\n    pass\n")
    assert again(found, "def f(a, b, c, d, e, g, h, i, j):\n    pass\n").state == "open"
    assert again(found, "def f(options):\n    pass\n").reason == "`f` has 1 parameters now, at most 7 are meant"


def test_a_finding_of_an_older_ledger_has_its_line_alone() -> None:
    old = replace(seen(magic()), block="")
    assert again(old, "\n" + CODE).line == 8
    assert again(old, CODE.replace("19", "20")).doubt == CHANGED


def test_a_changed_finding_that_is_found_there_again_keeps_its_id(store: ReviewStore) -> None:
    Path("a.py").write_text("x = 1\ny = 38\n")
    assert "F-2 a.py:2: changed, look again" in [told(*pair) for pair in recheck(store, Path.cwd())]
    new = ground([Finding("a.py", 2, "MAGIC_NUMBERS", "still")], Sources(Path.cwd()))
    noted = store.note(store.begin(ReviewRecord("/p", (), "x")), new)
    assert [(f.id, f.doubt) for f in noted.new] == [("F-2", "")]


def test_a_renamed_file_has_fixed_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ntotal = net * 37\n")
    found = ground([Finding("a.py", 2, "MAGIC_NUMBERS", "37")], Sources(tmp_path))[0]
    (tmp_path / "src").mkdir()
    (tmp_path / "a.py").rename(tmp_path / "src" / "b.py")
    after = rechecked(found, Sources(tmp_path))
    assert (after.state, after.why) == ("open", "its lines stand in src/b.py now, look again")
    (tmp_path / "src" / "b.py").unlink()
    assert rechecked(found, Sources(tmp_path)).state == "fixed"
