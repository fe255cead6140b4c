"""Threads of Codex are shown by Codex's rules (core/formats/codex/FORMAT.md), and looking changes nothing (tests/codex)."""

import base64
import fcntl
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from mounting import equal, visible_within
from views import status

SAMPLES = Path(__file__).resolve().parent.parent / "codex"
REVERTED = "01a1ffe5-09c1-7be0-82ef-7bbde2eca945"
FORKED = "01a1ffe5-385d-76d2-b125-538e816d179e"
ARCHIVED = "01a1ffe5-5213-70a0-b8cb-d273a092db5c"
THREAD = "01a20000-0000-7000-8000-000000000001"
SEGMENT = "01a20000-0000-7000-8000-000000000002"
CONTROLS = {"append", "branch", "label", "fork"}
SOON = 1  # second
CHECKED = 3  # seconds: who has a session open is not asked at each read


def codex_dir(case, sample):
    """A folder of Codex with the samples of one kind."""
    folder = case.new_path("codex")
    shutil.copytree(SAMPLES / sample, folder)
    return folder


def state_of(folder):
    """Names, times and bytes of everything."""
    return {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in sorted(folder.rglob("*"))}


def messages(folder):
    return json.loads((folder / "context.json").read_text())["messages"]


def text_of(message):
    return "".join(item.get("text", "") for item in message.get("content") or [])


def is_put_in(message):
    return message.get("role") == "developer" or text_of(message).startswith(("<", "# AGENTS"))


def conversation(folder):
    """The texts of users and models and the called tools, in the form of the expected values."""
    lines = []
    for message in messages(folder):
        if message["type"] == "function_call":
            lines.append(["tool_call", message["name"]])
        elif message["type"] == "message" and not is_put_in(message):
            lines.append([message["role"], text_of(message)[:60]])
    return lines


def wanted_conversation(expected):
    """A context begins with the summary of a compaction, not with a line about it."""
    return [line for line in expected["conversation"] if line[0] != "compacted"]


def record(kind, payload, ordinal=None):
    found = {"timestamp": "2026-11-22T10:00:00.000Z", "type": kind, "payload": payload}
    if ordinal is not None:
        found["ordinal"] = ordinal
    return json.dumps(found) + "\n"


def meta(thread, ordinal=None, **more):
    return record("session_meta", {"id": thread, "cwd": "/tmp/live", "timestamp": "2026-11-22T10:00:00.000Z", **more}, ordinal)


def says(role, text, ordinal=None):
    return record("response_item", {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}, ordinal)


def entry_ids(folder):
    return [name.split("-", 2)[2].removesuffix(".json").replace("%3A", ":") for name in sorted(os.listdir(folder / "entries"))]


def texts(folder):
    return [text_of(message) for message in messages(folder)]


def rollout(codex, day, thread, segment=None):
    folder = codex / "sessions" / "2026" / "11" / day
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"rollout-2026-11-{day}T10-00-00-{thread}{'_' + segment if segment else ''}.jsonl"


def append(path, *lines):
    with path.open("a") as log:
        log.write("".join(lines))


def check_thread(folder, expected):
    session = json.loads((folder / "session.json").read_text())
    equal((session["agent"], session["cwd"]), ("codex", expected["cwd"]), folder)
    equal(session.get("parentSession"), expected["forkedFrom"], folder)
    equal((folder / "title").read_text().rstrip("\n"), expected["title"] or "", folder)
    equal(status(folder)["damage"], expected["badLines"], folder)
    equal((status(folder)["writable"], status(folder)["problem"]), (True, None), folder)
    equal(CONTROLS & set(os.listdir(folder)), {"append", "branch", "label", "fork"}, folder)
    for name in os.listdir(folder / "text"):
        assert (folder / "text" / name).read_text().endswith("\n"), name


