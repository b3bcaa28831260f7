"""Strategies that the calls themselves prove: the command that works here, the habit that saves missed edits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from swecli.models.playbook import Evidence, SessionPlaybook
from swecli.playbook import commands
from swecli.playbook.digest import CallDigest, TurnDigest
from swecli.playbook.learning.proposals import AddProposal
from swecli.playbook.provenance import told_command
from swecli.playbook.signals import EDITS
from swecli.playbook.words import content_words, forbids

LONGEST = 100  # characters of a command worth remembering
RECURS = 2  # missed edits saved by reading, before that is called a habit


def strategies(digest: TurnDigest) -> list[AddProposal]:
    """What this turn's calls prove, in the order they happened."""
    return [*_better_commands(digest), *_read_first(digest)]


def is_new(call_id: str, digest: TurnDigest, playbook: SessionPlaybook) -> bool:
    """Whether the command of a call belongs to a program that no bullet names and the turn before did not run."""
    call = next((c for c in digest.calls if c.id == call_id), None)
    if call is None or not call.command:
        return False
    line = commands.parse(call.command)
    names = content_words(line.runner or line.program)
    earlier = digest.previous.calls if digest.previous else ()
    if any(commands.same_family(commands.parse(c.command), line) for c in earlier if c.command):
        return False
    return bool(names) and not any(names <= content_words(b.content) for b in playbook.bullets.values())


def disproved(content: str, digest: TurnDigest) -> CallDigest | None:
    """The call that shows a bullet to be wrong: the very command it names was the wrong one here, and failed."""
    wrong = [call for call in digest.calls if commands.misused(call)]
    right = [call for call in digest.calls if commands.passed(call)]
    if any(_names(content, call.command) for call in right):
        return None
    return next((call for call in wrong if _names(content, call.command)), None)


def blames_tests(content: str, digest: TurnDigest) -> bool:
    """Whether a text warns of a test command that did its work: it ran, and found a fault."""
    found = (call for call in digest.calls if commands.passed(call) is False and not commands.misused(call))
    return forbids(content) and any(_names(content, c.command) for c in found if commands.parse(c.command).runner)


def _names(content: str, command: str) -> bool:
    spans = re.findall(r"`([^`]+)`", content)
    key = commands.parse(command).key
    if spans:
        return key in [commands.parse(span).key for span in spans]
    return bool(key) and re.search(rf"(?<![\w/-])(?<!-m ){re.escape(key)}(?![\w/-])", content) is not None


def _better_commands(digest: TurnDigest) -> Iterator[AddProposal]:
    """A command that was the wrong one here, and the next of the same program that worked."""
    failed: list[tuple[CallDigest, commands.Line, str]] = []
    for call in digest.calls:
        result = commands.passed(call)
        if result is None:
            continue
        line = commands.parse(call.command)
        misuse = commands.misused(call)
        if result is False and misuse:
            failed.append((call, line, misuse))
        elif result is True:
            match = next((f for f in reversed(failed) if _replaces(line, f[1])), None)
            if match:
                failed.remove(match)
                yield from _instead(match[0], match[2], call, digest)


def _replaces(line: commands.Line, failed: commands.Line) -> bool:
    return line.key != failed.key and commands.same_family(line, failed)


def _instead(failed: CallDigest, misuse: str, worked: CallDigest, digest: TurnDigest) -> Iterator[AddProposal]:
    good, bad = " ".join(worked.command.split()), " ".join(failed.command.split())
    if max(len(good), len(bad)) > LONGEST or "`" in good + bad:
        return
    trust = told_command(worked, digest) or "reasoning"
    evidence = Evidence(
        source="transition",
        quote=f"{bad}: {misuse}; then {good}: passed",
        session_id=digest.session_id,
        interaction=digest.interaction,
        call_id=worked.id,
        trust=trust,
    )
    line = commands.parse(worked.command)
    yield AddProposal(
        content=f"Run `{good}` here, not `{bad}`: that fails ({misuse})",
        section="tests" if line.runner else "commands",
        kind="strategy",
        scope="project",
        trust=trust,
        evidence=(evidence,),
        why="the one failed, the other passed",
    )


def _read_first(digest: TurnDigest) -> Iterator[AddProposal]:
    """Edits that missed and went through after the file was read: worth a strategy only when it happens again."""
    earlier = digest.previous.calls if digest.previous else ()
    saved = [*_saved(earlier), *(now := _saved(digest.calls))]
    if not now or len(saved) < RECURS:
        return
    evidence = tuple(
        Evidence(
            source="stumble",
            quote=f"edit of {call.parameters.get('path')} missed, then worked after reading it",
            session_id=digest.session_id,
            interaction=digest.interaction,
            call_id=call.id,
        )
        for call in now
    )
    yield AddProposal(
        content="Read a file again right before edit_file changes it: edits from memory missed their text here",
        section="editing",
        kind="strategy",
        scope="project",
        trust="reasoning",
        evidence=evidence,
        why=f"{len(saved)} edits missed and then worked after reading",
    )


def _saved(calls: Sequence[CallDigest]) -> list[CallDigest]:
    """Successful edits of files whose edit had missed before and that were read in between."""
    state: dict[str, str] = {}
    saved: list[CallDigest] = []
    for call in calls:
        path = str(call.parameters.get("path", ""))
        if not path or call.denied:
            continue
        if call.name == "edit_file" and not call.ok and call.finished:
            state[path] = "missed"
        elif call.name == "read_file" and call.ok and state.get(path) == "missed":
            state[path] = "read"
        elif call.name in EDITS and call.ok and state.pop(path, "") == "read":
            saved.append(call)
    return saved
