"""history/ and `arborfs history` show what omp's history.db has, while omp writes it, and change nothing there."""

import contextlib
import errno
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time

from mounting import PATIENCE, at_most, concurrent, equal, eventually, fails_with, visible_within

TABLES = """
CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT, session_id TEXT,
  use_count INTEGER NOT NULL DEFAULT 1);
CREATE INDEX idx_history_created_at ON history(created_at DESC);
CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');
CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN
  INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END;
PRAGMA user_version = 1;
"""


def typed(case):
    """A connection of omp to a new history."""
    database = sqlite3.connect(case.agent.path / "history.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.executescript(TABLES)
    return database


def add(database, prompt, time, cwd="/srv/shop"):
    database.execute("INSERT INTO history(prompt, created_at, cwd) VALUES(?, ?, ?) ON CONFLICT(prompt) DO UPDATE SET"
                     " created_at = excluded.created_at, use_count = history.use_count + 1", (prompt, time, cwd))


def state_of(folder):
    """Names, times and bytes of a folder's files."""
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.read_bytes())
            for path in sorted(folder.iterdir()) if path.is_file()}


def test_days_follow_the_database(case):
    """history/ has a file for each day, with its size and mtime, and follows omp within a second."""
    with case.browse() as mount:
        folder = mount / "history"
        equal(os.listdir(folder), [], "without a history")
        database = typed(case)
        visible_within(1, lambda: add(database, "fix the flaky test", 1771237230),
                       lambda: os.listdir(folder) == ["2026-02-16.md"], "the first day")
        day = folder / "2026-02-16.md"
        equal(day.read_text(), "# 2026-02-16\n\n## 10:20:30  /srv/shop\n\nfix the flaky test\n", "the text")
        equal((day.stat().st_size, day.stat().st_mtime), (len(day.read_text()), 1771237230), "size and mtime")
        visible_within(1, lambda: add(database, "and the other", 1771237290),
                       lambda: day.read_text().startswith("# 2026-02-16\n\n## 10:21:30  /srv/shop\n\nand the other\n"),
                       "a second prompt")
        visible_within(1, lambda: add(database, "fix the flaky test", 1771337230),
                       lambda: sorted(os.listdir(folder)) == ["2026-02-16.md", "2026-02-17.md"], "typed again")
        assert "flaky" not in day.read_text(), "a prompt has only its last time"
        fails_with(errno.EACCES, os.open, day, os.O_WRONLY)
        fails_with(errno.ENOENT, os.stat, folder / "2026-02-18.md")


@concurrent
def test_opens_beside_constant_prompts_succeed(case):
    """The newest day is opened while a program adds prompts all the time: no open fails, though the text changes between
    its lookup and itself."""
    database = typed(case)
    add(database, "the first", 1771237230)
    wrong, opens, over = [], [], threading.Event()

    def type_on():
        with contextlib.closing(sqlite3.connect(case.agent.path / "history.db", isolation_level=None)) as other:
            for number in itertools.takewhile(lambda _: not over.wait(0.002), itertools.count(1)):
                add(other, f"prompt {number % 50}", 1771237230 + number % 3600)  # the day's text stays small

    def read():
        while not over.is_set():
            try:
                opens.append((mount / "history" / "2026-02-16.md").read_bytes())
            except OSError as error:
                wrong.append(repr(error))

    with case.browse() as mount:
        threads = [threading.Thread(target=work) for work in (type_on, read, read, read)]
        for thread in threads:
            thread.start()
        try:
            eventually(60, lambda: wrong or len(opens) >= 800, "opens")
        finally:
            over.set()
            for thread in threads:
                thread.join()
    equal(wrong, [], f"errors beside {len(opens)} opens")


def test_reading_changes_nothing(case):
    """The mount and the command line read the database of a running omp; no byte, time or name changes."""
    database = typed(case)
    add(database, "one", 1771237230)
    before = state_of(case.agent.path)
    with case.browse("ro") as mount:
        assert "one" in (mount / "history" / "2026-02-16.md").read_text()
        assert b"one" in case.arborfs("history", "--agent-dir", case.agent.path, "ON").stdout
        equal(case.arborfs("history", "--agent-dir", case.agent.path, "two", check=False).returncode, 1, "no match")
    equal(state_of(case.agent.path), before, "omp's folder")
    database.close()