def check_store(case, sample):
    codex = codex_dir(case, sample)
    before = state_of(codex)
    with case.mount(f"store=codex={codex}") as mount:
        for expected in json.loads((SAMPLES / f"{sample}.json").read_text()):
            folder = mount / "by-id" / expected["id"]
            check_thread(folder, expected)
            log = (codex / expected["file"]).read_bytes()
            raw = (folder / "raw.jsonl").read_bytes()
            assert log in raw, expected["file"]
            equal(log.count(b"\n"), expected["records"], expected["file"])
            for name in os.listdir(folder / "entries"):
                assert (folder / "entries" / name).read_bytes().rstrip(b"\n") in raw, name
            if "_" in Path(expected["file"]).name or expected["id"] != REVERTED:
                shown = conversation(folder)
                wanted = wanted_conversation(expected)
                equal(shown[len(shown) - len(wanted):], wanted, folder)
                if expected["historyBase"] or expected["forkedFrom"]:
                    equal(shown, wanted, folder)
        equal(len(os.listdir(mount / "by-id")), 3, "threads")
    equal(state_of(codex), before, "the store")


def test_paginated_codex_threads_have_the_expected_values(case):
    """Names, forks, damage and contexts of 0.169's threads; reading changes no byte of the store."""
    check_store(case, "paginated")


def test_legacy_codex_threads_have_the_expected_values(case):
    """The same for 0.101's."""
    check_store(case, "legacy")


def test_reverted_codex_turn_is_a_branch(case):
    """The context of the abandoned branch contains exactly the first segment."""
    codex = codex_dir(case, "paginated")
    expected = {Path(one["file"]).name.count("_"): one for one in json.loads((SAMPLES / "paginated.json").read_text())
                if one["id"] == REVERTED}
    with case.mount(f"store=codex={codex}") as mount:
        branches = mount / "by-id" / REVERTED / "branches"
        names = sorted(name for name in os.listdir(branches) if name != "current")
        equal([conversation(branches / name) for name in names], [expected[0]["conversation"], expected[1]["conversation"]],
              "branches")


def test_codex_usage_counts_each_response_once(case):
    with case.mount(f"store=codex={codex_dir(case, 'legacy')}") as mount:
        usage = json.loads((mount / "by-id" / "01a1ffe5-f4fe-7fb2-82fb-b85d6c526a39" / "usage.json").read_text())
        equal((usage["totalTokens"], usage["cacheRead"]), (6218, 500), "usage")


def test_codex_thread_follows_its_program(case):
    """Records, reverts on another day, names, the archive and new threads show while the program runs."""
    codex = codex_dir(case, "paginated")
    first = rollout(codex, "22", THREAD)
    append(first, meta(THREAD, 0), says("user", "one", 1), says("assistant", "1", 2))
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / THREAD
        equal(entry_ids(folder), [f"{THREAD}:1", f"{THREAD}:2"], "entries")
        visible_within(SOON, lambda: append(first, says("user", "two", 3)), lambda: texts(folder) == ["one", "1", "two"],
                       "a record")
        base = {"thread_id": THREAD, "end_ordinal_exclusive": 3, "end_byte_offset": first.stat().st_size}
        second = rollout(codex, "23", THREAD, SEGMENT)
        visible_within(SOON, lambda: append(second, meta(THREAD, 3, history_base=base), says("user", "other", 4)),
                       lambda: texts(folder) == ["one", "1", "other"], "a revert on a new day")
        equal(len(os.listdir(folder / "branches")), 3, "branches")
        visible_within(SOON, lambda: append(second, says("assistant", "2", 5)),
                       lambda: texts(folder) == ["one", "1", "other", "2"], "a record of the new segment")
        renaming = json.dumps({"id": THREAD, "thread_name": "Live", "updated_at": "2026-11-22T10:00:00Z"}) + "\n"
        visible_within(SOON, lambda: append(codex / "session_index.jsonl", renaming),
                       lambda: (folder / "title").read_text() == "Live\n", "the name")
        for path in (first, second):
            path.rename(codex / "archived_sessions" / path.name)
        assert texts(folder) == ["one", "1", "other", "2"], texts(folder)
        other = THREAD[:-1] + "9"
        visible_within(SOON, lambda: append(rollout(codex, "24", other), meta(other), says("user", "x")),
                       lambda: other in os.listdir(mount / "by-id"), "a thread of a new day")
        visible_within(SOON, lambda: rollout(codex, "24", other).unlink(),
                       lambda: other not in os.listdir(mount / "by-id"), "its removal")


