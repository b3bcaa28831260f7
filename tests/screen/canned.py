"""One turn as a list of events that includes everything a turn can show."""

from __future__ import annotations

from swecli.models.approval import AskRequest
from swecli.models.events import (
    ContextReduced,
    Event,
    Notice,
    ReasoningDelta,
    StepRetried,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    WindowApplied,
)
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import Display, ToolCall, ToolResult, Usage

DIFF = """--- a/swecli/app.py
+++ b/swecli/app.py
@@ -8,7 +8,8 @@
 def build(start):
     settings = start.settings
-    model = make_model(settings.model)
+    choice = choose_model(settings, start.environ)
+    model = make_model(choice.name, settings, start.environ)
     return Runtime(settings, model)
 
 
@@ -120,4 +121,3 @@
 def close(self):
     self.database.close()
-    print("bye")
     return None
"""
ANSWER = """## What it does

The entry point is `main()` in **`__main__.py`**; it looks at the arguments *before* any other import. See
[the guide](https://example.org/guide) for more, or <https://example.org>.

1. Reads the settings
2. Builds the runtime
   - opens the store
   - finds the tools, each in a file of its own, which is a line that has to be wrapped on every narrow screen
3. Shows the prompt

| File | Lines | Purpose |
|:-----|------:|---------|
| `app.py` | 120 | puts the parts together |
| `cli.py` | 88 | reads the arguments, [markup] included |
| 日本語.py | 7 | wide letters 🎉 |

```python
class Runtime:
    \"\"\"Everything a run needs,
    in one place.
    \"\"\"

    def close(self) -> None:
        for part in (self.store, self.tools):  # in this order
            part.close(timeout=2.5, note="done")
        return None


def main() -> int:
    return 0
```

> A quote that goes on for a while, long enough to need a second line on most of the screens.

---

That is all. Euro sign: €, a tag: <div>, an ellipsis…
"""
OUTPUT = (
    "".join(f"tests/test_part_{n}.py {'.' * (n % 9 + 1)}\n" for n in range(40))
    + "2 failed, 118 passed in 3.21s\n"
)


def make_call(number: int, name: str, duration: int = 12, **parameters: object) -> ToolCall:
    return ToolCall(f"call_{number}", name, parameters, duration_ms=duration)


READ = make_call(1, "read_file", path="swecli/app.py")
RUN = make_call(2, "run_command", 3_210, command="pytest -q")
EDIT = make_call(3, "edit_file", path="swecli/app.py")
DENIED = make_call(4, "run_command", command="rm -rf build")
LIST = make_call(5, "list_files", path=".")
MISSING = make_call(6, "read_file", path="nowhere.py")
EDIT_QUESTION, RUN_QUESTION = "Make this change?", "Run this?"
ASK_EDIT = AskRequest(
    EDIT,
    EDIT_QUESTION,
    "Edit swecli/app.py (+2 −2)",
    Display("swecli/app.py", DIFF, "diff"),
    "all changes to files in this workspace",
    ("edit(**)",),
    "edits",
)
ASK_RUN = AskRequest(
    RUN,
    RUN_QUESTION,
    "Run pytest -q && echo ⏎ curl example.org",
    Display(
        "in /home/ann/project", "pytest -q && echo \u202e'hidden'\ncurl example.org", "code", "bash"
    ),
    "this very command",
    ("run(pytest -q)",),
    why="this command reaches out of the workspace",
)


def events() -> list[Event]:
    """Return the events of the turn and of the learning after it."""
    DENIED.reason = "plan mode is read-only"
    files = "\n".join(f"swecli/part_{n}.py" for n in range(12))
    return [
        TurnStarted("s1", 7, "what does it do?", "p/m"),
        WindowApplied(2, 5),
        StepStarted(1),
        StepRetried(2, 1.5, "429 Too Many Requests"),
        *(
            ReasoningDelta(word + " ")
            for word in ("The user wants to know what this program does. " * 14).split(" ")
        ),
        ToolStarted(READ, "Read swecli/app.py 1-80"),
        ToolFinished(
            READ,
            "Read swecli/app.py 1-80",
            ToolResult(True, "1\tx\n" * 80, Display("swecli/app.py", "80 lines")),
        ),
        ToolStarted(LIST, "List ."),
        ToolFinished(LIST, "List .", ToolResult(True, files, Display(".", files))),
        ToolStarted(RUN, "Run pytest -q"),
        ToolProgress(RUN.id, OUTPUT[:200]),
        ToolFinished(
            RUN,
            "Run pytest -q",
            ToolResult(False, OUTPUT, Display("pytest -q: exit code 1", OUTPUT), exit_code=1),
        ),
        ToolStarted(EDIT, "Edit swecli/app.py (+2 −2)"),
        ToolFinished(
            EDIT,
            "Edit swecli/app.py (+2 −2)",
            ToolResult(True, "ok", Display("swecli/app.py", DIFF, "diff")),
        ),
        ToolFinished(
            DENIED, "Run rm -rf build", ToolResult(False, "Not permitted", Display(), denied=True)
        ),
        ToolFinished(
            MISSING,
            "Read nowhere.py",
            ToolResult(
                False, "There is no file nowhere.py.", Display(body="There is no file nowhere.py.")
            ),
        ),
        ContextReduced("old results cleared", 131_000, 80_500),
        StepStarted(2),
        *(TextDelta(ANSWER[at : at + 11]) for at in range(0, len(ANSWER), 11)),
        TurnFinished("done", ANSWER, Usage(1_000, 204, 0, 70, 10), 0.0021, 2, 2_340),
        PlaybookUpdated(7, "d1", ("+ run tests with pytest -q  (P-3)",), added=("P-3",), cost=0.0),
        PlaybookUpdated(
            7, "d2", ("P-1 helped", "P-2 hurt"), waiting=("P-9",), cost=0.0021, tokens=900
        ),
        ReflectionFailed(8, "the provider did not answer", kept=True),
        Notice("The model chosen is demo: no key was found."),
        Notice("AGENTS.md is longer than what is sent of it.", "warning"),
        TurnFailed(
            "openai/gpt-x: no such model (404)", "see swecli models for what can be used", 42
        ),
    ]
