"""Decide whether a call may run: permission rules, modes, and what the user allowed for a session or project."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from swecli.config.paths import ProjectRules
from swecli.config.settings import Start
from swecli.models.errors import ConfigError
from swecli.models.message import Mode
from swecli.tools.base import READ, PermissionKind, Tool, ToolContext, ToolPlan
from swecli.tools.files import is_sensitive
from swecli.tools.limits import one_line

# The kind of rules for commands that run outside the sandbox; those of the kind `run` let them run in it.
OUTSIDE = "outside"
_RULE = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_PLAN_REFUSAL = (
    "Plan mode is read-only: nothing is changed, and no command runs that may do more than read. Look around, then "
    "describe what you would do; the user leaves plan mode with /mode."
)


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A rule like `run(git status*)`: a permission kind or a tool's name, and a pattern (None matches everything).
    `text` is the rule as written, possibly in the syntax of Claude Code."""

    kind: str
    pattern: str | None
    text: str

    @classmethod
    def parse(cls, text: str) -> PermissionRule:
        """Parse a rule. Raises ConfigError."""
        match = _RULE.fullmatch(text)
        pattern = match and match.group(2)
        # a path pattern that begins with ! would match everything else, which is easily misread
        if (
            match is None
            or pattern == ""
            or (match.group(1) not in ("run", OUTSIDE) and (pattern or "").startswith("!"))
        ):
            raise ConfigError(
                f"Invalid permission rule {one_line(text)!r}.",
                "Write it like run(git status*), edit(src/**), read(docs/**) or run.",
            )
        return cls(*_translate(match.group(1), pattern), text.strip())

    def is_for(self, tool: Tool) -> bool:
        """Return whether the rule names the tool or its kind."""
        return self.kind in (tool.name, tool.kind.name)

    def applies(self, tool: Tool, plan: ToolPlan) -> bool:
        """Return whether the rule, as a deny or ask rule, applies to the call."""
        is_for_outside = bool(plan.outside) and self.kind == OUTSIDE
        if not self.is_for(tool) and not is_for_outside:
            return False
        if not plan.subject:
            # without a subject (the to-do list) only a tool's name matches, or a whole kind that is not read-only
            return self.pattern is None and (self.kind == tool.name or not tool.kind.is_read_only)
        return self.pattern is None or tool.kind.touches(self.pattern, plan.subject)

    def is_exact(self, tool: Tool, plan: ToolPlan) -> bool:
        """Return whether the rule matches this subject and no other."""
        is_exact = self.pattern and plan.subject and tool.kind.exact(self.pattern, plan.subject)
        return bool(is_exact and self.is_for(tool))


_FOREIGN = {
    "Bash": "run",
    "Read": "read",
    "Edit": "edit",
    "Write": "edit",
    "MultiEdit": "edit",
    "WebFetch": "fetch",
}


def _translate(kind: str, pattern: str | None) -> tuple[str, str | None]:
    """Return kind and pattern of a rule in swecli's syntax, translated from Claude Code's if necessary. Raises
    ConfigError for a foreign rule that would mean something else here."""
    own = _FOREIGN.get(kind)
    if own is None or pattern in (None, "*", ":*"):
        return own or kind, None if own else pattern
    assert pattern is not None
    words, host = pattern.removesuffix(":*"), pattern.removeprefix("domain:")
    if own == "run" and ":*" not in words:
        words = re.sub(r"[?\[]", r"[\g<0>]", words)  # plain characters in that syntax
        return own, words if pattern[-2:] != ":*" else f"{words} *"
    if own == "fetch" and host != pattern:
        return own, host
    if own in ("read", "edit") and not pattern.startswith(("/", "~", "!", "../")):
        return own, f"/{pattern[2:]}" if pattern.startswith("./") else pattern
    hint = {
        "run": "`:*` is only valid at the end: write run(git push *), with * for any text.",
        "fetch": "It names no host: write fetch(docs.python.org).",
    }.get(own, f"Paths are relative to the working folder and stay inside it: write {own}(src/**).")
    raise ConfigError(f"Ambiguous permission rule {one_line(f'{kind}({pattern})')!r}.", hint)


class PermissionVerdict(NamedTuple):
    """The decision on a call. `why` is for user and model; `exact_only`: a lasting yes may cover only this exact
    subject; `only_reads`: it is allowed because it changes nothing."""

    outcome: Literal["allow", "ask", "deny"]
    by: Literal["rule", "mode", "session"]
    why: str = ""
    exact_only: bool = False
    only_reads: bool = False


