"""Test the list of files that `@` completes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from swecli.repl.input.completer import LineCompleter, _list_paths


def git(*arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository() -> Path:
    """Create a repository with a tracked, a new and an ignored file."""
    git("init", "-q")
    Path("src").mkdir()
    Path("src/new.py").write_text("")
    Path("zz.py").write_text("")
    Path(".gitignore").write_text("*.log\n")
    Path("noise.log").write_text("")
    git("add", "zz.py", ".gitignore")
    return Path.cwd()


def test_files_that_git_ignores_are_not_listed(repository: Path) -> None:
    assert _list_paths(repository) == [".gitignore", "src/new.py", "zz.py", "src/"]


def test_without_git_every_file_outside_ignored_folders_is_listed() -> None:
    for name in ("a.py", "sub/b.py", "node_modules/c.js", ".git/d"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("")
    assert _list_paths(Path.cwd()) == ["a.py", "sub/b.py", "sub/"]


def test_listing_starts_no_program_that_the_repository_configures(repository: Path) -> None:
    hook = repository / "hook"
    hook.write_text("#!/bin/sh\ntouch started\n")
    hook.chmod(0o755)
    git("config", "core.fsmonitor", str(hook))
    _list_paths(repository)
    assert not (repository / "started").exists()


def test_a_name_with_escape_sequences_is_listed_as_it_is() -> None:
    Path("bad\x1b[31m.py").write_text("")
    Path("good.py").write_text("")
    assert _list_paths(Path.cwd()) == ["bad\x1b[31m.py", "good.py"]


class NoCommands:
    async def commands(self) -> list[tuple[str, tuple[str, ...], str]]:
        return []

    def folders(self) -> tuple[str, ...]:
        return ()

    async def values(self, name: str) -> list[tuple[str, str]]:
        return []

    async def further_values(self, name: str, typed: str) -> list[tuple[str, str]]:
        return []


async def test_the_files_of_a_folder_that_was_added_are_listed_by_their_absolute_paths(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/a.py").write_text("")
    added: tuple[str, ...] = ()

    class Source(NoCommands):
        def folders(self) -> tuple[str, ...]:
            return added

    completer = LineCompleter(Source(), repository)
    before = await completer.paths()
    added = (f"{tmp_path}/lib",)
    assert await completer.paths() == [*before, f"{tmp_path}/lib/", f"{tmp_path}/lib/a.py"]
    document = Document(f"see @{tmp_path}/lib/a")
    [completion] = [one async for one in completer.get_completions_async(document, CompleteEvent())]
    assert completion.text == f"{tmp_path}/lib/a.py"
    assert completion.display_text == "lib/a.py", "the menu cuts the end of a long path"


async def test_the_list_of_files_is_cached_until_it_is_invalidated(repository: Path) -> None:
    completer = LineCompleter(NoCommands(), repository)
    before = await completer.paths()
    Path("later.py").write_text("")
    assert await completer.paths() == before
    completer.invalidate_paths()
    assert "later.py" in await completer.paths()
