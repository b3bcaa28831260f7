"""The faces begin with what they need, or say what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.cli.faces import need_terminal, run_headless
from swecli.cli.flags import parse_run
from swecli.models.errors import BadInput, UsageError
from tests.support.runtime import make_start
from tests.support.shell import Run, script


def test_without_a_terminal_there_is_no_screen() -> None:
    with pytest.raises(UsageError, match=r"not a terminal\.  Use -p"):
        need_terminal()


def test_a_headless_run_needs_a_prompt() -> None:
    with pytest.raises(BadInput, match=r"There is no prompt\.  Give one"):
        run_headless(make_start(), parse_run(["-p"]))
    with pytest.raises(UsageError, match="-r needs"):
        parse_run(["-p", "-r"])


def test_lines_are_waited_for_only_where_they_were_promised(run: Run) -> None:
    done = run("-p", "--input-format", "stream-json", "-m", script("s.json", "One."))
    assert done.code == 42
    assert '{"type": "user", "text": "list files"}' in done.complaint


def test_a_prompt_on_the_command_line_is_the_first_of_a_stream(run: Run) -> None:
    done = run("-p", "first", "--input-format", "stream-json", "-m", script("s.json", "One."))
    assert (done.code, done.out) == (0, "One.\n")


def test_notices_are_for_people(run: Run) -> None:
    Path("AGENTS.md").write_text("be brief")
    done = run("-p", "hello", "-m", script("s.json", "One."))
    assert done.out == "One.\n"
    assert "AGENTS.md" in done.complaint


@pytest.mark.parametrize(
    ("prompt", "instead"),
    [
        ("/good", "In a shell: swecli playbook good"),
        ("/playbook list", "In a shell: swecli playbook list"),
        ("/compact", "It needs a session on a screen: swecli"),
    ],
)
def test_a_slash_command_is_never_sent_to_a_model(run: Run, prompt: str, instead: str) -> None:
    done = run("-p", prompt, "-m", script("s.json", "One."))
    assert (done.code, done.out) == (2, "")
    assert done.complaint.endswith(instead)
    assert run("sessions", "list", "--json").json == [], "nothing was begun"


def test_a_path_is_no_command(run: Run) -> None:
    assert run("-p", "/usr/bin is what?", "-m", script("s.json", "One.")).out == "One.\n"
