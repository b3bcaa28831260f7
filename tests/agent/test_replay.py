"""Test that a replay sends the same requests and makes the same reductions as the turns did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.agent.replay import _ReplayAgent
from swecli.context.replay.history import History
from swecli.context.replay.requests import Assumptions, ReplayedTurn
from swecli.llm.price_table import prepare_environment
from swecli.models.message import ModelRequest
from swecli.models.window_spec import WindowSpec
from swecli.store.session_manager import SessionManager
from swecli.tools.registry import ToolRegistry
from tests.recorded.script import TURNS, Careful, prepare_files
from tests.support.databases import open_database
from tests.support.runtime import make_runtime, make_start, run_turn
from tests.support.scripted import ScriptedModel

pytestmark = pytest.mark.slow

WINDOW, OUTPUT = 15_000, 1_000


@pytest.fixture(autouse=True)
def count_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    environ: dict[str, str] = {}
    prepare_environment(environ)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", environ["TIKTOKEN_CACHE_DIR"])


async def run_recorded_turns(
    tmp_path: Path, **settings: Any
) -> tuple[SessionManager, list[ModelRequest]]:
    """Run the recorded turns as a session; return its manager and the requests that the model received."""
    prepare_files(tmp_path)
    replies: list[Any] = []

    def answer(request: ModelRequest) -> Any:
        return " text" * 400 if request.purpose == "condense" else replies.pop(0)

    model = ScriptedModel(answer, name="scripted/a", context_window=WINDOW, max_output=OUTPUT)
    runtime = make_runtime(model, Careful(), cwd=tmp_path, learn=False, **settings)
    runtime.agent.count_exactly()  # A replay counts exactly too.
    for query, planned in TURNS:
        if not any(isinstance(one, Exception) for one in planned):
            replies[:] = planned
            await run_turn(runtime, query, learn=False)
    return runtime.sessions, model.requests


async def replay_session(
    past: SessionManager, **settings: Any
) -> tuple[SessionManager, list[ReplayedTurn], History]:
    session = past.current_session
    assert session is not None
    past.load_back_to(1)
    specs = ToolRegistry.discover().specs()
    history = History.read(session, WINDOW, specs)
    assumed = Assumptions(session.window, WINDOW, OUTPUT, summary_tokens=400)
    replayed = SessionManager(open_database(":memory:"))
    agent = _ReplayAgent(history, assumed, make_start(learn=False, **settings).settings, replayed)
    return replayed, [sent async for sent, _ in agent.replay()], history


def reduction_rows(sessions: SessionManager) -> list[tuple[Any, ...]]:
    session = sessions.current_session
    assert session is not None
    rows = sessions.context.log(session)[::-1]
    return [(row.how, row.interaction, row.step, row.before, row.after, row.detail) for row in rows]


@pytest.mark.parametrize(
    "window",
    [
        "5+3",
        "5",
        "full",
    ],
)
async def test_a_replay_sends_the_requests_and_makes_the_reductions_of_the_session(
    tmp_path: Path, window: str
) -> None:
    given: dict[str, Any] = {"window": WindowSpec.parse(window), "auto_condense_context": False}
    past, requests = await run_recorded_turns(tmp_path, **given)
    replayed, turns, _ = await replay_session(past, **given)
    assert len({row[0] for row in reduction_rows(past)}) > 2
    assert reduction_rows(replayed) == reduction_rows(past)
    sent = [request.messages for turn in turns for request in turn.requests]
    assert sent == [request.messages for request in requests]


@pytest.mark.parametrize("window", ["5+3", "full"])
async def test_the_first_request_of_each_turn_is_rebuilt_from_the_stored_rows(
    tmp_path: Path, window: str
) -> None:
    given: dict[str, Any] = {"window": WindowSpec.parse(window), "auto_condense_context": False}
    past, _ = await run_recorded_turns(tmp_path, **given)
    _, turns, history = await replay_session(past, **given)
    session = past.current_session
    assert session is not None
    known = history.with_stored_requests(past.context.log(session))
    assert [list(turn.stored_messages) for turn in known.turns] == [
        turn.requests[0].messages for turn in turns
    ]
    assert {str(turn.window) for turn in known.turns} == {window}


async def test_a_replay_condenses_at_the_same_steps_as_the_session(tmp_path: Path) -> None:
    past, _ = await run_recorded_turns(tmp_path, window=WindowSpec(mode="full"))
    replayed, _, _ = await replay_session(past, window=WindowSpec(mode="full"))
    assert "condense" in {row[0] for row in reduction_rows(past)}
    assert [row[:3] for row in reduction_rows(replayed)] == [
        row[:3] for row in reduction_rows(past)
    ]
