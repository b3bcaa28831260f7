"""What users do with hooks: list them, look at one, approve them, withdraw that."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from difflib import unified_diff

from swecli.actions.approving import in_pieces, is_agreed, not_recorded, place_without_sandbox, show
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.config.trust import TrustLedger
from swecli.models.action import ActionResult, Invocation
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, UsageError
from swecli.models.json_value import JsonObject
from swecli.redact import redact
from swecli.text import escape_hidden
from swecli.tools.hooks.approved import HookState, KnownHook, read_hooks
from swecli.tools.hooks.files import PROJECT_FILES, user_file
from swecli.tools.limits import one_line


def list_hooks(start: Start, prefix: str) -> ActionResult:
    """List all hooks, without running any."""
    listed = read_hooks(start)
    rows: list[tuple[str, ...]] = []
    value: list[JsonObject] = []
    for number, entry in enumerate(listed.hooks, start=1):
        hook = entry.hook
        command = one_line(redact(_command(entry)), 80)
        rows.append(
            (str(number), str(hook.event), hook.matcher, command, entry.scope, str(entry.state))
        )
        value.append(_to_json(number, entry))
    lines = [*listed.problems]
    if not rows:
        files = ", ".join(PROJECT_FILES)
        lines.append(
            f"There are no hooks. They are declared in {files}, and yours in {user_file(start)}."
        )
    is_waiting = any(entry.state is not HookState.ON for entry in listed.hooks)
    note = (
        f"{prefix}hooks approve shows those that wait, and runs them from then on"
        if is_waiting
        else ""
    )
    head = ("", "event", "for", "command", "whose", "state")
    return ActionResult(value, tuple(lines), head=head if rows else (), rows=tuple(rows), note=note)


def show_hook(start: Start, invocation: Invocation) -> ActionResult:
    """Show one hook. Raises UsageError and BadInput."""
    hooks = read_hooks(start).hooks
    if len(invocation.words) != 1:
        raise UsageError("Give the number of one hook.", f"See `{invocation.prefix}hooks list`.")
    [number] = _numbers(invocation, len(hooks))
    entry = hooks[number - 1]
    lines = [
        f"{entry.hook.name}: {entry.state}",
        *_describe(entry, start, outside=entry.approval.outside),
    ]
    return ActionResult(_to_json(number, entry), tuple(in_pieces(lines)))


async def approve_hooks(start: Start, invocation: Invocation) -> ActionResult:
    """Show hooks of the project, and record them if the user agrees. Raises UsageError and BadInput."""
    hooks = read_hooks(start).hooks
    outside = "--outside" in invocation.flags
    if invocation.words:
        chosen_hooks = [hooks[number - 1] for number in _numbers(invocation, len(hooks))]
        if brought := [entry for entry in chosen_hooks if entry.plugin is not None]:
            raise BadInput(
                f"{brought[0].hook.name} comes with a plug-in: it was approved with that."
            )
        if of_user := [entry for entry in chosen_hooks if entry.scope == "user"]:
            raise BadInput(f"{of_user[0].hook.name} is yours: it runs without an approval.")
    else:
        chosen_hooks = [entry for entry in hooks if entry.state is not HookState.ON]
    approved = [
        entry for entry in hooks if entry.scope == "project" and entry.state is HookState.ON
    ]
    if not chosen_hooks:
        return ActionResult([], ("No hook waits for your approval.",))
    texts = {entry.hook.name: entry.record(outside=outside) for entry in chosen_hooks}
    description: list[str] = []
    for entry in chosen_hooks:
        description += [
            f"{entry.hook.name}: {entry.state}",
            *_describe(entry, start, outside=outside),
        ]
    pieces = show(invocation.face, description)
    if not await is_agreed(invocation, f"Run {pluralize(len(chosen_hooks), 'hook')} from now on?"):
        verdict = f"nothing was approved{invocation.face.how_to_agree}"
        return ActionResult(None, (*pieces, verdict), code=1)
    _check_unchanged(start, texts, outside=outside)
    # hooks may have changed their places: what is recorded under a name may be the approval of another one
    texts = {
        entry.hook.name: entry.record(outside=entry.approval.outside) for entry in approved
    } | texts
    try:
        TrustLedger.find(start.paths).approve_hooks(chosen_hooks[0].root, texts)
    except OSError as error:
        raise not_recorded(error) from error
    line = f"{pluralize(len(chosen_hooks), 'hook')} approved, in use from the next message on"
    return ActionResult([entry.hook.name for entry in chosen_hooks], (*pieces, line))


def withdraw_hooks(start: Start) -> ActionResult:
    """Withdraw the approval of the project's hooks. Raises StoreError."""
    try:
        count = TrustLedger.find(start.paths).forget_hooks(project_root(start.cwd))
    except OSError as error:
        raise not_recorded(error) from error
    return ActionResult({"withdrawn": count}, (f"{pluralize(count, 'approval')} withdrawn",))


