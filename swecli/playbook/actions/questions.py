"""What of the playbook the user has to decide, as closed questions with all texts that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swecli.models.action import Answer, Question
from swecli.models.doubts import Doubt
from swecli.models.json_value import JsonObject
from swecli.models.playbook import Bullet, EffectCounts
from swecli.playbook.action import ActionContext
from swecli.playbook.actions.show import format_sources, format_verdict
from swecli.playbook.pairs import Pair, PairKind, find_open
from swecli.store.records import TurnLessons

# of the names under which the store keeps what was asked at the end of a session
_PREFIX = "asked:"
OVER, BESIDE = "over", "beside"
"""The words between two strategies in an answer: the first one holds instead of the second one, or both hold."""


def find_questions(ctx: ActionContext) -> list[Question]:
    """Return what waits for the user: strategies that contradict each other first, then those of the user's that
    exchanges speak against, then proposals, then what names something that is gone."""
    bullets = ctx.bullets()
    pairs = find_open(ctx.session.playbook.bullets, ctx.sessions.turns)
    in_order = sorted(pairs, key=lambda pair: pair.kind is not PairKind.CONTRADICTION)
    return [
        *(_ask_about_pair(ctx, pair) for pair in in_order),
        *_ask_about_doubtful(ctx, bullets),
        *_ask_about_waiting(ctx, bullets),
        *(_ask_about_stale(bullet) for bullet in bullets if bullet.is_live and bullet.stale),
    ]


def take_unasked(ctx: ActionContext, limit: int) -> list[Question]:
    """Return the first questions that were not asked at the end of a session before, and note that they are."""
    questions = {f"{_PREFIX}{question.id}": question for question in find_questions(ctx)}
    asked_texts = ctx.sessions.turns.figures([*questions])
    figures: JsonObject = {}
    selected = list[Question]()
    for name, question in questions.items():
        text = f"{question.content}\n{question.reason}"
        if len(selected) < limit and asked_texts.get(name) != text:
            figures[name] = text
            selected.append(question)
    if figures:
        ctx.sessions.playbook.record_lessons(ctx.session, TurnLessons(0, figures=figures))
    return selected


def _ask_about_pair(ctx: ActionContext, pair: Pair) -> Question:
    bullets = ctx.session.playbook.bullets
    first, second = pair.ids
    texts = tuple(f"{name} {bullets[name].content}" for name in pair.ids)
    return Question(
        pair.figure,
        "\n".join(texts),
        pair.clause,
        title="Which one holds?",
        answers=(
            Answer(f"{first}: remove {second}", "1", f"{first} {OVER} {second}"),
            Answer(f"{second}: remove {first}", "2", f"{second} {OVER} {first}"),
            Answer("both, remove none", "3", f"{first} {BESIDE} {second}"),
        ),
    )


def _decide(bullet: Bullet, yes: str) -> Sequence[Answer]:
    no = Answer("no, remove it (can be undone)", "3", f"{bullet.id} remove", "n")
    return (Answer(yes, "1", f"{bullet.id} use", "y"), no)


def _ask_about_doubtful(ctx: ActionContext, bullets: Sequence[Bullet]) -> Iterator[Question]:
    """Yield a question about each strategy that verdicts speak against, and that they alone may not retire."""
    doubtful = [bullet for bullet in bullets if bullet.is_live and bullet.harmful]
    effects = ctx.sessions.playbook.effects([bullet.id for bullet in doubtful]) if doubtful else {}
    for bullet in doubtful:
        if effects[bullet.id].speak_against:
            yield Question(
                bullet.id,
                f"{bullet.id} {bullet.content}",
                effects[bullet.id].summary,
                _reasons_against(ctx, bullet, effects[bullet.id]),
                title=f"Keep {bullet.id}?",
                answers=tuple(_decide(bullet, "yes, keep it")),
            )


def _reasons_against(ctx: ActionContext, bullet: Bullet, effects: EffectCounts) -> tuple[str, ...]:
    """Return the newest reasons why a strategy was said to hurt or be refuted, as many as count."""
    verdicts = ctx.sessions.playbook.verdicts(bullet.id)
    against = [verdict for verdict in verdicts if verdict.tag == "harmful"]
    newest = against[-(effects.hurt + effects.refuted) :]
    return tuple(format_verdict(ctx, verdict) for verdict in newest)


def _ask_about_waiting(ctx: ActionContext, bullets: Sequence[Bullet]) -> Iterator[Question]:
    proposals = [bullet for bullet in bullets if _is_waiting(bullet)]
    evidence = ctx.sessions.playbook.evidence_by_id([bullet.id for bullet in proposals])
    for bullet in proposals:
        yield Question(
            bullet.id,
            "\n".join([f"{bullet.id} {bullet.content}", *_replaced_texts(ctx, bullet)]),
            bullet.reason_of_doubt or f"it comes from {bullet.trust}",
            format_sources(ctx, evidence[bullet.id]),
            title=f"Use {bullet.id} in prompts?",
            answers=tuple(_decide(bullet, "yes, use it in prompts")),
        )


def _is_waiting(bullet: Bullet) -> bool:
    is_open = bullet.state == "quarantined" or bullet.doubt is not Doubt.NONE
    return is_open and bullet.state not in ("disabled", "deleted")


def _replaced_texts(ctx: ActionContext, bullet: Bullet) -> Iterator[str]:
    bullets = ctx.session.playbook.bullets
    for name in bullet.replaces:
        if name in bullets:
            yield f"instead of {name} {bullets[name].content}"


def _ask_about_stale(bullet: Bullet) -> Question:
    return Question(
        bullet.id,
        f"{bullet.id} {bullet.content}",
        f"stale: {bullet.stale}",
        title=f"Keep {bullet.id}?",
        answers=tuple(_decide(bullet, "yes, it still holds")),
    )
