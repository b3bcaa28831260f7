"""Test that every failure ends with one line that says what to do, the right exit code and no traceback."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from swecli.cli.main import _fail, run_safely
from swecli.config.paths import Paths
from swecli.models.errors import BadInput, Unavailable, UsageError
from tests.support.databases import open_database
from tests.support.shell import HELLO, Run, script


def test_the_version_is_one_line(run: Run) -> None:
    outcome = run("--version", "--no-color")
    assert (outcome.code, outcome.out.split()[0], outcome.err) == (0, "swecli", "")


def test_a_prompt_is_answered_on_stdout_alone(run: Run) -> None:
    outcome = run("-p", "hello", "-m", script("s.json", "Hello there."))
    assert (outcome.code, outcome.out, outcome.err) == (0, "Hello there.\n", "")


@pytest.mark.parametrize(
    "argv",
    [
        ("-p", "hello"),
        ("-p", "hello", "-c"),
        ("review", "."),
        ("review", ".", "--dry-run"),
        ("findings", "check", "--yes"),
        ("learn", "--from", "all"),
        ("playbook", "reflect"),
    ],
)
def test_a_script_without_a_model_fails_and_is_told_what_to_do(
    run: Run, argv: tuple[str, ...]
) -> None:
    outcome = run(*argv)
    assert (outcome.code, outcome.out) == (42, "")
    assert "no key and no local server was found" in outcome.complaint
    assert "name a model with -m" in outcome.complaint


def test_a_run_without_a_model_is_an_error_in_json_too(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    outcome = run("-p", "hello", "--output-format", "json")
    assert (outcome.code, outcome.json["subtype"], outcome.json["is_error"]) == (42, "error", True)
    assert "-m openrouter/NAME" in outcome.json["result"]


def test_the_demo_answers_a_script_that_names_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("-p", "hello", "-m", "demo").out.startswith("This is the tour")
    monkeypatch.setenv("SWECLI_MODEL", "demo")
    assert run("-p", "hello").out.startswith("This is the tour")


@pytest.mark.slow
def test_a_session_is_continued_with_c_or_resumed_by_id_prefix(run: Run) -> None:
    model = script("s.json", "One.", "Two.")
    first = run("-p", "a", "-m", model, "--output-format", "json").json
    second = run("-p", "-c", "b", "-m", model, "--output-format", "json").json
    third = run(
        "-p", "-r", first["session_id"][:-4], "c", "-m", model, "--output-format", "json"
    ).json
    assert first["session_id"] == second["session_id"] == third["session_id"]


def test_a_window_flag_overrides_the_stored_window_of_the_session(run: Run) -> None:
    def stored_window() -> tuple[str, int]:
        session = run("sessions", "list", "--json").json[0]["id"]
        export = run("sessions", "export", session).json
        return export["window_spec"], export["window_start"]

    run("-p", "one", "-m", HELLO, "--window", "3")
    for query in ("two", "three"):
        run("-p", query, "-c", "-m", HELLO)
    assert stored_window() == ("3", 1)
    run("-p", "four", "-c", "-m", HELLO, "--window", "1")
    assert stored_window() == ("1", 3)


BAD_FLAGS = [
    (["--frob"], 2),
    (["one", "two"], 2),
    (["-p", "x", "--output-format", "yaml"], 2),
    (["-p", "x", "-c", "-r", "y"], 2),
    (["-p", "x", "-r"], 2),
    (["hello"], 2),
    ([], 2),
    (["-p"], 42),
    (["-p", "  "], 42),
    (["-p", "x", "--window", "0"], 42),
    (["-p", "x", "--window", "many"], 42),
    (["-p", "x", "--mode", "yolo"], 42),
    (["-p", "x", "--max-turns", "0"], 42),
    (["-p", "x", "--max-turns", "1.5"], 42),
    (["-p", "x", "--max-budget-usd", "-1"], 42),
    (["-p", "x", "--max-budget-usd", "nan"], 42),
    (["-p", "x", "-m", "nope/x"], 42),
    (["-p", "x", "-m", "gpt-hundred"], 42),
    (["-p", "x", "-m", "openai/"], 42),
    (["-p", "x", "-m", "scripted/none.json"], 42),
    (["-p", "x", "-m", "openai/gpt-4o"], 1),
    (["-p", "x", "-m", "anthropic/claude-x"], 1),
    (["-p", "x", "-C", "/nowhere"], 42),
    (["-p", "x", "--config", "none.toml"], 42),
    (["-p", "x", "--config", "."], 42),
    (["-p", "x", "--db", "."], 42),
    (["-p", "x", "--db", "postgresql://x/y"], 42),
    (["-p", "x", "--db", "://"], 42),
    (["-p", "x", "-m", HELLO, "--db", "/dev/null/x.db"], 1),
    (["-p", "x", "-m", HELLO, "--db", "/proc/x.db"], 1),
    (["-p", "x", "-c", "-m", HELLO], 42),
    (["-p", "x", "-r", "none", "-m", HELLO], 42),
    (["-p", "half \udcff"], 42),
    (["-p", "x", "-m", "\udcff"], 42),
    (["-p", "x", "--db", "\udcff"], 42),
    (["sessions"], 2),
    (["sessions", "frob"], 2),
    (["sessions", "show"], 2),
    (["sessions", "list", "--limit", "0"], 2),
    (["sessions", "show", "none"], 42),
    (["sessions", "list", "--db", "none.db"], 42),
    (["sessions", "list", "-C", "/nowhere"], 42),
    (["sessions", "search", " "], 2),
    (["sessions", "import", "none.json"], 42),
    (["playbook", "frob"], 2),
    (["playbook", "show", "P-1"], 42),
    (["playbook", "undo"], 42),
    (["playbook", "undo", "-1"], 2),
    (["config"], 2),
    (["config", "get", "mod"], 42),
    (["config", "set", "mode"], 2),
    (["config", "set", "mode", "yolo"], 42),
    (["db"], 2),
    (["db", "check", "--db", "none.db"], 42),
    (["models", "--frob"], 2),
    (["models", "no-such-model-name"], 42),
    (["doctor", "now"], 2),
]


@pytest.mark.parametrize(("argv", "code"), BAD_FLAGS, ids=[" ".join(argv) for argv, _ in BAD_FLAGS])
def test_an_invalid_argument_is_an_error_in_one_line_with_an_exit_code(
    run: Run, argv: list[str], code: int
) -> None:
    outcome = run(*argv)
    assert outcome.code == code, outcome.err
    assert outcome.complaint
    assert outcome.out == ""


TOO_LONG = "x" * 300  # a file system takes 255 bytes


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("-p", "x", "-m", HELLO, "--db", TOO_LONG), 1),
        (("sessions", "list", "--db", TOO_LONG), 42),
        (("db", "backup", TOO_LONG), 1),
        (("-p", "x", "--config", TOO_LONG), 42),
        (("-p", "x", "-m", HELLO, "--add-dir", TOO_LONG), 42),
        (("-C", TOO_LONG, "-p", "x"), 42),
        (("learn", "--from", TOO_LONG, "-m", HELLO), 42),
        (("sessions", "import", TOO_LONG), 42),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_name_that_no_file_can_have_is_an_error_and_no_fault(
    run: Run, argv: tuple[str, ...], code: int
) -> None:
    run("-p", "hello", "-m", HELLO)
    outcome = run(*argv)
    assert (outcome.code, outcome.out) == (code, "")
    assert "xxx" in outcome.complaint
    assert "Internal error" not in outcome.complaint


@pytest.mark.parametrize("style", ["json", "stream-json"])
@pytest.mark.parametrize(
    ("argv", "code"),
    [row for row in BAD_FLAGS if row[0][:2] == ["-p", "x"] and "--output-format" not in row[0]],
)
def test_an_error_is_emitted_as_a_json_result_too(
    run: Run, argv: list[str], code: int, style: str
) -> None:
    outcome = run(*argv, "--output-format", style)
    assert outcome.code == code
    assert outcome.complaint
    assert (outcome.json["type"], outcome.json["subtype"], outcome.json["is_error"]) == (
        "result",
        "error",
        True,
    )
    assert outcome.json["result"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WINDOW", "x"),
        ("MODE", "x"),
        ("MAX_TURNS", "0"),
        ("MAX_BUDGET_USD", "free"),
        ("LEARN", "perhaps"),
    ],
)
def test_an_invalid_environment_variable_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"SWECLI_{name}", value)
    outcome = run("-p", "x")
    assert outcome.code == 42
    assert outcome.complaint.startswith(f"swecli: SWECLI_{name}: ")


@pytest.mark.parametrize(
    "text",
    [
        "mode = ",
        "[[[",
        "mode = 5",
        "wndow = 3",
        "max_turns = -1",
        'allow = "run"',
        "[table]\nx = 1",
    ],
)
def test_an_invalid_settings_file_is_named(run: Run, text: str) -> None:
    Paths.find(os.environ).ensure()
    Paths.find(os.environ).config_file.write_text(text)
    outcome = run("-p", "x", "-m", HELLO)
    assert outcome.code == 42
    assert "config.toml" in outcome.complaint


def test_an_invalid_permission_rule_is_reported_and_ignored(run: Run) -> None:
    Paths.find(os.environ).ensure()
    Paths.find(os.environ).config_file.write_text('deny = ["rm *"]')
    outcome = run("-p", "x", "-m", "demo")
    assert outcome.code == 0
    assert "config.toml: invalid deny rule 'rm *' is IGNORED" in outcome.complaint


def test_an_unusable_swecli_home_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    for home, code in (("file/home", 1), ("~nobody-of-that-name", 42), ("file", 1)):
        monkeypatch.setenv("SWECLI_HOME", home)
        outcome = run("-p", "x", "-m", HELLO)
        assert outcome.code == code
        assert "SWECLI_HOME" in outcome.complaint


def make_broken_database(kind: str) -> None:
    match kind:
        case "text":
            Path("x.db").write_text("hello, this is not a database\n" * 100)
        case "other":
            other = sqlite3.connect("x.db")
            other.execute("CREATE TABLE t (a)")
            other.close()
        case "newer":
            open_database("x.db").close()
            newer = sqlite3.connect("x.db")
            newer.execute("PRAGMA user_version = 999")
            newer.close()


@pytest.mark.parametrize(
    ("kind", "message"),
    [("text", "not a database"), ("other", "another program"), ("newer", "newer")],
)
@pytest.mark.parametrize(
    "argv",
    [
        ["-p", "x", "-m", HELLO],
        ["sessions", "list"],
        ["playbook", "list"],
        ["db", "check"],
        ["db", "backup"],
    ],
)
def test_an_unusable_database_is_reported_and_not_changed(
    run: Run, kind: str, message: str, argv: list[str]
) -> None:
    make_broken_database(kind)
    before = Path("x.db").read_bytes()
    outcome = run(*argv, "--db", "x.db")
    assert outcome.code == 1
    assert message in outcome.complaint
    assert Path("x.db").read_bytes() == before


@pytest.mark.slow
def test_an_ambiguous_session_is_refused_with_the_candidates(run: Run) -> None:
    model = script("s.json", "One.")
    ids = [
        run("-p", "a", "-m", model, "--output-format", "json").json["session_id"] for _ in range(2)
    ]
    outcome = run("-p", "x", "-r", ids[0][:4], "-m", model)
    assert outcome.code == 42
    assert all(name in outcome.complaint for name in ids)


def test_an_error_is_printed_to_stderr_and_as_json_if_requested(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        _fail(BadInput("It\x1b[2J is\nodd.", "Mend it."), ["-p", "--output-format", "json"]) == 42
    )
    out, err = capsys.readouterr()
    assert err == "swecli: It is odd.  Mend it.\n"
    assert json.loads(out)["is_error"] is True
    assert _fail(UsageError("Odd."), []) == 2
    assert capsys.readouterr().out == ""
    assert _fail(Unavailable("Busy."), []) == 75


def test_running_without_a_terminal_and_prompt_suggests_p(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_safely([]) == 2
    assert "swecli -p" in capsys.readouterr().err


def test_a_headless_run_needs_a_prompt(run: Run) -> None:
    outcome = run("-p", "-m", HELLO)
    assert outcome.complaint.startswith("swecli: There is no prompt.  Give one")


@pytest.mark.slow
def test_an_empty_input_stream_is_an_error_with_an_example(run: Run) -> None:
    outcome = run("-p", "--input-format", "stream-json", "-m", script("s.json", "One."))
    assert outcome.code == 42
    assert '{"type": "user", "text": "list files"}' in outcome.complaint


def test_a_prompt_on_the_command_line_is_the_first_of_a_stream(run: Run) -> None:
    outcome = run("-p", "first", "--input-format", "stream-json", "-m", script("s.json", "One."))
    assert (outcome.code, outcome.out) == (0, "One.\n")


def test_notices_are_printed_to_stderr_only(run: Run) -> None:
    Path("AGENTS.md").write_text("be brief")
    outcome = run("-p", "hello", "-m", script("s.json", "One."))
    assert outcome.out == "One.\n"
    assert "AGENTS.md" in outcome.complaint


@pytest.mark.parametrize(
    ("prompt", "instead"),
    [
        ("/playbook list", "In a shell: swecli playbook list"),
        ("/compact", "In a shell: swecli context compact"),
        ("/good it ran", "In a shell: swecli playbook good it ran"),
        ("/undo", "It works in a terminal session; see also `swecli --help`."),
        (
            "/findings apply F-1",
            "It works in a terminal session; see also `swecli findings --help`.",
        ),
    ],
)
def test_a_slash_command_is_never_sent_to_a_model(run: Run, prompt: str, instead: str) -> None:
    outcome = run("-p", prompt, "-m", script("s.json", "One."))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.complaint.endswith(instead)
    assert run("sessions", "list", "--json").json == [], "no turn was stored"


def test_a_prompt_that_begins_with_a_path_is_not_a_slash_command(run: Run) -> None:
    assert run("-p", "/usr/bin is what?", "-m", script("s.json", "One.")).out == "One.\n"