def describe_hooks(start: Start) -> str:
    """Return in one line how many hooks run and how many wait, for the checks of an installation."""
    listed = read_hooks(start)
    counts = [
        f"{sum(entry.state is state for entry in listed.hooks)} {state}"
        for state in HookState
        if any(entry.state is state for entry in listed.hooks)
    ]
    return ", ".join([*counts, *listed.problems]) or "none"


def _readable(text: str) -> list[str]:
    """Return the lines of an approval as they can be shown."""
    return [escape_hidden(redact(line), keep="") for line in text.splitlines()]


def _describe(entry: KnownHook, start: Start, *, outside: bool) -> Iterator[str]:
    """Yield each word of what a hook runs; of one that has changed only what is different."""
    hook = entry.hook
    yield f"  when: {hook.event}{f' for {hook.matcher}' if hook.matcher else ''}"
    if hook.condition:
        yield f"  if: {hook.condition}"
    yield f"  runs {_describe_place(entry, start, outside=outside)}, for at most {hook.time_limit:g} s"
    if hook.must_answer:
        yield "  if it fails, what it is asked about is refused"
    before = entry.approved.get(hook.name)
    if entry.state is HookState.CHANGED and before is not None:
        now = _readable(entry.record(outside=outside))
        differences = unified_diff(_readable(before.text), now, "approved", "now", "", "", 3)
        yield from (f"  {line}" for line in differences)
        return
    yield f"  command: {escape_hidden(redact(_command(entry)), keep='')}"
    for path, lines in entry.scripts.items():
        yield f"  {escape_hidden(path, keep='')}:"
        yield from (
            f"    {escape_hidden(redact(line), keep='')}" for line in map(str.rstrip, lines)
        )


def _describe_place(entry: KnownHook, start: Start, *, outside: bool) -> str:
    if outside:
        return "outside the sandbox, as you"
    if place := place_without_sandbox(start):
        return place
    if entry.plugin is not None and entry.plugin.approval.network:
        return "in the sandbox, with network: writes only in this folder and one of its own"
    return "in the sandbox: no network, writes only in this folder"


def _command(entry: KnownHook) -> str:
    hook = entry.hook
    return shlex.join([hook.command, *hook.args]) if hook.args else hook.command


def _to_json(number: int, entry: KnownHook) -> JsonObject:
    return {
        "number": number,
        "name": entry.hook.name,
        "scope": entry.scope,
        "state": str(entry.state),
        "outside": entry.approval.outside,
        **entry.hook.to_json(),
        "command": redact(entry.hook.command),
    }


def _numbers(invocation: Invocation, count: int) -> list[int]:
    """Return the numbers that the user gave. Raises UsageError and BadInput."""
    numbers: list[int] = []
    for word in invocation.words:
        if not word.isdecimal():
            raise UsageError(
                f"{word!r:.40} is no number of a hook.", f"See `{invocation.prefix}hooks list`."
            )
        number = int(word)
        if not 1 <= number <= count:
            raise BadInput(f"There is no hook {number}.", f"See `{invocation.prefix}hooks list`.")
        numbers.append(number)
    return numbers


def _check_unchanged(start: Start, texts: Mapping[str, str], *, outside: bool) -> None:
    """Raise BadInput if a hook is not any more what was shown."""
    now = {entry.hook.name: entry.record(outside=outside) for entry in read_hooks(start).hooks}
    for name, text in texts.items():
        if now.get(name) != text:
            raise BadInput(
                f"{name} changed while you looked at it: nothing was approved.", "Look again."
            )
