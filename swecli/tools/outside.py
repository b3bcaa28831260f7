"""What lies outside the workspace, such as a library's source: the question about it, and how it is searched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from swecli.models.message import Display, Effects
from swecli.text import escape_hidden
from swecli.tools.base import READ, ToolContext, ToolPlan
from swecli.tools.paths import is_inside, relative_path
from swecli.tools.sensitive import read_guard

_TOP_PARTS = 2  # of `/usr`: a rule for all in it would be too wide


def plan_outside(summary: str, path: Path, ctx: ToolContext) -> ToolPlan:
    """Return the plan for a file or folder outside the workspace: every mode asks, and a rule for a folder may allow
    it, but for files that may hold secrets. The subject of a folder ends with `/`."""
    is_folder = path.is_dir()
    subject = f"{path.as_posix().rstrip('/')}/" if is_folder else path.as_posix()
    folder = path if is_folder else path.parent
    secret = (
        "" if is_folder else read_guard(subject)
    )  # of a folder the files are looked at one by one
    is_wide = ctx.root.resolve().is_relative_to(folder) or len(folder.parts) <= _TOP_PARTS
    rule = "" if secret or is_wide else f"read({READ.escape(folder.as_posix())}/**)"
    return ToolPlan(
        summary,
        preview=Display(body=escape_hidden(subject, keep="")),
        state=path,
        subject=subject,
        session_label=f"files in {escape_hidden(str(folder), keep='')}",
        session_rule=rule,
        guard=secret or f"{escape_hidden(subject, keep='')} is outside the workspace",
        guard_is_for_place=not secret,
        effects=Effects(origin="repository"),
    )


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Where files are listed or searched: the workspace, or, after the user's approval, a folder outside it, whose own
    ignore files apply."""

    ctx: ToolContext
    start: str  # a path relative to the place
    prefix: str  # of the place's paths, so that they can be read: "" in the workspace

    @classmethod
    def of(cls, ctx: ToolContext, path: Path) -> SearchPlace:
        """Return the place of a file or folder that exists."""
        if is_inside(ctx.root, path):
            return cls(ctx, relative_path(ctx.root, path), "")
        top = path if path.is_dir() else path.parent
        prefix = f"{top.as_posix().rstrip('/')}/"
        may_read = ctx.files.may_read
        files = replace(ctx.files, may_read=lambda one: may_read(f"{prefix}{one}"))
        inner = replace(ctx, root=top, files=files)
        return cls(inner, relative_path(top, path), prefix)
