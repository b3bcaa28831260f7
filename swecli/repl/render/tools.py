"""Render tool calls, their results and approvals, and unified diffs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from swecli.models.events import ToolFinished
from swecli.models.message import AskRequest, Decision, Display, ToolCall, ToolResult
from swecli.repl.render.formatting import ESCAPED, escape_invisible, format_duration
from swecli.repl.render.prefix import add_prefix
from swecli.text import one_line, sanitize

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_SKIPPED_HEADERS = (
    "diff --git ", "index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ",
)  # fmt: skip
_DiffRow = tuple[
    str, str, int | None
]  # style, text, line number: of the old file for a removed line


def render_diff(diff: str, max_chars: int = 2000, max_rows: int = 0) -> RenderableType:
    """Render a unified diff with line numbers; text without hunks is rendered as it is.

    At most `max_rows` rows and `max_chars` characters a line; 0 is unlimited. What is truncated is counted.
    """
    rows = list(_parse_diff(sanitize(diff).splitlines()))
    files = [row for row in rows if row[0] == "head"]
    if len(files) == 1:
        rows.remove(files[0])  # the caller has named the only file
    hidden = len(rows) - max_rows + 1 if max_rows and len(rows) > max_rows else 0
    shown = rows[: len(rows) - hidden]
    width = max((len(str(number)) for _, _, number in shown if number is not None), default=1)
    return Group(
        *(_render_row(row, width, max_chars) for row in shown), *([_more(hidden)] if hidden else [])
    )


def _parse_diff(lines: list[str]) -> Iterator[_DiffRow]:
    old = new = 0
    in_hunk = has_hunk = False
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if hunk := _HUNK.match(line):
            if has_hunk:
                yield "gap", "", None
            old, new, in_hunk, has_hunk = int(hunk[1]), int(hunk[2]), True, True
        elif line.startswith("--- ") and following.startswith("+++ "):
            in_hunk = has_hunk = False
        elif line.startswith("+++ ") and not in_hunk:
            yield "head", re.sub(r"^(?:[ab]/)?", "", line[4:].split("\t")[0]), None
        elif not in_hunk:
            if not line.startswith(_SKIPPED_HEADERS):
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
            in_hunk = False
        else:
            yield "", line[1:], new
            old, new = old + 1, new + 1


def _render_row(row: _DiffRow, width: int, max_chars: int) -> RenderableType:
    style, text, number = row
    if style == "gap":
        return Text(" " * (width - 1) + "┆")
    line = _render_line(text, max_chars, style, 4)
    if number is None:
        return line
    sign = {"added": "+", "removed": "-"}.get(style, " ")
    gutter = Text(end="").append(f"{number:>{width}} ").append(f"{sign} ", style)
    return add_prefix(line, gutter)


def _render_line(text: str, max_chars: int, style: str, tab_size: int = 8) -> Text:
    """Render sanitized text, truncated to `max_chars` characters (0: never), with escaped characters highlighted."""
    excess = len(text) - max_chars if max_chars else 0
    line = Text(text[:max_chars] if excess > 0 else text, style=style, tab_size=tab_size)
    line.highlight_regex(ESCAPED, "escaped")
    if excess > 0:
        line.append(f" … {excess:,} more characters", "quiet")
    return line


_OUTPUT_LINES = 6
_DIFF_LINES = 24
ASKED_DIFF_ROWS = 60  # of a diff that the user asks for, or is asked about: two screens
_MAX_CHARS = 300  # characters of one line in a folded result
_MAX_EXPANDED_CHARS = 20_000  # characters of one line in an expanded result
_TODO_LINES = 20  # of a to-do list, which is short and shown whole
_INDENT = "  └ "
_EXPAND_HINT = "Ctrl+O to expand"
_SLOW_MS = 1_000


def _call_style(result: ToolResult) -> str:
    """Return the style of a finished call: denied, ok or failed."""
    return "denied" if result.denied else "ok" if result.ok else "failed"


def _link_file(text: Text, display: Display, root: Path | None) -> Text:
    """Link the name of a changed file to its path below `root`; None: no links."""
    name = one_line(display.title)
    if root is not None and display.kind == "diff" and (start := text.plain.find(name)) >= 0:
        text.stylize(Style(link=(root / display.title).as_uri()), start, start + len(name))
    return text


def render_head(
    summary: str,
    style: str,
    call: ToolCall | None = None,
    display: Display | None = None,
    root: Path | None = None,
) -> RenderableType:
    """Render the head line of a call: a bullet in `style`, its summary, and its duration if it was slow."""
    verb, space, rest = one_line(summary).partition(" ")
    text = _link_file(Text.assemble((verb, "head"), space, rest), display or Display(), root)
    if call is not None and (call.duration_ms or 0) >= _SLOW_MS:
        text.append(f" · {format_duration(call.duration_ms or 0)}", "quiet")
    return add_prefix(text, "● ", style)


def render_call(
    event: ToolFinished, root: Path | None = None, *, approved: bool = False, has_head: bool = True
) -> RenderableType | None:
    """Render a call with its result, folded; None if there is nothing to show.

    `approved`: its diff was shown for approval and is omitted. Without `has_head`, the duration is shown at the result.
    """
    summary, call, result = event.summary, event.call, event.result
    head = (
        [render_head(summary, _call_style(result), call, result.for_user, root)] if has_head else []
    )
    title = _result_title(summary, call, result)
    if not has_head and (call.duration_ms or 0) >= _SLOW_MS:
        title = " · ".join(part for part in (title, format_duration(call.duration_ms or 0)) if part)
    lines: list[RenderableType] = (
        [Text(title, style="quiet" if result.ok else _call_style(result))] if title else []
    )
    if result.for_user.kind != "diff" and not result.denied:
        lines += _folded_output(call, result)
    elif not result.denied and not approved:
        lines.append(render_diff(result.for_user.body, max_rows=_DIFF_LINES))
    if not lines and not has_head:
        lines.append(Text("done", style="quiet"))
    shown = [*head, *([add_prefix(Group(*lines), _INDENT, "quiet")] if lines else [])]
    return Group(*shown) if shown else None


def render_expanded(event: ToolFinished) -> RenderableType:
    """Render a call with its whole diff, or its whole output as the model received it."""
    result = event.result
    if result.for_user.kind == "diff":
        body = render_diff(result.for_user.body)
    else:
        lines = sanitize(result.for_model).rstrip("\n").split("\n")
        body = Group(*(_render_line(line, _MAX_EXPANDED_CHARS, "") for line in lines))
    return Group(
        render_head(event.summary, _call_style(result), event.call),
        add_prefix(body, _INDENT, "quiet"),
    )


def render_approval(request: AskRequest, max_rows: int = ASKED_DIFF_ROWS) -> RenderableType:
    """Render a call that needs approval: its preview with invisible characters escaped. Only a diff is folded, to
    `max_rows`, with the number of rows that are hidden; 0 is unlimited."""
    parts: list[RenderableType] = [render_head(escape_invisible(request.summary), "asking")]
    preview = request.preview
    body = escape_invisible(
        preview.body or json.dumps(request.call.parameters, ensure_ascii=False, indent=2)
    )
    target = request.summary.partition(" ")[2]
    if preview.kind == "diff":
        parts.append(add_prefix(render_diff(body, 0, max_rows), "  "))
    elif body.strip() != target:
        parts.append(add_prefix(_render_line(body.rstrip("\n"), 0, ""), "    "))
    notes = [note for note in (preview.title, request.why) if note and note not in target]
    return Group(
        *parts,
        *(add_prefix(_render_line(escape_invisible(note), 0, "quiet"), "  ") for note in notes),
    )


def render_decision(
    request: AskRequest, decision: Decision, root: Path | None = None
) -> RenderableType:
    """Render the user's decision on a call as one line."""
    if request.choices is not None:
        answer = sanitize(one_line(decision.answer)) or "no answer"
        return add_prefix(Text(f"answered: {answer}", style="quiet"), "✓ ", "ok")
    summary = one_line(request.summary)
    if not decision.allow:
        text = Text(f"refused: {summary}", style="denied")
        text.append(f" · {sanitize(decision.reason)}" if decision.reason else "", "quiet")
        return add_prefix(text, "✗ ", "denied")
    text = _link_file(Text(f"allowed: {summary}", style="quiet"), request.preview, root)
    scope = {"session": "for this session", "project": "always in this project"}.get(decision.scope)
    if scope:
        text.append(f" · {scope}: {one_line(request.session_label)}")
    return add_prefix(text, "✓ ", "ok")