def test_codex_thread_is_live_while_codex_has_it(case):
    codex = codex_dir(case, "paginated")
    lock = codex / "thread-writer-locks" / f"{REVERTED}.lock"
    lock.parent.mkdir()
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / REVERTED
        equal(status(folder)["state"], "quiet", "before")
        with lock.open("w") as held:
            visible_within(CHECKED, lambda: fcntl.flock(held, fcntl.LOCK_EX), lambda: status(folder)["state"] == "live", "live")
            equal(status(folder)["why"], [f"codex (process {os.getpid()}) has the thread loaded"], "the reason")
            equal(status(mount / "by-id" / FORKED)["state"], "quiet", "another thread")
            assert b"live" in case.arborfs("ls", "--store", f"codex={codex}").stdout, "ls"
        visible_within(CHECKED, lambda: None, lambda: status(folder)["state"] == "quiet", "quiet again")


def make_database(codex, name):
    """A database of Codex with a name for the fork, and a sub-agent; SQLite keeps it in a log of its own (WAL)."""
    with closing(sqlite3.connect(codex / name)) as database:
        database.executescript(
            "PRAGMA journal_mode = wal; CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT, name TEXT);"
            "CREATE TABLE thread_spawn_edges (parent_thread_id TEXT, child_thread_id TEXT PRIMARY KEY, status TEXT);")
        database.execute("INSERT INTO threads VALUES (?, 'prompt', 'Inherited')", (FORKED,))
        database.execute("INSERT INTO threads VALUES (?, 'prompt', NULL)", (ARCHIVED,))
        database.execute("INSERT INTO thread_spawn_edges VALUES (?, ?, 'open')", (REVERTED, ARCHIVED))
        database.commit()


def check_facts(mount):
    equal((mount / "by-id" / FORKED / "title").read_text(), "Inherited\n", "the fork's name")
    equal((mount / "by-id" / REVERTED / "title").read_text(), "Greeting work\n", "a name in the file of names")
    equal(json.loads((mount / "by-id" / ARCHIVED / "session.json").read_text())["parentSession"], REVERTED, "the sub-agent")


def test_codex_database_is_only_looked_at(case):
    """Names and sub-agents come from the newest database, closed or in use, and no file of it changes."""
    codex = codex_dir(case, "paginated")
    make_database(codex, "state_10.sqlite")
    (codex / "state_9.sqlite").write_text("older")
    before = state_of(codex)
    with case.mount(f"store=codex={codex}") as mount:
        check_facts(mount)
    equal(state_of(codex), before, "the store")
    with closing(sqlite3.connect(codex / "state_10.sqlite")) as database:
        database.execute("UPDATE threads SET name = 'Renamed' WHERE id = ?", (FORKED,))
        database.commit()
        before = state_of(codex)
        with case.mount(f"store=codex={codex}") as mount:
            equal((mount / "by-id" / FORKED / "title").read_text(), "Renamed\n", "the name in the database's own log")
        equal(state_of(codex), before, "the store beside a program")


def test_broken_codex_database_hides_no_thread(case):
    codex = codex_dir(case, "paginated")
    (codex / "state_5.sqlite").write_bytes(b"no database at all, but long enough to have a header" * 20)
    with case.mount(f"store=codex={codex}") as mount:
        equal(len(os.listdir(mount / "by-id")), 3, "threads")
        equal(conversation(mount / "by-id" / ARCHIVED)[0], ["user", "Please greet again"], "a thread")


def test_codex_fork_outlives_its_base(case):
    """Without the file that it begins with, a fork shows its own records, and says that their parent is missing."""
    codex = codex_dir(case, "paginated")
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / FORKED
        equal(len(conversation(folder)), 7, "conversation")
        for path in codex.rglob(f"*{REVERTED}*"):
            path.unlink()
        visible_within(SOON, lambda: None, lambda: len(conversation(folder)) == 2, "the fork alone")
        equal(status(folder)["orphans"], 1, "orphans")


