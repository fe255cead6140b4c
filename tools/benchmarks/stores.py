"""Stores of the other agents for the rows of formats.py, written by the modules that write the samples. Everything is
derived from counters, so that two runs write the same bytes."""
import json
import os
import pathlib
import random
import sqlite3
import sys
import typing

from bed import SEED, SOURCE

sys.path.append(os.path.join(SOURCE, "tools", "samples"))

from generator import claude, codex, goat, omp, opal, opencode, pi  # noqa: E402
from generator.story import Store, day  # noqa: E402

WORDS = ("part server retry wind string mass note table index client folder entry branch label time path test run "
         "error value line first second read write open close").split()
LONG, SHORT = 5, 3            # logarithms of words in a text
BATCH = 40                   # turns between two looks at the size
MESSAGES, PARTS = 100, 5     # of a session in the database, and of a message
FILE_MESSAGES, FILE_PARTS = 50, 9
PROJECTS = 50
# How many of the sessions of all agents belong to each.
SHARES = {"claude": 6, "codex": 4, "pi": 3, "omp": 3, "opal": 2, "goat": 1, "opencode": 1}


class Texts:
    """Texts of lengths as in logs: most are short, few are long. With LONG, an entry has 3 KB on average, as in the log
    of first-ls."""

    def __init__(self, mean):
        chance = random.Random(SEED)
        self.pool = [" ".join(chance.choices(WORDS, k=min(6000, int(chance.lognormvariate(mean, 1.4)) + 3)))
                     for _ in range(997)]
        self.at = 0

    def __call__(self):
        self.at = (self.at + 1) % len(self.pool)
        return self.pool[self.at]


def read_turn(log, text):
    """A question, a call with its result, and an answer."""
    log.user(text())
    log.call("read", {"path": "a.go"}, text())
    log.assistant(text())


def claude_turn(log, text):
    log.user(text())
    log.call("Read", {"file_path": "a.go"}, text(), {"type": "thinking", "thinking": text(), "signature": "c2ln"})
    log.reply(text())


def codex_turn(log, text):
    log.user(text())
    log.call("cat a.go", text())
    log.answer(text())


def message_turn(log, text):
    log.add("user", text())
    log.call(text(), "read_file", {"path": "a.go"}, text())
    log.add("assistant", text())


class Kind(typing.NamedTuple):
    """How a log of an agent is generated."""
    new: typing.Callable      # name, cwd, days and hours after the start of the samples -> log
    turn: typing.Callable     # log, texts
    save: typing.Callable     # log, store
    records: str = ""         # the member with the log's records
    id: str = "id"            # the member with the name in by-id/


KINDS = {
    "omp": Kind(lambda name, cwd, days: omp.Log(name, cwd, days, 18, name), read_turn,
                lambda log, store: log.save(store)),
    "pi": Kind(pi.Log, read_turn, lambda log, store: log.save(store)),
    "opal": Kind(lambda name, cwd, days: opal.Session(name, name), message_turn,
                 lambda log, store: log.save(store, day(0)), "messages"),
    "claude": Kind(lambda name, cwd, days: claude.Transcript(name, cwd, day(days)), claude_turn,
                   lambda log, store: log.save(store), "rows", "session"),
    "codex": Kind(lambda name, cwd, days: codex.Segment(name, cwd, day(days)), codex_turn,
                  lambda log, store: log.save(store), "records", "thread"),
    "goat": Kind(lambda name, cwd, days: goat.Session(name, day(days), name), message_turn,
                 lambda log, store: log.save(store, 0.01), "records"),
}


def big_log(folder, agent, megabytes):
    """One session of this size in `folder`/store; its log and its id are in `folder`/session.json."""
    kind, text, size = KINDS[agent], Texts(LONG), 0
    log = kind.new("big", "/srv/bench", 0)
    records = getattr(log, kind.records)
    while size < megabytes * 1_000_000:
        before = len(records)
        for _ in range(BATCH):
            kind.turn(log, text)
        size += sum(len(json.dumps(record)) + 1 for record in records[before:])
    store = Store(pathlib.Path(folder) / "store")
    kind.save(log, store)
    path = max(store.folder.rglob("*.jsonl"), key=lambda file: file.stat().st_size)
    about = {"id": getattr(log, kind.id, None) or path.stem, "log": str(path)}
    (pathlib.Path(folder) / "session.json").write_text(json.dumps(about))


# OpenCode: rows and files are written without the samples' classes, which would take minutes.

def message(session, number, is_answer):
    """(id, time, data) of a message."""
    time = 1_770_000_000_000 + number * 1000
    data = {"role": "user", "time": {"created": time}, "agent": "build", "model": opencode.MODEL}
    if is_answer:
        data = {"role": "assistant", "parentID": "", "time": {"created": time, "completed": time + 500}, "cost": 0.001,
                "tokens": {"input": 900, "output": 90, "reasoning": 0, "cache": {"read": 10, "write": 0}},
                "finish": "stop", **opencode.MODEL}
    return f"msg_{session:06x}{number:06x}00000000000000", time, data


