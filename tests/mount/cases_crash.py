"""Killed daemons and power cuts (CONTRACT.md 6.8, 7.2, 7.3): acknowledged entries are in the log afterwards, once and
whole; no other entry is there in part; no leftover file or lock blocks a later write."""

import contextlib
import errno
import json
import os
import random
import subprocess
import threading
import time

from faults import OPEN, RENAME, SYNC, WRITE, Faults, log_of
from mounting import (PATIENCE, at_most, concurrent, detach, equal, eventually, fails_with, needs, needs_root,
                      shell, variants)
from views import damage, entry_ids, status
from volumes import MIB, ext4
from writing import added, answer_of, reason, text_of

GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV)
ROUNDS = int(os.environ.get("ARBORFS_KILL_ROUNDS", "8"))
# Mostly large lines, because a kill hardly ever cuts a small one.
SIZES = (40, 40, 4_000, 300_000, 4_000_000)


def custom(name, number, size=0):
    return json.dumps({"type": "custom", "customType": name, "data": {"n": number, "s": "x" * size}}) + "\n"


class Writer(threading.Thread):
    """Appends numbered entries until one fails; records the acknowledged ones, and the error."""

    def __init__(self, folder, name, seed):
        super().__init__(daemon=True)
        self.folder, self.name_of, self.random = folder, name, random.Random(seed)
        self.acknowledged = {}  # number: id; None if the daemon died before it answered
        self.tried, self.error = 0, None

    def run(self):
        try:
            while True:
                self.append()
        except OSError as error:
            self.error = error

    def append(self):
        self.tried += 1
        descriptor = os.open(self.folder / "append", os.O_RDWR)
        rest = custom(self.name_of, self.tried, self.random.choice(SIZES)).encode()
        try:
            while rest:
                rest = rest[os.write(descriptor, rest):]
            self.acknowledged[self.tried] = None
            self.acknowledged[self.tried] = json.loads(os.read(descriptor, 4096))["id"]
        finally:
            os.close(descriptor)


class Titler(Writer):
    """Sets one title after the other, each a rewrite of the log."""

    def run(self):
        while self.error is None:
            self.tried += 1
            try:
                shell(f"echo 'Title {self.tried}' > title", cwd=self.folder)
            except AssertionError as error:
                self.error = None if "Stale file handle" in str(error) else error  # another writer wrote meanwhile
            except OSError as error:
                self.error = error


class AppendAfterCrash:
    """The append that follows a crash (assert_usable)."""

    name_of, tried, acknowledged = "after", 1, {}


def joined(threads, errors):
    for thread in threads:
        thread.join(30 * PATIENCE)
        assert not thread.is_alive(), f"{thread.name_of} hangs"
        ended_by = getattr(thread.error, "errno", None)
        assert ended_by in errors or any(os.strerror(number) in str(thread.error) for number in errors), thread.error


def whole_lines(session):
    """The entries of the log, and the bytes after its last newline. Lines that are not JSON are left out: they are
    closed and do no harm."""
    data = session.path.read_bytes()
    lines, _, tail = data.rpartition(b"\n")
    entries = []
    for line in lines.split(b"\n")[1:]:
        with contextlib.suppress(ValueError):
            entries.append(json.loads(line))
    return entries, tail


def assert_kept(writers, entries, last):
    """Every acknowledged entry is in the log once, under its id; an unacknowledged one is there at most once."""
    found = {}
    for entry in entries:
        if entry["type"] == "custom":
            key = (entry["customType"], entry["data"]["n"])
            assert key not in found, f"{key} is there twice"
            found[key] = entry["id"]
    for writer in writers:
        for number, entry_id in writer.acknowledged.items():
            there = found.get((writer.name_of, number))
            assert there, f"{last}: {writer.name_of} {number} is lost"
            equal(there, entry_id or there, f"{last}: {writer.name_of} {number}")
    known = {(writer.name_of, number) for writer in writers for number in range(1, writer.tried + 1)}
    assert set(found) <= known, set(found) - known


def assert_usable(session, folder):
    """The session takes an append at once, and the only hidden names beside the log are drafts of unfinished
    rewrites."""
    with at_most(3, "the first append after a crash"):
        answer = answer_of(folder / "append", custom("after", 1))
    entries, tail = whole_lines(session)
    equal((entries[-1]["id"], tail), (answer["id"], b""), "the end of the log")
    equal(reason(folder), "", "the reason after a success")
    left = [name for name in os.listdir(session.path.parent) if name.startswith(".")]
    assert all(name.endswith(".tmp") for name in left), left
    return entries


# -- kill -9


