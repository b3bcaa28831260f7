"""The text of a skill, and of the files that belong to it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.limits import one_line

_LARGEST = 1_000_000  # bytes
_LISTED, _LOOKED_AT = 50, 1_000  # files beside it


class _SkillParams(Params):
    name: str = Field(min_length=1, description="Name of the skill, as it is listed.")
    file: str = Field("SKILL.md", min_length=1, description="A file in its folder.")


def _plan(params: _SkillParams, ctx: ToolContext) -> ToolPlan:
    if params.name not in ctx.skills:
        raise ToolError(f"There is no skill {one_line(params.name)!r}. Skills: {', '.join(ctx.skills) or 'none'}.")
    more = "" if params.file == "SKILL.md" else f", {params.file}"
    return ToolPlan(f"Read skill {params.name}{more}", state=ctx.skills[params.name])


@tool(READ, _SkillParams, _plan)
async def skill(params: _SkillParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    known: Path = plan.state
    folder = known.resolve().parent
    try:
        file = (known.parent / params.file).resolve()
        if not file.is_relative_to(folder):
            raise ToolError(f"{one_line(params.file)} is outside the skill's folder.")
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
        near = islice(folder.rglob("*"), _LOOKED_AT)
        beside = sorted(str(one.relative_to(folder)) for one in near if one.is_file() and one != file)
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"{one_line(params.file)}: {getattr(error, 'strerror', None) or error}.") from error
    if len(data) > _LARGEST or b"\0" in data:
        raise ToolError(f"{one_line(params.file)} is no text of at most {_LARGEST:,} bytes.")
    listed = ", ".join(beside[:_LISTED]) + (f" and {len(beside) - _LISTED} more" if len(beside) > _LISTED else "")
    head = f"[{folder}/{file.relative_to(folder)}{f'; beside it: {listed}' if listed else ''}]"
    return ToolResult(True, f"{head}\n{data.decode('utf-8', 'replace')}", Display(title=str(file)))
