"""Test reviews of hostile repositories and malformed answers: one clear error line, no finding lost, no program run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.project import make_project
from tests.support.shell import Run, script


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_project(Path("shop").resolve())
    monkeypatch.chdir(root)
    return root


def run_git(*words: str, check: bool = True) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *author, *words], check=check, capture_output=True)


def script_findings(*rows: dict[str, object]) -> str:
    base = {"path": "shop/prices.py", "line": 3, "code_smell_type": "MAGIC_NUMBERS", "message": "m"}
    found = [{**base, **row} for row in rows]
    call = {"name": "report_findings", "arguments": {"done": True, "findings": found}}
    return script("../s.json", {"calls": [call]})


@pytest.mark.parametrize(
    "row",
    [{"line": 0}, {"line": -4}, {"line": 10**9}, {"path": "../../etc/passwd"}, {"path": "/etc/passwd"}, {"path": "no"}],
)  # fmt: skip
@pytest.mark.slow
def test_a_finding_at_an_invalid_place_is_refuted_and_does_not_fail_the_review(
    run: Run, row: dict[str, object]
) -> None:
    outcome = run("review", "shop", "--no-verify", "--fail-on", "low", "-m", script_findings(row))
    assert (outcome.code, outcome.out) == (0, "No findings.\n")
    [finding] = run("findings", "list", "refuted", "--json").json
    assert finding["why"]


def test_escapes_markup_and_mentions_in_a_finding_are_neutralised(run: Run) -> None:
    words = "\x1b[31mred\x1b[0m <script>alert(1)</script> [bold] @everyone " + "x" * 10_000
    outcome = run("review", "shop", "--no-verify", "-m", script_findings({"message": words}))
    assert "\x1b" not in outcome.out + outcome.err
    text = run("findings", "export").out
    assert "\x1b" not in text
    assert "<script>" not in text
    assert "@everyone" not in text


def test_an_answer_without_a_report_is_shown_and_exits_with_3(run: Run) -> None:
    outcome = run(
        "review", "shop", "-m", script("../s.json", "I cannot review this.", "I still cannot.")
    )
    assert outcome.code == 3
    assert "I still cannot." in outcome.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--base", "no-such"), 42, "no-such"),
        (("HEAD..no-such",), 42, "not a file, commit or range"),
        (("missing.py",), 42, "missing.py"),
        (("x" * 300,), 42, "not a file, commit or range"),
    ],
)
def test_an_empty_or_unknown_review_target_is_an_error_in_one_line(
    run: Run, words: tuple[str, ...], code: int, message: str
) -> None:
    outcome = run("review", *words, "-m", "demo")
    assert outcome.code == code
    assert message in outcome.complaint


def test_a_file_with_conflicts_is_not_read_and_a_detached_head_is_reviewed(
    run: Run, shop: Path
) -> None:
    run_git("checkout", "-q", "-b", "other")
    (shop / "README.md").write_text("other\n")
    run_git("commit", "-qam", "other")
    run_git("checkout", "-q", "--detach", "HEAD~1")
    (shop / "README.md").write_text("mine\n")
    run_git("commit", "-qam", "mine")
    run_git("merge", "other", check=False)
    outcome = run("review", "-m", script_findings())
    assert outcome.code == 3
    assert "not read (conflict markers): README.md" in outcome.err
    run_git("merge", "--abort")
    assert run("review", "HEAD", "--dry-run", "-m", "demo").code == 0


def test_unusual_files_are_planned_or_reported_as_skipped(run: Run, shop: Path) -> None:
    (shop / "crlf.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    (shop / "latin.py").write_bytes(b"# caf\xe9\nx = 1\n")
    (shop / "huge.txt").write_bytes(b"x = 1\n" * 7_000_000)
    (shop / "yarn.lock").write_text("a\n")
    run_git("mv", "shop/prices.py", "shop/rates.py")
    path = shop / "shop/rates.py"
    path.write_text(path.read_text().replace("0.19", "0.2"))
    outcome = run("review", "--dry-run", "-m", "demo")
    assert outcome.code == 0
    assert "huge.txt is too large" in outcome.out
    assert "1 lock" in outcome.out


def test_a_linguist_generated_attribute_in_the_change_skips_no_file(run: Run, shop: Path) -> None:
    (shop / ".gitattributes").write_text("*.py linguist-generated\n")
    path = shop / "shop/prices.py"
    path.write_text(path.read_text().replace("0.19", "0.2"))
    assert "skipped" not in run("review", "--dry-run", "-m", "demo").out


@pytest.mark.slow
def test_programs_configured_by_the_repository_are_not_run(run: Run, shop: Path) -> None:
    mark = shop.parent / "started"
    program = f"touch {mark}; cat"
    for name in (
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.textconv",
        "diff.x.command",
        "core.fsmonitor",
        "diff.external",
    ):
        run_git("config", name, program)
    (shop / ".git/info/attributes").write_text("* filter=x diff=x\n")
    (shop / ".gitattributes").write_text("* filter=x diff=x\n")
    path = shop / "shop/prices.py"
    path.write_text(path.read_text().replace("0.19", "0.2"))
    mark.unlink(missing_ok=True)
    assert run("review", "--no-verify", "-m", script_findings({})).code == 0
    assert run("review", "HEAD", "--no-verify", "-m", script_findings({})).code == 0
    assert not mark.exists()
