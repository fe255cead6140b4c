"""Rows about writes to sessions of Opal, goat and OpenCode."""
import contextlib
import json
import os
import sqlite3
import time

import stores
from bed import SEED, Failure
from row import Row, same_lines
from writing import WRITERS, Appending

LOG_MB = 1
DELETED_MESSAGES, DELETED_PARTS, SESSIONS = 1000, 5, 3
DELETE_MS = 50


def said(lines):
    """The texts of user messages without their final dots; a record of goat has its message in a member."""
    return sorted(line.get("message", line)["content"].rstrip(".").strip() for line in lines)


def check_opal(log, old, texts):
    """Checks that every old message is there, and that the leaf is the last of new messages below the old leaf."""
    with open(log, "rb") as file:
        header, *lines = file.read().splitlines()
    before, *old_lines = old.splitlines()
    if not set(old_lines) <= set(lines):
        raise Failure("an append changed another message")
    new = {message["id"]: message for message in map(json.loads, set(lines) - set(old_lines))}
    at, end, path = json.loads(header)["current_id"], json.loads(before)["current_id"], []
    while at != end:
        path.append(new[at])
        at = new[at]["parent_id"]
    same_lines(said(path), sorted(texts), "appended messages")


def check_goat(log, old, texts):
    with open(log, "rb") as file:
        if file.read(len(old)) != old:
            raise Failure("an append changed what stood before it")
        same_lines(said(map(json.loads, file)), sorted(texts), "appended messages")


class AgentSession:
    """A session of 1 MB of an agent that a row appends to (writing.OmpSession)."""

    def __init__(self, bed, agent, check):
        self.bed = bed
        self.agent = agent
        self.check = check
        self.folder = bed.made(f"{agent}-{LOG_MB}mb-{SEED}", lambda folder: stores.big_log(folder, agent, LOG_MB))
        with open(os.path.join(self.folder, "session.json"), encoding="utf-8") as file:
            about = json.load(file)
        self.id, self.log = about["id"], about["log"]

    def copied(self):
        return self.bed.written_copy(self.folder, self.log)

    def library_options(self, folder):
        return "--store", f"{self.agent}={os.path.join(folder, 'store')}"

    @contextlib.contextmanager
    def mounted(self, folder, _, options):
        with self.bed.mount_stores({self.agent: os.path.join(folder, "store")}, options) as mount:
            yield os.path.realpath(f"{mount.point}/by-id/{self.id}")


# Rows.

def opal_append_many(bed):
    """Opal's log is written again for a change; all that wait share one new log."""
    count = bed.sizes.times(50)
    row = Row("opal-many", "appends/s")
    appending = Appending(bed, row, AgentSession(bed, "opal", check_opal))
    appending.mounted(f"{WRITERS} writers", "", WRITERS, count)
    appending.mounted("1 writer", "", 1, count * 4)
    appending.compare(f"{WRITERS} writers", "1 writer", rate=8.0)
    return row


def goat_append(bed):
    count = bed.sizes.times(1000)
    row = Row("goat-append", "µs")
    appending = Appending(bed, row, AgentSession(bed, "goat", check_goat))
    appending.mounted("synced", "", 1, count)
    appending.library("library, synced", count)
    appending.plain("flock, synced", 1, count, "--sync", "--flock")
    appending.mounted("unsynced", "durability=none", 1, count)
    appending.plain("flock", 1, count, "--flock")
    appending.compare("library, synced", "flock, synced", p50=1.5)
    appending.compare("synced", "flock, synced", p50=1.5)
    appending.compare("unsynced", "flock")
    return row


def moved_by_hand(store, session):
    """Renames the folders of a session to another folder, and syncs the names: the least that a removal can do."""
    storage, trash = os.path.join(store, "storage"), os.path.join(store, "trash")
    os.mkdir(trash)
    messages = os.path.join(storage, "message", session)
    start = time.perf_counter()
    parts = os.path.join(storage, "part")
    for name in os.listdir(messages):
        name = name.removesuffix(".json")
        os.rename(os.path.join(parts, name), os.path.join(trash, name))
    os.rename(messages, os.path.join(trash, session))
    for folder in (trash, parts, os.path.dirname(messages)):
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    return (time.perf_counter() - start) * 1000


def deleted_by_hand(store, session):
    """Saves the rows of a session to a synced file, and deletes them, as a program with SQLite would."""
    start = time.perf_counter()
    connection = sqlite3.connect(os.path.join(store, "opencode.db"), isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    with open(os.path.join(store, "rows"), "w", encoding="utf-8") as file:
        for table in ("message", "part"):
            for row in connection.execute(f"SELECT * FROM {table} WHERE session_id = ?", (session,)):
                file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())
    connection.execute("DELETE FROM session WHERE id = ?", (session,))
    connection.close()
    return (time.perf_counter() - start) * 1000


def opencode_delete(bed):
    """A session of 1,000 messages of 5 parts goes to the trash."""
    row = Row("opencode-rm")
    chosen = stores.opencode_id(1)
    kinds = {
        "database": lambda folder: stores.database(folder, SESSIONS, DELETED_MESSAGES, DELETED_PARTS),
        "files": lambda folder: stores.files(folder, SESSIONS * DELETED_MESSAGES * (DELETED_PARTS + 1),
                                             DELETED_MESSAGES, DELETED_PARTS)}

    def measured(kind, make, check):
        folder = bed.made(f"opencode-rm-{kind}-{SEED}", make)
        copy, _ = bed.written_copy(folder, folder)
        with bed.mount_stores({"opencode": copy}, "allow_delete") as mount:
            session = os.path.realpath(f"{mount.point}/by-id/{chosen}")
            start = time.perf_counter()
            os.rmdir(session)
            value = (time.perf_counter() - start) * 1000
            if check and (os.path.lexists(session) or len(os.listdir(f"{mount.point}/by-id")) != SESSIONS - 1):
                raise Failure(f"{session} is not the only session that was removed")
        return {kind: value}
    def measured_by_hand(kind, make, act):
        folder = bed.made(f"opencode-rm-{kind}-{SEED}", make)
        copy, _ = bed.written_copy(folder, folder)
        return {f"{kind} by hand": act(copy, chosen)}
    row.allowance("a fixed figure", DELETE_MS, f"{DELETE_MS} ms")
    by_hand = {"database": (deleted_by_hand, "rows read, written to a synced file, and deleted, in Python"),
               "files": (moved_by_hand, "folders renamed and synced, in Python")}
    for kind, make in kinds.items():
        row.measure(lambda check, kind=kind, make=make: measured(kind, make, check),
                    **{kind: f"rmdir SESSION of {DELETED_MESSAGES} messages of {DELETED_PARTS} parts"})
        act, shown = by_hand[kind]
        row.measure(lambda check, kind=kind, make=make, act=act: measured_by_hand(kind, make, act),
                    **{f"{kind}_by_hand": shown})
        row.compare(kind, "a fixed figure", 1.0)
        row.compare(kind, f"{kind} by hand")
    return row


ROWS = {"opal-many": opal_append_many, "goat-append": goat_append, "opencode-rm": opencode_delete}
