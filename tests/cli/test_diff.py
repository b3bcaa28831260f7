"""Test `swecli diff`: what a turn changed, in a shell."""

from __future__ import annotations

from pathlib import Path

from tests.support.shell import Run, script

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def changing_model() -> str:
    edits = [
        {"old_text": "line 3\n", "new_text": "three\n"},
        {"old_text": "line 20\n", "new_text": "twenty\n"},
    ]
    call = {"name": "edit_file", "arguments": {"path": "a.txt", "edits": edits}}
    return script("s.json", {"text": "", "calls": [call]}, "Done.")


def test_the_changes_of_a_turn_are_printed_with_numbered_hunks(run: Run) -> None:
    Path("a.txt").write_text(LINES)
    assert run("-p", "change it", "-m", changing_model(), "--mode", "edits").code == 0
    for words in ((), ("T1",), ("t1", "a.txt")):
        lines = run("diff", *words).out.splitlines()
        assert lines[0] == "a.txt: changed (+2 −2) · by tools"
        second = lines.index("hunk 2")
        assert lines[second + 1].startswith("@@ -17,7 +17,7 @@")
        assert "+twenty" in lines[second:]
    assert run("diff", "session").out.splitlines()[0] == "a.txt: changed (+2 −2) · by tools"
    (file,) = run("diff", "T1", "--json").json["files"]
    assert (file["name"], file["hunks"]) == ("a.txt", ["hunk 1", "hunk 2"])


def test_a_file_that_is_no_text_has_one_line(run: Run) -> None:
    command = {"name": "run_command", "arguments": {"command": "printf '\\000' > image.bin"}}
    model = script("s.json", {"text": "", "calls": [command]}, "Done.")
    assert run("-p", "draw", "-m", model, "--mode", "auto").code == 0
    assert run("diff").out == "image.bin: created · by commands\n"


def test_what_does_not_exist_is_refused_in_one_line(run: Run) -> None:
    Path("a.txt").write_text(LINES)
    assert run("-p", "change it", "-m", changing_model(), "--mode", "edits").code == 0
    refused = run("diff", "T1", "b.txt")
    assert refused.code == 42
    assert "T1 changed no file 'b.txt'." in refused.complaint
    assert "There is no turn T5" in run("diff", "T5").complaint