_READS = PermissionVerdict("allow", "mode", "read-only", only_reads=True)


class Permissions:
    """The active permission rules: deny wins, then ask, then allow, then the mode, which may be set at any time.
    `project` are the rules that the user saved for this folder, `session` those of this session. `invalid` has (list,
    text, hint) of each invalid rule; while an ask or deny rule is invalid, every mode asks. `last` describes the
    decision on the last call that was not a plain read."""

    def __init__(
        self,
        mode: Mode = "ask",
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        project: ProjectRules | None = None,
    ) -> None:
        self.mode: Mode = mode
        self.invalid: list[tuple[str, str, str]] = []
        self.allow, self.ask, self.deny = (
            self._parse(name, texts)
            for name, texts in (("allow", allow), ("ask", ask), ("deny", deny))
        )
        self.saved = project
        self.project = self._parse("allow", project.rules if project else ())
        self.session: list[PermissionRule] = []
        self.last = ""

    @classmethod
    def load(
        cls, start: Start, root: Path, tools: Mapping[str, Tool]
    ) -> tuple[Permissions, list[str]]:
        """Return the permissions and the notices about rules that are not active."""
        settings, notices = start.settings, []
        try:
            saved = ProjectRules(start.paths.permissions, root)
        except ConfigError as error:
            saved, notices = None, [f"rules saved for this folder are ignored: {error}"]
        permissions = cls(settings.mode, settings.allow, settings.ask, settings.deny, saved)
        for name, text, hint in permissions.invalid:
            source = str(saved.file) if saved and text in saved.rules else "settings"
            layer = settings.origins.get(f"{name}: {text}", source)
            line = f"{layer}: invalid {name} rule {text!r} is IGNORED. {hint}"
            notices.append(
                line if name == "allow" else f"{line} Until it is corrected, every mode asks"
            )
        idle = [
            f"the permission rule {rule} can never apply"
            for rule in permissions.unusable_rules(tools)
        ]
        return permissions, [*notices, *idle]

    def _parse(self, name: str, texts: Iterable[str]) -> list[PermissionRule]:
        rules = []
        for text in texts:
            try:
                rules.append(PermissionRule.parse(text))
            except ConfigError as error:
                self.invalid.append((name, text, error.hint))
        return rules

    def allow_for_session(self, rule: str) -> PermissionRule:
        """Add a rule until the program ends. Raises ConfigError if it is invalid."""
        parsed = PermissionRule.parse(rule)
        if parsed not in self.session:
            self.session.append(parsed)
        return parsed

    def allow_for_project(self, rule: str) -> None:
        """Add a rule and save it for this folder. Raises ConfigError if it is invalid, or cannot be saved; then it
        applies to the session."""
        self.allow_for_session(rule)
        if self.saved is not None:
            self.saved.add(rule)
            self.project.append(PermissionRule.parse(rule))

    def remove(self, rule: PermissionRule) -> None:
        """Remove a rule of the session or project. Raises ConfigError if the file cannot be written."""
        if rule in self.project and self.saved is not None:
            self.saved.remove(rule.text)
        self.session = [one for one in self.session if one != rule]
        self.project = [one for one in self.project if one != rule]

    def unusable_rules(self, tools: Mapping[str, Tool]) -> list[str]:
        """Return the rules that can never apply: they name none of the tools nor their kinds."""
        known = {word for tool in tools.values() for word in (tool.name, tool.kind.name)} | {
            OUTSIDE
        }
        return [
            rule.text
            for rule in (*self.allow, *self.ask, *self.deny, *self.session)
            if rule.kind not in known
        ]

    def decide(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """Return whether the planned call is allowed, needs approval or is denied."""
        if rule := next((rule for rule in self.deny if rule.applies(tool, plan)), None):
            return PermissionVerdict("deny", "rule", f"The rule {one_line(rule.text)} forbids it.")
        asking = next((rule for rule in self.ask if rule.applies(tool, plan)), None)
        if self.mode == "plan" and "plan" not in tool.kind.unasked_in:
            is_refused = asking or plan.outside
            if is_refused or tool.kind.objection((), plan.subject, ctx) is not None:
                return PermissionVerdict("deny", "mode", _PLAN_REFUSAL)
            return _READS
        if plan.outside:
            return self._decide_outside(tool, plan, ctx)
        if rule := next(
            (rule for rule in (*self.session, *self.project) if rule.is_exact(tool, plan)), None
        ):
            return PermissionVerdict("allow", "session", f"by {one_line(rule.text)}")
        if asking:
            return PermissionVerdict(
                "ask",
                "rule",
                f"The rule {one_line(asking.text)} asks for approval.",
                exact_only=True,
            )
        if plan.guard:
            if rule := next((rule for rule in self.allow if rule.is_exact(tool, plan)), None):
                return PermissionVerdict("allow", "rule", f"by {one_line(rule.text)}")
            return PermissionVerdict("ask", "rule", plan.guard, exact_only=True)
        return self._decide_by_mode(tool, plan, ctx)

    def _decide_outside(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """Return the decision on a command outside the sandbox that no rule denies: no mode allows it, and no rule but
        those for it."""
        why = f"It asks to run outside the sandbox: {plan.outside}"
        ask = PermissionVerdict("ask", "rule", why, exact_only=True)
        kind = tool.kind
        rules = [
            rule for rule in (*self.session, *self.project, *self.allow) if rule.kind == OUTSIDE
        ]
        patterns = ["*" if rule.pattern is None else rule.pattern for rule in rules]
        is_named = any(kind.exact(pattern, plan.subject) for pattern in patterns)
        if not is_named:
            if any(rule.applies(tool, plan) for rule in self.ask):
                return ask
            # what only reads needs no rule, and so none of them speaks for it
            if kind.objection((), plan.subject, ctx) is None:
                return ask
            if kind.objection(patterns, plan.subject, ctx) is not None:
                return ask
        names = [one_line(rule.text) for rule in rules if rule.applies(tool, plan)]
        return PermissionVerdict("allow", "rule", f"by {', '.join(names)}")

    def _decide_by_mode(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """Return the decision of mode and allow rules for a call that no rule denies or asks for."""
        kind = tool.kind
        broken = [text for name, text, _ in self.invalid if name != "allow"]
        mode: Mode = "ask" if broken and self.mode != "plan" else self.mode
        if (why := kind.objection((), plan.subject, ctx)) is None:
            return _READS
        if _is_unasked(kind, mode, ctx):
            return PermissionVerdict("allow", "mode", f"mode {mode}")
        rules: list[PermissionRule] = []
        sources: tuple[tuple[Literal["session", "rule"], list[PermissionRule]], ...] = (
            ("session", [*self.session, *self.project]), ("rule", self.allow)
        )  # fmt: skip
        for by, more in sources:
            rules += (rule for rule in more if rule.is_for(tool))
            why = kind.objection(
                ["*" if r.pattern is None else r.pattern for r in rules], plan.subject, ctx
            )
            if why is None:
                names = [one_line(rule.text) for rule in rules if rule.applies(tool, plan)]
                return PermissionVerdict("allow", by, f"by {', '.join(names)}")
        if _is_unasked(kind, self.mode, ctx):
            why = f"the invalid rule {one_line(broken[0])!r} must be corrected first"
        return PermissionVerdict("ask", "mode", why)

    def may_read(self, path: str) -> bool:
        """Return whether a search may show the contents of this workspace-relative path without asking."""
        barred = (rule for rule in (*self.deny, *self.ask) if rule.kind == READ.name)
        return not is_sensitive(path) and not any(
            r.pattern is None or READ.touches(r.pattern, path) for r in barred
        )

    @staticmethod
    def suggest_rule(
        tool: Tool, plan: ToolPlan, ctx: ToolContext, *, exact_only: bool
    ) -> tuple[str, str]:
        """Return the rule that a lasting yes adds, and its label for the question; ("", "") if there is none.
        `exact_only`: the rule covers only this exact subject."""
        if not exact_only and plan.session_rule:
            return plan.session_rule, plan.session_label
        if not plan.subject:
            return "", ""
        kind, exact = tool.kind, tool.kind.exact_label or one_line(plan.subject, 60)
        if plan.outside:
            return f"{OUTSIDE}({kind.escape(plan.subject)})", f"{exact} outside the sandbox"
        if not exact_only and (pattern := kind.suggest(plan.subject, ctx)):
            return f"{kind.name}({pattern})", one_line(pattern, 60)
        return f"{kind.name}({kind.escape(plan.subject)})", exact


def _is_unasked(kind: PermissionKind, mode: Mode, ctx: ToolContext) -> bool:
    """Return whether a mode runs every call of a kind without asking."""
    if mode in kind.unasked_in:
        return True
    if mode not in kind.unasked_in_sandbox or ctx.sandbox is None:
        return False
    return ctx.sandbox.is_active
