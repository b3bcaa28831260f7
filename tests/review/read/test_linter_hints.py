"""Leads from tools that are really run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from swecli.review.read.linter_hints import Hint, find_hints, read_plain, read_radon, read_ruff

RUFF = '[{"filename": "/p/a.py", "location": {"row": 3}, "code": "E722", "message": "bare except"}]'
# as radon 6.0.1 and vulture 2.16 wrote it
RADON = (
    '{"./a.py": [{"type": "function", "rank": "C", "endline": 20, "col_offset": 0, "name": "f", "lineno": 5, '
    '"complexity": 14, "closures": []}], "./broken.py": {"error": "invalid syntax (<unknown>, line 1)"}}'
)
VULTURE = (
    "a.py:1: unused import 'os' (90% confidence)\n"
    "with space/b c.py:20: unreachable code after 'return' (100% confidence)\n"
)


def tool(name: str, script: str) -> dict[str, str]:
    folder = Path("../bin").resolve()
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": os.environ["HOME"]}


def test_each_tools_own_words_are_read() -> None:
    assert read_ruff("ruff", RUFF) == [Hint("ruff", "/p/a.py", 3, "E722 bare except")]
    assert read_radon("radon", RADON) == [Hint("radon", "./a.py", 5, "f has complexity 14")]
    assert read_plain("vulture", VULTURE) == [
        Hint("vulture", "a.py", 1, "unused import 'os' (90% confidence)"),
        Hint("vulture", "with space/b c.py", 20, "unreachable code after 'return' (100% confidence)"),
    ]
    assert read_plain("v", "a.py:3: unused f\nnoise\nb.py:4:5: odd") == [
        Hint("v", "a.py", 3, "unused f"), Hint("v", "b.py", 4, "odd"),
    ]  # fmt: skip


async def test_the_real_ruff_is_asked_and_understood() -> None:
    Path("a.py").write_text("import os\n\ntry:\n    x = 1\nexcept:\n    pass\n")
    Path("broken.py").write_text("def (\n")
    environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": os.environ["HOME"]}
    leads, notes = await find_hints(Path.cwd(), ["a.py", "broken.py"], environ)
    said = [lead.line() for lead in leads if lead.tool == "ruff"]
    assert "- ruff: a.py:1: F401 `os` imported but unused" in said
    assert any(line.startswith("- ruff: a.py:5: E722") for line in said)
    assert any(line.startswith("- ruff: broken.py:1: ") for line in said)
    assert notes == []


async def test_a_tool_is_run_and_only_the_files_at_hand_are_led_to() -> None:
    Path("a.py").write_text("x\n")
    environ = tool("mytool", 'echo "./a.py:1: from $#"; echo "b.py:2: not asked for"; exit 1')
    leads, notes = await find_hints(Path.cwd(), ["a.py"], environ, ["mytool --quick {files}"])
    assert ([lead.line() for lead in leads], notes) == (["- mytool: a.py:1: from 2"], [])


async def test_a_tool_of_the_workspace_is_never_run() -> None:
    Path("ruff").write_text("#!/bin/sh\ntouch started\n")
    Path("ruff").chmod(0o755)
    await find_hints(Path.cwd(), ["a.py"], {"PATH": f"{Path.cwd()}:/usr/bin:/bin"}, [])
    assert not Path("started").exists()


@pytest.mark.parametrize(("name", "script"), [("ruff", "echo not json"), ("radon", "echo '{\"a\": [1]}'")])
async def test_a_tool_that_fails_is_named(name: str, script: str) -> None:
    _, notes = await find_hints(Path.cwd(), ["a.py"], tool(name, script))
    assert notes[0].startswith(f"no leads from {name}: ")


async def test_a_command_of_the_user_that_is_not_there_is_named() -> None:
    assert await find_hints(Path.cwd(), ["a.txt"], {"PATH": "/usr/bin"}, ["no-such-tool"]) == (
        [], ["no-such-tool is not installed"],
    )  # fmt: skip
