"""May a call run? Rules, modes, and what was said in this session."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from swecli.models.errors import ConfigError
from swecli.models.message import ToolCall
from swecli.models.tool import Mode, Permission
from swecli.tools import commands, globs
from swecli.tools.base import Plan, Tool
from swecli.tools.paths import sensitive
from swecli.tools.visible import one_line

KINDS: dict[Permission, str] = {"allow": "read", "edit": "edit", "run": "run"}
_RULE = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
PLAN_REFUSAL = (
    "Plan mode is read-only: nothing is changed and nothing is run. Look around, then describe what you would do; "
    "the user leaves plan mode with /mode."
)


@dataclass(frozen=True, slots=True)
class Rule:
    """`run(git status*)`: a kind (run, edit, read) or a tool's name, and what it covers (None: everything of it)."""

    kind: str
    pattern: str | None
    text: str

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Raises ConfigError for what is no rule."""
        match = _RULE.fullmatch(text)
        pattern = match and match.group(2)
        # a path pattern that begins with ! would mean everything else: too easily read wrong
        if match is None or pattern == "" or (match.group(1) != "run" and (pattern or "").startswith("!")):
            raise ConfigError(
                f"{one_line(text)!r} is not a permission rule.",
                "Write it like run(git status*), edit(src/**), read(docs/**) or run.",
            )
        return cls(match.group(1), pattern, text.strip())


class Verdict(NamedTuple):
    """What `decide` says. `why` is for the user and the model; `narrow` means a yes may only cover this very thing."""

    outcome: Literal["allow", "ask", "deny"]
    by: Literal["rule", "mode", "session"]
    why: str = ""
    narrow: bool = False


class Permissions:
    """The permission rules in force: deny wins, then ask, then allow, then the mode.

    `mode` may be set at any time. Rules are `Rule` texts; raises ConfigError for one that cannot be read.
    """

    def __init__(
        self, mode: Mode = "ask", allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()
    ) -> None:
        self.mode: Mode = mode
        self.allow = [Rule.parse(text) for text in allow]
        self.ask = [Rule.parse(text) for text in ask]
        self.deny = [Rule.parse(text) for text in deny]
        self.session: list[Rule] = []

    def allow_for_session(self, rule: str) -> None:
        """Add what the user allowed until the program ends. Raises ConfigError for what is no rule."""
        parsed = Rule.parse(rule)
        if parsed not in self.session:
            self.session.append(parsed)

    def unknown_kinds(self, tool_names: Iterable[str]) -> list[str]:
        """Rules that can never apply: their kind is no tool and none of run, edit, read, fetch."""
        known = {*KINDS.values(), "fetch", *tool_names}
        return [rule.text for rule in (*self.allow, *self.ask, *self.deny) if rule.kind not in known]

    def decide(self, tool: Tool, call: ToolCall, plan: Plan) -> Verdict:
        """Whether the planned call may run, must be asked for, or may not run; who says so and why."""
        if rule := _first(self.deny, lambda r: _covers(r, tool, plan, _touched)):
            return Verdict("deny", "rule", f"The rule {one_line(rule.text)} forbids it.")
        if self.mode == "plan" and tool.permission != "allow":
            return Verdict("deny", "mode", PLAN_REFUSAL)
        if _first(self.session, lambda r: _covers(r, tool, plan, _exact)):
            return Verdict("allow", "session")
        if rule := _first(self.ask, lambda r: _covers(r, tool, plan, _touched)):
            return Verdict("ask", "rule", f"The rule {one_line(rule.text)} wants it asked.", narrow=True)
        if plan.guard:
            if _first(self.allow, lambda r: _covers(r, tool, plan, _exact)):
                return Verdict("allow", "rule")
            return Verdict("ask", "rule", plan.guard, narrow=True)
        if _first(self.session, lambda r: _covers(r, tool, plan, _allowed)):
            return Verdict("allow", "session")
        if _first(self.allow, lambda r: _covers(r, tool, plan, _allowed)):
            return Verdict("allow", "rule")
        unasked = {"ask": ("allow",), "plan": ("allow",), "edits": ("allow", "edit"), "auto": ("allow", "edit", "run")}
        return Verdict("allow" if tool.permission in unasked[self.mode] else "ask", "mode")

    def may_read(self, path: str) -> bool:
        """Whether a search may show what is in the file at this workspace-relative path without asking."""
        barred = (rule for rule in (*self.deny, *self.ask) if rule.kind == "read")
        return not sensitive(path) and not any(r.pattern is None or globs.path_matches(r.pattern, path) for r in barred)


def exact_rule(tool: Tool, plan: Plan) -> str:
    """The rule that covers this subject alone; "" where there is none to name."""
    if not plan.subject:
        return ""
    escape = commands.escaped if tool.permission == "run" else globs.escaped
    return f"{KINDS[tool.permission]}({escape(plan.subject)})"


Fit = Callable[[Permission, str, str], bool]


def _covers(rule: Rule, tool: Tool, plan: Plan, fits: Fit) -> bool:
    if rule.kind != tool.name and rule.kind != KINDS[tool.permission]:
        return False
    if not plan.subject:
        # a tool without a subject (the to-do list) is meant only by its name, or by the whole of a kind that acts
        return rule.pattern is None and (rule.kind == tool.name or tool.permission != "allow") and fits is not _exact
    return fits(tool.permission, "*" if rule.pattern is None else rule.pattern, plan.subject)


def _allowed(permission: Permission, pattern: str, subject: str) -> bool:
    return commands.allows(pattern, subject) if permission == "run" else globs.path_matches(pattern, subject)


def _touched(permission: Permission, pattern: str, subject: str) -> bool:
    return commands.touches(pattern, subject) if permission == "run" else globs.path_matches(pattern, subject)


def _exact(permission: Permission, pattern: str, subject: str) -> bool:
    if permission == "run":
        return commands.exactly(pattern, subject)
    return pattern in (subject, globs.escaped(subject))


def _first(rules: Iterable[Rule], holds: Callable[[Rule], bool]) -> Rule | None:
    return next((rule for rule in rules if holds(rule)), None)
