"""Test `swecli sessions`: list, search, rename, fork, delete, export, import and replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.store.test_presence import other_process
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime, run_turn
from tests.support.secrets import secrets
from tests.support.shell import CompletedRun, Run, script
from tests.support.terminal import Terminal


def run_session(run: Run, *prompts: str, **replies: object) -> str:
    """Run a session of these prompts, each with a reply; return the session's id."""
    model = script("talk.json", *(replies.get("replies") or [f"Answer to {p}." for p in prompts]))  # type: ignore[misc]
    lines = []
    for number, prompt in enumerate(prompts):
        rest = json.loads(Path("talk.json").read_text())[number:]
        script("talk.json", *rest)
        lines.append(
            run(
                "-p", prompt, "-m", model, "--output-format", "json", *(["-c"] if number else [])
            ).json
        )
    return str(lines[-1]["session_id"])


def test_sessions_are_listed_newest_first_and_an_empty_list_is_reported(run: Run) -> None:
    assert run("sessions", "list").out == "No sessions yet.\n"
    assert run("sessions", "list", "--json").json == []
    first, second = run_session(run, "alpha"), run_session(run, "beta")
    rows = run("sessions", "list", "--json").json
    assert [row["id"] for row in rows] == [second, first]
    assert [row["first_query"] for row in rows] == ["beta", "alpha"]
    shown = run("sessions", "list").out.splitlines()
    assert shown[0].split() == ["id", "when", "turns", "directory", "title"]
    assert shown[1].startswith(second)
    assert [row["id"] for row in run("sessions", "list", "--limit", "1", "--json").json] == [second]


def test_list_with_here_shows_only_sessions_of_the_directory(run: Run, tmp_path: Path) -> None:
    here = run_session(run, "alpha")
    (tmp_path / "there").mkdir()
    assert run("sessions", "list", "--here", "--json", "-C", str(tmp_path / "there")).json == []
    assert [row["id"] for row in run("sessions", "list", "--json").json] == [here]


def test_a_session_is_shown_with_its_tool_calls(run: Run) -> None:
    Path("a.txt").write_text("one\ntwo\n")
    call = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
    model = script("s.json", call, "It says \x1b[31mone\x1b[0m.")
    session = run("-p", "read it", "-m", model, "--output-format", "json").json["session_id"]
    lines = run("sessions", "show", session[:-3]).out.splitlines()
    assert lines[0] == "user: read it"
    assert lines[2].startswith('  read_file {"path": "a.txt"} -> ')
    assert lines[-1] == "assistant: It says one."
    assert run("sessions", "show", session, "--json").json["messages"][0]["content"] == "read it"


def test_search_finds_words_in_messages(run: Run) -> None:
    session = run_session(run, "where is the walrus?")
    assert session[:13] in run("sessions", "search", "walrus").out
    hits = run("sessions", "search", "walrus", "--json").json
    assert {(hit["session_id"], hit["role"]) for hit in hits} == {
        (session, "user"),
        (session, "assistant"),
    }
    assert len(run("sessions", "search", "walrus", "--limit", "1", "--json").json) == 1
    assert run("sessions", "search", "zebra").out == "no matches for 'zebra'\n"
    assert run("sessions", "search", "walrus", "--limit", "0").code == 2
    assert run("sessions", "search", " ").code == 2


def test_a_renamed_session_is_found_by_its_title(run: Run) -> None:
    session = run_session(run, "alpha")
    renamed = run("sessions", "rename", session, "the", "parser")
    assert renamed.out == "this session is now the parser\n"
    assert run("sessions", "rename", "the parser", "two", "--json").json == {
        "session_id": session,
        "title": "two",
    }
    assert run("sessions", "rename", session, " ").code == 2
    for missing in ("", "unknown"):
        assert run("sessions", "rename", missing, "three").code == 42


@pytest.mark.slow
def test_a_fork_copies_all_turns_or_those_up_to_a_given_one(run: Run) -> None:
    session = run_session(run, "alpha", "beta", "gamma")
    complete = run("sessions", "fork", session, "--json").json["session_id"]
    shortened = run("sessions", "fork", session, "T2", "--json").json["session_id"]
    turns = {row["id"]: row["interactions"] for row in run("sessions", "list", "--json").json}
    assert turns == {session: 3, complete: 3, shortened: 2}
    assert "continue with: swecli -r" in run("sessions", "fork", session, "1").out
    for odd in ("T0", "T9", "x", "-"):
        assert run("sessions", "fork", session, odd).code == 42


def test_a_deleted_session_is_not_listed(run: Run) -> None:
    session = run_session(run, "alpha")
    assert run("sessions", "delete", session, "--yes", "--json").json == {"deleted": session}
    assert run("sessions", "delete", session, "--yes").code == 42
    assert run("sessions", "list").out == "No sessions yet.\n"


