"""The playbook out into a file and in from one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet
from swecli.playbook.desk import PlaybookDesk, Said, wrong
from swecli.playbook.handover import agents_patch, skill
from swecli.playbook.markdown import to_markdown
from swecli.playbook.markdown_read import Carried, read_markdown

if TYPE_CHECKING:  # the prompt completes the actions' names before the gate is loaded
    from swecli.playbook.carry import Plan

LARGEST = 20_000_000  # bytes of a file that is read
FORCE = ("--force", "write over a file that is there")
VOUCH = ("--trust", "what comes from elsewhere need not wait for your word")
FORMS = ("markdown", "agents", "skill")


def export(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Write all strategies as Markdown (or `agents`: a patch of AGENTS.md, `skill`: a SKILL.md), to a file or here.

    A file that is there is written over only with `--force`.
    """
    words = [word for word in args if word != FORCE[0]]
    form, words = (words[0], words[1:]) if words and words[0] in FORMS else ("markdown", words)
    file = " ".join(words)
    _no_misspelt_form(desk, words)
    text = _written(desk, form)
    if file in ("", "-"):
        lines = tuple(text.rstrip("\n").split("\n")) if text else ("AGENTS.md has them all already.",)
        return Said({"form": form, "text": text}, lines, exact=text)
    path = Path(file).expanduser()
    try:
        with path.open("w" if FORCE[0] in args else "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        usage = f"{desk.command} export {'' if form == 'markdown' else f'{form} '}{quote(file)} {FORCE[0]}"
        raise BadInput(f"{path} is there already.", f"To write over it: {usage}") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error
    return Said({"form": form, "file": str(path)}, (f"Written to {path}.",))


def _no_misspelt_form(desk: PlaybookDesk, words: Sequence[str]) -> None:
    """Raises BadInput for a file that is named almost like a form: hardly a file."""
    bare = bool(words) and not {"/", "."} & set(words[0])
    near = difflib.get_close_matches(words[0].lower(), FORMS, 1, 0.75) if bare else []
    if near:
        raise BadInput(
            f"There is no form {words[0]!r:.40}; did you mean {near[0]}?",
            f"Use {desk.command} export {near[0]}, or ./{words[0]:.40} for a file of that name.",
        )


def _written(desk: PlaybookDesk, form: str) -> str:
    bullets = desk.bullets()
    if form == "skill":
        return skill(bullets, Path(desk.session.project or desk.session.working_directory).name or "this project")
    if form == "agents":
        path = Path(desk.session.project or desk.session.working_directory) / "AGENTS.md"
        # not utf-8-sig: a mark at its beginning belongs to the line that git compares
        return agents_patch(_read(path, "utf-8") if path.exists() else None, bullets)
    return to_markdown(bullets, {b.id: desk.sessions.playbook.evidence(b.id) for b in bullets})


def bring(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Take in an exported playbook: ids are kept where they are free, and what is known is updated.

    What does not come from here waits for the user's word, unless they vouch for the file with `--trust`.
    """
    # late: nothing else on this desk needs the gate
    from swecli.playbook.carry import Ground, plan_import  # noqa: PLC0415

    trusted, words = VOUCH[0] in args, [word for word in args if word != VOUCH[0]]
    if not words:
        raise wrong(desk, "There is no file named.", "import FILE")
    path = Path(" ".join(words)).expanduser()
    carried = read_markdown(_read(path))
    here, taken = _seen_here(desk, carried)
    plan = plan_import(carried, Ground(desk.session, here, taken, desk.sessions.playbook.last_number(), trusted))
    added: tuple[str, ...] = ()
    if delta := plan.delta(desk.session, path.name):
        added = desk.sessions.playbook.apply(delta, desk.session).added
    new = [name for name in added if name not in plan.kept]
    renamed = dict(zip(plan.renamed, new, strict=True))
    waiting = [renamed.get(name, name) for name in plan.waiting]
    value = {"kept": plan.kept, "renamed": renamed, "changed": plan.changed, "same": plan.same, "waiting": waiting}
    lines = tuple(_came_to(desk, plan, renamed, path))
    return Said(value | {"left_out": plan.left_out}, lines, code=1 if plan.lost else 0)


def _seen_here(desk: PlaybookDesk, carried: Sequence[Carried]) -> tuple[dict[str, Bullet], set[str]]:
    """What may be seen here, with those removed ones that the file names; and which of its ids anybody has."""
    store, here, taken = desk.sessions.playbook, dict(desk.session.playbook.bullets), set()
    for item in carried:
        name = item.bullet.id
        if store.get(name) is not None:
            taken.add(name)
        if name not in here and (bullet := store.seen(name, desk.session)):
            here[name] = bullet  # removed here: it can come back
    return here, taken


def _came_to(desk: PlaybookDesk, plan: Plan, renamed: Mapping[str, str], path: Path) -> Iterator[str]:
    """What an import did, in lines."""
    yield (
        f"{len(plan.kept)} taken in under their ids, {len(renamed)} under new ones, {len(plan.changed)} changed, "
        f"{len(plan.same)} the same."
    )
    yield from (f"{old} is {name} here: {plan.renamed[old]}." for old, name in renamed.items())
    yield from plan.lines
    yield from (f"left out: {why}." for why in plan.left_out)
    if count := len(plan.waiting):
        vouching = f"{desk.command} import {quote(str(path))} {VOUCH[0]}"
        yield (
            f"{count} of them {'wait' if count > 1 else 'waits'} for your word, out of prompts: "
            f"`{desk.command} review`. To vouch for the whole file: `{vouching}`."
        )


def _read(path: Path, encoding: str = "utf-8-sig") -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > LARGEST:
        raise BadInput(f"{path} is too large to be a playbook: over {LARGEST // 1_000_000} MB.")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
