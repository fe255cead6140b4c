"""Bad input, for every agent: what a row of a table breaks shows in the session's status.json, in the mount's or in
`arborfs stores`, hides no neighbour, and nothing hangs (CONTRACT.md 7)."""

import contextlib
import json
import os
import shutil
import sqlite3
import threading
import time
from pathlib import Path

from mounting import PATIENCE, SANITIZED, equal, eventually, variants, without_override
from views import status

TESTS = Path(__file__).resolve().parent.parent
CONTROLS = {"append", "branch", "label", "fork", "title", "new"}
GIANT = 1 << 30
READ = 8 << 20  # of one file
LONGEST_LOOK = 60  # seconds, for one session: a gigabyte is read
WRONG = (None, True, -1, 1e300, 0.5, "", "\udcff\x00", [], [[]], {}, {"type": 7}, [None, 7, "x", {"type": None, "text": []}])


# -- stores of each agent


def session_id(number):
    return f"44444444-4444-4444-8444-{number:012d}"


class JsonLines:
    """An agent with a file of JSON lines for each session. `records` are those of a good session: a header, then a
    chain of messages."""

    def __init__(self, path, records):
        self.path, self.records = path, records

    def add(self, folder, number):
        """A good session; returns its file."""
        path = folder / self.path.format(id=session_id(number))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(self.records(session_id(number))))
        return path


