"""Run the product in a temporary folder, driven by a world: selection, stored turns, learning, the user's marks. An
arm other than the product's own replaces only the decision which strategies are shown."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

from lab.learning.simulation.api import (
    CallFacts,
    Proposal,
    ReflectionAsked,
    Truth,
    TurnFacts,
    TurnInput,
    World,
)
from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.agent.sender import send
from swecli.agent.turn import TurnRecord
from swecli.config.settings import Settings
from swecli.context.tokens import TokenCounter
from swecli.models.errors import SwecliError
from swecli.models.message import (
    ChatMessage,
    Effects,
    ModelRequest,
    RequestRecord,
    Role,
    ToolCall,
    Usage,
)
from swecli.models.playbook import Bullet, Delta, Trust
from swecli.models.session import Session
from swecli.playbook.learning.lessons import PlaybookMemory
from swecli.playbook.learning.reflector_model import ReflectorModel
from swecli.playbook.learning.service import LearningEvent, LearningService
from swecli.playbook.ranking import clean
from swecli.playbook.selection import SelectionRequest
from swecli.playbook.transfer import ImportedBullet, plan_import
from swecli.playbook.workspace import StaleStrategies
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from tests.support.playbook import perform
from tests.support.scripted import Reply, ScriptedModel

Arm = Literal["none", "all", "product", "ceiling", "oracle"]
_VOUCHED: tuple[Trust, ...] = ("user", "reasoning")
_ANY_BUDGET = 100_000  # The worlds measure the value of reflection, not its cost.
_ANSWERS: dict[str, Any] = {
    "start": Sequence, "turn": TurnInput, "play": TurnFacts, "reflect": str, "chance": Real, "effect": Real,
    "best": Sequence, "truth": str,
}  # fmt: skip
_BOUNDS: dict[str, tuple[Any, Any]] = {"chance": (0, 1), "effect": (-1e9, 1e9)}
_EFFECT_OF = {
    "tags": "strategies",
    "tag": "effect",
    "helpful": "helped",
    "harmful": "hurt",
    "neutral": "irrelevant",
    "add": "lessons",
}
_KEY = re.compile(r"\[([^\[\]\s]+)\]")


class WorldFailed(Exception):
    """A world raised an exception; the message is one line."""


def ask(world: World, what: str, *args: Any) -> Any:
    """Return the world's answer. Raises WorldFailed if the world raises or returns an invalid value."""
    place = f" for {args[0]!r:.60}" if args else ""
    try:
        answer = getattr(world, what)(*args)
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise WorldFailed(f"the world raised in {what}{place}: {reason:.200}") from error
    if not isinstance(answer, _ANSWERS[what]):
        raise WorldFailed(
            f"the world gave {answer!r:.60} in {what}{place}, which is not a {_ANSWERS[what].__name__}"
        )
    least, most = _BOUNDS.get(what, (None, None))
    if (least is not None and not least <= answer <= most) or (
        what == "truth" and answer not in get_args(Truth)
    ):
        wanted = (
            f"from {least} to {most}" if what in _BOUNDS else f"one of {', '.join(get_args(Truth))}"
        )
        raise WorldFailed(f"the world gave {answer!r:.60} in {what}{place}, which is not {wanted}")
    return answer


