"""Test completion at the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from swecli.context.mentions import expand_mentions
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.commands.registry import CommandTable
from swecli.repl.input.completer import LineCompleter, _match_paths

PATHS = ["src/app.py", "src/main.py", "tests/test_app.py", "docs/", "README.md"]


@command(aliases=("colour",), usage="[RED]", complete=lambda runtime: [])
async def paint(ctx: CommandContext, args: str) -> None:
    """Make it red"""


TABLE = CommandTable([paint])


class CommandSource:
    def __init__(self, table: CommandTable) -> None:
        self._table = table

    async def commands(self) -> list[tuple[str, tuple[str, ...], str]]:
        return [(one.name, one.aliases, one.help) for one in self._table.commands]

    def folders(self) -> tuple[str, ...]:
        return ()

    async def values(self, name: str) -> list[tuple[str, str]]:
        return (
            [("red", "warm"), ("rose", "warmer"), ("blue", "cold")]
            if self._table.find(name)
            else []
        )

    async def further_values(self, name: str, typed: str) -> list[tuple[str, str]]:
        if name != "paint":
            return []
        return [("red wall", "of the house"), ("red wall 2", "its second half"), ("red door", "")]


@pytest.fixture(autouse=True)
def make_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in PATHS:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).mkdir() if path.endswith("/") else Path(path).touch()


async def completions(text: str, table: CommandTable = TABLE) -> list[str]:
    completer = LineCompleter(CommandSource(table), Path.cwd())
    document = Document(text, len(text))
    assert list(completer.get_completions(document, CompleteEvent())) == []
    return [c.text async for c in completer.get_completions_async(document, CompleteEvent())]


async def test_commands_are_completed_by_name_and_by_alias() -> None:
    assert await completions("/") == ["paint"]
    assert await completions("/pai") == ["paint"]
    assert await completions("/col") == ["paint"]
    assert await completions("/x") == []


async def test_letters_of_a_command_in_order_match_and_prefix_matches_come_first() -> None:
    assert await completions("/pt") == ["paint"]
    assert await completions("/clr") == ["paint"]
    assert await completions("/tp") == []
    table = CommandTable.discover()
    assert (await completions("/perm", table))[0] == "permissions"
    assert (await completions("/mo", table))[:2] == ["mode", "model"]
    assert "permissions" in await completions("/prms", table)


async def test_built_in_commands_are_completed() -> None:
    names = await completions("/", CommandTable.discover())
    assert {"help", "exit", "window", "prompt", "playbook", "sessions"} <= set(names)


async def test_arguments_are_completed_for_commands_that_take_them() -> None:
    assert await completions("/paint r") == ["red", "rose"]
    assert await completions("/colour ") == ["red", "rose", "blue"]
    assert await completions("/paint red and") == []
    assert await completions("/other ") == []


async def test_further_arguments_are_completed_together_with_those_before_them() -> None:
    assert await completions("/paint red ") == ["red wall", "red wall 2", "red door"]
    assert await completions("/paint red wall ") == ["red wall 2"]
    assert await completions("/paint red @src/app") == ["src/app.py"]


@pytest.mark.parametrize("text", ["see @app", "@app", "one\ntwo @app"])
async def test_files_are_completed_after_an_at_sign(text: str) -> None:
    assert await completions(text) == ["src/app.py", "tests/test_app.py"]


@pytest.mark.parametrize(
    ("typed", "inserted"),
    [
        ("see @my", '"two words/my file.txt"'),
        ('see @"two wo', '"two words/"'),
        ('see @"two words/"my', '"two words/my file.txt"'),
        ("@page", "app/[id]/page.tsx"),
        ("@caf", r'"caf\xe9.txt"'),
        ("(@page", "app/[id]/page.tsx"),
        ("@esc", r'"esc\x1b[31m"'),
        ("@r\xe9s", "re\u0301sume\u0301.txt"),
    ],
)
async def test_a_name_is_completed_as_it_is_read(typed: str, inserted: str) -> None:
    names = ("two words/my file.txt", "app/[id]/page.tsx", "caf\udce9.txt", "esc\x1b[31m")
    for name in (*names, "re\u0301sume\u0301.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    document = Document(typed, len(typed))
    completer = LineCompleter(CommandSource(TABLE), Path.cwd())
    found = [one async for one in completer.get_completions_async(document, CompleteEvent())]
    assert inserted in [one.text for one in found]
    for one in found:
        assert typed[: len(typed) + one.start_position].endswith("@")
        assert one.display_text.isprintable()
        mention = expand_mentions(f"{typed[: one.start_position]}{one.text} now", Path.cwd())
        assert mention.text != mention.text.partition("\n")[0]  # something was read


@pytest.mark.parametrize("text", ["me@app", "plain", "", "a /pa", "@src/app.py then"])
async def test_other_text_is_not_completed(text: str) -> None:
    assert await completions(text) == []


def test_paths_match_by_prefix_then_by_substring_then_by_letters_in_order() -> None:
    assert _match_paths("app", PATHS) == ["src/app.py", "tests/test_app.py"]
    assert _match_paths("src/", PATHS) == ["src/app.py", "src/main.py"]
    assert _match_paths("sapp", PATHS) == ["src/app.py", "tests/test_app.py"]
    assert _match_paths("readme", PATHS) == ["README.md"]


@given(st.text("abc/.", max_size=8), st.lists(st.text("abc/.", min_size=1), max_size=80))
def test_at_most_fifty_existing_paths_are_offered(typed: str, paths: list[str]) -> None:
    found = _match_paths(typed, paths)
    assert set(found) <= set(paths)
    assert len(found) <= 50