def test_a_session_is_not_deleted_unasked_without_a_terminal(run: Run) -> None:
    session = run_session(run, "alpha")
    outcome = run("sessions", "delete", session[:8])
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{session} (1 turn) would be deleted permanently.  Pass --yes" in outcome.complaint
    assert [row["id"] for row in run("sessions", "list", "--json").json] == [session]


def test_a_session_that_another_process_has_open_is_not_deleted(run: Run) -> None:
    session = run_session(run, "alpha")
    open_folder = Path(run("db", "path").out.strip() + ".open")
    with other_process(open_folder, session):
        for asked in ((), ("--yes",)):
            refused = run("sessions", "delete", session[:8], *asked)
            assert refused.code == 42
            assert f"{session} is open in another swecli." in refused.complaint
    assert run("sessions", "delete", session, "--yes").code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "code", "left"),
    [("y", 0, 0), ("yes", 0, 0), ("n", 1, 1), ("", 1, 1), ("\x04", 1, 1)],
)
def test_a_terminal_is_asked_before_a_session_is_deleted(
    run: Run, answer: str, code: int, left: int
) -> None:
    session = run_session(run, "alpha")
    with Terminal("sessions", "delete", session) as terminal:
        terminal.wait(r"permanently\? \[y/N\]")
        terminal.keys(answer if answer == "\x04" else f"{answer}\r")
        terminal.wait("deleted")
        terminal.process.wait()
        assert terminal.process.exitstatus == code
    assert len(run("sessions", "list", "--json").json) == left


def test_an_export_contains_the_session_with_secrets_redacted(run: Run) -> None:
    session = run_session(run, "the key is sk-proj-abcdefghijklmnop1234")
    outcome = run("sessions", "export", session)
    assert outcome.json["id"] == session
    assert outcome.json["messages"][0]["content"] == "the key is [redacted: API key]"
    assert "abcdefghijklmnop" not in outcome.out
    assert "abcdefghijklmnop" not in run("sessions", "show", session, "--json").out


def test_an_export_contains_secrets_if_requested_and_is_imported_unchanged(run: Run) -> None:
    session = run_session(run, "the key is sk-proj-abcdefghijklmnop1234")
    complete = run("sessions", "export", session, "--with-secrets")
    Path("e.json").write_text(complete.out)
    assert complete.json["messages"][0]["content"] == "the key is sk-proj-abcdefghijklmnop1234"
    assert run("sessions", "import", "e.json", "--db", "other.db").code == 0
    again = run("sessions", "export", session, "--db", "other.db", "--with-secrets").json
    assert again["messages"] == complete.json["messages"]


@pytest.mark.slow
def test_a_typed_secret_is_redacted_in_lists_searches_exports_and_logs(
    run: Run, tmp_path: Path
) -> None:
    names = (
        "GitHub personal",
        "AWS secret in the environment",
        "Postgres URL",
        "RSA key",
        "quoted password",
        "cookie",
    )
    for text, secret in (secrets()[name] for name in names):
        session = run_session(run, text)
        run("sessions", "rename", session, f"about {text}")
        shown = [
            run("sessions", *words).out
            for words in (("list",), ("list", "--json"), ("search", "about"))
        ]
        shown += [
            run("sessions", "search", secret.split()[0][:8], "--json").out,
            run("sessions", "export", session).out,
        ]
        assert [out for out in shown if secret in out or secret[:20] in out] == []
        assert [p for p in tmp_path.rglob("*.log*") if secret in p.read_text()] == []
        assert text in run("sessions", "show", session).out


def export_session(run: Run, *prompts: str) -> tuple[str, CompletedRun]:
    session = run_session(run, *prompts)
    outcome = run("sessions", "export", session)
    Path("e.json").write_text(outcome.out)
    return session, outcome


@pytest.mark.slow
def test_an_export_is_imported_into_another_database_and_continued(run: Run) -> None:
    session, outcome = export_session(run, "alpha", "beta")
    brought = run("sessions", "import", "e.json", "--db", "other.db", "--json").json
    counts = {"interactions": 2, "messages": 4, "strategies": 0, "left_out": 0}
    assert brought == {"session_id": session, **counts, "tool": "", "skipped": []}
    again = run("sessions", "export", session, "--db", "other.db").json
    assert {k: v for k, v in again.items() if k != "totals"} == {
        k: v | {} if isinstance(v, dict) else v for k, v in outcome.json.items() if k != "totals"
    }
    model = script("s.json", "Gamma.")
    went_on = run(
        "-p", "gamma", "-r", session, "-m", model, "--db", "other.db", "--output-format", "json"
    ).json
    assert (went_on["session_id"], went_on["result"]) == (session, "Gamma.")


