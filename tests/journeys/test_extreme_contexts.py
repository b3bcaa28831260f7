"""Test contexts that are hard to send: too large, not valid text, interrupted, or with unusable settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.models.api_message import text_of
from swecli.models.errors import ContextOverflow
from swecli.models.events import Notice, TurnFailed
from swecli.models.message import (
    INTERRUPTED_RESULT,
    ChatMessage,
    ModelRequest,
    Role,
    ToolCall,
    Usage,
)
from swecli.models.window_spec import WindowSpec
from tests.support.histories import complaint
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel


async def test_a_message_larger_than_the_window_fails_the_turn_and_is_kept() -> None:
    runtime = make_runtime(ScriptedModel(["never"], context_window=8_000))
    events = await run_turn(runtime, "word " * 20_000, learn=False)
    assert isinstance(events[-1], TurnFailed)
    assert "your messages" in events[-1].hint
    assert runtime.sessions.current_session is not None
    assert len(runtime.sessions.current_session.messages) == 1


async def test_a_megabyte_of_one_letter_is_counted_and_refused() -> None:
    runtime = make_runtime(ScriptedModel(["never"], context_window=100_000))
    events = await run_turn(runtime, "a" * 1_000_000, learn=False)
    assert isinstance(events[-1], TurnFailed)


@pytest.mark.parametrize(
    "text", ["lone \ud800 half", "nul \x00 byte", "漢字と仮名", "\u202e steering", " \n\t "]
)
async def test_unusual_characters_are_sent_identically_after_a_restart(text: str) -> None:
    model = ScriptedModel(
        [calls(("todo", {"items": [{"text": text, "status": "open"}]}), text=text), f"ok {text}"]
    )
    runtime = make_runtime(model)
    await run_turn(runtime, f"say {text}", learn=False)
    assert complaint(model.requests[-1].messages) == ""
    session = runtime.sessions.current_session
    assert session is not None
    again = make_runtime(model, resume=session.id)
    assert again.agent.prepare("now").messages == runtime.agent.prepare("now").messages
    assert (
        again.agent.prepare("now").messages[: len(model.requests[-1].messages)]
        == model.requests[-1].messages
    )


async def test_a_session_with_an_unanswered_tool_call_resumes_with_a_valid_request() -> None:
    runtime = make_runtime(["one"])
    await run_turn(runtime, "first", learn=False)
    runtime.sessions.begin_interaction("second", "second")
    runtime.sessions.append(
        ChatMessage(Role.ASSISTANT, "", [ToolCall("c9", "run_command", {"command": "make"})])
    )
    session = runtime.sessions.current_session
    assert session is not None
    model = ScriptedModel(["three"])
    await run_turn(make_runtime(model, resume=session.id), "third", learn=False)
    sent = model.requests[0].messages
    assert complaint(sent) == ""
    assert any(message.get("content") == INTERRUPTED_RESULT for message in sent)


def test_an_unknown_condensing_model_is_reported_and_replaced_by_the_session_model() -> None:
    runtime = make_runtime(["x"], condense_model="nobody/none")
    assert any(
        line.startswith("nobody/none cannot summarise, so scripted/test does")
        for line in runtime.notices
    )
    assert runtime.agent.condense_model is None


async def test_a_request_truncated_silently_by_the_provider_is_reduced_and_sent_again() -> None:
    def answer(request: ModelRequest) -> Any:
        size = sum(len(str(m.get("content"))) for m in request.messages) // 4
        return Reply(
            "I see a part." if size > 6_000 else "I see it all.",
            usage=Usage(input=min(size, 6_000)),
        )

    model = ScriptedModel(answer, context_window=100_000, offline=False)
    runtime = make_runtime(model, reflect_with_model=False, window=WindowSpec(mode="full"))
    events = []
    for number in range(9):
        events += await run_turn(runtime, f"question {number} " + "word " * 1_100, learn=False)
    assert any(
        "read only 6,000 of about" in event.text for event in events if isinstance(event, Notice)
    )
    assert "context_reduced" in {event.type for event in events}
    assert [event.error for event in events if isinstance(event, TurnFailed)] == []
    sizes = [sum(len(str(m["content"])) for m in r.messages) for r in model.requests]
    assert len(sizes) > 9, "the request was sent again"
    assert sizes[-1] < max(sizes)


async def test_a_duplicate_tool_result_is_replaced_by_a_reference_to_the_first(
    tmp_path: Any,
) -> None:
    (tmp_path / "a.txt").write_text("a line of text\n" * 60)
    read = calls(("read_file", {"path": "a.txt"}))
    model = ScriptedModel([read, read, "done", read, "done"])
    runtime = make_runtime(model, cwd=tmp_path)
    await run_turn(runtime, "read it twice", learn=False)
    first, second = (m for m in model.requests[-1].messages if m["role"] == "tool")
    assert "a line of text" in first["content"]
    assert second["content"].startswith(
        f"[Unchanged: this is exactly the result of call {first['tool_call_id']}"
    )
    assert "a line of text" in (runtime.sessions.read_result(second["tool_call_id"]) or "")
    (tmp_path / "a.txt").write_text("another line\n" * 60)
    await run_turn(runtime, "and again", learn=False)
    assert "another line" in text_of(model.requests[-1].messages[-1])


async def test_a_context_window_too_small_for_tools_is_reported_at_startup() -> None:
    runtime = make_runtime(ScriptedModel(["x"], context_window=1_024, max_output=1_024))
    [line] = [line for line in runtime.notices if "too small" in line]
    assert line.startswith(
        "scripted/test has a window of 1,024 tokens: too small, tools and system prompt leave 0"
    )
    assert make_runtime(ScriptedModel(["x"], context_window=4_096, max_output=4_096)).notices == []


@pytest.mark.parametrize(
    ("context_window", "most"), [(8_192, 6), (16_384, 7), (32_768, 8), (None, 8)]
)
@pytest.mark.slow
async def test_a_small_context_window_holds_fewer_turns(
    context_window: int | None, most: int
) -> None:
    model = ScriptedModel(lambda _: "yes", context_window=context_window)
    runtime = make_runtime(model, learn=False)
    sizes: list[int] = []
    for number in range(12):
        first, last = runtime.agent.prepare(f"question {number}").request.window
        sizes.append(last - first + 1)
        if sizes[-1] == most:
            assert runtime.context_control.plan().when.startswith("in 1 turn,")
        await run_turn(runtime, f"question {number}", learn=False)
    assert max(sizes) == most


async def test_a_limit_reported_by_the_provider_is_discarded_with_a_new_session_or_model() -> None:
    refusal = ContextOverflow("too long")
    refusal.limit = 12_000
    for forget in ("new", "model"):
        model = ScriptedModel(
            [refusal, "I see.", "And now."], context_window=100_000, max_output=4_000
        )
        runtime = make_runtime(model)
        await run_turn(runtime, "hello", learn=False)
        assert runtime.agent.make_fitter().limits.allowed
        if forget == "new":
            runtime.new_session()
        else:
            runtime.agent.use_model(ScriptedModel(["x"], context_window=100_000, max_output=4_000))
        assert runtime.agent.make_fitter().limits.allowed is None


async def test_the_review_profile_truncates_no_ordinary_conversation() -> None:
    steps = [calls(("todo", {"items": [{"text": f"s{n}", "status": "open"}]})) for n in range(9)]
    model = ScriptedModel([*steps, "done"])
    runtime = make_runtime(model, profile="review")
    await run_turn(runtime, "review it", learn=False)
    assert [len(request.messages) for request in model.requests] == list(range(2, 22, 2))


async def test_an_oversized_first_message_stays_truncated_in_later_turns_and_after_a_restart() -> (
    None
):
    runtime = make_runtime(lambda request: "fine", learn=False, auto_condense_context=False)
    runtime.agent.use_model(ScriptedModel(lambda request: "fine", context_window=8_000))
    assert isinstance((await run_turn(runtime, "paste " * 20_000, learn=False))[-1], TurnFailed)
    assert (await run_turn(runtime, "and now?", learn=False))[-1].type == "turn_finished"
    session = runtime.sessions.current_session
    assert session is not None
    runtime.close()
    model = ScriptedModel(lambda request: "fine", context_window=8_000)
    resumed = make_runtime(model, resume=session.id, learn=False, auto_condense_context=False)
    events = await run_turn(resumed, "go on", learn=False)
    assert [event.type for event in events if event.type == "context_reduced"] == [], (
        "the cut text is unchanged"
    )
    first_message = text_of(model.requests[-1].messages[1])
    assert "paste paste" in first_message, "its beginning is still sent"
    resumed.close()


async def test_a_mentioned_file_too_long_for_the_window_is_reported() -> None:
    Path("big.txt").write_text("a line of text\n" * 9_000)
    model = ScriptedModel(["fine"], context_window=8_192)
    events = await run_turn(make_runtime(model, learn=False), "what is in @big.txt?", learn=False)
    assert events[-1].type == "turn_finished"
    assert any(
        isinstance(e, Notice) and "big.txt: 135,000 characters are too long" in e.text
        for e in events
    )


async def test_a_turn_finishes_with_forty_dense_tool_results_in_one_step() -> None:
    for number in range(40):
        Path(f"{number}.txt").write_text("漢字と仮名😀" * 800)
    reads = calls(*(("read_file", {"path": f"{number}.txt"}) for number in range(40)))
    model = ScriptedModel([reads, "done"], context_window=32_000, max_output=4_096)
    events = await run_turn(
        make_runtime(model, learn=False, auto_condense_context=False), "read all", learn=False
    )
    assert events[-1].type == "turn_finished"
