"""Turns step by step, with results as the tools word them."""

from __future__ import annotations

import pytest

LISTING = ".: 3 files, 1 folder\nREADME.md\nsrc/\nsrc/app.py\nsrc/b.py"
APP = "     1\tdef total(prices):\n     2\t    return sum(prices)"
EDITED = "Edited src/app.py (+1 −1). Changed lines, as they are numbered now: 2."
REFUSED = "The user refused this call and nothing was done. Do not try it again unchanged; ask what is wanted instead."
MISSING = "app.py does not exist. Near names: src/app.py."


async def test_a_listing_is_told_with_its_count(chat):
    told = await chat.say("list files", LISTING)
    assert told.made == [("list_files", {"path": "."})]
    assert "4 entries" in told.text
    assert "src/app.py" in told.text


async def test_an_empty_listing_is_said_to_be_empty(chat):
    assert "holds nothing" in (await chat.say("list *.zip", ".: 0 files")).text


async def test_two_files_are_read_by_two_calls_in_one_step(chat):
    chat.history.append({"role": "user", "content": "read a.py and b.py"})
    reply = await chat.reply()
    assert [call.parameters for call in reply.calls] == [{"path": "a.py"}, {"path": "b.py"}]
    assert reply.stop == "tool_calls"


async def test_two_requests_are_done_one_after_the_other(chat):
    told = await chat.say("list files and then run `make`", LISTING, "exit code 0\nbuilt")
    assert [name for name, _ in told.made] == ["list_files", "run_command"]
    assert told.text.index("4 entries") < told.text.index("built")


async def test_a_file_that_is_not_there_is_looked_for_and_read_where_it_is(chat):
    told = await chat.say("read app.py", MISSING, ".: 1 file\nsrc/app.py", APP)
    assert told.made[-1] == ("read_file", {"path": "src/app.py"})
    assert "`app.py` does not exist" in told.text


async def test_a_file_that_is_nowhere_is_answered_with_near_names(chat):
    told = await chat.say("read app.py", MISSING, ".: 2 files\nsrc/apple.py\nsrc/my_app.py")
    assert "Did you mean `src/apple.py` or `src/my_app.py`?" in told.text


async def test_a_capped_read_says_what_part_was_shown(chat):
    told = await chat.say("read src/app.py", APP + "\n[lines 1-2 of 900 in src/app.py; read on with start_line=3]")
    assert "up to line 2 of 900" in told.text
    told = await chat.say("read on", "     3\tx = 1\n[lines 3-62 of 900 in src/app.py]")
    assert told.made == [("read_file", {"path": "src/app.py", "start_line": 3, "end_line": 62})]


async def test_a_capped_result_is_read_on_by_its_call_id(chat):
    long = "[Long result: 90,000 characters, 9,000 lines. The head and the tail are below. Read the rest with "
    long += 'read_result(call_id="call_1", start_line=...).]\nexit code 0\n1\n2\n[… 80,000 characters left out …]\n8999'
    told = await chat.say("run `seq 9000`", long)
    assert "head and its tail" in told.text
    told = await chat.say("show more", "     4\t3\n[lines 4-63 of 9000; read on with start_line=64]")
    assert told.made == [("read_result", {"call_id": "call_1", "start_line": 4, "end_line": 63})]


async def test_nothing_found_is_searched_once_more_in_any_case(chat):
    told = await chat.say('search for "Foo"', "No matches for 'Foo'.", "1 match in 1 file:\na.py:3: foo")
    assert told.made[1] == ("search_files", {"pattern": "Foo", "ignore_case": True})
    assert "a.py:3" in told.text


async def test_a_change_reads_first_and_edits_then(chat):
    told = await chat.say('change "sum" to "max" in src/app.py', APP, EDITED)
    assert told.made == [
        ("read_file", {"path": "src/app.py"}),
        ("edit_file", {"path": "src/app.py", "edits": [{"old_text": "sum", "new_text": "max"}]}),
    ]
    assert told.text.startswith("Done")


async def test_a_text_that_is_not_there_is_not_edited(chat):
    told = await chat.say('change "SUM" to "max" in src/app.py', APP)
    assert "Nothing was changed" in told.text
    assert "line 2" in told.text


async def test_a_text_that_stands_twice_is_asked_about(chat):
    told = await chat.say('change "prices" to "costs" in src/app.py', APP)
    assert "stands 2 times" in told.text
    assert "replace all" in told.text


async def test_a_stale_file_is_read_again_and_the_edit_told_differently(chat):
    stale = "src/app.py changed since it was read. Read it again with read_file, then change it."
    told = await chat.say('change "sum" to "max" in src/app.py', APP, stale, APP, EDITED)
    assert told.made[2] == ("read_file", {"path": "src/app.py", "start_line": 1})
    assert told.made[3][1]["edits"] == [{"old_text": "    return sum(prices)", "new_text": "    return max(prices)"}]


