"""Test which answers of a local server are taken as a tool call, in the forms that chat templates have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from swecli.llm.written_calls import find_written_call, take_written_call
from swecli.models.message import (
    ApiMessage,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    ToolSpec,
)

TOOLS = [
    ToolSpec(
        "read_file",
        "",
        {
            "properties": {"path": {"type": "string"}, "offset": {"type": "integer"}},
            "required": ["path"],
        },
    ),
    ToolSpec("list_files", "", {"properties": {"path": {"type": "string"}}}),
    ToolSpec(
        "write_file",
        "",
        {
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
        },
    ),
]
FORMS = {
    "Hermes and Qwen 2.5": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
    "Hermes without an end": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}',
    "Qwen 2.5 Coder": '{\n  "name": "read_file",\n  "arguments": {\n    "path": "a.py"\n  }\n}',
    "Qwen 3 Coder": (
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n"
        "</tool_call>"
    ),
    "Qwen 3 Coder without a beginning": (
        "<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>"
    ),
    "Mistral": '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.py"}}]',
    "Mistral, newer": '[TOOL_CALLS]read_file{"path": "a.py"}',
    "Mistral, with a mark": '[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}',
    "Llama 3": '{"name": "read_file", "parameters": {"path": "a.py"}}',
    "Llama 3, with a type": '{"type": "function", "name": "read_file", "parameters": {"path": "a.py"}}',
    "Llama 3, with tokens": '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}<|eom_id|>',
}
each_form = pytest.mark.parametrize("form", FORMS)


def found(text: str, tools: Sequence[ToolSpec] = TOOLS) -> tuple[str, dict[str, Any]] | None:
    call = find_written_call(text, tools)
    return None if call is None else (call.name, call.parameters)


@each_form
def test_an_answer_in_the_form_of_a_template_is_a_call(form: str) -> None:
    assert found(f"\n{FORMS[form]}\n") == ("read_file", {"path": "a.py"})


@each_form
def test_an_answer_that_says_anything_else_is_a_text(form: str) -> None:
    assert found(f"Let me read it.\n\n{FORMS[form]}") is None
    assert found(f"{FORMS[form]}\n\nThis is how it is written.") is None
    assert found(f"```\n{FORMS[form]}\n```") is None
    assert found(f"`{FORMS[form]}`") is None


@each_form
def test_two_calls_are_a_text(form: str) -> None:
    assert found(f"{FORMS[form]}\n{FORMS[form].replace('a.py', 'b.py')}") is None


def test_values_in_tags_have_the_types_of_the_tool() -> None:
    text = "<function=read_file><parameter=path>7</parameter><parameter=offset>7</parameter></function>"
    assert found(text) == ("read_file", {"path": "7", "offset": 7})


def test_a_text_in_tags_keeps_its_lines() -> None:
    content = "def f():\n    return '<b>'\n"
    text = (
        "<function=write_file>\n<parameter=path>\na.py\n</parameter>\n"
        f"<parameter=content>\n{content}\n</parameter>\n</function>"
    )
    assert found(text) == ("write_file", {"path": "a.py", "content": content})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "7",
        "Use read_file with a path.",
        'The answer is {"path": "a.py"}',
        '{"path": "a.py"}',
        '{"name": "read_file"}',
        '{"name": "shop", "version": "1.0"}',
        '{"name": "read_file", "arguments": {"path": "a.py"}, "description": "an example"}',
        '{"name": "no_such_tool", "arguments": {"path": "a.py"}}',
        '{"name": "read_file", "arguments": {}}',
        '{"name": "read_file", "arguments": ["a.py"]}',
        '{"name": "read_file", "arguments": {"path": "a.py", "colour": "red"}}',
        '{"name": ["read_file"], "arguments": {"path": "a.py"}}',
        r'{"name": "read_file", "arguments": {"path": "a\u0000.py"}}',
        '<tool_call>{"name": "read_file", "arguments": {"path": </tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a.py"',
        "<tool_call></tool_call>",
        "<function=read_file><parameter=file>a.py</parameter></function>",
        "<function=read_file>so: <parameter=path>a.py</parameter></function>",
        "[" * 100_000,
        "<tool_call>" * 20_000,
        '<function=read_file><parameter=path>' * 20_000,
    ],
)  # fmt: skip
def test_any_other_answer_is_a_text(text: str) -> None:
    assert found(text) is None


def test_without_tools_nothing_is_a_call() -> None:
    assert found(FORMS["Llama 3"], []) is None


# an answer in a session

CALL = FORMS["Hermes and Qwen 2.5"]
SYSTEM: ApiMessage = {"role": "system", "content": "Use read_file. Paths are relative."}
QUESTION: ApiMessage = {"role": "user", "content": "read a.py with read_file"}


def take(
    text: str = CALL,
    *later: ApiMessage,
    calls: Sequence[str] = (),
    stop: StopReason = "stop",
    **request: Any,
) -> ModelReply:
    sent = ModelRequest("m", [SYSTEM, QUESTION, *later], TOOLS, **request)
    return take_written_call(ModelReply(text, stop=stop), sent, lambda: calls)


def asked(name: str, **arguments: Any) -> ApiMessage:
    """Return a message of the model's with one call, whose id is `written_1`."""
    call = ToolCall("written_1", name, arguments)
    return {"role": "assistant", "content": None, "tool_calls": [call.to_api()]}


