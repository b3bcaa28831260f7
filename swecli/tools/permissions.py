"""Decide whether a call may run: permission rules, modes, and what the user allowed for a session or project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from swecli.config.project_rules import ProjectRules
from swecli.config.settings import Start
from swecli.models.added_folder import AddedFolder
from swecli.models.errors import BadInput, ConfigError
from swecli.models.mode import Mode
from swecli.tools.base import EDIT, READ, PermissionKind, Tool, ToolContext, ToolPlan
from swecli.tools.guard import Guard
from swecli.tools.limits import one_line
from swecli.tools.offers import PRESENT_PLAN
from swecli.tools.path_rules import PathRule, RuleList, follow_links
from swecli.tools.permission_rules import OUTSIDE, SERVER_TOOLS, PermissionRule

_PLAN_REFUSAL = (
    "Plan mode is read-only: nothing is changed, and no command runs that may do more than read."
)
_PRESENT = f"Look around, then show the user your plan with {PRESENT_PLAN}."
_DESCRIBE = "Look around, then describe what you would do; the user leaves plan mode with /mode."


class PermissionVerdict(NamedTuple):
    """The decision on a call."""

    outcome: Literal["allow", "ask", "deny"]
    by: Literal["rule", "mode", "session", "hook"]
    reason: str = ""  # for user and model
    exact_only: bool = False  # a lasting yes may cover only this exact subject
    only_reads: bool = False  # it is allowed because it changes nothing
    advice: str = ""  # for the model alone: what it can do instead; "": nothing


_READS = PermissionVerdict("allow", "mode", "read-only", only_reads=True)


class InvalidRule(NamedTuple):
    """A rule that cannot be read."""

    list: str  # "allow", "ask" or "deny"
    text: str
    hint: str


class SessionRules(Protocol):
    """Keeps the rules that the user allowed in a folder for the session in use, as long as the session is kept."""

    def read(self) -> Sequence[str]: ...

    def write(self, rules: Sequence[str], /) -> None:
        """Replace the rules. Raises StoreError and then changes nothing."""


class Folders(Protocol):
    """Keeps the folders that the user added to a workspace for the session in use, as long as the session is kept."""

    def read(self) -> Sequence[AddedFolder]: ...

    def write(self, folders: Sequence[AddedFolder], /) -> None:
        """Replace the folders. Raises StoreError and then changes nothing."""


class _NoFolders:
    def read(self) -> Sequence[AddedFolder]:
        return ()

    def write(self, folders: Sequence[AddedFolder], /) -> None:
        raise BadInput("There is no session to which a folder could be added.")


class _Memory:
    """Keeps rules until the program ends."""

    def __init__(self) -> None:
        self._rules: Sequence[str] = ()

    def read(self) -> Sequence[str]:
        return self._rules

    def write(self, rules: Sequence[str], /) -> None:
        self._rules = rules


class Permissions:
    """The active permission rules, and the mode, which may be set at any time."""

    def __init__(
        self,
        mode: Mode = "ask",
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        project: ProjectRules | None = None,
        session: SessionRules | None = None,
        folders: Folders | None = None,
    ) -> None:
        self.mode: Mode = mode
        self.invalid: list[InvalidRule] = []  # while an ask or deny rule is, every mode asks
        self.allow = self._parse("allow", allow)
        self.ask = self._parse("ask", ask)
        self.deny = self._parse("deny", deny)
        self.saved = project  # the file of the rules that the user saved for this folder
        self.project = self._parse("allow", project.rules if project else ())
        self._session_rules = session or _Memory()
        self.folders = folders or _NoFolders()  # all that were added, also those that are gone
        self.last = ""  # describes the decision on the last call that was not a plain read

    @classmethod
    def load(
        cls,
        start: Start,
        root: Path,
        tools: Mapping[str, Tool],
        session: SessionRules | None = None,
        folders: Folders | None = None,
    ) -> tuple[Permissions, list[str]]:
        """Return the permissions and the notices about rules that are not active."""
        settings = start.settings
        notices: list[str] = []
        project_rules: ProjectRules | None = None
        try:
            project_rules = ProjectRules(start.paths.permissions, root)
        except ConfigError as error:
            notices.append(f"rules saved for this folder are ignored: {error}")
        permissions = cls(
            settings.mode,
            settings.allow,
            settings.ask,
            settings.deny,
            project_rules,
            session,
            folders,
        )
        for name, text, hint in permissions.invalid:
            source = (
                str(project_rules.file)
                if project_rules and text in project_rules.rules
                else "settings"
            )
            layer = settings.origins.get(f"{name}: {text}", source)
            line = f"{layer}: invalid {name} rule {text!r} is IGNORED. {hint}"
            if name != "allow":
                line += " Until it is corrected, every mode asks"
            notices.append(line)
        for rule in permissions.unusable_rules(tools):
            notices.append(f"the permission rule {rule} can never apply")
        return permissions, notices

    def _parse(self, name: str, texts: Iterable[str]) -> list[PermissionRule]:
        rules = []
        for text in texts:
            try:
                rules.append(PermissionRule.parse(text))
            except ConfigError as error:
                self.invalid.append(InvalidRule(name, text, error.hint))
        return rules

    @property
    def session(self) -> list[PermissionRule]:
        """The rules that the user allowed for the session in use, without those that only another version can read."""
        rules = []
        for text in self._session_rules.read():
            with suppress(ConfigError):
                rules.append(PermissionRule.parse(text))
        return rules

    @property
    def _broken_rule(self) -> InvalidRule | None:
        """The first ask or deny rule that cannot be read, because of which every mode asks; None if there is none."""
        return next((rule for rule in self.invalid if rule.list != "allow"), None)

    def allow_for_session(self, rule: str) -> PermissionRule:
        """Add a rule to the session in use. Raises ConfigError if it is invalid."""
        parsed = PermissionRule.parse(rule)
        session_rules = self.session
        if parsed not in session_rules:
            self._write_session([*session_rules, parsed])
        return parsed

    def _write_session(self, rules: Iterable[PermissionRule]) -> None:
        self._session_rules.write([rule.text for rule in rules])

    def allow_for_project(self, rule: str) -> None:
        """Add a rule and save it for this folder. Raises ConfigError if it is invalid, or cannot be saved; then it
        applies to the session."""
        parsed = PermissionRule.parse(rule)
        if self.saved is None:
            self.allow_for_session(rule)
            return
        try:
            self.saved.add(rule)
        except ConfigError:
            self.allow_for_session(rule)
            raise
        self.project.append(parsed)

    def remove(self, rule: PermissionRule) -> None:
        """Remove a rule of the session or project. Raises ConfigError if the file cannot be written."""
        if rule in self.project and self.saved is not None:
            self.saved.remove(rule.text)
        session_rules = self.session
        if rule in session_rules:
            self._write_session(saved_rule for saved_rule in session_rules if saved_rule != rule)
        self.project = [saved_rule for saved_rule in self.project if saved_rule != rule]

    def unusable_rules(self, tools: Mapping[str, Tool]) -> list[str]:
        """Return the rules that can never apply: they name none of the tools nor their kinds, or allow changes
        outside."""
        rules = (*self.allow, *self.ask, *self.deny, *self.session)
        if not rules:
            return []
        kinds = {OUTSIDE, SERVER_TOOLS}
        for tool in tools.values():
            kinds |= {tool.name, tool.kind.name}
        unknown = [rule.text for rule in rules if rule.kind not in kinds]
        # no tool changes what is outside
        outside = [rule.text for rule in self.allow if rule.kind == EDIT.name and rule.is_absolute]
        return [*unknown, *outside]

    def decide(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """Return whether the planned call is allowed, needs approval or is denied. The first line that applies counts:

        1. A deny rule denies it, in every mode, also one for a path that it would touch.
        2. Plan mode denies what may do more than read, what an ask rule names, and what leaves the sandbox.
        3. Outside the sandbox only a rule for that allows it; otherwise it asks.
        4. A rule of the session or folder for exactly this allows it: the user has said yes to it before.
        5. An ask rule asks; so does a command of which it cannot be told whether a deny or ask rule applies.
        6. A guard asks (secrets, protected files), unless an allow rule is for exactly this.
        7. What only reads is allowed, then what the mode allows, then what allow rules allow; all else asks.
        """
        if plan.forbidden:
            return PermissionVerdict("deny", "rule", f"{plan.forbidden}, to tools and commands.")
        denying = _find(self.deny, tool, plan)
        if denying:
            return PermissionVerdict(
                "deny", "rule", f"The rule {one_line(denying.text)} forbids it."
            )
        if self.mode == "plan" and "plan" not in tool.kind.unasked_in:
            return self._decide_in_plan_mode(tool, plan, ctx)
        if plan.outside:
            return self._decide_outside(tool, plan, ctx)
        approved = _find_exact([*self.session, *self.project], tool, plan)
        if approved:
            return PermissionVerdict("allow", "session", f"by {one_line(approved.text)}")
        asking = _find(self.ask, tool, plan)
        if asking:
            reason = f"The rule {one_line(asking.text)} asks for approval."
            return PermissionVerdict("ask", "rule", reason, exact_only=True)
        if reason := self._why_unclear(tool, plan):
            return PermissionVerdict("ask", "rule", reason, exact_only=True)
        if plan.guard:
            return self._decide_guarded(tool, plan)
        return self._decide_by_mode(tool, plan, ctx)

    def _decide_in_plan_mode(
        self, tool: Tool, plan: ToolPlan, ctx: ToolContext
    ) -> PermissionVerdict:
        """Return the decision of plan mode on a call of a kind that may change something."""
        way_out = _PRESENT if ctx.model.is_offered(PRESENT_PLAN) else _DESCRIBE
        refusal = PermissionVerdict("deny", "mode", _PLAN_REFUSAL, advice=way_out)
        if plan.outside:
            return refusal
        if _find(self.ask, tool, plan) or self._why_unclear(tool, plan) or plan.guard:
            return refusal
        if _needs_approval(tool, plan, ctx):
            return refusal
        return _READS

    def _why_unclear(self, tool: Tool, plan: ToolPlan) -> str:
        """Return why it cannot be told whether a deny or ask rule applies to the call, "" if it can."""
        rules = [rule for rule in (*self.deny, *self.ask) if rule.is_for(tool)]
        patterns = [rule.pattern for rule in rules if rule.pattern is not None]
        reason = tool.kind.unclear(patterns, plan.subject) if patterns else ""
        return f"{reason}, and a rule may forbid it: {one_line(rules[0].text)}" if reason else ""

    def _decide_outside(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """Return the decision on a command outside the sandbox that no rule denies: no mode allows it, and no rule but
        those for it."""
        reason = f"It wants to leave the sandbox: {plan.outside}"
        ask = PermissionVerdict("ask", "rule", reason, exact_only=True)
        allowing = [*self.session, *self.project, *self.allow]
        rules = [rule for rule in allowing if rule.kind == OUTSIDE]
        patterns = _patterns(rules)
        is_named = any(tool.kind.exact(pattern, plan.subject) for pattern in patterns)
        if not is_named:
            if _find(self.ask, tool, plan):
                return ask
            # what only reads needs no rule, and so none of them speaks for it
            if not _needs_approval(tool, plan, ctx):
                return ask
            if not tool.kind.coverage(patterns, plan.subject, ctx).is_covered:
                return ask
        return PermissionVerdict("allow", "rule", _source_of(rules, tool, plan))

    def _decide_guarded(self, tool: Tool, plan: ToolPlan) -> PermissionVerdict:
        """Return the decision on a call that every mode asks about."""
        naming = _find_exact(self.allow, tool, plan)
        if naming:
            return PermissionVerdict("allow", "rule", f"by {one_line(naming.text)}")
        exact_only = not plan.guard_is_for_place
        return PermissionVerdict("ask", "rule", plan.guard, exact_only=exact_only)

    def _decide_by_mode(self, tool: Tool, plan: ToolPlan, ctx: ToolContext) -> PermissionVerdict:
        """Return the decision of mode and allow rules for a call that no rule denies or asks for."""
        broken_rule = self._broken_rule
        mode = self.mode
        if broken_rule and mode != "plan":
            mode = "ask"

        if not _needs_approval(tool, plan, ctx):
            return _READS
        if _is_unasked(tool.kind, mode, ctx):
            return PermissionVerdict("allow", "mode", f"mode {mode}")

        matching_rules = [rule for rule in (*self.session, *self.project) if rule.is_for(tool)]
        if tool.kind.coverage(_patterns(matching_rules), plan.subject, ctx).is_covered:
            return PermissionVerdict("allow", "session", _source_of(matching_rules, tool, plan))
        rules = [*matching_rules, *(rule for rule in self.allow if rule.is_for(tool))]
        coverage = tool.kind.coverage(_patterns(rules), plan.subject, ctx)
        if coverage.is_covered:
            return PermissionVerdict("allow", "rule", _source_of(rules, tool, plan))

        reason = coverage.reason
        if broken_rule and _is_unasked(tool.kind, self.mode, ctx):
            reason = f"the invalid rule {one_line(broken_rule.text)!r} must be corrected first"
        return PermissionVerdict("ask", "mode", reason)

    def guard(self, root: Path, tools: Mapping[str, Tool]) -> Guard:
        """Return the guard of a workspace, with the rules as they are now."""
        rules = [*self._path_rules(tools)]
        linked = (follow_links(root, rule) for rule in rules)
        every = [*rules, *(rule for rule in linked if rule is not None)]
        return Guard(root, every, folders=self.usable_folders)

    @property
    def usable_folders(self) -> tuple[AddedFolder, ...]:
        """The added folders that lie where they were added."""
        return tuple(folder for folder in self.folders.read() if folder.is_there)

    def _path_rules(self, tools: Mapping[str, Tool]) -> Iterator[PathRule]:
        """Yield the rules about paths. A deny or ask rule for a path bars it under the name of each tool that reads,
        so that a search does not show what `read_file(private/**)` forbids to read."""
        lists: list[tuple[RuleList, Iterable[PermissionRule]]] = [
            ("deny", self.deny),
            ("approved", (*self.session, *self.project)),
            ("ask", self.ask),
            ("allow", self.allow),
        ]
        path_kinds = {READ.name: READ, EDIT.name: EDIT}
        for name, rules in lists:
            for rule in rules:
                kind: PermissionKind | None = path_kinds.get(rule.kind)
                # without a path, a tool's name is about that tool only
                if kind is None and rule.pattern is not None and rule.kind in tools:
                    kind = tools[rule.kind].kind
                if kind in path_kinds.values():
                    yield PathRule(name, kind is EDIT, rule.pattern, rule.text)

    def suggest_mode(self, tool: Tool, verdict: PermissionVerdict) -> Mode | None:
        """Return the mode that would run all calls of this kind unasked, which a yes for the session switches to: one
        that the footer shows and that ends with the program, like every mode. None if none of them would, short of
        mode auto."""
        if verdict.by != "mode" or self._broken_rule is not None:
            return None
        return "edits" if "edits" in tool.kind.unasked_in else None

    @staticmethod
    def suggest_rules(
        tool: Tool, plan: ToolPlan, ctx: ToolContext, *, exact_only: bool
    ) -> tuple[tuple[str, ...], str]:
        """Return the rules that a lasting yes adds, and their label for the question; ((), "") if there are none.
        `exact_only`: they cover only this exact subject."""
        if not exact_only and plan.session_rule:
            return (plan.session_rule,), plan.session_label
        if not plan.subject or plan.subject.endswith("/"):  # a folder's covers all that is in it
            return (), ""
        kind = tool.kind
        only_this = kind.escape(plan.subject)
        label = kind.exact_label or one_line(plan.subject, 60)
        if plan.outside:
            return (f"{OUTSIDE}({only_this})",), f"{label} outside the sandbox"
        if not exact_only:
            similar = kind.suggest(plan.subject, ctx)
            if similar:
                rules = tuple(f"{kind.name}({pattern})" for pattern in similar)
                return rules, one_line(", ".join(similar), 60)
        return (f"{kind.name}({only_this})",), label


def _find(rules: Iterable[PermissionRule], tool: Tool, plan: ToolPlan) -> PermissionRule | None:
    """Return the first rule that, as a deny or ask rule, applies to the call."""
    return next((rule for rule in rules if rule.applies(tool, plan)), None)


def _find_exact(
    rules: Iterable[PermissionRule], tool: Tool, plan: ToolPlan
) -> PermissionRule | None:
    """Return the first rule that is for this subject and no other."""
    return next((rule for rule in rules if rule.is_exact(tool, plan)), None)


def _patterns(rules: Iterable[PermissionRule]) -> list[str]:
    return ["*" if rule.pattern is None else rule.pattern for rule in rules]


def _source_of(rules: Iterable[PermissionRule], tool: Tool, plan: ToolPlan) -> str:
    """Return the reason that names the rules which allow the call."""
    names = [one_line(rule.text) for rule in rules if rule.applies(tool, plan)]
    return f"by {', '.join(names)}"


def _needs_approval(tool: Tool, plan: ToolPlan, ctx: ToolContext) -> bool:
    """Return whether a call needs a mode or a rule to run, because it may do more than read."""
    return not plan.reads_only and not tool.kind.coverage((), plan.subject, ctx).is_covered


def _is_unasked(kind: PermissionKind, mode: Mode, ctx: ToolContext) -> bool:
    """Return whether a mode runs every call of a kind without asking."""
    if mode in kind.unasked_in:
        return True
    if mode not in kind.unasked_in_sandbox or ctx.commands.sandbox is None:
        return False
    return ctx.commands.sandbox.is_active
