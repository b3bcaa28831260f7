"""Playbooks out into files and in from files, with a line for all that becomes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.playbook import Bullet, Delta
from swecli.playbook.action import ActionContext, ActionResult, wrong
from swecli.playbook.transfer.importing import ImportPlan, Target, plan_import
from swecli.playbook.transfer.reading import Carried, read_markdown

_LARGEST = 20_000_000  # bytes of a file that is read


def write_file(path: Path, text: str, *, force: bool, hint: str) -> None:
    """Write a file; one that is there only with `force`. Raises BadInput."""
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        raise BadInput(f"{path} is there already.", hint) from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error


def import_file(ctx: ActionContext, file: str, *, trusted: bool) -> ActionResult:
    """Take in an exported playbook: ids are kept where they are free, and what is known is updated. What does not come
    from this project waits for the user's yes, unless they vouch for the file. Raises BadInput."""
    if not file:
        raise wrong(ctx, "There is no file named.", "add --from FILE")
    path, store = Path(file).expanduser(), ctx.sessions.playbook
    carried = read_markdown(_read(path))
    present, taken = _present(ctx, carried)
    target = Target(present, taken, store.last_number(), trusted, bool(ctx.session.id))
    plan = plan_import(carried, target)
    added: tuple[str, ...] = ()
    if plan.ops:
        delta = Delta(uuid7(), tuple(plan.ops), "import", ctx.session.id, None, f"import of {path.name}")
        added = ctx.apply(delta).added
    renamed = dict(zip(plan.renamed, (name for name in added if name not in plan.kept), strict=True))
    waiting = [renamed.get(name, name) for name in plan.waiting]
    value = {"kept": plan.kept, "renamed": renamed, "changed": plan.changed, "same": plan.same, "waiting": waiting}
    lines = tuple(_summary(ctx, plan, renamed, path))
    return ActionResult(value | {"left_out": plan.left_out}, lines, code=1 if plan.lost else 0)


def _present(ctx: ActionContext, carried: Sequence[Carried]) -> tuple[dict[str, Bullet], set[str]]:
    """What may be seen from the session, with removed ones that the file names; and which of its ids are given."""
    store, present, taken = ctx.sessions.playbook, dict(ctx.session.playbook.bullets), set()
    last = store.last_number()
    for item in carried:
        name = item.bullet.id
        if name in present or (item.bullet.number <= last and store.get(name) is not None):
            taken.add(name)
            if name not in present and (bullet := store.seen(name, ctx.session)):
                present[name] = bullet  # removed: it can come back
    return present, taken


def _summary(ctx: ActionContext, plan: ImportPlan, renamed: Mapping[str, str], path: Path) -> Iterator[str]:
    yield (
        f"{len(plan.kept)} taken in under their ids, {len(renamed)} under new ones, {len(plan.changed)} changed, "
        f"{len(plan.same)} the same."
    )
    yield from (f"{old} is {name} now: {plan.renamed[old]}." for old, name in list(renamed.items())[:20])
    yield from (f"left out: {why}." for why in plan.left_out[:20])
    if count := len(plan.waiting):
        wait = "waits" if count == 1 else "wait"
        yield f"{count} of them {wait} for your yes: `{ctx.command} review`, or add --from {path} --trust for all."


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > _LARGEST:
        raise BadInput(f"{path} is too large to be a playbook: over {_LARGEST // 1_000_000} MB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