def lines(records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def claude_records(session):
    return [{"parentUuid": f"u{i - 1}" if i else None, "isSidechain": False, "type": "assistant" if i % 2 else "user",
             "uuid": f"u{i}", "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/tmp/bad", "sessionId": session,
             "version": "2.1.330",
             "message": {"id": f"m{i}", "role": "assistant", "model": "m", "content": [{"type": "text", "text": f"said {i}"}],
                         "usage": {"input_tokens": 1, "output_tokens": 2}} if i % 2 else
             {"role": "user", "content": f"said {i}"}} for i in range(4)]


def codex_records(session):
    head = {"id": session, "cwd": "/tmp/bad", "timestamp": "2026-01-02T03:04:05.678Z", "cli_version": "0.169.0"}
    said = [{"type": "message", "role": "assistant" if i % 2 else "user",
             "content": [{"type": "output_text" if i % 2 else "input_text", "text": f"said {i}"}]} for i in range(4)]
    return [{"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}
            for kind, payload in [("session_meta", head), *(("response_item", one) for one in said)]]


def opal_records(session):
    return [{"session_id": session, "current_id": "m3", "metadata": {"title": "bad"}},
            *({"id": f"m{i}", "parent_id": f"m{i - 1}" if i else None, "role": "assistant" if i % 2 else "user",
               "content": f"said {i}", "is_error": False} for i in range(4))]


def goat_records(session):
    return [{"uuid": f"u{i}", "timestamp": "2026-01-02T03:04:05Z",
             "message": {"role": "assistant" if i % 2 else "user", "content": f"said {i}"}} for i in range(4)]


class Goat(JsonLines):
    def add(self, folder, number):
        path = super().add(folder, number)
        (path.parent / "metadata.json").write_text(json.dumps({"id": session_id(number), "cwd": "/tmp/bad", "model": "m",
                                                               "message_count": 4}))
        return path


AGENTS = {
    "claude": JsonLines("projects/-tmp-bad/{id}.jsonl", claude_records),
    "codex": JsonLines("sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl", codex_records),
    "opal": JsonLines("sessions/{id}.jsonl", opal_records),
    "goat": Goat("{id}/messages.jsonl", goat_records),
}


class OpalTable:
    """Opal's tables: copies of a sample, with ids of the same length."""

    sample = next((TESTS / "opal" / "dets").glob("**/*.dets"))

    def add(self, folder, number):
        path = folder / "sessions" / f"{number:032d}.dets"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.sample.read_bytes().replace(self.sample.stem.encode(), path.stem.encode()))
        return path


class OpenCodeFiles:
    """OpenCode's files: a session with two messages of one part each. The file is that of its first message."""

    def add(self, folder, number):
        session, storage = f"ses_{number:03d}", folder / "storage"
        records = {f"session/p/{session}.json": {"id": session, "projectID": "p", "directory": "/tmp/bad", "title": "bad",
                                                 "version": "1.1.53", "time": {"created": 1, "updated": 2}}}
        for i, role in enumerate(("user", "assistant")):
            message, part = f"msg_{number:03d}{i}", f"prt_{number:03d}{i}"
            records[f"message/{session}/{message}.json"] = {
                "id": message, "sessionID": session, "role": role, "time": {"created": i + 1, "completed": i + 2},
                "tokens": {"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}, "cost": 0.5}
            records[f"part/{message}/{part}.json"] = {"id": part, "sessionID": session, "messageID": message, "type": "text",
                                                      "text": f"said {i}"}
        for name, record in records.items():
            path = storage / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record))
        return storage / "message" / session / f"msg_{number:03d}0.json"


# -- looking


def crawl(folder):
    """Reads every file of a folder once, at most READ of it, continues after errors, and returns them."""
    errors = []
    for place, _, names in os.walk(folder, onerror=errors.append):
        for name in names:
            path = Path(place) / name
            if path.is_symlink() or name in CONTROLS or name == "events":
                continue
            try:
                with path.open("rb") as file:
                    file.read(READ)
            except OSError as error:
                errors.append(error)
    return errors


def in_time(seconds, work, what):
    """The result of work(), which must end in time; a process that waits for the mount can still be killed."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(seconds * PATIENCE)
    assert not thread.is_alive(), f"{what} took longer than {seconds} s"
    assert found, what
    return found[0]


def session_folders(mount):
    """The folders of all sessions, by the number in their name."""
    found = {}
    for name in os.listdir(mount / "by-id"):
        digits = name.removesuffix(".json").rpartition("-")[2].rpartition("_")[2]
        if digits.isdigit():
            found[int(digits)] = mount / "by-id" / name
    return found


def said(folder):
    """All texts of a session in one."""
    return "".join((folder / "text" / name).read_text() for name in sorted(os.listdir(folder / "text")))


def check_good(folder, texts=("said 0", "said 1")):
    shown = said(folder)
    for text in texts:
        assert text in shown, (folder, shown)
    found = status(folder)
    equal((found["problem"], found["damage"], found["orphans"], found["duplicateIds"], found["cycles"]),
          (None, [], 0, 0, 0), folder)


def clean_end(done):
    """No crash: doctor says 0, or 1 for findings."""
    assert done.returncode in (0, 1), (done.returncode, done.stderr[-2000:])
    return done.stdout


# -- files of JSON lines


def torn(path, records):
    path.write_bytes(lines(records)[:-9])
    os.utime(path, (1, 1))


def half_written(path, records):
    path.write_bytes(lines(records[:-1]) + b'{"type":"user","message":{"con\n' + lines(records[-1:]))


def not_json(path, records):
    path.write_bytes(lines(records[:2]) + b"no JSON at all\n5\n[]\nnull\n\xff\xfe\n\n" + lines(records[2:]))


def zeros(path, records):
    path.write_bytes(lines(records[:-1]) + bytes(4096) + b"\n" + lines(records[-1:]))


def rewired(records, key, value_of):
    return [dict(record, **{key: value_of(i)}) if key in record else record for i, record in enumerate(records)]


def cycle(path, records):
    key = "parentUuid" if "parentUuid" in records[-1] else "parent_id"
    own = "uuid" if key == "parentUuid" else "id"
    path.write_bytes(lines([record if key not in record else dict(record, **{key: records[i % 2 - 2][own]})
                            for i, record in enumerate(records)]))


def orphan(path, records):
    key = "parentUuid" if "parentUuid" in records[-1] else "parent_id"
    path.write_bytes(lines([*records[:-1], dict(records[-1], **{key: "gone"})]))


def twice(path, records):
    path.write_bytes(lines(records + records[-1:]))


def giant_line(path, records):
    with path.open("wb") as file:
        file.write(lines(records) + b'{"type":"user","x":"')
        file.seek(GIANT, os.SEEK_CUR)
        file.write(b'"}\n' + lines(records[-1:]))


def empty(path, records):
    path.write_bytes(b"")


def binary(path, records):
    path.write_bytes(bytes(range(256)) * 512)


def nested(path, records):
    path.write_bytes(lines(records[:-1]) + b'{"type":' + b"[" * 1_000_000 + b"\n" + lines(records[-1:]))


def paths_in(value, path=()):
    """Where each value of a record lies."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths_in(inner, (*path, key))


def replaced(value, path, by):
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], by)
    return copy


