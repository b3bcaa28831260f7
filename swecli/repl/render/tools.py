"""Drawing tool calls: one head line each, under it a result folded to a few lines; and unified diffs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from swecli.models.message import AskRequest, Decision, Display, ToolCall, ToolResult
from swecli.repl.render.activity import duration
from swecli.repl.render.formatting import ESCAPED, escape_invisible, one_line, sanitize
from swecli.repl.render.markdown import Prefixed, indented, prefixed

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NOISE = ("index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ")

_Row = tuple[str, str, int | None]  # its style, its text, its number: in the old file where it was removed


def render_diff(diff: str, limit: int = 2000, room: int = 0) -> RenderableType:
    """A unified diff with numbered lines, at most `room` of them unless that is 0; what is none is shown as it is. A
    line over `limit` characters is cut, visibly; 0 cuts none."""
    rows = list(_walk(sanitize(diff).splitlines()))
    files = [row for row in rows if row[0] == "head"]
    if len(files) == 1:
        rows.remove(files[0])  # one file: whoever shows the diff has named it
    hidden = len(rows) - room + 1 if room and len(rows) > room else 0
    shown = rows[: len(rows) - hidden]
    width = max((len(str(number)) for _, _, number in shown if number is not None), default=1)
    return Group(*(_draw_row(row, width, limit) for row in shown), *([_more(hidden)] if hidden else []))


def _walk(source: list[str]) -> Iterator[_Row]:
    old = new = 0
    inside = seen = False
    for index, line in enumerate(source):
        after = source[index + 1] if index + 1 < len(source) else ""
        hunk = _HUNK.match(line)
        if hunk:
            if seen:
                yield "gap", "", None
            old, new, inside, seen = int(hunk[1]), int(hunk[2]), True, True
        elif line.startswith("--- ") and after.startswith("+++ "):
            inside = seen = False
        elif line.startswith("+++ ") and not inside:
            yield "head", re.sub(r"^(?:[ab]/)?", "", line[4:].split("\t")[0]), None
        elif not inside:
            if not line.startswith((*_NOISE, "diff --git ")):
                yield "quiet", line, None
        elif line.startswith("+"):
            yield "added", line[1:], new
            new += 1
        elif line.startswith("-"):
            yield "removed", line[1:], old
            old += 1
        elif line.startswith("\\"):
            yield "quiet", line[2:], None
        elif line.startswith("diff --git "):
            inside = False
        else:
            yield "", line[1:], new
            old, new = old + 1, new + 1


def _draw_row(row: _Row, width: int, limit: int) -> RenderableType:
    style, text, number = row
    if style == "gap":
        return Text(" " * (width - 1) + "┆", style="number")
    if number is None:
        return _text(text, limit, style, 4)
    sign = {"added": "+", "removed": "-"}.get(style, " ")
    gutter = Text(end="").append(f"{number:>{width}} ", "number").append(f"{sign} ", style or "number")
    return Prefixed(_text(text, limit, style, 4), gutter, Text(" " * gutter.cell_len, end=""))


def _text(text: str, limit: int, style: str, tab_size: int = 8) -> Text:
    """Return clean text, truncated visibly after `limit` characters (0: never), escaped characters highlighted."""
    cut = len(text) - limit if limit else 0
    drawn = Text(text[:limit] if cut > 0 else text, style=style, tab_size=tab_size)
    drawn.highlight_regex(ESCAPED, "revealed")
    if cut > 0:
        drawn.append(f" … {cut:,} more characters", "quiet")
    return drawn


_OUTPUT_LINES = 6
_DIFF_LINES = 24
_LINE_LIMIT = 300  # characters of one line in a folded result; unfolded it is `FULL_LIMIT`
FULL_LIMIT = 20_000
_LIST_TOOLS = {"todo": 20}  # tools whose result is short by nature and worth seeing whole: how many lines
_HINT = "Ctrl+O to expand"
_SLOW_MS = 1_000


def state_of(result: ToolResult) -> str:
    """How a result is coloured."""
    return "denied" if result.denied else "ok" if result.ok else "failed"


def _linked(text: Text, shown: Display, root: Path | None) -> Text:
    """The name of a file that was changed as a link to it below `root`, unless that is None."""
    name = one_line(shown.title)
    if root is not None and shown.kind == "diff" and (start := text.plain.find(name)) >= 0:
        text.stylize(Style(link=(root / shown.title).as_uri()), start, start + len(name))
    return text


def head(
    summary: str, state: str, call: ToolCall | None = None, shown: Display | None = None, root: Path | None = None
) -> RenderableType:
    """The line that names a call: a sign coloured by `state`, the verb, what it is about, and a long duration."""
    verb, space, rest = one_line(summary).partition(" ")
    text = _linked(Text.assemble((verb, "head"), space, rest), shown or Display(), root)
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
        lines.append(render_diff(result.for_user.body, room=_DIFF_LINES))
    if not lines and headless:
        lines.append(Text("done", style="quiet"))
    return _hung(lines)


def whole(summary: str, call: ToolCall, result: ToolResult) -> RenderableType:
    """A call with all of its output: a change as its diff, anything else as the model got it."""
    if result.for_user.kind == "diff":
        lines = [render_diff(result.for_user.body)]
    else:
        lines = [_text(line, FULL_LIMIT, "") for line in sanitize(result.for_model).rstrip("\n").split("\n")]
    parts = [head(summary, state_of(result), call), _hung(lines)]
    return Group(*(part for part in parts if part is not None))


def question(request: AskRequest) -> RenderableType:
    """A call that waits for a yes: all of what it would do, with nothing hidden in it."""
    parts: list[RenderableType] = [head(escape_invisible(request.summary), "asking")]
    preview = request.preview
    body = escape_invisible(preview.body or json.dumps(request.call.parameters, ensure_ascii=False, indent=2))
    target = request.summary.partition(" ")[2]
    if preview.kind == "diff":
        parts.append(indented(render_diff(body, 0), 2))
    elif body.strip() != target:
        parts.append(indented(_text(body.rstrip("\n"), 0, ""), 4))
    notes = [note for note in (preview.title, request.why) if note and note not in target]
    return Group(*parts, *(indented(_text(escape_invisible(note), 0, "quiet"), 2) for note in notes))


def answered(request: AskRequest, decision: Decision, root: Path | None = None) -> RenderableType:
    """The one line that stays of a question."""
    what = one_line(request.summary)
    if not decision.allow:
        text = Text(f"refused: {what}", style="denied")
        text.append(f" · {sanitize(decision.reason)}" if decision.reason else "", "quiet")
        return prefixed(text, "✗ ", "denied")
    text = _linked(Text(f"allowed: {what}", style="quiet"), request.preview, root)
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
    text = sanitize(shown.body or ("" if shown.title else result.for_model))
    return text.strip("\n").split("\n") if text.strip() else []


def _folded(call: ToolCall, result: ToolResult) -> list[RenderableType]:
    """A program's last lines, since that is where it says how it ended; of anything else the first ones."""
    lines = _body(result)
    room = _LIST_TOOLS.get(call.name, _OUTPUT_LINES)
    style = "output" if result.ok or result.for_user.title else "failed"
    hidden = len(lines) - room + 1 if len(lines) > room else 0
    last = result.exit_code is not None or result.cancelled
    shown = lines[hidden:] if last else lines[: len(lines) - hidden]
    drawn: list[RenderableType] = [_text(line, _LINE_LIMIT, style) for line in shown]
    if not hidden:
        return drawn
    return [Text(f"… {hidden:,} lines above ({_HINT})", style="quiet"), *drawn] if last else [*drawn, _more(hidden)]


def _more(hidden: int) -> Text:
    return Text(f"… {hidden:,} more lines ({_HINT})", style="quiet")


def _hung(lines: Sequence[RenderableType]) -> RenderableType | None:
    return prefixed(Group(*lines), "  └ ", "quiet") if lines else None
