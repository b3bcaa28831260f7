"""Test that a session which is typed into the real program leads to the strategies that it led to when its answers were
written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.learning.typed.script import Part, ScriptEnded, SessionScript

SESSION = Path(__file__).parents[2] / "lab" / "learning" / "typed_session"
AT_THE_END = ["P-3", "P-16", "P-14", "P-13", "P-9", "P-2", "P-6", "P-1", "P-10", "P-5"]


@pytest.mark.slow
@pytest.mark.skipif(
    "SWECLI_TYPED_SESSION" not in os.environ, reason="takes minutes: set SWECLI_TYPED_SESSION"
)
def test_thirty_typed_turns_lead_to_ten_strategies() -> None:
    done = subprocess.run(
        [sys.executable, str(SESSION)], capture_output=True, text=True, check=False
    )
    listed = done.stdout.rpartition("== typed: /playbook")[2]
    rows = [line.split()[0] for line in listed.splitlines() if line.startswith("P-")]
    assert (done.returncode, rows) == (0, AT_THE_END), done.stdout[-3_000:] + done.stderr


def test_a_script_gives_what_is_answered_beside_what_is_typed_each_in_its_order(
    tmp_path: Path,
) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text(
        '{"typed": "a"}\n{"answer": {"text": "b"}}\n{"typed": "c"}\n{"answer": {"text": "d"}}\n'
    )
    script = SessionScript(file)
    assert [*script.events()] == [(Part.TYPED, "a"), (Part.TYPED, "c")]
    assert script.answer(Part.ANSWER) == (1, {"text": "b"})
    assert script.answer(Part.ANSWER) == (2, {"text": "d"})
    with pytest.raises(ScriptEnded):
        script.answer(Part.ANSWER)
