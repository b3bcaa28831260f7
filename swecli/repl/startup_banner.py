"""The first lines on the screen, and where a resumed session stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from swecli import __version__
from swecli.models.errors import SwecliError
from swecli.models.finding import pluralize
from swecli.repl.render.formatting import format_age, sanitize

if TYPE_CHECKING:
    from swecli.config.settings import Start
    from swecli.models.session import Session
    from swecli.repl.render.screen import Screen

_HELP = ("/help for commands", "Shift+Tab to switch mode")


def _dim(text: str, color: bool) -> str:
    return f"\x1b[2m{text}\x1b[0m" if color else text


def banner(start: Start, color: bool, width: int = 80) -> str:
    """Name and version, the model and why it was chosen, the folder; how to get help; notices."""
    facts = [f"swecli {__version__}", describe_model(start.choice.name, start.choice.why), short_path(start.cwd)]
    lines = wrap_parts([_one(fact) for fact in facts], width)
    if color:
        lines[0] = lines[0].replace("swecli", "\x1b[1mswecli\x1b[0m", 1)
    lines += [_dim(line, color) for line in wrap_parts(_HELP, width)]
    lines += [f"! {_one(notice)}" for notice in start.notices]
    return "\n".join(lines) + "\n\n"


def wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """The parts in as few lines as they take, broken only between parts."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def format_error(error: SwecliError, color: bool) -> str:
    """A failure as one line, with what to do next."""
    mark = "\x1b[31m✗\x1b[0m" if color else "✗"
    return f"{mark} {' · '.join(_one(part) for part in (error.message, error.hint) if part)}\n"


def describe_model(name: str, why: str) -> str:
    """A model as the first line names it."""
    if name.partition("/")[0] == "demo":
        return f"demo model (offline tour{f'; {why}' if why else ''})"
    return f"{name} ({why})" if why else name


def short_path(path: Path) -> str:
    """The path, with the home folder as `~`."""
    try:
        inside = path.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere, or there is no home folder
        return str(path)
    return f"~/{inside}" if inside.parts else "~"


def _one(text: str) -> str:
    return " ".join(sanitize(text).split())


def session_name(session: Session) -> str:
    """Its title, or the beginning of its id."""
    return session.title or session.id[:13]


def show_session(screen: Screen, session: Session) -> None:
    """Print which session this is, the last question and the last answer."""
    turns, last = pluralize(session.interactions, "turn"), format_age(session.updated_at)
    screen.note(f"session {session_name(session)} · {turns} · last used {last}")
    groups = session.group_by_interaction()
    if not groups:
        return
    question, *replies = groups[-1]
    labels = "".join(f" {image['label']}" for image in question.images or ())
    screen.line(f"> {question.content}{labels}", "head")
    answers = [message for message in replies if message.role == "assistant" and message.content]
    if answers:
        screen.markdown(answers[-1].content)
    if not answers or answers[-1].status == "partial":
        screen.note("this turn was not finished")
