"""Plans what is read, in the workspace or outside of it, such as a library's source, and where that is searched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from swecli.file_names import write_name
from swecli.models.added_folder import relative_to
from swecli.models.message import Display, Effects
from swecli.tools.base import READ, ToolContext, ToolPlan
from swecli.tools.paths import is_inside, relative_path
from swecli.values import dataclass

_TOP_PARTS = 2  # of `/usr`: a rule for all in it would be too wide


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan(ToolPlan):
    """What is done with a file or folder."""

    path: Path  # resolved


def plan_reading(
    summary: str, path: Path, ctx: ToolContext, *, written_path: str, files: tuple[str, ...] = ()
) -> PathPlan:
    """Return the plan for a file or folder that is read: `written_path` is how the model wrote its resolved `path`, and
    `files` are those whose contents it will know."""
    if not is_inside(ctx.root, path) and ctx.guard.added(path) is None:
        return _plan_outside(summary, path, ctx)
    access = ctx.guard.access(written_path)
    return PathPlan(
        summary,
        preview=Display(body=summary.partition(" ")[2]),  # the line that asks says all
        path=path,
        subject=relative_path(ctx.root, path),
        forbidden=access.read_denial,
        guard=access.read_guard,
        effects=Effects(read=files, origin="repository"),
    )


def _plan_outside(summary: str, path: Path, ctx: ToolContext) -> PathPlan:
    """Return the plan for a file or folder outside the workspace: every mode asks, and a rule for a folder may allow
    it, but for files that may hold secrets. The subject of a folder ends with `/`."""
    is_folder = path.is_dir()
    subject = f"{path.as_posix().rstrip('/')}/" if is_folder else path.as_posix()
    folder = path if is_folder else path.parent
    access = ctx.guard.judge(subject)
    is_wide = ctx.root.resolve().is_relative_to(folder) or len(folder.parts) <= _TOP_PARTS
    has_rule = access.is_for_place and not is_wide
    return PathPlan(
        summary,
        preview=Display(body=write_name(subject)),
        path=path,
        subject=subject,
        session_label=f"files in {write_name(str(folder))}",
        session_rule=f"read({READ.escape(folder.as_posix())}/**)" if has_rule else "",
        forbidden=access.read_denial,
        guard=access.read_guard,
        guard_is_for_place=access.is_for_place,
        effects=Effects(origin="repository"),
    )


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Where files are listed or searched: the workspace, a folder that was added to it, or, after the user's approval,
    a folder outside; the ignore files of each apply."""

    ctx: ToolContext
    start: str  # a path relative to the place
    prefix: str  # of the place's paths, so that they can be read: "" in the workspace

    @classmethod
    def of(cls, ctx: ToolContext, path: Path) -> SearchPlace:
        """Return the place of a file or folder that exists."""
        if is_inside(ctx.root, path):
            return cls(ctx, relative_path(ctx.root, path), "")
        added = ctx.guard.added(path)
        if added is not None:
            guard = ctx.guard.for_added(added)
            inner = replace(ctx, root=guard.root, files=replace(ctx.files, guard=guard))
            return cls(inner, relative_to(added, str(path)), f"{added.path}/")
        place = path if path.is_dir() else path.parent
        prefix = f"{place.as_posix().rstrip('/')}/"
        inner = replace(
            ctx, root=place, files=replace(ctx.files, guard=ctx.guard.for_folder(place))
        )
        return cls(inner, relative_path(place, path), prefix)
