"""Plans that change files: look first, make the change, and try once more when the file had moved on."""

from __future__ import annotations

from collections.abc import Generator

from swecli.llm.demo.intents import Append, DeleteLine, Replace, Write
from swecli.llm.demo.looking import Fetched, fetch_end, fetch_whole
from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.spans import Span, deleted_line, extended, holding, occurrences, replaced_words, wider
from swecli.llm.demo.steps import Plan, Step, one
from swecli.llm.demo.texts import fenced, shortened
from swecli.llm.demo.view import View

SURE = 12  # lines of context that make a place unique for practical purposes, where not all of a file is in view
Editing = Generator[Step, list[Outcome], Outcome]


def write(intent: Write, view: View) -> Plan:
    """Write a file; one that may exist is read first, as no file is overwritten unseen."""
    if intent.overwrite:
        before = yield from one(f"Looking whether `{intent.path}` exists.", "read_file", path=intent.path)
        if not before.ok and not before.missing:
            return f"I cannot write `{intent.path}`: {before.first_line()}"
    outcome = yield from one(f"Writing `{intent.path}`.", "write_file", path=intent.path, content=intent.content)
    if outcome.ok:
        return f"Done: `{intent.path}` is written {outcome.counts}."
    if outcome.unseen:
        return f"`{intent.path}` exists already and I left it alone. To replace it, say: overwrite {intent.path} with …"
    return f"`{intent.path}` was not written: {outcome.first_line()}"


def replace(intent: Replace, view: View) -> Plan:
    """Read, check that the text is there, edit."""
    file = yield from fetch_whole(intent.path)
    if file.failure:
        return f"I could not read `{intent.path}`: {file.failure}"
    places = occurrences(file.lines, intent.old, intent.whole_word)
    if not places:
        return _not_there(intent, file)
    if len(places) > 1 and not intent.every:
        where = ", ".join(str(number) for number in places[:10])
        return (
            f"“{shortened(intent.old, 60)}” stands {len(places)} times in `{file.path}` (lines {where}). To "
            "change all of them, "
            f'say: replace all "{shortened(intent.old, 60)}" with "{shortened(intent.new, 60)}" in {file.path}'
        )
    if not intent.new and len(places) == 1 and holding(file.lines, intent.old) == places and _is_line(file, intent.old):
        return (yield from delete_line(DeleteLine(intent.path, places[0]), view))
    edits = replaced_words(file.lines, intent.old, intent.new) if intent.whole_word else ()
    if intent.whole_word and edits is None:
        return (
            f"`{intent.old}` is also a part of longer names in `{file.path}`, so that I cannot rename it "
            "safely by my rules."
        )
    span = Span(intent.old, intent.new, intent.every and len(places) > 1)
    outcome = yield from _edit(file, list(edits or ()) or [span], again=wider(file.lines, span))
    became = f"is now “{shortened(intent.new, 60)}”" if intent.new else "is gone"
    done = f"Done: “{shortened(intent.old, 60)}” {became} in `{file.path}`"
    return _told(outcome, file, f"{done} ({'line' if len(places) == 1 else 'lines'} {_numbers(places)}).")


def append(intent: Append, view: View) -> Plan:
    """Read, then put the text behind the last line that holds something."""
    file = yield from fetch_end(intent.path)
    if file.failure:
        return f"I could not read `{intent.path}`: {file.failure}"
    if file.lines and file.lines[-1][0] != file.total:
        return f"I was not shown the end of `{file.path}`, so I leave it alone."
    span = extended(file.lines, intent.text, context=1 if file.whole else SURE)
    if span is None:
        outcome = yield from one("It is empty: writing it.", "write_file", path=file.path, content=intent.text + "\n")
    else:
        outcome = yield from _edit(file, [span])
    return _told(outcome, file, f"Done: “{shortened(intent.text, 80)}” stands at the end of `{file.path}`.")


def delete_line(intent: DeleteLine, view: View) -> Plan:
    """Read, find the line by number or text, take it out."""
    file = yield from fetch_whole(intent.path)
    if file.failure:
        return f"I could not read `{intent.path}`: {file.failure}"
    numbers = [intent.number] if intent.number else holding(file.lines, intent.text)
    if len(numbers) > 1:
        return f"{len(numbers)} lines of `{file.path}` hold that: {_numbers(numbers)}. Say which number to delete."
    span = deleted_line(file.lines, numbers[0]) if numbers else None
    if span is None:
        return f"`{file.path}` has no such line ({len(file.lines)} lines in view)."
    outcome = yield from _edit(file, [span])
    return _told(outcome, file, f"Done: line {numbers[0]} is gone from `{file.path}`.")


def _edit(file: Fetched, spans: list[Span], again: Span | None = None) -> Editing:
    """Edit; a file that changed in the meantime is read again, and the edit tried once more, told differently."""
    outcome = yield from one(f"Changing `{file.path}`.", "edit_file", path=file.path, edits=[s.edit() for s in spans])
    if not outcome.stale:
        return outcome
    text = f"`{file.path}` changed since I read it: reading it again."
    fresh = yield from one(text, "read_file", path=file.path, start_line=1)
    if not fresh.ok:
        return outcome
    retry = again or Span(spans[0].old, spans[0].new, True)
    return (yield from one("Trying the change on the new text.", "edit_file", path=file.path, edits=[retry.edit()]))


def _told(outcome: Outcome, file: Fetched, done: str) -> str:
    if outcome.ok:
        return done + file.remark
    return f"`{file.path}` was not changed:\n{fenced(outcome.plain, 14)}"


def _is_line(file: Fetched, text: str) -> bool:
    return any(line.strip() == text.strip() for _, line in file.lines)


def _not_there(intent: Replace, file: Fetched) -> str:
    near = next((f"line {n}: `{t.strip()}`" for n, t in file.lines if intent.old.lower() in t.lower()), "")
    hint = f" In other case it stands at {near}." if near else ""
    part = " as far as it was shown to me" if file.remark else ""
    return f"“{shortened(intent.old, 60)}” is not in `{file.path}`{part}.{hint} Nothing was changed."


def _numbers(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers[:10]) + (" …" if len(numbers) > 10 else "")