def part(session, number, text, is_call):
    """(id, data) of a part."""
    data = {"type": "text", "text": text}
    if is_call:
        data = {"type": "tool", "tool": "read", "callID": f"call_{number}", "state": {
            "status": "completed", "input": {"filePath": "a.go"}, "output": text, "title": "a.go", "metadata": {},
            "time": {"start": 1, "end": 2}}}
    return f"prt_{session:06x}{number:06x}00000000000000", data


def opencode_id(number):
    return f"ses_{number:012x}00000000000000"


def opencode_session(number):
    """The row of a session."""
    time = 1_770_000_000_000 + number * 60_000
    return {"id": opencode_id(number), "project_id": f"{number % PROJECTS:040x}", "slug": f"s-{number}",
            "directory": f"/srv/p{number % PROJECTS}", "title": f"Session {number}", "version": "1.18.33",
            "time_created": time, "time_updated": time}


def insert(connection, table, rows):
    rows = list(rows)
    sql = f"INSERT INTO {table} ({', '.join(rows[0])}) VALUES ({', '.join('?' * len(rows[0]))})"
    connection.executemany(sql, (list(row.values()) for row in rows))


def database(folder, sessions, messages=MESSAGES, parts=PARTS):
    """An opencode.db with this many sessions of 100 messages of 5 parts, in WAL mode and closed."""
    text = Texts(SHORT)
    os.makedirs(folder, exist_ok=True)
    connection = sqlite3.connect(os.path.join(folder, "opencode.db"), isolation_level=None)
    connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + opencode.SCHEMA + "BEGIN;")
    insert(connection, "project", ({"id": f"{number:040x}", "worktree": f"/srv/p{number}", "time_created": 1,
                                    "time_updated": 1, "sandboxes": "[]"} for number in range(PROJECTS)))
    for session in range(sessions):
        insert(connection, "session", [opencode_session(session)])
        own = {"session_id": opencode_id(session)}
        all_messages, all_parts = [], []
        for number in range(messages):
            message_id, time, data = message(session, number, number % 2 == 1)
            times = {"time_created": time, "time_updated": time}
            all_messages.append({"id": message_id, **own, **times, "data": json.dumps(data)})
            for at in range(parts):
                part_id, data = part(session, number * parts + at, text(), at % 2 == 1)
                all_parts.append({"id": part_id, "message_id": message_id, **own, **times, "data": json.dumps(data)})
        insert(connection, "message", all_messages)
        insert(connection, "part", all_parts)
        insert(connection, "event_sequence", [{"aggregate_id": own["session_id"], "seq": messages}])
    connection.execute("COMMIT")
    connection.close()


def files(folder, count, messages=FILE_MESSAGES, parts=FILE_PARTS):
    """A store of about `count` JSON files: sessions of so many messages and parts of each."""
    text = Texts(SHORT)
    root = pathlib.Path(folder) / "storage"

    def write(place, value):
        with open(root / place, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2)
    (root / "project").mkdir(parents=True)
    for number in range(PROJECTS):
        (root / "session" / f"{number:040x}").mkdir(parents=True)
        project = {"id": f"{number:040x}", "worktree": f"/srv/p{number}", "time": {"created": 1}}
        write(f"project/{project['id']}.json", project)
    for session in range(count // (messages * (parts + 1))):
        row, own = opencode_session(session), {"sessionID": opencode_id(session)}
        write(f"session/{row['project_id']}/{row['id']}.json", {
            "id": row["id"], "projectID": row["project_id"], "directory": row["directory"], "title": row["title"],
            "version": "1.1.53", "time": {"created": row["time_created"], "updated": row["time_updated"]}})
        (root / "message" / row["id"]).mkdir(parents=True)
        for number in range(messages):
            message_id, _, data = message(session, number, number % 2 == 1)
            write(f"message/{row['id']}/{message_id}.json", {"id": message_id, **own, **data})
            (root / "part" / message_id).mkdir(parents=True)
            for at in range(parts):
                part_id, data = part(session, number * parts + at, text(), at % 2 == 1)
                write(f"part/{message_id}/{part_id}.json", {"id": part_id, **own, "messageID": message_id, **data})


def all_agents(folder, sessions):
    """Stores of all agents with this many small sessions, each store in the folder with its agent's name."""
    text = Texts(SHORT)
    for agent, share in SHARES.items():
        count = sessions * share // sum(SHARES.values())
        store = Store(pathlib.Path(folder) / agent)
        if agent == "opencode":
            database(store.folder, count, 4, 2)
            continue
        kind = KINDS[agent]
        for number in range(count):
            log = kind.new(f"{agent} {number}", f"/srv/p{number % PROJECTS}", number / 1440 - 40)
            kind.turn(log, text)
            kind.save(log, store)
