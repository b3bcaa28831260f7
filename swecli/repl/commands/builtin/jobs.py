"""`/jobs`: the background commands."""

from __future__ import annotations

from swecli.models.errors import BadInput, UsageError
from swecli.repl.commands.base import CommandContext, command

_USE_JOBS = "Use /jobs, /jobs show N, /jobs stop N or /jobs stop all"


@command(usage="[show N|stop N|stop all]", concurrent="*")
async def _jobs(ctx: CommandContext, args: str) -> None:
    """List background commands, show the output of one, or stop it"""
    jobs = ctx.runtime.agent.ctx.commands.jobs
    word, _, name = args.lower().partition(" ")
    name = name.strip()
    job = jobs.find(f"job-{name}")
    if not args and not jobs.all:
        ctx.screen.note("no background jobs were started")
    elif not args:
        ctx.screen.table(
            ("#", "state", "command"),
            [(str(job.number), job.state, job.command) for job in jobs.all],
        )
    elif word == "stop" and name == "all":
        await jobs.stop(jobs.running)
    elif word not in ("show", "stop") or not name:
        raise UsageError(f"Unknown option {args!r}.", _USE_JOBS)
    elif job is None:
        raise BadInput(f"There is no job {name}.", "See /jobs")
    elif word == "show":
        await job.look()
        ctx.screen.line(f"{job}: {job.state}", "head")
        ctx.screen.line(job.text.rstrip("\n") or "(no output)")
    elif job.ended_at:
        ctx.screen.note(f"{job} has ended already: {job.state}")
    else:
        await jobs.stop([job])
