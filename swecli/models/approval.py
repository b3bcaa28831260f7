"""The question whether a call may run, and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

from swecli.values import dataclass

if TYPE_CHECKING:  # the prompt is drawn before anything is asked, and needs no messages
    from swecli.models.message import Display, ToolCall
    from swecli.models.mode import Mode, PlanMode


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A request for the user's approval of a call. `summary` is one line ("Run pytest -q"), `preview` the complete
    effect. `session_rules` are the permission rules that a lasting approval adds, `session_label` their description.
    `session_mode` is the mode that an approval for the session switches to in place of those rules; None: they are
    added. `project_file` is where rules for the project are saved, "" if that is not offered. `why` is set if the
    mode alone would have allowed the call. `remedy` is set if no mode allows it: what would.
    """

    call: ToolCall
    question: str
    summary: str
    preview: Display
    session_label: str = ""
    session_rules: tuple[str, ...] = ()
    session_mode: Mode | None = None
    why: str = ""
    project_file: str = ""
    remedy: str = ""
    # None: approval is asked for; otherwise an answer, which is one of these or another text
    choices: tuple[str, ...] | None = None
    # what the model does without an answer, in its words; "": it did not say
    default: str = ""
    # a plan in Markdown, which the user accepts, also with changes, or refuses; "": the question is not about one
    plan: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to an AskRequest. `scope` "session" also switches to its `session_mode`, or adds its `session_rules`
    to the session; "project" saves them in its `project_file`."""

    allow: bool
    scope: Literal["once", "session", "project"] = "once"
    reason: str = ""
    by: Literal["user", "rule", "mode", "session", "headless", "hook"] = "user"
    answer: str = ""  # to a question that is not about approval; of a plan, its accepted text
    plan_mode: PlanMode = "edits"  # in which an accepted plan is carried out


Ask = Callable[[AskRequest], Awaitable[Decision]]
