"""Render tool calls, their results and approvals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from swecli.models.approval import AskRequest, Decision
from swecli.models.events import ToolFinished
from swecli.models.message import Display, ToolCall, ToolResult
from swecli.repl.render.diff import render_diff, render_diff_lines, render_line
from swecli.repl.render.excerpt import (
    EXPAND_ALL,
    EXPANDED,
    MAX_LINE,
    Fold,
    Limit,
    end_of,
    lines_of,
    start_of,
)
from swecli.repl.render.formatting import escape_invisible, format_duration
from swecli.repl.render.prefix import add_prefix, hidden_note
from swecli.repl.render.stream import MarkdownStream
from swecli.text import one_line, sanitize

_OUTPUT_LINES = 6
_LEAST_HIDDEN = 3  # lines beyond those: the line that counts them takes the place of one
_DIFF_LINES = 24
ASKED_DIFF_ROWS = 60  # of a diff that the user asks for, or is asked about: two screens
_MAX_CHARS = 300  # characters of one line in a folded result
_TODO_LINES = 20  # of a to-do list, which is short and shown whole
_TODO_SIGN = len("[ ] ")
_INDENT = "  └ "
_SLOW_MS = 1_000

CallStyle = Literal[
    "asking", "denied", "ok", "failed"
]  # the states of a call, by the theme's names


def _call_style(result: ToolResult) -> CallStyle:
    """Return the style of a finished call."""
    if result.denied:
        return "denied"
    return "ok" if result.ok else "failed"


def _link_file(text: Text, display: Display, root: Path | None) -> Text:
    """Link the name of a changed file to its path below `root`; None: no links."""
    if root is None or display.kind != "diff":
        return text
    name = one_line(display.title)
    start = text.plain.find(name)
    if start >= 0:
        link = Style(link=(root / display.title).as_uri())
        text.stylize(link, start, start + len(name))
    return text


def render_summary(
    summary: str,
    style: CallStyle,
    call: ToolCall | None = None,
    display: Display | None = None,
    root: Path | None = None,
) -> RenderableType:
    """Render the first line of a call: a bullet in `style`, its summary, and its duration if it was slow."""
    verb, space, rest = one_line(summary).partition(" ")
    text = _link_file(Text.assemble((verb, "head"), space, rest), display or Display(), root)
    if call is not None and (call.duration_ms or 0) >= _SLOW_MS:
        text.append(f" · {format_duration(call.duration_ms or 0)}", "quiet")
    return add_prefix(text, "● ", style)


def render_call(
    event: ToolFinished,
    root: Path | None = None,
    *,
    approved: bool = False,
    has_summary: bool = True,
    hint: str = "",
) -> RenderableType:
    """Render a call with its result, folded.

    `approved`: its diff was shown for approval and is omitted. Without `has_summary`, its summary is on the screen
    already, and the duration is shown at the result. `hint`: see `render_diff`.
    """
    call = event.call
    result = event.result
    style = _call_style(result)
    title = _result_title(event.summary, call, result)
    if not has_summary and (call.duration_ms or 0) >= _SLOW_MS:
        title = " · ".join(filter(None, (title, format_duration(call.duration_ms or 0))))
    lines: list[RenderableType] = []
    if title:
        lines.append(Text(title, style="quiet" if result.ok else style))
    if result.for_user.kind != "diff" and not result.denied:
        lines += _folded_output(call, result, hint)
    elif not result.denied and not approved:
        lines.append(render_diff(result.for_user.body, max_rows=_DIFF_LINES, hint=hint))
    if not lines and not has_summary:
        lines.append(Text("done", style="quiet"))
    blocks: list[RenderableType] = []
    if has_summary:
        blocks.append(render_summary(event.summary, style, call, result.for_user, root))
    if lines:
        blocks.append(add_prefix(Group(*lines), _INDENT, "quiet"))
    return Group(*blocks)


def fold_call(event: ToolFinished) -> Fold:
    """Return what a call was folded from: its whole diff, or its whole output as the model received it."""
    return Fold(lambda limit: render_expanded(event, limit), lambda: _render_whole(event))


def render_expanded(event: ToolFinished, limit: Limit = EXPANDED) -> RenderableType:
    """Render a call with its diff, or its output as the model received it, as far as the limit allows: of a command's
    output the end."""
    result = event.result
    body: list[RenderableType] = []
    if result.for_user.kind == "diff":
        body += render_diff_lines(result.for_user.body, max_rows=limit.lines, hint=EXPAND_ALL)
    else:
        text = result.for_model.rstrip("\n")
        is_command = _is_command(result)
        excerpt = end_of(text, limit) if is_command else start_of(text, limit)
        hint = EXPAND_ALL if excerpt.hidden_lines else ""
        body += [render_line(line, MAX_LINE, "") for line in excerpt.text.split("\n")]
        if excerpt.hidden_above and is_command:
            body.insert(0, hidden_note(excerpt.hidden_above, ""))
            body.append(hidden_note(excerpt.hidden_above, hint))  # the first is above the screen
        elif excerpt.hidden_below:
            body.append(hidden_note(excerpt.hidden_below, hint))
    return Group(
        render_summary(event.summary, _call_style(result), event.call),
        add_prefix(Group(*body), _INDENT, "quiet"),
    )


def _render_whole(event: ToolFinished) -> Iterator[RenderableType]:
    """Yield all lines of a call with its result."""
    result = event.result
    yield render_summary(event.summary, _call_style(result), event.call)
    if result.for_user.kind == "diff":
        lines = render_diff_lines(result.for_user.body)
    else:
        texts = lines_of(result.for_model.rstrip("\n"))
        lines = (render_line(text, MAX_LINE, "") for text in texts)
    for index, line in enumerate(lines):
        yield add_prefix(line, " " * len(_INDENT) if index else _INDENT, "quiet")


def fold_approval(request: AskRequest) -> Fold:
    """Return what a request for approval was folded from."""
    return Fold(
        lambda limit: render_approval(request, limit.lines, EXPAND_ALL),
        lambda: _approval_parts(request, 0, ""),
    )


def render_approval(
    request: AskRequest, max_rows: int = ASKED_DIFF_ROWS, hint: str = ""
) -> RenderableType:
    """Render a call that needs approval: its preview with invisible characters escaped. Only a diff is folded, to
    `max_rows`, with the number of rows that are hidden; 0 is unlimited. `hint`: see `render_diff`. A command or a
    question is shown once: below its first word if it is too long for a line, or has several."""
    return Group(*_approval_parts(request, max_rows, hint))


def _approval_parts(request: AskRequest, max_rows: int, hint: str) -> Iterator[RenderableType]:
    preview = request.preview
    body = escape_invisible(
        preview.body or json.dumps(request.call.parameters, ensure_ascii=False, indent=2)
    )
    verb, _, target = request.summary.partition(" ")
    may_be_below = preview.kind == "code" or request.choices is not None
    is_below = may_be_below and body.strip() != target
    summary = verb if is_below else request.summary
    yield render_summary(escape_invisible(summary), "asking")
    if preview.kind == "diff":
        for line in render_diff_lines(body, 0, max_rows, hint):
            yield add_prefix(line, "  ")
    elif body.strip() != target:
        yield add_prefix(render_line(body.rstrip("\n"), 0, ""), "    ")
    for note in (preview.title, request.why):
        if note and not _names(target, note):
            yield add_prefix(render_line(escape_invisible(note), 0, "quiet"), "  ")


def render_plan(request: AskRequest, color: bool) -> list[RenderableType]:
    """Render a plan that is to be accepted: its Markdown with invisible characters escaped, whole."""
    stream = MarkdownStream(color)
    pieces = stream.feed(escape_invisible(request.plan))
    return [render_summary(request.summary, "asking"), Text(""), *pieces, *stream.finish()]


def render_decision(
    request: AskRequest, decision: Decision, root: Path | None = None
) -> RenderableType:
    """Render the user's decision on a call as one line."""
    if request.choices is not None:
        answer = sanitize(one_line(decision.answer))
        if not answer:
            return add_prefix(Text("no answer", style="denied"), "✗ ", "denied")
        return add_prefix(Text(f"answered: {answer}", style="quiet"), "✓ ", "ok")
    summary = one_line(request.summary)
    if request.plan and decision.allow:
        accepted = Text(f"plan accepted · mode {decision.plan_mode}", style="quiet")
        return add_prefix(accepted, "✓ ", "ok")
    if not decision.allow:
        text = Text(f"refused: {summary}", style="denied")
        text.append(f" · {sanitize(decision.reason)}" if decision.reason else "", "quiet")
        return add_prefix(text, "✗ ", "denied")
    text = _link_file(Text(f"allowed: {summary}", style="quiet"), request.preview, root)
    scope = {"session": "for this session", "project": "always in this project"}.get(decision.scope)
    if decision.scope == "session" and request.session_mode is not None:
        text.append(f" · mode {request.session_mode}")
    elif scope:
        text.append(f" · {scope}: {one_line(request.session_label)}")
    return add_prefix(text, "✓ ", "ok")


