"""Test rechecking stored findings against the files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.models.errors import UsageError
from swecli.models.finding import Finding, ReviewRecord
from swecli.review.judge.grounding import ground
from swecli.review.judge.ledger import format_change, recheck, recheck_finding, set_state
from swecli.review.judge.sources import Sources
from swecli.store.reviews import ReviewStore
from tests.support.databases import open_database
from tests.support.project import make_project


@pytest.fixture
def store() -> Iterator[ReviewStore]:
    database = open_database(":memory:")
    store = ReviewStore(database, "/p")
    Path("a.py").write_text("x = 1\ny = 37\n")
    found = [Finding("a.py", n, "MAGIC_NUMBERS", "m", loop=1) for n in (1, 2)]
    store.record(store.begin(ReviewRecord("/p", (), "x")), ground(found, Sources(Path.cwd())))
    yield store
    database.close()


def test_recheck_reports_and_stores_only_changed_findings(store: ReviewStore) -> None:
    assert recheck(store, Path.cwd()) == []
    Path("a.py").write_text("# new\nx = 1\n")
    assert sorted(format_change(*pair) for pair in recheck(store, Path.cwd())) == [
        "F-1 a.py:1 → a.py:2",
        "F-2 a.py:2: open → gone (the code it named is gone)",
    ]
    assert [(f.line, f.state) for f in store.findings()] == [(2, "open"), (2, "gone")]
    Path("a.py").write_text("y = 37\n")
    assert "F-2 a.py:1: gone → open (its code is back)" in [
        format_change(*pair) for pair in recheck(store, Path.cwd(), ["F-2"])
    ]


def test_a_finding_whose_file_appears_later_keeps_its_fingerprint_despite_a_duplicate(
    store: ReviewStore,
) -> None:
    for text in ("", "x = 1\n"):  # The first one names a file that does not exist.
        if text:
            Path("b.py").write_text(text)
        found = ground([Finding("b.py", 1, "MAGIC_NUMBERS", "m")], Sources(Path.cwd()))
        store.record(store.begin(ReviewRecord("/p", (), "x")), found)
    before = {finding.id: finding.fingerprint for finding in store.findings()}
    recheck(store, Path.cwd())
    assert {finding.id: finding.fingerprint for finding in store.findings()} == before


CODE = """import os


def rate(kind):
    if kind == "food":
        return 7
    return 19


def other(kind):
    return kind
