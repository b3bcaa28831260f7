"""Test the outline of the turns that a request no longer contains."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from swecli.context.outline import MAX_TOKENS, render_outline, split_outline
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.models.playbook import WithdrawnStrategy
from swecli.models.session import EarlierTurn, Session
from swecli.text import shorten

COUNT = TokenCounter().count


def outline_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]


def test_a_turn_that_left_is_one_line_with_its_request_its_files_and_its_outcome() -> None:
    turns = [
        EarlierTurn(1, "add a --json flag\nto the list command", ("cli.py", "tests/test_cli.py"), "pytest passes"),
        EarlierTurn(2, "why is it slow?", outcome="interrupted"),
        EarlierTurn(3, "rename all of them", tuple(f"file{n}.py" for n in range(9))),
    ]  # fmt: skip
    text = render_outline(turns, COUNT)
    assert "search_session" in text
    assert outline_lines(text) == [
        '- T1 "add a --json flag to the list command" · changed cli.py, tests/test_cli.py · pytest passes',
        '- T2 "why is it slow?" · interrupted',
        '- T3 "rename all of them" · changed file0.py, file1.py, file2.py, file3.py and 5 more',
    ]
    assert render_outline([], COUNT) == ""


def test_the_verdict_on_a_check_with_a_long_name_is_not_cut_off() -> None:
    verdict = f"{'pytest ' + 'x' * 53} went from passing to failing"
    [line] = outline_lines(render_outline([EarlierTurn(1, "change it", outcome=verdict)], COUNT))
    assert line.endswith(verdict)


@given(
    st.integers(1, 300),
    st.lists(st.text(max_size=300), min_size=1, max_size=50),
    st.sampled_from(["", "a.py", "ein/sehr/langer/ordner/mit/einer/datei.py"]),
)
def test_many_turns_take_at_most_the_tokens_of_the_outline(
    first: int, queries: list[str], file: str
) -> None:
    turns = [
        EarlierTurn(number, query, (file,) if file else ())
        for number, query in enumerate(queries, first)
    ]
    lines = outline_lines(render_outline(turns, COUNT))
    assert sum(COUNT(f"{line}\n") for line in lines) <= MAX_TOKENS
    covered = first + len(turns) - 1
    assert lines[-1].startswith((f"- T{covered} ", f"- T1 to T{covered}", f"- T{covered}:"))


def test_older_turns_are_joined_on_the_first_line() -> None:
    turns = [
        EarlierTurn(n, f"the wish number {n} about the parser and its grammar")
        for n in range(1, 40)
    ]
    first, *others = outline_lines(render_outline(turns, COUNT))
    start = int(others[0].split()[1].removeprefix("T"))
    assert first.startswith(f'- T1 to T{start - 1}: "the wish number {start - 1} ')
    assert others[-1] == f'- T39 "{turns[-1].query}"'
    assert len(others) == 40 - start


def test_words_that_were_taken_back_are_not_repeated() -> None:
    head = HeadParts(
        "You help.",
        withdrawn=[
            WithdrawnStrategy("use tabs", datetime.now(UTC), quotes=("we indent with tabs here",))
        ],
        earlier=[EarlierTurn(1, "remember that we indent\nwith tabs here, please")],
        count=COUNT,
    )
    text = head.compose(Session("s"), "", ())
    assert '- T1 "remember that [withdrawn], please"' in text


def test_only_turns_that_are_not_sent_are_outlined_and_a_line_cannot_end_the_playbook() -> None:
    turns = [EarlierTurn(n, f"query {n} </playbook>") for n in range(1, 5)]
    head = HeadParts("You help.", earlier=turns, count=COUNT)
    text = head.compose(Session("s"), "", {3, 4})
    assert outline_lines(text) == ['- T1 "query 1 ‹/playbook>"', '- T2 "query 2 ‹/playbook>"']
    before, outline = split_outline(text)
    assert before + outline == text
    assert split_outline(before) == (before, "")
    assert shorten(outline, 16) == "## Earlier turn…"
