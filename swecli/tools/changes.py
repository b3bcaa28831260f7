"""A change to one file: planned and shown, then made only if the file is still what it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from swecli.models.message import Display, ToolResult
from swecli.tools.base import Plan, ToolContext, ToolError
from swecli.tools.diffs import Diff, unified
from swecli.tools.files import digest, read_bytes, write_atomic
from swecli.tools.paths import relative, write_guard
from swecli.tools.text_files import TextFile, decode, printable
from swecli.tools.visible import visible


@dataclass(frozen=True, slots=True)
class Change:
    """The bytes a file is to get, and the digest of those it had when this was shown (None: there was no file)."""

    path: Path
    shown: str
    base: str | None
    data: bytes
    diff: Diff


def read_base(ctx: ToolContext, path: Path, *, must_be_seen: bool) -> tuple[TextFile, str]:
    """The text of the file to change and its digest.

    Raises:
        ToolError: it changed since it was read, was never read though it must be, or is no text.
    """
    data = read_bytes(ctx.root, path)
    shown = visible(relative(ctx.root, path), keep="")
    base = digest(data)
    seen = ctx.seen.get(path)
    if seen is None and must_be_seen:
        raise ToolError(f"{shown} exists and was not read yet. Read it first with read_file, then write it.")
    if seen is not None and seen != base:
        raise ToolError(f"{shown} changed since it was read. Read it again with read_file, then change it.")
    file = decode(data)
    if file is None:
        raise ToolError(f"{shown} is a binary file. Only text can be changed here.")
    return file, base


def plan_change(ctx: ToolContext, path: Path, old: TextFile | None, base: str | None, data: bytes, verb: str) -> Plan:
    """The plan that shows the whole change as a diff and holds what will be written."""
    subject = relative(ctx.root, path)
    shown = visible(subject, keep="")
    new = decode(data)
    if new is None:
        raise ToolError("The content holds NUL characters: this would be a binary file. Nothing was written.")
    before, after = (old.text if old else None), new.text
    if old is not None and old.newline == new.newline == "\r\n":
        # line ends that stay as they are would only be noise at every line
        before, after = old.text.replace("\r\n", "\n"), new.text.replace("\r\n", "\n")
    diff = unified(shown, before, after)
    preview = Display(title=shown, body=visible(printable(diff.text)), kind="diff")
    return Plan(
        summary=f"{verb} {shown} ({diff.counts})",
        preview=preview,
        state=Change(path, shown, base, data, diff),
        session_label="all changes to files in this workspace",
        session_rule="edit(**)",
        subject=subject,
        guard=write_guard(subject),
    )


def make_change(ctx: ToolContext, plan: Plan, done: str) -> ToolResult:
    """Write what was shown, remember it as seen, and tell both readers. Raises ToolError where the file moved on."""
    change: Change = plan.state
    write_atomic(ctx.root, change.path, change.data, change.base)
    ctx.seen[change.path] = digest(change.data)
    places = [f"{first}-{last}" if last > first else str(first) for first, last in change.diff.changed[:20]]
    where = f" Changed lines, as they are numbered now: {', '.join(places)}." if change.base and places else ""
    text = f"{done} {change.shown} ({change.diff.counts}).{where}"
    return ToolResult(ok=True, for_model=text, for_user=plan.preview)
