"""Read the lines of a text file, the rest of an earlier call's stored result, or a skill with its files."""

from __future__ import annotations

import mimetypes
from itertools import islice
from pathlib import Path

from pydantic import Field

from swecli.config.trust import Skill
from swecli.models.message import Display, Effects, Offer, ToolResult
from swecli.regular_files import open_regular
from swecli.text import escape_hidden
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.files import digest, read_bytes
from swecli.tools.guards import before_reading
from swecli.tools.limits import escape_invalid_bytes, fit_rows, one_line
from swecli.tools.paths import relative_path, resolve_path
from swecli.tools.text_files import decode, split_lines

_FIRST = "First line, counting from 1."
_LAST = "Last line (inclusive). Default: as many as fit."
_LINE_LIMIT = 2_000  # characters
_JOB = "job-"  # begins the ids of background commands
_MAX_SKILL_BYTES = 1_000_000
_MAX_LISTED, _MAX_SCANNED = 50, 1_000  # files of a skill


class _ReadFileParams(Params):
    path: str = Field(description="File to read, relative to the workspace.")
    start_line: int = Field(1, ge=1, description=_FIRST)
    end_line: int | None = Field(None, ge=1, description=_LAST)


class _ReadResultParams(Params):
    call_id: str = Field(
        min_length=1, description="Id of the call, as named in its truncated result, or job-N."
    )
    start_line: int = Field(1, ge=1, description=_FIRST)
    end_line: int | None = Field(None, ge=1, description=_LAST)


_Lines = _ReadFileParams | _ReadResultParams


def _check_lines(params: _Lines) -> None:
    if params.end_line is not None and params.end_line < params.start_line:
        raise ToolError(f"end_line {params.end_line} is before start_line {params.start_line}.")


def _page(lines: list[str], params: _Lines, name: str, limit: int) -> tuple[list[str], str, str]:
    """Return the requested lines that fit, numbered; their range; and a hint how to read on. Raises ToolError."""
    if params.start_line > len(lines):
        raise ToolError(f"{name} has {len(lines)} lines: line {params.start_line} is past its end.")
    wanted = enumerate(lines[params.start_line - 1 : params.end_line], params.start_line)
    rows = fit_rows((f"{number:>6}\t{_truncate(line)}" for number, line in wanted), limit)
    last = params.start_line + len(rows) - 1
    read_on = (
        f"; continue with start_line={last + 1}"
        if last < min(params.end_line or len(lines), len(lines))
        else ""
    )
    return rows, f"lines {params.start_line}-{last} of {len(lines)}", read_on


def _truncate(line: str) -> str:
    return (
        line
        if len(line) <= _LINE_LIMIT
        else f"{line[:_LINE_LIMIT]} [… line cut: {len(line):,} characters in all]"
    )


def _wrap(text: str) -> list[str]:
    """Split a text into lines of at most 2,000 characters; nothing is dropped."""
    lines = text.split("\n")
    return [
        line[at : at + _LINE_LIMIT]
        for line in lines
        for at in range(0, len(line) or 1, _LINE_LIMIT)
    ]


def _plan_file(params: _ReadFileParams, ctx: ToolContext) -> ToolPlan:
    path = resolve_path(ctx.root, params.path)
    subject = relative_path(ctx.root, path)
    _check_lines(params)
    lines = (
        f" {params.start_line}-{params.end_line or ''}"
        if params.end_line or params.start_line > 1
        else ""
    )
    return ToolPlan(
        f"Read {subject}{lines}",
        state=path,
        subject=subject,
        guard=before_reading(ctx.root, subject),
        effects=Effects(read=(subject,), origin="repository"),
    )


