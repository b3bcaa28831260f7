"""Read the tags of source files in a process of its own: a parser may hang or crash, and holds up all else."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from sys import intern
from tempfile import NamedTemporaryFile

from swecli.tools import source_tags
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.environment import child_environment
from swecli.tools.processes import run_group
from swecli.tools.reference_rank import Definition, SourceFile
from swecli.tools.source_tags import name_words

_FIRST_SIGNAL = 128  # added to a signal's number in a program's exit code
_REPORT_SECONDS = 1.0


class TagReading:
    """The reading of some files of the workspace. `paths` are relative to it, and of known languages."""

    def __init__(self, ctx: ToolContext, paths: Sequence[str]) -> None:
        self.files: list[SourceFile] = []
        self.problems: dict[str, str] = {}  # why a file was not read
        self._ctx = ctx
        self._paths = paths
        self._count = 0  # of paths that are done
        self._rest = b""
        self._reported = time.monotonic()

    async def run(self, seconds: float) -> bool:
        """Read the files; return False if not all could be read in that time. Raises ToolError."""
        until = time.monotonic() + seconds
        root = self._ctx.root.resolve()
        with NamedTemporaryFile(prefix="swecli-") as listed:
            listed.write(b"".join(os.fsencode(root / path) + b"\0" for path in self._paths))
            listed.flush()
            while self._count < len(self._paths):
                if not await self._run_program(Path(listed.name), until - time.monotonic()):
                    return False
        return True

    async def _run_program(self, listed: Path, seconds: float) -> bool:
        """Read on until the end, or until a file ends the program, which is left out. Returns False if it takes too
        long."""
        search_path = os.pathsep.join(part for part in sys.path if Path(part).is_absolute())
        program = [sys.executable, "-I", source_tags.__file__, search_path, str(listed)]
        self._rest = b""
        end = await run_group(
            [*program, str(self._count)],
            cwd=self._ctx.root,
            env=child_environment(self._ctx.commands.environ),
            timeout=max(seconds, 0.0),
            on_output=self._feed,
            errors_too=False,
        )
        if end.reason == "timeout":
            return False
        if end.code > _FIRST_SIGNAL:
            self._add_problem("it cannot be parsed")
        elif end.code:
            raise ToolError(f"The program that reads source files failed (exit code {end.code}).")
        return True

    def _feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._add(json.loads(line))
        now = time.monotonic()
        if now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            self._ctx.progress.report(f"{self._count:,} of {len(self._paths):,} files\n")

    def _add(self, tags: dict[str, object]) -> None:
        path = self._paths[self._count]
        match tags:
            case {"problem": str(why)}:
                self._add_problem(why)
                return
            case {"defined": list(rows), "used": dict(used), "words": list(words)}:
                definitions = [Definition(path, *row) for row in rows]
                names = {intern(name): count for name, count in used.items()}
                path_words = name_words(path)
                self.files.append(
                    SourceFile(path, path_words, definitions, names, frozenset(words))
                )
        self._count += 1

    def _add_problem(self, reason: str) -> None:
        self.problems[self._paths[self._count]] = reason
        self._count += 1