def wrong_types(path, records):
    """Each value of each record becomes each of WRONG in turn."""
    broken = [replaced(record, place, wrong) for record in (records[0], records[-2], records[-1])
              for place in paths_in(record) for wrong in WRONG]
    path.write_bytes(lines(records + broken + records[-1:]))


def fifo(path, _):
    path.unlink()
    os.mkfifo(path)


def directory(path, _):
    path.unlink()
    path.mkdir()


def dangling_link(path, _):
    path.unlink()
    path.symlink_to(path.with_name("nothing.jsonl"))


def unreadable(path, _):
    path.chmod(0)


def has_damage(found):
    return found["damage"]


def has_problem(found):
    return found["problem"]


def has_any(found):
    return found["damage"] or found["problem"] or found["orphans"] or found["duplicateIds"] or found["cycles"]


def is_whole(_):
    return True


# Ways to break a log, and the expected text of its status.json. None: the session is left out or says why it cannot be
# read.
BROKEN_LOGS = [(torn, has_damage), (half_written, has_damage), (not_json, has_damage), (zeros, has_damage),
               (twice, is_whole), (giant_line, has_damage), (binary, has_any), (nested, has_damage), (empty, is_whole),
               (wrong_types, is_whole), (fifo, None), (directory, None), (dangling_link, None)]
BROKEN_TREES = [(cycle, lambda found: found["cycles"] or found["orphans"] or found["branches"]),
                (orphan, lambda found: found["orphans"] == 1)]


def rows_of(agent):
    rows = list(BROKEN_LOGS)
    if agent in ("claude", "opal"):
        rows += BROKEN_TREES
    return rows


def check_broken(folders, number, wanted, name):
    """The report about the session with this number."""
    folder = folders.get(number)
    if folder is None:
        assert wanted is None, f"{name}: the session is left out"
        return
    in_time(LONGEST_LOOK, lambda: crawl(folder), name)
    in_time(LONGEST_LOOK, lambda: status(folder), name)
    # A torn end counts as damage once it is two seconds old.
    eventually(5, lambda: (wanted or has_problem)(status(folder)), f"{name}: status.json says so")


def check_mount_of(case, agent, place, rows, prefix=()):
    """Mounts a new store in which each session but the first and the last is broken as one of `rows`. Returns the
    number of sessions that are shown."""
    maker = AGENTS[agent]
    for number in range(len(rows) + 2):
        path = maker.add(place, number)
        if 0 < number <= len(rows):
            rows[number - 1][0](path, maker.records(session_id(number)))
    with case.mount(f"store={agent}={place}", prefix=prefix) as mount:
        folders = in_time(LONGEST_LOOK, lambda: session_folders(mount), "by-id")
        for number, (break_it, wanted) in enumerate(rows, 1):
            check_broken(folders, number, wanted, break_it.__name__)
        for number in (0, len(rows) + 1):
            check_good(folders[number], ("said 0", "said 1", "said 3"))
        assert SANITIZED or mount.memory("VmHWM") < 400 << 20, mount.memory("VmHWM")
    return len(folders)


@variants(**{agent: {"agent": agent} for agent in AGENTS})
def test_unreadable_log_harms_no_neighbour(case, agent):
    """A log of mode 000 is left out, or its status.json says why it cannot be read."""
    check_mount_of(case, agent, case.new_path(agent), [(unreadable, None)], without_override())


@variants(**{agent: {"agent": agent} for agent in AGENTS})
def test_broken_logs_harm_no_neighbour(case, agent):
    """Each session but the first and the last is broken in its own way."""
    place = case.new_path(agent)
    shown = check_mount_of(case, agent, place, rows_of(agent))
    listed = json.loads(case.arborfs("stores", "--json", "--store", f"{agent}={place}", timeout=60).stdout)
    equal([(row["agent"], row["state"], row["sessions"]) for row in listed], [(agent, "ok", shown)], "stores")
    text = clean_end(case.arborfs("doctor", "--store", f"{agent}={place}", check=False, timeout=120))
    assert b"malformed_line" in text and b"torn_tail" in text, text
    case.arborfs("ls", "--store", f"{agent}={place}", timeout=60)