@concurrent
def kill(case, mount):
    """Kills the daemon. Where the kernel makes a thread of it wait for a program that waits for the daemon, only
    `arborfs umount` ends it."""
    mount.process.kill()
    try:
        mount.process.wait(PATIENCE * 5)
    except subprocess.TimeoutExpired:
        print("the killed daemon does not end by itself")
        case.arborfs("umount", mount.path)
        mount.process.wait()


def test_f1_kill_under_load_keeps_acknowledged_entries(case):
    """F1: kill -9 at random moments during appends of all sizes and rewrites. Every acknowledged entry is there and
    none is there in part; the same command mounts again, and the next append works at once."""
    seed = int(os.environ.get("ARBORFS_TEST_SEED", str(time.time_ns() % 1_000_000)))
    print(f"ARBORFS_TEST_SEED={seed} ARBORFS_KILL_ROUNDS={ROUNDS}")
    rng = random.Random(seed)
    session = case.agent.talk()
    writers, torn, mount = [], 0, case.mount()
    try:
        for number in range(ROUNDS):
            folder = mount.start().session(session)
            begun = [Writer(folder, f"r{number}w{w}", rng.random()) for w in range(3)]
            begun += [Titler(folder, f"r{number}t", rng.random())]
            writers += begun[:3]
            for thread in begun:
                thread.start()
            eventually(10, lambda: any(writer.acknowledged for writer in begun), "the writers are at work")
            time.sleep(rng.uniform(0, 0.3))
            kill(case, mount)
            joined(begun, GONE)
            entries, tail = whole_lines(session)
            torn += bool(tail)
            assert_kept(writers, entries, f"round {number}, before the next mount")
            detach(mount.path)
            with case.mount(mountpoint=mount.path) as again:
                folder = again.session(session)
                entries, tail = whole_lines(session)  # the unacknowledged part of a command has been cut off
                assert_kept(writers, entries, f"round {number}, mounted again")
                equal(entry_ids(folder)[:len(entries)], [entry["id"] for entry in entries], "entries after the crash")
                assert_kept([*writers, AppendAfterCrash], assert_usable(session, folder), f"round {number}")
                equal(len(os.listdir(folder / "entries")), len(whole_lines(session)[0]), "entries")
            session.path.write_bytes(session.bytes)  # keeps the next round quick
            writers.clear()
        print(f"{ROUNDS} rounds, {torn} torn tails")
    finally:
        mount.force_away()


def kill_inside(mount, session, command, at):
    """Kills the daemon once `at` bytes of the command have reached the log; returns how many were there at the end."""
    before = len(session.path.read_bytes())
    writer = threading.Thread(target=write_until_exit, args=(mount.session(session) / "append", command), daemon=True)
    writer.start()
    while os.stat(session.path).st_size < before + at and writer.is_alive():
        pass
    mount.process.kill()
    mount.process.wait()
    writer.join(30 * PATIENCE)
    assert not writer.is_alive(), "a thread goes on"
    return os.stat(session.path).st_size - before


def write_until_exit(path, rest):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest):]
    except OSError as error:
        assert error.errno in GONE, error
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)


@concurrent
def test_f1_kill_inside_a_large_command_writes_all_or_nothing(case):
    """F1: kill -9 during one command of 60 MB and many lines, at every stage of its write. After the next mount the log
    holds the whole command or none of it, and the next append works."""
    session = case.agent.talk()
    lines = [custom("large", number, MIB) for number in range(60)]
    command, mount, torn = "".join(lines).encode(), case.mount(), 0
    try:
        for number in range(5 * ROUNDS):
            at = random.Random(number).randrange(1, len(command))
            left = kill_inside(mount.start(), session, command, at)
            torn += 0 < left < len(command)
            detach(mount.path)
            with case.mount(mountpoint=mount.path) as again:
                folder = again.session(session)
                equal(damage(folder), [], f"round {number}: damage")
                there = [entry["data"]["n"] for entry in whole_lines(session)[0] if entry["type"] == "custom"]
                assert there in ([], list(range(len(lines)))), f"round {number}: {len(there)} lines of {len(lines)}"
                assert_usable(session, folder)
            session.path.write_bytes(session.bytes)
            if torn == ROUNDS:
                break
        print(f"{number + 1} rounds, {torn} of them left a part")
        assert torn, "no kill came inside the write"
    finally:
        mount.force_away()


LINE = len(custom("cut", 1)) + 60  # with id, parent and time the line is longer than this


