"""`/playbook promote`: write a strategy into the project's instructions, and retire it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.config.instruction_files import InstructionFiles
from swecli.config.paths import project_root
from swecli.config.trust import TrustLedger
from swecli.models.action import ActionResult, Invocation
from swecli.models.approval import Ask
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ToolCall
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.playbook.action import ActionContext
from swecli.regular_files import read_regular
from swecli.text import decode_text
from swecli.tools.execute import execute

if TYPE_CHECKING:
    from swecli.app import Runtime

_HEADING = "## Conventions"


async def promote_strategy(runtime: Runtime, invocation: Invocation, ask: Ask) -> ActionResult:
    """Add a strategy to the instruction file of the working folder if `ask` allows the change, and switch it off. The
    code of the result is 1 if nothing was changed. Raises BadInput."""
    ctx = ActionContext.of(runtime.sessions, invocation)
    bullet = _find_promotable(ctx)
    path = _find_file(runtime)
    before = _read(path)
    call = _build_call(path.name, before, bullet)
    agent = runtime.agent
    # a copy of the context: the agent has not seen this change, and must read the file again before it edits it
    context = replace(agent.ctx, files=replace(agent.ctx.files, digests={}))
    result, _ = await execute(call, agent.tools, context, agent.permissions, ask)
    if not result.ok:
        reason = result.for_model.split("\n", 1)[0]
        if call.decision == "user":
            reason = "nothing was changed"
        return ActionResult(None, (reason,), code=1)
    _approve(runtime, path)
    turn = ctx.session.interactions or None
    evidence = Evidence("user", f"promote {bullet.id}", ctx.session.id, turn, trust="user")
    switch_off = Op("UPDATE", bullet.id, {"state": "disabled"}, (evidence,))
    ctx.apply(Delta(uuid7(), (switch_off,), "user", ctx.session.id, turn, "promoted"))
    # the rule is in no prompt before the file is read again
    agent.begin_epoch(f"{path.name} has a new rule")
    line = f"{bullet.id} is in {path.name} now, and no longer in the playbook's prompts."
    hint = f"/undo takes the file back, `{ctx.command} undo` the strategy."
    return ActionResult({"promoted": bullet.id, "file": str(path)}, (line,), note=hint)


def _find_promotable(ctx: ActionContext) -> Bullet:
    """Return the strategy that the user named. Raises BadInput if no instructions of this project can stand for it."""
    bullet = ctx.find(ctx.invocation.text)
    if not bullet.is_live:
        state = "waits" if bullet.state == "quarantined" else f"is {bullet.state}"
        raise BadInput(f"{bullet.id} {state}: only what is in prompts can be promoted.")
    if bullet.scope == "user":
        raise BadInput(
            f"{bullet.id} applies to all your projects, and AGENTS.md to this one.",
            f"`{ctx.command} edit {bullet.id} --scope project` narrows it first.",
        )
    return bullet


def _find_file(runtime: Runtime) -> Path:
    """Return the instruction file of the working folder, which may be missing. Raises BadInput if it would not be
    read."""
    folder = runtime.agent.ctx.root
    present = InstructionFiles.of(folder).choices
    path = present[0] if present else folder / "AGENTS.md"
    trust = runtime.start.read_trust()
    if not trust.is_trusted:
        raise BadInput(f"{path.name} is not read: this folder is not trusted.", "Run /trust first.")
    if present and trust.judge(path, _read_bytes(path)) != "approved":
        raise BadInput(f"{path.name} is not read: you have not trusted it as it is.", "Run /trust.")
    return path


def _read_bytes(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read: {error.strerror}.") from error


def _read(path: Path) -> str:
    """Return the text of a file, "" if there is none. Raises BadInput."""
    return decode_text(_read_bytes(path)) if path.exists() else ""


def _build_call(name: str, before: str, bullet: Bullet) -> ToolCall:
    """Return the call that adds a strategy as an item at the end of a file, below a heading of its own."""
    item = f"- {bullet.content}\n"
    if not before.strip():
        return ToolCall(uuid7(), "write_file", {"path": name, "content": f"{_HEADING}\n\n{item}"})
    headings = [line for line in before.splitlines() if line.startswith("#")]
    is_last = headings[-1:] == [_HEADING]
    opening = "\n" if is_last else f"\n\n{_HEADING}\n\n"
    after = before.rstrip("\n") + opening + item
    edits = [{"old_text": before, "new_text": after}]
    return ToolCall(uuid7(), "edit_file", {"path": name, "edits": edits})


def _approve(runtime: Runtime, path: Path) -> None:
    """Keep the file trusted as it is now: the user has seen the change."""
    if not runtime.start.trust.everything:
        ledger = TrustLedger.find(runtime.start.paths)
        ledger.approve(project_root(runtime.cwd), {path: _read_bytes(path)})
