"""Threads of Codex that users name, continue, take back, remove and bring back through a mount (codex/FORMAT.md H)."""

import errno
import fcntl
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from mounting import equal, fails_with, run
from writing import answer_of

SAMPLES = Path(__file__).resolve().parent.parent / "codex"
REVERTED = "01a1ffe5-09c1-7be0-82ef-7bbde2eca945"
FORKED = "01a1ffe5-385d-76d2-b125-538e816d179e"
SCHEMA = """
PRAGMA journal_mode = wal;
CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, source TEXT NOT NULL, model_provider TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL,
    sandbox_policy TEXT NOT NULL, approval_mode TEXT NOT NULL, archived INTEGER NOT NULL DEFAULT 0,
    archived_at INTEGER, thread_section_id TEXT, section_position INTEGER, section_entered_at_ms INTEGER,
    first_user_message TEXT NOT NULL DEFAULT '', preview TEXT NOT NULL DEFAULT '',
    history_mode TEXT NOT NULL DEFAULT 'legacy', name TEXT);
CREATE TABLE thread_sections (id TEXT PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO thread_sections VALUES ('01984de2-8f74-7c91-a3b2-5c5e937cf318', 'Pinned');
CREATE TABLE thread_spawn_edges (parent_thread_id TEXT, child_thread_id TEXT PRIMARY KEY, status TEXT);
"""


def codex_dir(case):
    """A folder of Codex with paginated threads, and their rows in the database."""
    codex = case.new_path("codex")
    shutil.copytree(SAMPLES / "paginated", codex)
    with closing(sqlite3.connect(codex / "state_5.sqlite")) as database:
        database.executescript(SCHEMA)
        for path in sorted(codex.rglob("rollout-*.jsonl")):
            thread = path.stem[28:64]
            database.execute(
                "INSERT OR REPLACE INTO threads (id, rollout_path, created_at, updated_at, source, model_provider, cwd, title,"
                " sandbox_policy, approval_mode, history_mode) VALUES (?, ?, 1, 2, 'cli', 'mock', '/w', 't', '{}', 'never',"
                " 'paginated')", (thread, str(path)))
        database.commit()
    return codex


def rows(codex, what, thread):
    with closing(sqlite3.connect(codex / "state_5.sqlite")) as database:
        return database.execute(f"SELECT {what} FROM threads WHERE id = ?", (thread,)).fetchall()


def rollouts(codex):
    """Times and bytes of all files of threads."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(codex.rglob("rollout-*"))}


def context(folder):
    return (folder / "context.json").read_text()


def test_codex_thread_is_named(case):
    """A title is in the row that Codex's list shows and in its file of names; the thread's file stays."""
    codex = codex_dir(case)
    before, names = rollouts(codex), (codex / "session_index.jsonl").read_text()
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / FORKED
        (folder / "title").write_text("What else\n")
        equal((folder / "title").read_text(), "What else\n", "the title")
        equal(rows(codex, "name, updated_at", FORKED), [("What else", 2)], "the row")
    added = (codex / "session_index.jsonl").read_text().removeprefix(names).splitlines()
    equal([json.loads(line)["thread_name"] for line in added], ["What else"], "the file of names")
    equal(rollouts(codex), before, "the threads")


def test_codex_thread_is_archived_and_pinned(case):
    """The files archived and pinned of a thread say what Codex's files and rows say, and change them."""
    codex = codex_dir(case)
    before = rollouts(codex)
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / REVERTED
        equal([(folder / name).read_text() for name in ("archived", "pinned")], ["false\n", "false\n"])
        (folder / "archived").write_text("true\n")
        (folder / "pinned").write_text("true\n")
        equal([(folder / name).read_text() for name in ("archived", "pinned")], ["true\n", "true\n"])
        equal(rows(codex, "archived, section_position", REVERTED), [(1, 1000000)])
        moved = {path.name for path in (codex / "archived_sessions").glob(f"rollout-*{REVERTED}*")}
        equal(moved, {path.name for path in before if REVERTED in path.name}, "all segments")
        fails_with(errno.EINVAL, (folder / "archived").write_text, "perhaps\n")
        (folder / "archived").write_text("false\n")
        equal((folder / "archived").read_text(), "false\n")
    after = rollouts(codex)
    equal({path.name: after[path] for path in after}, {path.name: before[path] for path in before}, "the threads")


