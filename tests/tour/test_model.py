"""Test the offline models: their entry point, the lines of their script, and answers that quote results."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.app import Runtime
from swecli.config.settings import Settings
from swecli.context.repair import normalize
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model
from swecli.models.approval import Decision
from swecli.models.errors import BadInput, ModelNotFound
from swecli.models.message import ModelRequest, ToolSpec
from swecli.playbook.learning.answer import ReflectionScope, read_answer
from tests.support.histories import Message, wild_histories
from tests.support.model_requests import ask
from tests.support.reviews import begin_review
from tests.support.runtime import NO, User, make_runtime, run_turn
from tests.support.shell import ROOT

TOOLS = [
    ToolSpec(name, "", {})
    for name in ("list_files", "read_file", "search_files", "edit_file", "run_command")
]


def tour_model() -> ChatModel:
    return make_model("demo", Settings(), {})


def make_messages(*lines: str) -> list[Message]:
    return [{"role": "system", "content": "s"}, {"role": "user", "content": "\n".join(lines)}]


async def first_call(*lines: str, system: str = "s") -> tuple[str, dict[str, object]] | None:
    reply = await ask(
        tour_model(),
        ModelRequest(
            "demo", [{"role": "system", "content": system}, *make_messages(*lines)[1:]], TOOLS
        ),
    )
    return (reply.calls[0].name, reply.calls[0].parameters) if reply.calls else None


async def answer_to(runtime: Runtime, line: str) -> str:
    """Return the answer to a line."""
    await run_turn(runtime, line)
    assert runtime.sessions.current_session is not None
    return runtime.sessions.current_session.messages[-1].content


@pytest.fixture
def project() -> Path:
    Path("shop").mkdir()
    Path("shop/prices.py").write_text("TAX = 0.19\nROUNDED = True\n")
    return Path("shop/prices.py")


# Entry point


def test_the_installed_providers_are_the_declared_ones_and_demo_is_the_tour() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
        "swecli.providers"
    ]
    installed = {point.name: point.value for point in entry_points(group="swecli.providers")}
    installed.pop("scripted", None)  # the scripted model of the tests
    assert installed == declared
    assert [make_model(name, Settings(), {}).name for name in ("demo", "demo/rules", " demo ")] == [
        "demo"
    ] * 3


def test_without_package_metadata_the_error_names_scripts_setup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    with pytest.raises(ModelNotFound, match="scripts/setup"):
        make_model("demo", Settings(), {})


# Recorded lines


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("list files", "list_files", {"path": "."}),
        ("List files in shop", "list_files", {"path": "shop"}),
        ("read @shop/a.py", "read_file", {"path": "shop/a.py"}),
        ("read `my file.py`", "read_file", {"path": "my file.py"}),
        ("search for TAX", "search_files", {"pattern": "TAX"}),
        ('change "x" to "" in a.py', "read_file", {"path": "a.py"}),
        ('run the tests with "npm test"', "run_command", {"command": "npm test"}),
        ("run the tests", "run_command", {"command": "python3 -m unittest"}),
    ],
)
async def test_a_recorded_line_makes_its_call(
    line: str, name: str, arguments: dict[str, object]
) -> None:
    assert await first_call(line) == (name, arguments)


@pytest.mark.parametrize(
    "line", ["hello", "fix the bug", "read", "read the code and tell me", "x" * 5_000]
)
@pytest.mark.parametrize("name", ["demo", "demo/tutorial"])
async def test_a_free_question_is_told_that_the_answers_are_recorded(name: str, line: str) -> None:
    model = make_model(name, Settings(), {})
    reply = await ask(model, ModelRequest(name, make_messages(line), TOOLS))
    assert not reply.calls
    assert "recorded" in reply.text
    assert "-m provider/name" in reply.text


async def test_the_tour_lists_its_lines() -> None:
    reply = await ask(tour_model(), ModelRequest("demo", make_messages("tour"), TOOLS))
    assert "`read FILE`" in reply.text


async def test_a_tool_that_is_not_offered_is_not_called() -> None:
    reply = await ask(tour_model(), ModelRequest("demo", make_messages("list files")))
    assert not reply.calls


@pytest.mark.slow
async def test_answers_quote_the_tool_results(project: Path) -> None:
    runtime = make_runtime(tour_model())
    assert "shop/prices.py" in await answer_to(runtime, "list shop")
    assert "TAX = 0.19" in await answer_to(runtime, "read shop/prices.py")
    assert "ROUNDED" in await answer_to(runtime, "search for ROUNDED")
    assert "nothere.py" in await answer_to(runtime, "read nothere.py")
    assert "exit code 3" in await answer_to(runtime, 'run the tests with "exit 3"')


@pytest.mark.parametrize(("decision", "left"), [(Decision(True), "TAX = 0.21"), (NO, "TAX = 0.19")])
@pytest.mark.slow
async def test_a_replacement_changes_the_file_only_after_approval(
    project: Path, decision: Decision, left: str
) -> None:
    user = User([decision])
    runtime = make_runtime(tour_model(), user)
    await answer_to(runtime, 'change "0.19" to "0.21" in shop/prices.py')
    assert [request.call.name for request in user.asked] == ["edit_file"]
    assert left in project.read_text()


async def test_a_remembered_line_is_in_the_next_prompt() -> None:
    runtime = make_runtime(tour_model())
    assert "no model is needed" in await answer_to(
        runtime, "remember that the tests run with `echo ok`"
    )
    prompt = "".join(str(message["content"]) for message in runtime.agent.prepare("x").messages)
    assert "The tests run with `echo ok`" in prompt


# Requests of the program


async def test_a_reflection_is_valid_and_has_no_proposals() -> None:
    reply = await ask(
        tour_model(), ModelRequest("demo", make_messages("reflect"), purpose="reflect")
    )
    reflections, problem = read_answer(reply.text, ReflectionScope({1: ()}))
    assert (reflections[1].effects, reflections[1].lessons, problem) == ({}, [], "")


async def test_a_review_is_refused_before_it_begins(project: Path) -> None:
    runtime = make_runtime(tour_model())
    with pytest.raises(BadInput, match="The tour reviews nothing") as refused:
        await begin_review(runtime, "shop")
    assert "-m provider/name" in refused.value.hint


@given(wild_histories, st.sampled_from(["turn", "reflect", "condense", "review"]), st.booleans())
@pytest.mark.slow
async def test_any_valid_request_gets_a_complete_answer(
    history: list[Message], purpose: str, offered: bool
) -> None:
    for more in ([], [{"role": "user", "content": "read a\n" * 3_000}]):
        lawful = normalize([*history, *more])
        request = ModelRequest("demo", lawful, TOOLS if offered else [], purpose=purpose)  # type: ignore[arg-type]
        chunks = [chunk async for chunk in tour_model().stream(request)]
        assert chunks[-1].stop


async def test_an_answer_that_is_cut_ends_with_an_ellipsis() -> None:
    request = ModelRequest(
        "demo", [{"role": "user", "content": "what can you do?"}], [], max_tokens=10
    )
    text = "".join([chunk.text async for chunk in tour_model().stream(request)])
    assert len(text) == 40
    assert text.endswith("…")
