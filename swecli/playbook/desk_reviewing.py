"""What waits for the user's word: strategies that ask to be used, and those whose removal is proposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet, Delta
from swecli.playbook import by_hand
from swecli.playbook.describe import FROM
from swecli.playbook.desk import PlaybookDesk, Said, wrong
from swecli.playbook.gate import DOUBT
from swecli.playbook.lineage import reason_of
from swecli.playbook.standing import held_to_harm, in_words
from swecli.store.records import Change

UNUSED = timedelta(days=90)  # in no prompt while others were: its removal is proposed
Word = Literal["use", "keep", "remove"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A strategy that waits for the user's word. "new": it was set aside and asks to be used; "old": it seems to harm,
    or (`idle`) stood in no prompt for long, and is proposed for removal."""

    bullet: Bullet
    what: Literal["new", "old"]
    why: str
    idle: bool = False

    @property
    def words(self) -> Mapping[Word, str]:
        """What the user may say, with what happens then."""
        if self.what == "new":
            return {"use": "use it in prompts", "remove": "remove it (undo brings it back)"}
        stays = "as it is" if self.idle else "and in prompts again"
        return {"keep": f"keep it, {stays}", "remove": "remove it (undo brings it back)"}

    @property
    def question(self) -> str:
        """Which strategy, in all its words, why it waits, and what is asked."""
        first, second = self.words
        return f"{self.bullet.id} {self.bullet.content}\n{self.why}: {first} it, or {second} it?"


def waiting(desk: PlaybookDesk) -> list[Waiting]:
    """What waits for the user's word, in order of minting."""
    bullets, standings = [b for b in desk.bullets() if b.state in ("active", "quarantined")], desk.standings()
    shown = desk.sessions.playbook.history.last_shown([bullet.id for bullet in desk.bullets()])
    latest = max(shown.values(), default=None)
    harmful = {b.id for b in bullets if held_to_harm(standings.of(b.id))}
    asked = [b for b in bullets if b.id in harmful or b.state == "quarantined" or _idle(b, shown, latest)]
    past = desk.sessions.playbook.history.of_each([bullet.id for bullet in asked])
    found = []
    for bullet in asked:
        belief, changes = standings.of(bullet.id), past[bullet.id]
        if bullet.id in harmful:
            gone = belief.standing == "proposed for deletion"
            found.append(Waiting(bullet, "old" if gone else "new", in_words(belief)))
        elif bullet.state == "quarantined":
            found.append(Waiting(bullet, "new", _doubt(desk, bullet, changes)))
        elif latest is not None and (why := _unused(bullet, shown.get(bullet.id), latest, changes)):
            found.append(Waiting(bullet, "old", why, idle=True))
    return found


def _idle(bullet: Bullet, shown: Mapping[str, datetime], latest: datetime | None) -> bool:
    """Whether no prompt had it for long, as far as can be told without its changes."""
    return latest is not None and latest - (shown.get(bullet.id) or bullet.created_at) >= UNUSED


def _doubt(desk: PlaybookDesk, bullet: Bullet, changes: Sequence[Change]) -> str:
    """Why a strategy was set aside."""
    asleep = [c for c in changes if c.after is not None and c.after.state == "quarantined"]
    aside = [c for c in asleep if c.before is None or c.before.state != "quarantined"]
    if aside and aside[-1].before is not None:
        return f"set aside: {reason_of(aside[-1].applied, bullet.id)}"
    if doubts := [item.quote for item in desk.sessions.playbook.evidence(bullet.id) if item.source == DOUBT]:
        return f"set aside: {doubts[-1]}"
    return f"set aside: it comes from {FROM.get(bullet.trust, bullet.trust)}"


def _unused(bullet: Bullet, shown: datetime | None, latest: datetime, changes: Sequence[Change]) -> str:
    """That no prompt had it for long, though there were prompts with others; "" where that is not so."""
    came = changes[0].applied.delta.created_at if changes and changes[0].before is None else bullet.created_at
    since = max(shown or came, bullet.vouched_at or came)
    if latest - since < UNUSED:
        return ""
    days = (latest - since).days
    ever = f"in no prompt for {days} days" if shown else f"in no prompt in the {days} days it is here"
    return f"{ever}, while others were"


def decide(desk: PlaybookDesk, item: Waiting, word: Word) -> Said:
    """Do what the user says about a strategy. Raises BadInput for a word that is no answer to the question."""
    bullet = item.bullet
    if word not in item.words:
        raise BadInput(f"{bullet.id} is asked about so: {' or '.join(item.words)}.", item.question.split("\n")[1])
    if word == "remove":
        _apply(desk, by_hand.setting(desk.session, bullet, "REMOVE", f"removed in review: {bullet.id}"))
        return Said({"removed": bullet.id}, (f"{bullet.id} is removed; `{desk.command} undo` brings it back.",))
    said = "kept in review" if word == "keep" else "taken into use in review"
    _apply(desk, by_hand.setting(desk.session, bullet, "RESTORE", f"{said}: {bullet.id}"))
    done = "is active" if word == "use" else "stays, and is active"
    return Said({"kept": bullet.id}, (f"{bullet.id} {done}.",))


def _apply(desk: PlaybookDesk, delta: Delta) -> None:
    desk.sessions.playbook.apply(delta, desk.session)


def review(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """What waits for your word; with `P-7 use`, `P-7 keep` or `P-7 remove` that word."""
    found = waiting(desk)
    if not args:
        value = [
            {"id": w.bullet.id, "what": w.what, "why": w.why, "words": list(w.words), "content": w.bullet.content}
            for w in found
        ]
        hint = f"{desk.command} review {found[0].bullet.id} {next(iter(found[0].words))}" if found else ""
        lines = [line for w in found for line in w.question.split("\n")]
        return Said(value, tuple(lines) or ("Nothing waits for your word.",), note=hint and f"For example: {hint}")
    words = get_args(Word)
    if len(args) != 2 or args[1] not in words:
        raise wrong(desk, "It takes a strategy and your word.", f"review P-7 {'|'.join(words)}")
    bullet = desk.find(args[0])
    item = next((w for w in found if w.bullet.id == bullet.id), None)
    if item is None:
        raise BadInput(f"{bullet.id} does not wait for your word: it is {bullet.state}.")
    word: Word = args[1]  # type: ignore[assignment]  # one of its values, see above
    return decide(desk, item, word)