class Product:
    """One arm's runtime, with the world's names for its strategies."""

    def __init__(self, world: World, arm: Arm, folder: Path, *, every_turn: bool) -> None:
        self.world, self.arm, self.root = world, arm, folder / "workspace"
        self.root.mkdir()
        self.settings, self.counter = Settings(), TokenCounter()
        self.counter.load()
        self.sessions = SessionManager(open_database(folder / "swecli.db"))
        self.builder = RequestBuilder(
            self.sessions, self.settings, self.root, "", StaleStrategies()
        )
        self.record = TurnRecord(self.sessions, self.counter)
        self.memory = PlaybookMemory(self.sessions, str, self.counter.count)
        model = ScriptedModel(self._reflection, name="simulated/reflector", offline=False)
        reflector = ReflectorModel("simulated", model, every_turn=every_turn)
        self.learning = LearningService(self.sessions, reflector, send, percent=_ANY_BUDGET)
        self.ids: dict[str, str] = {}  # by the world's keys
        self.live: set[str] = set()  # keys that passed the gate
        self.refused: Counter[str] = Counter()
        self._asked = ReflectionAsked(0, (), None)
        self._adds: list[Proposal] = []
        self._spoken: list[Proposal] = []
        self._group: int | None = None
        self._next = ""

    @property
    def session(self) -> Session:
        session = self.sessions.current_session
        assert session is not None, "begin() starts one"
        return session

    def bullet(self, key: str) -> Bullet | None:
        """Return the strategy of a key."""
        return self.session.playbook.bullets.get(self.ids.get(key, ""))

    def net(self, key: str) -> int:
        """Return in how many more exchanges a strategy helped than hurt."""
        bullet = self.bullet(key)
        return bullet.helpful - bullet.harmful if bullet else 0

    def kept(self, key: str) -> bool:
        """Return True if the product would still show a strategy."""
        bullet = self.bullet(key)
        return bullet is not None and bullet.is_live and not bullet.is_left_out

    def states(self) -> Counter[str]:
        """Count the proposals by their state."""
        found = Counter[str](
            bullet.state for key in self.ids if (bullet := self.bullet(key)) is not None
        )
        return found + Counter({f"refused: {why}": count for why, count in self.refused.items()})

    async def begin(self, model: str, start: Sequence[Proposal]) -> None:
        """Start the first session and add the proposals made before the first turn."""
        self.sessions.start(
            str(self.root), model, window=self.settings.window, project=str(self.root)
        )
        for vouched in (True, False):
            some = [one for one in start if (one.source in _VOUCHED) is vouched]
            plan = plan_import(
                list(map(_imported, some, range(1, len(some) + 1))), {}, trusted=vouched
            )
            if plan.ops:
                self.sessions.playbook.apply(
                    Delta(f"start-{vouched}", tuple(plan.ops), "import"), self.session
                )
            self.refused.update(re.sub(r"^\S+ ", "", line) for line in plan.left_out)
            self._name(some)

    async def turn(self, number: int, given: TurnInput) -> tuple[str, ...]:
        """Play one turn; return the keys that were shown."""
        await self._enter(given)
        query = f"{self._next} {given.query}".strip()
        turn, ids = self._selected(number, query, given.model)
        names = {name: key for key, name in self.ids.items()}
        shown = tuple(names[name] for name in ids if name in names)
        facts = ask(self.world, "play", number, shown)
        self._next = facts.user_next
        if self.arm == "product" or facts.proposals:  # otherwise nothing reads the turn again
            self._store(query, turn, ids, facts)
            await self._learn(number, shown, facts)
        return shown

    async def _enter(self, given: TurnInput) -> None:
        """Apply the turn's changes of the workspace, and start a new session if it names another."""
        for name in given.appeared:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).touch()
        for name in given.gone:
            (self.root / name).unlink(missing_ok=True)
        if given.session != self._group:
            self._group = given.session
            self.sessions.start(
                str(self.root), given.model, window=self.settings.window, project=str(self.root)
            )
            await self.learning.check_anchors()

    def _selected(self, number: int, query: str, name: str) -> tuple[Turn | None, tuple[str, ...]]:
        """Return the product's request for a query, or another arm's replacement for it, and the ids shown."""
        if self.arm == "product":
            turn = self.builder.prepare(Query(query), ScriptedModel(name=name), self.counter)
            return turn, turn.request.strategy_ids
        self.sessions.playbook.refresh(self.session)
        allowed = {self.ids[key] for key in self._allowed(number)}
        bullets = {
            name: replace(
                bullet,
                state="pinned" if bullet.state == "pinned" else "active",
                helpful=0,
                harmful=0,
            )
            for name, bullet in self.session.playbook.bullets.items()
            if name in allowed
        }
        request = SelectionRequest(
            bullets, query, self.counter.count, self.builder.index, self.settings.playbook_tokens
        )
        return None, tuple(bullet.id for bullet in request.select().bullets)

    def _allowed(self, number: int) -> Sequence[str]:
        keys = sorted(self.live)
        if self.arm == "none":
            return ()
        if self.arm == "ceiling":
            return [key for key in keys if ask(self.world, "effect", key, number) > 0]
        if self.arm == "oracle":
            return [key for key in ask(self.world, "best", number, tuple(keys)) if key in self.live]
        return keys

    def _store(self, query: str, turn: Turn | None, ids: Sequence[str], facts: TurnFacts) -> None:
        """Store the turn as the loop does."""
        if turn is None:
            self.sessions.begin_interaction(query)
        else:
            self.record.begin(turn)
        calls = [_tool_call(call) for call in facts.calls]
        if calls:
            self.sessions.append(ChatMessage(Role.ASSISTANT, "", calls))
        for call, fact in zip(calls, facts.calls, strict=True):
            call.result, call.exit_code, call.approved = fact.output, fact.exit_code, True
            self.sessions.record_call(call)
        self._speak(facts.proposals)
        text = _KEY.sub(lambda found: f"[{self.ids.get(found[1], found[1])}]", facts.answer)
        self.sessions.append(ChatMessage(Role.ASSISTANT, text))
        usage = Usage(input=turn.request.tokens if turn else 1_000, output=200)
        self.sessions.record_request(
            RequestRecord(self.session.model, "turn", self.session.interactions, 1, usage, 0.0, 1)
        )
        if turn is None:
            cited = [name for name in ids if f"[{name}]" in text]
            self.sessions.finish_interaction("done", shown_names=ids, cited=cited)
        else:
            self.record.finish("done", turn, text)

    def _speak(self, proposals: Sequence[Proposal]) -> None:
        """Store what the assistant remembers and what the user types during the turn."""
        for one in proposals:
            try:
                if one.channel == "assistant":
                    self.memory.remember(one.content, one.quote, one.when)
                elif one.channel != "reflector":
                    value = perform(self, "add", [one.content]).value
                    if one.when and (added := value.get("added")):
                        perform(self, "edit", [added[0], "--when", one.when])
            except SwecliError as error:
                self.refused[str(error).rpartition(": ")[2]] += 1
        self._name([one for one in proposals if one.channel != "reflector"])

    async def _learn(self, number: int, shown: tuple[str, ...], facts: TurnFacts) -> None:
        self._adds = [one for one in facts.proposals if one.channel == "reflector"]
        part = self.learning.after_turn()
        events = list(part.events)
        record = self.sessions.turns.turn(self.session.id, part.interaction)
        self._asked = ReflectionAsked(number, shown, record.good if record else None)
        if part.needs_model or self._adds:
            events += await self.learning.reflect(part.interaction, is_requested=bool(self._adds))
        if facts.mark is not None:
            events += await self.learning.mark(facts.mark)
        if self._adds:
            self._count(events)
        self._name(self._adds)

    def _reflection(self, request: ModelRequest) -> Reply:
        """Return the world's answer with the product's ids, and its proposals for the turn."""
        raw = ask(self.world, "reflect", self._asked) if self.arm == "product" else '{"tags": []}'
        text = _KEY.sub(
            lambda found: f"[{self.ids[found[1]]}]" if found[1] in self.ids else found[0], raw
        )
        text = _as_effects(text)
        if self._adds:
            text = _with_adds(text, self._adds)
        return Reply(text, piece=100_000)

    def _count(self, events: Sequence[LearningEvent]) -> None:
        lines = [line for event in events for line in getattr(event, "refused", ())]
        self.refused.update(
            line.rpartition(": ")[2] for line in lines if line.startswith("not learned")
        )

    def _name(self, proposals: Sequence[Proposal]) -> None:
        """Match proposals to strategies by their text, and record which passed the gate."""
        found = {bullet.content: name for name, bullet in self.session.playbook.bullets.items()}
        for one in proposals:
            if name := found.get(clean(one.content)):
                self.ids.setdefault(one.key, name)
        self.live |= {
            key for key in self.ids if (bullet := self.bullet(key)) is not None and bullet.is_live
        }


