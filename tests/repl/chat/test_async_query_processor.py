"""From a query to the messages of a request."""

from __future__ import annotations

from types import SimpleNamespace

from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.session import Session
from swecli.repl.chat.async_query_processor import AsyncQueryProcessor, shortened


def repl(session: Session | None) -> SimpleNamespace:
    return SimpleNamespace(
        session_manager=SimpleNamespace(current_session=session), agent=SimpleNamespace(system_prompt="You help.")
    )


def test_a_query_without_a_session_is_system_and_query() -> None:
    messages = AsyncQueryProcessor(repl(None))._prepare_messages("hi", "hi, with files")  # type: ignore[arg-type]
    assert messages == [{"role": "system", "content": "You help."}, {"role": "user", "content": "hi, with files"}]


def test_the_window_and_the_playbook_are_in_it() -> None:
    session = Session("s")
    session.get_playbook().add("Run the tests with make check.")
    for n in range(1, 11):
        session.add_message(ChatMessage(Role.USER, f"Query {n}"))
        call = ToolCall(f"c{n}", "read_file", {}, result="ok", approved=True)
        session.add_message(ChatMessage(Role.ASSISTANT, f"Reply {n}", [call]))
    messages = AsyncQueryProcessor(repl(session))._prepare_messages("next", "next")  # type: ignore[arg-type]
    assert len(messages) == 1 + 15 + 1
    assert "make check" in messages[0]["content"]
    assert [m["content"] for m in messages if m["role"] == "user"] == [f"Query {n}" for n in range(6, 11)] + ["next"]


def test_a_long_output_is_shared_by_its_ends() -> None:
    text = "begin" + "x" * 50_000 + "end"
    short = shortened(text, 1000)
    assert short.startswith("begin")
    assert short.endswith("end")
    assert "49,008 characters left out" in short
    assert shortened("small", 1000) == "small"
