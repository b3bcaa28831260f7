"""`/jobs`: the commands that run in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.errors import BadInput, UsageError
from swecli.repl.commands.base import CommandContext, Values, command

if TYPE_CHECKING:
    from swecli.app import Runtime

_SHOWN = 100  # lines of an output
_USE = "Use /jobs, /jobs show N, /jobs stop N or /jobs stop all"


def _complete(runtime: Runtime) -> Values:
    return [
        (f"{word} {job.number}", f"{job.command[:40]}: {job.state}")
        for job in runtime.agent.ctx.jobs.all
        for word in (("show", "stop") if not job.over else ("show",))
    ]


@command(usage="[show N|stop N|stop all]", complete=_complete, beside="*")
async def jobs(ctx: CommandContext, args: str) -> None:
    """List the commands in the background, show the output of one, or stop it"""
    known, (word, _, name) = ctx.runtime.agent.ctx.jobs, args.lower().partition(" ")
    job = known.find(f"job-{name.strip()}")
    if not args and not known.all:
        ctx.screen.note("nothing was started in the background")
    elif not args:
        ctx.screen.table(("#", "state", "command"), [(str(job.number), job.state, job.command) for job in known.all])
    elif word == "stop" and name.strip() == "all":
        await known.stop(known.running)
    elif word not in ("show", "stop") or not name:
        raise UsageError(f"Unknown option {args!r}.", _USE)
    elif job is None:
        raise BadInput(f"There is no job {name.strip()}.", "See /jobs")
    elif word == "show":
        lines = (job.text.rstrip("\n") or "(no output)").split("\n")
        ctx.screen.line(f"{job}: {job.state}", "head")
        if len(lines) > _SHOWN:
            ctx.screen.note(f"… {len(lines) - _SHOWN:,} lines above")
        ctx.screen.line("\n".join(lines[-_SHOWN:]))
    elif job.over:
        ctx.screen.note(f"{job} has ended already: {job.state}")
    else:
        await known.stop([job])
