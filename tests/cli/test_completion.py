"""Test shell completion, in bash, fish and zsh where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.cli.completion import _complete
from tests.support.shell import Run
from tests.support.terminal import Terminal

PATH = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"


@pytest.fixture(autouse=True)
def path_with_swecli(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", PATH)


def shell_path(shell: str) -> str:
    program = shutil.which(shell, path=PATH)
    if program is None or shutil.which("swecli", path=PATH) is None:
        pytest.skip(f"{shell} or the swecli command is not installed")
    return program


def complete(*typed: str) -> list[str]:
    return [word for word, _ in _complete(list(typed))]


def test_subcommands_actions_flags_and_choices_are_completed() -> None:
    assert complete("se") == ["sessions"]
    assert {"review", "config", "completion"} <= set(complete(""))
    assert complete("sessions", "s") == ["show", "search"]
    assert {"--limit", "--json"} <= set(complete("sessions", "list", "--"))
    assert "--model" in complete("--mo")
    assert complete("-p", "x", "--output-format", "stream") == ["stream-json"]
    assert complete("--", "--mo") != []
    assert complete("sessions", "show", "") == [], "there is no session yet"
    assert complete("--db", "") == [], "files are completed"
    assert complete("no such", "") == []


def test_modes_models_and_names_of_settings_are_completed() -> None:
    assert complete("--mode", "") == ["ask", "edits", "plan", "auto"]
    assert complete("-m", "dem") == ["demo"]
    assert complete("--model", "anthropic/claude-sonnet")
    assert complete("config", "set", "review_ver") == ["review_verify_model"]
    assert "mode" in complete("config", "get", "m")
    assert complete("config", "set", "mode", "x") == []
    assert complete("config", "set", "mode", "e") == ["edits"]
    assert complete("config", "set", "learn", "") == ["true", "false"]
    assert complete("playbook", "edit", "P-1", "--scope", "") == ["project", "user"]


def test_sessions_are_completed_with_their_titles(run: Run) -> None:
    run("-p", "list files", "-m", "demo")
    [session] = run("sessions", "list", "--json").json
    for words in (["-r", ""], ["sessions", "show", session["id"][:9]]):
        out = run("completion", "words", "--", *words).out
        assert out == f"{session['id']}\tlist files\n"


def test_a_completed_word_is_printed_with_its_description(run: Run) -> None:
    assert "list\tNewest first.\n" in run("completion", "words", "--", "sessions", "").out
    assert "--json\tprint JSON\n" in run("completion", "words", "--", "doctor", "--j").out


def test_an_unknown_shell_is_refused_with_the_supported_ones(run: Run) -> None:
    outcome = run("completion", "tcsh")
    assert outcome.code == 2
    assert "Choose: bash, zsh, fish" in outcome.complaint


@pytest.mark.slow
def test_bash_completes_words_and_falls_back_to_its_file_completion(tmp_path: Path) -> None:
    lines = """source <(swecli completion bash)
    try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _swecli swecli "${@: -1}"; echo "${COMPREPLY[*]}"; }
    try swecli rev; try swecli sessions s; try swecli review --st; try swecli --db ''
    try swecli --mode ''; try swecli config set mode e; try swecli playbook edit P-1 --scope u; complete -p swecli"""
    outcome = subprocess.run(
        [shell_path("bash"), "-c", lines], capture_output=True, text=True, cwd=tmp_path
    )
    expected = ["review", "show search", "--staged", "", "ask edits plan auto", "edits", "user"]
    assert outcome.stdout.split("\n")[:7] == expected, outcome.stderr
    assert "-o default" in outcome.stdout


@pytest.mark.slow
def test_fish_completes_words_with_descriptions_and_files(tmp_path: Path) -> None:
    Path(tmp_path / "base.db").touch()
    lines = """swecli completion fish | source
    complete -C 'swecli sessions sh'; complete -C 'swecli rev'; complete -C 'swecli --db bas'"""
    outcome = subprocess.run(
        [shell_path("fish"), "--no-config", "-c", lines],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert outcome.stdout.splitlines() == [
        "show\tShow the conversation of one session.",
        "review",
        "base.db",
    ], outcome.stderr


@pytest.mark.slow
def test_zsh_completes_on_tab(tmp_path: Path) -> None:
    with Terminal(command=[shell_path("zsh"), "-f"], environ={"PATH": PATH}) as terminal:
        terminal.keys("PS1='> '; autoload -Uz compinit && compinit -u -D\n")
        terminal.keys("source <(swecli completion zsh); echo re''ady\n")
        terminal.wait("^ready$")
        terminal.keys("swecli sess\t")
        terminal.wait("^> swecli sessions *$")
        terminal.keys("sh\t")
        terminal.wait("^> swecli sessions show *$")
        terminal.keys("\x15swecli config set mode ed\t")
        terminal.wait("^> swecli config set mode edits *$")
        terminal.keys("\x15swecli sessions \t")
        terminal.wait(r"^search +-- Search all sessions, newest first\.")