def _tool_call(fact: CallFacts) -> ToolCall:
    """Return a call with the effects that its tool would tell: its outcome is seen by them."""
    arguments = dict(fact.arguments)
    changed = (str(arguments["path"]),) if fact.tool == "edit_file" else ()
    effects = Effects(changed=changed, ran=str(arguments.get("command", "")))
    return ToolCall(fact.id, fact.tool, arguments, effects=effects)


def _imported(one: Proposal, number: int) -> ImportedBullet:
    named = {"content", "when", "kind", "trust", "scope", "state"} | (
        {"anchors"} if one.anchors else set()
    )
    bullet = Bullet(
        f"P-{number}",
        one.content,
        kind=one.kind,
        scope="project",
        trust=one.source,
        when=one.when,
        anchors=one.anchors,
    )
    return ImportedBullet(bullet, line=number, field_names=frozenset(named))


def _as_effects(text: str) -> str:
    """Convert the tags of a world's reflector to the effects of the product's answer; one that is not well-formed stays
    as it is."""
    try:
        rows = [
            {"id": one["id"].strip("[]"), "effect": _EFFECT_OF.get(one["tag"], one["tag"])}
            for one in json.loads(text)["tags"]
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        return text
    return json.dumps({"strategies": rows})


def _with_adds(text: str, adds: Sequence[Proposal]) -> str:
    """Add the proposals to a reflector's answer; return an answer that is not a JSON object unchanged."""
    try:
        answer = json.loads(text)
        rows = [{"text": a.content, "when": a.when, "kind": a.kind, "quote": a.quote} for a in adds]
        return json.dumps(answer | {"lessons": [*answer.get("lessons", ()), *rows]})
    except (ValueError, TypeError, AttributeError):
        return text
