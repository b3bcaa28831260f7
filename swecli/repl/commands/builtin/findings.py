"""`/findings`: what reviews found in this project, to be looked at, settled, applied and checked."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command

DOINGS = (
    (
        "list",
        "[STATE] [severity>=high] [path:src/**] [type:LEAK] [verdict:confirmed] [since:R-2] [words]: the open ones",
    ),
    ("walk", "[the same words]: one after the other, with keys to apply, fix, dismiss and check"),
    ("show", "F-1: one with its evidence"),
    ("apply", "F-1: put its suggestion in place, without a model"),
    ("undo", "F-1: put the lines back that were replaced"),
    ("dismiss", "F-1 WHY: it is none; it stays dismissed"),
    ("fixed", "F-1: it was repaired"),
    ("reopen", "F-1: it is open again"),
    ("recheck", "[F-1]: compare with the files as they are now, by rule and free"),
    ("check", "[F-1]: ask the model about gone and unverified ones; the price is named first"),
    ("export", "[markdown|json|sarif] FILE: write them"),
)


@command(usage=f"[{'|'.join(name for name, _ in DOINGS)}] …", complete=lambda runtime: DOINGS, beside="list show")
async def findings(ctx: CommandContext, args: str) -> None:
    """Show, walk through and settle what reviews found"""
    # late: most sessions review nothing
    from swecli.repl.commands.ledger import perform  # noqa: PLC0415

    word, _, rest = args.partition(" ")
    await perform(ctx, word.lower() or "list", rest.strip())