def result(text: str) -> ApiMessage:
    return {"role": "tool", "tool_call_id": "written_1", "content": text}


def test_an_answer_that_is_a_call_becomes_one() -> None:
    reply = take()
    assert [(call.name, call.parameters) for call in reply.calls] == [
        ("read_file", {"path": "a.py"})
    ]
    assert (reply.text, reply.stop, reply.written_call) == ("", "tool_calls", "run")


def test_a_model_that_has_called_by_the_protocol_writes_no_calls() -> None:
    assert take(calls=["call_1"]) == ModelReply(CALL)
    assert take(calls=["written_1", "call_1"]).calls == []


def test_a_model_that_wrote_its_calls_before_goes_on_so() -> None:
    earlier = take().calls[0].id
    assert take(CALL, asked("list_files"), result("a.py"), calls=[earlier]).written_call == "run"


@each_form
@pytest.mark.parametrize(
    "shown",
    [
        "{text}",
        "notes.txt:\n\n{text}\n\nmore",
        "{numbered}",
        "{prefixed}",
        "{escaped}",
        "{page}",
        "{compact}",
    ],
)
def test_what_stands_in_a_result_is_shown_and_not_run(form: str, shown: str) -> None:
    import html
    import json

    text = FORMS[form]
    lines = text.splitlines()
    message = shown.format(
        text=text,
        numbered="\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, 1)),
        prefixed="\n".join(f"notes.txt:{at}: {line}" for at, line in enumerate(lines)),
        escaped=json.dumps({"notes": text}),
        page=html.escape(text).replace("_", r"\_"),
        compact=" ".join(line.strip() for line in lines),
    )
    reply = take(text, asked("list_files"), result(message), calls=["written_1"])
    assert (reply.text, reply.calls, reply.written_call) == (text, [], "shown")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": f"# AGENTS.md\n{CALL}"},
        {"role": "user", "content": f"What is this?\n{CALL}"},
        {"role": "user", "content": f"List\n- finding F-1: {CALL.splitlines()[1]}"},
        {"role": "assistant", "content": f"So:\n{CALL}"},
        asked("write_file", path="notes.txt", content=f"So:\n{CALL}"),
    ],
)
def test_what_stands_in_any_message_is_shown_and_not_run(message: ApiMessage) -> None:
    text = CALL.splitlines()[1] if "finding" in str(message) else CALL
    assert take(text, message).written_call == "shown"


def test_a_call_that_was_just_made_is_not_made_again() -> None:
    made = asked("read_file", path="a.py")
    assert take(CALL, made, result("x = 1"), calls=["written_1"]).written_call == "shown"
    other = asked("read_file", path="b.py")
    assert take(CALL, made, result("x"), other, result("y")).written_call == "run"


@pytest.mark.parametrize(
    "text",
    [
        f"Let me read it.\n{CALL}",
        f"Hermes writes it so: {CALL}",
        '<tool_call>{"name": "read_file", "arguments": {</tool_call>',
        '[TOOL_CALLS]read_file{"path": ',
    ],
)
def test_a_text_with_a_call_in_it_is_shown_and_said_to_be(text: str) -> None:
    reply = take(text)
    assert (reply.text, reply.calls, reply.written_call) == (text, [], "shown")


@pytest.mark.parametrize("stop", ["length", "refusal", "content_filter"])
def test_an_answer_that_was_cut_is_no_call(stop: StopReason) -> None:
    assert take(stop=stop).calls == []


def test_an_answer_that_has_to_be_json_is_no_call() -> None:
    assert take(FORMS["Llama 3"], schema={"type": "object"}) == ModelReply(FORMS["Llama 3"])
