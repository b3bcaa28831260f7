"""Map a repository: its most important definitions, by what refers to them, within a number of tokens."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from pydantic import Field

from swecli.file_names import write_name
from swecli.models.message import Display, Offer, ToolResult
from swecli.text import escape_hidden
from swecli.tools.base import READ, ToolContext, ToolError, tool
from swecli.tools.limits import count_of
from swecli.tools.outside import PathPlan, SearchPlace, plan_reading
from swecli.tools.params import Params
from swecli.tools.paths import not_found_error, relative_path, resolve_for_reading
from swecli.tools.reference_rank import Definition, rank_definitions
from swecli.tools.searching import visible_files
from swecli.tools.source_tags import GRAMMARS
from swecli.tools.tag_reading import TagReading

# Shows each file of a project of 50 with its main definitions; aider sends a map of 1,000 with every request.
_DEFAULT_TOKENS = 2_000
_MAX_TOKENS = 10_000
_MAX_NAMED = 3  # of the files that were not read


class RepoMapParams(Params):
    path: str = Field(
        ".", description="Folder or file, relative to the workspace; only what is in it counts."
    )
    tokens: int = Field(
        _DEFAULT_TOKENS, ge=100, le=_MAX_TOKENS, description="Maximum size of the map, in tokens."
    )


def _plan(params: RepoMapParams, ctx: ToolContext) -> PathPlan:
    path = resolve_for_reading(ctx.root, params.path)
    subject = relative_path(ctx.root, path)
    is_folder = path.is_dir()
    summary = f"Map {subject}{'/' if is_folder and subject != '.' else ''}"
    return plan_reading(summary, path, ctx, written_path=params.path)


@tool(READ, RepoMapParams, _plan, Offer(in_reviews=False))
async def repo_map(params: RepoMapParams, ctx: ToolContext, plan: PathPlan) -> ToolResult:
    path = plan.path
    if not path.exists():
        raise not_found_error(ctx.root, path)
    place = SearchPlace.of(ctx, path)
    paths = await asyncio.to_thread(_find_sources, place, path)
    if not paths:
        languages = ", ".join(sorted(GRAMMARS))
        name = write_name(plan.subject)
        raise ToolError(f"{name}: no source file of a known language ({languages}).")

    reading = TagReading(place.ctx, paths)
    is_whole = await reading.run(ctx.commands.timeout)
    ranked = await asyncio.to_thread(lambda: [*rank_definitions(reading.files)])
    lines, drawn_definitions = _draw(ranked, params.tokens, place)

    files = f"{len({definition.path for definition in drawn_definitions})} of {count_of(len(reading.files), 'file')}"
    head = f"{len(drawn_definitions)} of {count_of(len(ranked), 'definition')} in {files}"
    notes = _notes(place, reading.problems)
    if not is_whole:
        unread_count = len(paths) - len(reading.files) - len(reading.problems)
        notes.append(
            f"[stopped after {ctx.commands.timeout:g} s: {count_of(unread_count, 'file')} not read. Name a folder.]"
        )
    if len(drawn_definitions) < len(ranked):
        notes.append("[the rest is less referred to: name a folder or file, or raise tokens]")
    text = "\n".join([f"{head}; those that other files refer to most come first:", *lines, *notes])
    return ToolResult(True, text, Display(title=head, body="\n".join(lines)))


def _find_sources(place: SearchPlace, path: Path) -> list[str]:
    """Return the source files of known languages, those at the top first: if time runs out, what is deep is left
    out."""
    candidates: Iterable[str] = [place.start]
    if path.is_dir():
        ctx = place.ctx
        environ, seconds = ctx.commands.environ, ctx.commands.timeout
        visible = visible_files(ctx.root, place.start, environ, seconds)
        guard = ctx.guard.entering(place.start)
        candidates = (path for path in visible if guard.may_read(path))
    sources = (path for path in candidates if PurePosixPath(path).suffix.lower() in GRAMMARS)
    return sorted(sources, key=lambda path: (path.count("/"), path))


def _draw(
    ranked: Sequence[Definition], tokens: int, place: SearchPlace
) -> tuple[list[str], list[Definition]]:
    """Return the lines of the map, and the definitions in it: as many as fit, best first, by file and line."""
    by_path: dict[str, list[Definition]] = defaultdict(list)
    room = _Room(tokens, place.ctx.model.page_limit, place.ctx.model.count_tokens)
    for definition in ranked:
        head = "" if definition.path in by_path else _file_line(place, definition.path)
        if not room.take(f"{head}{_definition_line(definition)}\n"):
            break
        by_path[definition.path].append(definition)
    lines: list[str] = []
    for path, definitions in by_path.items():
        lines.append(_file_line(place, path).rstrip("\n"))
        lines += map(_definition_line, sorted(definitions, key=lambda definition: definition.line))
    return lines, [definition for definitions in by_path.values() for definition in definitions]


class _Room:
    """What is left of a number of tokens and of characters."""

    def __init__(self, tokens: int, characters: int, count: Callable[[str], int]) -> None:
        self._tokens = tokens
        self._characters = characters
        self._count = count

    def take(self, text: str) -> bool:
        """Take the room for a text; False if there is not enough."""
        self._tokens -= self._count(text)
        self._characters -= len(text)
        return self._tokens >= 0 and self._characters >= 0


def _file_line(place: SearchPlace, path: str) -> str:
    return f"{write_name(place.prefix + path)}\n"


def _definition_line(definition: Definition) -> str:
    return f"  {definition.line}: {escape_hidden(definition.text, keep='')}"


def _notes(place: SearchPlace, problems: dict[str, str]) -> list[str]:
    if not problems:
        return []
    descriptions = [
        f"{write_name(place.prefix + path)} ({reason})"
        for path, reason in [*problems.items()][:_MAX_NAMED]
    ]
    more = f" and {len(problems) - _MAX_NAMED} more" if len(problems) > _MAX_NAMED else ""
    return [f"[not read: {', '.join(descriptions)}{more}]"]
