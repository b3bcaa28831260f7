"""Drawing tool calls: one head line each, under it a result folded to a few lines; and unified diffs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from swecli.models.message import AskRequest, Decision, Display, ToolCall, ToolResult
from swecli.repl.render.activity import duration
from swecli.repl.render.formatting import REVEALED, clean, one_line, reveal
from swecli.repl.render.markdown import Prefixed, indented, prefixed

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NOISE = ("index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ")

Kind = Literal["added", "removed", "context", "gap", "file", "note"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line to draw; `number` counts in the new file, or in the old one for what was removed."""

    kind: Kind
    text: str
    number: int | None = None


def parse_diff(diff: str) -> list[DiffLine]:
    """The lines of a unified diff with their numbers. Anything else comes back as notes, nothing is lost."""
    lines = list(_walk(clean(diff).splitlines()))
    files = [line for line in lines if line.kind == "file"]
    if len(files) == 1:
        lines.remove(files[0])  # one file: whoever shows the diff has named it
    return lines


def _walk(source: list[str]) -> Iterator[DiffLine]:
    old = new = 0
    inside = seen = False
    for index, line in enumerate(source):
        after = source[index + 1] if index + 1 < len(source) else ""
        hunk = _HUNK.match(line)
        if hunk:
            if seen:
                yield DiffLine("gap", "")
            old, new, inside, seen = int(hunk[1]), int(hunk[2]), True, True
        elif line.startswith("--- ") and after.startswith("+++ "):
            inside = seen = False
        elif line.startswith("+++ ") and not inside:
            yield DiffLine("file", re.sub(r"^(?:[ab]/)?", "", line[4:].split("\t")[0]))
        elif not inside:
            if not line.startswith((*_NOISE, "diff --git ")):
                yield DiffLine("note", line)
        elif line.startswith("+"):
            yield DiffLine("added", line[1:], new)
            new += 1
        elif line.startswith("-"):
            yield DiffLine("removed", line[1:], old)
            old += 1
        elif line.startswith("\\"):
            yield DiffLine("note", line[2:])
        elif line.startswith("diff --git "):
            inside = False
        else:
            yield DiffLine("context", line[1:], new)
            old, new = old + 1, new + 1


def draw_diff(lines: list[DiffLine], limit: int = 2000) -> RenderableType:
    """The lines with a gutter. A line over `limit` characters is cut, visibly; 0 cuts none."""
    width = max((len(str(line.number)) for line in lines if line.number is not None), default=1)
    return Group(*(_draw_line(line, width, limit) for line in lines))


def _draw_line(line: DiffLine, width: int, limit: int) -> RenderableType:
    if line.kind in ("note", "file"):
        return _content(line.text, "quiet" if line.kind == "note" else "head", limit)
    if line.kind == "gap":
        return Text(" " * (width - 1) + "┆", style="number")
    sign = {"added": "+", "removed": "-", "context": " "}[line.kind]
    style = line.kind if line.kind != "context" else ""
    gutter = Text(end="").append(f"{line.number:>{width}} ", "number").append(f"{sign} ", style or "number")
    follow = Text(" " * gutter.cell_len, end="")
    return Prefixed(_content(line.text, style, limit), gutter, follow)


def _content(text: str, style: str, limit: int) -> Text:
    cut = len(text) - limit if limit else 0
    shown = clean(text[:limit] if cut > 0 else text).replace("\n", " ")
    drawn = Text(shown, style=style, tab_size=4)
    drawn.highlight_regex(REVEALED, "revealed")
    if cut > 0:
        drawn.append(f" … {cut:,} more characters", "quiet")
    return drawn


_OUTPUT_LINES = 6
_DIFF_LINES = 24
LINE_LIMIT = 300  # characters of one line in a folded result; unfolded it is `FULL_LIMIT`
FULL_LIMIT = 20_000
_LIST_TOOLS = {"todo": 20}  # tools whose result is short by nature and worth seeing whole: how many lines
_HINT = "Ctrl+O to expand"
_SLOW_MS = 1_000


def state_of(result: ToolResult) -> str:
    """How a result is coloured."""
    return "denied" if result.denied else "ok" if result.ok else "failed"


_Links = Mapping[str, str]


def links(shown: Display, root: Path | None) -> _Links:
    """The name of a file that was changed, with its address; none where names are not to be links."""
    if root is None or shown.kind != "diff":
        return {}
    return {one_line(shown.title): (root / shown.title).as_uri()}


def _linked(text: Text, links: _Links) -> Text:
    for name, address in links.items():
        if (start := text.plain.find(name)) >= 0:
            text.stylize(Style(link=address), start, start + len(name))
    return text


def head(
    summary: str, state: str, call: ToolCall | None = None, links: _Links = MappingProxyType({})
) -> RenderableType:
    """The line that names a call: a sign coloured by `state`, the verb, what it is about, and a long duration."""
    verb, space, rest = one_line(summary).partition(" ")
    text = _linked(Text.assemble((verb, "head"), space, rest), links)
    if call is not None and (call.duration_ms or 0) >= _SLOW_MS:
        text.append(f" · {duration(call.duration_ms or 0)}", "quiet")
    return prefixed(text, "● ", state)


