"""Ask a stored turn again with a strategy and without it. Nothing is run, and nothing changes but what was spent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Invocation, Need, Words
from swecli.models.api_message import NOTES, ApiMessage, notes_of, with_fields
from swecli.models.errors import BadInput
from swecli.models.ids import parse_turn
from swecli.models.json_value import JsonObject
from swecli.models.message import HEAD_OPENS
from swecli.models.money import format_dollars
from swecli.models.notes import StrategyNote
from swecli.models.playbook import Bullet, render_bullets
from swecli.playbook.action import ActionContext
from swecli.text import one_line, sanitize
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.context import Epoch
    from swecli.models.message import ModelReply

_MAX_ARGUMENTS = 200  # characters of a call's arguments


@dataclass(frozen=True, slots=True)
class _Sample:
    """One answer, to the request with or without the strategy."""

    name: str  # "with P-3"
    reply: ModelReply

    def to_json(self) -> JsonObject:
        reply = self.reply
        calls = [{"name": call.name, "parameters": call.parameters} for call in reply.calls]
        usage = reply.usage
        return {
            "text": reply.text,
            "calls": calls,
            "input": usage.prompt if usage else None,
            "output": usage.output if usage else None,
            "cost": reply.cost,
        }

    def lines(self) -> Iterator[str]:
        """Yield what it cost, and behind it, as details, the calls and the text."""
        reply = self.reply
        size = "tokens unknown"
        if reply.usage is not None:
            size = f"{reply.usage.prompt:,} tokens in, {reply.usage.output:,} out"
        cost = "price not known" if reply.cost is None else format_dollars(reply.cost)
        yield f"{self.name}: {size}, {cost}"
        for call in reply.calls:
            arguments = json.dumps(call.parameters, ensure_ascii=False)
            yield f"  would call {call.name} {one_line(arguments, _MAX_ARGUMENTS)}"
        for line in sanitize(reply.text).strip().split("\n"):
            yield f"  {line}".rstrip()


@Action(Need.ANSWER, Words("P-7 [T7]"))
async def try_(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Ask a stored turn again with and without a strategy, and show both answers; nothing is run"""
    ctx = ActionContext.of(runtime.sessions, invocation)
    if not 1 <= len(invocation.words) <= 2:
        raise ctx.usage_error("A strategy is required, and a turn if you like.", "try P-7 T7")
    bullet = ctx.find(invocation.words[0])
    number = _choose_turn(ctx, bullet, invocation.words[1:])
    past = runtime.context_control.past_prompt(number)
    samples = []
    for name, strategies in (("with", (bullet,)), ("without", ())):
        messages = _exchange(past.keyed_messages, past.epoch, bullet, strategies)
        with invocation.face.working(f"Asking T{number} again {name} {bullet.id}"):
            reply = await runtime.agent.ask_once(messages, number)
        samples.append(_Sample(f"{name} {bullet.id}", reply))
    lines = [f"T{number} was asked again, once with {bullet.id} and once without: {bullet.content}"]
    lines += [line for sample in samples for line in sample.lines()]
    note = "One sample each: a model answers differently each time. Nothing was run or changed."
    value = {"id": bullet.id, "turn": number, "samples": 1}
    answers = {
        name: sample.to_json() for name, sample in zip(("with", "without"), samples, strict=True)
    }
    return ActionResult(value | answers, tuple(lines), note=note)


def _choose_turn(ctx: ActionContext, bullet: Bullet, words: Sequence[str]) -> int:
    """Return the turn that was named, else the newest one of the session whose prompt had the strategy, or the newest
    one. Raises BadInput if the session has no turn."""
    if words:
        return parse_turn(words[0])
    prompts = ctx.sessions.playbook.turns_shown(bullet.id)
    of_session = [number for session, number in prompts if session == ctx.session.id]
    if of_session:
        return of_session[0]
    if not ctx.session.interactions:
        raise BadInput("Nothing has been asked in this session yet.", "Say something first.")
    return ctx.session.interactions


def _exchange(
    keyed_messages: Sequence[ApiMessage],
    epoch: Epoch,
    bullet: Bullet,
    strategies: Sequence[Bullet],
) -> list[ApiMessage]:
    """Return the messages of a request with these strategies in place of one of them, wherever it stood: in the head
    of the system message, as all strategies of an epoch do, and in no note."""
    others = [Bullet(name, text) for name, text in epoch.strategies.items() if name != bullet.id]
    before = render_bullets(Bullet(name, text) for name, text in epoch.strategies.items())
    after = render_bullets([*others, *strategies])
    messages: list[ApiMessage] = []
    for message in keyed_messages:
        if message["role"] == "system":
            text = _replace_playbook(str(message["content"]), before, after)
            messages.append(with_fields(message, {"content": text}))
        else:
            messages.append(_without_notes(message, bullet.id))
    return messages


def _replace_playbook(system: str, before: str, after: str) -> str:
    """Return a system message with another list of strategies; its head begins with it."""
    if before:
        return system.replace(before, after, 1)
    if HEAD_OPENS in system:
        return system.replace(HEAD_OPENS, HEAD_OPENS + after, 1)
    return f"{system}{HEAD_OPENS}{after}" if after else system


def _without_notes(message: ApiMessage, strategy: str) -> ApiMessage:
    """Return a message without the notes on a strategy."""
    notes = notes_of(message)
    kept_notes = [
        note for note in notes if not (isinstance(note, StrategyNote) and note.strategy == strategy)
    ]
    return message if len(kept_notes) == len(notes) else with_fields(message, {NOTES: kept_notes})
