"""Leads from tools that are really run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from swecli.review.judge.sources import Sources
from swecli.review.read.linter_hints import Hint, find_hints, measured


def tool(name: str, script: str) -> dict[str, str]:
    folder = Path("../bin").resolve()
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": os.environ["HOME"]}


def test_functions_over_a_limit_are_measured() -> None:
    Path("a.py").write_text("def f(a, b, c, d, e, f, g, h):\n    return 1\n\n\ndef g():\n    return 2\n")
    [lead] = measured(["a.py", "b.txt"], Sources(Path.cwd()))
    assert lead.line() == "- measured: a.py:1: `f` has 8 parameters now, at most 7 are meant"


async def test_what_vulture_writes_is_read() -> None:
    Path("a.py").write_text("x\n")
    environ = tool("vulture", "echo \"a.py:1: unused import 'os' (90% confidence)\"; echo noise; exit 3")
    leads, _ = await find_hints(Path.cwd(), ["a.py"], environ)
    assert leads == [Hint("vulture", "a.py", 1, "unused import 'os' (90% confidence)")]


async def test_the_real_ruff_is_asked_and_understood() -> None:
    Path("a.py").write_text("import os\n\ntry:\n    x = 1\nexcept:\n    pass\n")
    Path("broken.py").write_text("def (\n")
    environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": os.environ["HOME"]}
    leads, notes = await find_hints(Path.cwd(), ["a.py", "broken.py"], environ)
    said = [lead.line() for lead in leads if lead.tool == "ruff"]
    assert "- ruff: a.py:1: F401 [*] `os` imported but unused" in said
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


async def test_a_tool_that_fails_is_named() -> None:
    _, notes = await find_hints(Path.cwd(), ["a.py"], tool("ruff", "exit 2"))
    assert notes == ["no leads from ruff: it ended with 2"]


async def test_a_command_of_the_user_that_is_not_there_is_named() -> None:
    assert await find_hints(Path.cwd(), ["a.txt"], {"PATH": "/usr/bin"}, ["no-such-tool"]) == (
        [], ["no-such-tool is not installed"],
    )  # fmt: skip
