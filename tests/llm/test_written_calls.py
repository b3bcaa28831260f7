"""Test which texts are taken as tool calls, in the forms that the chat templates of models have."""

from __future__ import annotations

import pytest

from swecli.llm.written_calls import find_written_calls
from swecli.models.message import ToolSpec

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
    "Qwen 3 Coder": (
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n"
        "</tool_call>"
    ),
    "DeepSeek": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
        '{"path": "a.py"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "DeepSeek 3.1": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.py"}'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
        '<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "GLM": "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
    "Mistral": '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.py"}}]',
    "Mistral, newer": '[TOOL_CALLS]read_file{"path": "a.py"}',
    "Mistral, with marks": '[TOOL_CALLS]read_file[CALL_ID]abc[ARGS]{"path": "a.py"}',
    "Llama 3": '{"name": "read_file", "parameters": {"path": "a.py"}}',
    "Llama 3, with a token": '<|python_tag|>{"name": "read_file", "parameters": {"path": "a.py"}}<|eom_id|>',
    "Llama, as a function": '<function=read_file>{"path": "a.py"}</function>',
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n'
        "</invoke>\n</minimax:tool_call>"
    ),
    "gpt-oss": (
        "<|start|>assistant<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>"
        '{"path": "a.py"}<|call|>'
    ),
}


def calls(text: str) -> list[tuple[str, dict[str, object]]] | None:
    found = find_written_calls(text, TOOLS)
    return found and [(call.name, call.parameters) for call in found.calls]  # type: ignore[return-value]


@pytest.mark.parametrize("form", FORMS)
def test_a_call_in_the_form_of_a_template_is_taken_as_a_call(form: str) -> None:
    assert calls(FORMS[form]) == [("read_file", {"path": "a.py"})]


@pytest.mark.parametrize("form", [name for name in FORMS if name != "Llama 3"])
def test_the_words_before_a_call_stay_as_the_answer(form: str) -> None:
    found = find_written_calls(f"Let me read the file.\n\n{FORMS[form]}", TOOLS)
    assert found is not None
    assert found.text == "Let me read the file."
    assert [call.name for call in found.calls] == ["read_file"]


@pytest.mark.parametrize(
    "form", [name for name in FORMS if not name.startswith(("Llama 3", "Mistral"))]
)
def test_several_calls_are_taken_in_their_order(form: str) -> None:
    second = FORMS[form].replace("a.py", "b.py")
    assert calls(f"{FORMS[form]}\n{second}") == [
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": "b.py"}),
    ]


def test_values_in_tags_have_the_types_of_the_tool() -> None:
    text = "<function=read_file><parameter=path>7</parameter><parameter=offset>7</parameter></function>"
    assert calls(text) == [("read_file", {"path": "7", "offset": 7})]


def test_a_text_in_tags_keeps_its_lines() -> None:
    content = "def f():\n    return '<b>'\n"
    text = (
        "<function=write_file>\n<parameter=path>\na.py\n</parameter>\n"
        f"<parameter=content>\n{content}\n</parameter>\n</function>"
    )
    assert calls(text) == [("write_file", {"path": "a.py", "content": content})]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Use read_file with a path.",
        "Use <b>read_file</b> to look at a file.",
        "Write it as `<function=read_file>{\"path\": \"a\"}</function>`.",
        "Write it so:\n```\n<function=read_file>{\"path\": \"a\"}</function>\n```",
        '<div className="x">{list_files}</div> renders the list of files that you want to see.',
        'The answer is {"path": "a.py"}',
        '{"name": "shop", "version": "1.0"}',
        "In `package.json`: {\"name\": \"read_file\"} is the name of the package.",
        "<tool_call> is a tag in which models put calls of read_file, in their own form.",
    ],
)  # fmt: skip
def test_a_text_about_calls_is_a_text(text: str) -> None:
    assert calls(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "read_file", "arguments": {"path": </tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "no_such_tool", "arguments": {"path": "a.py"}}</tool_call>',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a.py", "colour": "red"}}</tool_call>',
        "<function=read_file><parameter=file>a.py</parameter></function>",
    ],
)
def test_what_looks_like_a_call_and_is_none_is_neither_run_nor_an_answer(text: str) -> None:
    assert calls(text) == []


def test_without_tools_nothing_is_a_call() -> None:
    assert find_written_calls(FORMS["Kimi"], []) is None


def test_a_long_page_of_tags_takes_one_pass() -> None:
    page = '<a href="x">read files</a>\n' * 20_000
    assert calls(page) is None
