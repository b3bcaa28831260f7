"""Hooks as a file declares them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum

from swecli.models.json_value import Json, JsonObject
from swecli.text import one_line
from swecli.values import dataclass

# Seconds: Claude Code's own limits of a command, which a hook's `timeout` replaces, and of one at the end of a session,
# which the user waits for.
DEFAULT_SECONDS = 600.0
SECONDS_AT_THE_END = 5.0


class HookEvent(StrEnum):
    """The points of a session at which hooks are asked, by Claude Code's names."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    STOP = "Stop"
    PRE_COMPACT = "PreCompact"
    SESSION_END = "SessionEnd"


_EVENTS = frozenset(HookEvent)  # their names


@dataclass(frozen=True, slots=True)
class Hook:
    """A declared hook.

    Attributes:
        name: Where it stands: its file, its event, its matcher and its number among those.
        matcher: Which tools, or which causes of its event, it is for; "" for all.
        args: The words of the command; () if `command` is a line of shell.
        condition: A permission rule that a call has to match; "" for none.
        seconds: How long it may run; None: as long as such hooks may.
        must_answer: Whether what it is asked about is refused if it fails.
    """

    name: str
    event: HookEvent
    matcher: str
    command: str
    args: tuple[str, ...] = ()
    condition: str = ""
    seconds: float | None = None
    must_answer: bool = False

    def to_json(self) -> JsonObject:
        """Return what decides when it runs and what it does, without what is as usual."""
        value: JsonObject = {"event": str(self.event), "command": self.command}
        if self.matcher:
            value["matcher"] = self.matcher
        if self.args:
            value["args"] = [*self.args]
        if self.condition:
            value["if"] = self.condition
        if self.must_answer:
            value["onFailure"] = "block"
        return value

    @property
    def time_limit(self) -> float:
        """The seconds after which it is ended."""
        if self.seconds is not None:
            return self.seconds
        is_last = self.event is HookEvent.SESSION_END
        return SECONDS_AT_THE_END if is_last else DEFAULT_SECONDS


@dataclass(frozen=True, slots=True)
class HookFile:
    """The usable hooks of a file, and a line for each thing in it that is not used."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[str, ...] = ()


def parse_hooks(data: bytes, file: str) -> HookFile:
    """Return what a file's bytes declare; `file` names it. Never raises."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        return HookFile(problems=(f"{file} is not valid JSON: {one_line(str(error), 120)}",))
    events = value.get("hooks") if isinstance(value, dict) else None
    if events is None:  # settings without hooks
        return HookFile()
    if not isinstance(events, dict):
        return HookFile(problems=(f'{file}: "hooks" is not an object',))
    if value.get("disableAllHooks") is True:
        return HookFile(problems=(f"{file} turns its hooks off: disableAllHooks",))
    hooks: list[Hook] = []
    problems: list[str] = []
    unknown = [name for name in events if name not in _EVENTS]
    if unknown:
        names = one_line(", ".join(map(str, unknown)), 200)
        problems.append(f"{file}: hooks on {names} never run here: there are no such events")
    for name, groups in events.items():
        if name not in _EVENTS:
            continue
        counts: dict[str, int] = {}
        for matcher, entry in _entries(groups):
            counts[matcher] = counts.get(matcher, 0) + 1
            place = f"{file} {name}[{one_line(matcher, 60)}] {counts[matcher]}"
            try:
                hooks.append(_read_hook(place, HookEvent(name), matcher, entry))
            except ValueError as error:
                problems.append(f"{place} is not used: {error}")
    return HookFile(tuple(hooks), tuple(problems))


def _entries(groups: Json) -> Iterator[tuple[str, Json]]:
    """Yield the matcher of each entry of an event, and the entry; None for what cannot be read."""
    if not isinstance(groups, list):
        yield "", None
        return
    for group in groups:
        if not isinstance(group, dict):
            yield "", None
            continue
        matcher = group.get("matcher")
        entries = group.get("hooks")
        name = matcher if isinstance(matcher, str) else ""
        if not isinstance(entries, list) or not isinstance(matcher, str | None):
            yield name, None
            continue
        for entry in entries:
            yield name, entry


def _read_hook(name: str, event: HookEvent, matcher: str, entry: Json) -> Hook:
    """Return a hook that is written as JSON. Raises ValueError, which says what is wrong."""
    if not isinstance(entry, dict):
        raise ValueError("it is not as hooks are written: [{matcher, hooks: [{type, command}]}]")
    kind = entry.get("type", "command")
    if kind != "command":
        raise ValueError(f"its type is {one_line(str(kind), 40)}, and only command is known")
    command = entry.get("command")
    if not _is_text(command) or not str(command).strip():
        raise ValueError("its command is not a text")
    args = entry.get("args", [])
    if not isinstance(args, list) or not all(map(_is_text, args)):
        raise ValueError("its args are not a list of texts")
    condition = entry.get("if", "")
    if not _is_text(condition):
        raise ValueError("its if is not a text")
    if entry.get("shell", "bash") != "bash":
        raise ValueError("its shell is another one than bash")
    seconds = entry.get("timeout")
    if seconds is not None and not _is_time(seconds):
        raise ValueError("its timeout is not a number of seconds")
    return Hook(
        name,
        event,
        matcher,
        str(command),
        tuple(args),
        str(condition),
        None if seconds is None else float(seconds),
        must_answer=entry.get("onFailure") == "block",
    )


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_time(value: Json) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value < 86_400
