"""Test questions beside the conversation: what is sent for them, and that no later request differs because of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model
from swecli.models.errors import BadInput, ProviderError
from swecli.models.events import TextDelta
from swecli.models.message import ModelRequest
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply as ScriptedReply
from tests.support.scripted import ScriptedModel
from tests.support.strict_provider import Call, Refusal, Reply, StrictProvider, Tokens

MODELS = ["openai/gpt-4.1", "openai/responses/gpt-4.1", "anthropic/claude-haiku-4-5"]
FIELDS = {"messages", "input", "contents"}  # what a conversation is in, by protocol


def model_at(server: StrictProvider, name: str) -> ChatModel:
    return make_model(name, Settings(), server.environ())


def conversation_of(body: dict[str, Any]) -> list[Any]:
    """Return the messages of a request, without the marks of what may be cached."""
    [name] = FIELDS & body.keys()
    text = json.dumps(body[name]).replace(', "cache_control": {"type": "ephemeral"}', "")
    messages: list[Any] = json.loads(text)
    return messages


def rest_of(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in {*FIELDS, "tool_choice"}}


async def bodies_of(model: str, *, asks: bool) -> list[dict[str, Any]]:
    """Return the requests of two turns, between which `/btw` asks something or nothing is asked."""
    asides = [Reply("Beside.")] * asks
    with StrictProvider([Reply("First."), *asides, Reply("Second.")]) as server:
        runtime = make_runtime(model_at(server, model), learn=False)
        await run_turn(runtime, "one", learn=False)
        if asks:
            printed = await ScriptedContext(runtime).type("/btw what was that?")
            assert "Beside." in printed
        await run_turn(runtime, "two", learn=False)
        assert not server.refusals
        return server.bodies


@pytest.mark.parametrize("model", MODELS)
async def test_the_next_request_is_the_same_as_without_the_question(model: str) -> None:
    asked = await bodies_of(model, asks=True)
    plain = await bodies_of(model, asks=False)
    assert [asked[0], asked[2]] == plain


@pytest.mark.parametrize("model", MODELS)
async def test_the_question_follows_the_bytes_that_a_turn_would_send(model: str) -> None:
    first, aside, second = await bodies_of(model, asks=True)
    *before, question = conversation_of(aside)
    assert conversation_of(second)[: len(before)] == before
    assert conversation_of(first) == before[: len(conversation_of(first))]
    assert rest_of(aside) == rest_of(second), "the same tools and system text"
    assert "what was that?" in json.dumps(question)


@pytest.mark.parametrize(
    ("model", "choice"),
    [
        ("openai/gpt-4.1", "none"),
        ("openai/responses/gpt-4.1", "none"),
        ("anthropic/claude-haiku-4-5", None),  # whose cache of the conversation would be lost
    ],
)
async def test_tools_are_described_and_chosen_none_of_where_the_cache_allows(
    model: str, choice: str | None
) -> None:
    _, aside, second = await bodies_of(model, asks=True)
    assert aside["tools"] == second["tools"]
    assert aside.get("tool_choice") == choice
    assert "tool_choice" not in second


async def test_gemini_is_told_that_no_function_may_be_called() -> None:
    with StrictProvider([Reply("Beside.")], models=("gemini-2.5-flash",)) as server:
        runtime = make_runtime(model_at(server, "gemini/gemini-2.5-flash"), learn=False)
        await ScriptedContext(runtime).type("/btw and this?")
    [body] = server.bodies
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    assert body["tools"]


async def test_a_call_is_refused_and_the_text_asked_for() -> None:
    call = Reply(calls=(Call("run_command", {"command": "touch made"}),))
    with StrictProvider([Reply("First."), call, Reply("As text.")]) as server:
        runtime = make_runtime(model_at(server, MODELS[2]), learn=False)
        await run_turn(runtime, "one", learn=False)
        printed = await ScriptedContext(runtime).type("/btw make it")
    assert "As text." in printed
    assert not Path("made").exists()
    assert not server.refusals
    assert "No tool runs" in json.dumps(conversation_of(server.bodies[2])[-1])
    assert runtime.sessions.totals().by_purpose["aside"].requests == 2
    [aside] = runtime.sessions.asides()
    assert (aside.question, aside.answer) == ("make it", "As text.")


async def test_a_model_that_only_calls_is_said_to_have_given_no_answer() -> None:
    runtime = make_runtime([calls(("list_files", {}))] * 2)
    printed = await ScriptedContext(runtime).type("/btw what is here?")
    assert "The model called a tool and gave no answer." in printed


async def test_it_is_no_turn_and_its_cost_counts() -> None:
    with StrictProvider(
        [Reply("First."), Reply("Beside.", usage=Tokens(input=1_000, output=100))]
    ) as server:
        runtime = make_runtime(model_at(server, MODELS[0]))
        await run_turn(runtime, "one", learn=False)
        before = runtime.sessions.totals().cost
        messages = [message.content for message in runtime.session.messages]
        await ScriptedContext(runtime).type("/btw and beside?")
        totals = runtime.sessions.totals()
    spent = totals.by_purpose["aside"]
    assert (spent.usage.input, spent.usage.output) == (1_000, 100)
    assert before is not None
    assert totals.cost == pytest.approx(before + 1_000 * 2e-6 + 100 * 8e-6)
    assert runtime.session.interactions == 1
    assert [message.content for message in runtime.session.messages] == messages
    assert [n for _, numbers in runtime.learning.pending_by_session() for n in numbers] == [1]
    assert runtime.history is not None
    assert [number for number, *_ in runtime.history.turns()] == [1]


async def test_the_first_line_of_a_session_may_be_one() -> None:
    runtime = make_runtime(["Beside.", "First."])
    await ScriptedContext(runtime).type("/btw are you there?")
    await run_turn(runtime, "one", learn=False)
    aside, turn = runtime.agent.model.requests  # type: ignore[attr-defined]
    assert "are you there?" not in json.dumps(turn.messages)
    assert aside.messages[0] == turn.messages[0]


async def test_it_may_mention_a_file() -> None:
    Path("port.txt").write_text("8080")
    runtime = make_runtime(["It is 8080."])
    await ScriptedContext(runtime).type("/btw which port is in @port.txt?")
    [request] = runtime.agent.model.requests  # type: ignore[attr-defined]
    assert "8080" in request.messages[-1]["content"]


async def test_while_a_turn_runs_it_follows_the_last_request_of_the_turn() -> None:
    Path("port.txt").write_text("8080")
    contexts: list[ScriptedContext] = []
    printed: list[str] = []

    async def ask_beside() -> None:
        printed.append(await contexts[0].type("/btw which port is in @port.txt?"))

    class Model(ScriptedModel):
        """Is asked something beside its second request, while it answers that."""

        async def stream(self, request: ModelRequest) -> Any:
            is_second = request.purpose == "turn" and len(self.requests) == 1
            async for chunk in super().stream(request):
                yield chunk
            if is_second:
                await ask_beside()

    model = Model([calls(("list_files", {})), "Two.", "Beside.", "Three."])
    runtime = make_runtime(model, learn=False)
    contexts.append(ScriptedContext(runtime))
    await run_turn(runtime, "one", learn=False)
    await run_turn(runtime, "two", learn=False)
    _, second, aside, third = model.requests
    assert "Beside." in printed[0]
    assert aside.messages[: len(second.messages)] == second.messages
    assert aside.tools == second.tools
    assert "8080" in str(aside.messages[-1]["content"])
    assert third.messages[: len(second.messages)] == second.messages
    assert "which port" not in json.dumps(third.messages)


async def test_a_turn_that_has_sent_nothing_yet_says_when_it_can_be_asked() -> None:
    runtime = make_runtime()
    agent = runtime.agent
    with agent._run_with(agent.make_fitter()), pytest.raises(BadInput, match="no request yet"):
        await agent.prepare_aside("what now?")


async def test_one_that_is_too_long_is_refused_in_one_line_and_not_sent() -> None:
    model = ScriptedModel(["never"], context_window=8_000, max_output=1_000)
    runtime = make_runtime(model)
    with pytest.raises(BadInput, match=r"This question has [\d,]+ tokens: too many for scripted"):
        await runtime.agent.prepare_aside("word " * 9_000)
    assert model.requests == []


async def test_what_a_stopped_answer_has_taken_is_recorded_with_its_text() -> None:
    runtime = make_runtime([ScriptedReply("A long answer, and more of it.", piece=8)])
    aside = await runtime.agent.prepare_aside("how long?")
    agent = runtime.agent
    answering = aside.answer(agent.counter, runtime.sessions.record_request)
    async for event in answering:
        if isinstance(event, TextDelta):
            break
    await answering.aclose()
    [stored] = runtime.sessions.asides()
    assert stored.answer == "A long a".strip()


async def test_a_failure_is_one_line_and_the_session_goes_on() -> None:
    runtime = make_runtime([ProviderError("The service is gone."), "One."])
    ctx = ScriptedContext(runtime)
    with pytest.raises(ProviderError, match="gone"):
        await ctx.type("/btw are you there?")
    assert not ctx.renderer.is_working
    assert runtime.sessions.asides() == []
    await run_turn(runtime, "one", learn=False)
    assert runtime.session.interactions == 1


async def test_a_service_that_refuses_the_choice_of_tools_is_asked_without_it() -> None:
    refusal = Refusal(400, "Unrecognized request argument supplied: tool_choice")
    with StrictProvider([refusal, Reply("Beside.")]) as server:
        runtime = make_runtime(model_at(server, MODELS[0]), learn=False)
        printed = await ScriptedContext(runtime).type("/btw and this?")
    assert "Beside." in printed
    assert ["tool_choice" in body for body in server.bodies] == [True, False]
