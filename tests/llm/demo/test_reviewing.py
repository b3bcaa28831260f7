"""The demo model reviews this project's own source, and what it says is true."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

from swecli.llm.providers.demo import DemoModel
from swecli.models.finding import SMELLS
from swecli.models.review_events import ReviewFinished
from tests.support.reviews import begin, collect
from tests.support.runtime import make_runtime

SOURCE = Path(__file__).parents[3] / "swecli"
BAD = "def f(a=[]):\n    try:\n        return a\n    except:\n        pass\n" + "def g():\n" + "    x = 1\n" * 70


async def test_it_finds_what_is_true_at_the_right_lines() -> None:
    for name in ("agent/agent.py", "agent/loop.py", "context/fit.py", "store/sqlite.py", "models/ids.py", "app.py"):
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copy(SOURCE / name, name)
    Path("bad.py").write_text(BAD)
    events = await collect(await begin(make_runtime(DemoModel()), "."))
    end = events[-1]
    assert isinstance(end, ReviewFinished)
    assert (end.end, end.lost) == ("done", ())
    assert {(f.line, f.code_smell_type) for f in end.findings if f.path == "bad.py"} == {
        (1, "MUTABLE_SHARED_STATE"), (4, "MISSING_ERROR_HANDLING"), (6, "LONG_METHOD"),
    }  # fmt: skip
    own = [f for f in end.findings if f.path != "bad.py"]
    assert own
    assert all(f.verified and f.code_smell_type in SMELLS for f in end.findings)
    for finding in own:
        if finding.code_smell_type == "LONG_PARAMETER_LIST":
            tree = ast.parse(Path(finding.path).read_text())
            functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
            [found] = [n for n in functions if n.lineno == finding.line]
            assert len([*found.args.posonlyargs, *found.args.args, *found.args.kwonlyargs]) > 7


async def test_every_file_is_read_page_by_page() -> None:
    Path("long.txt").write_text("".join(f"line {n} {'x' * 60}\n" for n in range(1_000)))
    for n in range(9):
        Path(f"m{n}.py").write_text("x = 1\n")
    end = (await collect(await begin(make_runtime(DemoModel()), ".")))[-1]
    assert isinstance(end, ReviewFinished)
    assert end.end == "done"