async def test_a_refused_call_ends_the_turn(chat):
    told = await chat.say('change "sum" to "max" in src/app.py', APP, REFUSED)
    assert "You did not allow changing `src/app.py`" in told.text


async def test_the_reason_of_a_refusal_is_followed_when_it_is_understood(chat):
    refused = "The user refused this call and nothing was done. The user says: no, run `make check` instead"
    told = await chat.say("run `make test`", refused, "exit code 0\nfine")
    assert told.made[-1] == ("run_command", {"command": "make check"})
    assert "fine" in told.text


async def test_a_reason_that_is_not_understood_is_repeated_and_the_turn_ends(chat):
    refused = "The user refused this call and nothing was done. The user says: it is Sunday"
    assert "it is Sunday" in (await chat.say("run `make test`", refused)).text


async def test_what_a_mode_forbids_is_told_with_its_reason(chat):
    forbidden = "Not permitted: Plan mode is read-only. Do not try to reach the same in another way."
    told = await chat.say("run `make`", forbidden)
    assert "Plan mode is read-only" in told.text
    assert "Do not try" not in told.text


async def test_what_was_done_before_a_refusal_is_still_told(chat):
    told = await chat.say("list files and then run `make`", LISTING, REFUSED)
    assert "4 entries" in told.text


async def test_a_failed_command_is_told_with_its_telling_lines(chat):
    output = "\n".join(["line"] * 200 + ["E   assert 1 == 2", "FAILED tests/test_a.py::test_b"])
    told = await chat.say("run pytest -q", f"exit code 1\n{output}")
    assert "exit code 1" in told.text
    assert "assert 1 == 2" in told.text
    assert told.text.count("line") < 50


async def test_a_python_tool_that_is_not_on_the_path_is_tried_as_a_module(chat):
    told = await chat.say("run pytest -q", "exit code 127\nbash: pytest: command not found", "exit code 0\n3 passed")
    assert told.made[1] == ("run_command", {"command": "python3 -m pytest -q"})
    assert "3 passed" in told.text


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ("scripts/\nscripts/test\ntests/\npyproject.toml", "./scripts/test"),
        ("package.json\nsrc/", "npm test"),
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
        ("pyproject.toml\ntests/", "python3 -m pytest -q"),
        ("src/\nsrc/test_a.py", "python3 -m pytest -q"),
        ("Makefile\nmain.c", "make test"),
    ],
)
async def test_the_test_command_follows_from_the_projects_files(chat, files, command):
    told = await chat.say("run the tests", f".: 9 files\n{files}", "exit code 0\nok")
    assert told.made[1] == ("run_command", {"command": command})


async def test_a_project_without_tests_is_said_to_have_none(chat):
    assert "no sign" in (await chat.say("run the tests", ".: 1 file\nnotes.txt")).text


async def test_without_pytest_the_standard_librarys_runner_is_tried(chat):
    failed = "exit code 1\n/usr/bin/python3: No module named pytest"
    told = await chat.say("run the tests", ".: 1 file\ntests/", failed, "exit code 0\nOK")
    assert told.made[2] == ("run_command", {"command": "python3 -m unittest discover"})


async def test_the_playbooks_test_command_is_followed_and_cited(chat):
    chat.teach("Use tabs", "Run the tests with `make check`, not `pytest`")
    told = await chat.say("run the tests", "exit code 0\nok")
    assert told.made == [("run_command", {"command": "make check"})]
    assert "[P-2]" in told.text
    assert "[P-1]" not in told.text


async def test_a_note_that_bears_on_an_unknown_request_gives_the_command(chat):
    chat.teach("To deploy the site run `make deploy-site`")
    told = await chat.say("deploy the site", "exit code 0\nok")
    assert told.made == [("run_command", {"command": "make deploy-site"})]
    assert "[P-1]" in told.text


async def test_a_note_that_holds_the_answer_is_quoted(chat):
    chat.teach("The deploy host is called falcon")
    assert "falcon [P-1]" in (await chat.say("what is the deploy host called?")).text


async def test_a_note_about_edits_is_followed_after_an_edit(chat):
    chat.teach("After editing a file run `ruff check`")
    told = await chat.say('change "sum" to "max" in src/app.py', APP, EDITED, "exit code 0\nAll checks passed!")
    assert told.made[-1] == ("run_command", {"command": "ruff check"})
    assert "[P-1]" in told.text