@variants(at_the_first_byte={"keep": 0}, behind_one_byte={"keep": 1}, in_the_middle={"keep": LINE // 2},
          near_the_end={"keep": LINE})
def test_f1_kill_inside_a_write_leaves_only_damage(case, keep):
    """F1: the daemon is killed when `keep` bytes of a line have reached the log. The bytes are shown in damage/, the
    next append starts a new line, and earlier entries are kept."""
    faults, session = Faults(case), case.agent.talk()
    mount = faults.mount().start()
    try:
        kept = answer_of(mount.session(session) / "append", custom("kept", 1))["id"]
        before = session.path.read_bytes()
        faults.arm(WRITE, log_of(session), keep=keep, kills=True)
        fails_with(GONE, answer_of, mount.session(session) / "append", custom("cut", 1))
        equal(mount.process.wait(), -9, "the daemon's end")
        piece = session.path.read_bytes()[len(before):]
        equal((session.path.read_bytes()[:len(before)], len(piece)), (before, keep), "the log")
        faults.disarm()
    finally:
        mount.force_away()
    with case.mount(mountpoint=mount.path) as again:
        folder = again.session(session)
        equal(entry_ids(folder), [entry["id"] for entry in session.entries] + [kept], "entries")
        answer = answer_of(folder / "append", custom("after", 1))
        equal(answer["parentId"], kept, "parent")
        data = session.path.read_bytes()
        assert data.startswith(before + piece + (b"\n" if piece else b"")), data[len(before):]
        equal(json.loads(data.splitlines()[-1])["id"], answer["id"], "the last line")
        eventually(4, lambda: b"".join(damage(folder)).startswith(piece) and bool(damage(folder)) == bool(piece),
                   "the piece in damage/")
        equal([name for name in os.listdir(session.path.parent) if name.startswith(".")], [], "hidden names")


def test_f1_kill_before_the_newline_keeps_the_entry(case):
    """F1: a line that lacks only its newline is an entry, and gets its newline."""
    faults, session = Faults(case), case.agent.talk()
    with case.mount() as mount:  # measures the length of such a line
        answer_of(mount.session(session) / "append", custom("cut", 1))
        length = len(session.path.read_bytes()) - len(session.bytes)
        session.path.write_bytes(session.bytes)
    mount = faults.mount().start()
    try:
        faults.arm(WRITE, log_of(session), keep=length - 1, kills=True)
        fails_with(GONE, answer_of, mount.session(session) / "append", custom("cut", 1))
        mount.process.wait()
        line = session.path.read_bytes()[len(session.bytes):]
        equal(json.loads(line)["customType"], "cut", "the whole entry")
        faults.disarm()
    finally:
        mount.force_away()
    with case.mount(mountpoint=mount.path) as again:
        folder = again.session(session)
        equal(answer_of(folder / "append", custom("after", 1))["parentId"], json.loads(line)["id"], "parent")
        assert session.path.read_bytes().startswith(session.bytes + line + b"\n{"), "glued"
        equal(([entry["customType"] for entry in added(session)], damage(folder)), (["cut", "after"], []))


POINTS = {
    "lock_made": (OPEN, ".lock", 1),
    "lock_empty": (WRITE, ".lock", 0),
    "lock_torn": (WRITE, ".lock", 1),
    "appended": (WRITE, None, 1 << 20),
    "before_sync": (SYNC, None, 0),
    "synced": (SYNC, None, 1),
}


@variants(**{name: {"point": point} for name, point in POINTS.items()})
def test_kill_at_each_append_step_leaves_the_log_usable(case, point):
    """The daemon is killed at each step: lock, write, before the sync, after the sync. The line is there whole or not
    at all, and the stale lock blocks no writer."""
    operation, path, keep = point
    faults, session = Faults(case), case.agent.talk()
    mount = faults.mount().start()
    try:
        faults.arm(operation, path or log_of(session), keep=keep, kills=True)
        fails_with(GONE, answer_of, mount.session(session) / "append", custom("cut", 1))
        equal(mount.process.wait(), -9, "the daemon's end")
        faults.disarm()
    finally:
        mount.force_away()
    entries, tail = whole_lines(session)
    equal(([entry["type"] for entry in entries[4:]], tail), (["custom"] if path is None else [], b""), "the log")
    with case.mount(mountpoint=mount.path) as again:
        assert_usable(session, again.session(session))
        equal(len(added(session)), 2 if path is None else 1, "entries")
        equal(damage(again.session(session)), [])


@variants(before_rename={"keep": 0, "renamed": False}, after_rename={"keep": 1, "renamed": True})
def test_kill_in_a_rewrite_leaves_one_whole_log(case, keep, renamed):
    """The daemon is killed before and after the rename that replaces the log. The log is the old one or the new one,
    whole; the leftover draft blocks no writer and is not shown as a session."""
    faults, session = Faults(case), case.agent.talk()
    mount = faults.mount().start()
    try:
        faults.arm(RENAME, log_of(session), keep=keep, kills=True)
        fails_with(GONE, answer_of, mount.session(session) / "title", "Another title\n")
        equal(mount.process.wait(), -9, "the daemon's end")
        faults.disarm()
    finally:
        mount.force_away()
    equal(b"Another title" in session.path.read_bytes(), renamed, "renamed")
    equal(session.path.read_bytes().splitlines()[1:], session.bytes.splitlines()[1:], "entries")
    with case.mount(mountpoint=mount.path) as again:
        equal(os.listdir(again / "by-id"), [session.id], "sessions")
        assert_usable(session, again.session(session))
        shell("echo 'Third title' > title", cwd=again.session(session))
        equal((again.session(session) / "title").read_text(), "Third title\n")


# -- power cuts


def remount_after_power_cut(volume, mount):
    """Restarts after a power cut: kills the daemon and mounts the file system again."""
    mount.process.kill()
    mount.process.wait()
    detach(mount.path)
    volume.unmount()
    volume.mount()


@needs_root
@needs("mkfs.ext4")
def test_f12_power_cut_keeps_acknowledged_writes(case):
    """F12: after a power cut everything that arborfs acknowledged is there, including new sessions, titles and forks.
    Text that another program did not sync may be lost or NULs, but no session is lost and the next append works."""
    volume = ext4(case, size=32 * MIB)
    session = case.agent.talk()
    os.sync()
    mount = case.mount().start()
    try:
        folder = mount.session(session)
        shell("echo 'New title' > title; echo 'one' > append; echo '#1 name' > label", cwd=folder)
        fork = answer_of(folder / "fork", "\n")["session"]
        new = answer_of(mount / "new", "/srv/another\n")["session"]
        acknowledged = session.path.read_bytes()
        session.user("said without a sync " * 400)
        with open(session.path, "ab") as file:
            file.write(session.pending())
        volume.cut_power()
        remount_after_power_cut(volume, mount)
        with case.mount(mountpoint=mount.path) as again:
            folder = again.session(session)
            data = session.path.read_bytes()
            assert data.startswith(acknowledged), "what was acknowledged"
            behind = data[len(acknowledged):]
            print(f"{len(behind)} bytes came back behind it, {behind.count(0)} of them NUL")
            equal(sorted(os.listdir(again / "by-id")), sorted([session.id, fork, new]), "sessions")
            equal((folder / "title").read_text(), "New title\n")
            equal(os.listdir(folder / "labels"), ["name"])
            shell("echo 'it goes on' > append", cwd=folder)
            assert session.path.read_bytes().startswith(data), "what came back is left as it is"
            equal(text_of(json.loads(session.path.read_bytes().splitlines()[-1])), "it goes on")
            whole = behind.endswith(b"}\n")
            equal(len(os.listdir(folder / "entries")), 7 + whole, "entries")
            eventually(4, lambda: bool(damage(folder)) == (bool(behind) and not whole), "what came back torn is shown")
            equal(status(folder)["lastError"], None)
    finally:
        mount.force_away()


@concurrent
@needs_root
@needs("mkfs.ext4")
def test_f12_power_cut_under_load_keeps_acknowledged_entries(case):
    """F12: the power fails while several programs append. Every acknowledged entry is there; each other entry is there
    whole or not at all."""
    seed = int(os.environ.get("ARBORFS_TEST_SEED", str(time.time_ns() % 1_000_000)))
    print(f"ARBORFS_TEST_SEED={seed}")
    rng = random.Random(seed)
    volume = ext4(case, size=256 * MIB)
    for number in range(3):
        session = case.agent.talk(cwd=f"/srv/round{number}")
        os.sync()
        mount = case.mount().start()
        try:
            writers = [Writer(mount.session(session), f"w{w}", rng.random()) for w in range(3)]
            for writer in writers:
                writer.start()
            eventually(10, lambda: any(writer.acknowledged for writer in writers), "the writers are at work")
            time.sleep(rng.uniform(0, 0.3))
            volume.cut_power()
            joined(writers, (errno.EIO, errno.EROFS, *GONE))
            remount_after_power_cut(volume, mount)
            with case.mount(mountpoint=mount.path) as again:
                folder = again.session(session)
                answer_of(folder / "append", custom("after", 1))
                entries = [json.loads((folder / "entries" / name).read_bytes())
                           for name in sorted(os.listdir(folder / "entries"))]
                assert_kept([*writers, AppendAfterCrash], entries, f"round {number}")
                print(f"{sum(len(writer.acknowledged) for writer in writers)} acknowledged, damage: "
                      f"{[(len(piece), piece.count(0)) for piece in damage(folder)]}")
        finally:
            mount.force_away()
