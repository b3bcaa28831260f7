"""May a call run? Rules, modes, and what the user allowed for longer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from swecli.config.paths import ProjectRules
from swecli.config.settings import Start
from swecli.models.errors import ConfigError
from swecli.models.message import Mode
from swecli.tools.base import READ, Tool, ToolContext, ToolPlan
from swecli.tools.limits import one_line
from swecli.tools.paths import is_sensitive

_RULE = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_PLAN_REFUSAL = (
    "Plan mode is read-only: nothing is changed, and no command runs that may do more than read. Look around, then "
    "describe what you would do; "
    "the user leaves plan mode with /mode."
)


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """`run(git status*)`: a kind (run, edit, read) or a tool's name, and what it covers (None: everything of it).
    `text` is the rule as it was written, also in the words of another tool."""

    kind: str
    pattern: str | None
    text: str

    @classmethod
    def parse(cls, text: str) -> PermissionRule:
        """Raises ConfigError for what is not a rule."""
        match = _RULE.fullmatch(text)
        pattern = match and match.group(2)
        # a path pattern that begins with ! would mean everything else: too easily read wrong
        if match is None or pattern == "" or (match.group(1) != "run" and (pattern or "").startswith("!")):
            raise ConfigError(
                f"{one_line(text)!r} is not a permission rule.",
                "Write it like run(git status*), edit(src/**), read(docs/**) or run.",
            )
        return cls(*_in_own_words(match.group(1), pattern), text.strip())


_FOREIGN = {"Bash": "run", "Read": "read", "Edit": "edit", "Write": "edit", "MultiEdit": "edit", "WebFetch": "fetch"}


def _in_own_words(kind: str, pattern: str | None) -> tuple[str, str | None]:
    """A rule's kind and pattern, where they are written as Claude Code's in our words. Raises ConfigError for what
    would mean something else here."""
    own = _FOREIGN.get(kind)
    if own is None or pattern in (None, "*", ":*"):
        return own or kind, None if own else pattern
    assert pattern is not None
    words, host = pattern.removesuffix(":*"), pattern.removeprefix("domain:")
    if own == "run" and ":*" not in words:
        words = re.sub(r"[?\[]", r"[\g<0>]", words)  # these stand for themselves there
        return own, words if pattern[-2:] != ":*" else f"{words} *"
    if own == "fetch" and host != pattern:
        return own, host
    if own in ("read", "edit") and not pattern.startswith(("/", "~", "!", "../")):
        return own, f"/{pattern[2:]}" if pattern.startswith("./") else pattern
    hint = {
        "run": "`:*` can only end it: write run(git push *), with * where anything may stand.",
        "fetch": "It names no host: write fetch(docs.python.org).",
    }.get(own, f"Paths start in the folder swecli works in and do not leave it: write {own}(src/**).")
    raise ConfigError(f"{one_line(f'{kind}({pattern})')!r} has more than one meaning here.", hint)


class PermissionVerdict(NamedTuple):
    """What `decide` says. `why` is for the user and the model; `narrow` means a yes may only cover this very thing."""

    outcome: Literal["allow", "ask", "deny"]
    by: Literal["rule", "mode", "session"]
    why: str = ""
    narrow: bool = False


class Permissions:
    """The permission rules in force: deny wins, then ask, then allow, then the mode. `mode` may be set at any time.
    `project` holds the rules the user saved for this folder. What is not a rule is not in force: `broken` has its list
    ("allow", "ask", "deny"), its text and what to do about it; while one of ask or deny is broken, no mode lets run
    what it may have meant. `last` says what became of the last call that was to change or run something, and why."""

    def __init__(
        self,
        mode: Mode = "ask",
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        project: ProjectRules | None = None,
    ) -> None:
        self.mode: Mode = mode
        self.broken: list[tuple[str, str, str]] = []
        self.allow, self.ask, self.deny = (
            self._parsed(name, texts) for name, texts in (("allow", allow), ("ask", ask), ("deny", deny))
        )
        self.saved = project
        self.project = self._parsed("allow", project.rules if project else ())
        self.session: list[PermissionRule] = []
        self.last = ""

    def _parsed(self, name: str, texts: Iterable[str]) -> list[PermissionRule]:
        rules = []
        for text in texts:
            try:
                rules.append(PermissionRule.parse(text))
            except ConfigError as error:
                self.broken.append((name, text, error.hint))
        return rules

    def allow_for_session(self, rule: str) -> PermissionRule:
        """Add what the user allowed until the program ends. Raises ConfigError for what is not a rule."""
        parsed = PermissionRule.parse(rule)
        if parsed not in self.session:
            self.session.append(parsed)
        return parsed

    def allow_for_project(self, rule: str) -> None:
        """Add what the user allowed in this folder and save it. Raises ConfigError: no rule, or it cannot be saved;
        then it holds for the session."""
        self.allow_for_session(rule)
        if self.saved is not None:
            self.saved.add(rule)
            self.project.append(PermissionRule.parse(rule))

    def remove(self, rule: PermissionRule) -> None:
        """Take back what was allowed for the session or the project. Raises ConfigError: the file cannot be written."""
        if rule in self.project and self.saved is not None:
            self.saved.remove(rule.text)
        self.session = [one for one in self.session if one != rule]
        self.project = [one for one in self.project if one != rule]

    def unusable_rules(self, tools: Iterable[Tool]) -> list[str]:
        """Rules that can never apply: they name none of the tools and no kind of theirs."""
        known = {word for tool in tools for word in (tool.name, tool.kind.name)}
        return [rule.text for rule in (*self.allow, *self.ask, *self.deny, *self.session) if rule.kind not in known]

    def decide(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """Whether the planned call may run, must be asked for, or may not run; by what, and why."""
        if rule := _touching(self.deny, tool, plan):
            return PermissionVerdict("deny", "rule", f"The rule {one_line(rule.text)} forbids it.")
        asking = _touching(self.ask, tool, plan)
        if self.mode == "plan" and "plan" not in tool.kind.unasked_in:
            reads = not asking and tool.kind.objection((), plan.subject, ctx) is None
            reads_only = PermissionVerdict("allow", "mode", "read-only")
            return reads_only if reads else PermissionVerdict("deny", "mode", _PLAN_REFUSAL)
        if rule := _exact([*self.session, *self.project], tool, plan):
            return PermissionVerdict("allow", "session", f"you allowed {one_line(rule.text)}")
        if asking:
            return PermissionVerdict("ask", "rule", f"The rule {one_line(asking.text)} asks for approval.", narrow=True)
        if plan.guard:
            if rule := _exact(self.allow, tool, plan):
                return PermissionVerdict("allow", "rule", f"the rule {one_line(rule.text)} allows it")
            return PermissionVerdict("ask", "rule", plan.guard, narrow=True)
        return self._unopposed(tool, plan, ctx)

    def _unopposed(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """What the mode and allow rules say, where nothing is against it."""
        kind = tool.kind
        broken = [text for name, text, _ in self.broken if name != "allow"]
        mode: Mode = "ask" if broken and self.mode != "plan" else self.mode
        if mode in kind.unasked_in:
            return PermissionVerdict("allow", "mode", f"mode {mode}")
        if (why := kind.objection((), plan.subject, ctx)) is None:
            return PermissionVerdict("allow", "mode", "read-only")
        rules: list[PermissionRule] = []
        sources: tuple[tuple[Literal["session", "rule"], list[PermissionRule]], ...] = (
            ("session", [*self.session, *self.project]), ("rule", self.allow)
        )  # fmt: skip
        for by, more in sources:
            rules += (rule for rule in more if _is_about(rule, tool))
            why = kind.objection(["*" if r.pattern is None else r.pattern for r in rules], plan.subject, ctx)
            if why is None:
                names = [one_line(rule.text) for rule in rules if _covers(rule, tool, plan)]
                return PermissionVerdict("allow", by, f"allowed by {', '.join(names)}")
        if self.mode in kind.unasked_in:
            why = f"{one_line(broken[0])!r} is not a permission rule; until it is corrected, you are asked"
        return PermissionVerdict("ask", "mode", why)

    def may_read(self, path: str) -> bool:
        """Whether a search may show what is in the file at this workspace-relative path without asking."""
        barred = (rule for rule in (*self.deny, *self.ask) if rule.kind == READ.name)
        return not is_sensitive(path) and not any(r.pattern is None or READ.touches(r.pattern, path) for r in barred)


def load_permissions(start: Start, root: Path, tools: Iterable[Tool]) -> tuple[Permissions, list[str]]:
    """The rules in force, and what the user should see of those that are not."""
    settings, notices = start.settings, []
    try:
        saved = ProjectRules(start.paths.permissions, root)
    except ConfigError as error:
        saved, notices = None, [f"what you allowed in this folder is not in force: {error}"]
    permissions = Permissions(settings.mode, settings.allow, settings.ask, settings.deny, saved)
    for name, text, hint in permissions.broken:
        layer = settings.origins.get(
            f"{name}: {text}", str(saved.file) if saved and text in saved.rules else "settings"
        )
        line = f"{layer}: the {name} rule {text!r} is not a permission rule and NOT in force. {hint}"
        notices.append(line if name == "allow" else f"{line} Until it is corrected, every mode asks")
    idle = [f"the permission rule {rule} can never apply" for rule in permissions.unusable_rules(tools)]
    return permissions, [*notices, *idle]


def suggest_rule(tool: Tool, plan: ToolPlan, ctx: ToolContext, *, narrow: bool) -> tuple[str, str]:
    """The rule that a longer yes to this call adds, and what it covers in words; ("", "") where there is none.
    `narrow`: only this very thing, not what is like it."""
    if not narrow and plan.session_rule:
        return plan.session_rule, plan.session_label
    if not plan.subject:
        return "", ""
    pattern = "" if narrow else tool.kind.suggest(plan.subject, ctx)
    return f"{tool.kind.name}({pattern or tool.kind.escape(plan.subject)})", one_line(pattern or plan.subject, 60)


def _is_about(rule: PermissionRule, tool: Tool) -> bool:
    return rule.kind in (tool.name, tool.kind.name)


def _touching(rules: Iterable[PermissionRule], tool: Tool, plan: ToolPlan) -> PermissionRule | None:
    """The first deny or ask rule that is about the call, read generously."""
    return next((rule for rule in rules if _covers(rule, tool, plan)), None)


def _covers(rule: PermissionRule, tool: Tool, plan: ToolPlan) -> bool:
    if not _is_about(rule, tool):
        return False
    if not plan.subject:
        # a tool without a subject (the to-do list) is meant only by its name, or by the whole of a kind that acts
        return rule.pattern is None and (rule.kind == tool.name or not tool.kind.is_read_only)
    return rule.pattern is None or tool.kind.touches(rule.pattern, plan.subject)


def _exact(rules: Iterable[PermissionRule], tool: Tool, plan: ToolPlan) -> PermissionRule | None:
    """The first rule that names this very thing."""
    about = (rule for rule in rules if rule.pattern is not None and plan.subject and _is_about(rule, tool))
    return next((rule for rule in about if tool.kind.exact(rule.pattern or "", plan.subject)), None)
