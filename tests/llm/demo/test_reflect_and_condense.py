"""The product's own requests: lessons that recorded calls prove, and summaries shorter than their source."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.demo.condense import condense
from swecli.llm.demo.reflect import reflect
from swecli.models.message import ApiMessage, ChatMessage, Role, ToolCall


def call(name: str, ok: bool, code: int | None = None, error: str = "", **parameters: Any) -> dict[str, Any]:
    outcome = {"ok": ok, "exit_code": code, "error": error, "head": "", "tail": ""}
    return {"id": f"call_{len(parameters)}{name}", "name": name, "parameters": parameters, **outcome}


def learned(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    digest = {"query": "q", "outcome": "done", "calls": calls, "shown": [], "cited": [], "user_said": ""} | more
    value = json.loads(reflect(f"```json\n{json.dumps(digest)}\n```"))
    assert set(value) == {"tags", "add"}
    return value


def test_a_command_that_failed_and_another_that_passed_give_a_strategy_naming_both() -> None:
    failed = call("run_command", False, 127, "pytest: command not found", command="pytest -q")
    passed = call("run_command", True, 0, command="python3 -m pytest -q")
    (lesson,) = learned(failed, passed)["add"]
    assert lesson["kind"] == "strategy"
    assert "`python3 -m pytest -q`" in lesson["content"]
    assert "`pytest -q`" in lesson["content"]
    assert lesson["evidence"] == f"{failed['id']}: pytest: command not found"


def test_the_same_command_passing_later_teaches_nothing() -> None:
    failed, passed = (call("run_command", code == 0, code, command="make") for code in (1, 0))
    assert learned(failed, passed)["add"] == []


def test_two_unrelated_commands_teach_nothing() -> None:
    failed, passed = call("run_command", False, 1, command="make docs"), call("run_command", True, 0, command="ls -la")
    assert learned(failed, passed)["add"] == []


def test_an_edit_that_missed_until_the_file_was_read_gives_a_pitfall() -> None:
    calls = [call(n, ok, path="a.py") for n, ok in (("edit_file", False), ("read_file", True), ("edit_file", True))]
    (lesson,) = learned(*calls)["add"]
    assert lesson["kind"] == "pitfall"
    assert "`a.py`" in lesson["content"]


def test_a_file_found_elsewhere_gives_a_fact() -> None:
    (lesson,) = learned(call("read_file", False, path="a.py"), call("read_file", True, path="src/a.py"))["add"]
    assert lesson["content"] == "`a.py` is at `src/a.py`, not at `a.py`."


def test_a_shown_strategy_is_judged_by_what_became_of_its_command() -> None:
    shown = [{"id": "P-1", "content": "Run tests with `make check`"}, {"id": "P-2", "content": "Use tabs"}]
    passed, failed = (call("run_command", code == 0, code, command="make check") for code in (0, 2))
    assert [(t["id"], t["tag"]) for t in learned(passed, shown=shown)["tags"]] == [("P-1", "helpful")]
    assert [(t["id"], t["tag"]) for t in learned(failed, shown=shown)["tags"]] == [("P-1", "harmful")]


def test_a_cited_strategy_that_displeased_the_user_is_harmful() -> None:
    shown = [{"id": "P-2", "content": "Use tabs"}]
    (tag,) = learned(shown=shown, cited=["P-2"], user_said="no, that was wrong")["tags"]
    assert tag["tag"] == "harmful"
    (tag,) = learned(shown=shown, cited=["P-2"])["tags"]
    assert tag["tag"] == "neutral"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_whatever_the_digest_holds_the_answer_has_the_right_form(value: Any) -> None:
    for text in (
        json.dumps(value),
        f"```json\n{json.dumps(value)}\n```",
        f"```json\n{json.dumps({'calls': value, 'shown': value})}\n```",
    ):
        answer = json.loads(reflect(text))
        assert isinstance(answer["tags"], list)
        assert isinstance(answer["add"], list)


def interaction(query: str, answer: str, *calls: ToolCall) -> list[ApiMessage]:
    asked = ChatMessage(Role.USER, query).to_api()
    middle = ChatMessage(Role.ASSISTANT, "", list(calls)).to_api() if calls else []
    return [*asked, *middle, *ChatMessage(Role.ASSISTANT, answer).to_api()]


def test_a_summary_tells_requests_files_commands_and_the_last_answer() -> None:
    edit = ToolCall("c1", "edit_file", {"path": "a.py", "edits": []}, "Edited a.py (+1 −1).")
    read = ToolCall("c2", "read_file", {"path": "b.py"}, "     1\tx = 1\n" + "     2\ty\n" * 200)
    run = ToolCall("c3", "run_command", {"command": "make"}, "exit code 2\nno rule")
    missed = ToolCall("c4", "edit_file", {"path": "c.py", "edits": []}, "c.py does not exist.")
    messages = [*interaction("fix a", "fixed", edit, read, missed), *interaction("build", "it failed", run)]
    text = condense([*messages, {"role": "user", "content": "Write the summary now."}])
    assert "1. fix a" in text
    assert "2. build" in text
    assert "changed a.py" in text
    assert "read b.py" in text
    assert "`make`: exit code 2" in text
    assert "it failed" in text
    assert "c.py" not in text
    assert "Write the summary" not in text


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=300)), max_size=6))
def test_a_summary_is_shorter_than_its_source(turns: list[tuple[str, str]]) -> None:
    messages = [message for query, answer in turns for message in interaction(query, answer)]
    source = sum(len(query) + len(answer) for query, answer in turns)
    text = condense(messages)
    assert text
    assert len(text) <= max(40, source // 2)
