"""What becomes of each answer of a hook is what Claude Code makes of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.support.hook_rows import RECORDED, ROWS, Row, run_row

_THEIRS = json.loads(RECORDED.read_text(encoding="utf-8"))["rows"]
# What they give to hooks and we do not: it says nothing of the call.
_ONLY_THEIRS = {"effort", "prompt_id", "background_tasks", "session_crons"}
# Where we are stricter: a rule denies also what a hook has made of a call.
_STRICTER: dict[str, dict[str, object]] = {"before: changed to what a rule denies": {"ran": []}}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_an_answer_means_what_it_means_to_claude_code(row: Row, tmp_path: Path) -> None:
    ours = asdict(await run_row(tmp_path, row))
    theirs = {**_THEIRS[row.name], **_STRICTER.get(row.name, {})}
    given = ours.pop("keys")
    for keys, expected in zip(given, theirs.pop("keys"), strict=True):
        assert set(expected) - _ONLY_THEIRS <= set(keys)
    assert ours == theirs