# -- Opal's tables


def flipped(path):
    content = bytearray(path.read_bytes())
    for at in range(600, len(content), 97):
        content[at] ^= 0xFF
    path.write_bytes(content)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def cut_in_header(path):
    os.truncate(path, 20)


def not_closed(path):
    content = bytearray(path.read_bytes())
    content[8:12] = bytes(4)
    path.write_bytes(content)


def far_pointers(path):
    content = bytearray(path.read_bytes())
    content[0x138:0x138 + 1024] = b"\x7f\xff\xff\xf0" * 256
    path.write_bytes(content)


def grown(path):
    os.truncate(path, GIANT)


BROKEN_TABLES = [(lambda path: path.write_bytes(b""), None), (flipped, None), (cut, None), (cut_in_header, None),
                 (not_closed, has_damage), (far_pointers, None), (grown, is_whole),
                 (lambda path: fifo(path, None), None), (lambda path: directory(path, None), None),
                 (lambda path: dangling_link(path, None), None), (lambda path: binary(path, None), None)]


def test_broken_tables_of_opal_harm_no_neighbour(case):
    """The same for DETS tables."""
    maker, place = OpalTable(), case.new_path("opal")
    for number in range(len(BROKEN_TABLES) + 2):
        path = maker.add(place, number)
        if 0 < number <= len(BROKEN_TABLES):
            BROKEN_TABLES[number - 1][0](path)
    with case.mount(f"store=opal={place}") as mount:
        folders = in_time(LONGEST_LOOK, lambda: session_folders(mount), "by-id")
        good = said(folders[0])
        for number, (_, wanted) in enumerate(BROKEN_TABLES, 1):
            folder = folders.get(number)
            if folder is None:
                assert wanted is None, number
                continue
            in_time(LONGEST_LOOK, lambda: crawl(folder), number)
            found = status(folder)
            assert (wanted or has_any)(found), (number, found)
        equal(said(folders[len(BROKEN_TABLES) + 1]), good, "a neighbour")
        assert good, "the sample"
        assert SANITIZED or mount.memory("VmHWM") < 400 << 20, mount.memory("VmHWM")
    listed = json.loads(case.arborfs("stores", "--json", "--store", f"opal={place}", timeout=60).stdout)
    equal([(row["state"], row["sessions"]) for row in listed], [("ok", len(folders))], "stores")
    clean_end(case.arborfs("doctor", "--store", f"opal={place}", check=False, timeout=120))


# -- OpenCode's files


def opencode_files_of(path, kind):
    """The session's, the message's or the part's file, for the file of a message."""
    storage = path.parents[2]
    if kind == "message":
        return path
    if kind == "session":
        return storage / "session" / "p" / f"{path.parent.name}.json"
    return next((storage / "part" / path.stem).iterdir())


def wrong_fields(path):
    record = json.loads(path.read_text())
    keys = [place for place in paths_in(record) if place and place[0] not in ("id", "sessionID", "messageID")]
    for number, place in enumerate(keys):
        record = replaced(record, place[:1], WRONG[number % len(WRONG)])
    path.write_text(json.dumps(record))


FILE_BREAKS = [lambda path: path.write_text(path.read_text()[:-7]), lambda path: path.write_bytes(b""),
               lambda path: path.write_text("[]"), lambda path: path.write_bytes(bytes(4096)), wrong_fields,
               lambda path: os.truncate(path, GIANT), lambda path: fifo(path, None), lambda path: directory(path, None),
               lambda path: dangling_link(path, None), lambda path: path.write_bytes(b"[" * 1_000_000),
               lambda path: path.write_text(json.dumps(dict(json.loads(path.read_text()), parentID="ses_000", id="ses_000")))]