def test_codex_thread_is_continued(case):
    """An append is one turn at the end of the active segment, and Codex's lock is neither made nor passed."""
    codex = codex_dir(case)
    before = rollouts(codex)
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / REVERTED
        answer = answer_of(folder / "append", "Check the tests\n")
        assert json.loads(context(folder))["messages"][-1]["content"][0]["text"] == "Check the tests", context(folder)
        assert "Check the tests" in (folder / "transcript.md").read_text()
        path = Path(rows(codex, "rollout_path", REVERTED)[0][0])
        added = [json.loads(line) for line in path.read_bytes().removeprefix(before.pop(path)[1]).splitlines()]
        equal([record["payload"].get("type") for record in added], ["task_started", "message", "item_completed"], "records")
        last = json.loads(path.read_bytes().splitlines()[-4])["ordinal"]
        equal([record["ordinal"] for record in added], [last + 1, last + 2, last + 3], "ordinals")
        equal(answer["id"].rsplit(":", 1)[1], str(last + 2), "the id")
        assert not (codex / "thread-writer-locks").exists()
        (codex / "thread-writer-locks").mkdir()
        with (codex / "thread-writer-locks" / f"{REVERTED}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for command in ("beside it\n", '{"role":"user","content":"beside it","force":true}\n'):
                fails_with(errno.EBUSY, lambda: answer_of(folder / "append", command))
        (folder / "append").write_text("And now?\n")
        assert "And now?" in context(folder) and "beside it" not in context(folder)
    equal({path: state for path, state in rollouts(codex).items() if path in before}, before, "the other files")


def test_message_waits_in_the_queue_of_a_thread_that_codex_holds(case):
    """A message for the queue is a row that Codex takes from there, from the mount and the command line; no log changes."""
    codex = codex_dir(case)
    before = rollouts(codex)
    with closing(sqlite3.connect(codex / "queue_1.sqlite")) as database:
        database.executescript(
            "CREATE TABLE queued_items (id TEXT PRIMARY KEY NOT NULL, thread_id TEXT NOT NULL, payload_json TEXT NOT NULL,"
            " queue_order INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL)")
    (codex / "thread-writer-locks").mkdir()
    with case.mount(f"store=codex={codex}") as mount, (codex / "thread-writer-locks" / f"{REVERTED}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = mount / "by-id" / REVERTED
        answer_of(folder / "append", '{"queue":"Check the tests"}')
        fails_with(errno.EBUSY, lambda: answer_of(folder / "append", '{"role":"user","content":"beside it"}'))
        case.arborfs("append", "--queue", REVERTED, "And then?", f"--store=codex={codex}")
        with closing(sqlite3.connect(codex / "queue_1.sqlite")) as database:
            waiting = database.execute("SELECT thread_id, payload_json FROM queued_items ORDER BY queue_order").fetchall()
        equal([(thread, json.loads(payload)["UserInput"]["content"][0]["text"]) for thread, payload in waiting],
              [(REVERTED, "Check the tests"), (REVERTED, "And then?")])
        fails_with(errno.EINVAL, lambda: answer_of(folder / "append", '{"queue":""}\n'))
    equal(rollouts(codex), before, "the threads")


def test_codex_thread_goes_back_and_returns(case):
    """branch makes a segment that the row names; the other branch is one command away."""
    codex = codex_dir(case)
    before = rollouts(codex)
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / FORKED
        whole, leaf = context(folder), (folder / "branch").read_text()
        fails_with(errno.EINVAL, lambda: answer_of(folder / "branch", "#1\n"))
        (folder / "branch").write_text("root\n")
        equal(json.loads(context(folder))["messages"], [], "nothing is left")
        (folder / "append").write_text("Another way\n")
        assert "Another way" in context(folder)
        (folder / "branch").write_text(leaf)
        equal(context(folder), whole, "back on the first branch")
    now = rollouts(codex)
    equal({path: now[path] for path in before}, before, "the files that were there")
    equal(len(now) - len(before), 1, "new segments")


def test_codex_thread_is_removed_and_restored(case):
    """All segments of a thread go to the trash and come back with their times; the name is the one that it had."""
    codex = codex_dir(case)
    before = rollouts(codex)
    with case.mount("allow_delete", f"store=codex={codex}") as mount:
        fails_with(errno.EINVAL, lambda: os.rmdir((mount / "by-id" / REVERTED).resolve()))
        (mount / "by-id" / FORKED / "title").write_text("A fork\n")
        os.rmdir((mount / "by-id" / FORKED).resolve())
        os.rmdir((mount / "by-id" / REVERTED).resolve())
        equal(len(os.listdir(mount / "by-id")), 1, "threads")
        equal([path for path in rollouts(codex) if REVERTED in path.name or FORKED in path.name], [], "files")
        equal(rows(codex, "name", FORKED), [("A fork",)], "the row stays")
        for line in json.loads(case.arborfs("trash", "--json").stdout):
            said = case.arborfs("restore", "--store", f"codex={codex}", line["name"]).stdout.decode()
            assert os.path.isfile(said.removeprefix("restored ").rstrip("\n")), said
    equal(rollouts(codex), before, "the store")
    with case.mount(f"store=codex={codex}") as mount:
        equal((mount / "by-id" / FORKED / "title").read_text(), "A fork\n", "the name")


def test_session_is_forked_to_codex(case):
    """A conversation of omp becomes a thread that Codex lists, and `arborfs resume` goes on with it."""
    codex = codex_dir(case)
    session = case.agent.talk()
    made = case.arborfs("fork", session.id, "--to", "codex", "--title", "From omp", "--store", f"codex={codex}",
                        "--store", f"omp={case.agent.path}").stdout.decode().split()[0]
    equal(rows(codex, "name, history_mode, archived", made), [("From omp", "paginated", 0)], "the row")
    path = Path(rows(codex, "rollout_path", made)[0][0])
    first = json.loads(path.read_bytes().splitlines()[0])
    equal((first["type"], first["ordinal"], first["payload"]["id"]), ("session_meta", 0, made), "the first line")
    resumed = case.arborfs("resume", "--print", "--store", f"codex={codex}", made).stdout.decode()
    assert f"codex resume {made}" in resumed, resumed