def _result_title(summary: str, call: ToolCall, result: ToolResult) -> str:
    """Return the first line of a result, without what the summary already shows; "" if that leaves nothing."""
    if result.denied:
        return f"refused: {one_line(call.reason or result.for_model)}"
    summary = one_line(summary)
    title = one_line(result.for_user.title).removeprefix(f"{summary.partition(' ')[2]}: ")
    is_usual = title == "exit code 0" and bool(_output_lines(result))
    parts: list[str] = []
    if title and not is_usual and not _names(summary, title):
        parts.append(title)
    if result.cancelled and not title:
        parts.append("interrupted")
    elif result.exit_code and "exit" not in title:
        parts.append(f"exit code {result.exit_code}")
    parts += result.failed_parts
    if not parts and result.for_user.kind != "diff" and not _output_lines(result):
        parts.append("no output" if result.ok else "failed")
    return " · ".join(parts)


def _names(line: str, name: str) -> bool:
    """Return whether a line has a name as a word of its own: `data.py` does not name `a.py`."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line) is not None


def _is_command(result: ToolResult) -> bool:
    """Return whether a result is the output of a command, whose end tells the most."""
    return result.exit_code is not None or result.cancelled


def _output_lines(result: ToolResult) -> list[str]:
    display = result.for_user
    text = sanitize(display.body or ("" if display.title else result.for_model))
    return text.strip("\n").split("\n") if text.strip() else []


def _render_todo(todo: str, style: str) -> RenderableType:
    """Render a line of a to-do list, wrapped behind its sign."""
    sign = todo[:_TODO_SIGN]
    return add_prefix(render_line(todo[_TODO_SIGN:], _MAX_CHARS, style), sign, style)


def _folded_output(call: ToolCall, result: ToolResult, hint: str) -> list[RenderableType]:
    """Render the last lines of a command's output, where errors are, or the first lines of any other output."""
    lines = _output_lines(result)
    max_lines = _OUTPUT_LINES if call.effects.todo is None else _TODO_LINES
    style = "output" if result.ok or result.for_user.title else "failed"
    hidden_count = len(lines) - max_lines + 1 if len(lines) >= max_lines + _LEAST_HIDDEN else 0
    is_command = _is_command(result)
    kept_lines = lines[hidden_count:] if is_command else lines[: len(lines) - hidden_count]
    rows: list[RenderableType] = [render_line(line, _MAX_CHARS, style) for line in kept_lines]
    if call.effects.todo is not None:
        rows = [_render_todo(line, style) for line in kept_lines]
    if not hidden_count:
        return rows
    if is_command:
        return [hidden_note(f"{hidden_count:,} lines above", hint), *rows]
    return [*rows, hidden_note(f"{hidden_count:,} more lines", hint)]
