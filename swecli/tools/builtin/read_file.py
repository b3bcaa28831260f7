"""Read the lines of a text file."""

from __future__ import annotations

import mimetypes

from pydantic import Field

from swecli.file_names import write_name
from swecli.models.message import Display, Offer, ToolResult
from swecli.text_files import split_lines
from swecli.tools.base import READ, ToolContext, ToolError, tool
from swecli.tools.file_changes import decode_file
from swecli.tools.files import digest, read_bytes
from swecli.tools.outside import PathPlan, plan_reading
from swecli.tools.pages import FIRST_LINE, LAST_LINE, LineSpan, make_page
from swecli.tools.params import Params
from swecli.tools.paths import relative_path, resolve_for_reading

_STRAY_BYTES = "[bytes that are not text are shown as \ufffd; edit_file leaves them as they are]"


class ReadFileParams(Params):
    path: str = Field(description="File to read, relative to the workspace.")
    start_line: int = Field(1, ge=1, description=FIRST_LINE)
    end_line: int | None = Field(None, ge=1, description=LAST_LINE)


def _plan(params: ReadFileParams, ctx: ToolContext) -> PathPlan:
    path = resolve_for_reading(ctx.root, params.path)
    subject = relative_path(ctx.root, path)
    LineSpan(params.start_line, params.end_line)  # refuses a wrong range before the file is read
    lines = ""
    if params.end_line or params.start_line > 1:
        lines = f" {params.start_line}-{params.end_line or ''}"
    summary = f"Read {subject}{lines}"
    return plan_reading(summary, path, ctx, written_path=params.path, files=(subject,))


@tool(READ, ReadFileParams, _plan, Offer(in_small_windows=True))
async def read_file(params: ReadFileParams, ctx: ToolContext, plan: PathPlan) -> ToolResult:
    path = plan.path
    name = write_name(plan.subject)
    data = read_bytes(ctx.root, path)
    file = decode_file(ctx, path, data)
    if file is None:
        kind = mimetypes.guess_type(path.name)[0] or "binary"
        raise ToolError(
            f"{name} is not text ({kind}, {len(data):,} bytes). It cannot be shown here."
        )
    ctx.files.digests[path] = digest(data)
    lines = split_lines(file.readable_text)
    if not lines:
        return ToolResult(True, f"{name} is empty.", Display(title=name, body="empty"))

    page = make_page(
        lines, LineSpan(params.start_line, params.end_line), name, ctx.model.page_limit
    )
    text = list(page.rows)
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    if len(page.rows) < len(lines):
        text.append(f"[{page.span} in {name}{page.read_on}]")
        count = page.span
    if not file.is_valid:
        text.append(_STRAY_BYTES)
    if file.encoding != "utf-8" and not file.text.isascii():
        text.append(f"[written in {file.encoding}: a change has to keep to its characters]")
    return ToolResult(True, "\n".join(text), Display(title=name, body=count))
