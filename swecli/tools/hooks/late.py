"""The hooks of a run, whose modules are loaded when a file may declare some: the one place where a turn and its calls
ask them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.message import ToolResult
from swecli.models.session import Session
from swecli.tools.hooks.files import may_have_hooks
from swecli.tools.hooks.run import HookedRun
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.tools.hooks.answers import Answer
    from swecli.tools.hooks.asked import ApprovedHooks
    from swecli.tools.hooks.names import HookedCall

# How often in a turn hooks send the model on after its answer: as often as in Claude Code.
MAX_CONTINUATIONS = 8


@dataclass(slots=True)
class Hooks:
    """The hooks of a run, and nothing as long as no file declares one. Those of a turn are the ones that were approved
    when its prompt was sent.

    Attributes:
        end_reason: Why a hook ends the running turn, in its words; None if none does.
    """

    run: HookedRun
    end_reason: str | None = None
    _approved: ApprovedHooks | None = None
    _is_of_task: bool = False
    _continuations: int = 0  # in the running turn
    _session: Session | None = None  # that hooks know to have begun
    _was_summarised: bool = False  # since they were told of its beginning

    @property
    def exist(self) -> bool:
        """Whether a file may declare some, so that `admit` may take a while."""
        return self._approved is not None or may_have_hooks(self.run.start)

    def for_task(self) -> Hooks:
        """Return the hooks of the calls of a task or a review: its prompt and its answer are not the user's."""
        self._load()
        return replace(self, end_reason=None, _is_of_task=True)

    async def admit(self, prompt: str) -> list[str]:
        """Ask the hooks on a new session, and on a prompt, before its turn is prepared. Returns what they add for the
        model. Raises BadInput if one refuses the prompt."""
        approved = self._read_again()
        if approved is None:
            return []
        added = [await self._begin_session(approved), await _ask_about(approved, prompt)]
        return [text for text in added if text]

    async def judge(self, prompt: str) -> None:
        """Ask the hooks on a question beside the conversation. Raises BadInput if one refuses it."""
        approved = self._read_again()
        if approved is not None:
            await _ask_about(approved, prompt)

    def _read_again(self) -> ApprovedHooks | None:
        """Return the hooks that are approved now; None if no file declares one."""
        if self._approved is not None:
            self._approved.read()
        return self._load()

    @property
    def are_loaded(self) -> bool:
        """Whether there may be hooks to ask about calls: the following methods are only for such a run."""
        return self._approved is not None

    def begin_turn(self) -> None:
        """Note that a turn begins, also one whose prompt is not the user's."""
        self.end_reason = None
        self._continuations = 0
        self._load()

    async def before_call(self, call: HookedCall) -> Answer:
        """Ask before it is decided whether a call may run."""
        return self._take(await self._loaded.before_call(call))

    async def before_question(self, call: HookedCall) -> Answer:
        """Ask before the user is asked about a call."""
        return self._take(await self._loaded.before_question(call))

    def has_after(self, call: HookedCall) -> bool:
        """Return whether hooks are asked when this call has run."""
        return self._loaded.has_after(call)

    async def after_call(self, call: HookedCall, result: ToolResult, duration_ms: int) -> Answer:
        """Ask when a call has run, or failed."""
        return self._take(await self._loaded.after_call(call, result, duration_ms))

    @property
    def _loaded(self) -> ApprovedHooks:
        assert self._approved is not None, "are_loaded"
        return self._approved

    async def before_stop(self, answer: str) -> str:
        """Ask whether a turn may end with an answer. Returns what the model is sent on with, "" if it may end."""
        if self._approved is None or self._is_of_task:
            return ""
        is_continued = self._continuations > 0
        decided = self._take(await self._approved.before_stop(answer, is_continued=is_continued))
        if not decided.is_refusal or decided.ends_turn:
            return ""
        if self._continuations >= MAX_CONTINUATIONS:
            line = f"the turn ends although a hook sends the model on: it has done so {MAX_CONTINUATIONS} times"
            self._approved.notices.append(line)
            return ""
        self._continuations += 1
        return decided.reason

    async def before_summary(self, trigger: str, user_request: str) -> str:
        """Ask before the conversation is replaced by a summary, on the user's wish ("manual") or for its length
        ("auto"). Returns what the summary is to focus on. Raises BadInput if a hook refuses it."""
        if self._approved is None or self._is_of_task:
            return user_request
        answer = await self._approved.before_summary(trigger, user_request)
        if answer.is_refusal:
            raise BadInput(f"A hook refuses the summary: {answer.reason}")
        self._was_summarised = True
        return "\n".join(text for text in (user_request, answer.context) if text)

    async def end_session(self, reason: str) -> None:
        """Ask when the session is left whose beginning hooks were told of."""
        if self._approved is not None and self._session is not None:
            await self._approved.on_session_end(self._session, reason)
            self._session = None

    def take_notices(self) -> list[str]:
        """Return, once, the lines for the user."""
        if self._approved is None:
            return []
        lines = [*self._approved.notices]
        self._approved.notices.clear()
        return lines

    def close(self) -> None:
        """Remove what was written for hooks."""
        if self._approved is not None:
            self._approved.close()

    def _load(self) -> ApprovedHooks | None:
        """Return the hooks of the run as they were read last; None if no file may declare any."""
        if self._approved is None and may_have_hooks(self.run.start):
            # late: few use hooks
            from swecli.tools.hooks.asked import ApprovedHooks

            self._approved = ApprovedHooks(self.run)
            self._approved.read()
        return self._approved

    async def _begin_session(self, approved: ApprovedHooks) -> str:
        """Tell the hooks which session a prompt is for, if it is another one than before or was summarised. Returns
        what they add for the model."""
        session = self.run.sessions.session
        previous = self._session
        if previous is not None and previous.id == session.id and not self._was_summarised:
            return ""
        source = "startup" if self.run.start.resume is None else "resume"
        if previous is not None and previous.id == session.id:
            source = "compact"
        elif previous is not None:
            source = "clear" if session.interactions <= 1 else "resume"
            await self.end_session(source)
        self._session = session
        self._was_summarised = False
        return (await approved.on_session_start(source)).context

    def _take(self, answer: Answer) -> Answer:
        """Note that an answer ends the turn."""
        if answer.ends_turn:
            self.end_reason = answer.end_reason
        return answer


async def _ask_about(approved: ApprovedHooks, prompt: str) -> str:
    """Return what the hooks on a prompt add for the model, "" for nothing. Raises BadInput if one refuses it."""
    answer = await approved.on_prompt(prompt)
    if answer.is_refusal or answer.ends_turn:
        reason = answer.reason or answer.end_reason
        raise BadInput(f"A hook refuses this message: {reason}", "Nothing was sent to a model.")
    return answer.context
