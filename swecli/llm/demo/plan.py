"""The next step of a turn: each intent's plan, replayed over what was done up to the first call not made yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from swecli.llm.demo import answers, changing, looking, running, studying
from swecli.llm.demo.bullets import Note, bears_on, cited_in, names
from swecli.llm.demo.calls import Call
from swecli.llm.demo.intents import (
    LAST_FILE,
    Append,
    DeleteLine,
    Explain,
    FindFiles,
    Intent,
    ListFiles,
    More,
    Overview,
    Read,
    Recall,
    Remember,
    Replace,
    Review,
    Run,
    RunAgain,
    RunTests,
    Search,
    Talk,
    Todo,
    Unknown,
    Write,
    Wrong,
)
from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.parse import parse, understood
from swecli.llm.demo.phrase import looks_like_path, mask
from swecli.llm.demo.rules_talk import correction
from swecli.llm.demo.steps import Halted, Plan, Step
from swecli.llm.demo.texts import plural, shortened
from swecli.llm.demo.view import Made, View

MOST_STEPS = 6
Planner = Callable[[Any, View], Plan]
EDITS = (Write, Replace, Append, DeleteLine)
# Intents that are about the work: notes of the playbook that bear on them are named in the answer.
_TALKING = (Talk, Recall, Remember, Wrong, Unknown)


def next_step(view: View) -> Step:
    """What to say or call next. Total, and bounded: after `MOST_STEPS` steps, or without the tool, it only speaks."""
    made = {m.call.key: m for m in view.now.made}
    plan = _turn(view)
    try:
        step = next(plan)
        while all(call.key in made for call in step.calls):
            step = plan.send([_outcome(call, made) for call in step.calls])
    except StopIteration as end:
        return Step(end.value)
    wanted = {call.key: call for call in step.calls if call.key not in made}
    return _within_limits(Step(step.text, tuple(wanted.values())), view)


def _outcome(call: Call, made: Mapping[str, Made]) -> Outcome:
    result = made[call.key].result
    return Outcome(call, "Interrupted before a result was recorded." if result is None else result)


def _within_limits(step: Step, view: View) -> Step:
    lacking = sorted({call.name for call in step.calls} - view.tools)
    if lacking:
        return Step(f"For this I need the tool {' and '.join(lacking)}, which was not offered to me in this request.")
    if view.now.steps >= MOST_STEPS:
        done = plural(len(view.now.made), "call")
        return Step(f"I stop here: {done} are enough for one request. Ask for the rest by itself, please.")
    return step


def _turn(view: View) -> Plan:
    """The whole turn: each part in order; a refusal ends it, unless its reason says what to do instead."""
    intents = resolved(parse(view.now.query), view)
    try:
        answer = yield from carry_out(intents, view)
    except Halted as halted:
        answer = "\n\n".join([*halted.told, (yield from _after_halt(halted, view))])
    return _with_notes(answer, intents, view)


def carry_out(intents: Sequence[Intent], view: View) -> Plan:
    """The plans of several intents, one behind the other; their answers together."""
    told = []
    for intent in intents:
        if needs_file(intent):
            told.append("Which file do you mean? None was read or changed in what I can see.")
            break
        try:
            told.append((yield from PLANS[type(intent)](intent, view)))
        except Halted as halted:
            halted.told[:0] = told
            raise
    if any(isinstance(intent, EDITS) for intent in intents) and not any(isinstance(i, Run | RunTests) for i in intents):
        told.append((yield from _after_edits(view)))
    return "\n\n".join(part for part in told if part)


def _after_edits(view: View) -> Plan:
    """What a note of the playbook wants done once a file was changed, if one was."""
    changed = any(
        m.call.name in ("write_file", "edit_file") and Outcome(m.call, m.result or "").ok for m in view.now.made
    )
    note = next((note for note in reversed(view.notes) if note.about_after_edits()), None)
    if not changed or note is None or not (note.commands() or note.about_tests()):
        return ""
    intent: Intent = Run(note.commands()[0]) if note.commands() else RunTests()
    answer = yield from PLANS[type(intent)](intent, view)
    return f"{answer}\n\nI did this because of [{note.id}]: {note.text}"


def _after_halt(halted: Halted, view: View) -> Plan:
    outcome = halted.outcome
    what = _deed(outcome.call)
    if outcome.interrupted:
        return f"I was interrupted while {what}, so I stop here. Effects may exist: look before it is done again."
    if outcome.why_not_permitted():
        return (
            f"{what[0].upper()}{what[1:]} is not permitted, and nothing of it was done: {outcome.why_not_permitted()}."
        )
    if not outcome.reason:
        return f"You did not allow {what}, and nothing of it was done. Tell me what you want instead."
    wish = resolved(parse(_wish(outcome.reason)), view)
    told = f"You did not allow {what} and said: “{shortened(outcome.reason, 160)}”."
    if not understood(wish) or any(isinstance(intent, Wrong | Talk | Recall) for intent in wish):
        return f"{told} I stop here: my rules do not tell me what to do instead."
    try:
        answer = yield from carry_out(wish, view)
    except Halted:
        return f"{told} That was not allowed either, so I stop here."
    return f"{told}\n\n{answer}"


def _deed(call: Call) -> str:
    """What a call does, in words that fit behind "while"."""
    if call.command:
        return f"running `{shortened(call.command, 80)}`"
    verb = {"write_file": "writing", "edit_file": "changing", "read_file": "reading", "list_files": "listing"}
    return f"{verb.get(call.name, f'{call.name} with')} `{shortened(call.path, 80)}`"


def _wish(reason: str) -> str:
    """A refusal's reason as a request: "no, use X instead" is "use X"."""
    phrase = mask(reason)
    plain = correction(phrase.masked.removeprefix("no").removeprefix("No"))
    return phrase.raw(plain)