def test_broken_files_of_opencode_harm_no_neighbour(case):
    """Files of sessions, messages and parts, each broken in each way. The doctor names those that are not JSON objects."""
    maker, place = OpenCodeFiles(), case.new_path("opencode")
    maker.add(place, 0)
    number = 0
    for kind in ("session", "message", "part"):
        for break_it in FILE_BREAKS:
            number += 1
            break_it(opencode_files_of(maker.add(place, number), kind))
    maker.add(place, number + 1)
    with case.mount(f"store=opencode={place}") as mount:
        folders = in_time(LONGEST_LOOK, lambda: session_folders(mount), "by-id")
        for one, folder in sorted(folders.items()):
            in_time(LONGEST_LOOK, lambda: crawl(folder), one)
            in_time(LONGEST_LOOK, lambda: status(folder), one)
        for good in (0, number + 1):
            check_good(folders[good])
        assert SANITIZED or mount.memory("VmHWM") < 400 << 20, mount.memory("VmHWM")
    listed = json.loads(case.arborfs("stores", "--json", "--store", f"opencode={place}", timeout=60).stdout)
    equal([row["state"] for row in listed], ["ok"], "stores")
    text = clean_end(case.arborfs("doctor", "--store", f"opencode={place}", check=False, timeout=120)).decode()
    assert "malformed_file" in text and "is empty" in text and "is not a JSON object" in text, text


# -- databases


def database_of(case):
    """A data folder of OpenCode with a database, and the database."""
    place = case.new_path("opencode")
    shutil.copytree(TESTS / "opencode" / "fresh-1.18.33", place)
    path = place / "opencode.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = delete")
    return place, path


def change(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA foreign_keys = off")
        for statement in statements:
            database.execute(statement)
        database.commit()


def flip_pages(path):
    content = bytearray(path.read_bytes())
    for at in range(4096, len(content), 4096):
        content[at:at + 64] = bytes(255 - byte for byte in content[at:at + 64])
    path.write_bytes(content)


def flip_header(path):
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])


