"""Plans that answer from what is in view, mostly without a tool: memory, notes, help, to-do lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from swecli.llm.demo.bullets import Note, bears_on, best_command
from swecli.llm.demo.calls import Call
from swecli.llm.demo.condense import ending
from swecli.llm.demo.intents import More, Recall, Remember, Run, Talk, Todo, Unknown
from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.running import run
from swecli.llm.demo.steps import Plan, one
from swecli.llm.demo.texts import fenced, listed, plural, shortened
from swecli.llm.demo.view import Interaction, View

EXAMPLES = (
    'list the files in src · find files named config · search for "TODO" · where is parse defined?',
    "read README.md lines 1-20 · explain src/app.py · what is this project about?",
    'create notes.txt with "hello" · change "a" to "b" in notes.txt · append "more" to notes.txt',
    "run `git status` · run the tests · review src/app.py",
    "what did we do before? · remember that … · no, that was wrong: …",
)
_WHO = (
    "I am the demo model that ships with swecli: a small set of rules, not a language model. I work "
    "offline, need no key, "
    "and drive the same tools, approvals, window and playbook that a real model would."
)
_REAL = (
    "To use a real model, set its key (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY`) and start with "
    "`swecli -m provider/name`, or say `/model provider/name` here. A local server such as Ollama works too: "
    "`swecli -m ollama/NAME`."
)
MOST_TOLD = 12
MOST_LINES = 60


def _examples() -> str:
    return "\n".join(f"- {line}" for line in EXAMPLES)


def talk(intent: Talk, view: View) -> Plan:
    """Greetings, thanks, help."""
    yield from ()
    return {
        "hello": f"Hello! {_WHO} Say “help” for what I understand.",
        "thanks": "You are welcome.",
        "help": f"{_WHO}\n\nI understand requests like these, also two at once (“list files and then run the "
        f"tests”):\n{_examples()}\n\n{_REAL}",
        "who": f"{_WHO}\n\n{_REAL}",
        "model": _REAL,
    }[intent.topic]


def unknown(intent: Unknown, view: View) -> Plan:
    """What no rule fits: a note of the playbook may know a command or an answer; else this is said plainly."""
    told = best_command(view.notes, intent.text)
    if told:
        command, note = told
        answer = yield from run(Run(command), view)
        return (
            f"{answer}\n\nI have no rule for “{shortened(intent.text, 80)}”, but the playbook named this "
            f"command [{note.id}]."
        )
    fitting = [note for note in view.notes if bears_on(note, intent.text)]
    if fitting:
        notes = "\n".join(f"- {note.text} [{note.id}]" for note in fitting[-3:])
        return f"The playbook has this about it:\n{notes}"
    asked = f"“{shortened(intent.text, 80)}”" if intent.text else "an empty request"
    return (
        f"I am a rule-based demo and have no rule for {asked}. I understand requests like "
        f"these:\n{_examples()}\n\n{_REAL}"
    )


def remember(intent: Remember, view: View) -> Plan:
    """Acknowledge a note; storing it is the reflector's work."""
    yield from ()
    return (
        f"Noted for this conversation: “{shortened(intent.text, 200)}”. I keep nothing myself: after this "
        "turn swecli's reflector "
        "decides what goes into the playbook. `/playbook` shows what it stored."
    )


def todo(intent: Todo, view: View) -> Plan:
    """Write the list with the to-do tool."""
    items = [{"text": item[:500], "status": "pending"} for item in intent.items[:100]]
    outcome = yield from one("Writing the list.", "todo", items=items)
    if not outcome.ok:
        return f"The list was not written: {outcome.first_line()}"
    return f"The to-do list has {plural(len(items), 'item')}:\n" + "\n".join(
        f"- {line}" for line in outcome.plain.split("\n")
    )


def more(intent: More, view: View) -> Plan:
    """Read on in the newest result that was shown in part."""
    following = next((call for made in _newest(view) if (call := _read_on(made)) is not None), None)
    if following is None:
        return "I see no result in view that was shown only in part."
    outcome = yield from one("Reading on.", following.name, **following.parameters)
    if not outcome.ok:
        return f"I could not read on: {outcome.first_line()}"
    lines = outcome.lines()
    text = "\n".join(line for _, line in lines)
    span = f"Lines {lines[0][0]}-{lines[-1][0]}" if lines else "The rest"
    rest = "\n(Say “read on” for more.)" if lines and lines[-1][0] < outcome.total_lines else ""
    return f"{span} of {outcome.total_lines}:\n{fenced(text, MOST_LINES)}{rest}"


def _newest(view: View) -> Iterable[Outcome]:
    return (
        Outcome(m.call, m.result) for part in reversed(view.past) for m in reversed(part.made) if m.result is not None
    )


