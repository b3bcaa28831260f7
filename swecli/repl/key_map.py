"""The actions of the prompt, and the keys of each: the defaults, or those of the user's `[keys]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from prompt_toolkit.keys import ALL_KEYS, KEY_ALIASES

from swecli.config.parsers import closest_name
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.config.parsers import KeyChoice

KeySequence = tuple[str, ...]  # prompt-toolkit's names of keys that are pressed one after the other

_MODIFIERS = {"ctrl": "c-", "shift": "s-"}  # "c-s-left": in this order
_ALT_NAMES = ("alt", "option", "meta")  # a terminal sends Escape before the key
_NAMES_ON_SCREEN = {
    "c-@": "Ctrl+Space",
    "c-h": "Backspace",
    "c-i": "Tab",
    "c-m": "Enter",
    "escape": "Esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_WRITTEN_NAMES = {written.lower(): name for name, written in _NAMES_ON_SCREEN.items()}


@dataclass(frozen=True, slots=True)
class Action:
    """Something that keys do.

    Attributes:
        name: Its name in `[keys]`.
        keys: Its default keys, as they are written there.
        about: What it does.
        is_daily: Whether `/help` shows it on its one screen.
    """

    name: str
    keys: tuple[str, ...]
    about: str
    is_daily: bool = False


ACTIONS = (
    Action("send", ("enter",), "send; while the agent works, queue", True),
    Action("interrupt", ("escape",), "interrupt; queued lines wait until the line is sent", True),
    Action("stop", ("c-c",), "clear the line, then the queue, then interrupt; twice to quit", True),
    Action("next_mode", ("s-tab",), "switch mode: ask, edits, plan", True),
    Action("expand", ("c-o",), "unfold the last output, then all of the turn, then none", True),
    Action("left_turns", ("f4",), "list the turns that are not sent any more"),
    Action("steer", ("c-t",), "send the line to the running turn", True),
    Action("newline", ("c-j", "escape enter"), "new line; so does \\ at the end of a line", True),
    Action("edit_queued", ("up",), "on an empty line: edit the newest queued line"),
    Action("complete", ("tab",), "complete a command or @file; take the line that is offered"),
    Action("history_search", ("c-r",), "search the lines sent before"),
    Action("editor", ("c-g",), "edit the line in $EDITOR"),
    Action("paste_picture", ("c-v",), "attach the picture in the clipboard; its path does too"),
    Action("rewind", ("escape escape",), "on an empty line: go back to before a turn"),
    Action("redraw", ("c-l",), "clear and redraw the screen"),
    Action("suspend", ("c-z",), "stop the program; fg continues it"),
    Action("quit", ("c-d",), "on an empty line: quit"),
)
_ACTIONS_BY_NAME = {action.name: action for action in ACTIONS}


def parse_key(key_text: str) -> KeySequence:
    """Parse keys such as "c-o", "Ctrl+O", "alt+enter", "escape enter" or "f2". Raises ValueError if a terminal cannot
    send them, or if they begin with a letter, which is text."""
    sequence: list[str] = []
    for word in key_text.lower().split():
        sequence += _parse_word(word)
    if not sequence:
        raise ValueError("no key")
    if len(sequence[0]) == 1:
        raise ValueError("a letter alone is text")
    return tuple(sequence)


def _parse_word(word: str) -> list[str]:
    """Parse one key with its modifiers; with Alt, it is two."""
    if word in _WRITTEN_NAMES:
        return [_WRITTEN_NAMES[word]]
    *modifiers, name = word.split("+")
    prefix = "".join(short for long, short in _MODIFIERS.items() if long in modifiers)
    candidates = (f"{prefix}{name}", f"{prefix}{_WRITTEN_NAMES.get(name, name)}")
    keys = [KEY_ALIASES.get(key, key) for key in candidates]
    key = next((key for key in keys if _is_key(key)), "")
    if not key or set(modifiers) - set(_MODIFIERS) - set(_ALT_NAMES):
        raise ValueError("no such key")
    return ["escape", key] if set(modifiers) & set(_ALT_NAMES) else [key]


def _is_key(name: str) -> bool:
    """Return True for a letter and for what a terminal sends as a key; names in <> are of other input."""
    return len(name) == 1 or (name in ALL_KEYS and not name.startswith("<"))


def show_key(sequence: KeySequence) -> str:
    """Return keys as they are called on the screen: "Ctrl+O", "Alt+Enter", "Esc Esc"."""
    if len(sequence) > 1 and sequence[0] == "escape" != sequence[1]:
        return f"Alt+{show_key(sequence[1:])}"
    return " ".join(_show_one(key) for key in sequence)


def _show_one(key: str) -> str:
    if key in _NAMES_ON_SCREEN:
        return _NAMES_ON_SCREEN[key]
    name = key.removeprefix("c-").removeprefix("s-")
    label = _NAMES_ON_SCREEN.get(name, name.capitalize())
    if key.startswith(("s-", "c-s-")):
        label = f"Shift+{label}"
    return f"Ctrl+{label}" if key.startswith("c-") else label


_DEFAULTS = {action.name: tuple(map(parse_key, action.keys)) for action in ACTIONS}


class KeyMap:
    """The keys of each action. What is wrong in `choices` is said in `notices`, and leaves the action's default."""

    def __init__(self, choices: Sequence[KeyChoice] = ()) -> None:
        self.notices: list[str] = []
        self._commands: Mapping[str, str] = {}  # what to type where an action has no key
        chosen_keys: dict[str, tuple[KeySequence, ...]] = {}
        for choice in choices:
            problem = self._find_problem(choice, chosen_keys)
            if problem:
                self.notices.append(f"[keys] {choice}: {problem}")
            else:
                chosen_keys[choice.action] = tuple(map(parse_key, choice.keys))
        taken_keys = _flatten(chosen_keys)
        defaults = {
            name: tuple(key for key in keys if key not in taken_keys)
            for name, keys in _DEFAULTS.items()
        }
        self._keys: Mapping[str, tuple[KeySequence, ...]] = defaults | chosen_keys

    @classmethod
    def without_keys(cls) -> KeyMap:
        """Return the keys where lines are read whole: only the one that the terminal turns into a signal."""
        keys = cls()
        keys._keys = dict.fromkeys(_DEFAULTS, ()) | {"interrupt": (parse_key("c-c"),)}
        keys._commands = {"expand": "/expand", "left_turns": "/window left"}
        return keys

    def _find_problem(
        self, choice: KeyChoice, chosen_keys: Mapping[str, tuple[KeySequence, ...]]
    ) -> str:
        """Return why these keys cannot be those of their action, or ""."""
        action = _ACTIONS_BY_NAME.get(choice.action)
        if action is None:
            closest = closest_name(choice.action, _ACTIONS_BY_NAME)
            hint = f"did you mean {closest}?" if closest else "/help keys lists the actions"
            return f"there is no action {choice.action!r} ({hint})"
        stays = f"{action.name} stays {_show_all(_DEFAULTS[action.name]) or 'without a key'}"
        for key_text in choice.keys:
            try:
                key = parse_key(key_text)
            except ValueError as error:
                return f"{key_text!r} cannot be a key ({error}); {stays}"
            owner = next((name for name, keys in chosen_keys.items() if key in keys), None)
            if owner is not None:
                return f"{key_text!r} is the key of {owner}; {stays}"
        return ""

    def keys_of(self, action: str) -> tuple[KeySequence, ...]:
        """Return the keys of an action; () if it has none."""
        return self._keys[action]

    def is_default(self, action: str) -> bool:
        """Return True if the action has the keys that it has without settings."""
        return self._keys[action] == _DEFAULTS[action]

    @property
    def freed(self) -> list[KeySequence]:
        """The default keys that no action has any more."""
        return sorted(_flatten(_DEFAULTS) - _flatten(self._keys))

    def show(self, action: str) -> str:
        """Return the action's keys as they are called on the screen; "" if it has none."""
        return _show_all(self._keys[action])

    def hint(self, action: str, purpose: str) -> str:
        """Return what to press or type for something, as in "Ctrl+O to expand"; "" if nothing does it."""
        keys = self._keys[action]
        means = show_key(keys[0]) if keys else self._commands.get(action, "")
        return f"{means} {purpose}" if means else ""


def _show_all(keys: Iterable[KeySequence]) -> str:
    return ", ".join(map(show_key, keys))


def _flatten(keys: Mapping[str, tuple[KeySequence, ...]]) -> set[KeySequence]:
    return {key for sequences in keys.values() for key in sequences}
