"""Runs the program of a hook: in its own process group, without a terminal, and without the keys of models."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from swecli.models.errors import ToolError
from swecli.models.json_value import JsonObject
from swecli.tools.environment import child_environment
from swecli.tools.guard import Guard
from swecli.tools.hooks.answers import Answer, failed, read_answer
from swecli.tools.hooks.approved import KnownHook
from swecli.tools.limits import excess
from swecli.tools.plugin_data import make_data_folder
from swecli.tools.processes import ProcessExit, run_group
from swecli.tools.run_inside import FurtherAccess, run_inside
from swecli.tools.sandbox import Sandbox
from swecli.values import dataclass

_MOST_OUTPUT = 5_000_000  # bytes; more than any answer has, and little enough to keep
_MOST_ERRORS = 200_000  # bytes, of its end


@dataclass(frozen=True, slots=True)
class Place:
    """Where the hooks of a run are started: `cwd` may be gone meanwhile."""

    cwd: Path
    project: Path
    environ: Mapping[str, str]
    sandbox: Sandbox
    guard: Guard


async def run_program(
    known_hook: KnownHook,
    event_input: JsonObject,
    place: Place,
    *,
    outside: bool,
    transcript: Path | None,
) -> Answer:
    """Run a hook's program with its input, and return its answer: `outside` the sandbox, or where there is one in it,
    with the file of the session's `transcript`. Raises CancelledError; nothing is left running then."""
    hook = known_hook.hook
    if not outside and place.sandbox.refusal:
        return failed(hook, place.sandbox.refusal)
    output = bytearray()
    notes: list[str] = []

    def take(data: bytes) -> None:
        output.extend(data[: _MOST_OUTPUT - len(output)])

    try:
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
            stdin.write(json.dumps(event_input).encode() + b"\n")
            stdin.seek(0)
            streams = _Streams(stdin.fileno(), take, stderr.fileno(), notes.append)
            readable_paths = None if outside else [*filter(None, (transcript, *known_hook.places))]
            end = await _run(known_hook, place, streams, readable_paths)
            errors = _read_end(stderr)
    except (OSError, ToolError, ValueError) as error:
        return failed(hook, str(error))
    if end.reason == "timeout":
        return failed(hook, excess(hook.time_limit))
    answer = read_answer(hook, end.code, output.decode("utf-8", "replace"), errors)
    return replace(answer, problems=(*answer.problems, *notes))


@dataclass(frozen=True, slots=True)
class _Streams:
    """The standard streams of a program, and what gets a line on what it changed that is protected."""

    stdin: int
    on_output: Callable[[bytes], None]
    stderr: int
    on_note: Callable[[str], None]


async def _run(
    known_hook: KnownHook, place: Place, streams: _Streams, readable_paths: Sequence[Path] | None
) -> ProcessExit:
    """Run the program of a hook. `readable_paths` is what it reads outside the workspace if it runs in the sandbox;
    None: it does not."""
    hook = known_hook.hook
    env = child_environment(place.environ) | {"CLAUDE_PROJECT_DIR": str(place.project)}
    access = FurtherAccess(readable=[*map(str, readable_paths or ())])
    if known_hook.plugin is not None:
        env |= known_hook.plugin.environment
        writable_folders = (make_data_folder(known_hook.plugin),)
        access = replace(
            access, network=known_hook.plugin.approval.network, writable=writable_folders
        )
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    argv = [hook.command, *hook.args] if hook.args else [shell, "-c", hook.command]
    has_folder = place.cwd.is_dir()
    if readable_paths is not None and place.sandbox.is_active and has_folder:
        return await run_inside(
            place.sandbox,
            place.guard,
            "workspace",
            argv,
            env=env,
            timeout=hook.time_limit,
            on_output=streams.on_output,
            on_note=streams.on_note,
            access=access,
            stdin=streams.stdin,
            stderr=streams.stderr,
        )
    folders = (place.cwd, place.project, *place.project.parents)
    return await run_group(
        argv,
        cwd=next(folder for folder in folders if folder.is_dir()),
        env=env,
        timeout=hook.time_limit,
        on_output=streams.on_output,
        stdin=streams.stdin,
        stderr=streams.stderr,
    )


def _read_end(file: IO[bytes]) -> str:
    """Return the end of what a program wrote to a file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MOST_ERRORS))
    return file.read(_MOST_ERRORS).decode("utf-8", "replace")
