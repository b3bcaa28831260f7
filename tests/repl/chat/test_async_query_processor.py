"""Test building the messages of a request from a query."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from prompt_toolkit.input import PipeInput

from swecli.app import Runtime
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ApiMessage
from swecli.models.playbook import Delta, Op
from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
from swecli.repl.footer import Footer
from swecli.repl.repl import REPL
from tests.support.hooks import approve_hooks, declare
from tests.support.runtime import make_runtime, make_start, run_turn
from tests.support.screenless import ENTER, play
from tests.support.scripted import ScriptedModel


def prepare_messages(runtime: Runtime, query: str, enhanced: str) -> list[ApiMessage]:
    return runtime.agent.prepare(query, enhanced=enhanced).messages


async def test_the_prepared_messages_are_those_that_the_turn_sends() -> None:
    runtime = make_runtime(["Noted.", "Done."])
    add = Op("ADD", fields={"content": "Run the tests with make check."})
    session = runtime.session
    runtime.sessions.playbook.apply(Delta(uuid7(), (add,), "user", session.id), session)
    await run_turn(runtime, "first", learn=False)
    prepared = prepare_messages(runtime, "next", "next")
    await run_turn(runtime, "next", learn=False)
    assert runtime.agent.model.requests[-1].messages == prepared  # type: ignore[attr-defined]
    assert "make check" in str(prepared)


async def test_a_query_longer_than_the_models_window_is_not_sent_and_comes_back() -> None:
    runtime = make_runtime()
    runtime.agent.use_model(ScriptedModel(["never"], context_window=32_000))
    drafts: list[str] = []
    program = SimpleNamespace(
        agent=runtime.agent, session_manager=runtime.sessions, set_draft=drafts.append
    )
    query = "paste " * 40_000
    runtime.sessions.store_query(query)
    with pytest.raises(BadInput, match=r"Not sent: your message has [\d,]+ tokens, and a request"):
        await AsyncQueryProcessor(program).process_query(query)
    assert drafts == [query]
    assert runtime.session.messages == []
    assert runtime.agent.model.requests == []  # type: ignore[attr-defined]


def test_the_contents_of_files_are_those_that_are_given_or_are_read_now() -> None:
    Path("a.txt").write_text("from the disk")
    runtime = make_runtime()
    given = prepare_messages(runtime, "sum @a.txt", "sum @a.txt: from before")
    assert "from before" in str(given[-1]["content"])
    assert "from the disk" not in str(given[-1]["content"])
    assert "from the disk" in str(prepare_messages(runtime, "sum @a.txt", "")[-1]["content"])


def test_before_the_first_request_the_footer_shows_no_share_of_the_next() -> None:
    runtime = make_runtime()
    footer = Footer("m", "ask", "5")
    AsyncQueryProcessor(SimpleNamespace(agent=runtime.agent, footer=footer)).measure_next()
    assert footer.context is None


@pytest.mark.slow
async def test_a_long_shell_output_is_sent_to_the_model_as_its_head_and_tail() -> None:
    runtime = make_runtime(["Seen."])
    renderer = SimpleNamespace(
        begin=lambda label: None,
        end=lambda: None,
        screen=SimpleNamespace(line=lambda text: None, note=lambda text: None),
    )
    processor = AsyncQueryProcessor(SimpleNamespace(agent=runtime.agent, renderer=renderer))
    await processor.run_shell("seq 1 20000")
    await run_turn(runtime, "what came out?")
    sent = runtime.agent.model.requests[0].messages[-1]["content"]  # type: ignore[attr-defined]
    assert "Its output:\n1\n2\n" in sent
    assert "characters of output were not kept" in sent
    assert "20000" in sent
    assert len(sent) < 11_000


async def test_the_output_of_an_interrupted_shell_line_is_printed_and_sent_to_the_model() -> None:
    runtime = make_runtime(["Seen."])
    printed: list[str] = []
    screen = SimpleNamespace(line=printed.append, note=printed.append)
    renderer = SimpleNamespace(begin=lambda label: None, end=lambda: None, screen=screen)
    processor = AsyncQueryProcessor(SimpleNamespace(agent=runtime.agent, renderer=renderer))
    running = asyncio.create_task(
        processor.run_shell("echo 7 of 9 done; sleep 0.5; touch begun; sleep 60")
    )
    while not Path("begun").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    [output, note] = printed
    assert output == "7 of 9 done"
    assert re.fullmatch(r"interrupted after \d+ s · will be sent with your next message", note)
    await run_turn(runtime, "what came out?")
    sent = runtime.agent.model.requests[0].messages[-1]["content"]  # type: ignore[attr-defined]
    assert re.search(r"\(interrupted after \d+ s\)\. Its output:\n7 of 9 done", sent)


@pytest.mark.parametrize("command", ["cat a\0b", "echo \ud800"])
async def test_a_shell_line_with_invalid_characters_is_refused(command: str) -> None:
    with pytest.raises(BadInput):
        await make_runtime().agent.toolkit.shell(command)


async def test_a_query_that_a_hook_refuses_is_put_back_into_the_prompt() -> None:
    declare(Path.cwd(), ("UserPromptSubmit", "", "echo not today >&2; exit 2"))
    approve_hooks(make_start())
    drafts: list[str] = []

    def leave_at_the_draft(pipe: PipeInput, repl: REPL) -> None:
        def take(text: str, offered: bool = False) -> None:
            drafts.append(text)
            asyncio.get_running_loop().call_later(0.1, repl.quit)

        repl.set_draft = take  # type: ignore[method-assign]

    run = await play(f"do it{ENTER}", ["ok"], hooks=leave_at_the_draft)
    assert "A hook refuses this message: not today" in run.text
    assert drafts == ["do it"]
    assert not run.model.requests


async def test_hooks_add_to_a_query_and_are_told_of_the_end_of_the_session() -> None:
    declare(
        Path.cwd(),
        ("UserPromptSubmit", "", "echo the build is red"),
        ("SessionEnd", "", "cat > ended"),
    )
    approve_hooks(make_start())
    run = await play(f"do it{ENTER}/exit{ENTER}", ["ok"])
    assert "the build is red" in str(run.model.requests[0].messages[-1])
    assert '"reason": "prompt_input_exit"' in Path("ended").read_text()
