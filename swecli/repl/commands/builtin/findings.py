"""`/findings`: what reviews found in this project, to be looked at, dismissed, marked as fixed and rechecked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from swecli.config.trust import project_root
from swecli.models.errors import UsageError
from swecli.models.finding import counted
from swecli.repl.commands.base import CommandContext, command

if TYPE_CHECKING:
    from swecli.store.reviews import ReviewStore

DOINGS = (
    (
        "list",
        "[STATE] [severity>=high] [path:src/**] [type:LEAK] [verdict:confirmed] [words]: the open ones, or others",
    ),
    ("show", "F-1: one with its evidence"),
    ("dismiss", "F-1 WHY: it is none; it stays dismissed"),
    ("fixed", "F-1: it was repaired"),
    ("reopen", "F-1: it is open again"),
    ("recheck", "[F-1]: compare with the files as they are now"),
    ("export", "[markdown|json|sarif] FILE: write them"),
)


@command(usage="[list|show|dismiss|fixed|reopen|recheck|export] …", complete=lambda runtime: DOINGS, beside="list show")
async def findings(ctx: CommandContext, args: str) -> None:
    """Show and settle what reviews found"""
    word, _, rest = args.partition(" ")
    doing = _DOINGS.get(word.lower() or "list")
    if doing is None:
        known = ", ".join(name for name, _ in DOINGS)
        raise UsageError(f"/findings cannot {word!r}.", f"It knows: {known}")
    # late: most sessions review nothing
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    store = ReviewStore(ctx.runtime.sessions.database, str(project_root(ctx.runtime.cwd)))
    doing(ctx, store, rest.strip())


def _list(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    # late: see above
    from swecli.repl.render.review_view import row  # noqa: PLC0415
    from swecli.review.publish.view import chosen  # noqa: PLC0415

    found = chosen(store.findings(), rest.split())
    if not found:
        ctx.screen.note("no such findings · /review makes them")
        return
    for finding in found:
        ctx.screen.print(row(finding))
    ctx.screen.note("/findings show F-1 · /findings dismiss F-1 WHY · /review --fix F-1")


def _show(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    # late: see above
    from swecli.review.judge.sources import Sources  # noqa: PLC0415
    from swecli.review.publish.view import view  # noqa: PLC0415

    found = store.get(rest)
    card = view(found, Sources(project_root(ctx.runtime.cwd)), store.history(found.id))
    ctx.screen.line(card.headline, "head")
    ctx.screen.line(card.message)
    for label, text in card.facts:
        ctx.screen.note(f"{label}: {text}" if label else text)
    for line in card.code:
        ctx.screen.line(line, "" if line.startswith(">") else "quiet")
    for line in card.diff:
        ctx.screen.line(line, {"+": "added", "-": "removed"}.get(line[0], "quiet"))


def _dismiss(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    ref, _, why = rest.partition(" ")
    store.get(ref)
    if not why.strip():
        raise UsageError("A dismissal needs a reason.", f"Use /findings dismiss {ref} WHY")
    # late: see above
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    found = settle(store, ref, "dismissed", why.strip())
    ctx.screen.note(f"{found.id} is dismissed and stays so: {found.reason}")


def _fixed(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    ref, _, why = rest.partition(" ")
    # late: see above
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    found = settle(store, ref, "fixed", why.strip())
    ctx.screen.note(f"{found.id} is fixed; found again it counts as regressed")
    propose(ctx, store)


def _reopen(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    # late: see above
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    ctx.screen.note(f"{settle(store, rest, 'open').id} is open")


def _recheck(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    # late: see above
    from swecli.review.judge.ledger import change_line, recheck  # noqa: PLC0415

    changed = recheck(store, ctx.runtime.agent.ctx.root, rest.split())
    for before, after in changed:
        ctx.screen.line(change_line(before, after))
    if not changed:
        ctx.screen.note("nothing has changed")
    propose(ctx, store)


def _export(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    # late: see above
    from swecli.review.publish.exports import write_findings  # noqa: PLC0415

    words = rest.split(maxsplit=1)
    style = words.pop(0) if words and words[0] in ("markdown", "json", "sarif") else "markdown"
    if not words:
        raise UsageError("The export has no file.", "Use /findings export sarif findings.sarif")
    count = write_findings(store.findings(["open", "regressed"]), style, ctx.runtime.cwd / words[0])
    ctx.screen.note(f"{words[0]} holds {counted(count, 'finding')}")


def propose(ctx: CommandContext, store: ReviewStore) -> None:
    """Propose a smell that was fixed again and again to the playbook; say so."""
    # late: see above
    from swecli.review.lessons import lessons, told  # noqa: PLC0415

    sessions = ctx.runtime.sessions
    for applied in lessons(sessions, store, sessions.current_session):
        ctx.screen.note(told(applied, "/playbook"))


_DOINGS: dict[str, Callable[[CommandContext, ReviewStore, str], None]] = {
    "list": _list,
    "show": _show,
    "dismiss": _dismiss,
    "fixed": _fixed,
    "reopen": _reopen,
    "recheck": _recheck,
    "export": _export,
}
