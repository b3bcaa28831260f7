"""Test the playbook actions, from the slash command and from the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from swecli.actions.builtin.playbook import playbook
from swecli.app import Runtime
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.playbook import Delta, Op, Tag, Verdict
from swecli.store.records import TurnLessons
from tests.support.playbook import perform as perform_playbook
from tests.support.runtime import make_runtime, run_turn


def perform(runtime: Runtime, line: str) -> ActionResult:
    name, *words = line.split()
    return perform_playbook(runtime, name, words)


def result_text(result: ActionResult) -> str:
    return "\n".join([*result.lines, *(" | ".join(row) for row in result.rows), result.note])


@pytest.fixture
def runtime() -> Runtime:
    made = make_runtime(lambda request: "Done, see [P-1].", reflect_with_model=False)
    for line in ("add run the tests with pytest", "add answers are short"):
        perform(made, line)
    return made


@pytest.fixture
def sql_statements(runtime: Runtime) -> Iterator[list[str]]:
    """Collect the SQL statements that are executed."""
    found = list[str]()
    connection = runtime.sessions.database.connection
    connection.set_trace_callback(found.append)
    yield found
    connection.set_trace_callback(None)


@pytest.fixture
def changing_statements() -> Iterator[list[str]]:
    """Collect the statements of changes: one for many rows counts once."""
    found = list[str]()

    def note(*args: Any) -> None:
        found.append(args[2])

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


def test_there_are_twelve_actions_and_an_unknown_one_is_refused(runtime: Runtime) -> None:
    assert len(playbook.in_session) == 12
    with pytest.raises(UsageError, match="Unknown playbook action 'dance'"):
        perform(runtime, "dance")


def test_the_list_has_one_row_per_strategy_and_the_log_one_per_change(runtime: Runtime) -> None:
    result = perform(runtime, "list")
    assert result.head == ("id", "state", "for", "said by", "helped", "hurt", "strategy")
    assert result.rows == (
        ("P-1", "active", "this project", "you", "0", "0", "run the tests with pytest"),
        ("P-2", "active", "this project", "you", "0", "0", "answers are short"),
    )
    assert perform(runtime, "list --verbose").head[6] == "used"
    assert [row[3] for row in perform(runtime, "list --log").rows] == [
        "+ answers are short (P-2)",
        "+ run the tests with pytest (P-1)",
    ]


def test_a_long_list_has_100_rows_and_a_note_with_the_number_of_the_rest(
    runtime: Runtime, tmp_path: Path
) -> None:
    file = tmp_path / "many.md"
    rows = "".join(f"- [P-{n}] module{n} speaks word{n}\n" for n in range(3, 130))
    file.write_text(f"# Playbook\n\n<!-- swecli playbook 1 -->\n\n{rows}")
    perform(runtime, f"add --from {file} --trust")
    listed = perform(runtime, "list")
    assert (len(listed.rows), len(listed.value)) == (100, 129)
    assert "29 more: " in listed.note
    assert len(perform(runtime, "list --verbose").rows) == 129


async def test_show_prints_evidence_and_prompts_and_why_returns_the_candidates(
    runtime: Runtime,
) -> None:
    await run_turn(runtime, "hello")
    session = runtime.session
    verdict = Verdict("P-1", "tag", "helpful", "m", "it ran the tests", effect="helped")
    delta = Delta("v", (), "m", session.id, 1)
    runtime.sessions.playbook.record_lessons(session, TurnLessons(1, delta, (verdict,)))
    shown = result_text(perform(runtime, "show 1"))
    assert "helped 1 · hurt 0" in shown
    assert "helped in T1: it ran the tests (m)" in shown
    assert "in the prompt of T1" in shown
    why = perform(runtime, "why")
    assert [(row["id"], row["chosen"]) for row in why.value["candidates"]] == [
        ("P-1", True),
        ("P-2", True),
    ]
    with pytest.raises(BadInput, match="There is no turn T9"):
        perform(runtime, "why T9")


def test_edit_changes_text_state_scope_and_when_and_refuses_invalid_arguments(
    runtime: Runtime,
) -> None:
    session = runtime.sessions.current_session
    assert session is not None
    perform(runtime, "edit P-1 run tox --when before a commit, checking --pin --scope user")
    bullet = session.playbook.bullets["P-1"]
    assert (bullet.content, bullet.when, bullet.state, bullet.scope) == (
        "run tox",
        "before a commit, checking",
        "pinned",
        "user",
    )
    perform(runtime, "edit P-1 --off")
    assert session.playbook.bullets["P-1"].state == "disabled"
    perform(runtime, "edit P-1 --on")
    assert session.playbook.bullets["P-1"].state == "active"  # type: ignore[comparison-overlap]
    for line in (
        "edit P-1",
        "edit P-1 --scope moon",
        "edit P-9 x",
        "edit P-1 --on",
        "edit P-1 --pin --off",
    ):
        with pytest.raises(SwecliError):
            perform(runtime, line)


def test_a_removal_can_be_undone_and_redone(runtime: Runtime) -> None:
    perform(runtime, "remove P-1")
    assert [row[0] for row in perform(runtime, "list").rows] == ["P-2"]
    assert 'P-1 removed "run the tests with pytest"' in result_text(perform(runtime, "undo"))
    assert [row[0] for row in perform(runtime, "list").rows] == ["P-1", "P-2"]
    perform(runtime, "undo --redo")
    assert [row[0] for row in perform(runtime, "list").rows] == ["P-2"]
    assert "only 3 of 9" in result_text(perform(runtime, "undo 9"))
    with pytest.raises(UsageError):
        perform(runtime, "undo x")


def test_add_reports_similar_strategies_and_redacted_secrets(runtime: Runtime) -> None:
    near = result_text(perform(runtime, "add run all the tests with pytest -x"))
    assert "P-1 covers the same" in near
    assert perform(runtime, "add answers are short").value["known"] == "P-2"
    assert "A secret in it was redacted" in result_text(
        perform(runtime, "add the key is sk-abcdefghij0123456789xyz")
    )
    assert "A secret in it was redacted" in result_text(
        perform(runtime, "edit P-1 --when sk-abcdefghij0123456789xyz")
    )


@pytest.mark.parametrize("action", ["review", "list --export -"])
def test_the_number_of_sql_statements_does_not_grow_with_the_strategies(
    runtime: Runtime, action: str, sql_statements: list[str]
) -> None:
    counts = list[int]()
    for number in range(6):
        perform(runtime, f"add read `docs/gone{number}.md` before module{number} word{number}")
        sql_statements.clear()
        perform(runtime, action)
        counts.append(len(sql_statements))
    assert len(set(counts)) == 1
    assert counts[0] > 0


def test_undo_of_30_strategies_needs_as_many_changing_statements_as_undo_of_3(
    runtime: Runtime, tmp_path: Path, changing_statements: list[str]
) -> None:
    file, counts = tmp_path / "many.md", list[int]()
    for many in (3, 30):
        lines = (f"- [P-{n}] rule{many * n} about module{many * n}\n" for n in range(1, many + 1))
        file.write_text("<!-- swecli playbook 1 -->\n" + "".join(lines))
        perform(runtime, f"add --from {file} --trust")
        changing_statements.clear()
        perform(runtime, "undo")
        counts.append(len(changing_statements))
    assert counts[0] == counts[1]


def test_only_a_regular_file_is_read_or_overwritten(runtime: Runtime, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for line in (f"add --from {pipe}", f"list --export {pipe} --force", f"add --from {tmp_path}"):
        with pytest.raises(BadInput, match="not a regular file"):
            perform(runtime, line)
    for file in ("~nobody-has-this-name/playbook.md", "x" * 300):
        with pytest.raises(BadInput, match="cannot be opened"):
            perform(runtime, f"add --from {file}")


def test_an_export_is_not_overwritten_and_a_new_imported_strategy_awaits_review(
    runtime: Runtime, tmp_path: Path
) -> None:
    file = tmp_path / "playbook.md"
    perform(runtime, f"list --export {file}")
    with pytest.raises(BadInput, match="already exists"):
        perform(runtime, f"list --export {file}")
    perform(runtime, f"list --export {file} --force")
    assert perform(runtime, f"add --from {file}").value["same"] == ["P-1", "P-2"]
    text_of = (
        file.read_text()
        .replace("P-1]", "P-8]")
        .replace("run the tests with pytest", "use the mirror")
    )
    file.write_text("\n".join(line for line in text_of.splitlines() if "created:" not in line))
    result = perform(runtime, f"add --from {file}")
    assert result.value["waiting"] == ["P-3"]
    [question] = perform(runtime, "review").questions
    assert (question.id, question.content) == ("P-3", "use the mirror")
    assert perform(runtime, f"add --from {file} --trust").value["changed"] == ["P-3"], (
        "as the line of the first import offers"
    )
    assert perform(runtime, "review").questions == ()
    perform(runtime, "undo")
    perform(runtime, "review P-3 use")
    assert perform(runtime, "review").questions == ()
    for line in ("review P-3 use", "review P-8 dance", f"add --from {tmp_path}/nothing.md"):
        with pytest.raises(SwecliError):
            perform(runtime, line)


async def test_a_strategy_marked_bad_never_reads_as_good_and_the_list_is_ordered_by_the_counts(
    runtime: Runtime,
) -> None:
    perform(runtime, "add use tabs in makefiles")
    session = runtime.session
    fields = {"content": "waits for approval", "state": "quarantined"}
    runtime.sessions.playbook.apply(
        Delta("d", (Op("ADD", fields=fields),), "user", session.id), session
    )
    told: list[tuple[str, Tag]] = [
        ("P-1", "harmful"),
        ("P-3", "helpful"),
        ("P-3", "helpful"),
        ("P-3", "harmful"),
    ]
    for number, (name, tag) in enumerate(told):
        verdict = Verdict(name, "outcome", tag, "user", "said so")
        delta = Delta(f"v-{number}", (), "user", session.id, number + 1)
        lessons = TurnLessons(0, delta, (verdict,))
        runtime.sessions.playbook.record_lessons(session, lessons)
    rows = perform(runtime, "list").rows
    assert [row[:2] + row[4:6] for row in rows] == [
        ("P-3", "active", "2", "1"),
        ("P-2", "active", "0", "0"),
        ("P-1", "active", "0", "1"),
        ("P-4", "waits", "0", "0"),
    ]
    shown = result_text(perform(runtime, "show P-1"))
    assert "helped 0 · hurt 1" in shown
    assert "%" not in shown
