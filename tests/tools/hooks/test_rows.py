"""What becomes of each answer of a hook is what Claude Code makes of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from swecli.headless.runner import refuse
from swecli.models.errors import BadInput
from swecli.models.message import Mode, ModelRequest
from tests.support.hook_rows import RECORDED, ROWS, Outcome, Row, make_project, read_outcome
from tests.support.hooks import approve_hooks
from tests.support.runtime import calls, make_runtime, run_turn

_THEIRS = json.loads(RECORDED.read_text(encoding="utf-8"))["rows"]
_MODES: dict[str, Mode] = {"default": "ask", "bypassPermissions": "auto"}
# What they give to hooks and we do not: it says nothing of the call.
_ONLY_THEIRS = {"effort", "prompt_id", "background_tasks", "session_crons"}
# Where we are stricter: a rule denies also what a hook has made of a call.
_STRICTER = {"before: changed to what a rule denies": {"ran": []}}


async def _run(folder: Path, row: Row) -> Outcome:
    make_project(folder, row)
    sent: list[str] = []

    def answer(request: ModelRequest) -> Any:
        sent.append(json.dumps(request.messages, default=str))
        number = len(sent)
        if number > len(row.commands):
            return "done"
        return calls(("run_command", {"command": row.commands[number - 1], "access": "write"}))

    runtime = make_runtime(
        answer,
        refuse,  # type: ignore[arg-type]  # nobody is there to be asked
        cwd=folder,
        # no rule here allows a command that writes to a file
        mode="auto" if row.allow else _MODES[row.mode],
        deny=tuple(row.deny),
        ask=tuple(row.ask),
        sandbox="off",
    )
    approve_hooks(runtime.start)
    try:
        await runtime.agent.admit("do it")
    except BadInput:
        return read_outcome(folder, row, sent)
    await run_turn(runtime, "do it", learn=False)
    hooks = runtime.agent.toolkit.hooks
    assert hooks is not None
    await hooks.end_session("other")
    return read_outcome(folder, row, sent)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_an_answer_means_what_it_means_to_claude_code(row: Row, tmp_path: Path) -> None:
    ours = asdict(await _run(tmp_path, row))
    theirs = {**_THEIRS[row.name], **_STRICTER.get(row.name, {})}
    given = ours.pop("keys")
    for keys, expected in zip(given, theirs.pop("keys"), strict=True):
        assert set(expected) - _ONLY_THEIRS <= set(keys)
    assert ours == theirs