"""


def stored_finding(finding: Finding, text: str = CODE) -> Finding:
    """Return the finding as a review of this text stores it."""
    Path("r.py").write_text(text)
    return ground([finding], Sources(Path.cwd()))[0]


def recheck_one(finding: Finding, text: str) -> Finding:
    Path("r.py").write_text(text)
    return recheck_finding(finding, Sources(Path.cwd()))


def magic_number(line: int = 7, end: int | None = None) -> Finding:
    return Finding("r.py", line, "MAGIC_NUMBERS", "m", end_line=end)


@pytest.mark.parametrize(
    ("old", "new", "state", "line"),
    [
        ("import os", "import os\nimport re", "open", 8),
        ("    return 19", "    return   19", "open", 7),
        ("    return 19", "        return 19", "gone", 7),
        ("    ", "  ", "open", 7),
        ("    return 19", "    return 20", "gone", 7),
        ("    return 19", "    return (19)", "gone", 7),
        ("    return 19\n", "", "gone", 7),
        (CODE, "x = 1\n", "gone", 7),
    ],
)
def test_recheck_follows_moved_code_and_marks_missing_code_as_gone_not_fixed(
    old: str, new: str, state: str, line: int
) -> None:
    after = recheck_one(stored_finding(magic_number()), CODE.replace(old, new))
    assert (after.state, after.line) == (state, line)
    assert after.is_open


@pytest.mark.parametrize(
    ("old", "new", "state", "end"),
    [
        ("return 7", "return  7", "open", 7),
        ("(kind):\n    if", "(kind):\n\n    if", "open", 8),
        ("return 7", "return FOOD", "gone", 7),
        (CODE[11 : CODE.index("def other")], "", "gone", 7),
    ],
)
def test_recheck_compares_all_lines_of_a_range(
    old: str, new: str, state: str, end: int | None
) -> None:
    after = recheck_one(stored_finding(magic_number(4, 7)), CODE.replace(old, new))
    assert (after.state, after.end_line) == (state, end)


def test_a_gone_finding_reopens_when_its_code_returns_and_states_set_by_the_user_stay() -> None:
    found = stored_finding(magic_number())
    gone = recheck_one(found, "x = 1\n")
    assert (gone.reason, gone.status) == ("the code it named is gone", "gone, not verified")
    assert recheck_one(gone, CODE + "\n").state == "open"
    assert (
        recheck_one(replace(found, state="fixed", reason="by hand"), CODE + "\n").state == "fixed"
    )
    dismissed = recheck_one(replace(found, state="dismissed", reason="meant so"), "\n" + CODE)
    assert (dismissed.state, dismissed.reason, dismissed.line) == ("dismissed", "meant so", 8)
    Path("r.py").unlink()
    assert recheck_finding(found, Sources(Path.cwd())).state == "fixed"


def test_a_dedent_is_seen_and_code_that_is_laid_out_again_as_it_was_is_back() -> None:
    found = stored_finding(magic_number(6), CODE)
    dedented = recheck_one(found, CODE.replace("        return 7", "    return 7"))
    assert (dedented.status, dedented.line) == ("gone, not verified", 6)
    assert "another indentation" in dedented.reason
    assert recheck_one(dedented, CODE + "\n").state == "open"


def test_other_blanks_in_a_quote_are_another_text() -> None:
    text = "query = 'SELECT a' + 'FROM t'\n"
    found = stored_finding(magic_number(1), text)
    assert recheck_one(found, text.replace("a'", "a '")).state == "gone"
    assert recheck_one(found, text.replace(" + ", "  +  ")).state == "open"


def test_a_finding_of_an_older_ledger_without_a_layout_is_not_called_gone() -> None:
    found = stored_finding(magic_number())
    old = replace(found, block=json.dumps(json.loads(found.block)[:3]))
    assert recheck_one(old, CODE.replace("    return 19", "        return 19")).state == "open"


def test_a_file_that_was_deleted_stays_deleted_for_a_finding_about_that() -> None:
    found = replace(stored_finding(magic_number()), removed=True)
    Path("r.py").unlink()
    assert recheck_finding(found, Sources(Path.cwd())).state == "open"
    lost = replace(found, removed=False)
    assert recheck_finding(lost, Sources(Path.cwd())).state == "fixed"


def test_the_code_of_a_deleted_file_that_stands_elsewhere_in_another_layout_is_not_fixed() -> None:
    found = stored_finding(magic_number())
    Path("r.py").unlink()
    Path("s.py").write_text("def rate(kind):\n    if kind:\n        return 19\n")
    after = recheck_finding(found, Sources(Path.cwd()))
    assert (after.state, after.place) == ("gone", "s.py:3")


def test_a_long_function_that_became_shorter_is_open_until_a_check_says_that_it_is_fixed() -> None:
    def long_function(lines: int) -> str:
        return "def work(a):\n" + "    print(a)\n" * (lines - 1)

    found = stored_finding(Finding("r.py", 1, "LONG_METHOD", "m"), long_function(80))
    shorter = recheck_one(found, "import os\n" + long_function(10))
    assert (shorter.state, shorter.line) == ("open", 2)
    renamed = recheck_one(shorter, long_function(10).replace("work", "walk"))
    assert renamed.status == "gone, not verified"


def test_a_stored_finding_without_a_block_is_compared_by_its_line() -> None:
    old = replace(stored_finding(magic_number()), block="")
    assert recheck_one(old, "\n" + CODE).line == 8
    assert recheck_one(old, CODE.replace("19", "20")).state == "gone"


def test_a_state_set_by_the_user_is_recorded_with_its_reason_and_an_invalid_one_is_refused(
    store: ReviewStore,
) -> None:
    assert set_state(store, "F-1", "dismissed", "meant so").state == "dismissed"
    assert set_state(store, "F-1", "open", "after all").state == "open"
    assert [(c.before, c.after, c.by, c.why) for c in store.history("F-1")] == [
        ("open", "dismissed", "user", "meant so"),
        ("dismissed", "open", "user", "after all"),
    ]
    with pytest.raises(UsageError, match="F-1 is open, it cannot become open"):
        set_state(store, "F-1", "open")


def test_a_finding_in_a_renamed_file_stays_open_at_the_new_path(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ntotal = net * 37\n")
    found = ground([Finding("a.py", 2, "MAGIC_NUMBERS", "37")], Sources(tmp_path))[0]
    (tmp_path / "src").mkdir()
    (tmp_path / "a.py").rename(tmp_path / "src" / "b.py")
    after = recheck_finding(found, Sources(tmp_path))
    assert (after.state, after.place) == ("open", "src/b.py:2")
    (tmp_path / "src" / "b.py").unlink()
    assert recheck_finding(found, Sources(tmp_path)).state == "fixed"


def test_a_finding_in_a_file_of_another_branch_is_gone_until_that_branch_is_checked_out() -> None:
    root = make_project(Path("shop").resolve())

    def git(*words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)

    git("checkout", "-qb", "topic")
    (root / "new.py").write_text("total = net * 37\n")
    git("add", "-A")
    git("commit", "-qm", "new")
    [found] = ground([Finding("new.py", 1, "MAGIC_NUMBERS", "37")], Sources(root))
    git("checkout", "-q", "-")
    gone = recheck_finding(found, Sources(root))
    assert (gone.state, gone.reason) == ("gone", "its file is on other branches only")
    git("checkout", "-q", "topic")
    assert recheck_finding(gone, Sources(root)).state == "open"
    git("rm", "-q", "new.py")
    git("commit", "-qm", "removed")
    assert recheck_finding(found, Sources(root)).state == "fixed"
