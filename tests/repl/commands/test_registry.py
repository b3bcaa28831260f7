"""Test declaring and finding commands, also those that a project defines in Markdown files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.config.trust import FolderTrust
from swecli.discovery import NameClash
from swecli.models.errors import BadInput
from swecli.repl.commands.base import Command, CommandContext, command
from swecli.repl.commands.registry import CommandTable
from tests.support.command_context import ScriptedContext

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
    "model": (),
    "models": (),
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


class _SteeredContext(ScriptedContext):
    """A context that records the query a command submits."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.sent: list[str] = []

    def steer(self, text: str) -> None:
        self.sent.append(text)


def write_command(root: Path, name: str, text: str, folder: str = ".claude/commands") -> None:
    path = root / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def as_it_is(root: Path) -> FolderTrust:
    return FolderTrust(root, everything=True)


def project_command(root: Path) -> Command:
    (found,) = project_commands(root)
    return found


def project_commands(root: Path) -> list[Command]:
    """Return the commands that the project defines."""
    built_in = {command.name for command in CommandTable.discover().commands}
    table = CommandTable.discover(as_it_is(root))
    return [command for command in table.commands if command.name not in built_in]


@pytest.mark.parametrize(
    ("text", "args", "sent"),
    [
        ("Fix issue $ARGUMENTS.", "12 now", "Fix issue 12 now."),
        ("Cost $1.2M and $1,000 for $1.py.", "a b", "Cost $1.2M and $1,000 for a.py."),
        (r"Write \$1 and $1.", "a", "Write $1 and a."),
        ("Run `awk '{print $1}'`: $ARGUMENTS $1", "a b", "Run `awk '{print $1}'`: a b a"),
        ("Run `pytest $1`.", "a b", "Run `pytest a`."),
        ("Move $1 to $2; $3", '"a b" c', "Move a b to c; "),
        ("Fix it.", "in main.py", "Fix it.\n\nin main.py"),
        ("Fix it.", "", "Fix it."),
        ("costs $100 and $HOME", "", "costs $100 and $HOME"),
        ("Say $1", 'an "open quote', "Say an"),
        ("---\ndescription: x\n---\nFix it.", "", "Fix it."),
        ("--- no front matter\nFix it.", "", "--- no front matter\nFix it."),
        ("---\ndescription: x\nnever closed", "", "---\ndescription: x\nnever closed"),
    ],
)
async def test_a_project_command_sends_its_text_with_the_arguments(
    runtime: Runtime, text: str, args: str, sent: str
) -> None:
    write_command(runtime.cwd, "fix.md", text)
    ctx = _SteeredContext(runtime)
    await project_command(runtime.cwd).run(ctx, args)
    assert ctx.sent == [sent]


def test_the_front_matter_of_a_project_command_sets_help_and_usage(tmp_path: Path) -> None:
    write_command(
        tmp_path,
        "fix.md",
        "---\ndescription: 'Fix one issue'\nargument-hint: ISSUE\nmodel: x\n---\nFix $1",
    )
    command = project_command(tmp_path)
    assert (command.name, command.help, command.usage) == ("fix", "Fix one issue", "ISSUE")


def test_built_in_names_are_kept_and_the_first_folder_wins(tmp_path: Path) -> None:
    write_command(tmp_path, "help.md", "Not this.")
    write_command(tmp_path, "fix.md", "---\ndescription: second\n---\nx")
    write_command(tmp_path, "Fix.md", "---\ndescription: first\n---\nx", ".agents/commands")
    table = CommandTable.discover(as_it_is(tmp_path))
    help, fix = table.find("help"), table.find("fix")
    assert help is not None
    assert "Not this" not in help.help
    assert fix is not None
    assert fix.help == "first"


def test_links_out_of_the_project_and_names_with_spaces_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    project = tmp_path / "project"
    write_command(project, "two words.md", "x")
    (project / ".claude/commands/leak.md").symlink_to(tmp_path / "secret.md")
    assert project_commands(project) == []


@pytest.mark.parametrize(
    ("text", "why"), [("---\nmodel: x\n---\n", "no text"), ("x" * 40_000, "longer than 32,768")]
)
async def test_a_command_file_that_is_empty_or_too_long_is_refused(
    runtime: Runtime, text: str, why: str
) -> None:
    write_command(runtime.cwd, "fix.md", text)
    with pytest.raises(BadInput, match=why):
        await project_command(runtime.cwd).run(_SteeredContext(runtime), "")
