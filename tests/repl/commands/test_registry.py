"""Test declaring and finding commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from swecli.discovery import NameClash
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.commands.registry import CommandTable

DOCUMENTED = {
    "help": ("h", "?"),
    "exit": ("quit", "q"),
    "new": ("clear", "reset"),
    "sessions": ("resume", "continue"),
    "rename": ("title", "name"),
    "window": (),
    "context": ("tokens",),
    "prompt": (),
    "playbook": ("strategies",),
    "reflect": (),
    "good": (),
    "bad": (),
    "model": ("models",),
    "mode": (),
    "cost": ("usage",),
    "stats": (),
    "status": (),
    "trust": (),
    "search": (),
}


@command(aliases=("colour",), usage="[RED]")
async def paint(ctx: CommandContext, args: str) -> None:
    """Make it red

    At once.
    """


def test_a_command_takes_its_name_and_help_from_its_function() -> None:
    assert (paint.name, paint.aliases, paint.usage, paint.help) == (
        "paint",
        ("colour",),
        "[RED]",
        "Make it red",
    )


def test_commands_are_found_by_name_and_alias_in_any_case() -> None:
    table = CommandTable([paint])
    assert table.find("PAINT") is table.find("colour") is paint
    assert table.find("draw") is None


def test_two_commands_with_the_same_name_clash() -> None:
    @command()
    async def colour(ctx: CommandContext, args: str) -> None:
        """Another"""

    with pytest.raises(NameClash):
        CommandTable([paint, colour])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("statsu", "stats"), ("pla", "plan"), ("wnidow", "window"), ("resum", "sessions")],
)
def test_a_mistyped_command_gets_suggestions(typed: str, meant: str) -> None:
    assert meant in CommandTable.discover().suggest(typed)


def test_a_random_name_gets_no_suggestions() -> None:
    assert CommandTable.discover().suggest("zzzzqqq") == []


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_documented_command_exists_with_its_aliases(name: str) -> None:
    table = CommandTable.discover()
    found = table.find(name)
    assert found is not None
    assert found.name == name
    assert found.aliases == DOCUMENTED[name]
    assert found.help
    assert "\n" not in found.help


def test_declaring_commands_imports_no_slow_module() -> None:
    """The names of commands are completed right after the first prompt, long before the store is loaded."""
    code = "import sys; from swecli.repl.commands.registry import CommandTable as T; T.discover(); print(*sys.modules)"
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert not {"rich", "pydantic", "sqlmodel", "litellm", "tiktoken"} & set(done.stdout.split())


PLUGIN = '''
from swecli.repl.commands.base import CommandContext, command


@command(usage="[loud]")
async def {name}(ctx: CommandContext, args: str) -> None:
    """Ring a bell"""
'''


def install(folder: Path, name: str) -> None:
    """Make a folder that holds an installed package with a command of this name."""
    (folder / "bells.py").write_text(PLUGIN.format(name=name))
    metadata = folder / "bells-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bells\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[swecli.commands]\n{name} = bells:{name}\n")


DISCOVERED = "from swecli.repl.commands.registry import CommandTable as T; print(T.discover().find('ring').help)"


@pytest.mark.parametrize(("name", "told"), [("ring", "Ring a bell"), ("pin", "NameClash")])
def test_a_package_may_add_a_command_but_not_replace_one(
    tmp_path: Path, name: str, told: str
) -> None:
    install(tmp_path, name)
    done = subprocess.run(
        [sys.executable, "-c", DISCOVERED],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert told in done.stdout + done.stderr