def outcome(
    summary: str, call: ToolCall, result: ToolResult, *, seen: bool = False, headless: bool = False
) -> RenderableType | None:
    """What became of a call, folded; None if there is nothing to say. `seen` leaves out a diff that was just
    approved; `headless` adds how long it took, and that it is done, where no head line does."""
    title = _title(summary, call, result)
    slow = duration(call.duration_ms or 0) if headless and (call.duration_ms or 0) >= _SLOW_MS else ""
    title = " · ".join(part for part in (title, slow) if part)
    lines: list[RenderableType] = [Text(title, style="quiet" if result.ok else state_of(result))] if title else []
    if result.for_user.kind != "diff" and not result.denied:
        lines += _folded(call, result)
    elif not result.denied and not seen:
        lines += _diff(result, _DIFF_LINES)
    if not lines and headless:
        lines.append(Text("done", style="quiet"))
    return _hung(lines)


def whole(summary: str, call: ToolCall, result: ToolResult) -> RenderableType:
    """A call with all of its output: a change as its diff, anything else as the model got it."""
    if result.for_user.kind == "diff":
        lines = _diff(result)
    else:
        lines = [_output(line, FULL_LIMIT, "") for line in clean(result.for_model).rstrip("\n").split("\n")]
    parts = [head(summary, state_of(result), call), _hung(lines)]
    return Group(*(part for part in parts if part is not None))


def question(request: AskRequest) -> RenderableType:
    """A call that waits for a yes: all of what it would do, with nothing hidden in it."""
    parts: list[RenderableType] = [head(reveal(request.summary), "asking")]
    preview = request.preview
    body = reveal(preview.body or json.dumps(request.call.parameters, ensure_ascii=False, indent=2))
    target = request.summary.partition(" ")[2]
    if preview.kind == "diff":
        parts.append(indented(draw_diff(parse_diff(body), 0), 2))
    elif body.strip() != target:
        parts.append(indented(_revealed(body.rstrip("\n")), 4))
    notes = [note for note in (preview.title, request.why) if note and note not in target]
    return Group(*parts, *(indented(_revealed(reveal(note), "quiet"), 2) for note in notes))


def answered(request: AskRequest, decision: Decision, links: _Links = MappingProxyType({})) -> RenderableType:
    """The one line that stays of a question."""
    what = one_line(request.summary)
    if not decision.allow:
        text = Text(f"refused: {what}", style="denied")
        text.append(f" · {clean(decision.reason)}" if decision.reason else "", "quiet")
        return prefixed(text, "✗ ", "denied")
    text = _linked(Text(f"allowed: {what}", style="quiet"), links)
    if decision.scope == "session":
        text.append(f" · for this session: {one_line(request.session_label)}")
    elif decision.scope == "project":
        text.append(f" · always in this project: {one_line(request.session_label)}")
    return prefixed(text, "✓ ", "ok")


def _title(summary: str, call: ToolCall, result: ToolResult) -> str:
    """The first line under the head, without what the head shows already."""
    if result.denied:
        return f"refused: {one_line(call.reason or result.for_model)}"
    head = one_line(summary)
    title = one_line(result.for_user.title)
    title = title.removeprefix(f"{head.partition(' ')[2]}: ")
    parts = [title] if title and title not in head and not (title == "exit code 0" and _body(result)) else []
    if result.cancelled and not title:
        parts.append("interrupted")
    elif result.exit_code and "exit" not in title:
        parts.append(f"exit code {result.exit_code}")
    if not parts and result.for_user.kind != "diff" and not _body(result):
        parts.append("no output" if result.ok else "failed")
    return " · ".join(parts)


def _body(result: ToolResult) -> list[str]:
    shown = result.for_user
    text = clean(shown.body or ("" if shown.title else result.for_model))
    return text.strip("\n").split("\n") if text.strip() else []


def _folded(call: ToolCall, result: ToolResult) -> list[RenderableType]:
    """A program's last lines, since that is where it says how it ended; of anything else the first ones."""
    lines = _body(result)
    room = _LIST_TOOLS.get(call.name, _OUTPUT_LINES)
    style = "output" if result.ok or result.for_user.title else "failed"
    hidden = len(lines) - room + 1 if len(lines) > room else 0
    last = result.exit_code is not None or result.cancelled
    shown = lines[hidden:] if last else lines[: len(lines) - hidden]
    drawn: list[RenderableType] = [_output(line, LINE_LIMIT, style) for line in shown]
    if not hidden:
        return drawn
    return [Text(f"… {hidden:,} lines above ({_HINT})", style="quiet"), *drawn] if last else [*drawn, _more(hidden)]


def _diff(result: ToolResult, room: int = 0) -> list[RenderableType]:
    lines = parse_diff(result.for_user.body)
    if not room or len(lines) <= room:
        return [draw_diff(lines)]
    return [draw_diff(lines[: room - 1]), _more(len(lines) - room + 1)]


def _more(hidden: int) -> Text:
    return Text(f"… {hidden:,} more lines ({_HINT})", style="quiet")


def _output(line: str, limit: int, style: str = "output") -> Text:
    text = Text(line[:limit], style=style, tab_size=8)
    if len(line) > limit:
        text.append(f" ({len(line) - limit:,} more characters)", "quiet")
    return text


def _revealed(text: str, style: str = "") -> Text:
    drawn = Text(text, style=style, tab_size=8)
    drawn.highlight_regex(REVEALED, "revealed")
    return drawn


def _hung(lines: Sequence[RenderableType]) -> RenderableType | None:
    return prefixed(Group(*lines), "  └ ", "quiet") if lines else None
