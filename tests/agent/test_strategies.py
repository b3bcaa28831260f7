"""Test which strategies a request contains: the best for each query, within the token budget, without duplicates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.events import Notice
from swecli.models.playbook import Delta, Op
from swecli.models.session import Session
from swecli.models.window_spec import WindowSpec
from swecli.playbook.pairs import PairKind, figures_of, make_pairs
from swecli.store.records import TurnLessons
from tests.support.playbook import perform
from tests.support.runtime import make_runtime, run_turn

pytestmark = pytest.mark.slow

TOPICS = (
    "billing",
    "login",
    "search",
    "shipping",
    "mail",
    "cart",
    "stock",
    "image",
    "report",
    "audit",
    "tax",
    "queue",
)
MATTERS = (
    "logs",
    "ports",
    "workers",
    "tables",
    "caches",
    "secrets",
    "charts",
    "hooks",
    "mocks",
    "retries",
)


def teach(runtime: Runtime, *contents: str, name: str = "taught", trust: str = "reasoning") -> None:
    session = runtime.sessions.current_session
    assert session is not None
    fields = [{"content": content, "scope": "project", "trust": trust} for content in contents]
    ops = tuple(Op("ADD", fields=field) for field in fields)
    runtime.sessions.playbook.apply(Delta(name, ops, "user"), session)


def current_session_of(runtime: Runtime) -> Session:
    session = runtime.sessions.current_session
    assert session is not None
    return session


def apply_ops(runtime: Runtime, *ops: Op, name: str = "changed") -> None:
    session = runtime.sessions.current_session
    assert session is not None
    runtime.sessions.playbook.apply(Delta(name, ops, "user"), session)


def sent_texts(runtime: Runtime) -> list[str]:
    return [str(message["content"]) for message in runtime.agent.model.requests[-1].messages]  # type: ignore[attr-defined]


def playbook_section(runtime: Runtime) -> str:
    """Return the playbook section of the system prompt."""
    return (
        re.search(r"\n\n## Playbook\n.*?</playbook>", sent_texts(runtime)[0], re.DOTALL) or [""]
    )[0]


def strategy_lines(runtime: Runtime) -> list[str]:
    """Return every line about strategies in the newest request."""
    return [
        *playbook_section(runtime).splitlines(),
        *note_lines(runtime),
    ]


def note_lines(runtime: Runtime) -> list[str]:
    """Return the notes about strategies in the newest request."""
    return re.findall(r"^- Strategy \[P-.*", "\n".join(sent_texts(runtime)[1:]), re.MULTILINE)


def strategy_ids(runtime: Runtime) -> set[str]:
    return {
        found[0]
        for line in strategy_lines(runtime)
        if (found := re.search(r"(?<=- \[)P-\d+|(?<=Strategy \[)P-\d+", line))
    }


def runtime_with_many_strategies(**settings: Any) -> Runtime:
    runtime = make_runtime(lambda request: "Done.", learn=False, **settings)
    for topic in TOPICS:
        teach(
            runtime,
            *(f"The {topic} {matter} live in {topic}/{matter}.py." for matter in MATTERS),
            name=topic,
        )
    return runtime


@pytest.mark.parametrize(
    "window", [WindowSpec(5, 3), WindowSpec(mode="full"), WindowSpec(5)], ids=str
)
@pytest.mark.parametrize("budget", [150, 600])
async def test_strategies_in_a_request_stay_within_the_budget_when_topics_change(
    window: WindowSpec, budget: int
) -> None:
    runtime = runtime_with_many_strategies(window=window, playbook_tokens=budget, max_strategies=30)
    count = runtime.agent.counter.count
    for number in range(24):
        topic = TOPICS[number * 5 % len(TOPICS)]
        await run_turn(runtime, f"why are the {topic} logs empty?", learn=False)
        notes = "".join(f"{line}\n" for line in note_lines(runtime))
        assert count(playbook_section(runtime)) + count(notes) <= budget
        assert len(strategy_ids(runtime)) <= 30
        assert any(f"{topic}/logs.py" in line for line in strategy_lines(runtime)), (
            "the best one for the query is among them"
        )


async def test_no_request_contains_a_strategy_twice_when_an_epoch_begins() -> None:
    runtime = runtime_with_many_strategies(window=WindowSpec(1, 2), playbook_tokens=300)
    for number in range(10):
        await run_turn(runtime, f"why are the {TOPICS[number % 4]} logs empty?", learn=False)
        lines = [line.partition("The ")[2] for line in strategy_lines(runtime) if "The " in line]
        assert len(lines) == len(set(lines))


async def test_the_strategies_recorded_as_shown_are_those_in_the_request() -> None:
    runtime = runtime_with_many_strategies(playbook_tokens=300)
    for number in range(9):
        await run_turn(runtime, f"why are the {TOPICS[number % 6]} logs empty?", learn=False)
        info = runtime.sessions.turns.turn(runtime.sessions.session.id, number + 1)
        assert info is not None
        assert set(info.shown) == strategy_ids(runtime)
        value = perform(runtime, "why", [f"T{number + 1}"]).value
        assert {row["id"] for row in value["candidates"] if row["chosen"]} == strategy_ids(runtime)
        assert len([row for row in value["candidates"] if not row["chosen"]]) <= 5, (
            "at most five rejected candidates are stored"
        )
        assert value["tokens"] <= value["budget"]


async def test_why_shows_removed_and_quarantined_strategies_as_they_were_in_the_turn() -> None:
    runtime = make_runtime(lambda request: "Done.")
    teach(runtime, "The billing port is 8000.", "Restart billing with `svc`.")
    await run_turn(runtime, "restart billing", learn=False)
    apply_ops(runtime, Op("REMOVE", "P-1"), Op("QUARANTINE", "P-2"))
    rows = {row["id"]: row for row in perform(runtime, "why", []).value["candidates"]}
    assert [rows[name]["chosen"] for name in ("P-1", "P-2")] == [True, True]
    assert rows["P-1"]["content"] == "The billing port is 8000."


async def test_a_strategy_that_names_a_missing_file_is_left_out_and_reported_once() -> None:
    runtime = make_runtime(lambda request: "Done.")
    Path("docs").mkdir()
    for name in ("docs/notes.md", "docs/plan.md"):
        Path(name).write_text("x")
    teach(
        runtime,
        "Read `docs/notes.md` before you restart billing",
        "The order of all work stands in `docs/plan.md`",
    )
    await run_turn(runtime, "restart billing", learn=False)
    assert strategy_ids(runtime) == {"P-1", "P-2"}
    Path("docs/notes.md").rename("docs/old.md")
    events = await run_turn(runtime, "restart billing", learn=False)
    [line] = [event.text for event in events if isinstance(event, Notice) and "stale" in event.text]
    assert line.startswith("P-1 is stale and stays out of prompts: docs/notes.md does not exist")
    assert "P-1 no longer applies" in "".join(strategy_lines(runtime)).replace("[", "").replace(
        "]", ""
    )
    assert not [
        e
        for e in await run_turn(runtime, "again", learn=False)
        if isinstance(e, Notice) and "stale" in e.text
    ]
    Path("docs/plan.md").unlink()
    runtime.new_session()
    await run_turn(runtime, "restart billing", learn=False)
    assert strategy_ids(runtime) == set(), (
        "a new session checks the anchors of the strategies it inherits"
    )


@pytest.mark.parametrize("how", ["remove", "disable"])
async def test_a_removed_or_disabled_strategy_is_in_no_later_request(how: str) -> None:
    runtime = make_runtime(lambda request: "Done.", window=WindowSpec(mode="full"))
    teach(runtime, "The billing port is 8000.")
    await run_turn(runtime, "restart billing", learn=False)
    teach(runtime, "Restart billing with `svc`.", name="later")
    await run_turn(runtime, "restart billing", learn=False)
    assert strategy_ids(runtime) == {"P-1", "P-2"}
    session = runtime.sessions.current_session
    assert session is not None
    op = "REMOVE" if how == "remove" else "UPDATE"
    fields = {} if how == "remove" else {"state": "disabled"}
    apply_ops(runtime, Op(op, "P-1", fields=fields), Op(op, "P-2", fields=fields))  # type: ignore[arg-type]
    await run_turn(runtime, "restart billing", learn=False)
    assert "8000" not in str(sent_texts(runtime))
    assert "svc" not in str(sent_texts(runtime))
    assert runtime.sessions.context.log(session)[0].detail


async def test_a_strategy_pinned_or_added_while_the_epoch_is_full_is_in_the_next_request() -> None:
    runtime = runtime_with_many_strategies(window=WindowSpec(mode="full"), playbook_tokens=200)
    for topic in TOPICS[:4]:
        await run_turn(runtime, f"why are the {topic} logs empty?", learn=False)
    apply_ops(runtime, Op("PIN", "P-117"))
    teach(runtime, "Say the ticket's number in each answer.", name="new", trust="user")
    await run_turn(runtime, "why are the mail logs empty?", learn=False)
    assert {"P-117", "P-121"} <= strategy_ids(runtime)


async def test_strategies_that_differ_only_in_a_name_and_a_number_are_all_in_the_request() -> None:
    runtime = make_runtime(lambda request: "Done.")
    services = ("auth", "billing", "search", "mail")
    for port, service in enumerate(services, 8001):
        await run_turn(
            runtime, f"remember that the {service} service listens on port {port} in development"
        )
    await run_turn(runtime, "which port does the auth service listen on in development")
    assert strategy_ids(runtime) == {"P-1", "P-2", "P-3", "P-4"}


async def test_the_model_is_told_once_of_strategies_that_contradict_each_other() -> None:
    runtime = make_runtime(lambda request: "Done.")
    teach(runtime, "Commit each change", "Leave committing to the user")
    await run_turn(runtime, "hello", learn=False)
    pairs = make_pairs(PairKind.CONTRADICTION, ("P-1", "P-2"))
    bullets = runtime.session.playbook.bullets
    figures = figures_of(pairs, bullets)
    runtime.sessions.playbook.record_lessons(runtime.session, TurnLessons(0, figures=figures))
    await run_turn(runtime, "go on", learn=False)
    [note] = [text for text in sent_texts(runtime) if "[P-1] and [P-2] contradict" in text]
    assert "ask the user which one holds" in note
    await run_turn(runtime, "and on", learn=False)
    told = [text for text in sent_texts(runtime) if "[P-1] and [P-2] contradict" in text]
    assert len(told) == 1, "the conversation holds it"
    perform(runtime, "review", ["P-1", "beside", "P-2"])
    runtime.new_session()
    await run_turn(runtime, "hello again", learn=False)
    assert not any("contradict" in text for text in sent_texts(runtime))
