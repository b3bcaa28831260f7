"""The commands of a day's work in mode `edits`, run for real, and the questions that they led to."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.support.runtime import User, calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel

PROJECT = {
    "shop/__init__.py": "",
    "shop/prices.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_prices.py": (
        "import unittest\nfrom shop.prices import total\n\n"
        "class Total(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    ),
    "Makefile": "check:\n\tpython3 -m unittest -q\n",
}
COMMANDS = (
    "git status --short",
    "git log --oneline -5",
    "grep -rn total shop",
    "ls shop tests",
    "cat shop/prices.py | head -20",
    "python3 -m unittest -q",
    "sed -i 's/sum(prices)/round(sum(prices), 2)/' shop/prices.py",
    "python3 -m unittest -q",
    "make check",
    "mkdir -p shop/data && touch shop/data/prices.csv",
    "for name in a b; do echo $name >> shop/data/prices.csv; done",
    "python3 -c 'import shop.prices; print(shop.prices.total([1.005, 2]))'",
    "git diff --stat",
    "git add -A && git commit -qm 'Round the total'",
    "git log --oneline -1",
    "rm -r shop/data",
    "git checkout -q -b next",
    "mv shop/prices.py shop/totals.py",
    "sed -i 's/shop.prices/shop.totals/' tests/test_prices.py",
    "python3 -m unittest -q",
    "wc -l shop/*.py",
    "git commit -qam 'Name the module totals'",
)
# what needs the network or another folder: the model has to say why
OUTSIDE = (("touch ../released", "the release notes are beside the project"),)


def make_project(folder: Path) -> None:
    """Make a small repository with tests."""
    for name, text in PROJECT.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "a"),
        ("config", "user.email", "a@b"),
        ("add", "-A"),
        ("commit", "-qm", "Begin"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


async def questions_of_a_day(folder: Path, sandbox: str) -> list[str]:
    """Run every command in mode `edits` with this setting of the sandbox, answering each question with yes. Return the
    commands that were asked about. Raises AssertionError if one of them failed."""
    make_project(folder)
    asked: list[dict[str, Any]] = [{"command": command} for command in COMMANDS]
    asked += [{"command": command, "access": "outside", "why": why} for command, why in OUTSIDE]
    replies = [reply for one in asked for reply in (calls(("run_command", one)), "done")]
    user = User()
    runtime = make_runtime(
        ScriptedModel(replies), user, cwd=folder, mode="edits", sandbox=sandbox, learn=False
    )
    for number, _ in enumerate(asked, 1):
        await run_turn(runtime, f"step {number}", learn=False)
        for call in runtime.session.messages[-2].tool_calls:
            assert not call.error, f"{call.parameters}: {call.result}"
    runtime.close()
    return [request.call.parameters["command"] for request in user.asked]
