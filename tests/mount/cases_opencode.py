"""Sessions of OpenCode are shown by its rules (core/formats/opencode/FORMAT.md); they take messages (tests/opencode)."""

import errno
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path

from cases_requests import Requests, all_sleep
from mounting import PATIENCE, Metronome, equal, eventually, fails_with, needs_root, variants, visible_within
from views import status
from volumes import tmpfs
from writing import refused

SAMPLES = Path(__file__).resolve().parent.parent / "opencode"
STORES = ("first-sqlite-1.2.1", "fresh-1.18.33", "migrated-1.18.33", "files")
CONTROLS = {"append", "branch", "label", "fork", "summary"}


def store(case, name):
    """A data folder of OpenCode with a sample."""
    folder = case.new_path("opencode")
    shutil.copytree(SAMPLES / name, folder)
    return folder


def state_of(folder):
    """Names, inodes, sizes, times and bytes of all files."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
            for path in sorted(folder.rglob("*")) if path.is_file()}


def crawl(folder):
    """Reads every file once."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            if not path.is_symlink() and name not in CONTROLS and name != "events":
                path.read_bytes()


def entry_ids(folder):
    """The ids of the listed messages in order."""
    return [json.loads((folder / "entries" / name).read_text())["info"]["id"]
            for name in sorted(os.listdir(folder / "entries"))]


def context_ids(path):
    return [message["info"]["id"] for message in json.loads(path.read_text())["messages"]]


def expected(name):
    return json.loads((SAMPLES / name / "EXPECTED.json").read_text())["sessions"]


def kind_of(part):
    return f"tool:{part['tool']}:{part['state']['status']}" if part["type"] == "tool" else part["type"]


def check_session(folder, session):
    own = json.loads((folder / "session.json").read_text())
    equal((own["agent"], own["cwd"], own["title"]), ("opencode", session["cwd"], session["title"]), folder)
    equal(own.get("parentSession") or None, session["parentSession"], folder)
    equal((folder / "title").read_text(), session["title"] + "\n", folder)
    equal(entry_ids(folder), [message["id"] for message in session["messages"]], folder)
    for name, message in zip(sorted(os.listdir(folder / "entries")), session["messages"]):
        entry = json.loads((folder / "entries" / name).read_text())
        equal((entry["info"]["id"], entry["info"]["role"]), (message["id"], message["role"]), name)
        equal([kind_of(part) for part in entry["parts"]], message["parts"], name)
    raw = (folder / "raw.jsonl").read_text().splitlines()
    equal([json.loads(line)["info"]["id"] for line in raw], [message["id"] for message in session["messages"]], folder)
    if session["revert"] is None:
        equal(context_ids(folder / "context.json"), session["context"], folder)
    else:
        equal(context_ids(folder / "context.json"), [], folder)
    equal((status(folder)["writable"], status(folder)["problem"]), (True, None), folder)
    equal(CONTROLS & set(os.listdir(folder)), {"append", "label", "fork", "summary"}, folder)


def test_opencode_sessions_have_the_expected_values(case):
    """Titles, entries and contexts of each sample; reading changes no byte of a store."""
    for name in STORES:
        folder = store(case, name)
        before = state_of(folder)
        with case.mount(f"store=opencode={folder}") as mount:
            equal(sorted(os.listdir(mount / "by-id")), sorted(s["id"] for s in expected(name)), name)
            for session in expected(name):
                check_session(mount / "by-id" / session["id"], session)
            crawl(mount / "by-id")
        equal(state_of(folder), before, name)
        shutil.rmtree(folder)


SERVER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode=WAL")
for line in sys.stdin:
    database.execute(line)
    print("done", flush=True)
