"""Read a skill with its files."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from pydantic import Field

from swecli.config.plugin_places import fill_in
from swecli.config.trust import Skill
from swecli.folders import walk
from swecli.models.message import Display, Offer, ToolResult
from swecli.regular_files import open_regular
from swecli.text import decode_text
from swecli.tools.base import READ, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.limits import one_line
from swecli.tools.params import Params
from swecli.values import dataclass

_MAIN = "SKILL.md"
_MAX_BYTES = 1_000_000
_MAX_LISTED = 50  # files of a skill
_MAX_SCANNED = 1_000


class SkillParams(Params):
    name: str = Field(min_length=1, description="Name of the skill, as listed.")
    file: str = Field(_MAIN, min_length=1, description="A file in its folder.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _SkillPlan(ToolPlan):
    """The reading of a skill."""

    skill: Skill


def _plan(params: SkillParams, ctx: ToolContext) -> _SkillPlan:
    skills = ctx.skills()
    if params.name not in skills:
        names = ", ".join(skills) or "none"
        raise ToolError(f"There is no skill {one_line(params.name)!r}. Skills: {names}.")
    more = "" if params.file == _MAIN else f", {params.file}"
    return _SkillPlan(f"Read skill {params.name}{more}", skill=skills[params.name])


@tool(READ, SkillParams, _plan, Offer(in_reviews=False, needs="skills"))
async def skill(params: SkillParams, ctx: ToolContext, plan: _SkillPlan) -> ToolResult:
    selected_skill = plan.skill
    name = one_line(params.file)
    folder = selected_skill.file.resolve().parent
    try:
        file = (selected_skill.file.parent / params.file).resolve()
        if not file.is_relative_to(folder):
            raise ToolError(f"{name} is outside the skill's folder.")
        with open_regular(file) as opened:
            data = opened.read(_MAX_BYTES + 1)
        siblings = _files_beside(file, folder)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ToolError(f"{name}: {reason}.") from error
    if len(data) > _MAX_BYTES or b"\0" in data:
        raise ToolError(f"{name} is not text of at most {_MAX_BYTES:,} bytes.")
    if file == selected_skill.file.resolve():
        problem = selected_skill.objection(data)
        if problem:
            raise ToolError(f"{name} is not used: {problem}.")

    head = str(folder / file.relative_to(folder))
    if siblings:
        head += f"; beside it: {', '.join(siblings[:_MAX_LISTED])}"
    if len(siblings) > _MAX_LISTED:
        head += f" and {len(siblings) - _MAX_LISTED} more"
    text = fill_in(decode_text(data), selected_skill.variables)
    return ToolResult(True, f"[{head}]\n{text}", Display(title=str(file)))


def _files_beside(file: Path, folder: Path) -> list[str]:
    """Return the other files of the folder and those below it, as far as they are looked at."""
    every = (entry for _, entries in walk(str(folder)) for entry in entries)
    near = [Path(entry.path) for entry in islice(every, _MAX_SCANNED) if entry.is_file()]
    return sorted(str(path.relative_to(folder)) for path in near if path != file)