def test_prompts_of_several_agents_name_theirs(case):
    """Where two agents have a history, each prompt of a day says to which of them it was typed."""
    database = typed(case)
    add(database, "one", 1771237230)
    claude = case.new_path("claude")
    (claude / "projects").mkdir(parents=True)
    (claude / "history.jsonl").write_text(json.dumps({"display": "two", "pastedContents": {}, "timestamp": 1771237290000,
                                                      "project": "/srv/shop", "sessionId": "s1"}) + "\n")
    with case.mount("ro", f"store=claude={claude}") as mount:
        equal((mount / "history" / "2026-02-16.md").read_text(),
              "# 2026-02-16\n\n## 10:21:30  claude  /srv/shop  s1\n\ntwo\n\n## 10:20:30  omp  /srv/shop\n\none\n")


def test_a_damaged_database_fails_alone(case):
    """A damaged history.db makes history/ fail, and nothing else."""
    (case.agent.path / "history.db").write_bytes(b"x" * 4096)
    with case.browse() as mount:
        fails_with(errno.EIO, os.listdir, mount / "history")
        assert os.listdir(mount / "projects")
        assert mount.name_of(case.store["shop"]) in os.listdir(mount / "projects" / "srv-shop")


def test_appends_join_the_history(case):
    """With -o history, a text that is appended is in omp's history when the write has returned; a history that cannot
    be written fails no append."""
    with case.browse("history") as mount:
        shop = case.store["shop"]
        append = mount.session(shop) / "append"
        append.write_text("add a discount  \n")
        append.write_text('{"role":"user","content":"not typed","timestamp":1}\n')
        [day] = os.listdir(mount / "history")
        text = (mount / "history" / day).read_text()
        assert text.endswith(f"  /srv/shop  {shop.id}\n\nadd a discount\n") and "not typed" not in text, text
        database = case.agent.path / "history.db"
        equal(database.stat().st_mode & 0o777, 0o600, "mode of the new database")
        database.write_bytes(b"x" * 4096)
        append.write_text("still works\n")
        append.write_text("and again\n")
        assert "still works" in (mount.session(shop) / "transcript.md").read_text()
        equal(mount.said().count("the prompt history"), 1, "lines in the log")


HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN " + sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(case, how):
    """A process that holds a lock on the history."""
    with subprocess.Popen([sys.executable, "-c", HOLD, case.agent.path / "history.db", how],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            equal(holder.stdout.readline(), b"held\n")
            yield
        finally:
            holder.kill()


def age_logs(case):
    """Makes the logs older than any holder of the history, which looks like a running omp."""
    for session in case.store.values():
        os.utime(session.path, (1771237230, 1771237230))


def prompts(case):
    """What is in the history."""
    with contextlib.closing(sqlite3.connect(case.agent.path / "history.db")) as database:
        return [prompt for [prompt] in database.execute("SELECT prompt FROM history ORDER BY id")]


def test_a_locked_history_does_not_delay_appends(case):
    """While another process holds the history locked, an append takes no longer than without; the texts are in the
    history soon after the lock is gone, in their order."""
    typed(case).close()
    age_logs(case)
    with case.browse("history") as mount:
        append = mount.session(case.store["shop"]) / "append"
        for how in ("EXCLUSIVE", "IMMEDIATE"):
            texts = [f"{how} {number}" for number in range(20)]
            with held(case, how):
                with at_most(3, "20 appends"):
                    for text in texts:
                        append.write_text(f"{text}\n")
                assert f"{how} 19" in (mount.session(case.store["shop"]) / "transcript.md").read_text()
            visible_within(5, lambda: None, lambda: prompts(case)[-20:] == texts, "the texts in the history")
        equal(mount.said().count("the prompt history"), 0, "lines in the log")


def test_own_appends_are_not_taken_for_those_of_an_agent_noticed_later(case):
    """A program that started before an append opens the history after it: it looks like an agent now, which may have
    written other logs, but the append is still arborfs' own."""
    typed(case).close()
    age_logs(case)
    with case.browse() as mount:
        append = mount.session(case.store["shop"]) / "append"
        append.write_text("nothing runs\n")
        wait_first = "import sys; print('started', flush=True); sys.stdin.readline()\n"
        with subprocess.Popen([sys.executable, "-c", wait_first + HOLD, case.agent.path / "history.db", "IMMEDIATE"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            equal(holder.stdout.readline(), b"started\n")
            append.write_text("before\n")
            holder.stdin.write(b"open\n")
            holder.stdin.flush()
            equal(holder.stdout.readline(), b"held\n")
            os.utime(case.store["long"].path)
            status = mount.session(case.store["long"]) / "status.json"
            visible_within(5, lambda: None, lambda: json.loads(status.read_text())["state"] == "maybe", "the program")
            append.write_text("after\n")
            holder.kill()


def test_a_locked_history_does_not_delay_the_unmount(case):
    """Texts that still wait for a locked history when the mount ends are left out, and the log says so."""
    typed(case).close()
    browsing = case.browse("history")
    age_logs(case)
    with held(case, "EXCLUSIVE"):
        with browsing as mount:
            (mount.session(case.store["shop"]) / "append").write_text("left out\n")
            written = time.monotonic()
        assert time.monotonic() - written < 3 * PATIENCE, "the unmount waited"
    equal(prompts(case), [])
    assert "is locked; prompts that waited for it and are not in it: 1" in mount.said(), mount.said()
    assert b"left out" in case.store["shop"].path.read_bytes()


def test_without_the_option_appends_stay_out(case):
    """Without -o history no append makes a history."""
    with case.browse() as mount:
        (mount.session(case.store["shop"]) / "append").write_text("hello\n")
        assert not (case.agent.path / "history.db").exists()


def test_an_added_prompt_is_taken_back(case):
    """`arborfs history add` is an operation. Undo takes the row with its words in the index, or the line, away; after
    another prompt in the index it changes nothing and says so."""
    database = typed(case)
    add(database, "one", 1771237230)
    case.arborfs("history", f"--agent-dir={case.agent.path}", "add", "two kites")
    equal([row[0] for row in database.execute("SELECT prompt FROM history ORDER BY id")], ["one", "two kites"])
    case.arborfs("undo", f"--agent-dir={case.agent.path}")
    equal([row[0] for row in database.execute("SELECT prompt FROM history ORDER BY id")], ["one"])
    equal(database.execute("SELECT prompt FROM history_fts WHERE history_fts MATCH 'kites'").fetchall(), [])
    database.execute("INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)")

    case.arborfs("history", f"--agent-dir={case.agent.path}", "add", "three")
    add(database, "four", 1771237250)
    refused = case.arborfs("undo", f"--agent-dir={case.agent.path}", check=False)
    equal(refused.returncode, 1)
    assert b"changed" in refused.stderr and b"since" in refused.stderr, refused.stderr
    equal([row[0] for row in database.execute("SELECT prompt FROM history ORDER BY id")], ["one", "three", "four"])

    claude = case.new_path("claude")
    (claude / "projects").mkdir(parents=True)
    lines = claude / "history.jsonl"
    case.arborfs("history", f"--store=claude={claude}", "add", "first words")
    case.arborfs("undo", f"--store=claude={claude}")
    assert not lines.exists(), lines.read_bytes()
    lines.write_bytes(b'{"torn')
    os.utime(lines, ns=(5 * 10**17, 5 * 10**17))
    case.arborfs("history", f"--store=claude={claude}", "add", "first words")
    assert b"first words" in lines.read_bytes()
    case.arborfs("undo", f"--store=claude={claude}")
    equal((lines.read_bytes(), lines.stat().st_mtime_ns), (b'{"torn', 5 * 10**17))
