"""Test headless turns: events go to the writer, approvals are refused, and the exit code tells how the turn ended."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from swecli.headless.prompts import Prompt
from swecli.headless.runner import HEADLESS_REASON, refuse, run_prompts
from swecli.headless.writers import json as json_format
from swecli.headless.writers.base import make_writer
from swecli.models.errors import AuthFailed, BadInput, ModelNotFound, Unavailable
from swecli.models.events import Event
from swecli.models.message import ModelRequest
from swecli.models.playbook import Delta, Op
from swecli.playbook.learning.service import LearningService
from swecli.playbook.workspace import note_anchors
from swecli.store.session_manager import SessionManager
from tests.support.runtime import calls, make_runtime
from tests.support.scripted import Reply, ScriptedModel


async def make_prompts(*texts: str | Exception) -> AsyncIterator[Prompt]:
    for text in texts:
        if isinstance(text, Exception):
            raise text
        yield Prompt(text)


async def run_headless(
    replies: Any, *texts: str | Exception, **settings: Any
) -> tuple[int, list[dict[str, Any]], str]:
    """Run the prompts; return the exit code, the result objects and stderr."""
    runtime = make_runtime(replies, refuse, **settings)  # type: ignore[arg-type]
    out, err = io.StringIO(), io.StringIO()
    code = await run_prompts(runtime, make_prompts(*texts), make_writer("json", out, err))
    runtime.close()
    return code, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue()


@pytest.mark.slow
async def test_an_answered_prompt_exits_with_0() -> None:
    code, results, err = await run_headless(["Four."], "2 + 2?")
    assert (code, results[0]["result"], err) == (0, "Four.", "")


async def test_a_prompt_is_stored_before_anchors_are_checked() -> None:
    runtime = make_runtime(["Four."], refuse)  # type: ignore[arg-type]
    messages_there: list[list[str]] = []

    async def check_anchors() -> list[Event]:
        other = SessionManager(runtime.sessions.database).resume(None, str(Path.cwd()))
        messages_there.append([message.content for message in other.messages])
        return []

    fields = {"content": "Prices are in `shop/prices.py`", "scope": "project", "trust": "user"}
    runtime.sessions.playbook.apply(
        Delta("d", (Op("ADD", fields=fields),), "user"), runtime.sessions.session
    )
    runtime.learning.check_anchors = check_anchors  # type: ignore[method-assign, assignment]
    code = await run_prompts(
        runtime, make_prompts("2 + 2?"), make_writer("json", io.StringIO(), io.StringIO())
    )
    session = runtime.sessions.resume(None, str(Path.cwd()))
    runtime.close()
    assert (code, messages_there) == (0, [["2 + 2?"]])
    assert [message.content for message in session.messages] == ["2 + 2?", "Four."]


async def test_approvals_are_denied_and_reported_with_a_reason() -> None:
    code, results, err = await run_headless(
        [calls(("write_file", {"path": "a", "content": "x"})), "Then not."], "write a"
    )
    assert code == 0
    assert not Path("a").exists()
    assert results[0]["permission_denials"] == [
        {"tool": "write_file", "input": {"path": "a", "content": "x"}, "reason": HEADLESS_REASON}
    ]
    assert "denied: Create a" in err


@pytest.mark.parametrize(
    ("tool", "parameters", "rule"),
    [
        ("run_command", {"command": "cat .env"}, "run(cat .env)"),
        ("read_file", {"path": ".env"}, "read(/.env)"),
    ],
)
async def test_a_secret_is_refused_in_every_mode_with_the_rule_that_would_allow_it(
    tool: str, parameters: dict[str, str], rule: str
) -> None:
    Path(".env").write_text("KEY=canary\n")
    code, results, _ = await run_headless([calls((tool, parameters)), "No."], "look", mode="auto")
    assert code == 0
    reason = results[0]["permission_denials"][0]["reason"]
    assert ".env may contain secrets" in reason
    assert reason.endswith(f"a rule for exactly this allows it: {rule}")
    assert "--mode" not in reason
    code, results, _ = await run_headless(
        [calls((tool, parameters)), "Yes."], "look", mode="auto", allow=[rule]
    )
    assert results[0]["permission_denials"] == []


async def test_mode_edits_allows_writing_files_without_approval() -> None:
    code, results, _ = await run_headless(
        [calls(("write_file", {"path": "a", "content": "x"})), "Done."], "write a", mode="edits"
    )
    assert (code, Path("a").read_text(), results[0]["permission_denials"]) == (0, "x", [])


@pytest.mark.parametrize(
    ("failure", "code"),
    [(AuthFailed("no key"), 1), (ModelNotFound("no model"), 42)],
)
async def test_a_failed_turn_exits_with_the_code_of_its_error(
    failure: Exception, code: int
) -> None:
    ended, results, err = await run_headless([failure], "hello")
    assert (ended, results[0]["is_error"], results[0]["result"]) == (code, True, str(failure))
    assert err == f"swecli: {failure}\n"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"max_turns": 2}, "max_turns"), ({"max_budget_usd": 0.5}, "max_budget")],
)
async def test_a_turn_or_budget_limit_exits_with_53(settings: dict[str, Any], reason: str) -> None:
    numbers = iter(range(1, 100))
    step = lambda _: Reply(calls=calls(("list_files", {"depth": next(numbers)})).calls, cost=0.3)  # noqa: E731
    code, results, _ = await run_headless(step, "go", **settings)
    assert (code, results[0]["subtype"], results[0]["num_turns"]) == (53, reason, 2)


async def test_an_answer_truncated_by_its_length_exits_with_53() -> None:
    code, results, _ = await run_headless([Reply("half", stop="length")], "go")
    assert (code, results[0]["subtype"], results[0]["result"]) == (53, "length", "half")


async def test_prompts_share_one_session_and_the_last_failure_sets_the_exit_code() -> None:
    code, results, _ = await run_headless(["One.", AuthFailed("no key"), "Three."], "a", "b", "c")
    assert code == 1
    assert [r["is_error"] for r in results] == [False, True, False]
    assert len({r["session_id"] for r in results}) == 1


async def test_invalid_input_ends_the_run_after_the_prompts_before_it() -> None:
    code, results, err = await run_headless(["One."], "a", BadInput("Line 2 is odd.", "Mend it."))
    assert code == 42
    assert [r["result"] for r in results] == ["One.", "Line 2 is odd. Mend it."]
    assert err == "swecli: Line 2 is odd.  Mend it.\n"


async def test_piped_input_is_sent_separately_from_the_text_of_the_user() -> None:
    runtime = make_runtime(["Fine."], refuse)  # type: ignore[arg-type]

    async def one() -> AsyncIterator[Prompt]:
        yield Prompt("explain", "some\nlog")

    await run_prompts(runtime, one(), make_writer("text", io.StringIO(), io.StringIO()))
    session = runtime.sessions.current_session
    assert session is not None
    assert session.messages[0].content == "explain"
    assert "<piped>\nsome\nlog\n</piped>" in (session.messages[0].sent or "")
    runtime.close()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
async def test_a_signal_ends_the_turn_and_keeps_what_was_received(
    number: signal.Signals, code: int, request: pytest.FixtureRequest
) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # Ignored if the tests run under nohup.
    request.addfinalizer(lambda: signal.signal(number, before))
    runtime = make_runtime([Reply("a long answer that is cut", piece=2, delay=0.01)], refuse)  # type: ignore[arg-type]
    out, err = io.StringIO(), io.StringIO()

    class Impatient(json_format.FORMAT):
        def write(self, event: Any) -> None:
            super().write(event)
            if event.type == "text_delta":
                os.kill(os.getpid(), number)

    ended = await run_prompts(runtime, make_prompts("talk", "never"), Impatient(out, err))
    assert ended == code
    assert json.loads(out.getvalue())["subtype"] == "interrupted"
    session = runtime.sessions.current_session
    assert session is not None
    assert [m.status for m in session.messages] == ["complete", "partial"]
    runtime.close()


async def test_an_error_in_learning_is_reported_and_the_answer_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime = make_runtime(["Fine."], refuse)  # type: ignore[arg-type]
    fields = {"content": "Prices are in `shop/prices.py`", "scope": "project", "trust": "user"}
    runtime.sessions.playbook.apply(
        Delta("d", (Op("ADD", fields=fields),), "user"), runtime.sessions.session
    )

    def fail(*given: object) -> None:
        raise RuntimeError("blind" if len(given) == 2 else "odd")

    monkeypatch.setattr("swecli.playbook.learning.service._check_anchors", fail)
    monkeypatch.setattr(LearningService, "_inspect", fail)
    out, err = io.StringIO(), io.StringIO()
    assert await run_prompts(runtime, make_prompts("a"), make_writer("text", out, err)) == 0
    assert out.getvalue() == "Fine.\n"
    assert err.getvalue().count("RuntimeError: blind · will retry later") == 1
    assert "RuntimeError: odd · will retry later" in err.getvalue()
    runtime.close()


@pytest.mark.parametrize(
    ("style", "is_last"), [("text", False), ("json", False), ("stream-json", True)]
)
async def test_nobody_waits_for_what_is_learned_to_see_an_answer(
    style: str, is_last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = make_runtime(["Fine."], refuse)  # type: ignore[arg-type]

    def fail(*given: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(LearningService, "_inspect", fail)
    shown = io.StringIO()
    assert await run_prompts(runtime, make_prompts("a"), make_writer(style, shown, shown)) == 0
    runtime.close()
    learned = shown.getvalue().index("RuntimeError: odd")
    answer = shown.getvalue().rindex("Fine.")
    assert (answer > learned) is is_last


async def test_a_strategy_that_names_a_missing_file_is_reported_once_and_not_sent() -> None:
    runtime = make_runtime(["Fine.", "Fine."], refuse)  # type: ignore[arg-type]
    session = runtime.sessions.current_session
    assert session is not None
    fields = {"content": "Prices are in `shop/prices.py`", "scope": "project"}
    runtime.sessions.playbook.apply(Delta("d", (Op("ADD", fields=fields),), "user"), session)
    Path("shop").mkdir()
    Path("shop/prices.py").write_text("")
    note_anchors(runtime.sessions, session, ["P-1"])
    Path("shop/prices.py").unlink()
    err = io.StringIO()
    await run_prompts(
        runtime,
        make_prompts("where are prices?", "really?"),
        make_writer("text", io.StringIO(), err),
    )
    assert (
        err.getvalue().count("P-1 is stale and stays out of prompts: shop/prices.py does not exist")
        == 1
    )
    assert isinstance(runtime.agent.model, ScriptedModel)
    assert "shop/prices.py" not in str(runtime.agent.model.requests[0].messages)
    runtime.close()


@pytest.mark.slow
async def test_a_run_reflects_after_the_last_answer_or_reports_the_turns_that_wait() -> None:
    failing = calls(("run_command", {"command": "false"}))
    asked: list[str] = []

    def answer(request: ModelRequest) -> Any:
        asked.append(request.purpose)
        if request.purpose == "reflect":
            return '{"exchanges": [{"id": "T1"}, {"id": "T2"}]}'
        return failing if len(asked) % 2 else "Done."

    runtime, err = make_runtime(answer), io.StringIO()
    await run_prompts(
        runtime, make_prompts("run false", "again"), make_writer("text", io.StringIO(), err)
    )
    assert asked == ["turn", "turn", "turn", "turn", "reflect"], "once, after the last answer"
    assert "reflected on" not in err.getvalue()
    asked.clear()
    later = make_runtime(answer, reflect_at_end=False)
    await run_prompts(later, make_prompts("run false"), make_writer("text", io.StringIO(), err))
    assert asked == ["turn", "turn"]
    assert "1 turn waits to be reflected on: start swecli in a terminal" in err.getvalue()


async def test_an_unavailable_provider_exits_with_75() -> None:
    runtime = make_runtime([Unavailable("busy", retry_after=0.0)] * 9, refuse)  # type: ignore[arg-type]
    out = io.StringIO()
    assert (
        await run_prompts(runtime, make_prompts("a"), make_writer("json", out, io.StringIO())) == 75
    )
    assert json.loads(out.getvalue())["result"] == "busy"
    runtime.close()