"""


class Server:
    """A program that has the database open, as OpenCode has while it runs."""

    def __init__(self, path):
        self.process = subprocess.Popen([sys.executable, "-c", SERVER, path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, sql):
        self.process.stdin.write(sql.replace("\n", " ") + "\n")
        self.process.stdin.flush()
        equal(self.process.stdout.readline(), "done\n", sql)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


SESSION = "ses_e002dd988ffe5vw4jTn8z5fNqS"
TITLE = f"UPDATE session SET title = 'From the WAL' WHERE id = '{SESSION}'"


def add_message(number, text, session=SESSION):
    """Statements that add a message with one part, newer than all others."""
    when = int(time.time() * 1000)
    info = json.dumps({"role": "user", "time": {"created": when}, "agent": "build"})
    part = json.dumps({"type": "text", "text": text})
    return (f"INSERT INTO message (id, session_id, time_created, time_updated, data)"
            f" VALUES ('msg_new{number}', '{session}', {when}, {when}, '{info}')",
            f"INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)"
            f" VALUES ('prt_new{number}', 'msg_new{number}', '{session}', {when}, {when}, '{part}')")


def test_looking_at_an_opencode_database_changes_nothing(case):
    """A crawl leaves the database and the files next to it unchanged: while its program runs, after a crash, and with a
    -wal whose -shm is gone."""
    folder = store(case, "fresh-1.18.33")
    with Server(folder / "opencode.db") as server:
        server.run(TITLE)
        for state in ("running", "crashed", "no shm"):
            if state == "crashed":
                server.kill()
            elif state == "no shm":
                (folder / "opencode.db-shm").unlink()
            before = state_of(folder)
            assert (folder / "opencode.db-wal").stat().st_size > 0
            with case.mount(f"store=opencode={folder}") as mount:
                crawl(mount / "by-id")
                equal((mount / "by-id" / SESSION / "title").read_text(), "From the WAL\n", state)
            equal(state_of(folder), before, state)


def test_opencode_session_follows_its_program(case):
    """What OpenCode commits shows at once: messages, titles, new and removed sessions."""
    folder = store(case, "fresh-1.18.33")
    with Server(folder / "opencode.db") as server, case.mount(f"store=opencode={folder}") as mount:
        session = mount / "by-id" / SESSION
        before = entry_ids(session)
        first, second = add_message(1, "hello"), add_message(2, "more")

        def add(statements):
            for statement in statements:
                server.run(statement)

        visible_within(1, lambda: add(first), lambda: entry_ids(session) == [*before, "msg_new1"], "a message")
        visible_within(1, lambda: add(second), lambda: entry_ids(session)[-1] == "msg_new2", "another message")
        equal(context_ids(session / "context.json")[-2:], ["msg_new1", "msg_new2"], "context")
        visible_within(1, lambda: server.run(TITLE), lambda: (session / "title").read_text() == "From the WAL\n", "title")
        visible_within(1, lambda: server.run(f"DELETE FROM session WHERE id = '{SESSION}'"),
                       lambda: SESSION not in os.listdir(mount / "by-id"), "the removal")


def test_opencode_takes_messages_and_titles(case):
    """A message and a title that are written to the mount are in the database, while a program has it open."""
    folder = store(case, "fresh-1.18.33")
    with Server(folder / "opencode.db") as server, case.mount(f"store=opencode={folder}") as mount:
        session = mount / "by-id" / SESSION
        before = entry_ids(session)
        server.run("UPDATE project SET time_updated = time_updated + 1")
        fails_with(errno.EPERM, (session / "append").write_text, '{"role":"user","content":"JSON"}\n')
        visible_within(1, lambda: (session / "append").write_text("Go on."),
                       lambda: entry_ids(session)[:-1] == before, "the message")
        visible_within(1, lambda: None,
                       lambda: context_ids(session / "context.json")[-1] == entry_ids(session)[-1], "the context")
        (session / "title").write_text("From the mount\n")
        equal((session / "title").read_text(), "From the mount\n", "title")
        said = case.arborfs("append", SESSION, "And on.", "--store", f"opencode={folder}", check=False)
        visible_within(1, lambda: None, lambda: len(entry_ids(session)) == len(before) + 2, said.stderr)
        server.run("UPDATE project SET time_updated = time_updated + 1")
    database = sqlite3.connect(folder / "opencode.db")
    equal(database.execute("SELECT data FROM part ORDER BY time_created DESC LIMIT 2").fetchall(),
          [('{"type":"text","text":"And on."}',), ('{"type":"text","text":"Go on."}',)], "parts")
    equal(database.execute("PRAGMA foreign_key_check").fetchall(), [], "foreign keys")
    equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity")
    database.close()


@needs_root
def test_a_full_disk_is_named_by_writes_to_opencode(case):
    """The command line says that no space is left, also if SQLite cannot make a file beside the database; nothing is
    changed, and a write works when there is room again."""
    volume = tmpfs(case)
    folder = volume.point / "opencode"
    shutil.copytree(SAMPLES / "fresh-1.18.33", folder)
    before = rows(folder)
    with volume.filled():
        for words in (("append", SESSION, "hello"), ("rm", "--yes", SESSION)):
            done = case.arborfs(*words, "--store", f"opencode={folder}", check=False)
            equal(done.returncode, 1, words)
            assert b"no space left" in done.stderr, done.stderr
    equal(rows(folder), before, "the database")
    case.arborfs("append", SESSION, "hello", "--store", f"opencode={folder}")


@needs_root
@variants(database={"name": "fresh-1.18.33"}, files={"name": "files"})
def test_a_read_only_disk_is_named_by_writes_to_opencode(case, name):
    """Every write fails with EROFS through a mount, and says so on the command line; it works when the disk is writable
    again."""
    volume = tmpfs(case, size=8 << 20)
    folder = volume.point / "opencode"
    shutil.copytree(SAMPLES / name, folder)
    session_id, before = expected(name)[-1]["id"], files_of(folder)
    with case.mount("allow_delete", f"store=opencode={folder}") as mount:
        session = (mount / "by-id" / session_id).resolve()
        volume.remount("ro")
        for script in ("echo x > append", "echo x > title", "printf x > title", "echo x > summary", 'rmdir "$PWD"'):
            refused(script, session, "Read-only file system")
        for words in (("append", session_id, "x"), ("title", session_id, "x"), ("summary", session_id, "x"),
                      ("rm", "-y", session_id)):
            done = case.arborfs(*words, "--store", f"opencode={folder}", check=False)
            assert done.returncode == 1 and b"ead-only" in done.stderr, (words, done)
        equal(files_of(folder), before, "the store")
        equal(list((case.root / "data").glob("arborfs/trash/*/from.json")), [], "the trash")
        volume.remount("rw")
        shell("echo 'It goes on.' > append; echo 'Another' > title", session)
        equal((session / "title").read_text(), "Another\n", "title")


def test_doctor_names_what_killed_writers_left_in_opencode_files(case):
    """The temporary files of a message, a part, a title, a project and a diff, as soon as their writer has ended."""
    folder = store(case, "files")
    storage = folder / "storage"
    session = expected("files")[-1]["id"]
    places = [storage / "message" / session, next((storage / "part").iterdir()), next((storage / "session").iterdir()),
              storage / "project", storage / "session_diff"]
    drafts = [place / ".left.json.tmp" for place in places]
    writers = [open(draft, "w") for draft in drafts]
    words = ("doctor", "--store", f"opencode={folder}")
    equal(case.arborfs(*words, check=False).returncode, 0, "while their writers live")
    for writer in writers:
        writer.close()
    said = case.arborfs(*words, check=False)
    equal(said.returncode, 1, said)
    for draft in drafts:
        assert str(draft) in said.stdout.decode() and "leftover_temporary" in said.stdout.decode(), (draft, said)


def rows(folder):
    """All rows of the database, whatever their order."""
    database = sqlite3.connect(folder / "opencode.db")
    tables = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {table: sorted(map(repr, database.execute(f'SELECT * FROM "{table}"'))) for table in tables}
    equal(database.execute("PRAGMA foreign_key_check").fetchall(), [], "foreign keys")
    equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity")
    database.close()
    return found


def test_opencode_sessions_are_removed_and_restored(case):
    """rmdir and `arborfs rm` remove sessions with those that were started from them, beside a program that has the
    database open; `arborfs restore` brings all rows back."""
    folder = store(case, "fresh-1.18.33")
    before = rows(folder)
    sessions = expected("fresh-1.18.33")
    child = next(session for session in sessions if session["parentSession"])
    with Server(folder / "opencode.db") as server, case.mount(f"allow_delete,store=opencode={folder}") as mount:
        server.run("UPDATE project SET time_updated = time_updated")
        subprocess.run(["rm", "-r", (mount / "by-id" / child["parentSession"]).resolve()], check=True)
        left = {session["id"] for session in sessions} - {child["id"], child["parentSession"]}
        equal(set(os.listdir(mount / "by-id")), left, "by-id")
        case.arborfs("rm", "--yes", SESSION, "--store", f"opencode={folder}")
        visible_within(1, lambda: None, lambda: set(os.listdir(mount / "by-id")) == left - {SESSION}, "the removal")
        case.arborfs("restore", "latest")
        case.arborfs("restore", "latest")
        visible_within(1, lambda: None, lambda: len(os.listdir(mount / "by-id")) == len(sessions), "the restore")
        check_session(mount / "by-id" / child["id"], child)
    equal(rows(folder), before, "the database")


def files_of(folder):
    """The bytes of all files of a store."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shell(script, folder):
    """The commands that a user would type in the folder of a session."""
    return subprocess.run(["sh", "-c", script], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_opencode_files_take_messages_titles_and_summaries(case):
    """What is written from a shell to a session of a store of JSON files is there as OpenCode writes it, and nothing but
    the session's title and time has changed."""
    folder = store(case, "files")
    before = files_of(folder)
    session_id = expected("files")[-1]["id"]
    with case.mount(f"store=opencode={folder}") as mount:
        session = mount / "by-id" / session_id
        entries = entry_ids(session)
        shell("echo 'Go on.' > append", session)
        visible_within(1, lambda: None, lambda: entry_ids(session)[:-1] == entries, "the message")
        message = entry_ids(session)[-1]
        equal(context_ids(session / "context.json")[-1], message, "the context")
        shell("echo 'From the mount' > title", session)
        equal((session / "title").read_text(), "From the mount\n", "title")
        shell("echo > summary", session)
        visible_within(1, lambda: None, lambda: len(entry_ids(session)) == len(entries) + 2, "the summary")
        said = case.arborfs("summary", session_id, '{"repo":"o/r"} was built', "--store", f"opencode={folder}")
        assert said.stdout.startswith(b"msg_") or "msg_" in str(said.stdout), said
        visible_within(1, lambda: None, lambda: len(entry_ids(session)) == len(entries) + 3, "the other summary")
        transcript = (session / "transcript.md").read_text()
        assert "--- Fro Bot Run Summary ---" in transcript and '{"repo":"o/r"} was built' in transcript, transcript
    after = files_of(folder)
    changed = {name for name, text in before.items() if after.get(name) != text}
    equal([Path(name).name for name in changed], [f"{session_id}.json"], "changed files")
    added = sorted(set(after) - set(before))
    equal([Path(name).parts[1] for name in added], ["message"] * 3 + ["part"] * 3, added)
    written = json.loads(after[f"storage/message/{session_id}/{message}.json"])
    assert after[f"storage/message/{session_id}/{message}.json"].decode() == json.dumps(written, indent=2), written
    own = json.loads(after[next(iter(changed))])
    equal(own["title"], "From the mount", "title")


@variants(database={"name": "fresh-1.18.33"}, files={"name": "files"})
def test_a_shell_learns_that_opencode_would_remove_a_message(case, name):
    """A shell ignores errors of close, so the write already fails where the last messages are undone."""
    folder = store(case, name)
    undone = next(session["id"] for session in expected(name) if session["revert"])
    before = files_of(folder)
    with case.mount(f"store=opencode={folder}") as mount:
        session = mount / "by-id" / undone
        said = subprocess.run(["bash", "-c", "echo Go on. > append"], cwd=session, capture_output=True, text=True)
        assert said.returncode != 0 and "Invalid argument" in said.stderr, said
        assert "undone" in str(status(session)["lastError"]), status(session)
    equal(files_of(folder), before, "files of the store")


def test_sessions_in_opencode_files_are_removed_and_restored(case):
    """rm -r removes a session with those that were started from it; `arborfs restore` brings every file back."""
    folder = store(case, "files")
    before = files_of(folder)
    sessions = expected("files")
    child = next(session for session in sessions if session["parentSession"])
    with case.mount(f"allow_delete,store=opencode={folder}") as mount:
        subprocess.run(["rm", "-r", (mount / "by-id" / child["parentSession"]).resolve()], check=True)
        left = {session["id"] for session in sessions} - {child["id"], child["parentSession"]}
        equal(set(os.listdir(mount / "by-id")), left, "by-id")
        equal([name for name in files_of(folder) if child["id"] in name or child["parentSession"] in name], [], "files")
        case.arborfs("restore", "latest")
        visible_within(1, lambda: None, lambda: len(os.listdir(mount / "by-id")) == len(sessions), "the restore")
        check_session(mount / "by-id" / child["id"], child)
    equal(files_of(folder), before, "the store")


def test_opencode_files_are_followed(case):
    """In a store of JSON files, a message appears as soon as its file does."""
    folder = store(case, "files")
    with case.mount(f"store=opencode={folder}") as mount:
        wanted = expected("files")[-1]
        session = mount / "by-id" / wanted["id"]
        before = entry_ids(session)
        storage = folder / "storage"

        def add():
            (storage / "part" / "msg_new").mkdir()
            (storage / "part" / "msg_new" / "prt_new.json").write_text(json.dumps(
                {"id": "prt_new", "sessionID": wanted["id"], "messageID": "msg_new", "type": "text", "text": "hello"}))
            (storage / "message" / wanted["id"] / "msg_new.json").write_text(json.dumps(
                {"id": "msg_new", "sessionID": wanted["id"], "role": "user", "time": {"created": time.time() * 1000}}))

        visible_within(1, add, lambda: entry_ids(session) == [*before, "msg_new"], "the message")


def test_mounting_opencode_files_reads_no_message(case):
    """Sessions are listed by id and by title without reading messages and parts: reading a folder changes its atime."""
    folder = store(case, "files")
    folders = [place for name in ("message", "part") for place in (folder / "storage" / name).rglob("") if place.is_dir()]
    for place in folders:
        os.utime(place, (1, place.stat().st_mtime))
    with case.mount(f"store=opencode={folder}") as mount:
        equal(len(os.listdir(mount / "by-id")), len(expected("files")), "sessions")
        started_by_nobody = [session for session in expected("files") if not session["parentSession"]]
        equal(len(os.listdir(mount / "recent")), len(started_by_nobody), "recent")
        equal({place.stat().st_atime for place in folders}, {1.0}, "times of access")


def test_bad_opencode_database_hides_no_other_store(case):
    """A database that is damaged, of another program, or no database is reported; sessions of other agents are there."""
    case.agent.session().write()
    for number, content in enumerate((b"no database" * 1000, b"", None)):
        folder = case.new_path(f"bad{number}")
        folder.mkdir()
        if content is None:
            database = sqlite3.connect(folder / "opencode.db")
            database.execute("CREATE TABLE other(x)")
            database.commit()
            database.close()
        else:
            (folder / "opencode.db").write_bytes(content)
        with case.mount(f"store=opencode={folder}") as mount:
            equal(len(os.listdir(mount / "by-id")), 1, "sessions")
            problems = json.dumps(json.loads((mount / "status.json").read_text()))
            assert "database" in problems, problems
        said = case.arborfs("stores", "--store", f"opencode={folder}", check=False)
        assert b"database" in said.stdout, said.stdout


FEW = 50  # of more than 500 entries: the kernel may drop pages from its cache, as machines with DAMON do all the time


def stays_cached(mount, session, allowed, tell):
    """Reads all entries before the last turn while tell(text) changes the last message: the kernel has them. The
    changes show within `allowed` seconds, as a rule."""
    entries = os.open((mount / "by-id" / session / "entries").resolve(), os.O_RDONLY)

    def read(name):
        with open(os.open(name, os.O_RDONLY, dir_fd=entries), "rb") as file:
            return file.read()

    names = sorted(os.listdir(entries))
    settled = {name: (read(name), os.stat(name, dir_fd=entries)) for name in names[:-2]}
    requests = Requests(mount)

    def costs_nothing():
        requests.start()
        return all(read(name) == content for name, (content, _) in settled.items()) and requests.of("READ") == 0

    eventually(10, costs_nothing, "all entries are cached")
    late = []
    for words in ("And", "And so", "And so it goes"):
        with Metronome() as metronome:
            tell(words)
            start = time.monotonic()
            eventually(10, lambda: f'"{words}"'.encode() in read(names[-1]), words)
            late.append(time.monotonic() - start - metronome.hiccup)
        eventually(30, lambda: all_sleep(mount), "the change is known")
        requests.start()
        for name, (content, stat) in settled.items():
            equal(read(name), content, name)
            now = os.stat(name, dir_fd=entries)
            equal((now.st_ino, now.st_size, now.st_mtime_ns), (stat.st_ino, stat.st_size, stat.st_mtime_ns), name)
        for request in ("LOOKUP", "OPEN"):
            equal(requests.of(request), 0, f"{request} after {words}, of {requests.all()}")
        assert requests.of("READ") <= FEW, f"READ after {words}, of {requests.all()}"
    os.close(entries)
    assert statistics.median(late) <= allowed * PATIENCE, f"changes visible after {late} s"


def test_entries_before_a_streamed_answer_stay_cached(case):
    """While OpenCode changes its last message in place, in a session of more than 500 parts, the kernel asks for no entry
    of an earlier turn, and each change shows within 200 ms."""
    folder = store(case, "fresh-1.18.33")
    with Server(folder / "opencode.db") as server:
        server.run("BEGIN")
        for number in range(520):
            for statement in add_message(1000 + number, f"message {number}"):
                server.run(statement)
        answer = json.dumps({"role": "assistant", "time": {"created": int(time.time() * 1000)}})
        server.run(f"UPDATE message SET data = '{answer}' WHERE id = 'msg_new1519'")
        server.run("COMMIT")

        def tell(words):
            part = json.dumps({"type": "text", "text": words})
            server.run(f"UPDATE part SET data = '{part}', time_updated = time_updated + 1 WHERE id = 'prt_new1519'")

        with case.mount("ro", "debug", f"store=opencode={folder}") as mount:
            stays_cached(mount, SESSION, 0.2, tell)


def test_entries_before_a_streamed_answer_stay_cached_with_files(case):
    """The same for a store of JSON files, only some of which are watched."""
    folder = store(case, "files")
    session = expected("files")[-1]["id"]
    storage = folder / "storage"

    def write(number, role, text):
        parts = storage / "part" / f"msg_new{number}"
        parts.mkdir(exist_ok=True)
        ids = {"sessionID": session, "messageID": f"msg_new{number}"}
        (parts / "new").write_text(json.dumps({"id": f"prt_new{number}", **ids, "type": "text", "text": text}))
        (parts / "new").rename(parts / f"prt_new{number}.json")
        info = {"id": f"msg_new{number}", "sessionID": session, "role": role, "time": {"created": 1.8e12 + number}}
        (storage / "message" / session / f"msg_new{number}.json").write_text(json.dumps(info))

    for number in range(1000, 1520):
        write(number, "user" if number % 2 == 0 else "assistant", f"message {number}")
    with case.mount("ro", "debug", f"store=opencode={folder}") as mount:
        stays_cached(mount, session, 1, lambda words: write(1519, "assistant", words))
