"""Everyday requests with the real tools on real files."""

from __future__ import annotations


async def test_a_shop_is_looked_at_changed_and_tested(shop):
    assert "notes.txt" in (await shop.do("list files")).text
    assert "src/app.py:6" in (await shop.do("where is total defined?")).text
    assert "`total(prices)`" in (await shop.do("explain app.py")).text
    assert "**Shop**: A small shop." in (await shop.do("what is this project about?")).text
    told = await shop.do('change "world" to "planet" in notes.txt')
    assert told.text.startswith("Done")
    assert (shop.root / "notes.txt").read_text() == "hello\nplanet\nhello\n"
    assert "OK" in (await shop.do("run `python3 -m unittest tests/test_app.py`")).text
    assert "changed `notes.txt`" in (await shop.do("what did we do before?")).text


async def test_all_of_a_text_is_replaced_when_all_was_asked_for(shop):
    await shop.do('replace all "hello" with "bye" in notes.txt')
    assert (shop.root / "notes.txt").read_text() == "bye\nworld\nbye\n"


async def test_a_name_is_renamed_where_it_stands_alone_only(shop):
    (shop.root / "a.py").write_text("tax = 1\ntaxes = tax + 1\nprint(taxes)\n")
    await shop.do("rename tax to vat in a.py")
    assert (shop.root / "a.py").read_text() == "vat = 1\ntaxes = vat + 1\nprint(taxes)\n"


async def test_lines_are_appended_and_deleted(shop):
    await shop.do('append "end" to notes.txt')
    assert (shop.root / "notes.txt").read_text() == "hello\nworld\nhello\nend\n"
    await shop.do("delete line 2 from notes.txt")
    assert (shop.root / "notes.txt").read_text() == "hello\nhello\nend\n"


async def test_a_line_is_appended_to_a_file_too_long_to_be_read_whole(shop):
    body = "".join(f"value_{n} = {n}  # {'x' * 60}\n" for n in range(4000))
    (shop.root / "long.py").write_text(body)
    told = await shop.do('append "last = 1" to long.py')
    assert (shop.root / "long.py").read_text() == body + "last = 1\n"
    assert len(told.calls) == 3


async def test_a_file_is_created_and_an_unseen_one_is_not_overwritten(shop):
    await shop.do('create docs/new.md with "# New"')
    assert (shop.root / "docs/new.md").read_text() == "# New\n"
    told = await shop.do('create notes.txt with "gone"')
    assert "exists already" in told.text
    await shop.do('overwrite notes.txt with "fresh"')
    assert (shop.root / "notes.txt").read_text() == "fresh\n"


async def test_a_refused_edit_leaves_the_file_alone(shop):
    shop.no = ""
    told = await shop.do('change "world" to "planet" in notes.txt')
    assert "You did not allow" in told.text
    assert (shop.root / "notes.txt").read_text() == "hello\nworld\nhello\n"


async def test_a_reason_given_with_a_no_is_followed(shop):
    shop.no = "no, list the files instead"
    told = await shop.do("run `make`")
    assert [name for name, _ in told.made] == ["run_command", "list_files"]


async def test_a_folder_is_reviewed_by_its_source_files(shop):
    (shop.root / "src/bad.py").write_text("try:\n    pass\nexcept:\n    pass\n")
    told = await shop.do("review src")
    assert "src/bad.py:3" in told.text
    assert "bare-except" in told.text


async def test_failures_of_the_tools_are_told_as_they_are(shop):
    (shop.root / "x.bin").write_bytes(b"\x00\x01")
    assert "not text" in (await shop.do("read x.bin")).text
    assert "outside the workspace" in (await shop.do("read /etc/passwd")).text
    assert "does not exist" in (await shop.do("list files in nowhere")).text
    assert "exit code 1" in (await shop.do("run `false`")).text
