"""Where a proposed bullet comes from: the user's words and the work itself, or only what a file, a command or the web
said. A model puts what it read in other words and other languages, so likeness of words alone acquits nobody."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Trust
from swecli.playbook import commands
from swecli.playbook.digest import CallDigest, TurnDigest
from swecli.playbook.gate import BEGINNING, GENERIC
from swecli.playbook.relevance import terms
from swecli.playbook.signals import EDITS
from swecli.playbook.words import containment, content_words

READERS = frozenset({"read_file", "search_files", "list_files"})
OURS = ("command", "path", "pattern", "glob")
WRITTEN = ("new_text", "content")
SHARE = 0.5  # of the words that the user and the calls do not explain
FEW = 2  # shared words that tell; a path, a flag or another made-up word tells alone
MOST = 0.5  # share of a bullet's telling terms, from which on the user's words and the work explain it
SOME = 1 / 3  # the same for what quotes the user, who was not the only one to speak
TALK = 5  # content words from which a result can have told something
QUOTED = 0.5  # share of a quote's words by which it is found in a result
_EVERYDAY = frozenset(term[:BEGINNING] for term in terms(" ".join(GENERIC)))
_REACHES_OUT = re.compile(
    r"\b(?:https?|ftp|ssh|git)://|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/|\|\s*(?:sudo\s+)?\w*sh\b", re.I
)


def trust_of(content: str, digest: TurnDigest, quote: str = "", call_id: str = "") -> Trust:
    """How far a reflector's text may be trusted.

    "repository", "tool" or "web" when it copies what one kind of call brought in: at least half of the words that are
    not the user's, the calls' own, everyday or new ones stand there, and these are at least two, or all, or one that
    nobody comes upon by chance. The same when what it quotes as evidence stands in a result, unless its telling terms
    are mostly the user's and the work's own, or the quoted tests failed and then passed by that work. What quotes the
    user must have something of the user's too, where a result could have told it. Else "reasoning".

    Args:
        content: the text.
        digest: the turn that it was made of.
        quote: its evidence; "" where only its words are to be looked at.
        call_id: the call that the evidence names, "" for none.
    """
    said = content_words(_said(digest))
    own = said | _acted(digest)
    copied = _copied(content, own, digest)
    if not quote or (copied != "reasoning" and not _proved(content, quote, digest, own, SOME)):
        return copied
    origin = _origin(quote, call_id, digest, own)
    if origin is None:
        could_have_told = _lowest(call for call in _heard(digest) if len(call.vocabulary) >= TALK)
        return "reasoning" if could_have_told is None or _explained(content, own) >= SOME else could_have_told
    if _explained(content, own) >= MOST or (origin == "tool" and _proved(content, quote, digest, own)):
        return "reasoning"
    return origin


def told_command(call: CallDigest, digest: TurnDigest) -> Trust | None:
    """What told the assistant to run a command that reaches out of the machine or feeds a shell; None for nothing.

    That such a command passed says nothing about what it does elsewhere.
    """
    if not _REACHES_OUT.search(call.command):
        return None
    foreign = content_words(call.command) - content_words(_said(digest)) - _acted(digest)
    if all(word.isalpha() for word in foreign):
        return None
    return _lowest(call for call in _heard(digest) if foreign & call.vocabulary) or "tool"


def told_earlier(digest: TurnDigest, messages: Sequence[ChatMessage]) -> frozenset[str]:
    """Words of the actions in a digest that a result of still earlier messages brought up before anybody used them."""
    words = frozenset().union(*(_words(call) for call in _heard(digest))) - content_words(_said(digest))
    told: set[str] = set()
    for kind, text in _spoken(messages):
        if not words:
            break
        found = words & (content_words(text) if kind == "own" else _standing(words, text))
        words -= found
        told |= found if kind == "told" else set()
    return frozenset(told)


def _spoken(messages: Sequence[ChatMessage]) -> Iterator[tuple[str, str]]:
    """What was said and done ("own") and what results said ("told"), in order."""
    for message in messages:
        if message.role is Role.USER:
            yield "own", message.content
        for call in message.tool_calls:
            yield "own", _action(call.name, call)
            yield "told", call.result or ""


def _standing(words: frozenset[str], text: str) -> frozenset[str]:
    """Those of the words that stand in a long text; cheaper than to take it apart."""
    any_of = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return frozenset(re.findall(rf"(?<!\w)(?:{any_of})(?!\w)", text.lower()))


def _said(digest: TurnDigest) -> str:
    before = digest.previous
    return f"{digest.query} {digest.why} {before.query if before else ''}"


def _acted(digest: TurnDigest) -> frozenset[str]:
    """Words of what was done: names of tools, commands, paths; not those that a result before it brought up.

    Not of what was written into files either.
    """
    told, own = set(digest.told), set[str]()
    for call in _heard(digest):
        own |= _words(call) - told
        told |= call.vocabulary - own
    return frozenset(own)


def _words(call: CallDigest) -> frozenset[str]:
    return content_words(_action(call.name, call))


def _action(name: str, call: CallDigest | ToolCall) -> str:
    return " ".join([name, *(str(call.parameters[key]) for key in OURS if key in call.parameters)])


def _written(digest: TurnDigest) -> frozenset[str]:
    """Words that were written into files and that no result before had brought up."""
    told, written = set(digest.told), set[str]()
    for call in _heard(digest):
        if call.name in EDITS and call.ok:
            written |= content_words(" ".join(str(call.parameters.get(key, "")) for key in WRITTEN)) - told
        told |= call.vocabulary
    return frozenset(written)


def _heard(digest: TurnDigest) -> tuple[CallDigest, ...]:
    return (*(digest.previous.calls if digest.previous else ()), *digest.calls)


def _copied(content: str, known: frozenset[str], digest: TurnDigest) -> Trust:
    rest = frozenset(w for w in content_words(content) - known - GENERIC if not w.isdigit())
    for trust, words in [*_foreign(_heard(digest)), ("tool", digest.told)]:
        shared = rest & words
        telling = sum(1 if word.isalpha() else FEW for word in shared)
        if shared and telling >= min(FEW, len(rest)) and len(shared) >= SHARE * len(rest):
            return trust
    return "reasoning"


def _origin(quote: str, call_id: str, digest: TurnDigest, own: frozenset[str]) -> Trust | None:
    """The kind of result that a quote stands in; None for the user's words and what was done without being told."""
    literal, words = _plain(quote), content_words(quote)
    if literal in _plain(_said(digest)):
        return None
    named = [call for call in digest.calls if call.id == call_id]
    holding = [call for call in _heard(digest) if words and containment(words, call.vocabulary) >= QUOTED]
    if not holding and words <= own:
        return None
    return _lowest([*named, *holding] or _heard(digest))


