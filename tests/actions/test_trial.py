"""Test asking a stored turn again with and without a strategy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swecli.actions.trial import try_
from swecli.app import Runtime
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput, UsageError
from swecli.models.message import ModelRequest
from tests.support.playbook import perform
from tests.support.runtime import calls, make_runtime, run_turn

RULE = "run the tests with make check"


def answer(request: ModelRequest) -> object:
    """Call `make check` if the strategy is in the request, else say so."""
    if request.purpose != "try":
        return "Done."
    system = request.messages[0]["content"]
    if RULE in json.dumps(request.messages, ensure_ascii=False):
        assert f"- [P-1] {RULE}" in str(system)
        return calls(("run_command", {"command": "make check > ran"}))
    return "I do not know how the tests are run."


async def try_again(runtime: Runtime, line: str) -> ActionResult:
    return await try_.perform(runtime, try_.read(line))


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    monkeypatch.chdir(tmp_path)
    return make_runtime(answer, reflect_with_model=False)


@pytest.mark.parametrize("is_in_head", [True, False], ids=["in the head", "in a note"])
async def test_both_answers_are_shown_with_calls_tokens_and_price_and_nothing_runs(
    runtime: Runtime, tmp_path: Path, *, is_in_head: bool
) -> None:
    if not is_in_head:
        await run_turn(runtime, "hello")
    perform(runtime, "add", [RULE])
    await run_turn(runtime, "are the tests green?")
    messages = [message.to_api() for message in runtime.session.messages]
    rows = len(runtime.sessions.context.log(runtime.session))
    result = await try_again(runtime, "P-1")
    number = runtime.session.interactions
    assert result.lines[0] == f"T{number} was asked again, once with P-1 and once without: {RULE}"
    text = "\n".join(result.lines)
    assert '  would call run_command {"command": "make check > ran"}' in text
    assert "  I do not know how the tests are run." in text
    assert "with P-1: 10 tokens in, 5 out, $0" in text
    assert "without P-1: 10 tokens in, 5 out, $0" in text
    assert "One sample each" in result.note
    assert result.value["without"]["calls"] == []
    assert not (tmp_path / "ran").exists()
    assert [message.to_api() for message in runtime.session.messages] == messages
    assert len(runtime.sessions.context.log(runtime.session)) == rows
    assert runtime.sessions.totals().by_purpose["try"].requests == 2


async def test_a_turn_that_never_had_the_strategy_gets_it_once(runtime: Runtime) -> None:
    await run_turn(runtime, "are the tests green?")
    perform(runtime, "add", [RULE])
    result = await try_again(runtime, "P-1 T1")
    assert [call["name"] for call in result.value["with"]["calls"]] == ["run_command"]
    assert result.value["without"]["calls"] == []


async def test_the_two_requests_differ_in_one_line(runtime: Runtime) -> None:
    perform(runtime, "add", [RULE])
    perform(runtime, "add", ["answers are short"])
    await run_turn(runtime, "are the tests green?")
    await try_again(runtime, "P-1")
    model = runtime.agent.model
    first, second = model.requests[-2:]  # type: ignore[attr-defined]
    assert first.messages[1:] == second.messages[1:]
    lines = str(first.messages[0]["content"]).split("\n")
    lines.remove(f"- [P-1] {RULE}")
    assert lines == str(second.messages[0]["content"]).split("\n")
    assert first.tools == second.tools


async def test_what_cannot_be_asked_again_is_one_line(runtime: Runtime) -> None:
    perform(runtime, "add", [RULE])
    with pytest.raises(BadInput, match="Nothing has been asked in this session yet"):
        await try_again(runtime, "P-1")
    await run_turn(runtime, "hello")
    with pytest.raises(BadInput, match="There is no turn T9"):
        await try_again(runtime, "P-1 T9")
    with pytest.raises(BadInput, match="There is no strategy P-7 here"):
        await try_again(runtime, "P-7")
    with pytest.raises(UsageError, match="A strategy is required"):
        await try_again(runtime, "")