def wrong(intent: Wrong, view: View) -> Plan:
    """Own up, name the notes that were followed, and do what the correction says, if the rules understand it."""
    yield from ()
    if not view.past:
        return "I see no earlier answer of mine in this window. What would be right?"
    followed = ", ".join(f"[{name}]" for name in cited_in(view.past[-1].answer))
    sorry = "Sorry about that." + (f" My last answer followed {followed}." if followed else "")
    again = resolved(corrected(intent.correction, view.past[-1].query), view)
    if not again:
        hint = f" I do not understand “{shortened(intent.correction, 80)}” as a request." if intent.correction else ""
        return f"{sorry}{hint} What would be right? For example: no, that was wrong: run `pytest -q`"
    answer = yield from carry_out(again, view)
    return f"{sorry} Once more:\n\n{answer}"


def corrected(text: str, query: str) -> tuple[Intent, ...]:
    """The requests that a correction of an earlier query amounts to; none when the rules cannot tell."""
    if not text:
        return ()
    intents = parse(text)
    if any(isinstance(intent, Wrong) for intent in intents):
        return ()  # "no, no, no": a correction of a correction would go round
    if understood(intents):
        return intents
    before = parse(query)[0]
    phrase = mask(text)
    if isinstance(before, Run | RunTests | RunAgain):
        return (Run(phrase.parts[0].text if phrase.parts else text),) if phrase.parts or "/" in text else ()
    path = next(iter(phrase.paths(phrase.masked)), text if looks_like_path(text) else "")
    return (_at(before, path),) if path and not isinstance(before, _TALKING) else ()


def _at(intent: Intent, path: str) -> Intent:
    """The same intent for another file or folder. A review of no file in particular is one of all of them."""
    if isinstance(intent, Review) and path == LAST_FILE:
        return Review()
    if isinstance(intent, Read):
        return Read((replace(intent.files[0], path=path),))
    if isinstance(intent, Explain | Review):
        return replace(intent, paths=(path,))
    if isinstance(intent, ListFiles | FindFiles | Search | Write | Replace | Append | DeleteLine):
        return replace(intent, path=path)
    return intent


def resolved(intents: Iterable[Intent], view: View) -> tuple[Intent, ...]:
    """The intents with "it" replaced by the file last spoken of, in this line or before this turn."""
    last, out = view.last_file(), []
    for intent in intents:
        named = [path for path in _paths(intent) if path != LAST_FILE]
        out.append(_at(intent, last) if LAST_FILE in _paths(intent) else intent)
        last = named[-1] if named else last
    return tuple(out)


def needs_file(intent: Intent) -> bool:
    """Whether it is still unclear which file is meant."""
    return LAST_FILE in _paths(intent)


def _paths(intent: Intent) -> list[str]:
    """The files an intent names; folders of listings and searches are none."""
    if isinstance(intent, Read):
        return [file.path for file in intent.files]
    if isinstance(intent, Explain | Review):
        return list(intent.paths)
    return [intent.path] if isinstance(intent, EDITS) else []


def _with_notes(answer: str, intents: Sequence[Intent], view: View) -> str:
    """The answer with the ids of the notes that bear on what was asked or done and are not named in it yet."""
    if all(isinstance(intent, _TALKING) for intent in intents):
        return answer
    fitting = [note for note in view.notes if _bears(note, view) and note.id not in cited_in(answer)]
    if not fitting:
        return answer
    ids = ", ".join(f"[{note.id}]" for note in fitting[-3:])
    return f"{answer}\n\nIn the playbook {ids} {'speaks' if len(fitting) == 1 else 'speak'} of this."


def _bears(note: Note, view: View) -> bool:
    things = [m.call.command for m in view.now.made if m.call.command]
    things += [m.call.path for m in view.now.made if "." in m.call.path.strip("./")]
    return bears_on(note, view.now.query) or names(note, things)


PLANS: dict[type, Planner] = {
    ListFiles: looking.list_files,
    FindFiles: looking.find_files,
    Search: looking.search,
    Read: looking.read,
    Explain: studying.explain,
    Overview: studying.overview,
    Review: studying.review,
    Write: changing.write,
    Replace: changing.replace,
    Append: changing.append,
    DeleteLine: changing.delete_line,
    Run: running.run,
    RunAgain: running.run_again,
    RunTests: running.tests,
    Todo: answers.todo,
    More: answers.more,
    Recall: answers.recall,
    Remember: answers.remember,
    Wrong: wrong,
    Talk: answers.talk,
    Unknown: answers.unknown,
}
