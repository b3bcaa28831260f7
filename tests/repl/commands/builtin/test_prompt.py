"""Test `/prompt T7`: the request of an earlier turn; that of the next one is tested in test_context.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.llm.price_table import prepare_environment
from swecli.models.errors import BadInput
from swecli.models.message import ModelRequest
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

pytestmark = pytest.mark.slow


def answer(request: ModelRequest) -> Reply | str:
    if request.purpose == "condense":
        return "SUMMARY: they counted."
    last = request.messages[-1]
    if last["role"] == "user" and "read" in str(last["content"]).split("\n", maxsplit=1)[0]:
        return calls(("read_file", {"path": "a.txt"}))
    return "As you say."


@pytest.fixture
def runtime() -> Runtime:
    Path("a.txt").write_text("the marker is KIWI\n")
    return make_runtime(ScriptedModel(answer))


@pytest.fixture
def ctx(runtime: Runtime) -> ScriptedContext:
    return ScriptedContext(runtime)


async def first_request_of(runtime: Runtime, query: str) -> list[object]:
    """Run a turn; return the messages of its first request."""
    asked = runtime.agent.model.requests  # type: ignore[attr-defined]
    before = len(asked)
    await run_turn(runtime, query)
    return list(asked[before].messages)


async def test_the_request_of_each_earlier_turn_is_rebuilt_as_it_was_sent(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    sent = [await first_request_of(runtime, "read the file")]
    sent.append(await first_request_of(runtime, "remember that we use tabs"))
    await ctx.type("/window 1")
    sent.append(await first_request_of(runtime, "and now"))
    await ctx.type("/pin T1")
    sent.append(await first_request_of(runtime, "read it again"))
    await ctx.type("/compact")
    sent.append(await first_request_of(runtime, "go on"))
    control = runtime.context_control
    rebuilt = [control.past_prompt(number).messages for number in range(1, 6)]
    assert rebuilt == sent


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch, runtime: Runtime) -> None:
    """Let the session count tokens by the table, as outside of tests."""
    environ: dict[str, str] = {}
    prepare_environment(environ)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", environ["TIKTOKEN_CACHE_DIR"])
    runtime.agent.count_exactly()
    assert not runtime.agent.counter.estimated


@pytest.mark.usefixtures("exact")
async def test_it_is_shown_by_parts_with_the_count_that_proves_it(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "hello")
    await run_turn(runtime, "read the file")
    printed = await ctx.type("/prompt T2")
    parts = [line for line in printed.splitlines() if line.startswith("---")]
    assert [part.split(" · ")[0] for part in parts] == [
        "--- system",
        "--- turn 1",
        "--- query",
        "--- T2",
    ]
    assert "T2 sent 1 more request" in printed
    assert "tokens, as were counted when it was sent" in " ".join(printed.split())


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(
    ("counted", "words"),
    [
        (100_000, "not proved exact: 100,000 tokens"),
        (1, "NOT exact: when it was sent"),
    ],
)
async def test_a_request_of_another_count_than_then_is_not_called_exact(
    runtime: Runtime, ctx: ScriptedContext, counted: int, words: str
) -> None:
    await run_turn(runtime, "hello")
    with runtime.sessions.database.write() as db:
        db.execute("UPDATE model_request SET extra = json_set(extra, '$.counted', ?)", (counted,))
    assert words in " ".join((await ctx.type("/prompt T1")).split())


async def test_a_turn_that_does_not_exist_is_named(runtime: Runtime, ctx: ScriptedContext) -> None:
    await run_turn(runtime, "hello")
    with pytest.raises(BadInput, match="There is no turn T9"):
        await ctx.type("/prompt T9")


async def test_a_word_that_is_no_turn_is_the_query(runtime: Runtime, ctx: ScriptedContext) -> None:
    await run_turn(runtime, "hello")
    assert "7 apples" in await ctx.type("/prompt 7 apples")
