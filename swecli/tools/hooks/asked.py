"""Asks the approved hooks of a run at each point of a session, and takes their answers together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from swecli.config.paths import project_root
from swecli.models.counts import pluralize
from swecli.models.json_value import JsonObject
from swecli.models.message import ToolResult
from swecli.models.mode import Mode
from swecli.models.session import Session
from swecli.tools.hooks.answers import SILENT, Answer, Verdict, failed, merge
from swecli.tools.hooks.approved import HookState, KnownHook, read_hooks
from swecli.tools.hooks.declared import HookEvent
from swecli.tools.hooks.matching import is_for, matches_condition
from swecli.tools.hooks.names import HookedCall
from swecli.tools.hooks.program import Place, run_program
from swecli.tools.hooks.run import HookedRun
from swecli.tools.hooks.transcript import Transcript
from swecli.values import dataclass

_log = logging.getLogger(__name__)
_MODES: Mapping[Mode, str] = {
    "ask": "default",
    "edits": "acceptEdits",
    "plan": "plan",
    "auto": "bypassPermissions",
}


@dataclass(slots=True)
class ApprovedHooks:
    """The hooks of a run. Those that were on when a turn began are asked in it; one whose script changes meanwhile does
    not run, and a call that it would be asked about is not allowed without the user."""

    run: HookedRun
    notices: list[str] = field(default_factory=list)
    _hooks: tuple[KnownHook, ...] = ()
    _were_on: set[str] = field(default_factory=set)  # the names of those that were on in this run
    _reported: set[str] = field(default_factory=set)
    _transcript: Transcript | None = None

    def read(self) -> None:
        """Read the files again. What cannot be used is told once."""
        known_hooks = read_hooks(self.run.start)
        active_hooks: list[KnownHook] = []
        inactive_states: list[HookState] = []
        for known_hook in known_hooks.hooks:
            state = known_hook.state
            was_on = state is HookState.CHANGED and known_hook.hook.name in self._were_on
            if state is HookState.ON or was_on:
                active_hooks.append(known_hook)
            else:
                inactive_states.append(state)
        self._hooks = tuple(active_hooks)
        self._were_on |= {known_hook.hook.name for known_hook in active_hooks}
        lines = [*known_hooks.problems]
        for state in (HookState.NEW, HookState.CHANGED):
            if count := inactive_states.count(state):
                verb = "is" if count == 1 else "are"
                line = f"{pluralize(count, 'hook')} of this project {verb} {state}, and not run"
                lines.append(f"{line}: {self._command} shows what there is")
        for line in lines:
            self._tell(line)

    @property
    def _command(self) -> str:
        return "/hooks approve" if self.run.start.attended else "swecli hooks approve"

    def _tell(self, line: str) -> None:
        if line not in self._reported:
            self._reported.add(line)
            self.notices.append(line)

    async def on_session_start(self, source: str) -> Answer:
        """Ask when a session begins or goes on in this run."""
        event_input: JsonObject = {"source": source}
        return await self._ask(HookEvent.SESSION_START, event_input, {source})

    async def on_session_end(self, session: Session, reason: str) -> Answer:
        """Ask when a session is left."""
        event_input: JsonObject = {"reason": reason}
        return await self._ask(HookEvent.SESSION_END, event_input, {reason}, session=session)

    async def on_prompt(self, prompt: str) -> Answer:
        """Ask before a message of the user is sent."""
        return await self._ask(HookEvent.USER_PROMPT_SUBMIT, {"prompt": prompt})

    async def before_call(self, call: HookedCall) -> Answer:
        """Ask before it is decided whether a call may run."""
        return await self._ask_about(HookEvent.PRE_TOOL_USE, call)

    async def before_question(self, call: HookedCall) -> Answer:
        """Ask before the user is asked about a call."""
        if not self.run.start.attended:
            return SILENT
        return await self._ask_about(HookEvent.PERMISSION_REQUEST, call)

    def has_after(self, call: HookedCall) -> bool:
        """Return whether a hook is asked when this call has run."""
        events = (HookEvent.POST_TOOL_USE, HookEvent.POST_TOOL_USE_FAILURE)
        return any(self._find(event, call.names, call) for event in events)

    async def after_call(self, call: HookedCall, result: ToolResult, duration_ms: int) -> Answer:
        """Ask when a call has run, or failed."""
        duration = {"duration_ms": duration_ms}
        if result.ok:
            response = {"output": result.for_model, **_streams(call, result)}
            return await self._ask_about(
                HookEvent.POST_TOOL_USE, call, {"tool_response": response, **duration}
            )
        failure = {"error": result.for_model, "is_interrupt": result.cancelled, **duration}
        return await self._ask_about(HookEvent.POST_TOOL_USE_FAILURE, call, failure)

    async def before_stop(self, answer: str, *, is_continued: bool) -> Answer:
        """Ask when the model has answered without a call. `is_continued`: a hook has sent it on before."""
        event_input: JsonObject = {
            "stop_hook_active": is_continued,
            "last_assistant_message": answer,
        }
        return await self._ask(HookEvent.STOP, event_input)

    async def before_summary(self, trigger: str, user_request: str) -> Answer:
        """Ask before the conversation is replaced by a summary."""
        event_input: JsonObject = {"trigger": trigger, "custom_instructions": user_request}
        return await self._ask(HookEvent.PRE_COMPACT, event_input, {trigger})

    def close(self) -> None:
        """Remove what was written for hooks."""
        if self._transcript is not None:
            self._transcript.close()
            self._transcript = None

    async def _ask_about(
        self, event: HookEvent, call: HookedCall, more: JsonObject | None = None
    ) -> Answer:
        event_input: JsonObject = {
            "tool_name": call.name,
            "tool_input": call.input,
            "tool_use_id": call.id,
            **(more or {}),
        }
        return await self._ask(event, event_input, call.names, call)

    async def _ask(
        self,
        event: HookEvent,
        event_input: JsonObject,
        names: Collection[str] | None = None,
        call: HookedCall | None = None,
        session: Session | None = None,
    ) -> Answer:
        """Ask all hooks that are for an event at the same time. `names` are what their matchers are compared with;
        None: such an event has no matchers. `session` is the one it is about, None for the current one."""
        hooks = self._find(event, names, call)
        if not hooks:
            return SILENT
        run = self.run
        session = session or run.sessions.current_session
        # a review on the command line has no session
        transcript = self._write_transcript(session) if session is not None else None
        whole: JsonObject = {
            "session_id": session.id if session is not None else "",
            "transcript_path": str(transcript or ""),
            "cwd": str(run.start.cwd.resolve()),
            "permission_mode": _MODES[run.mode()],
            "hook_event_name": str(event),
            **event_input,
        }
        place = Place(
            run.start.cwd.resolve(),
            project_root(run.start.cwd),
            run.start.environ,
            run.open_sandbox(),
            run.guard(),
        )
        answer = merge(
            await _gather(
                [self._ask_one(known_hook, whole, place, transcript) for known_hook in hooks]
            )
        )
        for line in (*answer.messages, *answer.problems):
            self.notices.append(line)
        return answer

    def _write_transcript(self, session: Session) -> Path | None:
        """Return the file with a session's conversation until now; None if it cannot be written."""
        try:
            self._transcript = self._transcript or Transcript()
            return self._transcript.update(session)
        except OSError as error:
            self._tell(f"hooks get no transcript: {error.strerror}")
            return None

    async def _ask_one(
        self, known_hook: KnownHook, event_input: JsonObject, place: Place, transcript: Path | None
    ) -> Answer:
        approval = known_hook.approval
        if approval.state is not HookState.ON:
            return self._answer_for_changed(known_hook)
        return await run_program(
            known_hook, event_input, place, outside=approval.outside, transcript=transcript
        )

    def _answer_for_changed(self, known_hook: KnownHook) -> Answer:
        """Return the answer for a hook that has changed in this run."""
        line = f"the hook {known_hook.hook.name} has {HookState.CHANGED} ({self._command})"
        self._tell(line)
        if known_hook.hook.event is HookEvent.PRE_TOOL_USE:
            return Answer(Verdict.ASK, reason=line)
        return (
            failed(known_hook.hook, f"it has {HookState.CHANGED}")
            if known_hook.hook.must_answer
            else SILENT
        )

    def _find(
        self, event: HookEvent, names: Collection[str] | None, call: HookedCall | None
    ) -> Sequence[KnownHook]:
        return [
            known_hook
            for known_hook in self._hooks
            if known_hook.hook.event is event
            and (names is None or is_for(known_hook.hook.matcher, names))
            and (call is None or matches_condition(known_hook.hook, call))
        ]


async def _gather(answers: Sequence[Awaitable[Answer]]) -> list[Answer]:
    """Wait for all answers; if this is cancelled, end them all before."""
    tasks = [asyncio.ensure_future(answer) for answer in answers]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _streams(call: HookedCall, result: ToolResult) -> JsonObject:
    """Return the result of a command as Claude Code gives it to hooks; {} of other calls."""
    if result.exit_code is None:
        return {"filePath": call.input["file_path"]} if "file_path" in call.input else {}
    return {"stdout": result.for_user.body, "stderr": "", "interrupted": result.cancelled}
