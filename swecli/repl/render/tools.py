"""Render tool calls, their results and approvals."""

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
    event: ToolFinished,
    root: Path | None = None,
    *,
    approved: bool = False,
    has_head: bool = True,
    unfold: str = "",
) -> RenderableType | None:
    """Render a call with its result, folded; None if there is nothing to show.

    `approved`: its diff was shown for approval and is omitted. Without `has_head`, the duration is shown at the result.
    `unfold`: see `render_diff`.
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
        lines += _folded_output(call, result, unfold)
    elif not result.denied and not approved:
        lines.append(render_diff(result.for_user.body, max_rows=_DIFF_LINES, unfold=unfold))
    if not lines and not has_head:
        lines.append(Text("done", style="quiet"))
    shown = [*head, *([add_prefix(Group(*lines), _INDENT, "quiet")] if lines else [])]
    return Group(*shown) if shown else None


def fold_call(event: ToolFinished) -> Fold:
    """Return what a call was folded from: its whole diff, or its whole output as the model received it."""
    return Fold(lambda limit: render_expanded(event, limit), lambda: _render_whole(event))


def render_expanded(event: ToolFinished, limit: Limit = EXPANDED) -> RenderableType:
    """Render a call with its diff, or its output as the model received it, as far as the limit allows: of a command's
    output the end."""
    result = event.result
    body: list[RenderableType] = []
    if result.for_user.kind == "diff":
        body += render_diff_lines(result.for_user.body, max_rows=limit.lines, unfold=EXPAND_ALL)
    else:
        text = result.for_model.rstrip("\n")
        is_command = _is_command(result)
        part = end_of(text, limit) if is_command else start_of(text, limit)
        how = EXPAND_ALL if part.lines else ""
        body += [render_line(line, MAX_LINE, "") for line in part.text.split("\n")]
        if part.above and is_command:
            body.insert(0, hidden_note(part.above, ""))
            body.append(hidden_note(part.above, how))  # the first is above the screen
        elif part.more:
            body.append(hidden_note(part.more, how))
    return Group(
        render_head(event.summary, _call_style(result), event.call),
        add_prefix(Group(*body), _INDENT, "quiet"),
    )


def _render_whole(event: ToolFinished) -> Iterator[RenderableType]:
    """Yield all lines of a call with its result."""
    result = event.result
    yield render_head(event.summary, _call_style(result), event.call)
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
    request: AskRequest, max_rows: int = ASKED_DIFF_ROWS, unfold: str = ""
) -> RenderableType:
    """Render a call that needs approval: its preview with invisible characters escaped. Only a diff is folded, to
    `max_rows`, with the number of rows that are hidden; 0 is unlimited. `unfold`: see `render_diff`. A command is shown
    once: below the head if it is too long for a line, or has several."""
    return Group(*_approval_parts(request, max_rows, unfold))


def _approval_parts(request: AskRequest, max_rows: int, unfold: str) -> Iterator[RenderableType]:
    preview = request.preview
    body = escape_invisible(
        preview.body or json.dumps(request.call.parameters, ensure_ascii=False, indent=2)
    )
    verb, _, target = request.summary.partition(" ")
    is_below = preview.kind == "code" and body.strip() != target
    summary = verb if is_below else request.summary
    yield render_head(escape_invisible(summary), "asking")
    if preview.kind == "diff":
        for line in render_diff_lines(body, 0, max_rows, unfold):
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
    return [render_head(request.summary, "asking"), Text(""), *pieces, *stream.finish()]


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
    """Return the first line of a result, without what the head line already shows."""
    if result.denied:
        return f"refused: {one_line(call.reason or result.for_model)}"
    head = one_line(summary)
    title = one_line(result.for_user.title).removeprefix(f"{head.partition(' ')[2]}: ")
    parts = (
        [title]
        if title
        and not _names(head, title)
        and not (title == "exit code 0" and _output_lines(result))
        else []
    )
    if result.cancelled and not title:
        parts.append("interrupted")
    elif result.exit_code and "exit" not in title:
        parts.append(f"exit code {result.exit_code}")
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


def _hang(todo: str, style: str) -> RenderableType:
    """Render a line of a to-do list, wrapped behind its sign."""
    sign = todo[:_TODO_SIGN]
    return add_prefix(render_line(todo[_TODO_SIGN:], _MAX_CHARS, style), sign, style)


def _folded_output(call: ToolCall, result: ToolResult, unfold: str) -> list[RenderableType]:
    """Render the last lines of a command's output, where errors are, or the first lines of any other output."""
    lines = _output_lines(result)
    max_lines = _OUTPUT_LINES if call.effects.todo is None else _TODO_LINES
    style = "output" if result.ok or result.for_user.title else "failed"
    hidden = len(lines) - max_lines + 1 if len(lines) >= max_lines + _LEAST_HIDDEN else 0
    is_command = _is_command(result)
    shown = lines[hidden:] if is_command else lines[: len(lines) - hidden]
    rows: list[RenderableType] = [render_line(line, _MAX_CHARS, style) for line in shown]
    if call.effects.todo is not None:
        rows = [_hang(line, style) for line in shown]
    if not hidden:
        return rows
    if is_command:
        return [hidden_note(f"{hidden:,} lines above", unfold), *rows]
    return [*rows, hidden_note(f"{hidden:,} more lines", unfold)]
