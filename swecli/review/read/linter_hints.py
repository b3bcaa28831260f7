"""What measures and deterministic tools say of the files: hints for the model, labelled as such."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from swecli.review.judge.measures import LIMITS, in_words, measure
from swecli.review.judge.sources import Sources
from swecli.tools.processes import child_environment, find_program, run_group

SECONDS = 60.0
MOST_FILES = 400  # on one command line
LARGEST = 5_000_000
_PLAIN = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)?\s*(?P<text>.+)$", re.MULTILINE)
# both write `path:line: text`; neither imports what it reads
BUILTIN = (
    "ruff check --output-format=concise --no-fix --no-cache --exit-zero --quiet --",
    "vulture --min-confidence 80 --",
)


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


def measured(files: Sequence[str], sources: Sources) -> list[Hint]:
    """The Python functions of these files that are over a limit."""
    over = (
        Hint("measured", path, function.line, in_words(function, smell))
        for path in files
        for function in sources.symbols(path)
        for smell, limit in LIMITS.items()
        if function.line and measure(function, smell) > limit
    )
    return list(over)


async def find_hints(
    root: Path, files: Sequence[str], environ: Mapping[str, str] | None, commands: Sequence[str] = ()
) -> tuple[list[Hint], list[str]]:
    """What the tools say, and a line for each that failed. A tool that is not installed is passed over.

    Args:
        files: relative to `root`; Python files go to the built-in tools, all to `commands`.
        commands: the user's own, for example "mypy"; the files come behind, unless `{files}` says where. Their output
            is read as `path:line: text`.
    """
    python = [name for name in files if name.endswith((".py", ".pyi"))]
    own = child_environment(environ)
    # PYTHONPATH may name this folder: then a `json.py` in it is what a linter imports
    isolated = {name: value for name, value in own.items() if not name.startswith("PYTHON")}
    jobs = [(command.split(), python, isolated) for command in BUILTIN if python]
    jobs += [(words, list(files), own) for command in commands if (words := shlex.split(command))]
    hints, notes, known = list[Hint](), list[str](), set(files)
    for (tool, *words), given, env in jobs:
        program, named = find_program(tool, environ, root), [f"./{name}" for name in given[:MOST_FILES]]
        if program is None:
            notes += [f"{tool} is not installed"] if given is not python else []
            continue
        at = words.index("{files}") if "{files}" in words else len(words)
        argv = [program, *words[:at], *named, *words[at + 1 :]]
        output, problem = await _run(root, argv, env)
        found = [Hint(tool, _relative(m["path"], root), int(m["line"]), m["text"]) for m in _PLAIN.finditer(output)]
        hints += [hint for hint in found if hint.path in known]
        notes += [f"no leads from {tool}: {problem}"] if problem and not found else []
    return hints, notes


async def _run(root: Path, argv: Sequence[str], env: Mapping[str, str]) -> tuple[str, str]:
    """What a program writes, and what went wrong. 1, and 3 of vulture, is how a linter ends that found something."""
    output = bytearray()

    def take(piece: bytes) -> bool:
        output.extend(piece)
        return len(output) > LARGEST

    try:
        ended = await run_group(argv, cwd=root, env=env, timeout=SECONDS, on_output=take, errors_too=False)
    except (OSError, ValueError) as error:
        return "", f"{type(error).__name__}: {error}"
    problem = f"it ended with {ended.code}" if ended.code not in (0, 1, 3) else ""
    problem = f"it took longer than {SECONDS:.0f} s" if ended.how == "timeout" else problem
    return output.decode("utf-8", "replace"), problem


def _relative(path: str, root: Path) -> str:
    try:
        return Path(path).relative_to(root.resolve()).as_posix() if path.startswith("/") else path.removeprefix("./")
    except ValueError:
        return path