def test_importing_an_existing_session_is_refused(run: Run) -> None:
    session, _ = export_session(run, "alpha")
    outcome = run("sessions", "import", "e.json")
    assert outcome.code == 42
    assert f"{session} already exists" in outcome.complaint


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", '{"id": 5}', "[" * 100_000, "\x00"])
def test_an_invalid_export_is_refused_with_the_export_command(run: Run, text: str) -> None:
    Path("e.json").write_text(text)
    outcome = run("sessions", "import", "e.json")
    assert outcome.code == 42
    assert "swecli sessions export ID > FILE" in outcome.complaint
    assert run("sessions", "list").out == "No sessions yet.\n"


def test_a_replay_shows_each_turn_with_its_stored_results(run: Run) -> None:
    Path("notes.txt").write_text("seven")
    call = {"text": "I look.", "calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}]}
    name = run_session(run, "alpha", replies=[call, "Seven."])
    Path("notes.txt").write_text("eight")
    shown = run("sessions", "replay", name).out
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[0] == "T1 alpha"
    assert lines[2:4] == ["I look.", 'read_file {"path": "notes.txt"} -> 1\tseven']
    assert lines[5] == "Seven."
    assert "1 turn, 2 requests" in lines[-1]
    assert run("sessions", "replay", name, "--json").json["turns"][0]["query"] == "alpha"


def test_a_replay_with_equal_requests_exits_with_0(run: Run) -> None:
    name = run_session(run, "alpha", "beta", replies=["A.", "B."])
    run("playbook", "add", "Prices are net")
    run_session(run, "gamma", replies=["C."])
    same = run("sessions", "replay", name, "--diff")
    assert (same.code, same.out.split(":")[0]) == (0, "the requests are the same")


def test_a_replay_shows_a_diff_of_changed_requests_and_exits_with_1(run: Run) -> None:
    run("playbook", "add", "Prices are net")
    name = run_session(run, "alpha", "beta")
    assert run("sessions", "replay", name, "--diff").code == 0
    run("playbook", "edit", "P-1", "Prices are gross")
    outcome = run("sessions", "replay", name, "--diff")
    assert outcome.code == 1
    assert any(
        line.startswith("-") and "Prices are net" in line for line in outcome.out.splitlines()
    )
    assert any(
        line.startswith("+") and "Prices are gross" in line for line in outcome.out.splitlines()
    )
    assert "T2: 1 of 1 differences were already shown" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("something else is sent in 2 of 2 turns")
    assert run("sessions", "replay", name, "--diff", "--json").json["turns"][0]["tokens"][0] > 0


def test_a_replay_diff_of_an_imported_transcript_is_refused(run: Run) -> None:
    transcript = Path(__file__).parents[2] / "lab/transcripts/claude_code.jsonl"
    name = run("sessions", "import", str(transcript), "--json").json["session_id"]
    assert run("sessions", "replay", name).code == 0
    outcome = run("sessions", "replay", name, "--diff")
    assert outcome.code == 42
    assert "are not stored" in outcome.complaint
    assert run("sessions", "replay", "nobody").code == 42


async def test_what_was_asked_beside_the_conversation_is_shown_and_exported_between_its_turns(
    run: Run,
) -> None:
    runtime = make_runtime(["First.", "It is **8080**.", "Second."], learn=False)
    await run_turn(runtime, "one", learn=False)
    await ScriptedContext(runtime).type("/btw which port?")
    await run_turn(runtime, "two", learn=False)
    session = runtime.session.id
    runtime.close()
    assert run("sessions", "show", session).out.splitlines() == [
        "user: one",
        "assistant: First.",
        "beside, user: which port?",
        "beside, assistant: It is **8080**.",
        "user: two",
        "assistant: Second.",
    ]
    exported = run("sessions", "export", session)
    [aside] = [row for row in exported.json["requests"] if row["purpose"] == "aside"]
    assert aside["extra"]["aside"] == {"question": "which port?", "answer": "It is **8080**."}
    markdown = run("sessions", "export", session, "md").out
    quoted = "> **Beside the conversation:** which port?\n>\n> It is **8080**."
    assert markdown.index("First.") < markdown.index(quoted) < markdown.index("## T2: two")
    page = run("sessions", "export", session, "html").out
    assert "Beside the conversation: which port?" in page
    assert "<strong>8080</strong>" in page

    Path("session.json").write_text(exported.out)
    run("sessions", "import", "session.json", "--db", "other.db")
    copied = run("sessions", "show", session, "--db", "other.db").out
    assert "beside, user: which port?" in copied


async def test_a_secret_in_a_question_beside_the_conversation_is_not_exported(run: Run) -> None:
    text, secret = secrets()["GitHub personal"]
    runtime = make_runtime([f"It is {text}."], learn=False)
    await ScriptedContext(runtime).type(f"/btw is {text} a key?")
    session = runtime.session.id
    runtime.close()
    for form in ("json", "md", "html"):
        exported = run("sessions", "export", session, form).out
        assert "a key?" in exported
        assert secret not in exported
