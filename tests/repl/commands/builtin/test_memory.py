"""`/memory` and `/init`: the instruction files of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.app import Runtime
from tests.support.desk import Desk


class _Steered(Desk):
    """A desk that keeps what a command sends on as a query."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.sent: list[str] = []

    def steer(self, text: str) -> None:
        self.sent.append(text)


async def test_without_instructions_it_names_the_command_that_writes_them(desk: Desk) -> None:
    assert "/init" in await desk.type("/memory")


async def test_files_of_a_trusted_folder_are_listed_and_others_announced(runtime: Runtime, desk: Desk) -> None:
    (runtime.cwd / "AGENTS.md").write_text("Use tabs.\n")
    printed = await desk.type("/memory")
    assert "not trusted" in printed
    assert "/trust" in printed
    await desk.type("/trust")
    printed = await desk.type("/memory")
    assert "AGENTS.md" in printed
    assert "10 bytes" in printed


async def test_skills_are_listed_with_what_is_wrong_of_them(runtime: Runtime, desk: Desk) -> None:
    for name in ("good", "broken"):
        (Path.home() / ".agents/skills" / name).mkdir(parents=True)
    (Path.home() / ".agents/skills/good/SKILL.md").write_text("---\nname: good\ndescription: d\n---\n")
    (Path.home() / ".agents/skills/broken/SKILL.md").write_text("no front matter")
    printed = await desk.type("/memory")
    assert "good/SKILL.md" in printed
    assert "! ~/.agents/skills/broken/SKILL.md is not used: it does not begin with front matter" in printed
    assert "no AGENTS.md" in printed


@pytest.mark.parametrize(
    ("there", "asked"), [(None, "write an AGENTS.md"), ("CLAUDE.md", "bring CLAUDE.md up to date")]
)
async def test_init_asks_the_assistant_for_the_file(runtime: Runtime, there: str | None, asked: str) -> None:
    if there:
        Path(runtime.cwd, there).write_text("old\n")
    desk = _Steered(runtime)
    await desk.type("/init in German")
    assert asked in desk.sent[0]
    assert desk.sent[0].endswith("in German")
