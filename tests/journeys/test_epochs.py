"""Test that sent bytes change only with a reduction row, over many turns, and that a restart sends the same bytes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.llm.price_table import prepare_environment
from swecli.models.context import Reduction
from swecli.models.errors import Unavailable
from swecli.models.events import Notice
from swecli.models.message import ModelRequest
from swecli.models.session import Session
from swecli.models.window_spec import WindowSpec
from tests.support.histories import complaint
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

pytestmark = pytest.mark.slow


class WorkingModel:
    """A model that reads files and answers; `summary` is its answer to a summary request, `talk` the length of its
    text."""

    def __init__(
        self, steps: int = 3, summary: Any = "## Request\nThe user goes on.", talk: int = 20
    ) -> None:
        self.steps, self.summary, self.talk, self.count = steps, summary, talk, 0

    def __call__(self, request: ModelRequest) -> Any:
        if request.purpose == "condense":
            return self.summary
        self.count += 1
        if self.count % (self.steps + 1):
            return calls(("read_file", {"path": f"f{self.count % 7}.txt"}), text="I look.")
        return f"Answer {self.count}. " + "It is so. " * self.talk


@pytest.fixture(autouse=True)
def write_files() -> None:
    for number in range(7):
        Path(f"f{number}.txt").write_text(
            "".join(f"line {n} of {number} {'x' * 40}\n" for n in range(40))
        )


def working_runtime(context_window: int = 16_000, model: Any = None, **settings: Any) -> Runtime:
    scripted = ScriptedModel(
        model or WorkingModel(), context_window=context_window, max_output=1_000
    )
    return make_runtime(scripted, **settings)


def current_session_of(runtime: Runtime) -> Session:
    assert runtime.sessions.current_session is not None
    return runtime.sessions.current_session


def sent_turns(runtime: Runtime) -> list[str]:
    """Return the messages of each request of a turn, as text that shows every byte."""
    requests = runtime.agent.model.requests  # type: ignore[attr-defined]
    return [
        json.dumps(r.messages, ensure_ascii=False)[:-1] for r in requests if r.purpose == "turn"
    ]


def reduction_rows(runtime: Runtime) -> list[Reduction]:
    return runtime.sessions.context.log(current_session_of(runtime))[::-1]


WINDOWS = {
    "2+2": WindowSpec(2, 2),
    "5": WindowSpec(5),
    "full": WindowSpec(mode="full"),
    "auto": WindowSpec(mode="auto"),
}
QUICK = {("2+2", 9_000), ("auto", 200_000)}


@pytest.mark.parametrize(
    ("window", "context_window"),
    [
        pytest.param(
            spec, size, id=f"{name}-{size}", marks=() if (name, size) in QUICK else pytest.mark.slow
        )
        for name, spec in WINDOWS.items()
        for size in (9_000, 200_000)
    ],
)
async def test_sent_bytes_change_only_with_a_reduction_row(
    window: WindowSpec, context_window: int
) -> None:
    runtime = working_runtime(context_window, window=window)
    before, known = "", 0
    for number in range(12):
        await run_turn(runtime, f"question {number}")
        seen = sent_turns(runtime)
        found = [row for row in reduction_rows(runtime) if row.how != "begin"]
        changed = sum(
            not later.startswith(earlier)
            for earlier, later in zip([before, *seen], seen, strict=False)
        )
        assert changed <= len(found) - known
        assert changed or len(found) == known, "a reduction row without a change of bytes"
        assert all(complaint(request.messages) == "" for request in runtime.agent.model.requests)  # type: ignore[attr-defined]
        before, known = seen[-1], len(found)
        runtime.agent.model.requests.clear()  # type: ignore[attr-defined]
        other = make_runtime(
            runtime.agent.model, resume=current_session_of(runtime).id, window=window
        )
        assert other.agent.prepare("and now").messages == runtime.agent.prepare("and now").messages
        other.close()


async def test_reductions_are_applied_in_order_and_each_makes_the_request_smaller() -> None:
    runtime = working_runtime(
        6_000, WorkingModel(steps=9, summary=""), window=WindowSpec(mode="full")
    )
    for number in range(6):
        await run_turn(runtime, f"question {number}")
    found = [row for row in reduction_rows(runtime) if row.how != "begin"]
    assert found[0].how == "clear"
    assert "truncate" in {row.how for row in found}
    assert all(row.after < row.before for row in found)


async def test_undo_restores_the_earlier_bytes_also_after_a_restart() -> None:
    runtime = working_runtime(200_000, window=WindowSpec(2))
    await run_turn(runtime, "one")
    await run_turn(runtime, "two")
    await run_turn(runtime, "three")
    older = sent_turns(runtime)[-1]
    await run_turn(runtime, "four")
    assert not sent_turns(runtime)[-1].startswith(older)
    taken = runtime.context_control.undo()
    assert taken.how == "window"
    for again in (
        runtime,
        make_runtime(runtime.agent.model, resume=current_session_of(runtime).id),
    ):
        assert json.dumps(again.agent.prepare("five").messages, ensure_ascii=False).startswith(
            older
        )
    await run_turn(runtime, "five")
    assert sent_turns(runtime)[-1].startswith(older), "an undone reduction is not repeated at once"


async def test_a_summary_replaces_earlier_messages_and_is_requested_on_the_same_prefix() -> None:
    runtime = working_runtime(
        24_000,
        WorkingModel(steps=1, summary="SUMMARY of all", talk=600),
        window=WindowSpec(mode="full"),
    )
    for number in range(9):
        await run_turn(runtime, f"question {number}; never touch setup.py, number {number}")
    requests = runtime.agent.model.requests  # type: ignore[attr-defined]
    [row, *_] = [row for row in reduction_rows(runtime) if row.how == "condense"]
    place = next(n for n, request in enumerate(requests) if request.purpose == "condense")
    asked, following = requests[place], requests[place + 1]
    before = requests[place - 1].messages
    assert asked.messages[: len(before)] == before
    assert "SUMMARY of all" in following.messages[0]["content"]
    assert "never touch setup.py, number 0" in following.messages[0]["content"], (
        "the user's request is kept"
    )
    assert row.after < row.before
    assert asked.tools == requests[place - 1].tools
    spent = runtime.sessions.totals().by_purpose
    assert spent["condense"].requests >= 1


async def test_a_custom_condensing_prompt_is_sent() -> None:
    asked = "Sum it up as a poem."
    model = WorkingModel(steps=1, talk=600)
    runtime = working_runtime(
        24_000, model, window=WindowSpec(mode="full"), custom_condensing_prompt=asked
    )
    for number in range(9):
        await run_turn(runtime, f"question {number}", learn=False)
    condensing = [r for r in runtime.agent.model.requests if r.purpose == "condense"]  # type: ignore[attr-defined]
    assert condensing[0].messages[-1]["content"] == asked


@pytest.mark.parametrize(
    "summary",
    [
        pytest.param(Unavailable("gone"), marks=pytest.mark.slow),
        "",
        Reply("", calls=calls(("todo", {"items": []})).calls),
        "word " * 9_000,
    ],
)
async def test_a_bad_summary_is_reported_and_messages_are_truncated_instead(summary: Any) -> None:
    runtime = working_runtime(
        6_000, WorkingModel(steps=9, summary=summary), window=WindowSpec(mode="full")
    )
    events = []
    for number in range(9):
        events += await run_turn(runtime, f"question {number}", learn=False)
    notes = [event.text for event in events if isinstance(event, Notice)]
    assert any("was not condensed" in line for line in notes)
    assert len([line for line in notes if "condens" in line]) <= 2
    assert "condense" not in {row.how for row in reduction_rows(runtime)}
    assert "truncate" in {row.how for row in reduction_rows(runtime)}


async def test_a_cancelled_summary_changes_nothing() -> None:
    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            if request.purpose == "condense":
                condensing.set()
                await asyncio.sleep(60)
            async for chunk in super().stream(request):
                yield chunk

    condensing = asyncio.Event()
    runtime = make_runtime(
        Slow(WorkingModel(steps=1, talk=600), context_window=24_000, max_output=1_000),
        window=WindowSpec(mode="full"),
    )

    async def talk() -> None:
        for number in range(20):
            await run_turn(runtime, f"question {number}")

    turn = asyncio.create_task(talk())
    await asyncio.wait_for(condensing.wait(), 20)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    assert {row.how for row in reduction_rows(runtime)} <= {"begin", "clear"}
    again = make_runtime(runtime.agent.model, resume=current_session_of(runtime).id)
    assert again.agent.prepare("go on").messages == runtime.agent.prepare("go on").messages


async def test_token_counts_are_stored_and_not_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environ: dict[str, str] = {}
    prepare_environment(environ)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", environ["TIKTOKEN_CACHE_DIR"])
    runtime = make_runtime(["It is so. " * 50])
    runtime.agent.count_exactly()
    await run_turn(runtime, "how is it?")
    again = make_runtime(["x"], resume=current_session_of(runtime).id)
    again.agent.count_exactly()
    question, answer = current_session_of(again).messages
    assert (question.encoding, answer.encoding) == ("o200k_base", "o200k_base")
    assert answer.tokens == runtime.agent.counter.count(answer.content)
    answer.tokens = 12_345  # Distinct from the text that is counted.
    again.agent.prepare("and now?")
    assert again.agent.counter.count(answer.content) == 12_345


@pytest.mark.parametrize(("condense", "steps", "talk"), [(True, 0, 700), (False, 0, 700)])
async def test_the_context_plan_predicts_the_next_reduction(
    condense: bool, steps: int, talk: int
) -> None:
    runtime = working_runtime(
        24_000,
        WorkingModel(steps, talk=talk),
        window=WindowSpec(mode="full"),
        auto_condense_context=condense,
        learn=False,
    )
    await run_turn(runtime, "question 0")
    foretold, seen = [], []
    for number in range(1, 30):
        plan = runtime.context_control.plan()
        before = len(reduction_rows(runtime))
        await run_turn(runtime, f"question {number}")
        new = [row for row in reduction_rows(runtime)[before:] if row.step == 1]
        if plan.when.startswith("with the next"):
            foretold.append((plan.how, plan.after))
            seen.append((new[0].how, new[0].after if plan.after is not None else None))
    assert foretold, "the loop reached a planned reduction"
    assert [how for how, _ in foretold] == [how for how, _ in seen]
