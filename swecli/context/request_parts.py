"""Measures what a request of a turn consists of, so that its cost can be told by cause."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.context.brought_back import brings_back, without_brought_back
from swecli.context.tokens import TokenCounter
from swecli.models.api_message import ApiMessage
from swecli.models.context import Epoch, interaction_of
from swecli.models.message import HEAD_OPENS
from swecli.models.playbook import Bullet, render_bullets
from swecli.models.request_parts import PartSizes, RequestPart

_BY_ROLE = {"assistant": RequestPart.ANSWERS, "tool": RequestPart.RESULTS}


def measure_parts(
    messages: Sequence[ApiMessage],
    epoch: Epoch | None,
    interaction: int,
    tools_tokens: int,
    counter: TokenCounter,
) -> PartSizes:
    """Return the tokens of each part of a request of turn `interaction`, of keyed messages. The messages were counted
    before, when the request was made to fit: their counts are cached."""
    sizes = dict.fromkeys(RequestPart, 0)
    sizes[RequestPart.TOOLS] = tools_tokens
    for message in messages:
        tokens = counter.count_message(message)
        number = interaction_of(message)
        if message["role"] == "system":
            _add_system(sizes, tokens, message, epoch, counter)
        elif number != interaction:
            sizes[RequestPart.WINDOW] += tokens
        elif brings_back(message):
            [query] = without_brought_back([message])
            sizes[RequestPart.QUERY] += counter.count_message(query)
            sizes[RequestPart.BROUGHT_BACK] += tokens - counter.count_message(query)
        else:
            sizes[_BY_ROLE.get(message["role"], RequestPart.QUERY)] += tokens
    return {part: tokens for part, tokens in sizes.items() if tokens > 0}


def _add_system(
    sizes: dict[RequestPart, int],
    tokens: int,
    message: ApiMessage,
    epoch: Epoch | None,
    counter: TokenCounter,
) -> None:
    """Add the parts of a system message: the playbook and what is left of earlier turns are in its head."""
    text = str(message.get("content") or "")
    head = text.partition(HEAD_OPENS)[2]
    strategies = epoch.strategies if epoch is not None else {}
    playbook = render_bullets(Bullet(name, content) for name, content in strategies.items())
    if playbook not in head:
        playbook = ""
    of_playbook = counter.count(playbook)
    of_outline = max(0, counter.count(head) - of_playbook)
    sizes[RequestPart.PLAYBOOK] += of_playbook
    sizes[RequestPart.OUTLINE] += of_outline
    sizes[RequestPart.SYSTEM] += max(0, tokens - of_playbook - of_outline)
