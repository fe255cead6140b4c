"""native/ has the agent's own files or rows of a session, verbatim (docs/CONTRACT.md 2.10)."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from mounting import equal, visible_within

SAMPLES = Path(__file__).resolve().parent.parent
CLAUDE = Path("-tmp-demo-greeter")
STARTER = "33333333-3333-4333-8333-333333333333"
SUB_AGENT = "agent-a63cc6e82b4a02395"
SECRET = "hunter2hunter2"


def copied(case, sample, into=""):
    """A store with samples."""
    folder = case.new_path("store")
    shutil.copytree(SAMPLES / sample, folder / into)
    return folder


def facts_of(path):
    return path.stat().st_size, path.stat().st_mtime_ns, path.read_bytes()


def files_in(folder):
    """The facts of each file by its path."""
    found = {str(path.relative_to(folder)): facts_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    for path, (size, _, text) in found.items():
        equal(size, len(text), path)
    return found


def everything_in(folder):
    """Names, inodes, times and bytes of everything in a store."""
    return {path: (path.lstat().st_ino, path.lstat().st_mtime_ns, path.is_file() and path.read_bytes())
            for path in sorted(folder.rglob("*"))}


def below(folder, *paths):
    """The expected contents of native/: files, and folders with everything in them, by their paths in a folder."""
    wanted = {}
    for path in paths:
        at = folder / path
        if at.is_dir():
            wanted.update({f"{path}/{name}": facts for name, facts in files_in(at).items()})
        elif at.exists():
            wanted[str(path)] = facts_of(at)
    return wanted


def check_native(case, store, wanted):
    """`wanted` gives the files of each session by its id."""
    before = everything_in(Path(store.split("=", 1)[1]))
    with case.mount(f"store={store}") as mount:
        for session, files in wanted.items():
            equal(files_in(mount / "by-id" / session / "native"), files, session)
    equal(everything_in(Path(store.split("=", 1)[1])), before, store)


def test_native_files_of_claude_codex_goat_and_opal(case):
    """Every file of the session with its size and time; reading changes nothing."""
    claude = copied(case, "claude/projects", "projects")
    project = claude / "projects" / CLAUDE
    results = project / STARTER / "tool-results"
    results.mkdir()
    (results / "a b.txt").write_text("long output\n")
    agents = project / STARTER / "subagents"
    check_native(case, f"claude={claude}", {
        STARTER: below(project, f"{STARTER}.jsonl", STARTER),
        SUB_AGENT: below(agents, f"{SUB_AGENT}.jsonl", f"{SUB_AGENT}.meta.json")})
    codex = copied(case, "codex/paginated")
    day = codex / "sessions/2026/11/21"
    thread = "01a1ffe5-09c1-7be0-82ef-7bbde2eca945"
    check_native(case, f"codex={codex}", {thread: {path.name: facts_of(path) for path in day.glob(f"*{thread}*")}})
    goat = copied(case, "goat/nested", "sessions")
    own = ("metadata.json", "messages.jsonl", "transcript.jsonl", "checkpoints")
    check_native(case, f"goat={goat / 'sessions'}",
                 {folder.name: below(folder, *own) for folder in (goat / "sessions").iterdir() if folder.is_dir()})
    for sample, ending in (("opal", "jsonl"), ("opal/dets", "dets")):
        opal = copied(case, f"{sample}/sessions", "sessions")
        check_native(case, f"opal={opal}", {path.stem: {path.name: facts_of(path)}
                                            for path in (opal / "sessions").glob(f"*.{ending}")})


def test_native_files_of_opencode(case):
    """The files of one session in a tree as in the store, without those of others and without shares."""
    opencode = copied(case, "opencode/files")
    storage = opencode / "storage"
    (storage / "session_share").mkdir(exist_ok=True)
    wanted = {}
    for session in storage.glob("session/*/*.json"):
        (storage / "session_share" / session.name).write_text(SECRET)
        messages = sorted((storage / "message" / session.stem).glob("*.json"))
        wanted[session.stem] = below(
            storage, f"session/{session.parent.name}/{session.name}", f"project/{session.parent.name}.json",
            f"message/{session.stem}", f"todo/{session.name}", f"session_diff/{session.name}",
            *(f"part/{message.stem}" for message in messages))
    check_native(case, f"opencode={opencode}", wanted)
    assert any(len(files) > 5 for files in wanted.values()), "samples"


def plain(value):
    return {"blob": value.hex()} if isinstance(value, bytes) else value


def rows_of(database, query, session):
    cursor = database.execute(query, (session,))
    names = [column[0] for column in cursor.description]
    return [{name: plain(value) for name, value in zip(names, row)} for row in cursor]


ROWS = {
    "session": ("SELECT * FROM session WHERE id = ?", "id"),
    "message": ("SELECT * FROM message WHERE session_id = ?", "id"),
    "part": ("SELECT * FROM part WHERE session_id = ?", "id"),
    "todo": ("SELECT * FROM todo WHERE session_id = ?", "position"),
    "project": ("SELECT * FROM project WHERE id = (SELECT project_id FROM session WHERE id = ?)", "id"),
    "event_sequence": ("SELECT * FROM event_sequence WHERE aggregate_id = ?", "aggregate_id"),
}


def check_rows(native, database, session):
    """Each row is a file, with the row's time if it has one."""
    has = {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    wanted = {f"{table}/{row[key]}.json": row for table, (query, key) in ROWS.items() if table in has
              for row in rows_of(database, query, session)}
    found = files_in(native)
    equal({path: json.loads(text) for path, (_, _, text) in found.items()}, wanted, native)
    for path, row in wanted.items():
        if "time_updated" in row:
            equal(found[path][1], row["time_updated"] * 1_000_000, path)
    assert all(SECRET.encode() not in text for _, _, text in found.values()), native


def check_entries(folder):
    """Entries are composed of the rows that native/ shows."""
    for name in os.listdir(folder / "entries"):
        info = json.loads((folder / "entries" / name).read_text())["info"]
        row = json.loads((folder / "native" / "message" / f"{info['id']}.json").read_text())
        data = {key: value for key, value in info.items() if key not in ("id", "sessionID")}
        equal(data, json.loads(row["data"]), name)


def test_native_rows_of_opencode(case):
    """One file per row with all columns, of each version of the database; tables with secrets are not shown."""
    for sample in ("first-sqlite-1.2.1", "fresh-1.18.33"):
        opencode = copied(case, f"opencode/{sample}")
        path = opencode / "opencode.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            sessions = [name for name, in database.execute("SELECT id FROM session ORDER BY id")]
            database.execute("INSERT INTO session_share VALUES (?, 'x', ?, 'http://x', 1, 1)", (sessions[0], SECRET))
            database.execute("INSERT INTO control_account VALUES ('a', 'b', ?, ?, 1, 1, 1, 1)", (SECRET, SECRET))
            database.execute("INSERT INTO todo VALUES (?, ?, 'pending', 'high', 7, 1, 2)", (sessions[0], "a\x01b/ü"))
            database.execute("UPDATE part SET data = x'7b00ff' WHERE rowid = 1")
        before = everything_in(opencode)
        with case.mount(f"store=opencode={opencode}") as mount, closing(
                sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            for session in sessions:
                check_rows(mount / "by-id" / session / "native", database, session)
                check_entries(mount / "by-id" / session)
            missing = mount / "by-id" / sessions[0] / "native" / "part" / "prt_none.json"
            assert not missing.exists() and not (missing.parent.parent / "account").exists(), "unknown names"
        equal(everything_in(opencode), before, sample)


def test_native_follows_no_link_and_shows_odd_names(case):
    """Links and FIFOs in the store are left out; names are made safe."""
    claude = copied(case, "claude/projects", "projects")
    folder = claude / "projects" / CLAUDE / STARTER / "tool-results"
    folder.mkdir()
    outside = case.new_path("outside")
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    os.symlink(outside, folder / "linked")
    os.symlink(outside / "secret", folder / "secret.txt")
    os.mkfifo(folder / "fifo")
    odd = {"-x": "-x", "\x1b[31m": "%1B[31m", "a%b": "a%25b", ".hidden": ".hidden", "ü" * 120: "ü" * 120}
    for name in odd:
        (folder / name).write_text(name)
    with case.mount(f"store=claude={claude}") as mount:
        shown = mount / "by-id" / STARTER / "native" / STARTER / "tool-results"
        names = os.listdir(shown)
        equal(sorted(path.read_text() for path in shown.iterdir()), sorted(odd), names)
        assert not any(os.path.lexists(shown / name) for name in ("linked", "secret.txt", "fifo")), names
        assert "%1B[31m" in names and "-x" not in names, names


def test_native_follows_the_agent(case):
    """A file that grows, and one that appears."""
    claude = copied(case, "claude/projects", "projects")
    project = claude / "projects" / CLAUDE
    with case.mount(f"store=claude={claude}") as mount:
        native = mount / "by-id" / STARTER / "native"
        log, shown = project / f"{STARTER}.jsonl", native / f"{STARTER}.jsonl"
        equal(shown.read_bytes(), log.read_bytes(), "the transcript")

        def append():
            with open(log, "a") as out:
                out.write('{"type":"mode"}\n')

        visible_within(1, append, lambda: shown.read_bytes() == log.read_bytes(), "a line")
        results = project / STARTER / "tool-results"
        visible_within(1, lambda: (results.mkdir(), (results / "x.txt").write_text("x")),
                       lambda: (native / STARTER / "tool-results" / "x.txt").exists(), "a file")


def test_sessions_of_omp_have_no_native_folder(case):
    """raw.jsonl and artifacts/ show everything."""
    session = case.agent.session()
    session.write()
    with case.mount() as mount:
        assert "native" not in os.listdir(mount / "by-id" / session.id), "native"