def test_damage_in_a_codex_file_stays_its_own(case):
    """Torn lines, bases in a loop, a compressed file, a pipe and files of other names harm no other thread."""
    codex = codex_dir(case, "paginated")
    loop = {"thread_id": SEGMENT, "end_ordinal_exclusive": 9, "end_byte_offset": 1 << 40}
    back = {"thread_id": THREAD, "end_ordinal_exclusive": 9, "end_byte_offset": 1 << 40}
    append(rollout(codex, "22", THREAD), meta(THREAD, 0, history_base=loop), says("user", "one", 1), "torn {")
    append(rollout(codex, "22", THREAD, SEGMENT), meta(THREAD, 9, history_base=back), says("user", "two", 10), "[]\n")
    for path in rollout(codex, "22", THREAD), rollout(codex, "22", THREAD, SEGMENT):
        os.utime(path, (1, 1))
    other = THREAD[:-1] + "8"
    rollout(codex, "22", other).with_suffix(".jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    os.mkfifo(rollout(codex, "22", THREAD[:-1] + "7"))
    (codex / "sessions" / "2026" / "11" / "22" / "rollout-notes.jsonl").write_text("{}\n")
    (codex / "sessions" / "2026" / "rollout").mkdir()
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / THREAD
        equal(len(entry_ids(folder)), 2, "entries")
        equal([name.split("-")[1] for name in sorted(os.listdir(folder / "damage"))], ["unfinished"], "damage")
        equal(status(folder)["notShown"], {"value": 1}, "JSON that is no record")
        assert (folder / "transcript.md").read_text() and (folder / "tree.txt").read_text(), folder
        assert "compressed" in status(mount / "by-id" / other)["problem"], "a compressed thread"
        equal(conversation(mount / "by-id" / ARCHIVED)[0], ["user", "Please greet again"], "another thread")
        equal(len(os.listdir(mount / "by-id")), 5, "threads")


def test_doctor_changes_nothing_in_a_codex_folder(case):
    codex = codex_dir(case, "paginated")
    append(rollout(codex, "22", THREAD), meta(THREAD, 0), '{"timestamp"')
    os.utime(rollout(codex, "22", THREAD), (1, 1))
    before = state_of(codex)
    case.arborfs("doctor", "--repair", "--store", f"codex={codex}", check=False)
    equal(state_of(codex), before, "the store")


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_words_of_every_record_are_shown_or_counted(case):
    """Generated pictures, messages of agents, errors and prompts that only an event has are shown; a record of an
    unknown type is a note of the doctor, which does not fail."""
    codex = case.new_path("codex")
    records = [
        ("response_item", {"type": "image_generation_call", "id": "ig", "revised_prompt": "a red bicycle",
                           "result": PICTURE}),
        ("response_item", {"type": "agent_message", "author": "/root",
                           "content": [{"type": "input_text", "text": "Inspect the parser."}]}),
        ("event_msg", {"type": "error", "message": "stream disconnected"}),
        ("event_msg", {"type": "user_message", "message": "only an event"}),
        ("response_item", {"role": "assistant", "content": [{"type": "output_text", "text": "no type"}]}),
        ("future", {"a": 1}), ("future", {"a": 2})]
    append(rollout(codex, "22", THREAD), meta(THREAD), *(record(kind, payload) for kind, payload in records))
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / THREAD
        images = list((folder / "images").iterdir())
        equal([path.read_bytes() for path in images], [base64.b64decode(PICTURE)], "the picture")
        said = (folder / "transcript.md").read_text()
        for words in "a red bicycle", "Inspect the parser.", "stream disconnected", "only an event", "no type":
            assert words in said, (words, said)
        sent = (folder / "context.json").read_text()
        assert "only an event" not in sent and "no type" not in sent, sent
        equal(status(folder)["notShown"], {"future": 2}, "counts")
        equal(status(folder)["damage"], [], "damage")
    found = json.loads(case.arborfs("doctor", "--json", "--store", f"codex={codex}").stdout)["findings"]
    equal([(one["kind"], one["note"], one["text"]) for one in found],
          [("not_shown", True, "2 records of the type future are not shown")], "the note")
    assert b"no damage found, 1 note" in case.arborfs("doctor", "--store", f"codex={codex}").stdout
