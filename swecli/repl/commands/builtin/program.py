"""Commands on the program itself, on spending, and SQL queries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from threading import Event

from swecli.config.project_files import INSTRUCTION_FILES
from swecli.context.project import find_skills, load_instructions
from swecli.models.errors import BadInput, UsageError
from swecli.models.finding import pluralize
from swecli.repl.commands.base import Command, CommandContext, command
from swecli.repl.render.formatting import format_dollars, short_path

_KEYS = (
    ("Enter", "send; while the agent works, queue (↑ edits the queue)"),
    ("Ctrl+T", "send the line to the running turn"),
    ("Alt+Enter, Ctrl+J, \\ Enter", "new line"),
    ("Esc", "interrupt; queued lines wait for Enter"),
    ("Ctrl+C", "clear the line, then the queue, then interrupt; twice to quit"),
    ("Shift+Tab", "switch mode: ask, edits, plan"),
    ("Ctrl+O", "show the last tool's full output"),
    ("Ctrl+R, ↑", "search history, previous line"),
    ("Ctrl+G", "edit the line in $EDITOR"),
    ("Ctrl+L, Ctrl+D", "redraw, quit"),
    ("@file, @picture.png", "attach a file or a picture"),
    ("Ctrl+V", "attach the picture in the clipboard; a pasted path of one does too"),
    ("!command, !!command", "run in the shell; ! shares the output with the model, !! does not"),
)


_GROUPS = (
    ("Start here: type what you want done, or", "help init model mode undo diff exit"),
    ("Sessions and turns", "new sessions rename fork search copy export redo rewind steer jobs"),
    ("What the model gets", "context window compact pin unpin prompt memory"),
    ("What is learned", "playbook reflect good bad"),
    ("Review", "review findings"),
    ("What may run", "permissions plan yolo trust"),
    ("The program", "config theme effort status cost stats sql doctor"),
)


def _grouped(commands: Sequence[Command]) -> list[tuple[str, list[Command]]]:
    """Group the commands by title, in the order above; those of packages and of the project come last."""
    left = {command.name: command for command in commands}
    groups = [
        (title, [left.pop(name) for name in names.split() if name in left])
        for title, names in _GROUPS
    ]
    return [(title, found) for title, found in [*groups, ("More", list(left.values()))] if found]


@command(aliases=("h", "?"), usage="[COMMAND]", concurrent="*")
async def _help(ctx: CommandContext, args: str) -> None:
    """List the commands and keys"""
    wanted = args.removeprefix("/").lower()
    chosen = [c for c in ctx.table.commands if not wanted or wanted in (c.name, *c.aliases)]
    if not chosen:
        ctx.screen.error(f"Unknown command /{wanted}.", "Type /help for the list.")
        return
    if wanted:
        for found in chosen:
            ctx.screen.line(f"/{found.name} {found.usage}".rstrip(), "head")
            ctx.screen.line(found.help)
            if found.aliases:
                ctx.screen.note(f"aliases: {' '.join(f'/{alias}' for alias in found.aliases)}")
        return
    for title, group in _grouped(ctx.table.commands):
        ctx.screen.line(title, "head")
        ctx.screen.columns(
            [(" ".join(f"/{word}" for word in (c.name, *c.aliases[:1])), c.help) for c in group]
        )
        ctx.screen.line()
    ctx.screen.line("Keys", "head")
    ctx.screen.columns(_KEYS)
    ctx.screen.note("/help COMMAND for its arguments and aliases")


@command(aliases=("quit", "q"))
async def _exit(ctx: CommandContext, args: str) -> None:
    """Quit (`swecli -c` continues this session)"""
    jobs = pluralize(len(ctx.runtime.agent.ctx.jobs.running), "background job")
    if ctx.runtime.agent.ctx.jobs.running:
        title = f"Quit? That stops {jobs}."
        if not await ctx.confirm(title, "yes, stop and quit", "no, stay"):
            return
    ctx.program.quit()


@command(usage="TEXT", concurrent="*")
async def _steer(ctx: CommandContext, args: str) -> None:
    """Send a line to the running turn (same as Ctrl+T)"""
    if not args.strip():
        raise UsageError(
            "There is nothing to send.", "Use /steer TEXT, or type a line and press Ctrl+T."
        )
    ctx.program.steer(args.strip())


_UNTRUSTED = ": its AGENTS.md is not used"


@command(concurrent="*")
async def _status(ctx: CommandContext, args: str) -> None:
    """Show model, mode, session, database and learning"""
    runtime, session = ctx.runtime, ctx.runtime.session
    sandbox = runtime.agent.ctx.sandbox
    pending, trusted = len(runtime.sessions.playbook.pending(session.id)), runtime.trusted
    rows = [
        ("model", f"{runtime.agent.model.name} ({runtime.choice.why})"),
        ("mode", runtime.agent.permissions.mode),
        ("window", str(session.window)),
        (
            "folder",
            f"{short_path(runtime.cwd)} ({'' if trusted else 'not '}trusted{'' if trusted else _UNTRUSTED})",
        ),
        (
            "session",
            f"{session.title or 'unnamed'} · {pluralize(session.interactions, 'turn')} · {session.id}",
        ),
        ("database", str(runtime.sessions.database.path or "sqlite://")),
        ("sandbox", sandbox.describe() if sandbox else "none"),
        ("learning", "on" if runtime.learning.enabled else "off"),
        (
            "pending",
            f"{pluralize(pending, 'turn')} to reflect on" if pending else "nothing to reflect on",
        ),
    ]
    ctx.screen.columns(rows)


_INIT_PROMPT = (
    "Look around in this repository (its README, manifests, scripts, CI and tests) and {make} in its root, for "
    "somebody who works here for the first time: the commands to build, run, lint and test (also one single test), "
    "how the code is laid out, and conventions that are not plain from the code. Only what you have seen, at most 60 "
    "lines, no general advice.{wish}"
)


@command(concurrent="*")
async def _memory(ctx: CommandContext, args: str) -> None:
    """Show the instruction files (AGENTS.md) that every request carries, and the skills"""
    runtime = ctx.runtime
    trust = runtime.start.read_trust()
    found = load_instructions(runtime.cwd, trust)
    skills = find_skills(runtime.start, trust)
    rows = [
        (short_path(path), f"{path.stat().st_size:,} bytes")
        for path in (*found.files, *(skill.file for skill in skills.skills.values()))
    ]
    if rows:
        ctx.screen.table(("file", "size"), rows)
    if not found.files and not found.notices:
        ctx.screen.note(
            "no AGENTS.md in this folder or above it · /init asks the assistant for one"
        )
    for notice in (*found.notices, *skills.notices):
        ctx.screen.warn(notice)


@command(usage="[FOCUS]")
async def _init(ctx: CommandContext, args: str) -> None:
    """Have the assistant write an AGENTS.md for this repository"""
    there = next((name for name in INSTRUCTION_FILES if (ctx.runtime.cwd / name).is_file()), "")
    make = f"bring {there} up to date (keep what is still true)" if there else "write an AGENTS.md"
    ctx.program.steer(_INIT_PROMPT.format(make=make, wish=f" {args}" if args else ""))


_MAX_OUTPUT_LINES = 100  # lines of an output
_USE_JOBS = "Use /jobs, /jobs show N, /jobs stop N or /jobs stop all"


@command(usage="[show N|stop N|stop all]", concurrent="*")
async def _jobs(ctx: CommandContext, args: str) -> None:
    """List background commands, show the output of one, or stop it"""
    known, (word, _, name) = ctx.runtime.agent.ctx.jobs, args.lower().partition(" ")
    job = known.find(f"job-{name.strip()}")
    if not args and not known.all:
        ctx.screen.note("no background jobs were started")
    elif not args:
        ctx.screen.table(
            ("#", "state", "command"),
            [(str(job.number), job.state, job.command) for job in known.all],
        )
    elif word == "stop" and name.strip() == "all":
        await known.stop(known.running)
    elif word not in ("show", "stop") or not name:
        raise UsageError(f"Unknown option {args!r}.", _USE_JOBS)
    elif job is None:
        raise BadInput(f"There is no job {name.strip()}.", "See /jobs")
    elif word == "show":
        lines = (job.text.rstrip("\n") or "(no output)").split("\n")
        ctx.screen.line(f"{job}: {job.state}", "head")
        if len(lines) > _MAX_OUTPUT_LINES:
            ctx.screen.note(f"… {len(lines) - _MAX_OUTPUT_LINES:,} lines above")
        ctx.screen.line("\n".join(lines[-_MAX_OUTPUT_LINES:]))
    elif job.ended_at:
        ctx.screen.note(f"{job} has ended already: {job.state}")
    else:
        await known.stop([job])


_DAYS = 30
_BUCKETS = (
    ("input", "input (uncached)"),
    ("cache_read", "cache reads"),
    ("cache_write", "cache writes"),
    ("output", "output"),
    ("reasoning", "reasoning"),
)


@command(aliases=("usage",), concurrent="*")
async def _cost(ctx: CommandContext, args: str) -> None:
    """Show this session's tokens and cost, by model, cause and tool"""
    # late: not needed to declare a command
    from swecli.actions.spending import format_tables
    from swecli.store.views import session_spending

    runtime, totals = ctx.runtime, ctx.runtime.sessions.totals()
    rows = [(words, f"{getattr(totals.usage, name):>12,}") for name, words in _BUCKETS]
    ctx.screen.columns([*rows, ("total tokens", f"{totals.usage.total:>12,}")])
    why = "" if totals.cost is not None else " (the price of a request is unknown)"
    ctx.screen.line(
        f"{pluralize(totals.requests, 'request')} · cost {format_dollars(totals.cost)}{why}"
    )
    for line in format_tables(
        session_spending(runtime.sessions.database, runtime.session.id), ctx.screen.width
    ):
        ctx.screen.line(line)


@command(usage="[DAYS]", concurrent="*")
async def _stats(ctx: CommandContext, args: str) -> None:
    """Show the tokens and cost of all sessions in the last 30 (or DAYS) days"""
    # late: as above
    from swecli.actions.spending import format_stats

    days = args.strip() or str(_DAYS)
    if not days.isdecimal() or len(days) > 9:
        raise UsageError(f"{days!r} is not a number of days.", "For example: /stats 7")
    for line in format_stats(ctx.runtime.sessions.database, int(days), ctx.screen.width).lines:
        ctx.screen.line(line)


@command(usage="[QUERY]", concurrent="*")
async def _sql(ctx: CommandContext, args: str) -> None:
    """Query the database in SQL, read-only (alone: list the views and their columns)"""
    # late: as above
    from swecli.actions.query import query

    stop = Event()
    try:
        # in a thread: a query must not block Esc and the prompt
        found = await asyncio.to_thread(query, ctx.runtime.sessions.database, args, stop=stop)
    finally:
        stop.set()
    ctx.report(found)
