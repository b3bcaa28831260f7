"""Test the file in which hooks read the conversation."""

from __future__ import annotations

import json

from swecli.tools.hooks.transcript import Transcript
from tests.support.runtime import calls, make_runtime, run_turn


async def test_it_has_each_message_once_in_the_form_of_claude_code() -> None:
    runtime = make_runtime([calls(("list_files", {})), "done", "again"])
    transcript = Transcript()
    await run_turn(runtime, "look", learn=False)
    file = transcript.update(runtime.session)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["type"] for row in rows] == ["user", "assistant", "user", "assistant"]
    assert rows[1]["message"]["content"][0]["name"] == "list_files"
    assert rows[2]["message"]["content"][0]["type"] == "tool_result"
    assert rows[3]["message"]["content"] == [{"type": "text", "text": "done"}]
    assert '"role":"assistant"' in file.read_text()  # what scripts look for with grep
    await run_turn(runtime, "more", learn=False)
    assert len(transcript.update(runtime.session).read_text().splitlines()) == 6
    transcript.close()
    assert not file.exists()