@tool(READ, _ReadFileParams, _plan_file, Offer(in_small_windows=True))
async def _read_file(params: _ReadFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    path: Path = plan.state
    shown = escape_hidden(plan.subject, keep="")
    data = read_bytes(ctx.root, path)
    file = decode(data)
    if file is None:
        kind = mimetypes.guess_type(path.name)[0] or "binary"
        raise ToolError(
            f"{shown} is not text ({kind}, {len(data):,} bytes). It cannot be shown here."
        )
    ctx.file_digests[path] = digest(data)
    lines = [escape_invalid_bytes(line) for line in split_lines(file.text)]
    if not lines:
        return ToolResult(True, f"{shown} is empty.", Display(title=shown, body="empty"))
    rows, span, read_on = _page(lines, params, shown, ctx.page_limit)
    whole = len(rows) == len(lines)
    notes = [] if whole else [f"[{span} in {shown}{read_on}]"]
    if not file.is_valid:
        notes.append(
            r"[not UTF-8: bytes that are not text are written \xNN here; edit_file leaves them as they are]"
        )
    count = span if not whole else "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return ToolResult(True, "\n".join([*rows, *notes]), Display(title=shown, body=count))


def _plan_result(params: _ReadResultParams, ctx: ToolContext) -> ToolPlan:
    _check_lines(params)
    return ToolPlan(f"Continue in the result of {params.call_id} from line {params.start_line}")


@tool(READ, _ReadResultParams, _plan_result)
async def _read_result(params: _ReadResultParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    job = ctx.jobs.find(params.call_id)
    stored = ctx.sessions.read_result(params.call_id) if ctx.sessions is not None else None
    text = f"{job}: {job.state}\n{job.text}".rstrip("\n") if job is not None else stored
    if text is None and params.call_id.startswith(_JOB):
        raise ToolError(
            f"There is no {one_line(params.call_id, 80)} in this run. A job that was started before swecli was "
            "restarted ended then, and its output is lost."
        )
    if text is None:
        raise ToolError(
            f"There is no stored result of a call {one_line(params.call_id, 80)!r} in this session."
        )
    rows, span, read_on = _page(_wrap(text), params, "The result", ctx.page_limit)
    return ToolResult(
        True, "\n".join([*rows, f"[{span}{read_on}]"]), Display(title=params.call_id, body=span)
    )


class _SkillParams(Params):
    name: str = Field(min_length=1, description="Name of the skill, as listed.")
    file: str = Field("SKILL.md", min_length=1, description="A file in its folder.")


def _plan_skill(params: _SkillParams, ctx: ToolContext) -> ToolPlan:
    if params.name not in ctx.skills:
        raise ToolError(
            f"There is no skill {one_line(params.name)!r}. Skills: {', '.join(ctx.skills) or 'none'}."
        )
    more = "" if params.file == "SKILL.md" else f", {params.file}"
    return ToolPlan(f"Read skill {params.name}{more}", state=ctx.skills[params.name])


@tool(READ, _SkillParams, _plan_skill, Offer(in_reviews=False, needs="skills"))
async def _skill(params: _SkillParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    skill: Skill = plan.state
    folder = skill.file.resolve().parent
    try:
        file = (skill.file.parent / params.file).resolve()
        if not file.is_relative_to(folder):
            raise ToolError(f"{one_line(params.file)} is outside the skill's folder.")
        with open_regular(file) as opened:
            data = opened.read(_MAX_SKILL_BYTES + 1)
        near = islice(folder.rglob("*"), _MAX_SCANNED)
        siblings = sorted(
            str(one.relative_to(folder)) for one in near if one.is_file() and one != file
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(
            f"{one_line(params.file)}: {getattr(error, 'strerror', None) or error}."
        ) from error
    if len(data) > _MAX_SKILL_BYTES or b"\0" in data:
        raise ToolError(
            f"{one_line(params.file)} is not text of at most {_MAX_SKILL_BYTES:,} bytes."
        )
    if file == skill.file.resolve() and (problem := skill.objection(data)):
        raise ToolError(f"{one_line(params.file)} is not used: {problem}.")
    listed = ", ".join(siblings[:_MAX_LISTED]) + (
        f" and {len(siblings) - _MAX_LISTED} more" if len(siblings) > _MAX_LISTED else ""
    )
    head = f"[{folder}/{file.relative_to(folder)}{f'; beside it: {listed}' if listed else ''}]"
    return ToolResult(True, f"{head}\n{data.decode('utf-8', 'replace')}", Display(title=str(file)))
