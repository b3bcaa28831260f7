"""Test `swecli acp` as editors drive it: a process, the official library at the other end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.editor import open_editor
from tests.support.shell import script

pytestmark = pytest.mark.slow


def write(path: str, content: str) -> dict[str, object]:
    return {"calls": [{"name": "write_file", "arguments": {"path": path, "content": content}}]}


async def test_an_edit_is_shown_with_both_texts_and_made_once_it_is_allowed() -> None:
    model = script("s.json", write("a.txt", "hello\n"), "Written.")
    async with open_editor("-m", model) as opened:
        session = await opened.new_session()
        assert await opened.prompt(session, "write a.txt") == "end_turn"
        tool_call, options = opened.editor.questions[0]
        assert tool_call.title == "Create a.txt (+1)"
        assert [option.kind for option in options][0] == "allow_once"
        (call,) = opened.editor.calls().values()
        assert (call["kind"], call["status"]) == ("edit", "completed")
        (diff,) = call["content"]
        path = str(Path("a.txt").absolute())
        assert (diff["type"], diff["path"], diff["new_text"]) == ("diff", path, "hello\n")
        assert [place["path"] for place in call["locations"]] == [path]
        assert opened.editor.text() == "Written."
    assert Path("a.txt").read_text() == "hello\n"