def _result_title(summary: str, call: ToolCall, result: ToolResult) -> str:
    """Return the first line of a result, without what the head line already shows."""
    if result.denied:
        return f"refused: {one_line(call.reason or result.for_model)}"
    head = one_line(summary)
    title = one_line(result.for_user.title).removeprefix(f"{head.partition(' ')[2]}: ")
    parts = (
        [title]
        if title and title not in head and not (title == "exit code 0" and _output_lines(result))
        else []
    )
    if result.cancelled and not title:
        parts.append("interrupted")
    elif result.exit_code and "exit" not in title:
        parts.append(f"exit code {result.exit_code}")
    if not parts and result.for_user.kind != "diff" and not _output_lines(result):
        parts.append("no output" if result.ok else "failed")
    return " · ".join(parts)


def _output_lines(result: ToolResult) -> list[str]:
    display = result.for_user
    text = sanitize(display.body or ("" if display.title else result.for_model))
    return text.strip("\n").split("\n") if text.strip() else []


def _folded_output(call: ToolCall, result: ToolResult) -> list[RenderableType]:
    """Render the last lines of a command's output, where errors are, or the first lines of any other output."""
    lines = _output_lines(result)
    max_lines = _OUTPUT_LINES if call.effects.todo is None else _TODO_LINES
    style = "output" if result.ok or result.for_user.title else "failed"
    hidden = len(lines) - max_lines + 1 if len(lines) > max_lines else 0
    is_command = result.exit_code is not None or result.cancelled
    shown = lines[hidden:] if is_command else lines[: len(lines) - hidden]
    rows: list[RenderableType] = [_render_line(line, _MAX_CHARS, style) for line in shown]
    if not hidden:
        return rows
    if is_command:
        return [Text(f"… {hidden:,} lines above ({_EXPAND_HINT})", style="quiet"), *rows]
    return [*rows, _more(hidden)]


def _more(hidden: int) -> Text:
    return Text(f"… {hidden:,} more lines ({_EXPAND_HINT})", style="quiet")
