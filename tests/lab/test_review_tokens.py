"""Test what a review of a wide change sends, in tokens."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.reviewing.tokens import count_tokens

pytestmark = pytest.mark.slow
FILES = 40


def commit(message: str) -> None:
    who = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("add", "-A"), ("commit", "-qm", message)):
        subprocess.run([*who, *words], check=True)


@pytest.fixture(autouse=True)
def wide_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository whose last commit changes most lines of forty files."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    for version in (1, 2):
        for number in range(FILES):
            lines = (
                f"def work_{number}_{line}(given):\n    return given * {line} + {version}\n\n"
                for line in range(40)
            )
            Path(f"part_{number:02}.py").write_text("\n".join(lines))
        commit(f"version {version}")


async def test_a_wide_change_is_sent_once_with_a_head_for_each_part() -> None:
    sent = await count_tokens(0)
    assert sent.is_complete
    assert (sent.files, sent.requests) == (FILES, sent.parts)
    assert sent.sent <= 1.5 * (sent.code + sent.heads)


@pytest.mark.parametrize("at_once", [True, False])
async def test_look_ups_send_a_part_again_and_little_that_is_new(at_once: bool) -> None:
    sent = await count_tokens(2, at_once=at_once)
    assert sent.is_complete
    assert sent.requests == sent.parts * (2 if at_once else 3)
    assert sent.new <= 1.5 * (sent.code + sent.heads)