def _lowest(calls: Iterable[CallDigest]) -> Trust | None:
    """The least trusted kind of these calls' results; None for no calls."""
    kinds = {_kind(call) for call in calls}
    order: tuple[Trust, ...] = ("web", "tool", "repository")
    return next((kind for kind in order if kind in kinds), None)


def _explained(content: str, known: frozenset[str]) -> float:
    """The share of the text's telling terms that are known, two forms of a word being one; 1 where nothing tells."""
    telling = _beginnings(terms(content)) - _EVERYDAY
    heard = _beginnings(term for word in known for term in terms(word))
    return len(telling & heard) / len(telling) if telling else 1.0


def _proved(content: str, quote: str, digest: TurnDigest, own: frozenset[str], share: float = 0.0) -> bool:
    """Whether the quote is from a command that failed and then passed, and the text from what was done to that end.

    More than `share` of it must be of that work, most of it of the work and of that command's output, and nothing of
    another command that a result had told to run.
    """
    runs = [(call, commands.passed(call)) for call in digest.calls if call.command]
    done = own | _written(digest)
    for at, (worked, result) in enumerate(runs):
        line = commands.parse(worked.command)
        kin = [call for call, _ in runs if commands.same_family(commands.parse(call.command), line)]
        failed = [call for call, before in runs[:at] if before is False and call in kin]
        if result is not True or not failed or _adds_what_was_told(worked, failed[-1], own):
            continue
        proof = (*failed, worked)
        others = frozenset().union(*(content_words(call.command) for call, _ in runs if call not in kin))
        if any(not word.isdigit() for word in content_words(content) & (others - own - GENERIC)):
            continue
        if any(containment(content_words(quote), call.vocabulary) >= QUOTED for call in proof):
            seen = frozenset().union(*(call.vocabulary for call in proof))
            return _explained(content, done) > share and _explained(content, done | seen) >= MOST
    return False


def _adds_what_was_told(worked: CallDigest, failed: CallDigest, own: frozenset[str]) -> bool:
    """Whether the command that passed differs from the one that failed by what a result had told."""
    return bool(content_words(worked.command) - content_words(failed.command) - own - GENERIC)


def _beginnings(found: Iterable[str]) -> frozenset[str]:
    return frozenset(term[:BEGINNING] for term in found)


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def _kind(call: CallDigest) -> Trust:
    if "fetch" in call.name or "web" in call.name or "__" in call.name:
        return "web"
    return "repository" if call.name in READERS else "tool"


def _foreign(calls: Iterable[CallDigest]) -> list[tuple[Trust, frozenset[str]]]:
    """What each kind of call brought in, and all of it together."""
    kinds: dict[Trust, set[str]] = {"web": set(), "tool": set(), "repository": set()}
    for call in calls:
        kinds[_kind(call)] |= call.vocabulary
    everything: list[tuple[Trust, frozenset[str]]] = [(kind, frozenset(words)) for kind, words in kinds.items()]
    return [*everything, ("tool", frozenset().union(*kinds.values()))]