# What breaks a database, whether its sessions are still shown, and a word that the doctor says.
BROKEN_DATABASES = {
    "flipped": (flip_pages, None, "corrupt_database"),
    "no_header": (flip_header, False, "corrupt_database"),
    "cut": (lambda path: os.truncate(path, path.stat().st_size // 3), None, "corrupt_database"),
    "cut_to_a_page": (lambda path: os.truncate(path, 4096), None, "corrupt_database"),
    "renamed_table": (lambda path: change(path, "ALTER TABLE message RENAME TO messages"), False, "unknown_schema"),
    "renamed_column": (lambda path: change(path, "ALTER TABLE message RENAME COLUMN data TO body"), False, "unknown_schema"),
    "more_columns": (lambda path: change(path, "ALTER TABLE session ADD COLUMN future TEXT DEFAULT '{}'",
                                         "ALTER TABLE message ADD COLUMN future BLOB"), True, "no damage found"),
    "fewer_columns": (lambda path: change(path, "DROP INDEX IF EXISTS session_parent_idx",
                                          "ALTER TABLE session DROP COLUMN title"), True, ""),
    "no_json": (lambda path: change(path, "UPDATE message SET data = '{\"role\":'", "UPDATE part SET data = x'ff00'"),
                True, "malformed_row"),
    "wrong_types": (lambda path: change(path, "UPDATE session SET title = x'00ff', time_created = 'x', time_updated = -1e300",
                                        "UPDATE message SET time_created = 'now', data = '[1]'",
                                        "UPDATE part SET data = '{\"type\":[],\"text\":{}}'"), True, "malformed_row"),
    "cycle": (lambda path: change(path, "UPDATE session SET parent_id = id"), True, ""),
    "dangling": (lambda path: change(path, "DELETE FROM message WHERE id IN (SELECT id FROM message LIMIT 1)"), True,
                 "dangling_row"),
    "fifo": (lambda path: fifo(path, None), False, ""),
    "directory": (lambda path: directory(path, None), False, ""),
    "link": (lambda path: dangling_link(path, None), False, ""),
}


@variants(**{name: {"name": name} for name in BROKEN_DATABASES})
def test_broken_database_is_reported(case, name):
    """status.json of the mount and `arborfs stores` say why there are no sessions; those of another agent are there."""
    break_it, is_shown, finding = BROKEN_DATABASES[name]
    neighbour = case.agent.session()
    neighbour.user("the neighbour")
    neighbour.write()
    place, path = database_of(case)
    break_it(path)
    with case.mount(f"store=opencode={place}") as mount:
        folders = in_time(LONGEST_LOOK, lambda: [mount / "by-id" / one for one in os.listdir(mount / "by-id")], "by-id")
        for folder in folders:
            in_time(LONGEST_LOOK, lambda: crawl(folder), folder)
            in_time(LONGEST_LOOK, lambda: status(folder), folder)
        assert "the neighbour" in said(mount / "by-id" / neighbour.id), folders
        problem = status(mount)["stores"][1]["problem"]
        shown = len(folders) > 1
        assert is_shown in (None, shown), (folders, problem)
        assert shown or problem, status(mount)
    row = json.loads(case.arborfs("stores", "--json", "--store", f"opencode={place}", timeout=30).stdout)[0]
    if not shown:
        assert row["state"] != "ok" and row["problem"], row
    text = clean_end(case.arborfs("doctor", "--store", f"opencode={place}", check=False, timeout=60)).decode()
    assert finding in text, text


def test_locked_database_is_reported_and_comes_back(case):
    """While another program holds the database exclusively, nothing hangs, and status.json and `arborfs stores` say that
    it is locked. Its sessions are there again after that."""
    place, path = database_of(case)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("BEGIN EXCLUSIVE")
        owner.execute("UPDATE session SET title = 'x'")
        row = json.loads(case.arborfs("stores", "--json", "--store", f"opencode={place}", timeout=30).stdout)[0]
        assert row["state"] == "unreadable" and "locked" in row["problem"], row
        with case.mount(f"store=opencode={place}") as mount:
            equal(in_time(LONGEST_LOOK, lambda: os.listdir(mount / "by-id"), "by-id"), [], "sessions")
            assert "locked" in status(mount)["stores"][1]["problem"], status(mount)
            owner.execute("ROLLBACK")
            eventually(5, lambda: len(os.listdir(mount / "by-id")) > 3, "its sessions")
            eventually(5, lambda: status(mount)["stores"][1]["problem"] is None, "no problem any more")


def test_database_that_is_replaced_or_removed_is_followed(case):
    """Another database in its place, or none: the mount shows that, and open files end without hanging."""
    place, path = database_of(case)
    other, other_path = database_of(case)
    change(other_path, "UPDATE session SET title = 'replaced'")
    with case.mount(f"store=opencode={place}") as mount:
        names = os.listdir(mount / "by-id")
        folder = mount / "by-id" / names[0]
        with (folder / "raw.jsonl").open("rb") as raw:
            raw.read(1)
            other_path.rename(path)
            eventually(5, lambda: (folder / "title").read_text() == "replaced\n", "the other database")
            with contextlib.suppress(OSError):
                in_time(LONGEST_LOOK, raw.read, "an open file")
        path.unlink()
        eventually(5, lambda: os.listdir(mount / "by-id") == [], "no sessions")
        assert "opencode.db" in status(mount)["stores"][1]["problem"], status(mount)


# -- logs that change while they are open


@variants(**{agent: {"agent": agent} for agent in AGENTS})
def test_log_that_is_replaced_or_removed_is_followed(case, agent):
    """Open files keep what they had or end with an error; the mount shows the new state, and then that it is gone."""
    maker, place = AGENTS[agent], case.new_path(agent)
    path, neighbour = maker.add(place, 1), 2
    maker.add(place, neighbour)
    with case.mount(f"store={agent}={place}") as mount:
        folder = session_folders(mount)[1]
        with (folder / "raw.jsonl").open("rb") as raw:
            old = raw.read(8)
            new = path.with_name(".new")
            new.write_bytes(lines(maker.records(session_id(1))).replace(b"said 3", b"replaced"))
            new.rename(path)
            eventually(5, lambda: "replaced" in said(folder), "the new log")
            with contextlib.suppress(OSError):
                rest = in_time(LONGEST_LOOK, raw.read, "an open file")
                assert b"replaced" not in old + rest, "one state"
        with (folder / "raw.jsonl").open("rb") as raw:
            path.unlink()
            if agent == "goat":
                (path.parent / "metadata.json").unlink()
            eventually(5, lambda: 1 not in session_folders(mount), "the removal")
            with contextlib.suppress(OSError):
                in_time(LONGEST_LOOK, raw.read, "an open file")
        check_good(session_folders(mount)[neighbour])
