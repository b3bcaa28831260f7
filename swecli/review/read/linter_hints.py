"""What deterministic tools say of the files, where they are installed: hints for the model, labelled as such."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from swecli.tools.processes import child_environment, find_program, run_group

SECONDS = 60.0
MOST_FILES = 400  # on one command line
LARGEST = 5_000_000
_PLAIN = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)?\s*(?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hint:
    """One line of a tool."""

    tool: str
    path: str
    line_number: int
    text: str

    def line(self) -> str:
        """`ruff: a.py:3: E722 ...`"""
        return f"- {self.tool}: {self.path}:{self.line_number}: {' '.join(self.text.split())[:200]}"


Reader = Callable[[str, str], list[Hint]]


def read_ruff(tool: str, output: str) -> list[Hint]:
    """`ruff check --output-format json`."""
    return [
        Hint(tool, str(row["filename"]), int(row["location"]["row"]), f"{row.get('code') or ''} {row['message']}")
        for row in json.loads(output)
    ]


def read_radon(tool: str, output: str) -> list[Hint]:
    """`radon cc -j -n C`: functions by cyclomatic complexity."""
    return [
        Hint(tool, path, int(row["lineno"]), f"{row['name']} has complexity {row['complexity']}")
        for path, rows in json.loads(output).items()
        if isinstance(rows, list)
        for row in rows
    ]


def read_plain(tool: str, output: str) -> list[Hint]:
    """`path:line: text`, as vulture and most tools write it."""
    return [Hint(tool, match["path"], int(match["line"]), match["text"]) for match in _PLAIN.finditer(output)]


BUILTIN: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("ruff", "check", "--output-format=json", "--no-fix", "--no-cache", "--exit-zero", "--quiet", "--"), read_ruff),
    (("radon", "cc", "-j", "-n", "C", "--"), read_radon),
    (("vulture", "--min-confidence", "80", "--"), read_plain),
)


async def find_hints(
    root: Path, files: Sequence[str], environ: Mapping[str, str] | None, commands: Sequence[str] = ()
) -> tuple[list[Hint], list[str]]:
    """What the tools say, and a line for each that failed. A tool that is not installed is passed over.

    Args:
        files: relative to `root`; Python files go to the built-in tools, all to `commands`.
        commands: the user's own, for example "mypy"; the files come behind, unless `{files}` says where. Their output
            is read as `path:line: text`.
    """
    python = [f"./{name}" for name in files if name.endswith((".py", ".pyi"))][:MOST_FILES]
    own = child_environment(environ)
    # PYTHONPATH may name this folder: then a `json.py` in it is what a linter imports
    isolated = {name: value for name, value in own.items() if not name.startswith("PYTHON")}
    jobs = [([*argv, *python], reader, isolated) for argv, reader in BUILTIN] if python else []
    for command in commands:
        words = shlex.split(command)
        named = [f"./{name}" for name in files[:MOST_FILES]]
        at = words.index("{files}") if "{files}" in words else len(words)
        jobs += [([*words[:at], *named, *words[at + 1 :]], read_plain, own)] if words else []
    hints, notes = list[Hint](), list[str]()
    for (tool, *words), reader, env in jobs:
        program = find_program(tool, environ, root)
        if program is None:
            notes += [f"{tool} is not installed"] if tool in {c.split()[0] for c in commands if c.split()} else []
            continue
        found, problem = await _run(root, [program, *words], tool, reader, env)
        hints += found
        notes += [f"no leads from {tool}: {problem}"] if problem else []
    known = set(files)
    cleaned = [Hint(hint.tool, _relative(hint.path, root), hint.line_number, hint.text) for hint in hints]
    return [hint for hint in cleaned if hint.path in known], notes


async def _run(
    root: Path, argv: Sequence[str], tool: str, reader: Reader, env: Mapping[str, str]
) -> tuple[list[Hint], str]:
    output = bytearray()

    def take(piece: bytes) -> bool:
        output.extend(piece)
        return len(output) > LARGEST

    try:
        ended = await run_group(argv, cwd=root, env=env, timeout=SECONDS, on_output=take, errors_too=False)
        if ended.how == "timeout":
            return [], f"it took longer than {SECONDS:.0f} s"
        return await asyncio.to_thread(reader, tool, output.decode("utf-8", "replace")), ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [], f"{type(error).__name__}: {error}"


def _relative(path: str, root: Path) -> str:
    try:
        return Path(path).relative_to(root.resolve()).as_posix() if path.startswith("/") else path.removeprefix("./")
    except ValueError:
        return path
