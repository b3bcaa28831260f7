"""What a finding is known by."""

from __future__ import annotations

from swecli.models.finding import CHANGED, SMELLS, Finding, counted, fingerprint


def test_the_key_is_path_line_and_type() -> None:
    assert Finding("a.py", 3, "DEAD_CODE", "x", loop=1).key == Finding("a.py", 3, "DEAD_CODE", "y", loop=2).key


def test_a_fingerprint_knows_no_line_and_no_indentation() -> None:
    assert fingerprint("X", "a.py", "  if  a:\n") == fingerprint("X", "a.py", "if a:")
    assert len({fingerprint("X", "a.py", "if a:", n) for n in (1, 2)} | {fingerprint("Y", "a.py", "if a:")}) == 3


def test_severities_have_an_order() -> None:
    high = Finding("a.py", 3, "DEAD_CODE", "x", "high")
    assert [high.at_least(word) for word in ("low", "high", "critical")] == [True, True, False]
    assert not Finding("a.py", 3, "DEAD_CODE", "x", "odd").at_least("low")


def test_a_place_is_written_as_editors_take_it() -> None:
    assert Finding("a.py", 3, "X", "m").place == "a.py:3"
    assert Finding("a.py", 3, "X", "m", end_line=5).place == "a.py:3-5"


def test_there_are_eleven_smells() -> None:
    assert len(SMELLS) == 11


def test_a_doubt_is_said_in_the_words_of_its_kind() -> None:
    assert Finding("a.py", 3, "X", "m", verified=True).standing == "open"
    gone = Finding("a.py", 3, "X", "m", verified=False, why="no such file")
    assert (gone.doubt, gone.standing) == ("unverified: no such file", "open, unverified")
    changed = Finding("a.py", 3, "X", "m", verified=False, why=CHANGED)
    assert (changed.doubt, changed.standing) == ("changed, look again", "open, changed")


def test_one_is_no_plural() -> None:
    assert [counted(n, "loop") for n in (0, 1, 2000)] == ["0 loops", "1 loop", "2,000 loops"]
