"""Which calls, and which causes of an event, a hook is for."""

from __future__ import annotations

import re
from collections.abc import Collection

from swecli.models.errors import ConfigError
from swecli.tools.hooks.declared import Hook
from swecli.tools.hooks.names import HookedCall
from swecli.tools.permission_rules import PermissionRule

_LIST = re.compile(r"[\w\- ,|]*")


def is_for(matcher: str, names: Collection[str]) -> bool:
    """Return whether a matcher is for something with one of these names. "" and `*` are for everything, names between
    bars or commas for these, and all else is an expression that is looked for in a name. A broken one is for
    nothing."""
    if matcher in ("", "*"):
        return True
    if _LIST.fullmatch(matcher):
        return any(word.strip() in names for word in re.split(r"[,|]", matcher))
    try:
        expression = re.compile(matcher)
    except re.error:
        return False
    return any(expression.search(name) for name in names)


def matches_condition(hook: Hook, call: HookedCall) -> bool:
    """Return whether a call is one that a hook's condition names: a permission rule, which of a command is compared
    with each simple command in it, as a deny rule is. A rule that cannot be read bars nothing, so that the hook
    runs."""
    if not hook.condition:
        return True
    try:
        rule = PermissionRule.parse(hook.condition)
    except ConfigError:
        return True
    return rule.applies(call.tool, call.plan)