async def test_a_note_that_has_nothing_to_do_with_it_is_not_cited(chat):
    chat.teach("The deploy host is called falcon", "Keep answers short")
    assert "[P-" not in (await chat.say("list files", LISTING)).text


async def test_a_correction_names_what_was_followed_and_does_it_again(chat):
    chat.teach("Run the tests with `make check`")
    await chat.say("run the tests", "exit code 2\nno rule")
    told = await chat.say("no, that was wrong: use `pytest -q`", "exit code 0\n1 passed")
    assert told.made == [("run_command", {"command": "pytest -q"})]
    assert "Sorry" in told.text
    assert "[P-1]" in told.text


async def test_a_correction_by_another_file_repeats_the_request_for_it(chat):
    await chat.say("explain a.py", "     1\tx = 1")
    told = await chat.say("no, b.py", "     1\ty = 1")
    assert told.made == [("read_file", {"path": "b.py"})]


async def test_a_bare_correction_is_asked_about(chat):
    await chat.say("explain a.py", "     1\tx = 1")
    assert "What would be right?" in (await chat.say("no, that was wrong")).text


async def test_a_no_said_many_times_is_one_no(chat):
    await chat.say("explain a.py", "     1\tx = 1")
    assert "What would be right?" in (await chat.say("no, " * 3000)).text


async def test_the_past_is_told_from_what_is_in_view(chat):
    assert "Nothing before this question is in my view" in (await chat.say("what did we do before?")).text
    await chat.say('change "sum" to "max" in src/app.py', APP, EDITED)
    told = await chat.say("what did we do before?")
    assert "changed `src/app.py`" in told.text
    assert "src/app.py" in (await chat.say("which files did we change?")).text
    assert 'change "sum"' in (await chat.say("what did I ask?")).text


async def test_it_stands_for_the_file_last_spoken_of(chat):
    told = await chat.say("read a.py and explain it", "     1\tx = 1")
    assert told.made == [("read_file", {"path": "a.py"})]
    assert "line" in told.text
    told = await chat.say("review it", "     1\ttry: pass\n     2\texcept: pass")
    assert told.made == [("read_file", {"path": "a.py"})]
    assert "a.py:2" in told.text


async def test_review_this_means_the_file_named_before_in_the_same_line(chat):
    await chat.say("read old.py", "     1\tx = 1")
    told = await chat.say("read a.py and then review it", "     1\ttry: pass\n     2\texcept: pass")
    assert told.made == [("read_file", {"path": "a.py"})]
    assert "a.py:2" in told.text


async def test_review_this_without_a_file_in_view_looks_at_the_source_files(chat):
    told = await chat.say(
        "review this", ".: 2 files\na.py\nb.py", "     1\tx = 1", "     1\ttry: pass\n     2\texcept: pass"
    )
    assert [name for name, _ in told.made] == ["list_files", "read_file", "read_file"]
    assert "b.py:2" in told.text


async def test_it_without_a_file_in_view_is_asked_about(chat):
    assert "Which file" in (await chat.say("explain it")).text


async def test_a_note_is_acknowledged_without_claiming_to_store_it(chat):
    told = await chat.say("remember that tests run with `make check`")
    assert "tests run with `make check`" in told.text
    assert "I keep nothing myself" in told.text


async def test_attachments_and_notes_of_the_turn_are_not_taken_for_the_request(chat):
    query = "list files\n\nContents of what is mentioned above:\n\nFile a.py:\n```\nrun the tests\n```"
    query += "\n\n<turn_notes>\n- Workspace: /w\n- Platform: linux\n</turn_notes>"
    assert (await chat.say(query, LISTING)).made == [("list_files", {"path": "."})]


async def test_a_tool_that_is_not_offered_is_not_called(chat):
    chat.specs = []
    assert "run_command" in (await chat.say("run `ls`")).text


async def test_an_interrupted_call_is_told_and_not_repeated(chat):
    interrupted = "Interrupted before a result was recorded. Effects may exist: check before repeating it."
    assert "interrupted" in (await chat.say("run `make`", interrupted)).text


async def test_a_todo_list_is_written_with_its_tool(chat):
    told = await chat.say("todo: write docs; run tests", "[ ] write docs\n[ ] run tests")
    items = [{"text": "write docs", "status": "pending"}, {"text": "run tests", "status": "pending"}]
    assert told.made == [("todo", {"items": items})]


@pytest.mark.parametrize("query", ["hello", "help", "who are you?", "make coffee"])
async def test_it_says_that_it_is_a_rule_based_demo(chat, query):
    text = (await chat.say(query)).text
    assert "demo" in text
    assert "rule" in text


async def test_help_says_how_to_use_a_real_model(chat):
    text = (await chat.say("help")).text
    assert all(word in text for word in ("-m provider/name", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"))