def _read_on(outcome: Outcome) -> Call | None:
    """The call that reads on in a result, None when all of it was shown."""
    lines = outcome.lines()
    if outcome.call.name in ("read_file", "read_result") and lines:
        last = lines[:MOST_LINES][-1][0]
        kept = {key: value for key, value in outcome.call.parameters.items() if key in ("path", "call_id")}
        span = {"start_line": last + 1, "end_line": last + MOST_LINES}
        return Call(outcome.call.name, kept | span) if last < outcome.total_lines else None
    if outcome.cut_call():
        head = outcome.plain.split("\n[… ")[0].split("\n…\n")[0]
        start = head.count("\n") + 2
        span = {"start_line": start, "end_line": start + MOST_LINES - 1}
        return Call("read_result", {"call_id": outcome.cut_call(), **span})
    return None


def recall(intent: Recall, view: View) -> Plan:
    """Tell what is in view of the past, and that older things may not be."""
    yield from ()
    if intent.focus == "learned":
        return _learned(view.notes)
    if not view.past:
        return (
            "Nothing before this question is in my view. The window sends only the newest completed "
            "interactions; older ones "
            "stay in swecli's store (`/window full` sends them, `/sessions` lists earlier sessions)."
        )
    tell: dict[str, Callable[[View], str]] = {
        "asked": _asked,
        "last": _last,
        "files": _files,
        "commands": _commands,
        "all": _all,
    }
    return tell[intent.focus](view)


def _learned(notes: tuple[Note, ...]) -> str:
    if not notes:
        return "The playbook in my prompt is empty. `/playbook` shows all of it."
    lines = "\n".join(f"- {note.id}: {note.text}" for note in notes)
    return (
        f"{plural(len(notes), 'strategy')} of the playbook {'is' if len(notes) == 1 else 'are'} in my prompt:\n{lines}"
    )


def _asked(view: View) -> str:
    questions = [f"{n}. {shortened(part.query, 160)}" for n, part in enumerate(view.past, 1)]
    return f"In view, oldest first, you asked:\n{_numbered(questions)}"


def _numbered(lines: list[str]) -> str:
    cut = [f"({len(lines) - MOST_TOLD} earlier ones left out)"] if len(lines) > MOST_TOLD else []
    return "\n".join([*cut, *lines[-MOST_TOLD:]])


def _last(view: View) -> str:
    part = view.past[-1]
    done = _done(part)
    return f"Your last request was: “{shortened(part.query, 200)}”. {done[:1].upper()}{done[1:]}."


def _files(view: View) -> str:
    changed = _paths(view.past, ("write_file", "edit_file"))
    read = _paths(view.past, ("read_file",))
    parts = [
        f"Changed: {listed(changed, 20)}." if changed else "No file was changed in what I can see.",
        f"Read: {listed(read, 20)}." if read else "",
    ]
    return " ".join(part for part in parts if part)


def _paths(parts: Iterable[Interaction], names: tuple[str, ...]) -> list[str]:
    made = (m for part in parts for m in part.made if m.call.name in names and m.result is not None)
    return list(dict.fromkeys(m.call.path for m in made if m.call.path and Outcome(m.call, m.result or "").ok))


def _commands(view: View) -> str:
    made = [m for part in view.past for m in part.made if m.call.command]
    lines = [f"- `{m.call.command}`: {ending(m)}" for m in made]
    return f"Commands in view, oldest first:\n{_numbered(lines)}" if lines else "No command was run in what I can see."


def _all(view: View) -> str:
    lines = [f"{n}. “{shortened(part.query, 120)}”: {_done(part)}" for n, part in enumerate(view.past, 1)]
    return f"In view, oldest first:\n{_numbered(lines)}\n\nOlder interactions, if there are any, are not in my window."


def _done(part: Interaction) -> str:
    """What was done for one question, in a few words."""
    told = [_deed(Outcome(made.call, made.result or "")) for made in part.made]
    if told:
        return "; ".join(dict.fromkeys(told))
    return f"I answered “{shortened(part.answer, 80)}”" if part.answer else "no answer is recorded"


def _deed(outcome: Outcome) -> str:
    call = outcome.call
    deed = {
        "read_file": f"read `{call.path}`",
        "write_file": f"wrote `{call.path}`",
        "edit_file": f"changed `{call.path}`",
        "list_files": f"listed `{call.path or '.'}`",
        "search_files": f"searched for `{shortened(str(call.parameters.get('pattern', '')), 60)}`",
        "run_command": f"ran `{shortened(call.command, 60)}`",
    }.get(call.name, f"called {call.name}")
    if outcome.exit_code:
        return f"{deed} (exit code {outcome.exit_code})"
    return deed if outcome.ok else f"{deed} ({'refused' if outcome.refused else 'without success'})"
