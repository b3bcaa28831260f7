"""Test `swecli playbook`: add, edit, remove, restore, import and export strategies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import Run, script


def test_listing_an_empty_playbook_suggests_the_add_command(run: Run) -> None:
    assert "swecli playbook add" in run("playbook", "list").out
    assert run("playbook", "list", "--json").json == []
    assert run("playbook", "list", "--log").out == "No changes yet.\n"
    assert run("playbook", "list", "--log", "--json").json == []


def test_an_added_strategy_is_listed_and_shown_with_its_evidence(run: Run) -> None:
    assert run("playbook", "add", "run", "the tests", "with pytest -q").out == "Added as P-1.\n"
    row = run("playbook", "list", "--json").json[0]
    assert (row["id"], row["content"], row["scope"]) == (
        "P-1",
        "run the tests with pytest -q",
        "project",
    )
    row_shown = run("playbook", "list").out.splitlines()[1].split()
    assert row_shown[:6] == ["P-1", "active", "this", "project", "you", "run"]
    shown = run("playbook", "show", "p1").out.splitlines()
    assert shown[0] == "P-1  run the tests with pytest -q"
    assert 'you wrote: "run the tests with pytest -q"' in shown
    assert shown[-1] == "in no prompt yet"
    assert run("playbook", "show", "1", "--json").json["evidence"][0]["trust"] == "user"


def test_a_duplicate_strategy_is_not_added_and_a_similar_one_is_reported(run: Run) -> None:
    run("playbook", "add", "use tabs for indentation")
    assert (
        run("playbook", "add", "Use tabs for indentation").out
        == "P-1 already covers it and is active.\n"
    )
    assert run("playbook", "add", "use tabs", "for indentation", "--json").json == {
        "added": [],
        "known": "P-1",
    }
    near = run("playbook", "add", "never use tabs for indentation").out.splitlines()
    assert near[0] == "Added as P-2."
    assert near[1].startswith("P-1 covers the same: `swecli playbook remove P-1`")


def test_an_added_strategy_is_kept_after_a_turn_and_not_listed_in_another_directory(
    run: Run, tmp_path: Path
) -> None:
    run("playbook", "add", "answer in rhymes")
    run("-p", "hello", "-m", script("s.json", "Hello."))
    assert [row["id"] for row in run("playbook", "list", "--json").json] == ["P-1"]
    (tmp_path / "there").mkdir()
    assert run("playbook", "list", "--json", "-C", str(tmp_path / "there")).json == []


def test_the_command_suggested_for_an_empty_playbook_works(run: Run) -> None:
    hint = run("playbook", "list").out.split("Add one: swecli ")[1].split()
    assert run(*hint).out == "Added as P-1.\n"
    assert run("playbook", "list", "--json").json[0]["content"] == "run the tests with make check"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run pytest -x first"], "run pytest -x first"),
        (["run", "pytest", "-x", "first"], None),
        (["--json", "run", "cargo", "test"], "run cargo test"),
        (["run", "cargo", "test", "--json"], "run cargo test"),
        (["--", "--json", "comes", "last", "--json"], "--json comes last --json"),
        (["--jsno", "run", "the", "tests"], None),
    ],
)
def test_a_text_with_flag_like_words_must_be_quoted_or_follow_two_dashes(
    run: Run, words: list[str], text: str | None
) -> None:
    outcome = run("playbook", "add", *words)
    assert text or "in quotes, or after --" in outcome.err
    assert (outcome.code == 0) == (text is not None)
    assert [row["content"] for row in run("playbook", "list", "--json").json] == (
        [text] if text else []
    )


def test_playbook_without_an_action_lists(run: Run) -> None:
    run("playbook", "add", "answer in rhymes")
    assert run("playbook").out == run("playbook", "list").out
    assert run("playbook", "--json").json[0]["id"] == "P-1"


@pytest.mark.slow
def test_a_strategy_can_be_edited_pinned_removed_undone_and_redone(run: Run) -> None:
    run("playbook", "add", "answer in prose")
    assert (
        run("playbook", "edit", "P-1", "answer in verse", "--pin").out
        == "P-1 is changed, is pinned: every prompt contains it.\n"
    )
    assert run("playbook", "list", "--json").json[0]["state"] == "pinned"
    assert run("playbook", "edit", "--off", "P-1").code == 0
    assert run("playbook", "remove", "1").out.startswith(
        "P-1 removed; `swecli playbook undo` restores it"
    )
    assert run("playbook", "list", "--json").json == []
    assert 'undone: P-1 removed "answer in verse"' in run("playbook", "undo").out
    assert run("playbook", "undo", "--redo").out.startswith("redone")
    assert run("playbook", "undo", "99").out.splitlines()[-2] == "only 4 of 99: there were no more"
    assert run("playbook", "undo").code == 42


def test_a_strategy_can_be_neither_shown_nor_undone_in_another_directory(
    run: Run, tmp_path: Path
) -> None:
    run("playbook", "add", "here only")
    (tmp_path / "there").mkdir()
    assert run("playbook", "list", "--json", "-C", str(tmp_path / "there")).json == []
    assert run("playbook", "undo", "-C", str(tmp_path / "there")).code == 42
    assert run("playbook", "show", "P-1", "-C", str(tmp_path / "there")).code == 42


@pytest.mark.slow
def test_the_last_turn_can_be_marked_and_reflected_on_from_the_shell(run: Run) -> None:
    run("playbook", "add", "answer in rhymes")
    run("-p", "hello", "-m", script("s.json", "Hello, as [P-1] says."))
    assert "marked good" in run("playbook", "good", "well", "done").out
    row = run("playbook", "list", "--json").json[0]
    assert (row["helpful"], row["harmful"]) == (0, 0), "a mark judges the turn"
    assert "mark good" in run("playbook", "list", "--log").out
    assert "nothing to learn" in run("playbook", "reflect", "--rules-only").out
    assert run("playbook", "why", "--json").json["candidates"]


def test_a_turn_that_is_marked_with_a_reason_in_the_shell_is_reflected_on_again(run: Run) -> None:
    run("-p", "hello", "-m", script("s.json", "Hello."))
    for mark, pending in ((("good",), "0 of them"), (("bad", "too long"), "1 of them")):
        run("playbook", *mark)
        assert f"turns: 1, {pending} pending" in run("playbook", "list", "--verbose").out


@pytest.mark.parametrize("name", ["good", "bad", "reflect"])
def test_marking_and_reflecting_require_a_turn(run: Run, name: str) -> None:
    run("playbook", "add", "answer in rhymes")
    assert run("playbook", name).code == 42


def test_a_shell_lists_what_is_open_and_takes_a_decision(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "other.md"
    file.write_text("<!-- swecli playbook 1 -->\n- [P-1] answer in rhymes\n")
    run("playbook", "add", "--from", str(file))
    listed = run("playbook", "review").out
    assert "P-1 answer in rhymes (it comes from outside of this playbook)" in listed
    assert "swecli playbook review P-1 use" in listed
    assert run("playbook", "review", "P-1", "beside", "P-1").code != 0
    assert run("playbook", "review", "P-1", "use").out.startswith("P-1 is active")
    assert run("playbook", "review").out == "Nothing to review.\n"


def test_an_imported_playbook_is_quarantined_unless_it_is_trusted(run: Run, tmp_path: Path) -> None:
    run("playbook", "add", "answer in rhymes")
    file = tmp_path / "playbook.md"
    assert run("playbook", "export", str(file)).out == f"Written to {file}.\n"
    assert run("playbook", "export", str(file)).code == 42
    other = ("--db", str(tmp_path / "other.db"))
    assert run("playbook", "add", "--from", str(file), "--json", *other).json["waiting"] == ["P-1"]
    assert run("playbook", "list", "--json", *other).json[0]["state"] == "quarantined"
    assert run("playbook", "review", "P-1", "use", *other).out.startswith("P-1 is active: ")
    third = ("--db", str(tmp_path / "third.db"))
    assert (
        run("playbook", "add", "--from", str(file), "--trust", "--json", *third).json["waiting"]
        == []
    )


@pytest.mark.slow
def test_ten_thousand_strategies_are_imported_at_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "many.md"
    lines = "\n".join(f"- [P-{n}] matter {n} is handled in part{n}.py" for n in range(1, 10_001))
    file.write_text(f"<!-- swecli playbook 1 -->\n## general\n{lines}\n")
    outcome = run("playbook", "add", "--from", str(file), "--json", "--trust")
    assert len(outcome.json["added"]) == 10_000


def test_an_invalid_or_missing_playbook_file_is_refused_in_one_line(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "x.md").write_text("<!-- swecli playbook 1 -->\n- P-1 x\n")
    for name in ("x.md", "nothing.md"):
        outcome = run("playbook", "add", "--from", str(tmp_path / name))
        assert (outcome.code, len(outcome.err.splitlines())) == (42, 1)


@pytest.mark.parametrize(
    "argv",
    [
        ["show", "P-9"],
        ["show", "x"],
        ["edit", "P-1"],
        ["remove"],
        ["undo", "x"],
        ["review", "P-1", "use"],
        ["add"],
    ],
)
def test_an_invalid_action_is_refused_without_a_traceback(run: Run, argv: list[str]) -> None:
    run("playbook", "add", "answer in rhymes")
    outcome = run("playbook", *argv)
    assert outcome.code in (2, 42)
    assert "Traceback" not in outcome.err
    assert len(outcome.err.splitlines()) <= 2


def test_secrets_in_an_added_strategy_are_redacted(run: Run) -> None:
    outcome = run("playbook", "add", "the key is sk-abcdefghij0123456789xyz")
    assert "A secret in it was redacted" in outcome.out
    assert "abcdefghij" not in run("playbook", "show", "P-1").out
