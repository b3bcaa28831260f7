"""What the demo model learns from a turn's digest: tags and lessons that the recorded calls prove, or nothing."""

from __future__ import annotations

import json
import re
from typing import Any

from swecli.llm.demo.bullets import Note, words

_FENCED = re.compile(r"```json\s*\n(.*?)\n\s*```", re.DOTALL)
_DISPLEASED = re.compile(r"^\s*(?:no\b|nope\b|wrong\b|that(?:'s| is| was) (?:wrong|not)|not what)", re.IGNORECASE)
# exit codes that speak of the command line itself: misuse, nothing to do, not executable, not found
_MISUSED = frozenset({2, 4, 5, 64, 126, 127})
MOST_WORDS = 60
MOST_ADDED = 3
Json = dict[str, Any]


def reflect(text: str) -> str:
    """The answer to a reflection request: one JSON object, empty lists where the digest proves nothing.

    `text` is the request's last user message with its digest in a fenced json block.
    """
    digest = _digest(text)
    return json.dumps({"tags": _tags(digest), "add": _lessons(digest)[:MOST_ADDED]}, ensure_ascii=False)


def _digest(text: str) -> Json:
    for block in reversed(_FENCED.findall(text)):
        try:
            value = json.loads(block)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return {}


def _list(digest: Json, key: str) -> list[Any]:
    value = digest.get(key)
    return value if isinstance(value, list) else []


def _calls(digest: Json) -> list[Json]:
    return [call for call in _list(digest, "calls") if isinstance(call, dict)]


def _parameter(call: Json, name: str) -> str:
    parameters = call.get("parameters")
    return str(parameters.get(name) or "") if isinstance(parameters, dict) else ""


def _passed(call: Json) -> bool:
    return bool(call.get("ok")) and call.get("exit_code") in (None, 0)


def _ran(call: Json) -> bool:
    """Whether it is a command that really ended, with an exit code."""
    return call.get("name") == "run_command" and isinstance(call.get("exit_code"), int)


def _tags(digest: Json) -> list[Json]:
    cited = [str(name) for name in _list(digest, "cited")]
    shown = [
        Note(str(n["id"]), str(n.get("content") or ""))
        for n in _list(digest, "shown")
        if isinstance(n, dict) and "id" in n
    ]
    found = ((note.id, _judge(note, note.id in cited, digest)) for note in shown)
    return [{"id": name, "tag": verdict[0], "why": verdict[1]} for name, verdict in found if verdict]


def _judge(note: Note, cited: bool, digest: Json) -> tuple[str, str] | None:
    """A tag and its reason: what became of the note's own command first, then the user's word, then nothing."""
    commands = note.commands()
    for call in reversed(_calls(digest)):
        command = _parameter(call, "command")
        if _ran(call) and command in commands:
            return _verdict(call), f"its command `{command}` ended with exit code {call.get('exit_code')}"
    if not cited:
        return None
    said = str(digest.get("user_said") or "")
    if _DISPLEASED.match(said):
        return "harmful", f"the answer followed it and the user said: {said[:120]}"
    return "neutral", "the answer cited it; nothing recorded shows whether it helped"


def _verdict(call: Json) -> str:
    """A command that ran and found a fault did its work: that says nothing against who named it."""
    if _passed(call):
        return "helpful"
    return "harmful" if call.get("exit_code") in _MISUSED else "neutral"


def _lessons(digest: Json) -> list[Json]:
    calls = _calls(digest)
    found = [lesson for index, call in enumerate(calls) for lesson in _after(call, calls[index + 1 :])]
    return list({lesson["content"]: lesson for lesson in found}.values())


def _after(call: Json, later: list[Json]) -> list[Json]:
    """What a failed call teaches together with what came after it."""
    if _passed(call):
        return []
    lessons = [_other_command(call, later), _edit_after_reading(call, later), _found_elsewhere(call, later)]
    return [lesson for lesson in lessons if lesson]


def _other_command(call: Json, later: list[Json]) -> Json | None:
    failed = _parameter(call, "command")
    better = next((c for c in later if _ran(c) and _passed(c) and _alike(_parameter(c, "command"), failed)), None)
    if not _ran(call) or call["exit_code"] not in _MISUSED or better is None:
        return None
    passed = _parameter(better, "command")
    purpose = "tests" if "test" in passed else "commands"
    content = f"Run `{passed}`, not `{failed}`: the latter fails here with exit code {call['exit_code']}."
    return _lesson(
        purpose, content, "strategy", f"{failed} → exit code {call['exit_code']}; {passed} → exit code 0", call
    )


def _alike(command: str, failed: str) -> bool:
    """Whether two different commands share a word: an attempt at the same thing."""
    return command != failed and bool(words(command) & words(failed))


def _edit_after_reading(call: Json, later: list[Json]) -> Json | None:
    path = _parameter(call, "path")
    names = [c.get("name") for c in later if _parameter(c, "path") == path and _passed(c)]
    if call.get("name") != "edit_file" or "read_file" not in names:
        return None
    if "edit_file" not in names[names.index("read_file") :]:
        return None
    content = f"Read `{path}` before editing it: an edit whose text was not taken from the file missed."
    return _lesson(
        "editing", content, "pitfall", f"edit_file {path} failed, read_file {path}, edit_file {path} succeeded", call
    )


def _found_elsewhere(call: Json, later: list[Json]) -> Json | None:
    path = _parameter(call, "path")
    base = path.rsplit("/", 1)[-1]
    read = (_parameter(c, "path") for c in later if c.get("name") == "read_file" and _passed(c))
    real = next((p for p in read if p != path and p.rsplit("/", 1)[-1] == base), "")
    if call.get("name") != "read_file" or not real:
        return None
    return _lesson(
        "files",
        f"`{base}` is at `{real}`, not at `{path}`.",
        "fact",
        f"read_file {path} failed, read_file {real} succeeded",
        call,
    )


def _lesson(section: str, content: str, kind: str, proof: str, call: Json) -> Json | None:
    said = " ".join(str(call.get("error") or call.get("tail") or call.get("head") or "").split())[:120]
    if len(content.split()) > MOST_WORDS:
        return None
    return {
        "section": section,
        "content": content,
        "kind": kind,
        "evidence": f"{call.get('id') or 'call'}: {said or proof}",
    }
